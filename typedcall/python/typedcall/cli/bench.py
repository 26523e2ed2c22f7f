"""`bench`: one function, boxed and by every other way that is available here, in interleaved turns,
so that whatever else the machine does hits all of them alike."""
from __future__ import annotations

import argparse
import ast
import statistics
from typing import Any, Dict, List, Tuple

from typedcall._codes import CODES
from typedcall._records import Entry
from typedcall.cli import CommandError
from typedcall.cli.arguments import why_not
from typedcall.cli.report import print_json, print_table, progress
from typedcall.cli.targets import Target, describe, find_targets
from typedcall.cli.ways import WAYS, Way, all_ways

__all__ = ["run"]

_SAMPLES = {"bool": True, "signed": 3, "unsigned": 3, "floating": 0.75, "complex": 0.5 + 0.25j,
            "string": "text"}


def _entry_of(target: Target, signature: Any) -> Entry:
    offered = ", ".join("'%s'" % entry.signature for entry in target.entries)
    if signature is None:
        return target.entries[0]
    for entry in target.entries:
        if entry.signature == signature:
            return entry
    raise CommandError("%s does not offer '%s'; it offers %s" % (target.name, signature, offered))


def _arguments(entry: Entry, given: Any) -> Tuple[Any, ...]:
    letters, _ = entry.python_types()
    if given is not None:
        try:
            read = ast.literal_eval("(%s,)" % given if given.strip() else "()")
        except (ValueError, SyntaxError):
            raise CommandError("'%s' are no Python literals" % given) from None
        return tuple(read)
    obstacle = why_not(letters)
    if obstacle is None and any(CODES[each].kind == "object" for each in letters):
        obstacle = "takes an object; say which by --arguments"
    if obstacle is not None:
        raise CommandError("'%s' cannot be measured: it %s" % (entry.signature, obstacle))
    return tuple(_SAMPLES[CODES[each].kind] for each in letters)


def _calibrated(way: Way, seconds: float) -> int:
    """How many calls take about that long."""
    assert way.timer is not None
    count = 10
    while True:
        made, took = way.timer(count)
        if took > seconds / 10 or made > 1 << 30:
            return max(int(made * seconds / max(took, 1e-9)), 1)
        count = max(made, count) * 4


def _measure(ways: List[Way], rounds: int, seconds: float) -> Dict[str, List[float]]:
    """Nanoseconds for one call, for each way in each round."""
    running = [way for way in ways if way.timer is not None]
    figures: Dict[str, List[float]] = {way.label: [] for way in running}
    with progress("measuring", rounds * len(running)) as done:
        counts = {way.label: _calibrated(way, seconds) for way in running}
        for _ in range(rounds):
            for way in running:
                assert way.timer is not None
                made, took = way.timer(counts[way.label])
                figures[way.label].append(took / made * 1e9)
                done(1)
    return figures


def _summary(ways: List[Way], figures: Dict[str, List[float]]) -> List[Dict[str, Any]]:
    """The median of each way, and of its ratios to the boxed call of the same round."""
    boxed = figures[ways[0].label]
    rows: List[Dict[str, Any]] = []
    for way in ways:
        mine = figures.get(way.label)
        if mine is None:
            rows.append({"way": way.label, "note": way.note})
            continue
        ratios = sorted(slow / quick for slow, quick in zip(boxed, mine))
        rows.append({
            "way": way.label,
            "nanoseconds": statistics.median(mine),
            "ratio": statistics.median(ratios),
            "ratio_low": ratios[0],
            "ratio_high": ratios[-1],
            "note": "",
        })
    return rows


def run(options: argparse.Namespace) -> int:
    target, = find_targets(options.target, only_one=True)
    if not callable(target.function):
        raise CommandError("%s cannot be called from Python" % target.name)
    entry = _entry_of(target, options.signature)
    arguments = _arguments(entry, options.arguments)
    try:
        target.function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise CommandError(
            "%s%r: %s; give others by --arguments" % (target.name, arguments, describe(error))
        ) from None
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
        "%s '%s' with %r, %d rounds" % (options.target, entry.signature, arguments, options.rounds),
        ("way", "ns per call", "times as fast as boxed", "spread", "note"),
        [(row["way"], "%.1f" % row["nanoseconds"], "%.2f" % row["ratio"],
          "%.2f - %.2f" % (row["ratio_low"], row["ratio_high"]), "")
         if "ratio" in row else (row["way"], "", "", "", row["note"]) for row in rows],
        right=("ns per call", "times as fast as boxed", "spread"),
    )
    return 0
