# Modules compiled with the headers of interface versions 1.0 and 1.1 in one process with a module of
# today, in every order of import: the first one's interface is everybody's.
import importlib.util
import itertools
import sys
import sysconfig
import textwrap
import unittest

import processes
from collected import module_only_if

module_only_if(not sysconfig.get_config_var("Py_GIL_DISABLED"),
               "version 1.0 came before free-threaded builds, and 1.1 has races there")

import member_today

# Version 1.0 came before free-threaded builds.
MEMBERS = [name for name in ("member_1_0", "member_1_1", "member_today")
           if importlib.util.find_spec(name) is not None]

VERSION_OF = {"member_1_0": (1, 0, 96), "member_1_1": (1, 1, 112),
              "member_today": member_today.abi()[:3], "member_strings": member_today.abi()[:3]}
ORDERS = [list(order) for order in itertools.permutations(MEMBERS)]

START = """
import gc, os, sys, weakref
sys.path[:] = {path!r}
if {share_symbols}: sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
names = {names!r}
members = [__import__(name) for name in names]
interface = members[0].abi()
assert all(each.abi() == interface for each in members)
assert interface[:3] == {version!r}, interface
every_pair = [(a, b) for a in members for b in members]
def refuses(error, call, *arguments):
    try: call(*arguments)
    except error as raised: return str(raised)
    raise AssertionError("nothing was raised")
class Callable:
    def __call__(self, x): return x
has_hold = interface[1] >= 2
"""

ALL_SUBINTERPRETERS = """
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
def inside(code):
    interpreter = interpreters.create()
    try:
        failure = interpreters.run_string(interpreter, code)
        assert failure is None, failure
    finally:
        interpreters.destroy(interpreter)
"""


def start(names, share_symbols=False):
    return START.format(path=sys.path, names=names, version=VERSION_OF[names[0]],
                        share_symbols=share_symbols)


def run(code):
    """In a process that overwrites what is freed."""
    said = processes.python("-X", "faulthandler", code=code, together=True, timeout=120,
                            environment={"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165"}).out
    if said:
        raise AssertionError("%s\nsaid\n%s" % (code, said))


