# Thousands of tables, dropped and replaced, leak no memory. They come from the raw allocator, which
# sys.getallocatedblocks() does not see: the process's own size shows them.
import gc
import os
import resource
import unittest

from polynomial import Polynomial
from test_leaks import use

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


@unittest.skipIf(SANITIZED, "the sanitizer keeps freed memory; memory_test counts exactly")
class Tables(unittest.TestCase):
    def test_dropped(self):
        def churn(times):
            for _ in range(times):
                use()
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        before = churn(15000)
        # A table leaked on each of these would be more than five megabytes.
        self.assertLess(churn(15000) - before, 2500)

    def test_switched(self):
        p = Polynomial([1])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(100000):
            p.offer(1)
            p.offer(2)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 2000)


if __name__ == "__main__":
    unittest.main()
