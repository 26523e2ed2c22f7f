"""The results of a run, and their format as JSON."""

import dataclasses
import json
import re
import statistics

SCHEMA = 1
#: The fields of a file, a comparison and a row, and their types.
FILE = {"schema": int, "topic": str, "command": str, "date": str, "quick": bool, "machine": dict,
        "versions": dict, "comparisons": list}
COMPARISON = {"name": str, "command": str, "unit": str, "reference": str, "rows": list,
              "missing": dict}
#: A comparison that was measured later than the rest of its file says when, and what differed.
COMPARISON_MAY_HAVE = {"measured": str}
ROW = {"label": str, "series": str, "x": (int, float, type(None)), "rounds": int, "value": list,
       "ratio": list}


@dataclasses.dataclass
class Group:
    """Contestants that were measured in turn: {contestant: [sample of each round]}. `skipped` maps missing contestants
    to reasons. `x` is the amount of work, or None."""

    name: str
    samples: dict
    skipped: dict = dataclasses.field(default_factory=dict)
    x: object = None


@dataclasses.dataclass
class Comparison:
    """One picture. `rows` maps labels to contestants, and `series` maps labels to groups. In the finding, {a} is the
    ratio of a to the reference, and {a / b} is the ratio of a to b. If `of` is set, this comparison repeats that one
    for `version`, and the page shows both in one section."""

    name: str
    heading: str
    finding: str
    unit: str
    reference: str
    rows: dict
    series: dict
    note: str = ""
    x: str = ""
    ours: tuple = ("typedcall",)
    of: str = ""
    version: str = ""


@dataclasses.dataclass
class Source:
    """A measurement for several comparisons: `measure(bench)` returns groups."""

    name: str
    command: str
    measure: object
    comparisons: list


class NotHere(Exception):
    """Raised if something cannot be measured on this machine."""


def spread(values):
    """Returns [lower quartile, median, upper quartile], rounded to five digits."""
    if len(values) < 2:
        found = [values[0]] * 3
    else:
        found = statistics.quantiles(values, n=4, method="inclusive")
    return [float(f"{value:.5g}") for value in found]


def reason_of(error):
    """Returns the first line of the error, without this machine's paths."""
    line = next((line for line in str(error).splitlines() if line.strip()), repr(error))
    return re.sub(r"(?:/[\w.+~-]+)+/", "", line)[:120]


def rows_of(comparison, groups):
    """Returns (rows, {label: reason}) for one comparison."""
    rows, missing = [], {}
    reasons = {name: reason for group in groups for name, reason in group.skipped.items()}
    for series, name in comparison.series.items():
        found = [group for group in groups if group.name == name]
        if not found:
            missing[series] = reason_of(reasons.get(name, "not measured"))
        for group in found:
            reference = group.samples.get(comparison.rows[comparison.reference])
            if not reference:
                reason = group.skipped.get(comparison.rows[comparison.reference], "not measured")
                missing[series or comparison.reference] = reason_of(reason)
            for label, contestant in comparison.rows.items():
                values = group.samples.get(contestant)
                if not values or not reference:
                    reason = group.skipped.get(contestant, "not measured")
                    missing.setdefault(label, reason_of(reason))
                    continue
                ratios = [own / other for own, other in zip(values, reference)]
                rows.append({"label": label, "series": series, "x": group.x, "rounds": len(values),
                             "value": spread(values), "ratio": spread(ratios)})
    # Some contestants are measured only for small amounts of work.
    seen = {row["label"] for row in rows}
    return rows, {label: reason for label, reason in missing.items() if label not in seen}


def collect(source, bench):
    """Measures one source, and returns its comparisons. If the benchmark fails, all contestants are missing."""
    try:
        groups, failed = source.measure(bench), None
    except NotHere as error:
        groups, failed = [], reason_of(error)
    found = []
    for comparison in source.comparisons:
        rows, missing = rows_of(comparison, groups)
        if failed is not None:
            missing = dict.fromkeys(comparison.rows, failed)
        found.append({"name": comparison.name, "command": source.command, "unit": comparison.unit,
                      "reference": comparison.reference, "rows": rows, "missing": missing})
    return found


def check_fields(value, fields, where, may_have=None):
    if not isinstance(value, dict):
        return [f"{where}: no object"]
    known = {**fields, **(may_have or {})}
    wrong = [f"{where}: {name} is missing" for name in fields if name not in value]
    wrong += [f"{where}: {name} is unknown" for name in value if name not in known]
    return wrong + [f"{where}: {name} is of another type" for name, kind in known.items()
                    if name in value and not isinstance(value[name], kind)]


