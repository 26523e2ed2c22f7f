"""Compares the results of two runs."""

import results

#: Smaller relative changes are not reported.
LEAST = 0.02
#: The assumed relative error of a single sample. Sizes have no error.
UNKNOWN_SPREAD = 0.15


def bounds(row, unit):
    low, _, high = row["ratio"]
    if row["rounds"] < 3 and unit != "bytes":
        return low * (1 - UNKNOWN_SPREAD), high * (1 + UNKNOWN_SPREAD)
    return low, high


def is_changed(old, new, unit):
    """True if the quartiles do not overlap and the medians differ by more than LEAST."""
    (old_low, old_high), (new_low, new_high) = bounds(old, unit), bounds(new, unit)
    apart = new_low > old_high or new_high < old_low
    return apart and abs(new["ratio"][1] / old["ratio"][1] - 1) > LEAST


def described(row):
    low, middle, high = row["ratio"]
    return f"{middle:.4g} ({low:.4g} to {high:.4g})"


def place(row):
    at = "" if row["x"] is None else f", {row['x']:g}"
    return f"{row['label']}, {row['series']}{at}"


def compare(old, new):
    """Returns one line for each change from the file `old` to the file `new`."""
    said = [f"{name}: {old['versions'].get(name, 'not there')} -> {new['versions'].get(name, 'not there')}"
            for name in sorted({*old["versions"], *new["versions"]})
            if old["versions"].get(name) != new["versions"].get(name)]
    if old["machine"].get("processor") != new["machine"].get("processor"):
        said.append(f"processor: {old['machine'].get('processor')} -> {new['machine'].get('processor')}")
    if old["quick"] != new["quick"]:
        said.append("one of the runs was quick")
    before = {each["name"]: each for each in old["comparisons"]}
    for each in new["comparisons"]:
        other = before.pop(each["name"], None)
        if other is None:
            said.append(f"{each['name']}: new")
            continue
        was = {(row["label"], row["series"], row["x"]): row for row in other["rows"]}
        for row in each["rows"]:
            one = was.pop((row["label"], row["series"], row["x"]), None)
            if one is None:
                said.append(f"{each['name']}: {place(row)}: new")
            elif row["label"] != each["reference"] and is_changed(one, row, each["unit"]):
                word = "more" if row["ratio"][1] > one["ratio"][1] else "less"
                said.append(f"{each['name']}: {place(row)}: {word}: {described(one)} -> "
                            f"{described(row)} times {each['reference']}")
        said += [f"{each['name']}: {place(row)}: gone: "
                 f"{each['missing'].get(row['label'], 'not measured')}" for row in was.values()]
    return said + [f"{name}: gone" for name in before]


def report(old, new):
    """Prints the changes, and returns their number."""
    said = compare(old, new)
    print(f"{new['topic']}: {old['date']} -> {new['date']}: "
          + (f"{len(said)} changes beyond the spread" if said else "nothing beyond the spread"))
    for line in said:
        print("  " + line)
    return len(said)


def files(path):
    """Returns {topic: file} for a file or a folder."""
    found = sorted(path.glob("*.json")) if path.is_dir() else [path]
    read = [results.read(each) for each in found]
    return {file["topic"]: file for file in read}


def compare_paths(old, new):
    """Reports changes in all topics that both paths contain, and returns their number."""
    olds, news = files(old), files(new)
    both = [topic for topic in olds if topic in news]
    if not both:
        raise SystemExit(f"{old} and {new} have no topic in common")
    return sum(report(olds[topic], news[topic]) for topic in both)
