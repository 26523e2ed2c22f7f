# Thousands of dropped and replaced tables leak no memory. Tables use the raw allocator, which sys.getallocatedblocks()
# does not count, so this measures the size of the process.
import os
import unittest

from collected import only_if
import leaks
from polynomial import Polynomial
from test_leaks import use

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


@only_if(not SANITIZED)  # sanitizers keep freed memory; memory_test counts exactly
class Tables(unittest.TestCase):
    def test_dropped(self):
        # If each call leaked a table, the process would grow by more than five megabytes.
        leaks.check(use, 15000, warm_up=15000, kilobytes=2500, kilobytes_of=leaks.peak)

    def test_switched(self):
        p = Polynomial([1])

        def switch():
            p.offer(1)
            p.offer(2)

        # One round is enough, because the peak grows in the first round only.
        leaks.check(switch, 100000, warm_up=0, kilobytes=2000, kilobytes_of=leaks.peak, rounds=1)
