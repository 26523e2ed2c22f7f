# The Python package as a user gets it: pip installs it into a virtual environment, beside the libraries
# that tools/pins names for the interpreter, and pytest runs the tests of tests/package there, each file in
# a process of its own.
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import tempfile
import threading
import time

import commands
import expected
import kept
import results
from commands import last_line, run
from results import FAILED, PASSED, UNAVAILABLE, Case

TESTS = "tests/package"
PINS = "tools/pins"
# Divides what every interpreter's tests need from the rest.
LIBRARIES = "# Libraries"
ALL = object()
NEWEST = [PINS + "/runner.in", PINS + "/libraries.in"]
# What takes longest and is about other programs: build systems, pip, mypy, the pages' code blocks, workers,
# libraries that call back, pictures, Rust; headers that are changed on purpose.
OTHER_PROGRAMS = {"test_build_systems", "test_callback_libraries", "test_clusters_dask", "test_conformance_mutations",
                  "test_examples_package", "test_examples_rust", "test_figures", "test_install", "test_pages", "test_typing"}
# Installs somebody's module from PyPI.
NEEDS_NETWORK = {"test_examples_tags_for_others"}
# For --full: attacks, too, random sets of overloads, a minute of Numba, the matrix of sinks in C++, and most of its
# processes.
SLOW = OTHER_PROGRAMS | NEEDS_NETWORK | {"test_conformance_numba", "test_matrix_full", "test_matrix_processes",
                                         "test_numba_cache", "test_numba_cache_stale", "test_matrix_random",
                                         "test_property_attack"}
# By a fixed seed but in --full.
RANDOM = {"test_c_text_random", "test_numpy_buffers", "test_matrix_random", "test_property_attack"}
# Begun first: at the end one of these would be waited for alone, ten seconds.
LONG = ["test_matrix_types", "test_verify", "test_verify_processes", "test_verify_buffers", "test_cython", "test_once", "test_cli"]
# Run again with CPython's JIT, where it is compiled in: those that need few libraries, or call most.
WITH_JIT = ["test_api", "test_api_calls", "test_ctypes", "test_cffi", "test_lifetimes", "test_numpy"]
# Seconds. Files compile modules, and Numba functions.
FILE_LIMIT = 900

# Of this run, and of no other.
RUN = f"{os.getpid()} {time.time_ns()}"
# By folder: what happens there once a run.
_made, _reasons, _installed = {}, {}, {}
_lock = threading.Lock()


def pins_of(interpreter):
    """The file that has the exact versions for an interpreter."""
    info = interpreter.info
    name = "{}-{}.{}{}".format(info["implementation"].lower(), *interpreter.version[:2],
                               "t" if info["gil_disabled"] else "")
    return os.path.join(PINS, name + ".txt")


def lines_of(path):
    """What a requirements file lists, without comments."""
    with open(path, encoding="utf-8") as file:
        lines = (line.partition("#")[0].strip() for line in file)
        return [line for line in lines if line]


def pip(python, *arguments, **options):
    return run(python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments, **options)


def _make(interpreter, folder, install):
    shutil.rmtree(folder, ignore_errors=True)
    status, output = run(interpreter.executable, "-m", "venv", folder)
    if status == 0:
        status, output = pip(os.path.join(folder, "bin", "python"), "install", "--only-binary", ":all:", *install)
    if status == 0:
        with open(os.path.join(folder, "complete"), "w", encoding="utf-8"):
            return None
    reason = next((line for line in output.splitlines() if line.startswith("ERROR: No matching")), last_line(output))
    shutil.rmtree(folder, ignore_errors=True)
    return reason + " (it needs venv, pip and a mirror of PyPI)"


