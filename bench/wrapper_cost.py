#!/usr/bin/env python3
# Compares generated wrappers with wrappers written by hand in C. A Python loop calls both.
#
# Build the modules first, for the interpreter that runs this script:
# PYTHON_BIN=PYTHON bazel build -c opt //bench:wrapper_cost_module //bench:wrapper_cost_generated. --callgrind counts
# instructions instead of measuring time.
import argparse
import functools
import importlib
import os
import platform
import random
import statistics
import sys
import time
from itertools import repeat

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(os.path.dirname(HERE), "bazel-bin/bench")

WRAPPERS = {"hand": "wrapper_cost_module", "generated": "wrapper_cost_generated"}
# The signature, function and arguments of each call.
CALLS = {
    "inc": ("l->l", "inc", "1000"),
    "inc_long": ("l->l, beyond 2**30", "inc", "1 << 40"),
    "inc_minus": ("l->l, -1", "inc", "-1"),
    "add": ("dd->d", "add", "1.5, 2.5"),
    "add_ints": ("dd->d, of ints", "add", "1, 2"),
    "mix": ("dldl->d", "mix", "1.5, 3, 2.5, 4"),
}

LOOP = """
def loop(function, calls):
    for _ in repeat(None, calls):
        function(%s)
"""
EMPTY = """
def loop(function, calls):
    for _ in repeat(None, calls):
        pass
"""


def load(wrapper):
    # PYTHONPATH takes precedence.
    if BUILT not in sys.path:
        sys.path.append(BUILT)
    try:
        return importlib.import_module(WRAPPERS[wrapper])
    except ImportError as error:
        sys.exit("%s\nbuild it: PYTHON_BIN=%s bazel build -c opt //bench:%s"
                 % (error, sys.executable, WRAPPERS[wrapper]))


def make_loop(wrapper, name):
    """Returns a function that takes the number of calls and makes them. CPython specialises code objects, so each
    loop has its own."""
    made = {"repeat": repeat}
    if name == "empty":
        exec(EMPTY, made)
        return lambda calls: made["loop"](None, calls)
    _, function, arguments = CALLS[name]
    exec(compile(LOOP % arguments, name, "exec"), made)
    callable_ = getattr(load(wrapper), function)
    return lambda calls: made["loop"](callable_, calls)


def nanoseconds(loop, calls):
    start = time.process_time_ns()
    loop(calls)
    return (time.process_time_ns() - start) / calls


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4)
    return "%.3f (%.3f - %.3f)" % (median, low, high)


def measure_time(name, rounds, calls):
    """Prints medians, and ratios with quartiles."""
    loops = {wrapper: make_loop(wrapper, name) for wrapper in WRAPPERS}
    times = {wrapper: [] for wrapper in WRAPPERS}
    for loop in loops.values():
        loop(calls)
    for _ in range(rounds):
        # A random order, because the machine may be slow for a while.
        for wrapper in random.sample(list(WRAPPERS), len(WRAPPERS)):
            times[wrapper].append(nanoseconds(loops[wrapper], calls))
    ratios = [own / hand for own, hand in zip(times["generated"], times["hand"])]
    print("%-20s hand %7.2f ns   generated %7.2f ns   x hand %s" % (
        CALLS[name][0], statistics.median(times["hand"]), statistics.median(times["generated"]),
        quartiles(ratios)), flush=True)


def command(wrapper, name, calls):
    return [sys.executable, "-S", os.path.abspath(__file__), "--loop", "%s.%s" % (wrapper, name),
            "--calls", str(calls)]


def count_instructions(wrapper, name):
    from callgrind import instructions_per_iteration
    return instructions_per_iteration(functools.partial(command, wrapper, name))


def measure_instructions(names):
    """Prints the number of instructions of one iteration of the loop."""
    sys.path.insert(0, HERE)
    places = {os.path.dirname(os.path.abspath(load(wrapper).__file__)) for wrapper in WRAPPERS}
    os.environ["PYTHONPATH"] = os.pathsep.join(sorted(places))
    empty = count_instructions("hand", "empty")
    for name in names:
        hand, generated = (count_instructions(wrapper, name) for wrapper in WRAPPERS)
        print("%-20s hand %6.1f   generated %6.1f instructions   x hand %.3f   of the call %.3f" % (
            CALLS[name][0], hand, generated, generated / hand,
            (generated - empty) / (hand - empty)), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Measures the cost of a generated wrapper to Python callers.")
    parser.add_argument("--rounds", type=int, default=101, help="of each variant (default: 101)")
    parser.add_argument("--calls", type=int, default=100000, help="per round (default: 100000)")
    parser.add_argument("--only", choices=CALLS, help="measure that call only")
    parser.add_argument("--callgrind", action="store_true", help="count instructions, not time")
    parser.add_argument("--loop", metavar="WRAPPER.CALL", help="only run the loop of that call")
    options = parser.parse_args()
    if options.loop:
        make_loop(*options.loop.split("."))(options.calls)
        return
    print("%s %s" % (platform.python_implementation(), platform.python_version()))
    names = [options.only] if options.only else list(CALLS)
    if options.callgrind:
        measure_instructions(names)
        return
    for name in names:
        measure_time(name, options.rounds, options.calls)


if __name__ == "__main__":
    main()
