"""Tests cffi functions as typed functions, and typed functions as cffi function pointers."""

import gc
import pathlib
import platform
import sys
import sysconfig
import unittest

import adapter_support
import support
import typedcall
from typedcall import Flags

cffi = adapter_support.library("cffi")
functions = support.build("typed_functions")
# char is signed on x86 and unsigned on Arm.
CHARS = "&b" if platform.machine() in ("x86_64", "i686") else "&B"


def entry_of(pointer):
    found = typedcall.entries(pointer)
    assert len(found) == 1, found
    return found[0]


class Source(support.InAFolder):
    def setUp(self):
        super().setUp()
        self.ffi = cffi.FFI()
        self.ffi.cdef("""
            typedef struct { int a; } pair;
            double hypot(double, double);
            long double fabsl(long double);
            double frexp(double, int *);
            int printf(const char *, ...);
            size_t strlen(const char *);
        """)
        self.libm = self.ffi.dlopen("libm.so.6")
        self.libc = self.ffi.dlopen(None)

    def test_functions_of_a_library(self):
        entry = entry_of(self.libm.hypot)
        self.assertEqual((entry.signature, entry.place), ("dd->d", "cffi"))
        self.assertEqual(entry.flags, Flags.THREAD_SAFE)
        self.assertEqual(entry_of(self.libm.fabsl).signature, "g->g")
        self.assertEqual(entry_of(self.libm.frexp).signature, "d&i->d")
        self.assertEqual(entry_of(self.libc.strlen).signature, f"{CHARS}->N")
        self.assertEqual(typedcall.resolve(self.libm.hypot, "dd->d")(3.0, 4.0), 5.0)

    def test_cffi_forgets_const_and_a_tag_says_it(self):
        function = self.libc.strlen
        with self.assertRaisesRegex(TypeError, "'s->N'; .*cffi.*forget.*const char \\*.*tag\\(f, 's->N', f\\)"):
            typedcall.resolve(function, "s->N")
        self.addCleanup(typedcall.untag, function)
        typedcall.tag(function, "size_t (const char *)", function)
        self.assertEqual(typedcall.resolve(function, "s->N")("four"), 4)
        # For other differences, the message is different.
        for text in ("size_t (const double *)", "size_t (double)", "size_t (const char *, int)"):
            with self.assertRaisesRegex(TypeError, "is not a C function of"):
                typedcall.tag(len, text, self.ffi.cast("size_t(*)(char *)", 4096))

    def test_every_integer_type(self):
        text = (
            "double(*)(_Bool, signed char, unsigned char, short, uint16_t, int32_t, unsigned, "
            "long, uint64_t, intptr_t, size_t, float, void *, char *, int **, pair *)"
        )
        pointer = self.ffi.cast(text, 4096)
        self.assertEqual(entry_of(pointer).signature, f"?bBhHiIlLnNfP{CHARS}PP->d")

    def test_a_char_is_bytes_in_python(self):
        self.ffi.cdef("int tolower(int);")
        char = CHARS[1:]
        for text, signature, differs in (("char(*)(char)", char + "->" + char, True), ("int(*)(char)", char + "->i", True),
                                         ("char(*)(int)", "i->" + char, True),
                                         ("signed char(*)(signed char)", "b->b", False),
                                         ("char *(*)(char *)", CHARS + "->" + CHARS, False)):
            entry = entry_of(self.ffi.cast(text, self.ffi.addressof(self.libc, "tolower")))
            self.assertEqual((entry.signature, bool(entry.flags & Flags.DIFFERS)), (signature, differs))
        lower = self.ffi.cast("char(*)(char)", self.ffi.addressof(self.libc, "tolower"))
        self.assertEqual(lower(b"A"), b"a")
        with self.assertRaises(TypeError):
            lower(65)

    def test_what_has_no_signature_is_refused(self):
        self.assertEqual(typedcall.signatures(self.libc.printf), [])
        self.assertEqual(typedcall.signatures(self.ffi.cast("double(*)(pair)", 4096)), [])
        self.assertEqual(typedcall.signatures(self.ffi.cast("double(*)(double)", 0)), [])
        self.assertEqual(typedcall.signatures(self.ffi.new("int *")), [])
        with self.assertRaises(TypeError):
            typedcall.resolve(self.libm.hypot, "d->d")

    def test_callbacks_take_the_gil(self):
        callback = self.ffi.callback("double(double)", lambda x: x + 1)
        self.assertEqual(entry_of(callback).flags, Flags.ACQUIRES_GIL)
        self.assertEqual(typedcall.resolve(callback, "d->d")(1.0), 2.0)

    def test_copies_of_callbacks_take_the_gil(self):
        text = "double(*)(double)"
        callback = self.ffi.callback(text, lambda x: x + 1)
        self.ffi.cdef("typedef struct { double (*function)(double); } table;")
        table = self.ffi.new("table *", [callback])
        address = int(self.ffi.cast("uintptr_t", callback))
        for pointer in (
            self.ffi.cast(text, callback),
            self.ffi.cast(text, address),
            table.function,
            self.ffi.new("double(*[1])(double)", [callback])[0],
            self.ffi.cast(text, 4096),
        ):
            self.assertEqual(entry_of(pointer).flags, Flags.ACQUIRES_GIL)
        table.function = self.ffi.cast(text, self.libm.hypot)
        self.assertEqual(entry_of(table.function).flags, Flags.THREAD_SAFE)

    def test_functions_of_a_compiled_module(self):
        ffi = cffi.FFI()
        ffi.cdef("""
            typedef enum { LOW = -1, HIGH } level;
            typedef enum { RED, BLUE } color;
            long twice(long);
            double const_value(void);
            double _Complex turned(double _Complex);
            float _Complex turned_float(float _Complex, int(*)(const char *, ...));
            color other(color, level);
            double sum(int, ...);
            extern "Python" double in_python(double);
        """)
        ffi.set_source(
            "compiled_by_cffi",
            """
            #include <complex.h>
            typedef enum { LOW = -1, HIGH } level;
            typedef enum { RED, BLUE } color;
            static long twice(long x) { return 2 * x; }
            static double complex turned(double complex x) { return x * I; }
            static float complex turned_float(float complex x, int (*f)(const char *, ...)) {
              (void)f;
              return x * I;
            }
            static color other(color x, level y) { return y == LOW ? RED : (color)(BLUE - x); }
            static double sum(int count, ...) { return count; }
            static double const_value(void) { return 2.5; }
        """,
        )
        source = self.folder / "compiled_by_cffi.c"
        ffi.emit_c_code(str(source))
        made = pathlib.Path(
            self.folder, "compiled_by_cffi" + sysconfig.get_config_var("EXT_SUFFIX")
        )
        support.run(
            support.compiler("c")
            + ["-shared", "-fPIC", "-I" + support.python_include(), source, "-o", made]
        )
        lib = support.load("compiled_by_cffi", made).lib
        self.addCleanup(sys.modules.pop, "compiled_by_cffi", None)
        self.assertEqual(entry_of(lib.twice).signature, "l->l")
        self.assertEqual(typedcall.resolve(lib.twice, "l->l")(21), 42)
        self.assertEqual(typedcall.resolve(lib.const_value, "->d")(), 2.5)
        self.assertEqual(entry_of(lib.twice).flags, Flags.THREAD_SAFE)
        self.assertEqual(entry_of(lib.in_python).flags, Flags.ACQUIRES_GIL)
        # libffi cannot pass these types. cffi then raises the same error as for variable arguments.
        self.assertEqual(typedcall.resolve(lib.turned, "Zd->Zd")(2 + 1j), -1 + 2j)
        self.assertEqual(typedcall.resolve(lib.turned_float, "ZfP->Zf")(2 + 1j, None), -1 + 2j)
        self.assertEqual(typedcall.resolve(lib.other, "Ii->I")(0, 5), 1)
        self.assertEqual(typedcall.resolve(lib.other, "Ii->I")(0, -1), 0)
        self.assertEqual(typedcall.signatures(lib.sum), [])


