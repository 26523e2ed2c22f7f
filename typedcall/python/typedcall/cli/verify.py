"""The command `verify`, which compares boxed and unboxed calls with the same arguments. Each function runs in a
separate process."""
from __future__ import annotations

import argparse
import contextlib
import math
from dataclasses import asdict
from typing import Callable

from typedcall.cli import CRASHED, FOUND, NOTHING, CommandError
from typedcall.cli.arguments import read_arguments, read_ranges
from typedcall.cli.comparing import CONVERSION, MOST_SHOWN, Calls, Verdict, shorten, verify_entry
from typedcall.cli.isolation import Marker, isolated
from typedcall.cli.report import print_json, print_table, progress, write_junit
from typedcall.cli.streams import report
from typedcall.cli.targets import Target, find_targets
from typedcall.record.records import Entry

__all__ = ["run"]

_MOST_CRASHES = 3


def _verify_isolated(
    target: Target, entry: Entry, calls: Calls, time_limit: float, done: Callable[[int], None]
) -> Verdict:
    """Runs verify_entry() in a separate process. If an unboxed call crashes, a new process continues with the next
    call. If a boxed call ends the process, the test ends, and no difference is counted."""
    verdict = Verdict(target.name, entry.signature)
    first = reported = 0

    def part(end: int | None = None) -> tuple[Verdict, str | None]:
        return isolated(lambda: verify_entry(target, entry, calls, marker, first, end), time_limit,
                        marker, tick)

    def tick(call: int) -> None:
        nonlocal reported
        done(max(0, call - reported))
        reported = max(call, reported)

    while True:
        marker = Marker(first)
        made, fault = part()
        if fault is None:
            verdict.add(made)
            break
        crash, doing = marker.get()
        if crash > first:
            # Repeat the calls before the crash, because their results were lost.
            made, again = part(crash)
            if again is None:
                verdict.add(made)
        first = crash + 1
        doing, _, boxed = doing.partition("\n")
        doing = shorten(doing)
        hangs = fault.startswith("did not end")
        if doing.startswith("unboxed"):
            verdict.calls, verdict.unexplained = verdict.calls + 1, verdict.unexplained + 1
            verdict.crashes += not hangs
            verdict.show((doing.partition(" with ")[2], boxed, fault, ""))
        if hangs or not doing.startswith("unboxed"):
            verdict.stopped = f"{fault} in its {doing}"
            break
        if first == calls.number:
            break
        if verdict.crashes == _MOST_CRASHES:
            verdict.stopped = f"after {_MOST_CRASHES} crashes"
            break
    if not verdict.calls and verdict.stopped:
        verdict.skipped, verdict.stopped = verdict.stopped, ""
    tick(calls.number)
    return verdict


def _print(target: str, verdicts: list[Verdict]) -> None:
    counted = ("declared", "explained", "conversions")
    print_table(
        target,
        ("name", "signature", "calls", "equal", *counted, "unexplained", "note"),
        [
            (
                verdict.name,
                verdict.signature,
                *map(str, (verdict.calls, verdict.equal, verdict.declared, sum(verdict.explained.values()),
                           verdict.conversions, verdict.unexplained)),
                verdict.skipped and "skipped: " + verdict.skipped
                or verdict.stopped and "stopped: " + verdict.stopped,
            )
            for verdict in verdicts
        ],
        right=("calls", "equal", *counted, "unexplained"),
    )
    rows = [(verdict.name, verdict.signature, *example)
            for verdict in verdicts for example in verdict.examples if example[3] != CONVERSION]
    if rows:
        print_table(
            f"Differences (the first {MOST_SHOWN} of each)",
            ("name", "signature", "arguments", "boxed", "unboxed", "explanation"),
            [(*row[:5], row[5] or "NONE") for row in rows],
        )
    skipped = sum(verdict.skipped != "" for verdict in verdicts)
    if skipped < len(verdicts):  # otherwise run() raises the reason
        print(_summary(verdicts, skipped), file=report())


def _summary(verdicts: list[Verdict], skipped: int) -> str:
    stopped = sum(verdict.stopped != "" for verdict in verdicts)
    unexplained = sum(verdict.unexplained for verdict in verdicts)
    return (
        f"verified {len(verdicts) - skipped} of {len(verdicts)} signatures"
        + (f", {skipped} skipped" if skipped else "") + (f", {stopped} stopped early" if stopped else "")
        + f", with {sum(verdict.calls for verdict in verdicts)} calls: "
        + f"{unexplained or 'no'} unexplained difference{'s' if unexplained > 1 else ''}"
    )


def _case(verdict: Verdict) -> tuple[str, str, str, str]:
    """Returns the case for write_junit()."""
    name = f"{verdict.name} {verdict.signature}"
    if verdict.skipped:
        return name, "skipped", verdict.skipped, ""
    text = "\n".join(f"{arguments}: boxed {boxed}, unboxed {unboxed}"
                     for arguments, boxed, unboxed, reason in verdict.examples if not reason)
    if verdict.crashes:
        return name, "error", f"{verdict.crashes} unboxed calls ended their process", text
    differ = f"{verdict.unexplained} of {verdict.calls} calls differ"
    if verdict.unexplained:
        return name, "failure", differ, text
    # A boxed call that fails is not a difference.
    return name, "skipped" if verdict.stopped else "", verdict.stopped, text


def _calls(options: argparse.Namespace) -> Calls:
    ranges = read_ranges(options.ranges) if options.ranges else ()
    given = tuple(map(read_arguments, options.arguments))
    return Calls(options.count, options.seed, options.largest, ranges, given, options.strict)


def _try_import(options: argparse.Namespace) -> None:
    """Imports the target in a separate process first, because a module that exits during import would end this one.
    Raises CommandError if that process ends."""

    def look() -> None:
        with contextlib.suppress(BaseException):  # the import in run() raises it again
            find_targets(options.target, options.modules)

    fault = isolated(look, math.inf, Marker(), lambda call: None)[1]
    if fault:
        raise CommandError(f"cannot import '{options.target}': it {fault}")


def run(options: argparse.Namespace) -> int:
    if not options.in_process:
        _try_import(options)
    targets = find_targets(options.target, options.modules)
    calls = _calls(options)
    work = [(target, entry) for target in targets for entry in target.entries]
    verdicts = []
    with progress("verifying", len(work) * calls.number) as done:
        for target, entry in work:
            if options.in_process:
                verdicts.append(verify_entry(target, entry, calls, Marker()))
                done(calls.number)
            else:
                verdicts.append(_verify_isolated(target, entry, calls, options.time_limit, done))
    if options.json:
        print_json({"target": options.target, "seed": options.seed,
                    "results": [asdict(verdict) for verdict in verdicts]})
    else:
        _print(options.target, verdicts)
    if options.junit:
        write_junit(options.junit, options.target, [_case(verdict) for verdict in verdicts])
    if all(verdict.skipped for verdict in verdicts):
        raise CommandError(f"nothing was verified: {verdicts[0].skipped}", NOTHING)
    if any(verdict.crashes for verdict in verdicts):
        return CRASHED
    return FOUND if any(verdict.unexplained for verdict in verdicts) else 0
