# Thousands of callables with tables, replaced and refused and dropped, leak no reference and no
# memory. Tables come from the raw allocator, which sys.getallocatedblocks() does not see: the
# process's own size shows them.
import gc
import os
import resource
import sys
import unittest

from collected import only_if
import slot_consumer as consumer
from polynomial import Polynomial

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


class Plain:
    pass


class Sub(Plain, Polynomial):
    pass


def use():
    for cls in (Polynomial, Sub):
        p = cls([1, 2, 3])
        p.offer(3)
        p.offer(1)
        p.offer(0)
        p.offer(2)
        assert consumer.value(p, 1.0) == 6.0
        if cls is Sub:
            p.itself = p  # for the garbage collector


def refuse():
    for arguments in ((), (5,), (["x"],)):
        try:
            Polynomial(*arguments)
        except TypeError:
            pass
    try:
        Polynomial([1]).offer_text("bad", 0)
    except ValueError:
        pass


class Objects(unittest.TestCase):
    def blocks(self):
        # Without the GIL memory comes back some collections later.
        for _ in range(5):
            gc.collect()
        return sys.getallocatedblocks()

    def test_objects(self):
        for function in (use, refuse):
            for _ in range(300):
                function()
            before = self.blocks()
            for _ in range(3000):
                function()
            self.assertLess(self.blocks() - before, 300, function.__name__)


@only_if(not SANITIZED)  # the sanitizer keeps freed memory; memory_test counts exactly
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
