# Runs tools/preflight, tools/check_platforms and scripts, and returns their cases.
import os
import sys

import commands
from results import FAILED, PASSED, UNAVAILABLE, Case


def command(name, *arguments, **options):
    """Runs a command as one case. It must exit with 0, or with 77 if it cannot run on this machine."""
    status, output = commands.run(*arguments, **options)
    outcome = {0: PASSED, 77: UNAVAILABLE}.get(status, FAILED)
    return Case(name, outcome, commands.last_line(output), output, is_final=True)


def scripts(*texts):
    """Runs scripts of the project as cases. Each text is a command line."""
    return [command(text, *text.split()) for text in texts]


def platforms_check():
    return reported("platform", [sys.executable, "tools/check_platforms"])


def preflight():
    """Reads the output of tools/preflight, which has more text for failures."""
    return reported("preflight", ["tools/preflight"], env=dict(os.environ, TYPEDCALL_SET_UP="1"))


def reported(prefix, command, **options):
    """Runs a command that prints one `outcome name: reason` per line, and returns its cases."""
    status, output = commands.run(*command, **options)
    cases = []
    for line in output.splitlines():
        outcome, _, rest = line.partition(" ")
        # A missing compiler means that a platform cannot be checked.
        outcome = {"skipped": UNAVAILABLE}.get(outcome, outcome)
        if outcome in (PASSED, FAILED, UNAVAILABLE):
            name, _, reason = rest.partition(": ")
            cases.append(Case(f"{prefix} {name}", outcome, reason, output if outcome == FAILED else "", is_final=True))
    if not cases or status and all(case.outcome == PASSED for case in cases):
        cases.append(Case(prefix, FAILED, f"exit status {status}", output, is_final=True))
    return cases
