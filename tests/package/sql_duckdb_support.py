"""What the tests of typedcall.sql on DuckDB share: a connection, and native functions."""

import adapter_support
import support
import typedcall

duckdb = adapter_support.library("duckdb")
from typedcall import sql  # noqa: E402

functions = support.build("typed_functions")
buffers = support.build("buffer_provider")
fallbacks = support.build("fallback_functions")
ALLOWED = {"allow_unsigned_extensions": "true"}


def tagged(case, f, signature="d->d", of=functions.half, flags=None):
    """A Python function behind the native one of another: its own results show who was called."""
    entry = next(each for each in typedcall.entries(of) if each.signature == signature)
    typedcall.tag(f, signature, entry.address, flags=entry.flags if flags is None else flags)
    case.addCleanup(typedcall.untag, f)
    return f


class Connection:
    """A test on a connection to a database of its own."""

    def setUp(self):
        self.connection = self.connect()
        self.addCleanup(self.connection.close)

    def connect(self, database=":memory:", **config):
        return duckdb.connect(database, config={**ALLOWED, **config})

    def register(self, f, **options):
        sql.register(self.connection, f, **options)

    def query(self, text, *values):
        return self.connection.execute(text, values).fetchall()

    def value(self, text, *values):
        ((found,),) = self.query("select " + text, *values)
        return found

    def refuses(self, message, text, *values):
        with self.assertRaisesRegex(duckdb.Error, message):
            self.value(text, *values)

    def falling_back(self, f, flags=None):
        """A function of a double that gives what the Python function `f` does for a negative one."""
        return tagged(self, f, "d&d->i", fallbacks.root, flags)