class InEveryOrder(unittest.TestCase):
    orders = ORDERS
    share_symbols = False

    def check(self, code):
        for names in self.orders:
            with self.subTest(names=names):
                run(start(names, self.share_symbols) + textwrap.dedent(code))

    def test_tags_of_defs(self):
        self.check("""
        for a, b in every_pair:
            assert a.where(b.times) == ("d->d", "side table, by PyMethodDef")
            assert a.call(b.times, 2.0) == b.times(2.0)
            for turn in range(3): assert a.by_site(b.times, turn) == b.times(turn)
            held = a.hold(b.times)
            assert a.held(held, 3.0) == b.times(3.0)
        """)

    def test_tags_from_outside(self):
        self.check("""
        for a, b in every_pair:
            for untags in members:
                for turn in range(2):
                    assert a.tag(len, b.address) is True
                    for other in members:
                        assert other.tag(len, b.address) is False
                        said = refuses(ValueError, other.tag, len, b.address + 1)
                        assert "len is tagged already" in said, said
                        assert other.call(len, 5.0) == b.times(5.0) == other.by_site(len, 5.0)
                    held = [other.hold(len) for other in members]
                    assert untags.untag(len) is True and untags.untag(len) is False
                    for other, kept in zip(members, held):
                        assert other.where(len) is None is other.by_site(len, 1.0)
                        assert other.held(kept, 2.0) == b.times(2.0)
                        refuses(TypeError, other.call, len, 1.0)
                    del held, kept
        """)

    def test_tags_of_objects_and_their_deaths(self):
        self.check("""
        for a, b in every_pair:
            before = a.living(), a.rows()
            one = Callable()
            assert a.tag(one, b.address) is True and b.tag(one, b.address) is False
            assert a.living() == before[0] + 1
            for other in members:
                assert other.where(one) == ("d->d", "side table, by object")
                for turn in range(3): assert other.by_site(one, 1.0) == b.times(1.0)
            held = [other.hold(one) for other in members]
            gone = weakref.ref(one)
            del one
            gc.collect()
            for other, kept in zip(members, held): assert other.held(kept, 2.0) == b.times(2.0)
            assert a.living() == before[0] + 1
            del held, kept
            gc.collect()
            assert gone() is None and a.living() == before[0], a.living()
            assert a.rows()[0] - before[1][0] == 1 == a.rows()[1] - before[1][1]
        # An object without weak references is kept until it is untagged.
        number = 987654.5
        count = sys.getrefcount(number)
        for a, b in every_pair:
            assert a.tag(number, b.address) is True
            assert sys.getrefcount(number) == count + 1
            assert b.call(number, 1.0) == b.times(1.0) and b.untag(number) is True
            assert sys.getrefcount(number) == count
        """)

    def test_an_address_that_is_used_again(self):
        self.check("""
        for turn in range(300):
            a, b = every_pair[turn % len(every_pair)]
            one = Callable()
            for other in members: assert other.by_site(one, 1.0) is None
            a.tag(one, b.address)
            for other in members: assert other.by_site(one, 1.0) == b.times(1.0)
            del one
        gc.collect()
        assert [each.living() for each in members] == [0] * len(members)
        """)

    def test_modules_that_go_and_come_back(self):
        self.check("""
        for turn in range(3):
            for name in names:
                old = sys.modules.pop(name)
                kept, gone = old.times, weakref.ref(old)
                held = [(each, each.hold(kept)) for each in members if each is not old]
                expected = kept(2.0)
                members.remove(old)
                del old
                every_pair.clear()
                gc.collect()
                assert gone() is not None
                for each, capsule in held:
                    assert each.held(capsule, 2.0) == expected == each.call(kept, 2.0)
                del held, each, capsule
                again = __import__(name)
                members.append(again)
                assert again.abi() == interface
                for each in members:
                    assert each.call(again.times, 2.0) == expected == each.by_site(kept, 2.0)
                del kept, each
                gc.collect()
                assert gone() is None
                for each in members: assert each.call(again.times, 2.0) == expected
                del again, each
        """)

    def test_an_owner_that_dies_under_a_reference(self):
        """One def with several functions: who holds a row keeps its owner; before 1.2 nobody can."""
        self.check("""
        class Hidden(list):
            append = None
        for a, b in every_pair:
            first, second = super(Hidden, Hidden()).append, super(Hidden, Hidden()).append
            a.tag(first, b.address)
            count = a.living()
            held = [(each, each.hold(second)) for each in members]
            del first, second
            gc.collect()
            for each, capsule in held: assert each.held(capsule, 2.0) == b.times(2.0)
            assert a.living() == count - (not has_hold), (a.living(), count)
            del held, each, capsule
            gc.collect()
            assert a.living() == count - 1
        """)

    def test_what_a_tag_keeps(self):
        self.check("""
        class Kept: pass
        today = sys.modules["member_today"]
        for a, b in every_pair:
            one, keeps, more = Callable(), Kept(), Kept()
            gone, more_gone = weakref.ref(keeps), weakref.ref(more)
            rows = [("d->d", 0, b.address)]
            assert today.tag_kept(one, rows, keeps) is True
            assert today.tag_kept(one, rows, more) is False
            assert a.tag(one, b.address) is False
            assert a.call(one, 2.0) == b.call(one, 2.0) == b.times(2.0)
            refuses(ValueError, today.tag_kept, one, [("d->d", 0, b.address + 1)], keeps)
            refuses(ValueError, a.tag, one, b.address + 1)
            held = [each.hold(one) for each in members]
            del keeps, more, one
            gc.collect()
            assert gone() is not None and more_gone() is not None
            del held
            gc.collect()
            assert gone() is None
            assert (more_gone() is None) == has_hold, "before 1.2 it stays for ever"
        """)

    def test_slots(self):
        self.check("""
        Both = type(members[0].Type)("Both", tuple(each.Type for each in members), {})
        metaclass = members[0].metaclass()
        assert all(type(each.Type) is metaclass is each.metaclass() for each in members)
        class Foreign: pass
        class Derived(Foreign): pass
        ideas = {each: int(each.times(1.0)) for each in members}
        for turn in range(3):
            for a in members:
                assert a.slot(Derived(), 99) is None
                for b, idea in ideas.items():
                    assert a.slot(Both(), idea) == idea * 100 == a.slot(b.Type(), idea)
                    a.register(Foreign, idea, idea * 7)
                    for each in members:
                        assert each.slot(Derived(), idea) == each.slot(Foreign(), idea) == idea * 7
                    refuses(ValueError, b.register, Foreign, idea, 8)
                    class Late(Foreign): pass
                    assert [each.slot(Late(), idea) for each in members] == [idea * 7] * len(members)
                    assert b.unregister(Foreign, idea) is True
                    assert b.unregister(Foreign, idea) is False
                    for each in members: assert each.slot(Derived(), idea) is None
                    refuses(TypeError, a.register, b.Type, 5, 5)
        import abc, enum
        names = ["old.%d" % i for i in range(5)]
        ids = [[each.slot_id(name) for name in names] for each in members]
        assert ids == [ids[0]] * len(members) and len(set(ids[0])) == 5
        for other in (abc.ABCMeta, enum.EnumMeta):
            made = {each.combined(other) for each in members}
            assert len(made) == 1 and issubclass(made.pop(), metaclass)
        class A(Both, abc.ABC, metaclass=members[-1].combined(abc.ABCMeta)): pass
        for a in members:
            for idea in ideas.values(): assert a.slot(A(), idea) == idea * 100
        """)

    def test_the_end_of_the_process(self):
        self.check("""
        class Ends:
            def __init__(self, members): self.members = members
            def __del__(self):
                for each in self.members:
                    for call in (each.where, each.untag, each.hold):
                        try: call(len)
                        except (TypeError, RuntimeError): pass
                    try: each.tag(len, each.address)
                    except (TypeError, RuntimeError, ValueError): pass
                    each.slot(self, 10)
                    each.by_site(each.times, 1.0)
        for a, b in every_pair:
            one = Callable()
            a.tag(one, b.address)
            one.ends, one.held = Ends(list(members)), [each.hold(one) for each in members]
            setattr(sys, "kept_%s_%s" % (a.__name__, b.__name__), one)
            another, tag_kept = Callable(), sys.modules["member_today"].tag_kept
            for turn in range(2):
                tag_kept(another, [("d->d", 0, b.address)], Ends(list(members)))
            setattr(sys, "also_%s_%s" % (a.__name__, b.__name__), another)
        sys.ends = Ends(list(members))
        """)

    def test_subinterpreters(self):
        for names in self.orders:
            code = start(names[::-1], self.share_symbols) + textwrap.dedent("""
            for a, b in every_pair:
                assert a.call(b.times, 2.0) == b.times(2.0) == a.by_site(b.times, 2.0)
                one = Callable()
                a.tag(one, b.address)
                sys.kept = one, [each.hold(one) for each in members]
                class C(a.Type, *({b.Type} - {a.Type})): pass
                class F: pass
                b.register(F, 3, 33)
                assert a.slot(F(), 3) == 33 and a.slot(C(), int(a.times(1.0))) == a.times(100.0)
            """)
            with self.subTest(names=names):
                run(start(names, self.share_symbols) + ALL_SUBINTERPRETERS + textwrap.dedent("""
                one = Callable()
                members[0].tag(one, members[1].address)
                for turn in range(2): inside(%r)
                for a, b in every_pair:
                    assert a.call(b.times, 2.0) == b.times(2.0) == a.by_site(b.times, 2.0)
                    assert a.call(one, 1.0) == members[1].times(1.0)
                """) % code)


