#!/usr/bin/env python3
# Compares calls through generated wrappers with calls through hand-written wrappers and those of other tools, from a
# Python loop and by vectorcall. See README.md.
#
# Run by tools/peers. Tools that are not installed are skipped.
import argparse
import collections
import ctypes
import glob
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import repeat

import loaders
import peers

# CPython caches small ints, so use larger ones.
ARGUMENTS = {"l->l": (1000,), "dd->d": (1.5, 2.25), "dldl->d": (1.5, 1000, 2.25, 2000)}
EXPECTED = {
    "l->l": [((1000,), 1001), ((-2,), -1), ((0,), 1), ((2**62,), 2**62 + 1),
             ((-2**63,), 1 - 2**63)],
    "dd->d": [((1.5, 2.25), 3.75), ((-1.0, 0.0), -1.0), ((-0.0, -0.0), -0.0), ((1, 2), 3.0)],
    "dldl->d": [((1.5, 1000, 2.25, 2000), 6000.0), ((-1.0, -1, 0.5, 0), 1.0)],
}
REFUSED = {
    "l->l": [("1",), (1, 2), (2**63,)],
    "dd->d": [("1", 2.0), (1.0, "2"), (1.0,), (1.0, 2.0, 3.0)],
    "dldl->d": [(1.0, "1", 2.0, 2), (1.0, 1, 2.0), (1.0, 1, 2.0, 2**63)],
}
REFUSALS = (TypeError, OverflowError, ctypes.ArgumentError)
# These tools accept an int that is too large, and extra arguments.
LENIENT = {"ctypes": lambda shape, arguments: (2**63 in arguments
                                               or len(arguments) > len(ARGUMENTS[shape]))}
HOWS = {"python": "from a Python loop", "vectorcall": "by vectorcall from C"}
REFERENCE = "by_hand"
UNROLLED = 10
LOOP = """
def loop(function, arguments, turns):
    %s = arguments
    for _ in repeat(None, turns):
%s
"""

# The largest allowed ratios of typedcall to other tools. For Cython, the lower quartile must be at most 1.
Target = collections.namedtuple("Target", "other part limit")
TARGETS = [Target("by_hand", "median", 1.03)]
TARGETS += [Target(name, "low", 1.0)
            for name in ("cython", "cython_without_binding", "cython_cpdef")]
# "Faster" means that a tie misses the target.
TARGETS += [Target(name, "median", 0.999)
            for name in ("nanobind", "nanobind_recommended", "pybind11", "pybind11_recommended",
                         "cffi", "ctypes", "tvm_ffi", "numba")]
PARTS = {"low": "lower quartile", "median": "median"}

Ratio = collections.namedtuple("Ratio", "low median high")


def function_of(module, shape):
    return getattr(module, peers.FUNCTIONS[shape])


def check_equal(modules):
    """Exits unless all modules return the same values and refuse the same arguments."""
    for name, module in modules.items():
        for shape in peers.SHAPES:
            function = function_of(module, shape)
            for arguments, expected in EXPECTED[shape]:
                result = function(*arguments)
                # repr() distinguishes -0.0 from 0.0 and 1.0 from 1.
                if repr(result) != repr(expected):
                    sys.exit("%s: %s%r is %r instead of %r" % (
                        name, shape, arguments, result, expected))
            for arguments in REFUSED[shape]:
                if name in LENIENT and LENIENT[name](shape, arguments):
                    continue
                try:
                    result = function(*arguments)
                except REFUSALS:
                    continue
                sys.exit("%s: %s%r is %r instead of refused" % (name, shape, arguments, result))


