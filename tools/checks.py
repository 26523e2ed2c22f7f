# Checks that need neither Bazel nor a second interpreter: those of tools/preflight, platforms, and scripts
# that say by their exit status how it went.
import os
import subprocess
import sys

import package_tests
from results import FAILED, PASSED, SKIPPED, UNAVAILABLE, Case


def command(name, *arguments, **options):
    """One case: a command that exits with 0, or with 77 where it cannot run."""
    status, output = package_tests.run(*arguments, **options)
    outcome = {0: PASSED, 77: UNAVAILABLE}.get(status, FAILED)
    return Case(name, outcome, package_tests.last_line(output), output, is_final=True)


def script(text):
    """The same of a script of this project, by what one types."""
    return [command(text, *text.split())]


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


def preflight():
    """tools/preflight prints one `outcome name: reason` a line for each check, and more for what failed."""
    status, output = package_tests.run("tools/preflight", env=dict(os.environ, TYPEDCALL_SET_UP="1"))
    cases = []
    for line in output.splitlines():
        outcome, _, rest = line.partition(" ")
        if outcome in (PASSED, FAILED, UNAVAILABLE):
            name, _, reason = rest.partition(": ")
            cases.append(Case("preflight " + name, outcome, reason, output if outcome == FAILED else "",
                              is_final=True))
    if not cases or (status and all(case.outcome == PASSED for case in cases)):
        cases.append(Case("preflight", FAILED, f"exit status {status}", output, is_final=True))
    return cases
