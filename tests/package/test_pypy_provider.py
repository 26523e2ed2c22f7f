"""Tests providers on PyPy, made with typedcall/provider.h and with the C macros. Features that PyPy does not support
are refused at compile time."""
import array
import gc
import os
import pathlib
import sys
import tempfile
import types
import unittest

import support
import typedcall
from typedcall import Flags

ROOT = pathlib.Path(__file__).resolve().parents[2]
ON_PYPY = support.ON_PYPY  # tests that use PyPy's C API
if support.IS_PYPY:
    from typedcall.native import _native as reader
    from typedcall.pypy.backend import own_entries
    from typedcall.pypy.originals import wrapper_of


@ON_PYPY
class Metadata(unittest.TestCase):
    def test_cpp(self):
        typed = support.build("typed_functions")
        simple = int(Flags.PURE | Flags.THREAD_SAFE | Flags.SHORT)
        for name, signature in (("inc", "l->l"), ("mix", "dldl->d"), ("turn", "Zd->Zd"),
                                ("same_text", "s->s"), ("negate", "?->?"), ("sum_of", "&kdl->d")):
            (row,) = reader.entries(getattr(typed, name))
            self.assertEqual((row[0], row[3]), (signature, "method metadata"))
            self.assertGreater(row[2], 0)
        self.assertEqual([row[0] for row in reader.entries(typed.absolute)], ["l->l", "d->d"])
        self.assertEqual(reader.entries(typed.inc)[0][1], simple)
        (row,) = reader.entries(typed.div)
        self.assertEqual(row[1], Flags.MAY_RAISE | Flags.NEEDS_THREAD)

    def test_numbers_by_index(self):
        class Number:
            def __init__(self, value):
                self.value = value

            def __index__(self):
                return self.value

        class Fails:
            def __index__(self):
                raise LookupError("no number")

        class Complex(Number):
            def __complex__(self):
                return 2j

        typed = support.build("typed_functions")
        for function in (typed.half, typed.turn):
            self.assertEqual(function(Number(3)), function(3))
            self.assertRaises(OverflowError, function, Number(10**400))
            self.assertRaisesRegex(LookupError, "no number", function, Fails())
        self.assertEqual((typed.half(Complex(3)), typed.turn(Complex(3))), (1.5, typed.turn(2j)))

    def test_methods(self):
        scaler = support.build("typed_functions").Scaler
        (row,) = reader.entries(scaler.__dict__["scale"])
        self.assertEqual((row[0], row[1]), ("d->d", Flags.TAKES_SELF | Flags.NEEDS_THREAD))
        (row,) = reader.entries(scaler.twice)
        self.assertEqual(row[0], "d->d")
        # The reader ignores bound methods. Their __func__ is the descriptor.
        bound = scaler(2.0).scale
        self.assertEqual(reader.entries(bound), [])
        self.assertEqual(len(reader.entries(bound.__func__)), 1)
        self.assertEqual(typedcall.signatures(bound), ["d->d"])

    def test_c(self):
        functions = support.build("pypy_functions")
        for name, signature in (("inc", "l->l"), ("add", "dd->d"), ("nothing", "i->v"),
                                ("none", "->l"), ("single", "f->f"), ("raises", "l->i")):
            (row,) = reader.entries(getattr(functions, name))
            self.assertEqual(row[0], signature)
        # This function was tagged by PyTypedMethod_TagArray.
        self.assertEqual([row[0] for row in reader.entries(functions.size)],
                         ["d->d", "dl->d", "l->l"])
        self.assertEqual(reader.entries(functions.counts), [])

    def test_pypy_s_own_struct(self):
        functions = support.build("pypy_functions")
        (row,) = reader.entries(functions.bare)
        # PyPy's branch holds the GIL during a call, so the function may rely on this.
        self.assertEqual((row[0], row[1], row[3]), ("l->l", Flags.NEEDS_THREAD, "PyPy metadata"))
        self.assertEqual(row[2], reader.entries(functions.inc)[0][2])
        self.assertEqual(functions.bare.__name__, "bare")

    def test_the_address_is_the_function(self):
        import ctypes

        functions = support.build("pypy_functions")
        ((_, _, address, _, _),) = reader.entries(functions.add)
        prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
        before = functions.counts()
        self.assertEqual(prototype(address)(1.25, 2.0), 3.25)
        self.assertEqual(functions.counts(), (before[0] + 1, before[1]))

    def test_callers_see_an_ordinary_function(self):
        functions = support.build("pypy_functions")
        self.assertEqual(functions.inc.__name__, "inc")
        self.assertEqual(functions.inc.__doc__, "Add one.")
        self.assertEqual(functions.inc.__text_signature__, "($module, x, /)")


