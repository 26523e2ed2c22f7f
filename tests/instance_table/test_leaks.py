# Tests that callables with tables leak no references and no objects. test_resident.py tests the
# tables.
import unittest

import leaks
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
            p.itself = p  # a cycle for the garbage collector


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
