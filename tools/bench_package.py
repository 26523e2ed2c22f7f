# Implements tools/bench_package once the Debian packages are installed.
import argparse
import os
import subprocess
import sys

import interpreters
import package_tests
from results import PASSED

ALL = ("application", "callbacks", "clusters_dask", "jax_elementwise", "numba_cache", "numba_fallback",
       "numba_loop", "numpy_gufunc", "numpy_ufunc", "pypy_loop", "scipy_quad", "sql_duckdb", "sql_sqlite",
       "tvm_ffi_calls")


def environment(interpreter, **options):
    """Returns the Python of an environment in which this checkout is installed, or None. `options` are passed to
    package_tests.environment_of()."""
    folder, reason = package_tests.environment_of(interpreter, **options)
    if folder is None:
        print(f"{interpreter.label}: {reason}")
        return None
    python = os.path.join(folder, "bin", "python")
    installed = package_tests.install_package(python)
    if installed.outcome != PASSED:
        print(f"{interpreter.label}: {installed.message}")
        return None
    return python


def read_arguments():
    """Returns the names, and the arguments for each benchmark, which follow `--`."""
    given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(
        prog="tools/bench_package", usage="%(prog)s [-h] [NAME]... [-- ARGUMENTS OF EACH]",
        description="Runs the Python package's benchmarks. Exit status 1: a target was missed.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of: " + ", ".join(ALL))
    names = parser.parse_args(given[:at]).names
    unknown = [name for name in names if name not in ALL]
    if unknown:
        parser.error("no benchmark '{}'; there are: {}".format(unknown[0], " ".join(ALL)))
    return names or ALL, given[at + 1:]


def main():
    names, arguments = read_arguments()
    found = interpreters.find()
    usual = next(i for i in found if not i.reason and i.ordinary)
    cpython = environment(usual)
    if cpython is None:
        sys.exit(f"the package could not be installed for {usual.label}")
    pypy = next((i for i in found if i.info["implementation"] == "PyPy" and i.runs_package), None)
    pypy_python = environment(pypy, libraries=()) if pypy is not None else None
    status = 0
    for name in names:
        command = [cpython, f"bench/{name}.py"]
        if name == "application":
            command = [cpython, "bench/application/run.py", "--pypy", pypy_python or ""]
        elif name == "pypy_loop":
            if pypy_python is None:
                print("== pypy_loop: not run: there is no PyPy with headers")
                continue
            command += ["--pypy", pypy_python, "--cpython", usual.executable]
        print(f"== {name}", flush=True)
        status |= subprocess.run(command + arguments, check=False).returncode != 0
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
