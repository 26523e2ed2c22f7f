# Tests that tables leak no memory. sys.getallocatedblocks() does not count them, so this test
# measures the size of the process.
import os
import unittest

from collected import only_if
import leaks
from polynomial import Polynomial
from test_leaks import use

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


@only_if(not SANITIZED)  # sanitizers keep freed memory
class Tables(unittest.TestCase):
    def test_dropped(self):
        leaks.check(use, 15000, warm_up=15000, kilobytes=2500, kilobytes_of=leaks.peak)

    def test_switched(self):
        p = Polynomial([1])

        def switch():
            p.offer(1)
            p.offer(2)

        # The peak only grows in the first round.
        leaks.check(switch, 100000, warm_up=0, kilobytes=2000, kilobytes_of=leaks.peak, rounds=1)
