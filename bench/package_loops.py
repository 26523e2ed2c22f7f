"""Runs one loop of calls to the package. bench/figures/instructions.py counts the instructions.
Usage: python bench/package_loops.py LOOP COUNT, with the module built from adapter_callees.cc on
PYTHONPATH"""

import sys
from itertools import repeat

import adapter_callees

LENGTH = 1000


def from_python(f):
    def loop(count):
        for _ in repeat(None, count):
            f(1.5)

    return loop


def typed_function():
    import typedcall

    return from_python(typedcall.resolve(adapter_callees.absolute, "d->d"))


def tvm_ffi():
    from typedcall.tvm_ffi import function

    return from_python(function(adapter_callees.absolute))


def ufunc():
    import numpy
    import typedcall

    f, x = typedcall.ufunc(adapter_callees.curve), numpy.linspace(0, 1, LENGTH)
    out = numpy.empty_like(x)

    def loop(count):
        for _ in repeat(None, count // LENGTH):
            f(x, out)

    return loop


def sqlite(expression="typed(x)"):
    import apsw
    from typedcall import sql

    connection = apsw.Connection(":memory:")
    connection.execute("create table t(x real)")
    connection.execute("with recursive s(i) as (select 1 union all select i + 1 from s where i < %d)"
                       " insert into t select 0.5 - i %% 2 * i from s" % LENGTH)
    sql.register(connection, adapter_callees.absolute, name="typed")
    query = "select sum(%s) from t" % expression

    def loop(count):
        for _ in repeat(None, count // LENGTH):
            list(connection.execute(query))

    return loop


def sqlite_scan():
    return sqlite("x")


if __name__ == "__main__":
    globals()[sys.argv[1]]()(int(sys.argv[2]))
