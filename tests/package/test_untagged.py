"""Tests that a tag never stops the import of a pybind11, nanobind or Cython module, where the interface is of another
major version or absent."""
import sys
import unittest

import adapter_support
import support

support.module_only_if(not support.IS_PYPY, "these bindings are used with CPython's package")

# Code that makes the interface unusable, and a part of the message.
SPOILED = {
    """
    import ctypes, struct
    data = ctypes.create_string_buffer(struct.pack("<HHI", 2, 5, 144).ljust(144, bytes(1)))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"_extensibletype.typedcall_v2"
    module = sys.modules["_extensibletype"] = type(sys)("_extensibletype")
    module.typedcall_v2 = new(ctypes.addressof(data), name, None)
    """: "has ABI version 2.5 and 144 bytes; 1.0 and 120 are needed",
    """
    sys.modules["_extensibletype"] = None
    """: "instead of a module",
}
NO_PACKAGE = """
    sys.modules["typedcall"] = None
    """
START = """if 1:
    import sys, warnings
    unraisable = []
    sys.unraisablehook = lambda it: unraisable.append((it.exc_type, str(it.exc_value)))
"""
BINDINGS = """
#include "typedcall/LIBRARY.h"
double twice(double x) noexcept { return 2 * x; }
double half(double x) { return x / 2; }
MACRO(NAME, module) {
#ifdef REQUIRED
  typedcall::require_tags(module);
#endif
  typedcall::def<twice>(module, "twice", PyNativeCallable_PURE);
  typedcall::def<half>(module, "half", typedcall::nothrow);
  typedcall::def_falling_back<half>(module, "checked_half");
}
"""
WAVES = """
# cython: language_level=3
from typedcall cimport PyNativeCallable_MAY_RAISE, PyNativeCallable_NEEDS_THREAD
from typedcall.tags cimport tag_pyx_capi

cpdef double twice(double x) noexcept nogil:
    return 2 * x

cpdef double half(double x) except? -1:
    return x / 2

tagged = tag_pyx_capi(__name__, PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE)
"""
REQUIRED_WAVES = WAVES.replace("from typedcall.tags c", "from typedcall ")
DECLARED = "cpdef double twice(double x) noexcept nogil\ncpdef double half(double x) except? -1\n"


def setUpModule():
    global folder
    folder = support.temporary(unittest.addModuleCleanup)


def bound(library, name, *macros):
    """Compiles a module with pybind11 or nanobind."""
    flags = [*("-D" + macro for macro in macros), *adapter_support.binding_flags(library)]
    text = BINDINGS
    for old, new in (("LIBRARY", library), ("NAME", name),
                     ("MACRO", "PYBIND11_MODULE" if library == "pybind11" else "NB_MODULE")):
        text = text.replace(old, new)
    source = folder / (name + ".cc")
    source.write_text(text, encoding="utf-8")
    support.compile_module(source, folder, flags=flags)


def cython(name, text):
    """Compiles a Cython module."""
    (folder / (name + ".pyx")).write_text(text, encoding="utf-8")
    (folder / (name + ".pxd")).write_text(DECLARED, encoding="utf-8")
    adapter_support.compile_pyx(folder / (name + ".pyx"), folder)


class Imports:
    """The tests of each front. `front` is the module's name."""

    def run_code(self, code):
        support.run([sys.executable, "-c", START + code], paths=[folder])

    def check(self, code):
        for spoil, words in self.spoiled.items():
            with self.subTest(spoil):
                self.run_code(spoil + code.replace("FRONT", self.front).replace("WORDS", repr(words)))

    def test_one_warning(self):
        self.check("""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        import FRONT
    assert [each.category for each in told] == [RuntimeWarning], [str(each.message) for each in told]
    text = str(told[0].message)
    assert "module 'FRONT'" in text and WORDS in text, text
    assert FRONT.twice(2.5) == 5.0 and FRONT.half(5.0) == 2.5 and not unraisable
    """)

    def test_a_warning_that_is_an_error_is_unraisable(self):
        self.check("""
    warnings.simplefilter("error", RuntimeWarning)
    import FRONT
    (kind, text), = unraisable
    assert kind is RuntimeWarning and "module 'FRONT'" in text and WORDS in text, unraisable
    assert FRONT.twice(2.5) == 5.0 and FRONT.half(5.0) == 2.5
    """)

    def test_required_tags_are_an_import_error(self):
        self.check("""
    warnings.simplefilter("error", RuntimeWarning)
    try:
        import FRONT_required
    except ImportError as error:
        while error.__cause__ is not None:
            error = error.__cause__
        assert WORDS in str(error), error
    else:
        raise AssertionError("imported")
    assert not unraisable, unraisable
    """)

    def test_with_an_interface_nothing_is_said(self):
        self.run_code("""
    warnings.simplefilter("error", RuntimeWarning)
    import typedcall
    import FRONT, FRONT_required
    for module in FRONT, FRONT_required:
        assert typedcall.resolve(module.half, "d->d")(5.0) == module.half(5.0) == 2.5
    assert not unraisable, unraisable
    """.replace("FRONT", self.front))


class Bindings(Imports):
    """Modules of a C++ library."""

    spoiled = SPOILED

    @classmethod
    def setUpClass(cls):
        library = cls.front.replace("with_", "")
        bound(library, cls.front)
        bound(library, cls.front + "_required", "REQUIRED")


class Pybind11(Bindings, unittest.TestCase):
    front = "with_pybind11"


class Nanobind(Bindings, unittest.TestCase):
    front = "with_nanobind"


class Cython(Imports, unittest.TestCase):
    front, spoiled = "with_cython", {**SPOILED, NO_PACKAGE: "import of typedcall halted"}

    @classmethod
    def setUpClass(cls):
        cython(cls.front, WAVES)
        cython(cls.front + "_required", REQUIRED_WAVES)

    def test_a_call_that_is_wrong_is_an_error(self):
        cython("wrong", WAVES.replace("__name__", "'sys'"))
        self.run_code("""
    try:
        import wrong
    except TypeError as error:
        assert "exports no C functions" in str(error), error
    else:
        raise AssertionError("imported")
    """)
