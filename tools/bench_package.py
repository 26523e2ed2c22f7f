# What tools/bench_package does once the Debian packages are there: virtual environments for CPython
# and PyPy with the package in them, then the benchmarks.
import os
import subprocess
import sys

import interpreters
import package_tests
from results import FAILED

ALL = ("application", "numba_loop", "numpy_ufunc", "pypy_loop", "scipy_quad")


def environment(interpreter, with_libraries):
    """The Python of an environment in which this checkout is installed."""
    folder, missing = package_tests.environment_of(interpreter, with_libraries)
    for case in missing:
        print("%s: %s" % (case.name, case.message))
    if folder is None:
        return None
    python = os.path.join(folder, "bin", "python")
    installed = package_tests.install_package(python)
    if installed.outcome == FAILED:
        sys.exit(installed.message)
    return python


def main():
    names, _, arguments = " ".join(sys.argv[1:]).partition("--")
    names = names.split() or list(ALL)
    for name in names:
        if name not in ALL:
            sys.exit("tools/bench_package: no benchmark '%s'; there are: %s" % (
                name, " ".join(ALL)))
    found = interpreters.find()
    usual = next(i for i in found if not i.reason and i.ordinary)
    cpython = environment(usual, True)
    pypy = next((i for i in found if i.info["implementation"] == "PyPy" and i.runs_package), None)
    pypy_python = environment(pypy, False) if pypy is not None else None
    for name in names:
        command = [cpython, "bench/%s.py" % name]
        if name == "application":
            command = [cpython, "bench/application/run.py", "--pypy", pypy_python or ""]
        elif name == "pypy_loop":
            if pypy_python is None:
                print("== pypy_loop: not run, there is no PyPy with headers")
                continue
            command += ["--pypy", pypy_python, "--cpython", usual.executable]
        print("== %s" % name, flush=True)
        subprocess.run(command + arguments.split(), check=False)


if __name__ == "__main__":
    main()
