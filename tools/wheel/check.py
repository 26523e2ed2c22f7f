# Checks an installed wheel, also with the libraries that are named as arguments.
import ctypes
import importlib
import math
import platform
import shutil
import subprocess
import sys


def check(condition, what):
    if not condition:
        sys.exit(f"{what}: wrong")


def asked(library, cosine):
    """Returns the typed function's result in a database of the given library."""
    from typedcall import sql

    if library == "apsw":
        import apsw

        connection = apsw.Connection(":memory:")
    else:
        import duckdb

        connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    sql.register(connection, cosine, name="cosine")
    return connection.execute("select cosine(cast(0.5 as double))").fetchall()


def main(libraries):
    check(not any(map(shutil.which, ("cc", "gcc", "g++", "clang"))), "a compiler is in the way")
    import typedcall

    cosine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(("cos", ctypes.CDLL("libm.so.6")))
    check([entry.signature for entry in typedcall.entries(cosine)] == ["d->d"], "entries")
    done = ["import", "entries"]
    if platform.python_implementation() == "CPython":
        check(typedcall.resolve(cosine, "d->d")(0.5) == math.cos(0.5), "a typed call")
        with open("/proc/self/maps", encoding="utf-8") as maps:
            mapped = {line.split()[-1] for line in maps if "libffi" in line}
        check(any("typedcall.libs" in path for path in mapped), "the wheel's own libffi")
        with typedcall.callback(cosine, "double (*)(double, void *)") as called:
            shape = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)
            check(shape(called.address)(0.5, called.data) == math.cos(0.5), "a callback")
        done.append("a typed call, the wheel's own libffi, a callback")
    doctor = subprocess.run([sys.executable, "-m", "typedcall", "doctor"], stdout=subprocess.PIPE,
                            text=True, check=False).stdout
    check("tag, resolve and call work" in doctor or "a ctypes function is read" in doctor,
          "the command line")
    done.append("the command line")
    for library in libraries:
        try:
            importlib.import_module(library)
        except ImportError:
            done.append(f"no {library}")
            continue
        if library == "numpy":
            import numpy

            values = numpy.linspace(0, 1, 100)
            check((typedcall.ufunc(cosine)(values) == [math.cos(x) for x in values]).all(), "ufunc")
        elif library == "numba":
            import numba

            check(numba.njit(lambda x: cosine(x) + 1)(0.5) == math.cos(0.5) + 1, "nopython code")
        elif library in ("apsw", "duckdb"):
            check(asked(library, cosine) == [(math.cos(0.5),)], "a function of SQL")
        done.append(library)
    print(f"  {platform.python_implementation()} {platform.python_version()}: {', '.join(done)}")


main(sys.argv[1:])