def python_loop(function, arguments):
    """Returns a function that takes the number of calls and makes them. CPython specialises code objects, so each
    loop has its own."""
    names = ["a%d" % i for i in range(len(arguments))]
    call = "        function(%s)" % ", ".join(names)
    text = LOOP % (", ".join(names) + ",", "\n".join([call] * UNROLLED))
    made = {"repeat": repeat}
    exec(compile(text, "a loop", "exec"), made)
    return lambda calls: made["loop"](function, arguments, calls // UNROLLED)


def make_timers(shop, modules):
    """Returns a dict of functions, keyed by (how, shape, name). Each function takes a number of calls and returns
    nanoseconds per call."""
    timer = loaders.module("vectorcall_timer", shop.module(
        "vectorcall_timer", peers.source("vectorcall_timer.c"), ["-std=gnu99"]))
    timers = {}

    def timed(loop):
        def nanoseconds(calls):
            start = time.thread_time_ns()
            loop(calls)
            return (time.thread_time_ns() - start) / calls
        return nanoseconds

    for name, module in modules.items():
        for shape in peers.SHAPES:
            function = function_of(module, shape)
            timers["python", shape, name] = timed(
                python_loop(function, ARGUMENTS[shape]))
            timers["vectorcall", shape, name] = (
                lambda calls, function=function, shape=shape: timer.time_calls(
                    function, ARGUMENTS[shape], calls))
    return timers, timer


def measure_time(timers, hows, names, rounds, calls):
    """Returns the nanoseconds per call of each round, keyed by how, shape and name."""
    for timer in timers.values():
        timer(calls)
    samples = {(how, shape): {name: [] for name in names} for how in hows for shape in peers.SHAPES}
    for _ in range(rounds):
        for (how, shape), by_name in samples.items():
            # A random order, because the machine may be slow for a while.
            for name in random.sample(names, len(names)):
                by_name[name].append(timers[how, shape, name](calls))
    return samples


def count_here(timers, timer, hows, names, calls):
    """Runs in the process under callgrind."""
    for how in hows:
        for shape in peers.SHAPES:
            for name in names:
                loop = timers[how, shape, name]
                loop(1000)
                timer.start_counting()
                loop(calls)
                timer.stop_counting("%s|%s|%s" % (how, shape, name))


def measure_instructions(options, hows, names, calls=20000):
    """Returns the instructions per call, in the form of measure_time()'s result."""
    if shutil.which("valgrind") is None:
        sys.exit("counting instructions needs valgrind")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no",
                   "--callgrind-out-file=%s/out" % folder,
                   sys.executable, os.path.abspath(__file__), "--count-here", str(calls),
                   "--build-dir", options.build_dir, "--typedcall", options.typedcall]
        command += ["--how"] + list(hows) + ["--only"] + list(names)
        done = subprocess.run(command, env=dict(os.environ, PYTHONHASHSEED="0"), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            sys.exit("valgrind failed:\n%s" % done.stdout[-3000:])
        for path in glob.glob(folder + "/out.*"):
            with open(path, encoding="utf-8") as text:
                head = text.read(4000)
            named = re.search(r"Client Request: (\w+)\|(\S+)\|(\w+)", head)
            counted = re.search(r"^(?:summary|totals): (\d+)", head, re.MULTILINE)
            if named and counted:
                how, shape, name = named.groups()
                found[how, shape, name] = [int(counted.group(1)) / calls]
    missing = [(how, shape, name) for how in hows for shape in peers.SHAPES for name in names
               if (how, shape, name) not in found]
    if missing:
        sys.exit("no counts for %s: was valgrind/callgrind.h installed when it was built?" % missing)
    return {(how, shape): {name: found[how, shape, name] for name in names}
            for how in hows for shape in peers.SHAPES}


def ratio(samples, name, reference):
    """Returns the ratio of two contestants in each round."""
    ratios = [own / other for own, other in zip(samples[name], samples[reference])]
    if len(ratios) == 1:
        return Ratio(ratios[0], ratios[0], ratios[0])
    return Ratio(*statistics.quantiles(ratios, n=4))


def written(value):
    if value.low == value.high:
        return "%.3f" % value.median
    return "%.3f (%.3f - %.3f)" % (value.median, value.low, value.high)


def print_tables(samples, unit):
    for (how, shape), by_name in samples.items():
        print("\n%s, %s" % (shape, HOWS[how]))
        print("  %-30s %8s   %-23s   %s" % (
            "", unit, "x by hand (quartiles)", "x typedcall (quartiles)"))
        for name in by_name:
            # The reference may not be among the tools that were run.
            columns = [written(ratio(by_name, name, other)) if other in by_name else ""
                       for other in (REFERENCE, "typedcall")]
            print("  %-30s %8.2f   %-23s   %s" % (
                (peers.PEERS[name][0], statistics.median(by_name[name])) + tuple(columns)))


def print_targets(samples):
    """Prints whether each target is met, and returns the number of missed targets."""
    missed = 0
    print("\ntypedcall, compared")
    for (how, shape), by_name in samples.items():
        for target in TARGETS:
            if target.other not in by_name or "typedcall" not in by_name:
                continue
            value = ratio(by_name, "typedcall", target.other)
            met = getattr(value, target.part) <= target.limit
            missed += not met
            print("  %-7s %-8s %-10s x %-24s %-23s (%s at most %g)" % (
                "met" if met else "MISSED", shape, how, peers.PEERS[target.other][0],
                written(value), PARTS[target.part], target.limit))
    return missed


def parse():
    parser = argparse.ArgumentParser(
        description="Generated wrappers beside hand-written ones and those of other tools.")
    parser.add_argument("--rounds", type=int, default=151, help="of everything (default: 151)")
    parser.add_argument("--calls", type=int, default=10000, help="per round (default: 10000)")
    parser.add_argument("--callgrind", action="store_true", help="count instructions, not time")
    parser.add_argument("--how", nargs="+", choices=HOWS, default=list(HOWS))
    parser.add_argument("--only", nargs="+", choices=peers.PEERS, default=list(peers.PEERS))
    parser.add_argument("--json", metavar="FILE", help="writes all samples there")
    parser.add_argument("--strict", action="store_true", help="fail if a target is missed")
    parser.add_argument("--typedcall", metavar="FOLDER", default=peers.ROOT,
                        help="measure the headers of another checkout")
    parser.add_argument("--build-dir", metavar="FOLDER", default=peers.cache_folder())
    parser.add_argument("--count-here", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rounds < 2 or options.calls < UNROLLED:
        parser.error("at least 2 rounds and %d calls" % UNROLLED)
    return options


def main():
    options = parse()
    shop = peers.Workshop(options.build_dir, options.typedcall)
    modules, skipped = peers.build(shop, options.only)
    check_equal(modules)
    names = list(modules)
    timers, timer = make_timers(shop, modules)
    if options.count_here:
        count_here(timers, timer, options.how, names, options.count_here)
        return
    print("%s %s, %s" % (platform.python_implementation(), platform.python_version(),
                         peers.run([peers.compiler("x.cc"), "--version"]).splitlines()[0]))
    print("with " + ", ".join(peers.versions()))
    for name, reason in skipped.items():
        print("SKIPPED %s: %s" % (peers.PEERS[name][0], reason))
    if options.callgrind:
        samples = measure_instructions(options, options.how, names)
    else:
        samples = measure_time(timers, options.how, names, options.rounds, options.calls)
    unit = "instr." if options.callgrind else "ns"
    print_tables(samples, unit)
    missed = print_targets(samples)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as output:
            json.dump({"python": platform.python_version(), "unit": unit, "skipped": skipped,
                       "versions": peers.versions(),
                       "samples": [{"how": how, "shape": shape, "by_peer": by_name}
                                   for (how, shape), by_name in samples.items()]}, output)
    if missed and options.strict:
        sys.exit("%d targets missed" % missed)


if __name__ == "__main__":
    main()
