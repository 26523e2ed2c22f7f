"""Timings that can be compared on a shared machine: processor time, all contestants in turn, many
rounds, and the ratio of each round, of which the median and the quartiles are shown."""

import argparse
import json
import statistics
import time

#: Where the command line wants the samples, and those that report() has had so far.
_wanted = None
_groups = []
#: Who is not measured, and why.
_skipped = {}


def rounds(description, usual):
    """How many the command line asks for."""
    global _wanted
    parser = argparse.ArgumentParser(description=description.partition(". python")[0])
    parser.add_argument("--rounds", type=int, default=usual, metavar="N")
    parser.add_argument("--json", metavar="FILE", help="writes all samples there")
    options = parser.parse_args()
    _wanted = options.json
    return options.rounds


def seconds(function, clock=time.process_time):
    start = clock()
    function()
    return clock() - start


def measure(contestants, rounds, clock=time.process_time):
    """name -> seconds of each round; one round calls every contestant once, from alternate ends."""
    taken = {name: [] for name in contestants}
    for function in contestants.values():
        function()
    order = list(contestants.items())
    for _ in range(rounds):
        for name, function in order:
            taken[name].append(seconds(function, clock))
        order.reverse()
    return taken


def ratio(taken, name, other):
    """(median, lower quartile, upper quartile) of name/other, round by round."""
    ratios = [a / b for a, b in zip(taken[name], taken[other])]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return middle, low, high


def keep(name, unit, samples):
    """Writes what was kept so far and this group, {contestant: [sample of each round]}, if asked to."""
    _groups.append({"name": name, "unit": unit, "samples": samples})
    _write()


def skip(name, reason):
    """Says that a contestant, or a whole group, is not here, and why."""
    print("SKIPPED: %s: %s" % (name, reason))
    _skipped[name] = reason
    _write()


def _write():
    if _wanted:
        with open(_wanted, "w", encoding="utf-8") as file:
            json.dump({"groups": _groups, "skipped": _skipped}, file)


def report(taken, calls, comparisons, group=""):
    """Prints nanoseconds a call, then the comparisons: (name, other, limit, "most" or "least").
    Returns whether all of them hold. `group`: what tells it from another report of this program."""
    keep(group, "ns", {name: [each / calls * 1e9 for each in times] for name, times in taken.items()})
    for name, times in taken.items():
        nanoseconds = statistics.median(times) / calls * 1e9
        print("%-42s %10.2f ns a call (best %.2f)" % (name, nanoseconds, min(times) / calls * 1e9))
    is_right = True
    for name, other, limit, sense in comparisons:
        middle, low, high = ratio(taken, name, other)
        holds = middle <= limit if sense == "most" else middle >= limit
        is_right = is_right and holds
        print(
            "%s / %s: %.3f (quartiles %.3f to %.3f), at %s %s: %s"
            % (name, other, middle, low, high, sense, limit, "holds" if holds else "MISSED")
        )
    return is_right
