# Checks the cases of a part against tests/expected.toml, the list of expected skips and failures. Any other skip is a
# failure, and so is an expected failure that passes.
import fnmatch
import functools

import tomllib
from results import FAILED, PASSED, SKIPPED

PATH = "tests/expected.toml"
FIELDS = {"case", "part", "reason"}
# An optional field: a text that the skip or failure must contain.
OPTIONAL = {"says"}


@functools.cache
def entries(path=PATH):
    """Returns the tables `skip` and `fail` of the file, as lists of {case, part, reason} with an optional {says}. All
    fields but the reason are shell patterns. Raises ValueError if the file has any other content."""
    with open(path, "rb") as file:
        listed = tomllib.load(file)
    for kind, rows in listed.items():
        if kind not in ("skip", "fail"):
            raise ValueError(f"{path}: [[skip]] or [[fail]], not [[{kind}]]")
        for row in rows:
            if set(row) - OPTIONAL != FIELDS or not all(isinstance(value, str) and value for value in row.values()):
                raise ValueError(f"{path}: case, part and reason, not {row}")
    return {"skip": listed.get("skip", []), "fail": listed.get("fail", [])}


def _find(rows, part, case):
    return next((row for row in rows if all(fnmatch.fnmatchcase(text, row.get(field, "*")) for field, text in (
        ("case", case.name), ("part", part), ("says", case.message)))), None)


def is_expected(case, listed=None):
    """True if the list expects the case to fail in any part. Such a case is not run again."""
    return any(fnmatch.fnmatchcase(case.name, row["case"]) for row in (listed or entries())["fail"])


def apply(part, cases, listed=None):
    """Changes the outcome of each case of the part that differs from the list."""
    listed = listed or entries()
    for case in cases:
        if case.outcome == SKIPPED and not _find(listed["skip"], part, case):
            case.outcome, case.is_final = FAILED, True
            case.message = f"skipped, which {PATH} does not expect: {case.message}"
        row = _find(listed["fail"], part, case) if case.outcome in (PASSED, FAILED) else None
        if row and case.outcome == PASSED:
            case.outcome, case.is_final = FAILED, True
            case.message = f"passed, but {PATH} expects a failure: {row['reason']}"
        elif row and not case.is_final:
            case.outcome, case.message = SKIPPED, "fails, as expected: " + row["reason"]