class WithGlobalSymbols(InEveryOrder):
    """Loaded with RTLD_GLOBAL, where one module's inline functions are everybody's who knows them by
    the same name. Of 1.0 and 1.1 one with today's at a time: between those two nothing helps."""

    # member_strings is today's with the strings of older C++ libraries.
    orders = [order for other in [*MEMBERS[:-1], "member_strings"]
              for order in ([other, MEMBERS[-1]], [MEMBERS[-1], other])]
    share_symbols = True


class ConsumerFirst(unittest.TestCase):
    """A consumer of today, which installs nothing and remembers what it did not find, was there before
    all of them."""

    CONSUMER = """
sys.path[:] = {path!r}
import consumer_today as consumer
Callable = type("Callable", (), {{"__call__": lambda self, x: x}})
one = Callable()
def look():
    for turn in range(3):
        assert consumer.by_site(len, 1.0) is consumer.by_site(one, 1.0) is None
        for each in len, one:
            try: consumer.call(each, 1.0)
            except TypeError: pass
            else: raise AssertionError(each)
import sys, os
assert not consumer.is_installed() and "_extensibletype" not in sys.modules
look()
"""

    AFTER = """
for a, b in every_pair:
    for each in len, one: assert a.tag(each, b.address) is True
    for each in len, one, b.times: assert consumer.call(each, 3.0) == b.times(3.0)
    for turn in range(3):
        for each in len, one, b.times: assert consumer.by_site(each, 3.0) == b.times(3.0)
    for each in len, one: assert a.untag(each) is True
    look()
    assert consumer.writes(Callable) == (1, 1, -2, 0, 1, 1, 1), consumer.writes(Callable)
assert consumer.is_installed()
"""

    def run_orders(self, before, between=""):
        for names in ORDERS:
            with self.subTest(names=names):
                run("import sys\n" + before.format(path=sys.path) + start(names) + between
                    + self.AFTER)

    def test_it_finds_what_comes_later(self):
        self.run_orders(self.CONSUMER)

    def test_in_a_subinterpreter_too(self):
        for names in ORDERS:
            inner = "import sys\n" + self.CONSUMER.format(path=sys.path) + start(names) + self.AFTER
            with self.subTest(names=names):
                run("import sys\n" + self.CONSUMER.format(path=sys.path) + ALL_SUBINTERPRETERS
                    + "for turn in range(2): inside(%r)\nlook()\n" % inner
                    + "assert not consumer.is_installed()\n")


class TheInterpretersDictionary(unittest.TestCase):
    """CPython 3.13 shows it to everybody. Today's interface comes back when it is emptied."""

    def test_emptied(self):
        for names in ORDERS:
            if names[0] == "member_today":
                run(start(names[:1]) + textwrap.dedent("""
                key = "_extensibletype.typedcall_v1"
                found = [each for each in gc.get_objects() if type(each) is dict and key in each]
                for each in found: del each[key]
                del sys.modules["_extensibletype"]
                others = [__import__(name) for name in {names!r}]
                for a in members + others:
                    for b in members + others:
                        if found: assert a.abi() == b.abi() == interface
                        assert a.call(b.times, 2.0) == b.times(2.0)
                """).format(names=names[1:]))


if __name__ == "__main__":
    unittest.main()
