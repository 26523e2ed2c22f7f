# Tests methods of a type, class methods, static methods, and functions that take their module.
import gc
import importlib.util
import inspect
import pickle
import sys
import types
import unittest

import leaks
import provider_methods as m
from other_interpreters import check_in_others, needs_interpreters

NEEDS_THREAD, MAY_RAISE, RETURNS_STATUS, TAKES_SELF = 0x1, 0x4, 0x10, 0x20


def fresh_copy():
    spec = importlib.util.spec_from_file_location("provider_methods", m.__file__)
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


class Derived(m.vector):
    def dot(self, *args):
        return "overridden"


class Methods(unittest.TestCase):
    def test_calls(self):
        v = m.vector(3, 4)
        self.assertEqual(v.norm2(), 25.0)
        self.assertEqual((v.dot(2, 1), v.dot(2)), (10.0, 6.0))
        self.assertEqual((v.dot(y=1, x=2), v.dot(2, y=1), v.dot(x=2)), (10.0, 10.0, 6.0))
        self.assertEqual((v.dot_by_name(2, y=1), v.dot_by_name(2), m.vector.dot_by_name(v, y=1, x=2)),
                         (10.0, 6.0, 10.0))
        self.assertEqual((v.scaled(2), v.scaled(2, True)), (6.0, -6.0))
        self.assertIsNone(v.move(1))
        self.assertEqual((v.compare(4.0), v.compare(5), v.compare("y")), (0, -1, 0))
        self.assertEqual(v.divide(2), 2.0)
        self.assertIs(v.itself(), v)
        self.assertEqual(v.ignores_self(), 42)

    def test_exceptions(self):
        v = m.vector(1, 1)
        with self.assertRaisesRegex(ValueError, "negative"):
            v.move(-1)
        with self.assertRaisesRegex(ZeroDivisionError, "by zero"):
            v.divide(0)
        with self.assertRaisesRegex(TypeError, r"compare\(\) has no overload for \(list\); it offers "
                                               r"'d->l', 's->l'"):
            v.compare([])

    def test_counts_do_not_count_self(self):
        v = m.vector(1, 1)
        for call, words in (
                (lambda: v.norm2(1), "takes no arguments"),
                (lambda: v.move(), "exactly one argument"),
                (lambda: v.divide(1, 2), "exactly one argument"),
                (lambda: v.dot(), r"dot\(\) missing 1 required positional argument: 'x'"),
                (lambda: v.dot(1, 2, 3), r"dot\(\) takes from 1 to 2 positional arguments but 3 were"),
                (lambda: v.scaled(), r"scaled\(\) missing 1 required positional argument: 'factor'"),
                (lambda: v.scaled(factor=1), "keyword"),
                (lambda: v.dot_by_name(1, 2), r"dot_by_name\(\) takes 1 positional argument but 2 were"),
                (lambda: v.counted_by_name(), r"by_name\(\) missing 1 required keyword-only argument: 'more'"),
                (lambda: v.sum_by_name(1, 2), r"sum_by_name\(\) takes 0 positional arguments but 2 were")):
            with self.assertRaisesRegex(TypeError, words):
                call()

    def test_self_is_checked(self):
        for method in (m.vector.norm2, m.vector.itself, m.vector.ignores_self):
            for wrong in (1, object(), m):
                with self.assertRaisesRegex(TypeError, "vector"):
                    method(wrong)
        with self.assertRaises(TypeError):
            m.vector.dot("x", 1, 2)
        self.assertEqual(m.vector.norm2(m.vector(1, 2)), 5.0)

    def test_subclass(self):
        d = Derived(3, 4)
        self.assertEqual((d.norm2(), d.dot(1, 1)), (25.0, "overridden"))
        self.assertEqual(m.vector.dot(d, 2, 1), 10.0)
        self.assertIs(type(Derived.unit(1, 0)), Derived)

    def test_descriptors(self):
        self.assertIs(type(m.vector.norm2), types.MethodDescriptorType)
        self.assertIs(type(m.vector.__dict__["unit"]), types.ClassMethodDescriptorType)
        self.assertIs(type(m.vector.__dict__["sum"]), staticmethod)
        self.assertEqual(m.vector.norm2.__qualname__, "vector.norm2")


