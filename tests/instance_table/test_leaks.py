# Thousands of callables with tables, replaced and refused and dropped, leak no reference and no
# memory. Tables come from the raw allocator, which sys.getallocatedblocks() does not see: the
# process's own size shows them.
import os
import unittest

from collected import only_if
import leaks
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
    def test_objects(self):
        for function in (use, refuse):
            leaks.check(function, 3000, warm_up=300, blocks=300)


@only_if(not SANITIZED)  # the sanitizer keeps freed memory; memory_test counts exactly
class Tables(unittest.TestCase):
    def test_dropped(self):
        # A table leaked on each of these would be more than five megabytes.
        leaks.check(use, 15000, warm_up=15000, kilobytes=2500, kilobytes_of=leaks.peak)

    def test_switched(self):
        p = Polynomial([1])

        def switch():
            p.offer(1)
            p.offer(2)

        leaks.check(switch, 100000, warm_up=0, kilobytes=2000, kilobytes_of=leaks.peak)


if __name__ == "__main__":
    unittest.main()
