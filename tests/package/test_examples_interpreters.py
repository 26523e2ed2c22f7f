"""Tests the demos of examples/free_threading and examples/subinterpreters."""

import os
import re
import sys
import sysconfig
import unittest
import unittest.mock

import adapter_support
import support
import typedcall

support.module_only_if(not support.IS_PYPY, "for CPython: PyPy has one interpreter, and no consumers in C++")

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None


class Example(adapter_support.Example):
    def setUp(self):
        super().setUp()
        # The modules decide whether the GIL is enabled.
        patched = unittest.mock.patch.dict(os.environ)
        patched.start()
        self.addCleanup(patched.stop)
        os.environ.pop("PYTHON_GIL", None)

    def run_changed(self, name, source, old, new):
        """Replaces `old` with `new` in the module's source, and runs the demo. Returns (status, output, errors)."""
        example = adapter_support.EXAMPLES / name
        text = (example / source).read_text(encoding="utf-8")
        self.assertEqual(text.count(old), 1)
        changed = self.folder / source
        changed.write_text(text.replace(old, new), encoding="utf-8")
        support.compile_module(changed, self.folder)
        return support.python(example / "demo.py", paths=[self.folder])


class FreeThreading(Example):
    def check(self, printed, with_gil):
        """Checks the demo's output."""
        first, *rows = printed.splitlines()
        self.assertEqual("has a GIL: threads take turns" in first, with_gil, first)
        self.assertEqual("has no GIL" in first, not with_gil, first)
        self.assertEqual(len(rows), 3, printed)
        for row in rows:
            self.assertIn(" 148933 primes, ", row)
        self.assertNotIn("inside", rows[0])
        at_once = [int(re.search(r"(\d+) of them inside at once$", row)[1]) for row in rows[1:]]
        # A call that holds the GIL blocks other threads. The native loop releases the GIL.
        if with_gil:
            self.assertEqual(at_once[0], 1, printed)
        else:
            self.assertIn(at_once[0], (2, 3, 4), printed)
        self.assertIn(at_once[1], (2, 3, 4), printed)

    def test_the_demo(self):
        # CPython warns if it enables the GIL again.
        with unittest.mock.patch.dict(os.environ, PYTHONWARNINGS="error"):
            self.check(self.run_example("free_threading"), with_gil=not FREE_THREADED)

    @support.only_if(FREE_THREADED)  # other builds always have the GIL
    def test_a_module_that_does_not_say_so_brings_the_gil_back(self):
        status, printed, errors = self.run_changed(
            "free_threading", "primes.cc", "TYPEDCALL_MODULE_WITHOUT_GIL(", "TYPEDCALL_MODULE("
        )
        self.assertEqual(status, 0, errors)
        self.assertIn("has been enabled to load module 'primes'", errors)
        self.check(printed, with_gil=True)

    def test_the_functions(self):
        source = adapter_support.EXAMPLES / "free_threading" / "primes.cc"
        primes = support.load("primes", support.compile_module(source, self.folder))
        some = [n for n in range(-3, 1000) if primes.is_prime(n)]
        self.assertEqual(
            some, [n for n in range(2, 1000) if all(n % d for d in range(2, n))]
        )
        self.assertFalse(primes.is_prime(2**63 - 1))
        self.assertEqual(primes.count_primes(-3, 1000), len(some))
        self.assertEqual(primes.count(primes.is_prime, -3, 1000), len(some))
        self.assertEqual(primes.count(primes.is_prime, 5, 5), 0)

        with self.assertRaisesRegex(TypeError, "offers no native signature"):
            primes.count(len, 0, 1)
        address = typedcall.entries(primes.is_prime)[0].address

        def untold(n):
            return primes.is_prime(n)

        typedcall.tag(untold, "l->?", address, flags=0)
        with self.assertRaisesRegex(TypeError, "needs a function that says thread_safe"):
            primes.count(untold, 0, 10)


@support.only_if(interpreters)
class Subinterpreters(Example):
    def test_the_demo(self):
        with unittest.mock.patch.dict(os.environ, PYTHONWARNINGS="error"):
            lines = self.run_example("subinterpreters").splitlines()
        self.assertEqual(lines[0], "here:  erf offers ['d->d']")
        # The function is not tagged in this interpreter.
        self.assertRegex(lines[1], "^there: .*erf offers no native signature; 'd->d' was asked for")
        self.assertEqual(lines[2], "there: erfc offers ['d->d']")
        self.assertEqual(lines[3], "here:  erf offers ['d->d'], erfc offers []")
        self.assertEqual(
            sorted(lines[4:7]), ["interpreter %d: %d00 areas" % (n, n) for n in (1, 2, 3)]
        )
        gil = "this Python has no GIL" if FREE_THREADED else "each with its own GIL"
        if sys.version_info < (3, 12):
            gil = "which share the GIL"
        self.assertEqual(lines[7:], ["three at once, " + gil])

    @support.only_if(sys.version_info >= (3, 12))  # interpreters share the GIL before 3.12
    def test_an_interpreter_with_its_own_gil_refuses_a_module_that_does_not_say_so(self):
        status, _, errors = self.run_changed(
            "subinterpreters",
            "area.cc",
            "static constexpr bool runs_without_gil = true;",
            "static constexpr bool runs_without_gil = true;\n"
            "  static constexpr bool supports_interpreters = false;",
        )
        self.assertNotEqual(status, 0)
        self.assertIn("module area does not support loading in subinterpreters", errors)
