"""Compares a typed function in SQLite with SQLite's own abs() and a Python function. Usage: python bench/sql_sqlite.py
[--rounds N]"""

import importlib
import sys

import build_module
import interleaved
from typedcall import sql

callees = build_module.load("adapter_callees.cc")
ROWS = 200_000


def engines():
    """Returns (name, connection, function that registers a Python function) for each engine that can load
    extensions."""
    try:
        apsw = importlib.import_module("apsw")
        connection = apsw.Connection(":memory:")
        yield "APSW", connection, connection.create_scalar_function
    except ImportError:
        interleaved.skip("APSW", "it is not installed")
    sqlite3 = importlib.import_module("sqlite3")
    if hasattr(sqlite3.Connection, "load_extension"):
        connection = sqlite3.connect(":memory:")
        yield "sqlite3", connection, lambda name, f, count: connection.create_function(name, count, f)
    else:
        interleaved.skip("sqlite3", "this Python's was built without loadable extensions")


def compare(name, connection, create, rounds):
    print("\n%s, SQLite %s" % (name, *next(iter(connection.execute("select sqlite_version()")))))
    connection.execute("create table t(x real)")
    connection.execute(
        "with recursive s(i) as (select 0 union all select i + 1 from s where i < %d - 1)"
        " insert into t select 0.5 - i %% 2 * i from s" % ROWS
    )
    sql.register(connection, callees.absolute, name="typed")
    sql.register(connection, callees.absolute_with_gil, name="typed_with_gil")
    create("python", lambda x: abs(x), 1)
    create("boxed", callees.absolute, 1)

    def query(expression):
        text = "select sum(%s) from t" % expression
        return lambda: list(connection.execute(text))

    contestants = {
        "scan alone": query("x"),
        "abs(x), built in": query("abs(x)"),
        "typed": query("typed(x)"),
        "typed, for which the GIL is taken": query("typed_with_gil(x)"),
        "the same, boxed": query("boxed(x)"),
        "Python function": query("python(x)"),
    }
    results = {name: run() for name, run in contestants.items() if name != "scan alone"}
    if len({tuple(rows[0]) for rows in results.values()}) != 1:
        raise SystemExit("the sums differ")
    taken = interleaved.measure(contestants, rounds)
    held = interleaved.report(
        taken,
        ROWS,
        [
            ("typed", "abs(x), built in", 1.5, "most"),
            ("Python function", "typed", 2.5, "least"),
        ],
        name,
    )
    less = {
        each: [whole - scan for whole, scan in zip(times, taken["scan alone"])]
        for each, times in taken.items()
        if each != "scan alone"
    }
    for other in ("abs(x), built in", "the same, boxed", "Python function"):
        print("less the scan, %s / typed: %.2f (quartiles %.2f to %.2f)"
              % (other, *interleaved.ratio(less, other, "typed")))
    return held


def main():
    rounds = interleaved.rounds(__doc__, 51)
    held = [compare(*engine, rounds) for engine in engines()]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