@ON_PYPY
@unittest.skipUnless((ROOT / "tools" / "amalgamate.py").is_file(), "the repository is not here")
class SingleFile(unittest.TestCase):
    def test_the_example_of_a_vendored_provider(self):
        with tempfile.TemporaryDirectory() as folder:
            support.run([sys.executable, ROOT / "tools" / "amalgamate.py", "--output",
                         os.path.join(folder, "typedcall_provider.h")])
            geometry = support.load("geometry", support.compile_module(
                ROOT / "examples" / "vendored" / "geometry.c", folder, include=folder))
        for function, signature in ((geometry.gcd, "ll->l"), (geometry.clamp, "ddd->d"),
                                    (geometry.Line.slope, "dddd->d"),
                                    (geometry.Line(2.0, 1.0).at, "d->d")):
            self.assertEqual(typedcall.signatures(function), [signature])
        self.assertEqual(geometry.Line(2.0, 1.0).at(3.0), 7.0)
        self.assertIn("gcd", typedcall.accelerate(geometry).accelerated)
        self.assertEqual((geometry.gcd(12, -18), geometry.clamp(3.0, high=2.0)), (6, 2.0))


@ON_PYPY
class Buffers(unittest.TestCase):
    # PyPy ignores requests for contiguous memory.
    def test_a_pointer_into_what_is_not_contiguous(self):
        typed = support.build("typed_functions")
        values = memoryview(array.array("d", range(6)))
        self.assertEqual(typed.sum_of(values[1:4], 3), 6.0)
        with self.assertRaisesRegex(BufferError, "not (C-)?contiguous"):
            typed.sum_of(values[::2], 3)

    @unittest.skipUnless((ROOT / "tests" / "provider").is_dir(), "the repository is not here")
    def test_functions_of_buffers(self):
        source = ROOT / "tests" / "provider" / "provider_buffers.cc"
        with tempfile.TemporaryDirectory() as folder:
            for standard in (17, 20):
                name = "provider_buffers_%d" % standard
                support.compile_module(source, folder, name,
                                       ["-std=c++%d" % standard, "-O1", "-DNAME=" + name])
            support.run([sys.executable, source.with_name("test_buffers.py")],
                        paths=[folder, ROOT / "tests" / "support"])


