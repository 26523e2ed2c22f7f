# Tests static types with the names of SEP 200, built as C99 and as C++17.
import sys
import typing
import unittest

from collected import only_if
import static_springs
import static_springs_cxx

MODULES = (static_springs, static_springs_cxx)


class StaticSprings(unittest.TestCase):
    def test_the_slot_is_found(self):
        for m in MODULES:
            self.assertEqual(m.call(m.Provider(4.0)), 8.0)
            self.assertEqual(m.call(m.Subtype(4.0)), 12.0)
            self.assertEqual((m.count(m.Provider(0)), m.count(m.Subtype(0))), (2, 2))

    def test_each_finds_the_others(self):
        self.assertEqual(static_springs.call(static_springs_cxx.Provider(4.0)), 8.0)
        self.assertEqual(static_springs_cxx.call(static_springs.Subtype(4.0)), 12.0)

    def test_the_type_works(self):
        for m in MODULES:
            self.assertEqual(m.Provider(1.5) + 2.0, 3.5)
            self.assertEqual(m.Provider.__module__, m.__name__)
            self.assertEqual(m.Provider.__name__, "Spring")
            self.assertEqual(repr(m.Subtype), "<class '%s.LongSpring'>" % m.__name__)
            self.assertTrue(issubclass(m.Subtype, m.Provider))
            with self.assertRaises(TypeError):
                m.Provider("x")

    def test_python_subclasses(self):
        for m in MODULES:
            class Plain:
                pass

            class One(m.Provider):
                pass

            class Two(Plain, m.Subtype):
                __slots__ = ("x",)

            class Three(One, typing.Generic[typing.TypeVar("T")]):
                pass

            self.assertEqual([m.call(c(4.0)) for c in (One, Two, Three)], [8.0, 12.0, 8.0])
            self.assertEqual(m.call(type(m.Provider)("X", (m.Provider,), {})(4.0)), 8.0)

    def test_it_cannot_be_changed_from_python(self):
        for m in MODULES:
            with self.assertRaises(TypeError):
                m.Provider.attribute = 5
            with self.assertRaises(TypeError):
                m.Provider.__bases__ = (m.Subtype,)

    def test_ordinary_objects_have_no_slots(self):
        for m in MODULES:
            for ordinary in (5, None, "a", [], object(), m.Provider, type(m.Provider), m):
                self.assertIsNone(m.call(ordinary))

    @only_if(sys.version_info >= (3, 10))  # 3.10 added the match statement
    def test_match_statements_bind_as_ever(self):
        """With SEP 200's flag bit, `match` would allow one positional pattern."""
        scope = {"Provider": static_springs.Provider}
        exec("def f(x):\n match x:\n  case Provider(y): return y\n", scope)
        with self.assertRaisesRegex(TypeError, "accepts 0 positional sub-patterns"):
            scope["f"](static_springs.Provider(1.0))
