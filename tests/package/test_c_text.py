"""Tests signatures in C syntax. The same rules apply to tag(), tag_module(), callbacks and cffi's prototypes."""

import ctypes
import platform
import time
import unittest

import support
import typedcall
from typedcall import Flags

exported = support.build("exported_functions")
# char is signed on x86 and unsigned on Arm.
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
    """Returns the signatures of this declaration in tag(), and in tag_module() with a table and with a header."""
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

    @support.ON_CPYTHON  # on PyPy, cffi converts a str
    def test_a_str_is_not_written_to(self):
        """A str must not be passed to a C function that writes to its argument, like strcpy()."""
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
        with self.assertRaisesRegex(TypeError, r"'str'; .* const char \*"):
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

    @support.ON_CPYTHON
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
        with self.assertRaisesRegex(TypeError, "is not a C function of '&kf->d'"):
            typedcall.tag(len, "double (const float *)", prototype(4096))


class Refused(unittest.TestCase):
    def refused(self, text, message, error=ValueError):
        for way in (by_tag, by_table):
            with self.subTest(text, way=way), self.assertRaisesRegex(error, message):
                way(text)
        with self.subTest(text, way=by_header), self.assertRaisesRegex((error, TypeError), message):
            by_header(text + ";")

    def test_parameters_that_are_not_said(self):
        self.refused("double ef_gcd()", r"does not list its parameters; write \(void\) if there are none")
        self.refused("typeof(1) ef_gcd(int)", "'typeof' is not understood")
        self.assertEqual(each_way("double", "void"), ["->d"] * 4)

    @support.ON_CPYTHON
    def test_parameters_of_a_callback_that_are_not_said(self):
        with self.assertRaisesRegex(ValueError, "does not list its parameters"):
            typedcall.callback(len, "double (*)()")

    def test_a_length_of_another_type_says_what_to_write(self):
        for count, letters in (("int n", "i"), ("size_t n", "N"), ("double n", "d")):
            self.refused("double ef_gcd(const double x[n], %s)" % count,
                         "a Py_ssize_t, not '%s': .* write 'const double \\*x, %s'.*'&kd%s'" % (count, count, letters))
            self.assertEqual(each_way("double", "const double *x, " + count), ["&kd%s->d" % letters] * 4)

    def test_an_unknown_word_behind_a_type_is_no_name(self):
        """`unsigned int` may be followed by a name, but `unsigned` also by a word that continues the type."""
        for word in ("__int64", "_int64", "__u64", "LONGLONG", "LONG_LONG", "BOOST_LONGLONG", "longlong", "time_t"):
            for text in ("double ef_gcd(unsigned %s)", "double ef_gcd(const signed %s, int)",
                         "double ef_gcd(%s signed)", "double ef_gcd(int, long volatile %s)"):
                self.refused(text % word, "no type code for the C type|two types|is not understood")
            for text in ("unsigned %s (int)", "unsigned const %s(int)"):
                with self.subTest(text, word=word), self.assertRaisesRegex(ValueError, "no type code for the C type"):
                    by_tag(text % word)
        for parameters, signature in (
                ("unsigned n, long N, short count", "Ilh->d"), ("unsigned int __n, long int N_MAX", "Il->d"),
                ("unsigned *__n, unsigned char UPPER", "&IB->d"), ("unsigned x_, long double __x", "Ig->d"),
                ("unsigned PY_LONG_LONG, PY_LONG_LONG, signed PY_LONG_LONG x, const PY_LONG_LONG *", "Qqq&kq->d")):
            self.assertEqual(each_way("double", parameters), [signature] * 4, parameters)
        with self.assertRaisesRegex(TypeError, "write 'unsigned int __count'"):
            by_header("double ef_gcd(unsigned __count);")
        # Other functions of such a header can be read.
        self.assertEqual(by_header("double other(unsigned __count); unsigned LOUD(int); int ef_gcd(int);"), "i->i")

    def test_a_word_that_may_be_a_macro_is_no_name_behind_an_open_type(self):
        """C reads a typedef behind a type word as a name, and a macro as a part of the type."""
        for start, words in (
                ("unsigned", "word dword QWord uword word32 byte Byte octet hyper bigint tinyint glong gulong qlonglong wchar "
                 "lint intp intmax qint64"),
                ("long", "word Word intp real real8 dbl longfloat double_real"), ("short", "byte"), ("signed", "byte")):
            for word in words.split():
                for text in ("double ef_gcd(%s %s)", "double ef_gcd(int, const %s %s, int)", "double ef_gcd(%s (%s))"):
                    self.refused(text % (start, word), "if that is a name, write|may be a name or a type")
        for parameters, signature in (
                ("unsigned count, long words, unsigned bytes, unsigned byte_count, short point", "IlIIh->d"),
                ("unsigned hint, long width, unsigned realm, long floats, unsigned lchars", "IlIlI->d"),
                ("unsigned int word, int byte, double real, unsigned *word, unsigned char byte", "Iid&IB->d")):
            self.assertEqual(each_way("double", parameters), [signature] * 4, parameters)

    def test_a_word_like_those_of_c_is_no_name_behind_any_type(self):
        for start, words in (
                ("unsigned", "int64 i64 Int64 LongLong longlong quad uint ulong UInt uint_t __i64 MY_LONG long_long int_"),
                ("long", "int64 i64 LONG_INT ulong64"), ("long long", "int64 LONG unsigned_"),
                ("double", "COMPLEX Complex _complex LONG int64 Long"), ("float", "COMPLEX"), ("char", "UNSIGNED Signed"),
                ("int", "LONG UNSIGNED __signed_t u32 SHORT long_"), ("int unsigned", "LONG int64"), ("void", "INT")):
            for word in words.split():
                for text in ("double ef_gcd(%s %s)", "double ef_gcd(int, const %s %s, int)"):
                    self.refused(text % (start, word), "leave it out|two types|is not understood")
        self.assertEqual(each_way("double", "double __complex, double __complex x"), ["ZdZd->d"] * 4)
        for parameters, signature in (
                ("int n, unsigned n2, double x, long N, char c, unsigned flags", "iIdl%sI->d" % CHARS[1]),
                ("unsigned integer, unsigned longest, long i, unsigned u, unsigned i1, unsigned u2", "IIlIII->d"),
                ("int i2, double u1, int charset, unsigned character, double longitude, double shortest", "idiIdd->d"),
                ("int *LONG, unsigned (*i64)(int), unsigned complexity, int printed", "&iPIi->d"),
                ("double real, double imaginary, int signal, int unsigned_count, int INTERVAL", "ddiii->d"),
                ("int32_t i32, size_t ulong, struct x *LONG", "iNP->d")):
            self.assertEqual(each_way("double", parameters), [signature] * 4, parameters)
        self.assertEqual(by_header("typedef unsigned int64; double int32(void); int64 ef_gcd(unsigned);"), "I->I")

    def test_what_is_not_understood(self):
        for text in ("unsigned __int128 ef_gcd(int)", "int ef_gcd(unsigned size_t)", "int ef_gcd(int) noexcept",
                     "_Atomic int ef_gcd(int)", "int ef_gcd(int &x)", "int ef_gcd(int x = 3)", "int ef_gcd(int, )",
                     "int ef_gcd(static int x)", "int ef_gcd(int)[3]", "int ef_gcd(int)(int)", "long float ef_gcd(int)",
                     "int ef_gcd(int (x))", "int ef_gcd(void x[])", "int ef_gcd(double double)", "ef_gcd(int)",
                     "int ef_gcd(int) __asm__(\"other\")", "int ef_gcd(int /* , int)", "int struct x ef_gcd(int)",
                     "__attribute__((ms_abi)) int ef_gcd(int)", "int ef_gcd(int x y)", "int ef_gcd(int]"):
            self.refused(text, "")
        for text in ("struct x ef_gcd(int)", "int ef_gcd(union x)", "int ef_gcd(enum x)", "int ef_gcd(unknown)",
                     "int ef_gcd(a, b)", "int ef_gcd(int, void)", "int ef_gcd(int, ...)"):
            self.refused(text, "no type code|void|variable arguments")


    def test_names_that_no_standard_header_defines(self):
        # PostgreSQL's int8 has eight bytes.
        for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "npy_int8_t", "int128"):
            self.refused("%s ef_gcd(int)" % name, "no type code for the C type '%s" % name)
            self.refused("int ef_gcd(%s x)" % name, "no type code for the C type '%s" % name)
            self.assertEqual(each_way("double", "const %s *x, %s y[3]" % (name, name)), ["PP->d"] * 4)
        names = [sign + "int" + bits for bits in ("8", "16", "32", "64") for sign in ("", "u")]
        for text in (", ".join(name + "_t" for name in names), ", ".join("npy_" + name for name in names)):
            self.assertEqual(each_way("double", text), ["bBhHiIlL->d"] * 4)
        self.assertEqual(by_header("typedef long int8;\nint8 ef_gcd(int8 *);"), "&l->l")


