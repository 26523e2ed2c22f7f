"""Tests the package without its extension modules, as on platforms without tags. Functions then offer no entries."""
import importlib.util
import random
import sys
import textwrap
import unittest

import support
from support import processes

from typedcall.native import no_native

HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("typedcall.") and name.rpartition(".")[2] in (
                "_native", "_numpy_bridge", "_callbacks", "_jax", "_duckdb", "_sqlite", "_tvm_ffi"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import ctypes, math, types
import typedcall

def said(call, *given, **named):
    try:
        call(*given, **named)
    except (TypeError, ImportError) as error:
        assert "has no extension module" in str(error), error
        assert "nothing is offered" in str(error), error
        return type(error)
    raise AssertionError("no error")

def twice(x):
    return 2 * x
pointer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(twice)
"""
PIECES = ["?", "b", "l", "q", "n", "L", "N", "d", "g", "Zd", "Zf", "P", "s", "O", "&d", "&kd", "*d", "*kl", "*s", "*kq",
          "&q"]
FAULTS = ["v", "k", "&", "*", "Z", "x", " ", "\0", "->", "-", ">", "\xe9", "&&", "*P", "*O", "*ks", "&v", "*v", "kk",
          "&kk", "*&", "&*", "\ud800"]


def run(program, *arguments):
    return processes.run([sys.executable, "-c", HIDE + textwrap.dedent(program), *arguments])


def outcome(call, *given):
    try:
        return call(*given)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


class InPython(unittest.TestCase):
    """Tests that the Python module and the extension module have the same definitions."""

    def setUp(self):
        from typedcall.native import _native
        self.native = _native

    def test_lists(self):
        for name in ("TYPE_CODES", "FLAGS", "ABI_MASK", "MANDATORY_MASK", "HANDLED", "CASTINGS", "PLACES"):
            ours, compiled = getattr(no_native, name), getattr(self.native, name)
            if name == "ABI_MASK":  # the extension module has a C long
                compiled &= 0xffffffff
            self.assertEqual(ours, compiled, name)

    def test_signatures(self):
        drawn = random.Random(support.seeds.seed(26))
        texts = []
        for at in range(4000):
            count = drawn.choice([0, 1, 63, 64, 126, 127, 128]) if at % 10 == 0 else drawn.randrange(4)
            text = "".join(drawn.choice(PIECES) for _ in range(count)) + "->" + drawn.choice([*PIECES, "v"])
            while drawn.random() < 0.4:
                where = drawn.randrange(len(text) + 1)
                text = text[:where] + drawn.choice(FAULTS) + text[where + drawn.randrange(2):]
            texts.append(text)
        results = set()
        for text in [*texts, "", "->", "d", 3, None, b"d->d"]:
            expected = outcome(self.native.parse_signature, text)
            results.add(expected[0] if isinstance(expected[0], type) else "parsed")
            self.assertEqual(outcome(no_native.parse_signature, text), expected, text)
            for flags in (0, 0x10, 0x11, 0x100, 0x10004):
                ours, theirs = outcome(no_native.describe, text, flags), outcome(self.native.describe, text, flags)
                self.assertEqual((ours[:2], ours[3:6]), (theirs[:2], theirs[3:6]), (text, flags))
        self.assertEqual(results, {"parsed", ValueError, UnicodeEncodeError, TypeError})
        short = [text for text in texts if len(text) < 12]
        same = 0
        for _ in range(8000):
            pair = drawn.choice(short), drawn.choice(short)
            for name in ("are_equivalent", "answers"):
                expected = outcome(getattr(self.native, name), *pair)
                if isinstance(expected, bool):
                    same += expected
                    self.assertEqual(getattr(no_native, name)(*pair), expected, (name, pair))
        self.assertGreater(same, 20)


class Hidden(unittest.TestCase):
    def test_nothing_is_offered(self):
        run("""
            assert typedcall.parse_signature("d*kl->d") == (["d", "*kl"], "d")
            assert typedcall.Flags.PURE == 0x20000
            for f in (math.sin, twice, pointer, print, 3):
                assert typedcall.signatures(f) == [] == typedcall.entries(f) == typedcall.publish(f)
                assert said(typedcall.resolve, f, "d->d") is TypeError
            try:
                typedcall.resolve(math.sin, "d->")
            except ValueError as error:
                assert "position 3" in str(error), error
            else:
                raise AssertionError("taken")
            assert said(typedcall.TypedFunction) is TypeError
        """)

    def test_tags_are_checked_and_left_out(self):
        run("""
            typedcall.tag(twice, "d->d", 4096)
            typedcall.add_overloads(twice, "l->l", 4096)
            assert typedcall.signatures(twice) == [] and not typedcall.untag(twice)
            try:
                typedcall.tag(twice, "dd", 4096)
            except ValueError:
                pass
            else:
                raise AssertionError("a faulty signature was taken")
        """)

    @support.ON_CPYTHON  # PyPy has fewer adapters
    def test_what_needs_no_library_says_why(self):
        run("""
            from typedcall import export_to_cython, sql
            assert said(typedcall.ctypes_function, math.sin) is TypeError
            assert said(typedcall.low_level_callable, math.sin) is ImportError
            assert said(typedcall.callback, math.sin, "double (double, void *)") is ImportError
            assert said(typedcall.ufunc, math.sin) is ImportError
            assert said(export_to_cython, types.ModuleType("m")) is ImportError
            assert said(sql.register, None, math.sin) is TypeError
        """)

    @support.ON_CPYTHON
    def test_what_needs_a_library_says_why(self):
        for name, call in (("cffi", "typedcall.cffi_function(math.sin)"),
                           ("jax", "__import__('typedcall.jax').jax.elementwise(math.sin)"),
                           ("tvm_ffi", "__import__('typedcall.tvm_ffi').tvm_ffi.function(math.sin)")):
            with self.subTest(name):
                if importlib.util.find_spec(name) is None:
                    continue
                run(f"said(lambda: {call})")

    def test_the_command_line(self):
        shown = processes.run([sys.executable, "-c", HIDE + textwrap.dedent("""
            from typedcall.cli import main
            sys.exit(main(sys.argv[1:]))
        """), "show", "math"], check=False)
        self.assertEqual(shown.status, 4)
        self.assertIn("no function in 'math' offers a native signature: this installation", shown.err)
        told = run("""
            from typedcall.cli import main
            main(["doctor", "--json"])
        """).out
        self.assertIn("has no extension module", told)
