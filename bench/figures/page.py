"""Writes the part of docs/figures.md that comes from the results: pictures, what they say, numbers, and
the command of each."""

import results
from draw import number, unit_of

BEGIN = "<!-- made by tools/figures from docs/figures/*.json: from here -->"
END = "<!-- made by tools/figures: to here -->"
TITLES = {"calls": "Calls", "modules": "Modules", "start_up": "Start-up", "growth": "As work grows",
          "threads": "Threads", "python3.15": "CPython 3.15", "python3.14": "CPython 3.14"}


def run_line(file, first):
    """Where and when a topic was measured, with what. Versions equal to those of the `first` topic are left out."""
    machine = file["machine"]
    same = {} if file is first else first["versions"]
    versions = ", ".join(f"{name} {version}" for name, version in file["versions"].items()
                         if version and same.get(name) != version)
    if same:
        title = TITLES[first["topic"]]
        versions = f"{versions}; others as for [{title}](#{title.lower().replace(' ', '-')})".lstrip("; ")
    busy = ", busy with other work" if machine["busy"] else ""
    quick = " (few rounds)" if file["quick"] else ""
    return (f"`{file['command']}`{quick}, {file['date']}: {machine['processor']}, {machine['cores']} cores, "
            f"{machine['system']}{busy}. {versions}. [JSON](figures/{file['topic']}.json).")


def cell(row, found, scale):
    low, middle, high = row["ratio"]
    value = number(row["value"][1] / scale)
    if row["label"] == found["reference"]:
        return value
    spread = "" if low == high else f" ({low:.3g}–{high:.3g})"
    return f"{middle:.3g}{spread}, {value}"


def table(found, scale):
    """Columns are the series, or the work."""
    columns = list(dict.fromkeys((row["series"], row["x"]) for row in found["rows"]))
    labels = list(dict.fromkeys(row["label"] for row in found["rows"]))
    cells = {(row["label"], row["series"], row["x"]): cell(row, found, scale)
             for row in found["rows"]}
    heads = [f"`{series}`" if x is None and "->" in series else series if x is None else f"{x:,}"
             for series, x in columns]
    yield "| | " + " | ".join(heads) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for label in labels:
        yield f"| {label} | " + " | ".join(cells.get((label, *column), "")
                                           for column in columns) + " |"


def section(comparison, found, shown):
    """One picture and its numbers. Omits a command or note that is in `shown`, a set, and adds the others to it."""
    finding = results.finding(comparison.finding, found) or comparison.heading
    yield f"### {comparison.heading}"
    yield ""
    if found["rows"]:
        yield f"![{finding}](figures/{comparison.name}.svg)"
        yield ""
    growing = f", by {comparison.x}" if comparison.x else ""
    parts = [part for part in (f"`{found['command']}`.", comparison.note) if part and part not in shown]
    shown.update(parts)
    missing = {f"{label}: {reason}" for label, reason in found["missing"].items()}
    if not found["rows"]:
        missing = set(found["missing"].values())
    lines = [" ".join(parts)] * bool(parts) + [f"Not here: {each}." for each in sorted(missing)]
    yield from [*lines, ""] if lines else []
    if found["rows"]:
        scale, unit = unit_of(min(row["value"][1] for row in found["rows"]), found["unit"])
        yield f"<details><summary>Numbers ({unit}){growing}</summary>"
        yield ""
        yield from table(found, scale)
        yield ""
        yield "</details>"
    yield ""


def made(files, topics):
    """The whole part: `files` are the results by topic, `topics` the sources by topic."""
    lines, shown = [BEGIN, ""], set()
    first = next((files[topic] for topic in topics if topic in files), None)
    for topic, sources in topics.items():
        if topic not in files:
            continue
        lines += [f"## {TITLES[topic]}", "", run_line(files[topic], first), ""]
        found = {each["name"]: each for each in files[topic]["comparisons"]}
        for source in sources:
            for comparison in source.comparisons:
                if comparison.name in found:
                    lines += section(comparison, found[comparison.name], shown)
    return "\n".join([*lines, END])


def replaced(text, part):
    """The page with its part made anew."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"docs/figures.md has no '{BEGIN}' and '{END}'")
    return before + part + after
