# The Python package as a user gets it: pip installs it into a virtual environment, beside the
# libraries that it works with, and the tests of tests/package run there. Used by run_tests.py.
import concurrent.futures
import contextlib
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

import results
from results import FAILED, PASSED, SKIPPED, Case

TESTS = "tests/package"
REQUIREMENTS = TESTS + "/requirements.txt"
# What pyproject.toml builds with.
BUILDER = "scikit-build-core"
# What takes longest and is about other programs: build systems, pip, mypy, the pages' code blocks, workers,
# libraries that call back, pictures.
OTHER_PROGRAMS = {"test_build_systems", "test_callback_libraries", "test_clusters_dask",
                  "test_examples_package", "test_figures", "test_install", "test_pages", "test_typing"}
# For --full: attacks, too, which last as long as they are told to, and a minute of Numba.
SLOW = OTHER_PROGRAMS | {"test_numba_cache", "test_numba_cache_stale", "test_property_attack"}
# Run again with CPython's JIT, where it is compiled in: those that need few libraries, or call most.
WITH_JIT = ["test_api", "test_api_calls", "test_ctypes", "test_cffi", "test_lifetimes", "test_numpy"]
# Per file: some compile, and Numba does on each call of a new kind.
TIME_LIMIT = 900

_prepared = {}


def libraries(path=REQUIREMENTS):
    """What a requirements file lists, without comments."""
    with open(path, encoding="utf-8") as file:
        lines = (line.partition("#")[0].strip() for line in file)
        return [line for line in lines if line]


def run(*command, **options):
    """(succeeded, what it printed). A time limit that is reached is no success."""
    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               check=False, **options)
    except subprocess.TimeoutExpired as error:
        return False, (error.stdout or b"").decode(errors="replace") + "\ntook too long"
    return ended.returncode == 0, ended.stdout.decode(errors="replace")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip() and "[notice]" not in line]
    return lines[-1] if lines else "nothing was printed"


def pip(python, *arguments):
    return run(python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments)


def environment_of(interpreter, wanted):
    """The folder of the interpreter's virtual environment in the cache, with the libraries wanted, and
    cases that say what is missing there. What is there already is kept, but for the package itself."""
    wanted = list(wanted)
    key = hashlib.sha256(repr((interpreter.executable, interpreter.info["version"],
                               wanted)).encode()).hexdigest()[:16]
    folder = os.path.join(os.path.dirname(os.environ["TYPEDCALL_DISK_CACHE"]), "venv", key)
    python = os.path.join(folder, "bin", "python")
    missing_list = os.path.join(folder, "missing.txt")
    if os.path.exists(missing_list):
        # What could not be had once, for want of a network, may be there now.
        with open(missing_list, encoding="utf-8") as file:
            wanted = file.read().splitlines()
    else:
        shutil.rmtree(folder, ignore_errors=True)
        made, output = run(interpreter.executable, "-m", "venv", folder)
        if not made:
            # Debian splits venv off; without pip there is no package to test.
            shutil.rmtree(folder, ignore_errors=True)
            return None, [Case("package", SKIPPED, "no virtual environment: " + last_line(output))]
    install = ("install", "--only-binary", ":all:")
    missing = {}
    if wanted and not pip(python, *install, *wanted)[0]:
        # One by one: what has no wheel for this interpreter must not keep the others away.
        for library in wanted:
            installed, output = pip(python, *install, library)
            if not installed:
                missing[library] = last_line(output)
    with open(missing_list, "w", encoding="utf-8") as file:
        file.writelines(library + "\n" for library in missing)
    return folder, [Case("package: " + library, SKIPPED, "pip: " + reason)
                    for library, reason in missing.items()]