class Headers(unittest.TestCase):
    GCD = "int ef_gcd(int a, int b);\n"

    def test_messages_quote_in_one_line(self):
        for text, quoted in (("int\nef_gcd(int a,\n   ...)", "int ef_gcd(int a, ...)"), ("int ef_gcd(int\n\tLONG)", "int LONG"),
                             ("typedef\n int x;\ntypedef\r\n long\n x", "typedef long x"), ("int ef_gcd\n(int\n&x)", "ef_gcd (int &x)"),
                             ("#define M\nint\nef_gcd(M\n x)", "int ef_gcd(M x)")):
            with self.subTest(text), self.assertRaises((TypeError, ValueError)) as raised:
                by_header(text + ";")
            self.assertIn(quoted, str(raised.exception))

    def test_what_c_does_not_see_is_not_there(self):
        other = "double ef_gcd(double x);\n"
        for text in (
            "#if 0\n%s#endif\n", "#if 1\n#else\n%s#endif", "#if 1\n#elif 1\n%s#endif", "#if !1 || (0)\n%s#endif",
            "#if (0x10 == 010)\n%s#endif", "#if 0 && defined(X)\n%s#endif", "#if 0\n#if 1\n%s#endif\n#endif",
            "#ifdef __cplusplus\n%s#endif", "#if __cplusplus >= 201103L\n%s#endif", "#if 0 /* \n */\n%s#endif",
            "#define SWITCH 0\n#if SWITCH\n%s#endif", "#define SWITCH\n#ifndef SWITCH\n%s#endif",
            "#ifndef H\n#define H\n#endif\n#ifndef H\n#define H\n%s#endif", "#if 0\n#else\n#if 00UL\n%s#endif\n#endif",
            "#if !!0\n%s#endif", "#ifndef H\n#define H 1\n#ifndef H\n%s#endif\n#endif", "#if 0\\\n\n%s#endif",
        ):
            with self.subTest(text):
                self.assertIsNone(by_header(text % other))
                self.assertEqual(by_header(self.GCD + text % other), "ii->i")

    def test_what_c_may_see_is_there(self):
        for text in (
            "#if 1\n%s#endif", "#if 0\n#else\n%s#endif", "#if 0\n#elif 2\n%s#endif", "#ifdef X\n%s#endif",
            "#if X > 3 || defined(__cplusplus)\n%s#endif", "#ifndef H\n#define H\n%s#endif", "#if !0\n%s#endif",
            "#ifdef X\n#define Y 0\n#endif\n#if Y\n%s#endif", "#define Y 0\n#undef Y\n#define Y 1\n#if Y\n%s#endif",
            "#if X\n#else\n%s#endif", "#ifndef Y\n#define Y 0\n#endif\n#if Y\n%s#endif", "#if " + "(" * 5000 + "0" + ")" * 5000 + "\n%s#endif", "#pragma once\n%s",
        ):
            with self.subTest(text[:40]):
                self.assertEqual(by_header(text % self.GCD), "ii->i")
        with self.assertRaisesRegex(ValueError, "two types in this C text"):
            by_header("#ifdef X\n%s#else\nlong ef_gcd(long);\n#endif" % self.GCD)
        for text in ("#if 0\n" + self.GCD, "/* " + self.GCD):
            with self.assertRaisesRegex(ValueError, "has no #endif|has no end"):
                by_header(text)

    REAL = "real ef_gcd(real);\n"

    def test_a_guard_is_one_name_around_a_whole_header(self):
        here, other = "double ef_gcd(double);\n", "float ef_gcd(float);\n"
        for text in (
            "#if !defined(A) && !defined(B)\n#define A\n%s#else\n%s#endif", "#if !defined(A) || !B\n#define A\n%s#else\n%s#endif",
            "#if !(defined(A) && B)\n#define A\n%s#else\n%s#endif", "#if B != A\n#define A\n%s#else\n%s#endif",
            "#ifndef A\n#define A 0\n%s#else\n%s#endif", "#if !defined A\n#define A\n%s#elif 1\n%s#endif",
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "ef_gcd has two types in this C text"):
                by_header(text % (here, other))
        for text in (
            "#ifndef A\n#define A\n#define F 0\n#if F\n%s#endif\n%s#endif", "#if !defined(A)\n#define A\n#if !defined(A)\n%s#endif\n%s#endif",
            "#ifndef B\n#define B\n#define F 0\nint b;\n#endif\n#include <x.h>\n#ifndef A\n#define A\n#if F\n%s#endif\n%s#endif",
        ):
            with self.subTest(text):
                self.assertEqual(by_header(text % (other, here)), "d->d")

    def test_a_typedef_that_another_branch_lacks_is_refused(self):
        real, included = "typedef double real;\n", "#include \"types.h\"\n"
        for text in (
            "#ifdef X\n%s#endif\n", "#ifdef X\n#include \"types.h\"\n#else\n%s#endif\n", "#if X\n%s#elif Y\n%s#endif\n",
            "#ifndef A\n#define A\n%s#endif\n", "#ifndef H\n#define H\n#ifndef A\n#define A\n%s#endif\n",
            "#if !defined(A) && !defined(B)\n#define A\n%s#endif\n", "#if X\n#if Y\n%s#endif\n#else\n%s#endif\n",
            "#ifndef A\n#define A\n%s#endif\n#if X\n", "#if X\n#ifndef A\n#define A\n%s#endif\n#endif\n#ifdef A\n",
            "#if X\n%s#else\n%s#endif\n#if Y\n#include \"types.h\"\n#if Z\n#else\ntypedef real one;\n#endif\n#endif\ntypedef one real_;\n",
        ):
            text += "%s#endif\n" if text.count("#if") > text.count("#endif") else "%s"
            use = self.REAL.replace("real", "real_") if "real_" in text else self.REAL
            text = included + text % ((real,) * (text.count("%s") - 1) + (use,))
            with self.subTest(text), self.assertRaisesRegex(
                    ValueError, "'(real|real_)' in .* depends on an #if .*leave ef_gcd out"):
                by_header(text)
            with self.subTest(text):  # a function that does not use it
                self.assertEqual(by_header(text.replace(use, self.GCD)), "ii->i")

    def test_a_declaration_in_parts_is_refused(self):
        for text, word in (
            ("int ef_gcd(int\n#ifdef X\n, int\n#endif\n);", ","), ("unsigned\n#ifdef X\nlong\n#endif\nef_gcd(int);", "long"),
            ("typedef unsigned\n#if X\nlong\n#endif\nword; word ef_gcd(int);", "word"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "'%s' in .* depends on an #if" % word):
                by_header(text)
        self.assertEqual(by_header("typedef struct {\n#ifdef X\nint x;\n#endif\n} s;\nint ef_gcd(s *) {\n#if X\n;\n#endif\n}"), "P->i")

    def test_a_typedef_of_each_branch_is_not_refused(self):
        for text in (
            "#ifdef X\ntypedef double real;\n%s#endif", "#ifdef X\ntypedef double real;\n#else\ntypedef double real;\n#endif\n%s",
            "#if X\n#if Y\ntypedef double real;\n#else\ntypedef double real;\n#endif\n#elif 0\n#elif 1\ntypedef double real;\n#endif\n%s",
            "typedef double real;\n#ifdef X\ntypedef double real;\n#endif\n%s", "#ifdef X\ntypedef double real;\n#if Y\n%s#endif\n#endif",
            "#if !defined(A) && !defined(B)\n#define A\ntypedef double real;\n%s#endif",
            "#ifndef A\n#define A\ntypedef double real;\n#endif\n#ifndef B\n#define B\n#include <math.h>\n%s#endif",
            "#ifdef X\ntypedef double one;\ntypedef one real;\n%s#endif",
        ):
            with self.subTest(text):
                self.assertEqual(by_header(text % self.REAL), "d->d")
        with self.assertRaises(ValueError):  # two lines are joined once
            by_header("int x;\\\\\n\n" + self.GCD)

    def test_conditions_are_nested_as_deep_as_c_guarantees(self):
        for depth, refused in ((63, False), (64, True)):
            text = "#ifdef X\n" * depth + self.GCD + "#endif\n" * depth
            if not refused:
                self.assertEqual(by_header(text), "ii->i")
                continue
            with self.assertRaisesRegex(ValueError, "nested more than 63 deep"):
                by_header(text)

    def test_a_macro_of_the_headers_is_another_name(self):
        for text in ("#define ef_gcd ef_gcd_64\n%s", "%s#define ef_gcd(a, b) ef_gcd_64(a, b)\n",
                     "#define int long\n%s", "#ifdef X\n#define ef_gcd ef_gcd_64\n#endif\n%s"):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "is a macro of this header.* leave ef_gcd out"):
                by_header(text % self.GCD)
        with self.assertRaisesRegex(ValueError, "'int' in 'typedef int number' is a macro"):
            by_header("#define int long\ntypedef int number;\nnumber ef_gcd(number);")
        for text in ("#define ef_gcd ef_gcd\n%s", "#if 0\n#define ef_gcd ef_gcd_64\n#endif\n%s",
                     "#define ef_gcd_64 ef_gcd\n%s", "#define N 3\ntypedef struct { char x[N]; } s, t[N];\n%s",
                     "#define ef_norm ef_gcd\ndouble ef_norm_64(double);\n%s"):
            with self.subTest(text):
                self.assertEqual(by_header(text % self.GCD), "ii->i")

    def test_declarations(self):
        for text, signature in (
            ("typedef double real, *reals, triple[3];\nreal ef_gcd(const reals, const triple, real const *);", "&d&kd&kd->d"),
            ("typedef const char *text; size_t ef_gcd(text);", "s->N"),
            ("typedef struct point { struct { int x; }; } point; int ef_gcd(const point *, point at[]);", "PP->i"),
            ("typedef int unary(int); unary ef_gcd, *other;", "i->i"),
            ("typedef int index; int ef_gcd(double index, index n);", "di->i"),
            ("extern int variable = 3, ef_gcd(int), table[] = {1, 2};", "i->i"),
            ("inline int other(int a) { return a ? 1 : 2; } int (ef_gcd)(long);", "l->i"),
            ("enum { A = 1, B }; enum color { RED }; int ef_gcd(enum color *);", "P->i"),
            ("int ef_gcd(double x[n], Py_ssize_t n);", "*d->i"),
            ("static int ef_gcd(int a) { return a; }", None),
            ("extern int (*ef_gcd)(int);", None),
        ):
            with self.subTest(text):
                self.assertEqual(by_header(text), signature)
        for text in ("int ef_gcd(int)", "int ef_gcd(int) int x;", "typedef int a; typedef long a;", "int , x;", "noise.h",
                     "int ef_gcd(int) {", "API int ef_gcd(int);", "extern \"C\" { int x; }"):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "cannot read this C text"):
                by_header(text)


