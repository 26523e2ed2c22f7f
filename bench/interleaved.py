"""Measures contestants in turn, and reports processor times and ratios."""

import argparse
import json
import statistics
import time

#: The file for the samples, and all samples so far.
_wanted = None
_groups = []
#: The contestants that are not measured, and the reasons.
_skipped = {}


def rounds(description, usual):
    """Returns the number of rounds from the command line."""
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
    """Returns {name: [seconds of each round]}. Each round calls every contestant once."""
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
    """Returns (median, lower quartile, upper quartile) of the ratio name/other in each round."""
    ratios = [a / b for a, b in zip(taken[name], taken[other])]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return middle, low, high


def keep(name, unit, samples):
    """Adds a group's samples, {contestant: [sample of each round]}. Writes all samples so far if
    there is a file."""
    _groups.append({"name": name, "unit": unit, "samples": samples})
    _write()


def skip(name, reason):
    """Reports that a contestant, or a whole group, is missing, with the reason."""
    print("SKIPPED: %s: %s" % (name, reason))
    _skipped[name] = reason
    _write()


def _write():
    if _wanted:
        with open(_wanted, "w", encoding="utf-8") as file:
            json.dump({"groups": _groups, "skipped": _skipped}, file)


def report(taken, calls, comparisons, group=""):
    """Prints nanoseconds per call and the comparisons: (name, other, limit, "most" or "least"). Returns True if all
    comparisons hold. Each report of a program needs its own `group`."""
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