@contextlib.contextmanager
def prepared(wanted):
    """Meanwhile environment_of() of each (interpreter, libraries, ...), for cases_of() with the
    same: pip keeps one processor busy, for minutes, beside what other tests leave idle."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for interpreter, its_libraries, *_ in wanted:
            _prepared[interpreter.executable] = pool.submit(
                environment_of, interpreter, its_libraries)
        try:
            yield
        finally:
            pool.shutdown(cancel_futures=True)


def wait_for_prepared():
    """Until the environments of prepared() are complete."""
    concurrent.futures.wait(list(_prepared.values()))


def install_package(python, *options):
    """Installs the checkout with pip alone, which builds in a folder of its own; `options` are pip's."""
    install = ("install", "--force-reinstall", "--no-deps", *options, ".")
    installed, output = pip(python, *install)
    if not installed:
        with tempfile.TemporaryDirectory() as scratch:
            fetched, _ = pip(python, "download", "--no-deps", "-d", scratch, BUILDER)
        if not fetched:
            # Without PyPI there is only what the environment has from another time.
            if not run(python, "-c", "import scikit_build_core")[0]:
                return Case("pip install .", SKIPPED,
                            f"no {BUILDER}, and no PyPI to get it from")
            installed, output = pip(python, *install, "--no-build-isolation")
    if not installed:
        print(output)
        return Case("pip install .", FAILED, last_line(output))
    # What --no-deps has left out: the tests of the command line's tables need it.
    complete, output = pip(python, "install", "typedcall[cli]")
    return Case("pip install .", PASSED, "" if complete else last_line(output))


def run_file(interpreter, python, path, jit=False):
    """The cases of one test file, which is run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return cases_of_file(interpreter, python, path, folder, jit)


def cases_of_file(interpreter, python, path, folder, jit):
    name = os.path.splitext(os.path.basename(path))[0]
    label = "package{}:{}".format(" with the JIT" if jit else "", name)
    xml = os.path.join(folder, name + ".xml")
    environment = dict(os.environ, XML_OUTPUT_FILE=xml, PYTHONPATH=os.path.abspath(TESTS),
                       PYTHONDONTWRITEBYTECODE="1",
                       # Or half of the processor's largest cache, in which PyPy's memory seems to grow.
                       PYPY_GC_NURSERY="4MB")
    if interpreter.info["gil_disabled"]:
        # Otherwise a module that does not say that it needs no GIL brings it back.
        environment["PYTHON_GIL"] = "0"
    if jit:
        environment["PYTHON_JIT"] = "1"
    succeeded, output = run(python, os.path.abspath("bazel/run_unittest.py"),
                            os.path.abspath(path), cwd=folder, env=environment, timeout=TIME_LIMIT)
    cases = results.cases_of_xml(xml, label) if os.path.exists(xml) else []
    if not succeeded:
        print(output[-8000:])
        if not any(case.outcome == FAILED for case in cases):
            cases.append(Case(label, FAILED, last_line(output)))
    return cases


def cases_of(interpreter, wanted, left_out=(), reason=""):
    """Installs and runs everything under one interpreter, beside the libraries wanted, all but the
    files that are left out for a reason."""
    begun = _prepared.pop(interpreter.executable, None)
    folder, cases = begun.result() if begun else environment_of(interpreter, wanted)
    if folder is None:
        return cases
    python = os.path.join(folder, "bin", "python")
    # Beside all libraries as users get it. Without optimisation it takes half as long to compile.
    options = () if wanted == libraries() else ("--config-settings=cmake.build-type=Debug",)
    cases.append(install_package(python, *options))
    if cases[-1].outcome != PASSED:
        return cases
    tests = [(path, False) for path in sorted(glob.glob(TESTS + "/test_*.py"))
             if os.path.basename(path)[:-len(".py")] not in left_out]
    if left_out:
        cases.append(Case("package: " + ", ".join(sorted(left_out)), SKIPPED, reason))
    if interpreter.info["jit"]:
        tests += [(f"{TESTS}/{name}.py", True) for name in WITH_JIT]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda test: run_file(interpreter, python, *test), tests):
            cases += found
    return cases