class LinearTime(unittest.TestCase):
    """Parsing twice the text takes about twice the time."""

    FUNCTIONS = (
        lambda n: " " * n + ")(", lambda n: "double" + " " * n + "(", lambda n: "double(x[" + " " * n,
        lambda n: "double(double x[" + " " * n + "n], Py_ssize_t n)", lambda n: "double(" + "*" * n + "x)",
        lambda n: "double(double " + "*" * n + "x)", lambda n: "double" + "(" * n, lambda n: "double" + "()" * n,
        lambda n: "double(" + "int," * n + "int)", lambda n: "double(int" + " x" * n + ")", lambda n: "/*" * n,
        lambda n: "\"\\" * n, lambda n: "'" * n, lambda n: "double(a" + "<" * n + ">" * n + "*)",
        lambda n: "double(x" + "[1]" * n + ")", lambda n: "double" + "(" * 60 + ")" * 60 * n,
        lambda n: "a::" * n, lambda n: "//" * n, lambda n: "const " * n + "int(int)", lambda n: "9" * n + "(int)",
        lambda n: "__pyx_t_5scipy_6linalg_" + "1" * n + "(int)", lambda n: "double(int x[" + "n *" * n + "], int n)",
    )
    TEXTS = (
        lambda n: "#" + " " * n, lambda n: "#if " + "!" * n, lambda n: "#if " + " " * n + "defined", lambda n: "#if X\n" * n,
        lambda n: "#if " + "(" * n + "\n#endif", lambda n: "#if " + "1&&" * n + "1||" * n + "1\n#endif",
        lambda n: "#define A A A\n" * n, lambda n: "typedef int " + ",".join("a%d" % i for i in range(n)) + ";",
        lambda n: "extern" + " " * n + "\"C\" int x;", lambda n: "int x = " + "{}" * n + ";", lambda n: "int x;" * n,
        lambda n: "#if X\ntypedef int a;\n#endif\ntypedef a b;\n" * n, lambda n: "#if X\n" + "typedef int a;\n#elif Y\n" * n + "#endif",
        lambda n: "#if X\ntypedef int a;\n#else\ntypedef int a;\n#endif\na ef_gcd(a);\n" * n,
        lambda n: "typedef int t;" * n, lambda n: "/*" * n, lambda n: "\"\\" * n, lambda n: "\\\n" * n, lambda n: "{" * n,
    )

    @staticmethod
    def seconds(function, text):
        def once():
            started = time.thread_time()
            try:
                function(text)
            except (ValueError, TypeError):
                pass
            return time.thread_time() - started
        return min(once() for _ in range(3))

    def check(self, function, makers):
        for at, make in enumerate(makers):
            with self.subTest(at, text=make(3)):
                short, long = (self.seconds(function, make(n)) for n in (1000, 8000))
                # For quadratic growth the factor is 64. Times below 20 ms are too short to compare.
                self.assertLess(long, max(24 * short, 0.02))

    @support.timing
    def test_functions(self):
        self.check(by_tag, self.FUNCTIONS)

    @support.timing
    @support.ON_CPYTHON
    def test_callbacks(self):
        self.check(lambda text: typedcall.callback(len, text), self.FUNCTIONS)

    @support.timing
    def test_headers(self):
        self.check(by_header, self.TEXTS)

    def test_long_texts_end(self):
        """Cubic algorithms would take half an hour for these texts."""
        for function, makers in ((by_tag, self.FUNCTIONS), (by_header, self.TEXTS)):
            for make in makers:
                with self.assertRaises((ValueError, TypeError)):
                    function(make(20_000) + "\n(")
