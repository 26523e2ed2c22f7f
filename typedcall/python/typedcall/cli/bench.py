"""The command `bench`, which measures the ways to call a function. The ways take turns, so that other load affects all
of them alike."""
from __future__ import annotations

import argparse
import statistics
from typing import Any

from typedcall.cli import CommandError
from typedcall.cli.arguments import as_buffers, read_arguments, why_not
from typedcall.cli.buffers import make_buffer
from typedcall.cli.report import print_json, print_table, progress
from typedcall.cli.streams import report
from typedcall.cli.targets import Target, describe, find_targets, refusal
from typedcall.cli.ways import WAYS, Way, all_ways
from typedcall.record.codes import CODES, is_buffer, pointee
from typedcall.record.records import Entry
from typedcall.tools.foreign import printable

__all__ = ["run"]

_SAMPLES = {"bool": True, "signed": 3, "unsigned": 3, "floating": 0.75, "complex": 0.5 + 0.25j,
            "string": "text"}


_ELEMENTS = 100


def _entry_of(target: Target, signature: Any) -> Entry:
    offered = ", ".join(f"'{entry.signature}'" for entry in target.entries)
    if signature is None:
        return target.entries[0]
    for entry in target.entries:
        if entry.signature == signature:
            return entry
    raise CommandError(f"{target.name} does not offer '{signature}'; it offers {offered}")


def _arguments(entry: Entry, given: Any) -> tuple[Any, ...]:
    letters, _ = entry.python_types()
    if given is not None:
        return as_buffers(letters, read_arguments(given))
    obstacle = why_not(letters)
    if obstacle is None and any(CODES[pointee(each)].kind == "object" for each in letters):
        obstacle = "takes an object; pass one by --arguments"
    if obstacle is not None:
        raise CommandError(f"'{entry.signature}' cannot be measured: it {obstacle}")
    return tuple(_sample(each) for each in letters)


def _sample(letters: str) -> Any:
    value = _SAMPLES[CODES[pointee(letters)].kind]
    if not is_buffer(letters) or letters == "*s":
        return value
    return make_buffer(letters, [value] * _ELEMENTS)


def _calibrated(way: Way, seconds: float) -> int:
    """Returns the number of calls that take about `seconds`."""
    assert way.timer is not None
    count = 10
    while True:
        made, took = way.timer(count)
        if took > seconds / 10 or made > 1 << 30:
            return max(int(made * seconds / max(took, 1e-9)), 1)
        count = max(made, count) * 4


def _measure(ways: list[Way], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Returns the nanoseconds per call for each way in each round."""
    running = [way for way in ways if way.timer is not None]
    figures: dict[str, list[float]] = {way.label: [] for way in running}
    with progress("measuring", rounds * len(running)) as done:
        counts = {way.label: _calibrated(way, seconds) for way in running}
        for _ in range(rounds):
            for way in running:
                assert way.timer is not None
                made, took = way.timer(counts[way.label])
                figures[way.label].append(took / made * 1e9)
                done(1)
    return figures


def _summary(ways: list[Way], figures: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Returns the median time of each way, and the median ratio to the boxed call in the same round."""
    boxed = figures[ways[0].label]
    rows: list[dict[str, Any]] = []
    for way in ways:
        mine = figures.get(way.label)
        if mine is None:
            rows.append({"way": way.label, "note": way.note})
            continue
        ratios = sorted(slow / quick for slow, quick in zip(boxed, mine))
        rows.append({
            "way": way.label,
            "nanoseconds": statistics.median(mine),
            "best": min(mine),
            "speedup": statistics.median(ratios),
            "speedup_low": ratios[0],
            "speedup_high": ratios[-1],
            "note": "",
        })
    return rows


def run(options: argparse.Namespace) -> int:
    target, = find_targets(options.target, options.modules, only_one=True)
    if not callable(target.function):
        raise CommandError(f"{target.name} cannot be called from Python")
    entry = _entry_of(target, options.signature)
    arguments = _arguments(entry, options.arguments)
    try:
        target.function(*arguments)
    except BaseException as error:
        raise refusal(f"{target.name}{arguments!r}", error, "; pass others by --arguments") from None
    with progress("preparing", len(WAYS)) as done:
        try:
            ways = all_ways(target.function, entry, arguments, done)
        except TypeError as error:
            raise CommandError(describe(error)) from None
    rows = _summary(ways, _measure(ways, options.rounds, options.milliseconds / 1000))
    if options.json:
        print_json({"target": options.target, "signature": entry.signature,
                    "arguments": [repr(each) for each in arguments], "rounds": options.rounds,
                    "ways": rows})
        return 0
    print_table(
        f"{options.target} '{entry.signature}' with {arguments!r}, {options.rounds} rounds",
        ("way", "ns per call", "best", "times as fast as boxed", "spread"),
        [(row["way"], "{:.1f}".format(row["nanoseconds"]), "{:.1f}".format(row["best"]),
          "{:.2f}".format(row["speedup"]),
          "{:.2f} - {:.2f}".format(row["speedup_low"], row["speedup_high"]))
         for row in rows if "speedup" in row],
        right=("ns per call", "best", "times as fast as boxed", "spread"),
    )
    for row in rows:
        if "speedup" not in row:
            print(f"not measured: {row['way']}: {printable(row['note'])}", file=report())
    if not _agrees(rows):
        print("Something else ran meanwhile: the medians and the ratios of the rounds disagree.",
              file=report())
    return 0


def _agrees(rows: list[dict[str, Any]]) -> bool:
    """False if the median times contradict the median ratios, which means that some rounds were disturbed."""
    boxed = rows[0]["nanoseconds"]
    found = (row for row in rows if "speedup" in row)
    return all(0.8 < row["speedup"] * row["nanoseconds"] / boxed < 1.25 for row in found)
