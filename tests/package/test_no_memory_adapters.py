"""Tests typedcall.sql, typedcall.tvm_ffi and typedcall.jax while memory allocation fails. See test_no_memory.py."""

import importlib
import importlib.util
import pkgutil
import textwrap
import unittest

import support
import test_no_memory
import typedcall
from test_no_memory import MAKES_FUNCTIONS, NO_FUNCTIONS_MADE, source_of

# These packages are not adapters.
OTHERS = {"cli", "pypy", "sources"}
# The tests of each public function of an adapter.
SWEPT = {
    "typedcall.jax.elementwise": ("test_jax",),
    "typedcall.sql.register": ("test_apsw", "test_duckdb", "test_sqlite3"),
    "typedcall.tvm_ffi.function": ("test_tvm_ffi_function",),
    "typedcall.tvm_ffi.typed_function": ("test_tvm_ffi_source",),
}

# Some engines crash without memory. Here allocation fails only while the typed function runs: the Python function
# starts the failures, and a destructor ends them.
WITHIN = """
import math, sys
sys.path.insert(0, %r)
first, stop = 0, 1

class Text(str):
    __del__ = again

class Raised(ValueError):
    __del__ = again
    def __str__(self):
        refuse(first, stop)
        return "why"

class Raising:
    def __call__(self, x):
        raise Raised

class Giving:
    def __call__(self, x):
        result = Text(40 * "\\u00e4")
        refuse(first, stop)
        return result

class Short:  # the next allocation fails
    def __call__(self, x):
        refuse(0, 1)
        return "x"

def steps():
    # Which allocations fail, and whether the later ones do, too.
    global first, stop
    for first in range(12):
        for stop in (first + 1, 0):
            yield

def says(raising):
    # Checks the engine's messages, with and without memory for an exception's text.
    said = set()
    for _ in steps():
        try:
            raising()
        except Exception as error:
            said.update(text for text in ("Raised: why", "an exception, and no memory for its text")
                        if text in str(error))
        else:
            raise AssertionError
    assert len(said) == 2, said

def gives(giving, short):
    # The call returns the result, or there is no memory for it.
    found = set()
    for _ in steps():
        try:
            assert giving() == 40 * "\\u00e4"
            found.add("result")
        except Exception as error:
            assert re.search("(?i)nomem|memory", repr(error)), repr(error)
            found.add("error")
    assert len(found) == 2, found
    # In the second of two calls there is no memory for the argument.
    try:
        short()
    except Exception as error:
        assert re.search("(?i)nomem|memory", repr(error)), repr(error)
    else:
        raise AssertionError

def tagged(callable, name, signature="d->d"):
    typedcall.tag(callable, signature, address)
    callable.__name__ = name
    return callable
""" % str(support.MODULES.parent)


