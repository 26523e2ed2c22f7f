# Thousands of callables with tables, replaced and refused and dropped, leak no reference and no
# object. Tables come from the raw allocator, which sys.getallocatedblocks() does not see:
# test_resident.py is for them.
import gc
import sys
import unittest

import slot_consumer as consumer
from polynomial import Polynomial


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


if __name__ == "__main__":
    unittest.main()