def environment_of(interpreter, libraries=ALL, wanted=(), is_fresh=False):
    """(the folder of the interpreter's virtual environment in the cache, None), or (None, why there is
    none). It has what the interpreter's file of pins names, with these libraries; or what is `wanted`,
    in the newest versions if it `is_fresh`, less what has no wheel."""
    pins = pins_of(interpreter)
    if not os.path.exists(pins):
        return None, f"no {pins}: tools/update_pins makes it"
    with open(pins, encoding="utf-8") as file:
        text = file.read()
    runner, _, rest = text.partition(LIBRARIES)
    lines = runner.splitlines() + [line for line in rest.splitlines()
                                   if libraries is ALL or line.partition("==")[0] in libraries]
    install = ["--no-deps", *(line for line in lines if line and not line.startswith("#"))]
    if wanted:
        missing = re.findall("(?m)^# no wheel: (.*)$", text)
        install = [line for line in wanted if line not in missing]
    key = hashlib.sha256(f"{interpreter.state} {interpreter.executable} {install}".encode()).hexdigest()[:16]
    folder = os.path.join(kept.cache(), "venv", ("fresh-" if is_fresh else "") + key)
    with _lock:
        made = _made.setdefault(folder, threading.Lock())
    with made:
        # The newest versions of last time may not be those of today.
        is_there = os.path.exists(os.path.join(folder, "complete")) and not is_fresh
        if folder not in _reasons:
            _reasons[folder] = None if is_there else _make(interpreter, folder, install)
        if not _reasons[folder]:
            kept.is_used(folder)
    return (None, _reasons[folder]) if _reasons[folder] else (folder, None)


def make_editable(interpreter):
    """Makes .venv for a person: as environment_of(), with an editable installation of this checkout, which
    compiles what has changed when it is imported. Returns None, or why there is none."""
    with open(pins_of(interpreter), encoding="utf-8") as file:
        reason = _make(interpreter, ".venv", ["--no-deps", "-r", file.name])
    if reason:
        return reason
    status, output = pip(".venv/bin/python", "install", "--no-deps", "--no-index", "--no-build-isolation",
                         # Silent: tests read what a module prints.
                         "--config-settings=editable.rebuild=true", "--config-settings=editable.verbose=false",
                         "--config-settings=cmake.build-type=Debug", "--editable", ".")
    return output if status else None


def site_packages(folder):
    return glob.glob(os.path.join(folder, "lib*", "py*", "site-packages"))[0]


def with_ccache():
    """What has CMake keep in the cache what it compiles, for other checkouts, too; nothing without ccache."""
    if not shutil.which("ccache"):
        return {}
    return {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
            "CCACHE_DIR": os.path.join(kept.cache(), "ccache"), "CCACHE_BASEDIR": os.getcwd(), "CCACHE_NOHASHDIR": "1",
            "CCACHE_MAXSIZE": "500M"}


def install_package(python, *options, environment=()):
    """Installs the checkout with pip alone, which builds in a new folder; `options` are pip's."""
    os.makedirs(".build", exist_ok=True)
    # Within the checkout: from there its files have the same relative paths in each checkout.
    with tempfile.TemporaryDirectory(dir=".build") as folder:
        status, output = pip(python, "install", "--force-reinstall", "--no-deps", "--no-index",
                             "--no-build-isolation", "--config-settings=build-dir=" + folder, *options, ".",
                             env={**os.environ, **with_ccache(), **dict(environment)})
    return Case("pip install .", FAILED if status else PASSED, last_line(output) if status else "",
                output, is_final=True)