class Sink(unittest.TestCase):
    def test_types_and_results(self):
        ffi = cffi.FFI()
        add = typedcall.cffi_function(functions.add)
        self.assertEqual(ffi.typeof(add).cname, "double(*)(double, double)")
        self.assertEqual(add(1.5, 2), 3.5)
        with self.assertRaises(TypeError):
            add("1", 2)
        self.assertEqual(typedcall.cffi_function(functions.mix)(2.0, 3, 4.0, 5), 26.0)
        self.assertEqual(typedcall.cffi_function(functions.next_char)(-1), 0)
        self.assertEqual(typedcall.cffi_function(functions.negate)(False), 1)
        counted = typedcall.cffi_function(functions.counted, thread_safe_only=False)
        self.assertEqual(counted(), functions.counted())
        values = ffi.new("double[]", [1, 2, 3])
        sum_of = typedcall.cffi_function(functions.sum_of, thread_safe_only=False)
        self.assertEqual(sum_of(values, 3), 6)
        self.assertEqual(typedcall.cffi_function(functions.absolute, "d->d")(-2.5), 2.5)

    def test_what_needs_the_gil_is_refused(self):
        for function, reason in (
            (functions.div, "may raise"),
            (functions.same_object, "objects|GIL"),
            (functions.turn, "complex"),
            (functions.Scaler(2.0).scale, "self"),
        ):
            with self.assertRaisesRegex(TypeError, reason):
                typedcall.cffi_function(function)

            with self.assertRaisesRegex(TypeError, reason):
                typedcall.cffi_function(function, thread_safe_only=False)

    def test_what_is_for_one_thread_at_a_time_is_refused(self):
        for signature in (None, "->l"):
            with self.assertRaisesRegex(TypeError, "threads at once.*thread_safe_only=False"):
                typedcall.cffi_function(functions.counted, signature)

        def one_of(flags):
            def tagged(x):
                return x / 2

            address = typedcall.entries(functions.half)[0].address
            typedcall.tag(tagged, "d->d", address, flags=int(flags))
            return tagged

        for flags in (Flags.THREAD_SAFE, Flags.ACQUIRES_GIL):
            self.assertEqual(typedcall.cffi_function(one_of(flags))(3.0), 1.5, flags)
        for flags in (Flags.SHORT, Flags.PURE):
            with self.assertRaisesRegex(TypeError, "threads at once"):
                typedcall.cffi_function(one_of(flags))

    def test_the_function_stays_alive(self):
        callback = cffi.FFI().callback("double(double)", lambda x: x + 1)
        pointer = typedcall.cffi_function(callback)
        again = typedcall.cffi_function(callback)
        del callback, again
        gc.collect()
        self.assertEqual(pointer(1.0), 2.0)

    def test_there_and_back(self):
        entry = entry_of(typedcall.cffi_function(functions.half))
        self.assertEqual(entry.signature, "d->d")
        self.assertEqual(entry.address, typedcall.entries(functions.half)[0].address)