class ClassAndStatic(unittest.TestCase):
    def test_class_method(self):
        made = m.vector.unit(1, 0)
        self.assertIs(type(made), m.vector)
        self.assertEqual(made.unit(3, 4).norm2(), 25.0)
        self.assertEqual((m.vector.answer(), made.answer()), (42, 42))
        with self.assertRaises(TypeError):
            m.vector.unit("x", 0)

    def test_static_method(self):
        for owner in (m.vector, m.vector(1, 2), Derived):
            self.assertEqual(owner.sum(1, 2), 3.0)
            self.assertEqual((owner.sum_of_names(b=1, a=2), owner.sum_by_name(b=1, a=2)), (3.0, 3.0))


class Modules(unittest.TestCase):
    def test_state(self):
        copy = fresh_copy()
        self.assertEqual([copy.count(), copy.count()], [101, 102])
        self.assertIsNone(copy.add_to_count(10))
        self.assertIsNone(copy.add_to_count())
        self.assertIsNone(copy.add_to_count(more=2))
        self.assertEqual(copy.count(), 116)
        self.assertEqual(fresh_copy().count(), 101)
        self.assertIs(copy.me(), copy)
        self.assertIs(m.me(), m)

    def test_methods_reach_the_state(self):
        copy = fresh_copy()

        class Subclass(copy.vector):
            pass

        class Late(Subclass):
            __slots__ = ()

        for owner in (copy.vector, Subclass, Late):
            v = owner(1, 2)
            before = copy.count()
            self.assertEqual((v.counted(), v.counted_more(more=3), v.counted_more()),
                             (before + 1, before + 4, before + 5), owner)
            self.assertEqual((v.counted_either(2), v.counted_either(2.0)), (before + 7, before + 9), owner)
            self.assertEqual((owner.counted_by_class(), v.counted_by_class()), (before + 10, before + 11), owner)
            self.assertEqual((copy.calls_of(v), copy.calls_of(owner), copy.calls_of(copy)), (before + 11,) * 3)
        # Each module object has its own state.
        self.assertLess(m.calls_of(m), copy.count() - 20)
        self.assertEqual(m.calls_of(v), copy.calls_of(copy))

    def test_objects_without_the_state(self):
        class Class:
            pass

        for wrong, words in (
                (5, "a 'int' object leads to no module with this state"), (None, "a 'NoneType' object"),
                (int, "a 'type' object"), (Class(), "a 'Class' object"), (Class, "a 'type' object"),
                (types, "this module has another state, or none"), (gc, "this module has another state"),
                (types.ModuleType("new"), "this module has another state")):
            with self.assertRaisesRegex(TypeError, "^typedcall::state_of: " + words):
                m.calls_of(wrong)
        self.assertEqual(m.calls_of_maker(m.vector(1, 2)), m.calls_of(m))
        with self.assertRaisesRegex(TypeError, "NULL instead of an object; .* passes its own self"):
            m.calls_of_maker(Derived(1, 2))

    @needs_interpreters
    def test_other_interpreters(self):
        code = (
            "import sys\n"
            "sys.path[:] = %r\n"
            "import provider_methods as m\n"
            "v = m.vector(3, 4)\n"
            "assert v.dot(y=1, x=2) == 10.0 and v.compare('y') == 0 and v.unit(1, 0).norm2() == 1.0\n"
            "assert m.count() == 101 and m.me() is m\n"
            "assert m.entries(m.vector.dot) == [('dd->d', 0x21), ('d->d', 0x21)]\n"
            "try:\n"
            "    v.dot(z=1)\n"
            "except TypeError:\n"
            "    pass\n"
            "else:\n"
            "    raise AssertionError('nothing was raised')\n" % (sys.path,))
        check_in_others(self, code, lambda: self.assertEqual(m.vector(1, 2).dot(y=1, x=2), 4.0))


