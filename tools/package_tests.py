# Tests the Python package as users get it. pip installs it into a virtual environment, and pytest runs each file of
# tests/package in a separate process.
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
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
# In a file of pins, the packages that all tests need come before this line.
LIBRARIES = "# Libraries"
ALL = object()
NEWEST = [PINS + "/runner.in", PINS + "/libraries.in"]
# The slowest files. Most of them test other programs, such as build systems, pip and mypy.
OTHER_PROGRAMS = {"test_build_systems", "test_callback_libraries", "test_clusters_dask", "test_conformance_mutations",
                  "test_examples_package", "test_examples_rust", "test_figures", "test_install", "test_pages", "test_typing"}
# This test installs another project's module from PyPI.
NEEDS_NETWORK = {"test_examples_tags_for_others"}
# Only --full runs these files.
SLOW = OTHER_PROGRAMS | NEEDS_NETWORK | {"test_conformance_numba", "test_matrix_full", "test_matrix_mutations", "test_matrix_processes",
                                         "test_matrix_sets_full",
                                         "test_numba_cache", "test_numba_cache_stale", "test_matrix_random",
                                         "test_property_attack"}
# These files use a fixed seed, except in --full.
RANDOM = {"test_c_text_random", "test_numpy_buffers", "test_matrix_random", "test_matrix_sets_full",
          "test_property_attack"}
# These files are started first, so that the run does not wait for one of them at the end.
LONG = ["test_matrix_types", "test_verify", "test_verify_processes", "test_verify_buffers", "test_cython", "test_once", "test_cli"]
# Tests that need few libraries or make the most calls. They run again with CPython's JIT if it is compiled in.
WITH_JIT = ["test_api", "test_api_calls", "test_ctypes", "test_cffi", "test_lifetimes", "test_numpy"]
# Seconds. The limit is high because some files compile modules and Numba functions.
FILE_LIMIT = 900

# A name that is unique to this run.
RUN = f"{os.getpid()} {time.time_ns()}"
# The state of work that is done once per run, keyed by folder.
_made, _reasons, _installed = {}, {}, {}
_lock = threading.Lock()


def pins_of(interpreter):
    """Returns the path of the file with the exact versions for an interpreter."""
    info = interpreter.info
    name = "{}-{}.{}{}".format(info["implementation"].lower(), *interpreter.version[:2],
                               "t" if info["gil_disabled"] else "")
    return os.path.join(PINS, name + ".txt")


def lines_of(path):
    """Returns the lines of a requirements file, without comments."""
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
    """Makes a virtual environment in the cache. Returns (its folder, None), or (None, the reason for a failure). The
    environment has the interpreter's pinned packages with these libraries, or the packages in `wanted` that have a
    wheel. `is_fresh` means the newest versions."""
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
        # The newest versions may have changed since the last run.
        is_there = os.path.exists(os.path.join(folder, "complete")) and not is_fresh
        if folder not in _reasons:
            _reasons[folder] = None if is_there else _make(interpreter, folder, install)
        if not _reasons[folder]:
            kept.is_used(folder)
    return (None, _reasons[folder]) if _reasons[folder] else (folder, None)


def make_editable(interpreter):
    """Makes .venv for a developer, with an editable installation of this checkout. Returns None, or the reason for a
    failure."""
    with open(pins_of(interpreter), encoding="utf-8") as file:
        reason = _make(interpreter, ".venv", ["--no-deps", "-r", file.name])
    if reason:
        return reason
    # Recompilation is silent, because tests read the output of modules.
    status, output = install_in_place(".venv/bin/python", "editable.rebuild=true", "editable.verbose=false")
    return output if status else None


def install_in_place(python, *settings, **options):
    """Makes an editable installation of this checkout with these build `settings`."""
    return pip(python, "install", "--no-deps", "--no-index", "--no-build-isolation",
               *("--config-settings=" + setting for setting in ("cmake.build-type=Debug", *settings)),
               "--editable", ".", **options)


def make_environment(interpreter, libraries, folder, *lines):
    """Makes a virtual environment with the libraries of another one. Returns its Python, which runs these `lines` when
    it starts."""
    subprocess.run([interpreter.executable, "-m", "venv", "--without-pip", folder], check=True)
    with open(os.path.join(site_packages(folder), "libraries.pth"), "w", encoding="utf-8") as file:
        file.write("\n".join([f"import site; site.addsitedir({site_packages(libraries)!r})", *lines, ""]))
    return os.path.join(folder, "bin", "python")


