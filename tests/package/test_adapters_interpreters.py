"""Tests the adapters' extension modules in other interpreters. Some refuse to load there."""

import importlib
import sys
import unittest

import adapter_support
import support
import test_api_interpreters as api

functions = support.build("typed_functions")
FOLDERS = [support.module_folder(name) for name in ("typed_functions", "fallback_functions")]
IS_SHARED = sys.version_info < (3, 12)
ONLY_MAIN = "before Python 3.12: in the main interpreter only"

REFUSED = """
import sys
sys.path[:0] = {folders!r}
import typedcall, typed_functions as functions
try:
    {work}
except ImportError as error:
    assert any(each in str(error) for each in {texts!r}), error
else:
    raise AssertionError("it is there")
"""
CALLBACK = """
import sys
sys.path[:0] = {folders!r}
import ctypes, typedcall, fallback_functions, typed_functions
prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)
declaration = "double f(double, void *)"
with typedcall.callback(typed_functions.half, declaration) as made:
    for i in range(500):
        assert prototype(made.address)(i, made.data) == i / 2
try:
    with typedcall.callback(fallback_functions.root, declaration) as made:
        assert prototype(made.address)(4.0, made.data) == 2.0
        assert prototype(made.address)(-1.0, made.data) != 0
except ValueError as error:
    assert "no result for these arguments" in str(error), error
else:
    raise AssertionError("nothing raised")
"""

# A script in which another interpreter imports the module first, and then ends.
FIRST = """
import sys
sys.path.insert(0, sys.argv[1])
import test_adapters_interpreters as own
own.run_legacy("try: import typedcall.sinks.{module}\\nexcept ImportError: pass")
{work}
"""
IN_TVM_FFI = """
import tvm_ffi_support
from typedcall import tvm_ffi
made = tvm_ffi.function(tvm_ffi_support.fallbacks.half_alone)
print(made(4.0), tvm_ffi_support.call_in_threads(made, -4.0, 100, 4))
"""
IN_JAX = """
import numpy, support
from typedcall.jax import elementwise
import jax
check = jax.jit(elementwise(support.build("typed_functions").check, pure=True))
print(check(numpy.arange(3)).tolist())
try:
    check(numpy.full(3, 13)).block_until_ready()
except Exception as error:
    print("thirteen" in str(error))
"""


def run_legacy(source):
    """Runs code in a new interpreter that shares the main interpreter's GIL."""
    api.run(source, **({"isolated": False} if sys.version_info < (3, 13) else {"config": "legacy"}))


def extension(name):
    """Imports the extension module. Skips the test if the package was built without it."""
    try:
        return importlib.import_module("typedcall.sinks." + name)
    except ImportError as error:
        raise unittest.SkipTest("the package was built without it (%s)" % error) from None


class Interpreters(unittest.TestCase):
    def refuses(self, work, *texts):
        """Checks that `work` fails with one of these texts in other interpreters."""
        source = REFUSED.format(folders=FOLDERS, work=work, texts=texts)
        for run in (api.run, run_legacy):
            for _ in range(2):
                with self.subTest(run.__name__):
                    run(source)

    @support.only_if(IS_SHARED)  # both work in other interpreters from 3.12 on
    def test_callbacks_and_sql_are_the_main_interpreters(self):
        self.refuses("typedcall.callback(functions.half, 'double f(double, void *)')",
                     "typedcall.callback() needs its extension module, which CPython's package has: "
                     + ONLY_MAIN)
        for name in ("callbacks._callbacks", "sql._sqlite", "sql._duckdb"):
            extension(name)
            self.refuses("import typedcall.sinks." + name, ONLY_MAIN)

    @support.only_if(IS_SHARED)
    def test_what_sql_says(self):
        extension("sql._sqlite")
        self.refuses("import typedcall.sql; typedcall.sql.register(type('', (), {'load_extension': 1})(), "
                     "functions.half)", "(Debian: libsqlite3-dev): " + ONLY_MAIN)

    def test_jax_and_tvm_ffi_are_the_main_interpreters(self):
        for name in ("jax._jax", "tvm_ffi._tvm_ffi"):
            extension(name)  # the main interpreter must load it first
            self.refuses("import typedcall.sinks." + name, "does not support loading in subinterpreters",
                         "in the main interpreter only")

    def after_another_interpreter(self, module, work):
        """Runs `work` after another interpreter has imported the module. Returns the lines that it prints."""
        extension(module)
        return support.printed("-W", "ignore", "-c", FIRST.format(module=module, work=work), support.MODULES.parent,
                               timeout=120).split("\n")

    def test_tvm_ffi_after_another_interpreter(self):
        adapter_support.library("tvm_ffi")
        self.assertEqual(self.after_another_interpreter("tvm_ffi._tvm_ffi", IN_TVM_FFI), ["2.0 400"])

    def test_jax_after_another_interpreter(self):
        adapter_support.library("jax")
        self.assertEqual(self.after_another_interpreter("jax._jax", IN_JAX), ["[0, 1, 2]", "True"])

    @support.only_if(IS_SHARED)
    def test_callbacks_after_another_interpreter(self):
        self.assertEqual(self.after_another_interpreter(
            "callbacks._callbacks", CALLBACK.format(folders=FOLDERS) + "print('done')"), ["done"])
