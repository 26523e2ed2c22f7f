"""Random sets of overloads of one Python function: every library that calls its C functions gives what the
function gives, or the same kind of error. What differs yet is in tests/expected.toml, by library and situation."""
import collections
import importlib
import itertools
import os
import unittest

import adapter_support
import overload_support
import support
import typedcall

support.module_only_if(not support.IS_PYPY, "the libraries are used with CPython's package")

#: In --full, which has a seed of its own, there is time for more.
MORE = 4 if "TYPEDCALL_SEED" in os.environ else 1


class TheModel(unittest.TestCase):
    def test_it_chooses_as_the_wrappers_do(self):
        sets = [name.split()[1:] for name in dir(overload_support.functions) if name.startswith("of ")]
        self.assertEqual(len(sets), 8)
        for overloads in sets:
            wrapper = getattr(overload_support.functions, " ".join(["of", *overloads]))
            model = overload_support.boxed(overloads)
            for arguments in itertools.product(overload_support.VALUES, repeat=len(overloads[0])):
                found, expected = (overload_support.result_of(lambda f=f: f(*arguments), self.kind)
                                   for f in (model, wrapper))
                self.assertEqual((found, type(found)), (expected, type(expected)), (overloads, arguments))

    @staticmethod
    def kind(error):
        return type(error).__name__


class Library:
    """The comparison with one library, once for all situations."""

    #: Sets of overloads, and calls of each.
    count, calls = 0, 6
    kind_of = staticmethod(overload_support.kind_by_text)

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.compared, cls.different = collections.Counter(), collections.defaultdict(list)
        seed = support.seeds.seed(1)
        for number, (overloads, calls) in enumerate(overload_support.drawn(seed, cls.count * MORE, cls.calls)):
            f = overload_support.tagged(overloads, number)
            call = cls.made(f)
            for arguments in map(cls.given, calls):
                situation = overload_support.situation(overloads, arguments)
                expected = cls.answer(overload_support.result_of(lambda: f(*arguments), cls.kind_of))
                found = overload_support.result_of(lambda: call(*arguments), cls.kind_of)
                if cls.is_refusal(found):
                    continue
                cls.compared[situation] += 1
                if not overload_support.agree(found, expected, overloads, arguments):
                    cls.different[situation].append("%s of %s: %r, not %r" % (
                        overloads, arguments, found, expected))
            typedcall.untag(f)

    @classmethod
    def prepare(cls):
        """Imports the library."""

    @staticmethod
    def given(arguments):
        return arguments

    @staticmethod
    def answer(result):
        return result

    @staticmethod
    def is_refusal(found):
        """Is it one that the pages tell of?"""
        return False

    def check(self, situation):
        wrong, count = self.different[situation], self.compared[situation]
        self.assertGreater(count, 0)
        self.assertEqual(len(wrong), 0, "%s, and %d of %d calls differ: %s" % (
            overload_support.SITUATIONS[situation], len(wrong), count, "; ".join(wrong[:3])))

    def test_one(self):
        self.check("one")

    def test_truth(self):
        self.check("truth")

    def test_first(self):
        self.check("first")

    def test_better(self):
        self.check("better")

    def test_room(self):
        self.check("room")

    def test_no_room(self):
        self.check("no_room")

    def test_none_suits(self):
        self.check("none_suits")


class OfSQL(Library):
    @classmethod
    def made(cls, f):
        importlib.import_module("typedcall.sql").register(cls.connection, f)
        places = ", ".join("?" * f.__code__.co_argcount)
        return lambda *arguments: cls.value("select %s(%s)" % (f.__name__, places), arguments)


class SQLite(OfSQL, unittest.TestCase):
    count = 300

    @classmethod
    def prepare(cls):
        cls.connection = adapter_support.library("apsw").Connection(":memory:")
        cls.addClassCleanup(cls.connection.close)

    @classmethod
    def value(cls, text, arguments):
        ((found,),) = cls.connection.execute(text, arguments)
        return found

    # SQLite has no bools.
    @staticmethod
    def given(arguments):
        return tuple(int(each) if type(each) is bool else each for each in arguments)

    @staticmethod
    def answer(result):
        return int(result) if type(result) is bool else result


class DuckDB(OfSQL, unittest.TestCase):
    count = 200

    @classmethod
    def prepare(cls):
        cls.duckdb = adapter_support.library("duckdb")
        cls.connection = cls.duckdb.connect(config={"allow_unsigned_extensions": "true"})
        cls.addClassCleanup(cls.connection.close)

    @classmethod
    def value(cls, text, arguments):
        ((found,),) = cls.connection.execute(text, arguments).fetchall()
        return found

    @staticmethod
    def kind_of(error):
        is_binding = type(error).__name__ == "BinderException"  # DuckDB's TypeError
        return "TypeError" if is_binding else overload_support.kind_by_text(error)


class TvmFfi(Library, unittest.TestCase):
    count = 800

    @classmethod
    def prepare(cls):
        adapter_support.library("tvm_ffi")

    @classmethod
    def made(cls, f):
        return importlib.import_module("typedcall.tvm_ffi").function(f)

    @staticmethod
    def kind_of(error):
        # tvm-ffi has no name for it.
        is_overflow = type(error) is RuntimeError and ("does not fit" in str(error) or "no overload" in str(error))
        return "OverflowError" if is_overflow else overload_support.kind_by_text(error)


class JAX(Library, unittest.TestCase):
    count = 60

    @classmethod
    def prepare(cls):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        jax = adapter_support.library("jax")
        if not hasattr(jax, "ffi"):
            raise unittest.SkipTest("jax.ffi came with JAX 0.5, this is %s" % jax.__version__)
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        cls.addClassCleanup(jax.config.update, "jax_enable_x64", before)

    @classmethod
    def made(cls, f):
        call = importlib.import_module("typedcall.jax").elementwise(f)
        return lambda *arguments: call(*arguments).item()


class NumPy(Library, unittest.TestCase):
    count = 500

    @classmethod
    def prepare(cls):
        adapter_support.library("numpy")

    @classmethod
    def made(cls, f):
        call = typedcall.ufunc(f)
        return lambda *arguments: call(*arguments).item()


class Numba(Library, unittest.TestCase):
    count, calls = 30, 4

    @classmethod
    def prepare(cls):
        cls.numba = adapter_support.library("numba")

    @classmethod
    def made(cls, f):
        return adapter_support.nopython_call(f, f.__code__.co_argcount)

    @classmethod
    def kind_of(cls, error):
        is_typing = isinstance(error, cls.numba.TypingError) and not cls.is_refusal(str(error))
        return "TypeError" if is_typing else overload_support.kind_by_text(error)

    @staticmethod
    def is_refusal(found):
        # Compiled code has one type of results.
        return isinstance(found, str) and "depends on the value of argument" in found


if __name__ == "__main__":
    unittest.main()
