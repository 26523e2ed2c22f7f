# Tests modules with a different version of the ABI. A different minor version works, but a different
# major version raises ImportError.
import unittest

import abi_probe
from fresh_process import run

# Each module finds the slots and rows of the other one.
WORK_TOGETHER ="""
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
        """The first module that is imported installs the interface."""
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

    def test_an_older_reader(self):
        for installer in ("provider_a", "newer_minor"):
            for first in ("older_reader", installer):
                run("""
import %s, older_reader, %s as provider
if provider.__name__ == "newer_minor":
    import abi_probe
    assert abi_probe.abi()[1] == abi_probe.MINOR + 1
assert older_reader.at_import == %d
assert older_reader.metaclass() is provider.metaclass()
assert older_reader.row(provider.key) == provider.row(provider.key) == %d
assert older_reader.row(id(older_reader)) is None
""" % (first, installer, first == installer, 3 if installer == "newer_minor" else 1))

    def test_what_this_tree_does_not_know(self):
        for order in ("newer_minor, resolve_consumer", "resolve_consumer, newer_minor"):
            run("import %s" % order +"""
twice, double = newer_minor.twice, resolve_consumer.call_double
assert twice(2.5) == 5.0 == double(twice, 2.5), double(twice, 2.5)
try: resolve_consumer.call_pair(twice, 1.0, 2.0)
except TypeError as error: assert "'+d->d'" in str(error), error
else: raise AssertionError("a letter was taken for another")
found, hits = resolve_consumer.across_a_tag(len)
assert found == "nothing nothing 42 42 nothing nothing ", found
assert hits > 0
class Derived(newer_minor.Type): pass
assert [newer_minor.find(each(), 3) for each in (newer_minor.Type, Derived)] == [33, 33]
""")

    def test_the_end_of_the_process(self):
        run("""
import newer_minor as module, sys
class C(module.Type):
    def __del__(self):
        assert module_find(self, 1) is None
module_find = module.find
sys.kept = C(), C
""")


class Refused(unittest.TestCase):
    def check(self, module, words):
        run("""
import sys
import %s
for name in ("provider_a", "provider_b", "provider_a"):
    try:
        __import__(name)
    except ImportError as error:
        assert %r in str(error) and str(error).startswith("_extensibletype.typedcall_v2"), error
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

    def test_another_major_that_comes_second_takes_what_is_there(self):
        run("""
import provider_a, abi_probe
before = abi_probe.abi()
import other_major
assert abi_probe.abi() == before
import provider_b
assert provider_b.metaclass() is provider_a.metaclass()
""")