class WithoutMemory(unittest.TestCase):
    def run_sweep(self, code, library):
        if importlib.util.find_spec(library) is None:
            self.skipTest(library + " is not installed")
        # Import the library before allocation fails.
        code = "import %s\n" % library + WITHIN + textwrap.dedent(code)
        test_no_memory.WithoutMemory.run_sweep(self, code)

    def test_every_public_function_is_swept(self):
        names = set()
        for module in pkgutil.iter_modules(typedcall.__path__):
            if module.ispkg and module.name not in OTHERS:
                adapter = importlib.import_module("typedcall." + module.name)
                names.update("%s.%s" % (adapter.__name__, name) for name in getattr(adapter, "__all__", ()))
        self.assertEqual(names, set(SWEPT))
        for name, tests in SWEPT.items():
            for test in tests:
                self.assertIn(name.rpartition(".")[2] + "(", source_of(self, test))

    # After a failure, either the old or the new function must be registered.
    SQLITE = """
    from typedcall import sql
    from typedcall.sinks.sql import _sqlite, to_sqlite

    connection = {module}.Connection(":memory:")
    connection.enable_load_extension(False)  # Debian's SQLite allows it from the start
    one = tagged(Callable(), "one")
    sql.register(connection, one)

    def check():
        assert list(connection.execute("select one(0.5), one('x')")) == [(math.erf(0.5), "x")]
        try:
            connection.load_extension(_sqlite.__file__)
        except Exception as error:  # loading another extension is forbidden
            assert "not authorized" in str(error), error
        else:
            raise AssertionError

    def without(call):
        try:
            return call()
        except {module}.Error as error:
            if str(error):
                raise
            raise MemoryError from None  # there was no memory for its text

    if not {makes_functions}:
        sweep(lambda: without(lambda: sql.register(connection, one)), after=check)
        sweep(lambda: sql.register(connection, tagged(Callable(), "y", "P->P")), errors=TypeError)
    kept, groups = (one,), ((1, False, (("d->d", 0, address),)),)
    load = type("Load", (), dict(__call__=lambda self: to_sqlite._load(connection, _sqlite.__file__)))()
    _sqlite.install(load, "one", one, kept, groups)
    gc.collect()
    before = sys.getrefcount(one)
    install = lambda: _sqlite.install(load, "one", one, kept, groups)
    sweep(lambda: without(install), after=check)  # this makes no functions
    wrong = groups + ((2, False, (("xd->d", 0, address),)),)
    sweep(lambda: _sqlite.install(load, "one", one, kept, wrong), after=check, errors=ValueError)
    gc.collect()
    # From 3.15 on, attaching a thread needs memory: objects that SQLite releases without it stay.
    assert sys.version_info >= (3, 15) or sys.getrefcount(one) == before, (sys.getrefcount(one), before)

    for f, name in ((Raising(), "raising"), (Giving(), "giving"), (Short(), "short")):
        sql.register(connection, tagged(f, name))
    cursor = connection.cursor()
    value = lambda text: cursor.execute("select " + text).fetchall()[0][0]
    says(lambda: value("raising('x')"))
    gives(lambda: value("giving('x')"), lambda: value("short('a text') || short('a second text')"))
    """

    def test_apsw(self):
        """Tests register() and calls without errors. APSW crashes if it has no memory to raise an exception."""
        code = self.SQLITE.format(module="apsw", makes_functions=MAKES_FUNCTIONS)
        self.run_sweep(textwrap.dedent(code) + textwrap.dedent("""
        def right(cursor):
            assert cursor.fetchall() == [(math.erf(0.5),)]
        text = "select one(0.5)"
        if sys.version_info < (3, 15):  # from 3.15 on, attaching a thread needs memory
            sweep(lambda: cursor.execute(text), right)
        """), "apsw")

    @support.only_if(support.SQLITE3_LOADS)
    def test_sqlite3(self):
        """Tests register() and calls, including errors."""
        code = self.SQLITE.format(module="sqlite3", makes_functions=MAKES_FUNCTIONS)
        self.run_sweep(textwrap.dedent(code) + textwrap.dedent("""
        class Failing:
            def __call__(self, x):
                raise KeyError("a text that is not short")
        sql.register(connection, tagged(Failing(), "failing"))
        long = "a text that is not short"
        for text, result in (("one(0.5)", math.erf(0.5)), ("one('%s')" % long, long), ("one(x'00')", b"\\0"),
                             ("one(NULL)", None), ("failing('x')", "KeyError")):
            text = "select " + text
            def right(cursor):
                assert cursor.fetchall() == [(result,)]
            def call():
                try:
                    return cursor.execute(text)
                except sqlite3.OperationalError as error:
                    if "KeyError: 'a text" in error.args[0]:
                        raise
                    raise MemoryError from None  # there was no memory for its text
            sweep(call, right, errors=sqlite3.OperationalError)
        """), "sqlite3")

    def test_duckdb(self):
        """Tests register() and calls. Memory is restored before DuckDB's execute(), because without memory
        DuckDB ends the process."""
        self.run_sweep("""
        if tuple(map(int, duckdb.__version__.split(".")[:2])) < (1, 5):
            sys.exit()  # it does not let a function replace another
        from typedcall import sql
        from typedcall.calling.choose import offered, usable, valueless
        from typedcall.sinks.sql import to_duckdb

        config = {"allow_unsigned_extensions": "true", "threads": "1"}
        connection = duckdb.connect(config=config)
        one = tagged(Callable(), "one")
        sql.register(connection, one)
        _duckdb = to_duckdb._extension(None)
        path = _duckdb.__file__
        true = ("true",)

        def check():
            assert connection.execute("select one(0.5), one(NULL)").fetchone() == (math.erf(0.5), None)

        class Cursor:  # DuckDB's cursor, with memory restored before each call
            def cursor(self): return self
            def __enter__(self): return self
            def __exit__(self, *why): pass
            def execute(self, text):
                if text.startswith("load"):
                    again()
                    connection.execute(text)
                return self
            def fetchone(self): return true

        cursor, row = Cursor(), ("d->d", 0, address)
        groups, wrong = ((1, False, (row,)),), ((2, False, (row,)),)
        if not %s:
            # CPython 3.11 hangs if an exception leaves a `with` block and there is no memory at all.
            sweep(lambda: to_duckdb.register(cursor, "one", one, one, groups), after=check, onwards=False)
            sweep(lambda: usable(one, "SQL", lambda entry: valueless(entry, "SQL"), offered(one)))
        load = type("Load", (), dict(__call__=lambda self: cursor.execute("load '" + path + "'")))()
        _duckdb.install(load, "one", one, one, groups)
        gc.collect()
        before = sys.getrefcount(one)
        sweep(lambda: _duckdb.install(load, "one", one, one, groups), after=check)
        sweep(lambda: _duckdb.install(load, "one", one, one, groups + wrong), after=check, errors=ValueError)
        gc.collect()
        assert sys.getrefcount(one) == before, (sys.getrefcount(one), before)

        # If the text has a NUL, the Python function is called.
        for f, name in ((Raising(), "raising"), (Giving(), "giving"), (Short(), "short")):
            sql.register(connection, tagged(f, name, "s->s"))
        value = lambda text: connection.execute("select " + text).fetchall()[0][0]
        says(lambda: value("raising(chr(0))"))
        gives(lambda: value("giving(chr(0))"), lambda: value("short(chr(0) || i) from range(2) t(i)"))
        """ % MAKES_FUNCTIONS, "duckdb")

    @NO_FUNCTIONS_MADE  # choosing an entry uses generators
    def test_tvm_ffi_function(self):
        """Tests function() and calls. Does not pass a text to a Python function, because tvm-ffi would corrupt the
        heap."""
        self.run_sweep("""
        from typedcall.tvm_ffi import function
        functions = __import__("support").build("typed_functions")
        one = tagged(Callable(), "one")

        made, same = map(function, (one, functions.same_text))
        assert made(0.5) == math.erf(0.5) and made("x") == "x"
        sweep(lambda: function(len), errors=TypeError)
        sweep(lambda: made(None) is None)
        sweep(lambda: made(True), lambda result: 1 / (result == math.erf(1.0)))
        sweep(lambda: same("a text that is not short"), lambda result: 1 / (len(result) == 24))
        """, "tvm_ffi")

    @NO_FUNCTIONS_MADE  # reading a signature uses generators
    def test_tvm_ffi_source(self):
        self.run_sweep("""
        from typedcall.tvm_ffi import typed_function
        free = typedcall.Flags.PURE | typedcall.Flags.THREAD_SAFE

        def f(x):
            if x == 13:
                raise ValueError("thirteen")
            return x + 1

        f = tvm_ffi.convert(f)

        def without(call):
            # tvm-ffi may lack memory for a Python function's error, or for its text; it reports the error of CPython's
            # loop that sweep() knows as a RuntimeError.
            try:
                return call()
            except (RuntimeError, SystemError) as error:
                if not re.search("NULL without setting an exc|failed without setting an exc", str(error)):
                    raise
                raise MemoryError from None

        def right(made):
            for signature in typedcall.signatures(made):
                assert typedcall.resolve(made, signature)(41) == 42

        for made in ("testing.add_one", f):
            for flags in (0, free):
                right(typed_function(made, "q->q", flags=flags))
                sweep(lambda: typed_function(made, "q->q", flags=flags), right)
        sweep(lambda: typed_function(f, "d->"), errors=ValueError)
        sweep(lambda: typed_function(len, "d->d"), errors=TypeError)
        text = typedcall.resolve(typed_function(tvm_ffi.convert(len), "*s->q"), "*s->q")
        sweep(lambda: without(lambda: text("a text that is not short")), lambda result: 1 / (result == 24))
        made = typed_function(f, "q->q", flags=free)
        for signature in typedcall.signatures(made):
            called = typedcall.resolve(made, signature)
            sweep(lambda: without(lambda: called(41)), lambda result: 1 / (result == 42))
            # tvm-ffi crashes after the first one, even if only g(13) is called for its own function g.
            sweep(lambda: without(lambda: called(13)), errors=ValueError, until=ValueError)
        """, "tvm_ffi")

    @NO_FUNCTIONS_MADE  # choosing an entry uses generators
    def test_jax(self):
        """Tests elementwise(), and an exception in a call."""
        self.run_sweep("""
        import os
        os.environ["JAX_PLATFORMS"] = "cpu"
        from typedcall.sinks import jax as package
        from typedcall.jax import elementwise

        one, other = tagged(Callable(), "one"), tagged(Callable(), "other", "P->P")

        def right(made):
            assert abs(float(made(0.5)) - math.erf(0.5)) < 1e-6

        def forget():
            package._known.pop(id(one), None)

        right(elementwise(one, pure=True))
        right(elementwise(one, pure=True))
        sweep(lambda: elementwise(one, pure=True), right)  # already registered
        forget()
        sweep(lambda: elementwise(one, pure=True), right, after=forget)
        sweep(lambda: elementwise(one), errors=TypeError)
        sweep(lambda: elementwise(other), errors=TypeError)
        _jax, row = package._extension(), ("d->d", 0, address)
        sweep(lambda: _jax.add("name", (row,), 0, one, one))
        sweep(lambda: _jax.add("name", (("x", 0, address),), 0, one, one), errors=ValueError)
        sweep(_jax.target)

        root = __import__("support").build("fallback_functions").root
        (entry,) = typedcall.entries(root)
        raising = Raising()
        typedcall.tag(raising, entry.signature, entry.address, flags=entry.flags)
        call = jax.jit(elementwise(raising, pure=True))
        says(lambda: call(-1.0).block_until_ready())
        """, "jax")
