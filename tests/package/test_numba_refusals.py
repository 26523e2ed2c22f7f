"""Tests the error messages when nopython code cannot call a typed function."""

import unittest

import adapter_support
import typedcall

numba = adapter_support.library("numba")
numpy = adapter_support.library("numpy")
special = adapter_support.library("scipy.special")


def typed(*signatures, flags=0):
    """Returns a function with these signatures."""
    def function(*values):
        raise NotImplementedError

    typedcall.tag(function, list(signatures), [4096] * len(signatures), flags=flags)
    return function


def refusal(function, *values):
    """Returns typedcall's line in Numba's error. `function` is a typed function, or a lambda that calls one."""
    call = function if getattr(function, "__name__", "") == "<lambda>" else adapter_support.nopython_call(
        function, len(values)).py_func
    try:
        numba.njit(call)(*values)
    except numba.TypingError as error:
        ours = [line for line in str(error).splitlines() if "nopython code can call with" in line]
        return ours[0] if ours else str(error)
    raise AssertionError("it was compiled")


class Arguments(unittest.TestCase):
    def test_what_does_not_suit(self):
        doubles = numpy.zeros(3)
        for signature, value, wanted in (
            ("d->d", doubles, "argument 1 does not suit 'd': an array is not a number; call the function for each element"),
            ("d->d", 1j, "complex128 cannot be passed as double; for a complex number use its .real or abs"),
            ("d->d", None, "none cannot be passed as double$"),
            ("i->d", 1.5, "float64 cannot be passed as int; convert a float by int(...)"),
            ("*kd->d", [1.5], "is not an array; use numpy.array(...)"),
            ("*kd->d", (1.5, 2.5), "is not an array; use numpy.array(...)"),
            ("*kB->d", "text", "a str is not an array; pass bytes"),
            ("*kd->d", 1.5, "float64 is not an array$"),
            ("&d->d", doubles, "for an array pass its pointer, .ctypes"),
            ("&kd->d", doubles, "for an array pass its pointer, .ctypes"),
            ("P->d", doubles, "for an array pass its pointer, .ctypes"),
            ("P->d", 1, "int64 is not a pointer; pass the .ctypes of an array"),
            ("s->d", "text", "Numba has no UTF-8 for 's' (const char *); offer '&kB', and pass the .ctypes of an array of its bytes"),
            ("O->d", 1.5, "call it in `with numba.objmode():`"),
        ):
            with self.subTest(signature, value=value):
                pattern = wanted.replace(".", r"\.").replace("(", r"\(").replace(")", r"\)").replace("*", r"\*")
                self.assertRegex(refusal(typed(signature), value), pattern)

    def test_no_truth_where_python_may_be_asked(self):
        function = typed("?&d->i", flags=typedcall.Flags.FALLS_BACK)
        self.assertIn("the Python function needs argument 1 itself", refusal(function, "text"))
        numba.njit((numba.int64,))(lambda x: function(x))

    def test_a_pointer_to_other_elements(self):
        function = typed("&d->d")
        self.assertIn("its elements are float32, not 'd' (double)",
                      refusal(lambda x: function(x.ctypes), numpy.zeros(3, "f")))

    def test_each_overload_says_why(self):
        self.assertIn("'?': int64 cannot be passed as bool; convert it by bool(...)",
                      refusal(typed("?->d", "*kd->d"), 1))
        said = refusal(typed("i->i", "*kd->d"), 1.5)
        self.assertIn("'i': float64 cannot be passed as int", said)
        self.assertIn("'*kd': float64 is not an array", said)

    def test_how_many(self):
        self.assertIn("it takes 1 argument, not 2", refusal(typed("d->d"), 1.5, 2.5))
        self.assertIn("it takes 1 or 2 arguments, not 3", refusal(typed("d->d", "dd->d"), 1.5, 2.5, 3.5))

    def test_what_is_written_is_taken(self):
        pointer, cause, absolute = typed("&di->d"), typed("?->d"), typed("i->i")
        self.assertIn("for 'i' write numpy.int32(...) around it",
                      refusal(lambda x: pointer(x.ctypes, len(x)), numpy.zeros(3)))
        doubles = numba.float64[::1]
        numba.njit((doubles,))(lambda x: pointer(x.ctypes, numpy.int32(len(x))))
        numba.njit((numba.int64,))(lambda x: cause(bool(x)))
        numba.njit((numba.float64,))(lambda x: absolute(numpy.int32(int(x))))


class Scipy(unittest.TestCase):
    def test_ufuncs(self):
        said = refusal(special.j0, numpy.zeros(3))
        self.assertIn("an array is not a number; call the function for each element", said)
        self.assertNotIn("parameters in Python", said)

    def test_several_results(self):
        for call in (special.sici, lambda x: special.sici(x)):
            self.assertRegex(refusal(call, 1.5), "sici has nothing .* it has 2 results")

    def test_what_resolve_says_of_others(self):
        other = numpy.frompyfunc(abs, 1, 1)
        reason = "the loops of this ufunc call no C function of one element that is known"
        with self.assertRaisesRegex(TypeError, reason):
            typedcall.resolve(other, "d->d")
        self.assertIn(reason, refusal(lambda x: other(x), 1.5))