class Signatures(unittest.TestCase):
    def test_inspect(self):
        v = m.vector(1, 2)
        for callable_, wanted in (
                (m.vector.dot, "(self, /, x, y=0.0)"), (v.dot, "(x, y=0.0)"),
                (m.vector.norm2, "(self, /)"), (v.norm2, "()"),
                (m.vector.move, "(self, arg0, /)"), (v.move, "(arg0, /)"),
                (v.scaled, "(factor, negate=False, /)"), (v.divide, "(arg0, /)"),
                (m.vector.unit, "(arg0, arg1, /)"), (m.vector.answer, "()"),
                (m.vector.sum, "(arg0, arg1, /)"), (v.sum_of_names, "(a, b)"),
                (m.vector.dot_by_name, "(self, /, x, *, y=0.0)"), (v.sum_by_name, "(*, a, b)"),
                (v.counted_by_name, "(*, more)"),
                (m.count, "()"), (m.add_to_count, "(more=1)"), (m.entries, "(arg0, /)")):
            self.assertEqual(str(inspect.signature(callable_)), wanted, callable_)

    def test_documentation(self):
        self.assertEqual(m.vector.dot.__doc__, "The scalar product.")
        self.assertEqual(m.vector.dot.__text_signature__, "($self, /, x, y=0.0)")
        self.assertEqual(m.vector.__dict__["unit"].__text_signature__, "($type, arg0, arg1, /)")
        self.assertEqual(m.vector.sum.__text_signature__, "(arg0, arg1, /)")
        self.assertEqual(m.vector.sum_by_name.__text_signature__, "(*, a, b)")
        self.assertEqual(m.count.__text_signature__, "($module, /)")
        self.assertIsNone(m.vector.norm2.__doc__)
        # From 3.13 on, CPython provides this signature for METH_O functions.
        self.assertIn(m.vector.compare.__text_signature__, (None, "($self, object, /)"))
        self.assertEqual(m.vector.compare.__doc__, "compare(float) -> int\ncompare(str) -> int")

    def test_pickle(self):
        self.assertIs(pickle.loads(pickle.dumps(m.vector.sum)), m.vector.sum)
        self.assertEqual(pickle.loads(pickle.dumps(m.vector.unit))(1, 0).norm2(), 1.0)


class Entries(unittest.TestCase):
    def test_methods(self):
        v = m.vector(1, 2)
        rows = vars(m.vector)
        for name, wanted in (
                ("dot", [("dd->d", TAKES_SELF | NEEDS_THREAD), ("d->d", TAKES_SELF | NEEDS_THREAD)]),
                ("norm2", [("->d", TAKES_SELF | NEEDS_THREAD)]),
                ("move", [("d->i", TAKES_SELF | NEEDS_THREAD | RETURNS_STATUS)]),
                ("compare", [("d->l", TAKES_SELF | NEEDS_THREAD), ("s->l", TAKES_SELF | NEEDS_THREAD)]),
                ("divide", [("d&d->i", TAKES_SELF | NEEDS_THREAD | RETURNS_STATUS)]),
                ("itself", [("->O", TAKES_SELF | NEEDS_THREAD | MAY_RAISE)]),
                ("unit", [("dd->O", TAKES_SELF | NEEDS_THREAD | MAY_RAISE)]),
                ("answer", [("->l", 0)]),
                ("ignores_self", [("->l", 0)])):
            self.assertEqual(m.entries(rows[name]), wanted, name)
            self.assertEqual(m.entries(getattr(v, name)), wanted, name)
        self.assertEqual(m.entries(m.vector.sum), [("dd->d", 0)])
        self.assertEqual(m.entries(m.count), [("->l", TAKES_SELF | NEEDS_THREAD)])

    def test_call(self):
        self.assertEqual(m.native_dot(m.vector(3, 4), 2, 1), 10.0)
        self.assertEqual(m.native_dot(Derived(3, 4), 2, 1), 10.0)

    def test_go_with_the_type(self):
        copy = fresh_copy()
        self.assertIsNot(copy.vector, m.vector)
        self.assertEqual(copy.entries(copy.vector.dot), m.entries(m.vector.dot))
        del copy
        gc.collect()
        self.assertEqual(len(m.entries(m.vector.dot)), 2)


def use_and_drop():
    copy = fresh_copy()
    v = copy.vector(2 ** 40, 1)
    v.dot(x=1.5), v.scaled(2.5), v.itself(), v.compare("y"), copy.vector.unit(1, 2), v.sum(1, 2)
    copy.add_to_count(more=2 ** 40)
    for call in (lambda: v.dot(), lambda: v.dot(z=1), lambda: v.move(-1.5), lambda: v.compare([]),
                 lambda: v.divide(0), lambda: v.dot(1, x=2), lambda: copy.vector.unit("x", 1)):
        try:
            call()
        except (TypeError, ValueError, ZeroDivisionError):
            continue
        raise AssertionError("nothing was raised")


class Leaks(unittest.TestCase):
    def test_thousand_times(self):
        leaks.check(use_and_drop, 500, warm_up=1000, blocks=200, references=200)
