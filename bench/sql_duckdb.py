"""Compares a typed function in DuckDB with DuckDB's own abs(), a Python function and a function over Arrow arrays.
Usage: python bench/sql_duckdb.py [--rounds N]"""

import sys

import build_module
import duckdb
import interleaved
from typedcall import sql

try:
    import pyarrow.compute as arrow_compute
except ImportError:
    arrow_compute = None

callees = build_module.load("adapter_callees.cc")
ROWS = 2_000_000
FEW = 100_000  # rows for slow functions


def main():
    rounds = interleaved.rounds(__doc__, 31)
    # Processor time counts all threads.
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": 1})
    print("DuckDB %s, %d rows" % (duckdb.__version__, ROWS))
    for table, rows in (("t", ROWS), ("few", FEW)):
        connection.execute(
            "create table %s as select if(i %% 2 = 0, 0.5 - i, i - 0.5)::double as x,"
            " if(i %% 10 = 0, null, x) as with_null, 'row ' || i as s from range(%d) r(i)" % (table, rows)
        )
    for name in ("absolute", "absolute_with_gil", "checked_part"):
        sql.register(connection, getattr(callees, name))
    double = ["DOUBLE"]
    connection.create_function("python", lambda x: abs(x), double, double[0])
    connection.create_function("boxed", callees.absolute, double, double[0])
    fast = ["abs", "absolute", "absolute_with_gil"]
    if arrow_compute is None:
        interleaved.skip("Arrow function", "pyarrow is not installed")
    else:
        fast.append("arrow")
        connection.create_function("arrow", lambda x: arrow_compute.abs(x), double, double[0], type="arrow")

    def query(expression, table="t"):
        text = "select sum(%s) from %s" % (expression, table)
        repeats = ROWS // FEW if table == "few" else 1
        return text, lambda: connection.execute(text).fetchall(), repeats

    contestants = {
        "scan alone": query("x"),
        "abs(x), built in": query("abs(x)"),
        "typed": query("absolute(x)"),
        "typed, for which the GIL is taken": query("absolute_with_gil(x)"),
        "abs, a tenth is NULL": query("abs(with_null)"),
        "typed, a tenth is NULL": query("absolute(with_null)"),
        "typed that falls back nowhere": query("checked_part(abs(x))"),
        "the same, boxed": query("boxed(x)", "few"),
        "Python function": query("python(x)", "few"),
    }
    comparisons = [
        ("typed", "abs(x), built in", 2, "most"),
        ("typed, for which the GIL is taken", "abs(x), built in", 2, "most"),
        ("typed, a tenth is NULL", "abs, a tenth is NULL", 2, "most"),
        ("Python function", "typed", 40, "least"),
    ]
    if arrow_compute is not None:
        contestants["Arrow function"] = query("arrow(x)")
        comparisons.append(("Arrow function", "typed", 1, "least"))
    for table, names in (("t", fast), ("few", [*fast, "boxed", "python"])):
        found = {connection.execute("select sum(%s(x)) from %s" % (name, table)).fetchone()
                 for name in names}
        if len(found) != 1:
            raise SystemExit("the sums differ: %s" % found)
    taken = interleaved.measure({name: run for name, (_, run, _) in contestants.items()}, rounds)
    for name, (_, _, repeats) in contestants.items():
        taken[name] = [seconds * repeats for seconds in taken[name]]
    held = interleaved.report(taken, ROWS, comparisons)
    less = {
        each: [whole - scan for whole, scan in zip(times, taken["scan alone"])]
        for each, times in taken.items()
        if each != "scan alone"
    }
    for other in ("abs(x), built in", "the same, boxed", "Python function", "Arrow function"):
        if other in less:
            print("less the scan, %s / typed: %.2f (quartiles %.2f to %.2f)"
                  % (other, *interleaved.ratio(less, other, "typed")))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