@ON_PYPY
class AnyObject(unittest.TestCase):
    """No object makes the reader crash or find an entry."""

    def test_attributes_of_the_standard_library(self):
        names = ("builtins sys os math cmath time itertools operator collections functools array "
                 "struct zlib json re io pickle datetime threading select socket _ctypes ctypes "
                 "_cffi_backend cffi __pypy__ unicodedata random hashlib decimal").split()
        seen = 0
        for name in names:
            try:
                module = __import__(name)
            except ImportError:
                continue
            for value in list(vars(module).values()):
                self.assertEqual(reader.entries(value), [], value)
                seen += 1
                for inner in list(vars(value).values()) if isinstance(value, type) else ():
                    self.assertEqual(reader.entries(inner), [], inner)
                    seen += 1
        self.assertGreater(seen, 5000)

    def test_bound_and_odd_objects(self):
        class Python:
            def method(self):
                pass

            static = staticmethod(len)
            of_class = classmethod(len)
            builtin = len

        plain = support.build("plain_functions")
        for value in ([].append, list.append, dict.fromkeys, dict.__dict__["fromkeys"], "".join,
                      (5).__add__, int.__add__, type.__call__, Python().method, Python.method,
                      Python.__dict__["static"], Python.__dict__["of_class"], Python.builtin,
                      Python().builtin, Python, Python(), lambda: 0, None, 1, 1.5, "text", b"", [],
                      {}, object(), type, Ellipsis, NotImplemented, sys, types.SimpleNamespace(),
                      plain.half, sys._getframe(), (x for x in ()), property(len), super):
            self.assertEqual(reader.entries(value), [], value)

    def test_everything_that_is_alive(self):
        # Some of PyPy's internal objects crash every extension.
        found = 0
        for value in gc.get_objects():
            if type(value) in reader.TYPES:
                found += 1
            elif not isinstance(value, (types.FunctionType, types.MethodType)):
                offered = own_entries(value)
                # Functions that accelerate() made have entries.
                if wrapper_of(value) is None:
                    self.assertEqual(offered, [], (type(value), value))
        self.assertGreater(found, 0)

    def test_not_one_argument(self):
        for args in ((), (len, len)):
            with self.assertRaises(TypeError):
                reader.entries(*args)


@ON_PYPY
class Refused(support.InAFolder):
    def compile(self, text, *flags, language="c"):
        source = self.folder / ("refused." + ("c" if language == "c" else "cc"))
        source.write_text(text)
        return support.processes.run(
            support.compiler(language)
            + ["-std=c99" if language == "c" else "-std=c++17", "-fsyntax-only", *flags,
               "-I" + support.python_include(), "-I" + typedcall.get_include(), source],
            check=False, together=True, environment={"LC_ALL": "C"})[:2]

    def test_slots_and_consumers(self):
        for header in ("core/custom_slots.h", "core/extensible_type.h", "core/foreign_slots.h",
                       "core/rendezvous.h", "core/type_data.h"):
            status, output = self.compile('#include "%s"\n' % header)
            self.assertNotEqual(status, 0, header)
            self.assertIn("typedcall: on PyPy there are providers", output)
        for header in ("typedcall/resolve.h", "typedcall/call_site.h"):
            status, output = self.compile('#include "%s"\n' % header, language="c++")
            self.assertNotEqual(status, 0, header)
            self.assertIn("typedcall: on PyPy there are providers", output)

    def test_limited_api(self):
        status, output = self.compile('#include "typedcall/typed_method.h"\n',
                                      "-DPy_LIMITED_API=0x030C0000")
        self.assertNotEqual(status, 0)
        self.assertIn("PyPy has no limited API", output)

    def test_what_providers_include_compiles_alone_and_clean(self):
        strict = ("-Wall", "-Wextra", "-Werror", "-isystem", support.python_include())
        for header in ("typed_method.h", "tag.h", "signature.h", "native_callable.h", "entry_view.h",
                       "overload_choice.h"):
            text = '#include "typedcall/%s"\n' % header
            for language in ("c", "c++"):
                status, output = self.compile(text, *strict, language=language)
                self.assertEqual(status, 0, output)
        status, output = self.compile('#include "typedcall/provider.h"\n', *strict, language="c++")
        self.assertEqual(status, 0, output)

    def test_rows_without_bits(self):
        """PyPy has no side table."""
        made = support.compile_module(support.MODULES / "pypy_functions.c", self.folder,
                                      flags=("-DPyTypedMethod_FLAGS=0",))
        with self.assertRaisesRegex(SystemError, "on PyPy a typed def needs its flag bits"):
            self.load(made)

    def load(self, path):
        kept = sys.modules.get("pypy_functions")
        try:
            return support.load("pypy_functions", path)
        finally:
            if kept is not None:
                sys.modules["pypy_functions"] = kept
            else:
                del sys.modules["pypy_functions"]
