"""core/type_from_metaclass.h against CPython's own types of the same specs."""

import gc
import inspect
import itertools
import pickle
import pydoc
import sys
import unittest
import warnings
import weakref

import fromspec_module as fs

try:
    import _testcapi
except ImportError:  # Debian packages it apart
    _testcapi = None

GOOD = ["empty", "members", "weakdict", "number", "vectorcall", "protocol", "final", "sized",
        "list_base", "tuple_of_bases", "undotted"]
if sys.version_info >= (3, 10):
    GOOD += ["dotted",  # whose doc is NULL: CPython 3.9 itself crashes on that
             "immutable", "abstract"]
IGNORED_FLAG = 1 << 19  # Py_TPFLAGS_VALID_VERSION_TAG: says only what has been looked up


class DerivedMetaclass(fs.Metaclass):
    created = 0

    def __init__(cls, *args, **kwargs):
        DerivedMetaclass.created += 1
        super().__init__(*args, **kwargs)


class UnrelatedMetaclass(type):
    pass


class MetaclassWithNew(type):
    def __new__(mcs, *args, **kwargs):
        return super().__new__(mcs, *args, **kwargs)


def quiet(function, *args):
    """Calls it without the warning about names without a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return function(*args)


def make(kind, metaclass=fs.Metaclass, bases=None):
    return quiet(fs.make, kind, metaclass, bases)


def plain(kind, bases=None):
    return quiet(fs.plain, kind, bases)


def layout(cls):
    size, basic, item, dict_, weak, vectorcall, flags, name, _ = fs.layout(cls)
    return size, basic, item, dict_, weak, vectorcall, flags & ~IGNORED_FLAG, name


class SameAsPlain(unittest.TestCase):
    """What CPython makes of a spec and what we make of it differ in the metaclass only."""

    def pairs(self):
        for kind in GOOD:
            for metaclass in (fs.Metaclass, DerivedMetaclass, type):
                with self.subTest(kind=kind, metaclass=metaclass.__name__):
                    yield make(kind, metaclass), plain(kind), metaclass

    def test_c_struct(self):
        for ours, theirs, metaclass in self.pairs():
            self.assertIs(type(ours), metaclass)
            self.assertEqual(layout(ours), layout(theirs))
            self.assertEqual(fs.slots(ours), fs.slots(theirs))

    def test_dict_and_names(self):
        for ours, theirs, _ in self.pairs():
            self.assertEqual(list(ours.__dict__), list(theirs.__dict__))
            for key, value in theirs.__dict__.items():
                self.assertIs(type(ours.__dict__[key]), type(value), key)
                if key in ("__doc__", "__module__"):
                    self.assertEqual(ours.__dict__[key], value)
            for name in ("__name__", "__qualname__", "__doc__", "__base__", "__bases__",
                         "__dictoffset__", "__weakrefoffset__"):
                self.assertEqual(getattr(ours, name), getattr(theirs, name), name)
            self.assertEqual(ours.__mro__[1:], theirs.__mro__[1:])
            self.assertIs(ours.__mro__[0], ours)
            self.assertIs(fs.module_of(ours), fs)

    def test_member_definitions_are_behind_the_metaclass_data(self):
        for ours, theirs, metaclass in self.pairs():
            where = fs.layout(ours)[-1]
            if fs.layout(theirs)[-1] is None:
                self.assertIsNone(where)
            else:
                self.assertEqual(where, metaclass.__basicsize__)

    def test_every_slot_id(self):
        # 48 and 49: bases, 56: doc, 72: members; they are no functions.
        for slot in sorted(set(range(1, 84)) - {48, 49, 56, 72}):
            with self.subTest(slot=slot):
                try:
                    theirs = fs.one_slot(slot, None)
                except Exception as error:
                    with self.assertRaises(type(error)) as caught:
                        fs.one_slot(slot, fs.Metaclass)
                    self.assertEqual(str(caught.exception), str(error))
                    continue
                ours = fs.one_slot(slot, fs.Metaclass)
                self.assertEqual(fs.slots(ours), fs.slots(theirs))
                self.assertEqual(list(ours.__dict__), list(theirs.__dict__))

    def test_bases(self):
        class Plain:
            pass

        class Slotted:
            __slots__ = ("a",)

        class Weak:
            __slots__ = ("__weakref__",)

        class Dict:
            __slots__ = ("__dict__",)

        class Item(int):
            pass

        members, sized, weakdict = plain("members"), plain("sized"), plain("weakdict")
        pool = [object, Plain, Slotted, Weak, Dict, Item, int, list, Exception, OSError, members,
                sized, weakdict, make("members"), make("number"), make("empty"), bool, 5]
        made = 0
        for bases in itertools.chain(*(itertools.product(pool, repeat=n) for n in (1, 2, 3))):
            for kind in ("empty",) if len(bases) == 3 else ("empty", "number", "protocol"):
                if any(type(base) is fs.Metaclass for base in bases):
                    continue  # CPython before 3.12 makes `type`s even then
                try:
                    theirs = plain(kind, bases)
                except TypeError as error:
                    with self.assertRaises(TypeError):
                        make(kind, fs.Metaclass, bases)
                    continue
                ours = make(kind, fs.Metaclass, bases)
                made += 1
                self.assertIs(ours.__base__, theirs.__base__)
                self.assertEqual(ours.__bases__, bases)
                self.assertEqual(ours.__mro__[1:], theirs.__mro__[1:])
                self.assertEqual(layout(ours), layout(theirs))
                self.assertEqual(fs.slots(ours), fs.slots(theirs))
        self.assertGreater(made, 300)
        gc.collect()

    def test_bases_of_our_metaclass(self):
        base, other = make("members"), make("number")
        for bases in (base, (base,), (other, base), (base, list)[:1] + (object,)):
            ours = make("empty", fs.Metaclass, bases)
            self.assertIs(ours.__base__, base)
            self.assertIs(type(ours), fs.Metaclass)
        with self.assertRaisesRegex(TypeError, "lay-out conflict"):
            make("empty", fs.Metaclass, (base, list))

    def test_tp_base_slots(self):
        self.assertEqual(make("list_base").__bases__, (list,))
        self.assertEqual(make("tuple_of_bases").__bases__, (int,))
        self.assertEqual(make("tuple_of_bases", fs.Metaclass, str).__bases__, (str,))


class Behaviour(unittest.TestCase):
    def test_members_getset_methods(self):
        cls = make("members")
        one = cls()
        self.assertEqual((one.number, one.real, one.answer), (0, 0.0, 42))
        one.number = 5
        self.assertEqual(one.number, 5)
        self.assertRaises(AttributeError, setattr, one, "real", 1.0)
        self.assertRaises(AttributeError, getattr, one, "object")
        self.assertEqual(cls().add_one(4), 5)
        self.assertIs(cls.cls(), cls)
        self.assertIsNone(cls.static())
        self.assertIs(cls().defining_class(), cls)
        sub = type(cls)("Sub", (cls,), {})
        self.assertIs(sub().defining_class(), cls)

    def test_object_members_are_traversed_and_cleared(self):
        class Collected:  # CPython does it for types that inherit it from a class made in Python
            __slots__ = ()

        class Sub(make("members", fs.Metaclass, Collected)):
            pass

        one, token = Sub(), Sub()
        one.object = one  # only the collector finds this
        one.cycle = token
        token.object = Sub()  # only the deallocation finds this
        dead = weakref.ref(one), weakref.ref(token), weakref.ref(token.object)
        del one, token
        gc.collect()
        self.assertEqual([ref() for ref in dead], [None] * 3)

    def test_weak_references_dict_and_dealloc(self):
        cls = make("weakdict")
        one = cls()
        one.x = one
        dead = weakref.ref(one)
        fs.take_dealloc_calls()
        del one
        gc.collect()
        self.assertIsNone(dead())
        self.assertEqual(fs.take_dealloc_calls(), 1)

    def test_protocols(self):
        one = make("number")()
        self.assertEqual((one + 1, 1 + one, len(one), list(one), repr(one)),
                         (7, 7, 7, list(range(7)), "<seven>"))
        self.assertEqual(one, one)
        self.assertRaises(TypeError, hash, one)
        self.assertEqual(make("vectorcall")()(1, 2, x=3), 2)
        other = make("protocol")()
        self.assertEqual((list(other), bytes(memoryview(other)), other["x"], hash(other)),
                         ([], b"abc", 7, 7))

    def test_inherited_slots_are_not_the_types_own(self):
        class Other:
            def __repr__(self):
                return "Other's"

            __str__ = __hash__ = __repr__

            def __eq__(self, other):
                return "equal"

            def __getattribute__(self, name):
                return "got " + name

        for metaclass in (fs.Metaclass, type):
            ours = make("empty", metaclass)

            class D(ours, Other):
                pass

            self.assertEqual((repr(D()), str(D()), D() == 1, D().x),
                             ("Other's", "Other's", "equal", "got x"))
            self.assertNotIn("__repr__", ours.__dict__)

    def test_subclassing_in_python(self):
        for kind in GOOD:
            ours = make(kind)
            with self.subTest(kind=kind):
                if kind == "final":
                    self.assertRaises(TypeError, fs.Metaclass, "Sub", (ours,), {})
                    continue

                class Sub(ours):
                    def __repr__(self):
                        return "sub"

                class Sub2(Sub, metaclass=DerivedMetaclass):
                    pass

                self.assertIs(type(Sub), fs.Metaclass)
                if kind == "abstract":
                    self.assertRaises(TypeError, ours)
                else:
                    self.assertEqual(repr(Sub2()), "sub")
                self.assertEqual(fs.extra(Sub), bytes(48))
                self.assertEqual(ours.__subclasses__(), [Sub])

    def test_metaclass_data(self):
        for metaclass in (fs.Metaclass, DerivedMetaclass):
            for kind in GOOD:
                ours = make(kind, metaclass)
                self.assertEqual(fs.extra(ours), bytes(48))
                names = [m for m in dir(ours)]
                fs.fill_extra(ours)
                self.assertEqual(names, dir(ours))
                if kind == "members":
                    self.assertEqual(ours().answer, 42)
                    self.assertEqual(ours().number, 0)

    def test_init_and_init_subclass_are_not_called(self):
        calls = []

        class Base(metaclass=DerivedMetaclass):
            def __init_subclass__(cls, **kwargs):
                calls.append(cls)

        DerivedMetaclass.created = 0
        make("empty", DerivedMetaclass, Base)
        self.assertEqual((calls, DerivedMetaclass.created), ([], 0))

    def test_metaclass_is_the_most_derived(self):
        class Base(metaclass=DerivedMetaclass):
            pass

        self.assertIs(type(make("empty", fs.Metaclass, (object, Base)[1:])), DerivedMetaclass)
        self.assertIs(type(make("empty", None, Base)), DerivedMetaclass)
        self.assertIs(type(make("empty", None)), type)
        self.assertIs(type(make("empty", fs.NoNew)), fs.NoNew)  # tp_new NULL is allowed

    def test_metaclass_mro(self):
        seen = []

        class Reordering(fs.Metaclass):
            def mro(cls):
                seen.append(getattr(cls, "__module__", None))
                return [cls, int, object]

        ours = make("empty", Reordering, int)
        self.assertEqual(ours.__mro__, (ours, int, object))
        self.assertEqual(ours.__module__, "fromspec")
        self.assertEqual(len(seen), 1)

        class Failing(fs.Metaclass):
            def mro(cls):
                raise KeyError("mro")

        self.assertRaises(KeyError, make, "members", Failing)
        gc.collect()

    def test_pickle_and_help(self):
        for name in ("members", "number"):
            ours = make(name)
            setattr(fs, name, ours)
            module, sys.modules["fromspec"] = sys.modules.get("fromspec"), fs
            try:
                self.assertIs(pickle.loads(pickle.dumps(ours)), ours)
            finally:
                delattr(fs, name)
                del sys.modules["fromspec"]
        self.assertIn("Has members.", pydoc.render_doc(make("members")))
        self.assertEqual(pydoc.plain(pydoc.render_doc(make("number"))),
                         pydoc.plain(pydoc.render_doc(plain("number"))))

    def test_doc_and_signature(self):
        ours = make("members")
        self.assertEqual(ours.__doc__, "Has members.")
        # CPython's own types of specs keep it only since 3.11.
        self.assertEqual(ours.__text_signature__, "(number=0)")
        self.assertEqual(str(inspect.signature(ours)), "(number=0)")
        self.assertIsNone(make("dotted").__doc__)
        self.assertEqual(make("dotted").__module__, "fromspec.inner")

    def test_warning_without_module(self):
        with self.assertWarnsRegex(DeprecationWarning, "has no __module__"):
            fs.make("undotted", fs.Metaclass)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertRaises(DeprecationWarning, fs.make, "undotted", fs.Metaclass)


class Refusals(unittest.TestCase):
    def check(self, error, text, *args):
        before = object.__subclasses__()
        with self.assertRaisesRegex(error, text):
            make(*args)
        gc.collect()
        self.assertEqual(object.__subclasses__(), before)

    def test_metaclass(self):
        class Base(metaclass=UnrelatedMetaclass):
            pass

        class BaseWithNew(metaclass=MetaclassWithNew):
            pass

        conflict, custom = "metaclass conflict", "custom tp_new"
        self.check(TypeError, conflict, "empty", fs.Metaclass, Base)
        self.check(TypeError, conflict, "empty", fs.Metaclass, (Base, object))
        self.check(TypeError, conflict, "empty", int)
        self.check(TypeError, custom, "empty", MetaclassWithNew)
        if sys.version_info < (3, 12) or sys.version_info >= (3, 14):
            self.check(TypeError, custom, "empty", None, BaseWithNew)

    def test_bases(self):
        self.check(TypeError, "not an acceptable base", "empty", fs.Metaclass, bool)
        self.check(TypeError, "not an acceptable base", "empty", fs.Metaclass, make("final"))
        self.check(TypeError, "not an acceptable base", "bad_bool_base")
        self.check(TypeError, "lay-out conflict", "empty", fs.Metaclass, (int, list))
        self.check(TypeError, "resolution", "empty", fs.Metaclass, (object, int))
        self.check(TypeError, "", "empty", fs.Metaclass, 5)
        self.check(TypeError, "", "empty", fs.Metaclass, (int, 5))
        self.check(SystemError, "not a tuple", "bad_not_a_tuple")

    def test_no_bases(self):
        self.check(TypeError, "at least one base", "empty", fs.Metaclass, ())

    def test_spec(self):
        self.check(SystemError, "name", "unnamed")
        self.check(SystemError, "Multiple Py_tp_doc", "bad_two_docs")
        self.check(SystemError, "Multiple Py_tp_members", "bad_two_members")
        self.check(RuntimeError, "invalid slot", "bad_unknown")
        self.check(RuntimeError, "invalid slot", "bad_negative")
        self.check(TypeError, "too small", "bad_small")
        self.check(TypeError, "out of bounds", "bad_offset")

    @unittest.skipIf(sys.version_info >= (3, 12), "CPython can")
    def test_negative_basicsize(self):
        self.check(SystemError, "needs Python 3.12", "pep697")


class Lifetime(unittest.TestCase):
    def test_bases_list_nothing_but_the_type(self):
        class Base(metaclass=fs.Metaclass):
            pass

        gc.collect()
        gc.disable()
        try:
            for metaclass, bases in ((fs.Metaclass, Base), (type, list), (fs.Metaclass, list)):
                of = bases.__subclasses__()
                everything = len(gc.get_objects())
                ours = make("empty", metaclass, bases)
                self.assertEqual(set(bases.__subclasses__()) - set(of), {ours})
                self.assertEqual([o for o in gc.get_objects()[everything:]
                                  if isinstance(o, type) and o is not ours], [])
                self.assertRaises(TypeError, make, "bad_small", metaclass, bases)
                del ours, of
                gc.collect()
        finally:
            gc.enable()

    def count(self):
        gc.collect()
        # Without Py_DEBUG, a debug build's total misses what the extension module does.
        total = sys.gettotalrefcount() if fs.COUNTS_REFERENCES else 0
        return total, sys.getallocatedblocks()

    def assert_no_leak(self, function, times):
        for _ in range(300):
            function()
        before = self.count()
        for _ in range(times):
            function()
        after = self.count()
        # Caches of names and versions make a few; a leak makes one per call.
        self.assertLess(after[0] - before[0], times // 10)
        self.assertLess(after[1] - before[1], times // 10)

    def test_no_leak(self):
        kinds = itertools.cycle(GOOD)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assert_no_leak(lambda: fs.make(next(kinds), fs.Metaclass), 10000)

    def test_no_leak_of_instances_and_metaclasses(self):
        kinds = itertools.cycle(["members", "weakdict", "number"])
        self.assert_no_leak(lambda: make(next(kinds))(), 2000)

        def with_its_metaclass():
            class Meta(fs.Metaclass):
                pass
            make("members", Meta)()

        self.assert_no_leak(with_its_metaclass, 1000)

    def test_no_leak_of_refusals(self):
        cases = itertools.cycle(["bad_two_docs", "bad_two_members", "bad_unknown", "bad_small",
                                 "bad_bool_base", "bad_not_a_tuple", "bad_offset", "unnamed"])
        metaclasses = itertools.cycle([fs.Metaclass, MetaclassWithNew, int])

        def refuse():
            self.assertRaises(Exception, make, next(cases), fs.Metaclass)
            self.assertRaises(TypeError, make, "members", next(metaclasses), (int, list))

        self.assert_no_leak(refuse, 1000)

    def test_type_is_freed_with_its_metaclass(self):
        class Meta(fs.Metaclass):
            pass

        ours = make("members", Meta)
        dead = weakref.ref(ours), weakref.ref(Meta)
        del ours, Meta
        gc.collect()
        gc.collect()  # `type` does not show the collector its own type, so one after the other
        self.assertEqual([ref() for ref in dead], [None, None])

    def test_collector_sees_every_stage(self):
        kinds = itertools.cycle(GOOD)
        threshold = gc.get_threshold()
        gc.set_threshold(1, 1, 1)
        try:
            for _ in range(100):
                make(next(kinds))
        finally:
            gc.set_threshold(*threshold)

    @unittest.skipUnless(hasattr(_testcapi, "set_nomemory"), "needs _testcapi")
    @unittest.skipIf(sys.version_info >= (3, 12), "CPython's own code: 3.13.0 crashes")
    def test_every_failing_allocation(self):
        def attempt(kind, metaclass, base, first, last):
            _testcapi.set_nomemory(first, last)
            try:
                return fs.make(kind, metaclass, base)
            except MemoryError:
                return None
            finally:
                _testcapi.remove_mem_hooks()

        def every_allocation(kind, metaclass, only_one):
            # Out of memory, CPython cannot take a dying type off its base's list of subclasses: a
            # base of its own takes the entry with it.
            base = type("Base", (), {"__slots__": ()})
            failures = 0
            for first in range(70):
                last = first + 1 if only_one else 0
                if attempt(kind, metaclass, base, first, last) is None:
                    failures += 1
                    gc.collect()
            return failures

        for kind in ("empty", "members", "weakdict"):
            for only_one in (True, False):
                with self.subTest(kind=kind, only_one=only_one):
                    for metaclass in (fs.Metaclass, type):
                        failures = every_allocation(kind, metaclass, only_one)
                        self.assertGreater(failures, 10)
                        self.assertLess(failures, 60)
                    # CPython itself leaks here: with other metaclasses when it calls their mro(),
                    # and 3.9 always.
                    if sys.version_info < (3, 10):
                        continue
                    before = self.count()
                    for _ in range(6):
                        every_allocation(kind, type, only_one)
                    after = self.count()
                    self.assertLess(after[0] - before[0], 5)
                    self.assertLess(after[1] - before[1], 5)


if __name__ == "__main__":
    unittest.main()