def check_spread(values, where):
    is_right = (len(values) == 3 and all(isinstance(value, (int, float)) for value in values)
                and 0 <= values[0] <= values[1] <= values[2])
    return [] if is_right else [f"{where}: the quartiles are not in order: {values}"]


def check(file):
    """Returns the faults of a file."""
    wrong = check_fields(file, FILE, "file")
    if not wrong and file["schema"] != SCHEMA:
        wrong.append(f"schema {file['schema']} instead of {SCHEMA}")
    if wrong:
        return wrong
    for comparison in file["comparisons"]:
        found = check_fields(comparison, COMPARISON, "a comparison", COMPARISON_MAY_HAVE)
        wrong += found
        if found:
            continue
        name = comparison["name"]
        for row in comparison["rows"]:
            found = check_fields(row, ROW, name)
            wrong += found
            if not found:
                for part in ("value", "ratio"):
                    wrong += check_spread(row[part], f"{name}, {row['label']}, {part}")
        places = [(row["label"], row["series"], row["x"]) for row in comparison["rows"]
                  if isinstance(row, dict)]
        if len(set(places)) != len(places):
            wrong.append(f"{name}: a row appears twice")
        wrong += [f"{name}: {label} is missing without a reason"
                  for label, reason in comparison["missing"].items() if not reason]
    return wrong


def cannot_merge(old, machine, quick):
    """Returns the reason why this machine's results cannot be added to a topic's old results, or an
    empty string."""
    for each in ("processor", "cores", "system"):
        if old["machine"][each] != machine[each]:
            return (f"'{old['topic']}' was measured with another {each}: {old['machine'][each]} instead of "
                    f"{machine[each]}; measure the whole topic")
    return f"'{old['topic']}' was measured without --quick; omit it" if quick and not old["quick"] else ""


def merged(old, new):
    """Returns a topic's results with the new comparisons that have rows. Each of
    them states its date, any versions that differ from the old ones, and whether the machine was
    busy."""
    parts = [new["date"], "on a busy machine" * new["machine"]["busy"],
             *(f"{name} {version}" for name, version in new["versions"].items()
               if version and version != old["versions"].get(name))]
    later = {each["name"]: {**each, "measured": ", ".join(filter(None, parts))}
             for each in new["comparisons"] if each["rows"]}
    comparisons = [later.pop(each["name"], each) for each in old["comparisons"]]
    return {**old, "comparisons": [*comparisons, *later.values()]}


def read(path):
    with open(path, encoding="utf-8") as stream:
        file = json.load(stream)
    wrong = check(file)
    if wrong:
        raise SystemExit(f"{path}: " + "\n".join(wrong))
    return file


def write(path, file):
    """Writes each row to its own line, so that diffs are readable."""
    wrong = check(file)
    if wrong:
        raise ValueError("\n".join(wrong))
    text = json.dumps(file, indent=1)
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)
    text = re.sub(r"(?m)^    \{\s+([^{}]*?)\s+\}", lambda m: "    {" + " ".join(m[1].split()) + "}",
                  text)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text + "\n")


def median(comparison, label):
    """Returns the label's median ratio for each series, at the largest amount of work."""
    rows = [row for row in comparison["rows"] if row["label"] == label]
    most = max((row["x"] or 0 for row in rows), default=0)
    return {row["series"]: row["ratio"][1] for row in rows if (row["x"] or 0) == most}


def times(values):
    """Formats ratios, for example "1.2", or "0.8 to 1.4" if they differ."""
    def text(value):
        return f"{value:.2f}" if value < 2 else f"{value:.1f}" if value < 10 else f"{value:,.0f}"
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def finding(text, comparison):
    """Fills the numbers into the finding. `{label}` is the range of all series, `{label: series}` one of them, and
    `{label / other}` the ratio of two labels. Returns None if a number was not measured."""
    def number(match):
        labels, _, only = match[1].partition(": ")
        over, _, under = labels.partition(" / ")
        upper, lower = median(comparison, over), median(comparison, under)
        if under:
            values = [upper[series] / lower[series] for series in upper if series in lower]
        else:
            values = [upper[series] for series in upper if only in ("", series)]
        if not values:
            raise KeyError(match[1])
        return times(values)
    try:
        return re.sub(r"\{([^{}]+)\}", number, text)
    except KeyError:
        return None
