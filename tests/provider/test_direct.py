# Tests which functions PyObject_Vectorcall calls directly. Each is compared with a function object
# that CPython creates from the same def.
import gc
import importlib.util
import inspect
import math
import pickle
import sys
import sysconfig
import unittest

from collected import only_if
import provider_direct as m
from other_interpreters import check_in_others, needs_interpreters

DIRECT = ["inc", "narrow", "half", "single", "store", "released"]
NOT_DIRECT = ["flag", "with_api", "throws", "raises", "named", "optional", "of_object", "of_complex",
              "of_text", "of_memory", "two", "overloaded", "module_and", "take_calls", "twin"]


class Int(int):
    pass


class Float(float):
    pass


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __float__(self):
        return float(self.value)


class Raises:
    def __index__(self):
        raise LookupError("mine")

    __float__ = __index__


VALUES = [0, 1, -1, 255, 256, 2 ** 30, 2 ** 40, 2 ** 63 - 1, -2 ** 63, 2 ** 63, 2 ** 70, 2 ** 1024,
          True, False, 1.5, -0.0, math.inf, math.nan, 1j, None, "x", b"x", [], Int(3), Float(0.5),
          Index(7), Index(2 ** 80), Raises(), int, object()]


def outcome(call):
    """Returns the type and text of the result or exception."""
    try:
        result = call()
    except BaseException as error:
        return type(error), str(error)
    return type(result), repr(result)


def fresh_copy():
    spec = importlib.util.spec_from_file_location("provider_direct", m.__file__)
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


class Which(unittest.TestCase):
    @only_if(not sysconfig.get_config_var("Py_GIL_DISABLED"))  # in free-threaded builds, no function is called directly
    def test_only_those_that_cannot_reach_python_code(self):
        for name in DIRECT:
            function = getattr(m, name)
            self.assertFalse(m.same_vectorcall(function, m.twin(function)), name)
        for name in NOT_DIRECT:
            function = getattr(m, name)
            self.assertTrue(m.same_vectorcall(function, m.twin(function)), name)

    def test_nobody_elses(self):
        twin = m.twin(m.inc)
        copy = fresh_copy()
        self.assertTrue(m.same_vectorcall(copy.inc, m.inc))
        self.assertTrue(m.same_vectorcall(twin, m.twin(m.inc)))
        self.assertTrue(m.same_vectorcall(twin, len))


class SameAsTwin(unittest.TestCase):
    def test_every_call(self):
        for name in DIRECT:
            function = getattr(m, name)
            twin = m.twin(function)
            calls = [((value,), None) for value in VALUES] + [((value,), ()) for value in VALUES]
            calls += [((), None), ((1, 2), None), ((1.0, "x", 3), None), ((), ()), ((1,), ("x",)),
                      ((1, 2), ("arg0",)), ((1.0, 2, 3), ("x", "y"))]
            for args, names in calls:
                wanted = outcome(lambda: m.vectorcall(twin, args, names))
                self.assertEqual(outcome(lambda: m.vectorcall(function, args, names)), wanted,
                                 (name, args, names))
                if not names:
                    self.assertEqual(outcome(lambda: function(*args)), wanted)
                    self.assertEqual(outcome(lambda: list(map(function, args))),
                                     outcome(lambda: list(map(twin, args))))
            self.assertEqual(outcome(lambda: function(1, x=2)), outcome(lambda: twin(1, x=2)))

    def test_the_function_is_called_once(self):
        m.take_calls()
        for value, count in ((1, 1), (True, 1), (Index(1), 1), (2 ** 70, 0), (1.0, 0)):
            outcome(lambda: m.vectorcall(m.inc, (value,), None))
            self.assertEqual(m.take_calls(), count, value)

    def test_names(self):
        self.assertEqual(repr(m.inc), repr(m.twin(m.inc)))
        self.assertEqual(m.inc, m.twin(m.inc))
        self.assertEqual(hash(m.inc), hash(m.twin(m.inc)))
        self.assertEqual(m.inc.__doc__, "The next number.")
        self.assertEqual(str(inspect.signature(m.inc)), "(x, /)")
        self.assertIs(m.inc.__self__, m)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.assertIs(pickle.loads(pickle.dumps(m.inc, protocol)), m.inc)

    def test_profile(self):
        def events(function):
            seen = []
            sys.setprofile(lambda frame, event, arg: seen.append((event, arg)))
            try:
                function(1)
                outcome_of_call(function)
                list(map(function, [1]))
            finally:
                sys.setprofile(None)
            return [(event, arg if callable(arg) and not inspect.isclass(arg) else None)
                    for event, arg in seen]

        def outcome_of_call(function):
            try:
                function("x")
            except TypeError:
                pass

        wanted = events(m.twin(m.inc))
        self.assertEqual(events(m.inc), wanted)
        self.assertIn(("c_call", m.inc), wanted)
        self.assertIn(("c_exception", m.inc), wanted)

    def test_endless_recursion(self):
        class Recursive:
            def __index__(self):
                return self.function(self)

        for function in (m.inc, m.twin(m.inc)):
            value = Recursive()
            value.function = function
            with self.assertRaises(RecursionError):
                m.vectorcall(function, (value,), None)


class Life(unittest.TestCase):
    def test_function_outlives_its_module(self):
        inc = fresh_copy().inc
        gc.collect()
        self.assertEqual([m.vectorcall(inc, (value,), None) for value in (1, True, 2 ** 40)],
                         [2, 2, 2 ** 40 + 1])

    @needs_interpreters
    def test_other_interpreters(self):
        code = (
            "import sys\n"
            "sys.path[:] = %r\n"
            "import provider_direct as m\n"
            "assert m.vectorcall(m.inc, (1,), None) == m.vectorcall(m.inc, (True,), None) == 2\n"
            "try:\n"
            "    m.vectorcall(m.inc, ('x',), None)\n"
            "except TypeError:\n"
            "    pass\n"
            "else:\n"
            "    raise AssertionError('nothing was raised')\n" % (sys.path,))
        check_in_others(self, code, lambda: self.assertEqual(m.vectorcall(m.inc, (1,), None), 2))

    def test_references(self):
        value, index = 2 ** 40, Index(2 ** 40)
        before = sys.getrefcount(value), sys.getrefcount(index)
        for _ in range(100):
            for given in (value, index, "x"):
                outcome(lambda: m.vectorcall(m.inc, (given,), None))
            outcome(lambda: m.vectorcall(m.inc, (value, index), None))
        self.assertEqual((sys.getrefcount(value), sys.getrefcount(index)), before)
