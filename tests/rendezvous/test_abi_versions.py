# Modules that were compiled against other versions of the ABI, in both import orders: a newer and
# an older minor version work together with this tree's, another major version or a struct that is
# too small gives an ImportError that says so.
import unittest

import abi_probe
from fresh_process import run

# One metaclass, each finds the other's slots and rows, classes of both.
WORK_TOGETHER = """
assert one.metaclass() is two.metaclass() is type(one.Type) is type(two.Type)
assert one.interface() == two.interface() == abi_probe.peek()
class Both(one.Type, two.Type): pass
for module in (one, two):
    assert module.find(Both(), idea) == idea * 11 and module.find(Both(), 1) == 11
    assert module.row(one.key) == 1 and module.row(two.key) == idea
late = type.__new__(type(one.Type), "Late", (two.Type, one.Type), {})
assert abi_probe.find(late(), idea) == idea * 11 and abi_probe.find(late(), 1) == 11
import gc
key = one.key
del one, module, provider_a, sys.modules["provider_a"], Both, late
gc.collect()
assert two.row(key) is None and two.row(two.key) == idea
"""


class Minors(unittest.TestCase):
    def check(self, faked, idea, expected):
        """`faked` first: its interface stays; `faked` second: the real one stays."""
        run("""
import sys, abi_probe
import %s as two
idea, expected = %d, %r
assert abi_probe.abi()[:3] == expected, abi_probe.abi()
import provider_a
one = provider_a
assert abi_probe.abi()[:3] == expected, abi_probe.abi()
""" % (faked, idea, expected) + WORK_TOGETHER)
        real = abi_probe.MAJOR, abi_probe.MINOR, abi_probe.SIZE
        run("""
import sys, abi_probe, provider_a
one = provider_a
import %s as two
idea, expected = %d, %r
assert abi_probe.abi()[:3] == expected, abi_probe.abi()
""" % (faked, idea, real) + WORK_TOGETHER)

    def test_newer(self):
        self.check("newer_minor", 3,
                   (abi_probe.MAJOR, abi_probe.MINOR + 1, abi_probe.SIZE + 24))

    def test_older(self):
        self.check("older_minor", 4, (abi_probe.MAJOR, 0, abi_probe.SIZE_1_0))

    def test_older_then_newer(self):
        run("""
import older_minor, newer_minor, abi_probe, provider_b
assert abi_probe.abi()[:3] == (abi_probe.MAJOR, 0, abi_probe.SIZE_1_0)
class All(newer_minor.Type, older_minor.Type, provider_b.Type): pass
for module in (older_minor, newer_minor, provider_b):
    assert [module.find(All(), idea) for idea in (2, 3, 4)] == [22, 33, 44]
""")

    def test_what_the_older_one_has_no_function_for(self):
        """1.0 cannot exchange a row that stands, nor show its counters without a call."""
        first = "import older_minor, abi_probe\nassert abi_probe.abi()[1:3] == %r\n" % (
            (0, abi_probe.SIZE_1_0),)
        run(first + """
from foreign_tools import find, register
class Foreign: pass
class Derived(Foreign): pass
A, B = 0x01000101, 0x01000201
def found():
    return [find(each(), id) for each in (Foreign, Derived) for id in (A, B)]
register(Foreign, {A: 1})
assert found() == [1, None] * 2, found()
register(Foreign, {B: 2})
assert found() == [1, 2] * 2, found()
""")
        run(first + """
import resolve_consumer
found, hits = resolve_consumer.across_a_tag(len)
assert found.split() == ["nothing"] * 2 + ["42"] * 2 + ["nothing"] * 2 and hits == 3, (found, hits)
""")

    def test_the_end_of_the_process(self):
        for module in ("newer_minor", "older_minor"):
            run("""
import %s as module, sys
class C(module.Type):
    def __del__(self):
        assert module_find(self, 1) is None
module_find = module.find
sys.kept = C(), C
""" % module)


class Refused(unittest.TestCase):
    def check(self, module, words):
        run("""
import sys
import %s
for name in ("provider_a", "provider_b", "provider_a"):
    try:
        __import__(name)
    except ImportError as error:
        assert %r in str(error) and str(error).startswith("_extensibletype.typedcall_v1"), error
    else:
        raise AssertionError("imported")
    assert name not in sys.modules
import abi_probe
assert abi_probe.peek() is None
try: abi_probe.abi()
except ImportError as error: assert %r in str(error), error
else: raise AssertionError
assert abi_probe.find(5, 1) is None and abi_probe.find(object(), 1) is None
""" % (module, words, words))

    def test_another_major(self):
        self.check("other_major", "has ABI version %d.5 and %d bytes; %d.0 and" % (
            abi_probe.MAJOR + 1, abi_probe.SIZE + 24, abi_probe.MAJOR))

    def test_too_small(self):
        self.check("too_small", "and %d bytes;" % (abi_probe.SIZE_1_0 - 1))

    def test_another_major_that_comes_second_takes_what_is_there(self):
        run("""
import provider_a, abi_probe
before = abi_probe.abi()
import other_major, too_small
assert abi_probe.abi() == before
import provider_b
assert provider_b.metaclass() is provider_a.metaclass()
""")


if __name__ == "__main__":
    unittest.main()
