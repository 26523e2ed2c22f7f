# Implements tools/preflight once its programs are installed. Prints one line `outcome name: reason` for each check, and
# more text for failures.
import concurrent.futures
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time

import checks
import kept
from results import FAILED, PASSED, UNAVAILABLE, Case

SOURCES = ("*.h", "*.hpp", "*.c", "*.cc", "*.cpp")


def program(variable):
    """Returns the path at which tools/setup has installed a program of tools/pins/tools.txt, or an empty string."""
    return os.environ.get(variable, "")


def run(name, variable, *arguments):
    if not program(variable):
        return Case(name, UNAVAILABLE, f"no {name} of tools/pins/tools.txt: is there a mirror of PyPI?")
    return checks.command(name, program(variable), *arguments)


def clang_format(name):
    """Checks the format of all C and C++ files, including untracked ones."""
    listed = subprocess.run(
        # In a container the checkout often belongs to another user.
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *SOURCES],
        stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    paths = [path for path in sorted(set(listed) - {""}) if os.path.exists(path)]
    return run(name, "CLANG_FORMAT", "--dry-run", "--Werror", *paths)


def ruff(name):
    return run(name, "RUFF", "check", "--quiet")


def mypy(name):
    return run(name, "MYPY", "--cache-dir", os.path.join(kept.cache(), "mypy"))


def clang_tidy(name):
    """Runs clang-tidy on all headers. All headers in one translation unit take no longer than a few separate
    headers."""
    return run(name, "PYTHON", "tools/clang_tidy") if program("CLANG_TIDY") else run(name, "CLANG_TIDY")


def docs(name):
    with tempfile.TemporaryDirectory() as folder:
        return checks.command(name, "tools/docs", folder, env=dict(os.environ, TYPEDCALL_SET_UP="1"))


def tests(*paths):
    """Returns a check that runs Python tests. These tests only read the sources."""
    def check(name):
        path = os.pathsep.join(["tools", "tests/support", os.path.dirname(paths[0])])
        for test in paths:
            case = checks.command(name, sys.executable, "bazel/run_unittest.py", test,
                                  env=dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1"))
            if case.outcome != PASSED or "skipped" in case.message:
                return Case(name, FAILED, f"{test}: {case.message}", case.log)
        return case
    return check


def flags(name):
    """Checks the table of flags in docs/ABI.md."""
    with tempfile.TemporaryDirectory() as folder:
        built = os.path.join(folder, "flags")
        case = checks.command(name, "c++", "-std=c++17", "-I.", "-isystem" + sysconfig.get_path("include"),
                              "tests/abi/flags_test.cc", "-lgtest", "-lgtest_main", "-o", built)
        return checks.command(name, built) if case.outcome == PASSED else case


# The checks that take longest come first.
CHECKS = {
    "docs": docs,
    "mypy": mypy,
    "clang-tidy": clang_tidy,
    "flags": flags,
    "gate": tests("tests/gate/test_coverage.py", "tests/gate/test_kept.py", "tests/gate/test_record.py",
                  "tests/gate/test_results.py", "tests/gate/test_runs.py"),
    "layout": tests("tests/layout/test_layout.py"),
    "rooms": tests("tests/layout/test_rooms.py"),
    "assertions": tests("tests/layout/test_assertions.py"),
    "names": tests("tests/layout/test_names.py"),
    "versions": tests("tests/layout/test_versions.py"),
    "citations": tests("tests/readme/test_citations.py", "tests/readme/test_messages.py",
                       "tests/readme/test_slot_ids.py"),
    "clang-format": clang_format,
    "ruff": ruff,
}


def main():
    os.environ["PYTHON"] = sys.executable
    # In a hook, git's variables point to this repository. Tests that create other repositories must not use it.
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]
    chosen = [name for name in CHECKS if re.search("".join(sys.argv[1:2]), name)]
    bad = False

    def timed(name):
        begin = time.monotonic()
        return CHECKS[name](name), time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, seconds in pool.map(timed, chosen):
            if case.outcome != PASSED:
                bad = True
                print(case.log)
            print(f"{case.outcome} {case.name}: {case.message or 'nothing'} ({seconds:.0f} s)", flush=True)
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
