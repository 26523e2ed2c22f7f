# Writes what has passed into the table of docs/support.md: what, on which version, in which tier, and when.
# Usage: python3 tools/record.py WHAT VERSION     adds a row for something that was tested by hand
import datetime
import pathlib
import re
import sys

from results import FAILED, PASSED

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/support.md"
HEAD = "| what | version | tier | passed |\n|---|---|---|---|\n"
GATE, FULL, BY_HAND = "gate", "full", "by hand"
# A row of the table that a nested run prints: the part, and the numbers of cases that have passed and failed.
NESTED = re.compile(r"(?m)^(\S.*?) {2,}(\d+) +(\d+) +\d+ +\d+(?:  .*)?$")
# A part's name ends with its interpreter, if it has one.
INTERPRETER = re.compile(r"^(?:(.*), )?((?:CPython|PyPy) .+)$")


def row_of(part):
    """Returns what a part tests, and on which version."""
    found = INTERPRETER.match(part)
    return (found[1] or "C and C++", found[2]) if found else (part, "")


def passed(runs):
    """Yields the names of the parts that have passed, with those of nested runs in place of the parts that made them."""
    for run in runs:
        nested = [match for case in run.cases for match in NESTED.findall(case.log) if match[0] != "all"]
        for name, good, bad in nested:
            if int(good) and not int(bad):
                yield name
        if not nested and run.count(PASSED) and not run.count(FAILED):
            yield run.name


def _key(row):
    """Returns the key of a row. It has no patch release, so a newer one replaces an older one."""
    what, version = row[:2]
    return what, re.sub(r"(\d+\.\d+)\.\d+", r"\1", version)


def merged(text, new):
    """Returns the page with the new rows. A new row replaces an earlier row with the same key."""
    before, found, rest = text.partition(HEAD)
    if not found:
        raise ValueError(f"{PAGE} has no table")
    old = re.match(r"(?:\|.*\n)*", rest)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in old.splitlines()]
    by_key = {_key(row): row for row in [*rows, *new]}
    lines = ["| " + " | ".join(row) + " |\n" for _, row in sorted(by_key.items())]
    return before + found + "".join(lines).replace("|  |", "| |") + rest[len(old):]


def write(new):
    PAGE.write_text(merged(PAGE.read_text(encoding="utf-8"), new), encoding="utf-8")


def record(runs, tier, gate=()):
    """Records the parts of a run that have passed. `gate` has the names of the gate's parts."""
    today = datetime.date.today().isoformat()
    write([(*row_of(name), GATE if name in gate else tier, today) for name in passed(runs)])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__ or "usage: python3 tools/record.py WHAT VERSION")
    write([(sys.argv[1], sys.argv[2], BY_HAND, datetime.date.today().isoformat())])
