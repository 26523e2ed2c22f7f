# Implements tools/address_sanitizer, which is also part of tools/test --full.
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

import commands
import interpreters
import package_tests
from results import FAILED, PASSED, UNAVAILABLE, Case

# The longest tests come first. Numba's tests are omitted, because the sanitizers do not see the code that Numba
# compiles.
NAMES = ("jax*", "callback*", "tvm_ffi*", "sql*", "numpy*", "lifetimes", "adapters_interpreters", "no_memory*",
         "buffers", "clusters_calls", "foreign_objects", "api*", "lists")
# Each module has its own libubsan, because the shared library mistakes libasan's functions for its own, and then writes
# no file.
FLAGS = ("-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -static-libubsan "
         "-Wl,--exclude-libs,libubsan.a -fno-omit-frame-pointer -g1 -D_GLIBCXX_ASSERTIONS -D_GLIBCXX_SANITIZE_VECTOR")
# With these options an error aborts the process.
OPTIONS = {
    "UBSAN_OPTIONS": {"abort_on_error": 1, "print_stacktrace": 1},
    "ASAN_OPTIONS": {
        "abort_on_error": 1,
        "detect_stack_use_after_return": 1,
        # Some tests request more memory than there is, and expect an error.
        "allocator_may_return_null": 1,
        # CPython and libraries do not free all memory at exit, so own_leaks() finds the owner of each leak.
        "exitcode": 0,
        # Without this setting, GCC 12's leak checker sometimes crashes when a process ends ("Tracer caught signal 11").
        "intercept_tls_get_addr": 0,
    },
}
# Functions whose memory is deliberately never freed: interfaces, and objects that modules create when they are
# executed.
KEPT = ("PyTC_NewCapsule", "PyModule_ExecDef")
PLANTED = """
#include <stdlib.h>
long use_of_freed(long x) { long *volatile at = malloc(8); *at = x; free(at); return *at; }
long overflow(long x) { return x + __LONG_MAX__; }
long leak(long x) { for (void *volatile at; x < 9; ++x) at = malloc(8); return x; }
"""
# Code that allocates memory for its callers.
RUNTIME = re.compile(r"lib(sanitizer|asan|stdc\+\+)|/include/c\+\+/")


def make_environment(interpreter, libraries, folder):
    """Makes a virtual environment for the tests, and returns its Python. Leaks in processes that a test starts are
    ignored, because most of them are killed."""
    return package_tests.make_environment(
        interpreter, libraries, folder,
        "import os; os.environ['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'")


def own_leaks(report, folders):
    """Yields the parts of a leak report about unreachable memory that code in these folders itself
    allocated."""
    for part in report.split("\n\n"):
        lines = part.strip().splitlines()
        frames = [line for line in lines[1:] if not RUNTIME.search(line)]
        if (lines and lines[0].startswith("Direct leak") and frames
                and any(" " + folder in frames[0] or "(" + folder in frames[0] for folder in folders)
                and not any(name in part for name in KEPT)):
            yield part


def take_reports(folder, folders):
    """Returns the reports since the last call, with leaks filtered by own_leaks()."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "report*"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            report = file.read()
        os.unlink(path)
        is_of_leaks = "LeakSanitizer: detected memory leaks" in report
        found += own_leaks(report, folders) if is_of_leaks else [report]
    return found


def find_planted(python, folder, folders, environment):
    """Returns a case for each fault in PLANTED. Each fault must be reported once, with its function."""
    source, library = os.path.join(folder, "planted.c"), os.path.join(folder, "planted.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PLANTED)
    subprocess.run([*shlex.split(environment["CC"]), "-shared", "-fPIC", source, "-o", library], check=True)
    for name in re.findall(r"long (\w+)\(", PLANTED):
        commands.run(python, "-c", f"import ctypes; ctypes.CDLL({library!r}).{name}(1)",
                          env={**os.environ, **environment})
        found = take_reports(folder, folders)
        is_found = [f" in {name} " in each for each in found] == [True]
        yield Case(f"package: a planted {name}", PASSED if is_found else FAILED, "\n".join(found))


def cases_of(interpreter, names=NAMES):
    """Runs the named test files under the sanitizers, and returns their cases."""
    files = {name: sorted(glob.glob(f"{package_tests.TESTS}/test_{name}.py")) for name in names}
    if not all(files.values()):
        return [Case("package:test_" + name, FAILED, "no such file") for name in names if not files[name]]
    preload = [subprocess.run(["gcc", "-print-file-name=" + name], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.strip() for name in ("libasan.so", "libstdc++.so.6")]
    if not all(map(os.path.isabs, preload)):
        return [Case("package", UNAVAILABLE, "GCC has no libasan")]
    libraries, reason = package_tests.environment_of(interpreter)
    if libraries is None:
        return [Case("package", UNAVAILABLE, reason)]
    cases = []
    with tempfile.TemporaryDirectory(prefix="typedcall-") as scratch:
        own = os.getcwd() + os.sep, scratch + os.sep
        python = make_environment(interpreter, libraries, os.path.join(scratch, "venv"))
        cases.append(package_tests.install_package(
            python, "--config-settings=cmake.build-type=Debug",
            # Object files of another checkout cannot be used, because the path in a report decides which code owns a
            # leak.
            environment={"CC": "gcc " + FLAGS, "CXX": "g++ " + FLAGS, "CCACHE_DISABLE": "1"}))
        if cases[-1].outcome != PASSED:
            return cases
        # Reports go to files, because tests read the output of processes.
        log = {"log_path": os.path.join(scratch, "report")}
        environment = {
            # The compiler itself is not under test.
            "CC": "env -u LD_PRELOAD gcc " + FLAGS,
            "CXX": "env -u LD_PRELOAD g++ " + FLAGS,
            "LD_PRELOAD": " ".join(preload),
            # CPython's own allocator would hide small blocks.
            "PYTHONMALLOC": "malloc",
            # Modules that tests share must be compiled again, with other flags.
            "TMPDIR": scratch,
            **{name: ":".join(f"{option}={value}" for option, value in {**options, **log}.items())
               for name, options in OPTIONS.items()},
        }
        cases += find_planted(python, scratch, own, environment)
        for found in commands.pool.map(lambda path: package_tests.run_file(
                interpreter, python, path, environment=environment), sum(files.values(), [])):
            cases += found
        reports = take_reports(scratch, own)
    cases.append(Case("package: reports", FAILED if reports else PASSED, f"{len(reports)}" if reports else "",
                      "\n".join(reports), is_final=True))
    return cases


def main():
    usual = next(i for i in interpreters.find() if not i.reason and i.ordinary)
    cases = cases_of(usual, sys.argv[1:] or NAMES)
    for case in cases:
        print(case.outcome, case.name, case.message)
        if case.outcome == FAILED:
            print(case.log)
    outcomes = {case.outcome for case in cases}
    return 1 if FAILED in outcomes else 0 if PASSED in outcomes else 77


if __name__ == "__main__":
    sys.exit(main())
