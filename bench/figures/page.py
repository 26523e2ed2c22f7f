"""Generates the part of docs/figures.md that shows the results."""

import re

import results
from draw import number, unit_of

BEGIN = "<!-- made by tools/figures from docs/figures/*.json: from here -->"
END = "<!-- made by tools/figures: to here -->"
TITLES = {"calls": "Calls", "modules": "Modules", "start_up": "Start-up", "growth": "As work grows",
          "threads": "Threads", "python3.15": "CPython 3.15", "python3.14": "CPython 3.14"}


#: The comparisons at the top of the page, and the words in front of their findings.
MAIN = {"from_python": "From Python", "from_cpp": "From C++", "numba": "In Numba", "numpy": "In NumPy", "quad": "In SciPy's quad",
        "pypy": "On PyPy", "sqlite": "In SQLite", "tag_cost": "The cost of a tag", "compile_time": "Compile time",
        "threads": "Two threads"}
#: The comparisons whose pictures are at the top, too.
PICTURES = ("from_python", "from_cpp")


def anchor(heading):
    """Returns the anchor that Sphinx and Git hosting sites generate for a heading."""
    return "#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def top(groups):
    """Yields the lines that the page begins with: the main findings, and their pictures."""
    found = {name: (comparison, results.finding(comparison.finding, numbers))
             for _, group in groups.values() for comparison, numbers in group[:1] for name in [comparison.name]
             if numbers["rows"]}
    main = [(words, *found[name]) for name, words in MAIN.items() if name in found]
    for words, comparison, finding in main:
        yield f"- [{words}]({anchor(comparison.heading)}): {finding or comparison.heading}."
    yield ""
    for name in PICTURES:
        if name in found:
            comparison, finding = found[name]
            yield from (f"![{finding or comparison.heading}](figures/{name}.svg)", "")


def facts(file):
    """Returns the machine and the versions of a topic as {name: text}."""
    machine = file["machine"]
    return {"processor": machine["processor"], "cores": f"{machine['cores']} cores", "system": machine["system"],
            "busy": "busy with other work" * machine["busy"],
            **{name: f"{name} {version}" for name, version in file["versions"].items() if version}}


def run_line(file, earlier):
    """Returns when, where and with which versions a topic was measured. Facts that are the same in the most similar
    `earlier` topic are omitted."""
    found = facts(file)
    like = max(earlier, key=lambda other: len(found.items() & facts(other).items()), default=None)
    same = facts(like) if like else {}
    parts = [", ".join(text for name, text in found.items() if text and same.get(name) != text)]
    if like:
        title = TITLES[like["topic"]]
        parts.append(f"the rest as for [{title}](#{title.lower().replace(' ', '-').replace('.', '')})")
    quick = " (few rounds)" if file["quick"] else ""
    return (f"`{file['command']}`{quick}, {file['date']}: {'; '.join(filter(None, parts))}. "
            f"[JSON](figures/{file['topic']}.json).")


def cell(row, found, scale):
    low, middle, high = row["ratio"]
    value = number(row["value"][1] / scale)
    if row["label"] == found["reference"]:
        return value
    spread = f" ({low:.3g}–{high:.3g})" if high - low > middle / 10 else ""
    return f"{middle:.3g}{spread}, {value}"


def table(group, scale):
    """Yields the lines of the table. The columns are series or amounts of work."""
    rows = [(comparison.version, row, found) for comparison, found in group for row in found["rows"]]
    columns = list(dict.fromkeys((version, row["series"], row["x"]) for version, row, _ in rows))
    labels = list(dict.fromkeys(row["label"] for _, row, _ in rows))
    cells = {(row["label"], version, row["series"], row["x"]): cell(row, found, scale)
             for version, row, found in rows}
    heads = [f"{version} ".lstrip() + (f"`{series}`" if x is None and "->" in series else series if x is None
                                       else f"{x:,}") for version, series, x in columns]
    yield "| | " + " | ".join(heads) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for label in labels:
        yield f"| {label} | " + " | ".join(cells.get((label, *column), "")
                                           for column in columns) + " |"


def section(group, shown):
    """Yields the lines of a section: a comparison and those that repeat it. Commands and notes in the set `shown` are
    omitted. New ones are added to the set."""
    yield f"### {group[0][0].heading}"
    yield ""
    parts, missing = [], set()
    for comparison, found in group:
        if found["rows"]:
            yield f"![{results.finding(comparison.finding, found) or comparison.heading}](figures/{comparison.name}.svg)"
            yield ""
        new = [part for part in (f"`{found['command']}`.", comparison.note) if part and part not in shown]
        shown.update(new)
        if "measured" in found:
            new.append(f"Measured apart, {comparison.version or 'under the usual CPython'}: {found['measured']}.")
        parts += new
        missing.update(f"{label} ({reason})" if found["rows"] else reason
                       for label, reason in found["missing"].items())
    lines = [" ".join(parts)] * bool(parts) + [f"Not measured: {each}." for each in sorted(missing)]
    yield from [*lines, ""] if lines else []
    values = [row["value"][1] for _, found in group for row in found["rows"]]
    if values:
        first, found = group[0]
        scale, unit = unit_of(min(values), found["unit"])
        growing = f", by {first.x}" if first.x else ""
        yield f"<details><summary>Numbers ({unit}){growing}</summary>"
        yield ""
        yield from table(group, scale)
        yield ""
        yield "</details>"
    yield ""


def made(files, topics):
    """Returns the generated part of the page. `files` and `topics` are keyed by topic."""
    lines, shown, earlier, groups = [BEGIN, ""], set(), [], {}
    for topic, sources in topics.items():
        found = {each["name"]: each for each in files[topic]["comparisons"]} if topic in files else {}
        for comparison in (each for source in sources for each in source.comparisons):
            if comparison.name in found:
                group = groups.setdefault(comparison.of or comparison.name, (topic, []))
                group[1].append((comparison, found[comparison.name]))
    lines += top(groups)
    for topic in topics:
        if topic not in files:
            continue
        lines += [f"## {TITLES[topic]}", "", run_line(files[topic], earlier), ""]
        earlier.append(files[topic])
        for at, group in groups.values():
            if at == topic:
                lines += section(group, shown)
    return "\n".join([*lines, END])


def replaced(text, part):
    """Returns the page with its generated part replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"docs/figures.md has no '{BEGIN}' and '{END}'")
    return before + part + after
