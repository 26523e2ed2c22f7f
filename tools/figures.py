# Implements tools/figures once the Debian packages are installed. Also counts instructions for tools/test --full.
import os
import shutil
import subprocess
import sys

import checks
import interpreters
import package_tests
from bench_package import environment
from results import FAILED, PASSED, UNAVAILABLE, Case

MAIN = "bench/figures/main.py"
INSTRUCTIONS = "bench/figures/instructions.py"
REQUIREMENTS = "bench/figures/requirements.txt"
PROGRAMS = ("call", "invoke", "loops", "resolve", "slots", "slots_sep200", "tag_cost_module", "class_data_designs")
#: The programs whose instructions bench/figures/instructions.py counts.
COUNTED = ("call", "invoke", "resolve", "slots", "wrapper_cost_module", "wrapper_cost_generated")


def programs(python, names=PROGRAMS):
    """Builds the C++ benchmarks, and returns their folder, or an empty string if Bazel cannot build them."""
    built = subprocess.run(
        ["bazel", "build", "-c", "opt", "--disk_cache=" + os.environ["TYPEDCALL_DISK_CACHE"],
         "--repo_env=PYTHON_BIN=" + python, "--noshow_progress", "--ui_event_filters=-info",
         "--show_result=0", *["//bench:" + name for name in names]], check=False)
    return "bazel-bin/bench" if built.returncode == 0 else ""


def instructions(interpreter, *options):
    """Counts instructions with the package and its libraries installed. Returns a case for each count."""
    if shutil.which("valgrind") is None:
        return [Case("instructions", UNAVAILABLE, "valgrind is not installed")]
    folder, reason = package_tests.environment_of(interpreter)
    if folder is None:
        return [Case("instructions", UNAVAILABLE, reason)]
    built = programs(interpreter.executable, COUNTED)
    if not built:
        return [Case("instructions", FAILED, "the benchmarks did not build", is_final=True)]
    with package_tests.installed(folder, ()) as installation:
        if installation.outcome != PASSED:
            return [installation]
        python = os.path.join(folder, "bin", "python")
        return checks.reported("instructions", [python, INSTRUCTIONS, "--programs", built, *options])


def main(arguments):
    found = interpreters.find([os.environ["PYTHON_BIN"]] if os.environ.get("PYTHON_BIN") else [])
    usual = next(i for i in found if not i.reason and i.ordinary)
    if arguments[:1] == ["instructions"]:
        cases = instructions(usual, *arguments[1:])
        for case in cases:
            print(case.outcome, case.name + ":", case.message)
        print(next((case.log for case in cases if case.outcome == FAILED), ""), end="")
        return int(any(case.outcome == FAILED for case in cases))
    libraries = package_tests.lines_of("tools/pins/runner.in") + package_tests.lines_of(REQUIREMENTS)
    if arguments[:1] in (["draw"], ["compare"]):
        folder, _ = package_tests.environment_of(usual, wanted=libraries)
        python = os.path.join(folder, "bin", "python") if folder else sys.executable
        return subprocess.run([python, MAIN, *arguments], check=False).returncode
    cpython = environment(usual, wanted=libraries)
    if cpython is None:
        sys.exit(f"the package could not be installed for {usual.label}")
    pypy = next((i for i in found if i.info["implementation"] == "PyPy" and i.runs_package), None)
    on_pypy = environment(pypy, libraries=()) if pypy is not None else None
    free_threaded = next((i for i in found if i.info["gil_disabled"] and not i.reason and not i.debug), None)
    without_gil = environment(free_threaded) if free_threaded is not None else None
    newest = max((i for i in ([usual] if os.environ.get("PYTHON_BIN") else found)
                  if i.ordinary and not i.reason and i.version >= (3, 12)),
                 key=lambda i: i.version, default=None)
    return subprocess.run(
        [cpython, MAIN, *arguments, "--cpython", usual.executable, "--pypy", on_pypy or "",
         "--programs", programs(usual.executable), "--newest", newest.executable if newest else "",
         "--free-threaded", without_gil or ""],
        check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