def site_packages(folder):
    return glob.glob(os.path.join(folder, "lib*", "py*", "site-packages"))[0]


def with_ccache():
    """Returns settings that make CMake use ccache, or no settings if ccache is not installed."""
    if not shutil.which("ccache"):
        return {}
    return {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
            "CCACHE_DIR": os.path.join(kept.cache(), "ccache"), "CCACHE_BASEDIR": os.getcwd(), "CCACHE_NOHASHDIR": "1",
            "CCACHE_MAXSIZE": "500M"}


def install_package(python, *options, environment=()):
    """Installs the checkout with pip, to which `options` are passed."""
    os.makedirs(".build", exist_ok=True)
    # The folder is within the checkout, so files have the same relative paths in each checkout.
    with tempfile.TemporaryDirectory(dir=".build") as folder:
        status, output = pip(python, "install", "--force-reinstall", "--no-deps", "--no-index",
                             "--no-build-isolation", "--config-settings=build-dir=" + folder, *options, ".",
                             env={**os.environ, **with_ccache(), **dict(environment)})
    return Case("pip install .", FAILED if status else PASSED, last_line(output) if status else "",
                output, is_final=True)


def run_file(interpreter, python, path, marks="", jit=False, only="", environment=()):
    """Runs one test file in a separate folder, and returns its cases. `marks` is a pytest expression, and `only` is
    the rest of a node's name."""
    name = os.path.splitext(os.path.basename(path))[0]
    label = "package{}:{}".format(" with the JIT" if jit else "", name)
    with tempfile.TemporaryDirectory() as folder:
        xml = os.path.join(folder, name + ".xml")
        environment = dict({**os.environ, **dict(environment)}, PYTHONPATH=os.path.abspath(TESTS),
                           PYTHONDONTWRITEBYTECODE="1",
                           # With the default, half the size of the processor's largest cache, memory seems to grow.
                           PYPY_GC_NURSERY="4MB")
        if name not in NEEDS_NETWORK:
            environment["PIP_NO_INDEX"] = "1"
        if interpreter.info["gil_disabled"]:
            # Without this, modules that do not declare support for free threading would enable the GIL.
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
    # Status 5 means that no test ran, which happens if the whole file is skipped. See tests/package/conftest.py.
    explained = {0: True, 1: any(case.outcome == FAILED for case in found), 5: bool(found)}
    if not explained.get(status):
        how = f"exit status {status}" if status is None or status >= 0 else f"signal {-status}"
        found.append(Case(label, FAILED, f"{how}: {last_line(output)}", output, is_final=True))
    return found


@contextlib.contextmanager
def installed(folder, options):
    """Provides an environment in which this checkout is installed. Nothing else can be installed in it meanwhile."""
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = os.path.join(folder, "installed_by")
        if folder not in _installed or open(mark, encoding="utf-8").read() != RUN:
            _installed[folder] = install_package(os.path.join(folder, "bin", "python"), *options)
            with open(mark, "w", encoding="utf-8") as file:
                file.write(RUN)
        yield _installed[folder]


def cases_of(interpreter, libraries=ALL, left_out=(), chosen=(), marks="", newest=False, environment=()):
    """Installs the package and runs its tests under one interpreter: all files except those in `left_out`, or only
    the pytest nodes in `chosen`. Failures are run again, alone."""
    wanted = [line for path in NEWEST for line in lines_of(path)] if newest else ()
    folder, reason = environment_of(interpreter, libraries, wanted, is_fresh=newest)
    if folder is None:
        return [Case("package", UNAVAILABLE, reason)]
    # With its libraries, the package is installed as users install it. Without them it is not optimised, and compiles
    # in half the time.
    options = () if libraries is ALL else ("--config-settings=cmake.build-type=Debug",)
    with installed(folder, options) as installation:
        if installation.outcome != PASSED:
            return [installation]
        return [installation] + run_files(interpreter, folder, left_out, chosen, marks, environment)


def run_files(interpreter, folder, left_out=(), chosen=(), marks="", environment=()):
    """Runs the tests of the package that is already installed in the environment `folder`, and returns the cases."""
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
        # the label is file.Class.test
        only = "".join("::" + part for part in case.name.rpartition(" ")[2].split(".")[1:])
        return run_file(interpreter, python, case.target, jit="with the JIT" in case.name, only=only,
                        environment=environment)

    results.run_again([case for case in cases if not expected.is_expected(case)], again)
    return cases
