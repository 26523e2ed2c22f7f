"""C text as signatures, by one rule for tag(), for tables and headers of tag_module(), for callbacks and
for cffi's prototypes: what is const, what is an array, what is refused, and how long it takes."""

import ctypes
import platform
import time
import unittest

import support
import typedcall
from typedcall import Flags

exported = support.build("exported_functions")
# Plain char has a sign on x86 and none on Arm.
CHARS = "&b" if platform.machine() in ("x86_64", "i686") else "&B"


def by_tag(text):
    def function(*arguments):
        raise NotImplementedError

    typedcall.tag(function, text, 4096)
    return typedcall.signatures(function)[0]


def by_table(text):
    try:
        typedcall.tag_module(exported, {"gcd": text}, prefix="ef_")
        return typedcall.signatures(exported.gcd)[0]
    finally:
        typedcall.untag(exported.gcd)


def by_header(text):
    try:
        done = typedcall.tag_module(exported, text, prefix="ef_")
        return typedcall.signatures(exported.gcd)[0] if done else None
    finally:
        typedcall.untag(exported.gcd)


def each_way(result, parameters):
    """What the three ways make of a function that is declared so."""
    text = "%s ef_gcd(%s)" % (result, parameters)
    return [by_tag("%s (%s)" % (result, parameters)), by_tag(text), by_table(text),
            by_header("#define H\n%s;" % text)]


class OneRule(unittest.TestCase):
    def same(self, signature, parameters, result="double"):
        with self.subTest(parameters):
            self.assertEqual(each_way(result, parameters), [signature] * 4)

    def test_char_that_is_not_const_is_no_string(self):
        self.same(CHARS + "->v", "char *to", "void")
        self.same(CHARS + "->v", "char *const to", "void")
        self.same(CHARS + "->v", "char to[]", "void")
        self.same(CHARS + "N->d", "char to[32], size_t n")
        self.same("s->v", "const char *from", "void")
        self.same("s->v", "char const *const from", "void")
        self.same("->" + CHARS, "void", "char *")
        self.same("->s", "void", "const char *")

    def test_a_str_is_not_written_to(self):
        """As strcpy() does: the str would have another value."""
        copy = ctypes.CDLL(None).strcpy

        def function(to, text):
            raise NotImplementedError

        typedcall.tag(function, "char *(char *to, const char *text)", copy)
        offered, = typedcall.signatures(function)
        self.assertEqual(offered, CHARS + "s->" + CHARS)
        to = bytearray(8)
        typed = typedcall.resolve(function, offered)
        typed((ctypes.c_byte * 8).from_buffer(to), "abc")
        self.assertEqual(bytes(to[:4]), b"abc\0")
        with self.assertRaisesRegex(TypeError, "str" if support.IS_PYPY else r"'str'; .* const char \*"):
            typed("overwritten", "abc")

    def test_what_is_const_stays_const(self):
        self.same("&kd->d", "const double *x")
        self.same("&kd->d", "double const *restrict x")
        self.same("&d->d", "double *const x")
        self.same("&kB->d", "const unsigned char *x")
        self.same("P->d", "const double *const *x")
        self.same("P->d", "const void *x")
        self.same("d->d", "const double x")

    def test_arrays_are_the_pointers_that_they_are(self):
        for parameters, signature in (
                ("const double x[], Py_ssize_t n", "&kdn->d"), ("double x[3], Py_ssize_t n", "&dn->d"),
                ("double x[static 1]", "&d->d"), ("const char x[]", "s->d"), ("int32_t x[m], size_t n", "&iN->d"),
                ("Py_ssize_t n, const double x[n]", "n&kd->d"), ("double x[const], int n", "&di->d"),
                ("double x[n], double y, Py_ssize_t n", "&ddn->d"), ("double x[2 * n], Py_ssize_t n", "&dn->d"),
                ("double x[3][4], int n", "Pi->d"), ("double *x[n], Py_ssize_t n", "Pn->d"),
                ("double (*x)[3]", "P->d"), ("struct point x[3]", "P->d"), ("double f(double), int (*g)(void)", "PP->d")):
            self.same(signature, parameters)

    def test_an_array_whose_length_is_the_next_parameter_is_a_buffer(self):
        for parameters, signature in (
                ("const double x[n], Py_ssize_t n", "*kd->d"), ("double x[static n], long n", "*d->d"),
                ("char x[n], Py_ssize_t n", CHARS.replace("&", "*") + "->d"),
                ("const char x[n], Py_ssize_t n", "*s->d")):
            self.same(signature, parameters)

    def test_read_only_arrays_are_passed_for_const(self):
        def first(x):
            raise NotImplementedError

        absolute = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(
            lambda at: ctypes.c_double.from_address(at).value)
        address = ctypes.cast(absolute, ctypes.c_void_p)
        typedcall.tag(first, "double (const double x[])", address, flags=Flags.ACQUIRES_GIL)
        memory = memoryview((ctypes.c_double * 2)(2.5, 4.0)).cast("B").toreadonly().cast("d")
        self.assertEqual(typedcall.resolve(first, "&kd->d")(memory), 2.5)

    def test_what_forgets_const_is_tagged_by_text_that_has_it(self):
        def length(text):
            raise NotImplementedError

        prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.POINTER(ctypes.c_double))
        typedcall.tag(length, "double (const double *)", prototype(4096))
        self.assertEqual(typedcall.signatures(length), ["&kd->d"])
        with self.assertRaisesRegex(TypeError, "is no C function of '&kf->d'"):
            typedcall.tag(len, "double (const float *)", prototype(4096))
