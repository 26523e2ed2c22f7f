# Checks that need neither Bazel nor a second interpreter: format, types and style, headers, platforms, and
# scripts that say by their exit status how it went. Used by run_tests.py.
import os
import subprocess
import sys

import package_tests
from results import FAILED, PASSED, SKIPPED, Case

SOURCES = ("*.h", "*.hpp", "*.c", "*.cc", "*.cpp")


def format_check():
    """One case per C and C++ file, untracked ones included, with the formatter of tools/setup."""
    formatter = os.environ.get("CLANG_FORMAT")
    if not formatter:
        return [Case("clang-format", SKIPPED, "its version for this project could not be installed")]
    listed = subprocess.run(
        # In a container the checkout often belongs to another user.
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard", *SOURCES],
        stdout=subprocess.PIPE, text=True, check=True)
    paths = [path for path in sorted(set(listed.stdout.split("\0")) - {""}) if os.path.exists(path)]
    # All at once: starting it takes longer than a file.
    checked = subprocess.run([formatter, "--dry-run", "--Werror", *paths],
                             stderr=subprocess.PIPE, text=True, check=False)
    said = {path: [] for path in paths}
    path = None
    for line in checked.stderr.splitlines(keepends=True):
        named = line.partition(":")[0]
        path = named if named in said else path
        if path is None:
            raise subprocess.CalledProcessError(checked.returncode, formatter, stderr=line)
        said[path].append(line)
    return [Case("clang-format " + path, FAILED if lines else PASSED, "".join(lines))
            for path, lines in said.items()]


def python_check():
    """One case for each program that checks the Python code as pyproject.toml says."""
    cases = []
    for name, arguments in (("ruff", ["check"]), ("mypy", [])):
        program = os.environ.get(name.upper())
        if not program:
            cases.append(Case(name, SKIPPED, "its version for this project could not be installed"))
            continue
        checked = subprocess.run([program, *arguments], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, check=False)
        if checked.returncode:
            print(checked.stdout)
        cases.append(Case(name, FAILED if checked.returncode else PASSED,
                          package_tests.last_line(checked.stdout)))
    return cases


def tidy_check(interpreter):
    """tools/clang_tidy on all headers."""
    program = os.environ.get("CLANG_TIDY")
    if not program:
        return [Case("clang-tidy", SKIPPED, "its version for this project could not be installed")]
    checked = subprocess.run([interpreter.executable, "tools/clang_tidy"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
    if checked.returncode:
        print(checked.stdout)
    return [Case("clang-tidy", FAILED if checked.returncode else PASSED)]


def platforms_check():
    """tools/check_platforms prints one `outcome name: reason` a line."""
    output = subprocess.run([sys.executable, "tools/check_platforms"], stdout=subprocess.PIPE,
                            text=True, check=False)
    cases = []
    for line in output.stdout.splitlines():
        outcome, _, rest = line.partition(" ")
        if outcome in (PASSED, FAILED, SKIPPED):
            name, _, reason = rest.partition(": ")
            cases.append(Case("platform " + name, outcome, reason))
    if output.returncode and not any(case.outcome == FAILED for case in cases):
        cases.append(Case("tools/check_platforms", FAILED, f"exit {output.returncode}"))
    return cases


def script(command, show=False):
    """One case: a script that exits with 77 where it cannot run. What it printed is shown when it
    failed, or always."""
    ended = subprocess.run(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, check=False)
    if show or ended.returncode not in (0, 77):
        print(ended.stdout)
    outcome = {0: PASSED, 77: SKIPPED}.get(ended.returncode, FAILED)
    return [Case(command, outcome, package_tests.last_line(ended.stdout))]
