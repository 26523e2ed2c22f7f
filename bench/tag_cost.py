#!/usr/bin/env python3
# Measures the cost of a tag for Python callers. A loop calls three versions of one function: untagged, tagged in the
# default way, and tagged by the flag bits METH_TYPED | METH_TYPED_EXT.
#
# Build the module first, for the interpreter that runs this script:
# PYTHON_BIN=PYTHON bazel build -c opt //bench:tag_cost_module. --callgrind counts instructions instead of measuring time.
import argparse
import importlib
import json
import os
import platform
import random
import statistics
import sys
import time
from itertools import repeat

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(os.path.dirname(HERE), "bazel-bin/bench")

CONVENTIONS = {"o": ("METH_O", "1000"), "fastcall": ("METH_FASTCALL", "1000, 2000")}
TAGS = ["untagged", "tagged", "flagged"]

LOOP = """
def loop(function, calls):
    for _ in repeat(None, calls):
        function(%s)
"""


def load_module():
    # PYTHONPATH takes precedence.
    sys.path.append(BUILT)
    try:
        return importlib.import_module("tag_cost_module")
    except ImportError as error:
        sys.exit("%s\nbuild it: PYTHON_BIN=%s bazel build -c opt //bench:tag_cost_module"
                 % (error, sys.executable))


def make_loop(module, name):
    """Returns a function that takes the number of calls and makes them. CPython specialises code objects, so each
    loop has its own."""
    arguments = CONVENTIONS[name.partition("_")[0]][1]
    made = {"repeat": repeat}
    exec(compile(LOOP % arguments, name, "exec"), made)
    function = getattr(module, name)
    return lambda calls: made["loop"](function, calls)


def nanoseconds(loop, calls):
    start = time.process_time_ns()
    loop(calls)
    return (time.process_time_ns() - start) / calls


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4)
    return "%.3f (%.3f - %.3f)" % (median, low, high)


def measure_time(module, convention, rounds, calls):
    """Prints medians, and ratios with quartiles."""
    loops = {tag: make_loop(module, "%s_%s" % (convention, tag)) for tag in TAGS}
    times = {tag: [] for tag in TAGS}
    for loop in loops.values():
        loop(calls)
    for _ in range(rounds):
        # A random order, because the machine may be slow for a while.
        for tag in random.sample(TAGS, len(TAGS)):
            times[tag].append(nanoseconds(loops[tag], calls))
    for tag in TAGS:
        ratios = [own / untagged for own, untagged in zip(times[tag], times["untagged"])]
        print("%-14s %-9s %8.2f ns   x untagged %s" % (
            CONVENTIONS[convention][0], tag, statistics.median(times[tag]), quartiles(ratios)))
    return {"name": CONVENTIONS[convention][0], "unit": "ns", "samples": times}


def measure_instructions(module, convention):
    """Prints the number of instructions of one iteration of the loop."""
    sys.path.insert(0, HERE)
    from callgrind import instructions_per_iteration
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.abspath(module.__file__))
    untagged = None
    for tag in TAGS:
        counted = instructions_per_iteration(lambda calls: [
            sys.executable, "-S", os.path.abspath(__file__), "--loop",
            "%s_%s" % (convention, tag), "--calls", str(calls)])
        untagged = untagged or counted
        print("%-14s %-9s %8.1f instructions   x untagged %.3f" % (
            CONVENTIONS[convention][0], tag, counted, counted / untagged), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Measures the cost of a tag to Python callers.")
    parser.add_argument("--rounds", type=int, default=101, help="of each variant (default: 101)")
    parser.add_argument("--calls", type=int, default=100000, help="per round (default: 100000)")
    parser.add_argument("--callgrind", action="store_true", help="count instructions, not time")
    parser.add_argument("--json", metavar="FILE", help="write all time samples to FILE")
    parser.add_argument("--loop", metavar="FUNCTION", help="only run the loop of that function")
    options = parser.parse_args()
    module = load_module()
    if options.loop:
        make_loop(module, options.loop)(options.calls)
        return
    print("%s %s" % (platform.python_implementation(), platform.python_version()))
    groups = []
    for convention in CONVENTIONS:
        if options.callgrind:
            measure_instructions(module, convention)
        else:
            groups.append(measure_time(module, convention, options.rounds, options.calls))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"groups": groups}, file)


if __name__ == "__main__":
    main()