def run_file(interpreter, python, path, marks="", jit=False, only="", environment=()):
    """The cases of one test file, which is run in a folder of its own; `marks` is an expression of
    pytest's, `only` the rest of a node's name."""
    name = os.path.splitext(os.path.basename(path))[0]
    label = "package{}:{}".format(" with the JIT" if jit else "", name)
    with tempfile.TemporaryDirectory() as folder:
        xml = os.path.join(folder, name + ".xml")
        environment = dict({**os.environ, **dict(environment)}, PYTHONPATH=os.path.abspath(TESTS),
                           PYTHONDONTWRITEBYTECODE="1",
                           # Or half of the processor's largest cache, in which PyPy's memory seems to grow.
                           PYPY_GC_NURSERY="4MB")
        if name not in NEEDS_NETWORK:
            environment["PIP_NO_INDEX"] = "1"
        if interpreter.info["gil_disabled"]:
            # Otherwise a module that does not say that it needs no GIL brings it back.
            environment["PYTHON_GIL"] = "0"
        if jit:
            environment["PYTHON_JIT"] = "1"
        status, output = run(
            python, "-m", "pytest", "-q", "--junitxml=" + xml,
            *(["-m", marks] if marks else []), os.path.abspath(path) + only,
            cwd=folder, env=environment, timeout=FILE_LIMIT)
        found = results.cases_of_xml(xml, label) if os.path.exists(xml) else []
    for case in found:
        case.target = path
    # 5: no test ran, which is so where the file itself is a skip. tests/package/conftest.py has more.
    explained = {0: True, 1: any(case.outcome == FAILED for case in found), 5: bool(found)}
    if not explained.get(status):
        how = f"exit status {status}" if status is None or status >= 0 else f"signal {-status}"
        found.append(Case(label, FAILED, f"{how}: {last_line(output)}", output, is_final=True))
    return found


@contextlib.contextmanager
def installed(folder, options):
    """Gives the case of an installation of this checkout in an environment, which nothing else installs into
    meanwhile: neither another part of this run nor another run on this machine."""
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = os.path.join(folder, "installed_by")
        if folder not in _installed or open(mark, encoding="utf-8").read() != RUN:
            _installed[folder] = install_package(os.path.join(folder, "bin", "python"), *options)
            with open(mark, "w", encoding="utf-8") as file:
                file.write(RUN)
        yield _installed[folder]


def cases_of(interpreter, libraries=ALL, left_out=(), chosen=(), marks="", newest=False, environment=()):
    """Installs and runs the tests under one interpreter, all files but those `left_out`, or those that
    are `chosen`, a node of pytest's each. What fails is run again, alone."""
    wanted = [line for path in NEWEST for line in lines_of(path)] if newest else ()
    folder, reason = environment_of(interpreter, libraries, wanted, is_fresh=newest)
    if folder is None:
        return [Case("package", UNAVAILABLE, reason)]
    # As users get it beside its libraries. Without optimisation it takes half as long to compile.
    options = () if libraries is ALL else ("--config-settings=cmake.build-type=Debug",)
    with installed(folder, options) as installation:
        if installation.outcome != PASSED:
            return [installation]
        return [installation] + _run_files(interpreter, folder, left_out, chosen, marks, environment)


def _run_files(interpreter, folder, left_out, chosen, marks, environment):
    python = os.path.join(folder, "bin", "python")
    files = sorted(os.path.basename(path)[:-len(".py")] for path in glob.glob(TESTS + "/test_*.py")
                   if marks != "timing" or "@support.timing" in open(path, encoding="utf-8").read())
    files.sort(key=lambda name: name not in LONG)
    tests = [(name, False) for name in sorted(chosen) or files if name not in left_out]
    if not chosen and interpreter.info["jit"]:
        tests += [(name, True) for name in WITH_JIT]

    def run_one(test):
        name, _, node = test[0].partition("::")
        return run_file(interpreter, python, f"{TESTS}/{name}.py", marks, test[1], "::" + node if node else "",
                        environment)

    cases = [case for found in commands.pool.map(run_one, tests) for case in found]

    def again(case):
        # label file.Class.test
        only = "".join("::" + part for part in case.name.rpartition(" ")[2].split(".")[1:])
        return run_file(interpreter, python, case.target, jit="with the JIT" in case.name, only=only,
                        environment=environment)

    results.run_again([case for case in cases if not expected.is_expected(case)], again)
    return cases
