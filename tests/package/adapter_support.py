"""Shared by the tests of the adapters."""

import concurrent.futures
import ctypes
import importlib
import pathlib
import re
import sys
import sysconfig
import unittest

import support
import typedcall
from matrix_c_types import TYPES

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def library(name):
    """Imports a library, or skips the test. On PyPy, a call at the top level skips the whole file."""
    support.module_only_if(not support.IS_PYPY, "%s is used with CPython's package" % name)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise unittest.SkipTest("%s is not installed (%s)" % (name, error)) from None


def compile_pyx(source, folder, language="c"):
    """Compiles a .pyx file to an extension module in `folder`. The .pxd files must be next to it."""
    library("Cython")
    source = pathlib.Path(source)
    generated = pathlib.Path(folder) / (source.stem + (".cpp" if language == "c++" else ".c"))
    support.run(
        [
            sys.executable,
            "-m",
            "cython",
            "-3",
            *(["--cplus"] if language == "c++" else []),
            "-I",
            source.parent,
            source,
            "-o",
            generated,
        ]
    )
    made = pathlib.Path(folder) / (source.stem + sysconfig.get_config_var("EXT_SUFFIX"))
    support.run(
        support.compiler(language)
        + ["-O1", "-shared", "-fPIC", "-I" + support.python_include(), "-I" + typedcall.get_include(), generated, "-o", made]
    )
    return made


def offering(functions):
    """Returns a Python function tagged with C functions. `functions` maps each signature to a callable."""
    def offered(*arguments):
        raise NotImplementedError

    made = [ctypes.CFUNCTYPE(*(TYPES[letter][1] for letter in text[-1] + text[:-3]))(function)
            for text, function in functions.items()]
    typedcall.tag(offered, list(functions), made)
    return offered


def called_by(code):
    """Returns the addresses of the typed functions that LLVM code from inspect_llvm() refers to."""
    binding = importlib.import_module("llvmlite.binding")
    symbols = set(re.findall(r"typedcall\.[\w.]*\.[0-9a-f]{32}", code))
    numbers = set(re.findall(r"numba\.dynamic\.globals\.([0-9a-f]+)", code))
    return {binding.address_of_symbol(each) for each in symbols} | {int(each, 16) for each in numbers}


def nopython_call(function, count=1, **options):
    """Returns a compiled function that calls `function` with `count` arguments."""
    names = ", ".join("abcdefghijk"[:count])
    scope = {"typed": function}
    exec("def call(%s): return typed(%s)" % (names, names), scope)
    return library("numba").njit(**options)(scope["call"])


class NumbaCalls(unittest.TestCase):
    """A base class for tests that call the module's functions in nopython code."""

    module = None

    @classmethod
    def setUpClass(cls):
        cls.numba = library("numba")
        cls.numpy = library("numpy")

    def compiled(self, name, count=1, **options):
        return nopython_call(getattr(self.module, name), count, **options)

    def check_in_threads(self, total, good, bad, expected, error, text):
        """Checks in several threads that `total` returns `expected` for `good` and raises an exception for `bad`."""
        total(good)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(total, bad if i % 2 else good) for i in range(16)]
            for i, future in enumerate(futures):
                if i % 2:
                    with self.assertRaisesRegex(error, text):
                        future.result()
                else:
                    self.assertEqual(future.result(), expected)


class Example(support.InAFolder):
    """A base class for tests that compile and run an example."""

    def run_example(self, name, flags=(), build=None, program="demo.py"):
        """Returns what examples/<name>/<program> prints."""
        example = EXAMPLES / name
        for source in sorted(example.glob("*.cc")) if build is None else ():
            support.compile_module(source, self.folder, flags=flags)
        for source in sorted(example.glob("*.pyx")):
            compile_pyx(source, self.folder)
        if build is not None:
            support.run([sys.executable, example / build, self.folder])
        return support.python(example / program, paths=[self.folder], check=True).out


def binding_flags(name):
    """Returns what compiles a module with pybind11 or nanobind. The first is the folder of its headers."""
    found = library(name)
    if name == "pybind11":
        return ["-isystem" + found.get_include()]
    runtime = pathlib.Path(found.source_dir())
    return ["-isystem" + found.include_dir(), "-isystem%s/ext/robin_map/include" % runtime.parent,
            "-fno-strict-aliasing", runtime / "nb_combined.cpp"]
