#!/usr/bin/env python3
"""Measures calls from Python with one to eight doubles through each tool's wrapper. Usage: python
bench/peers/arguments.py [--rounds N]"""
import os
import random
import sys
import tempfile
import time

import loaders
import module_cost
import module_text
import peers
import run

sys.path.append(os.path.dirname(peers.HERE))
import interleaved  # noqa: E402

MOST = 8
CALLS = 5000
NAMES = ("by_hand", "typedcall", "cython", "nanobind", "pybind11", "cffi", "tvm_ffi")


def functions(_count):
    """Returns eight functions: f0 takes one double, and f7 takes eight."""
    made = [module_text.Function(number) for number in range(MOST)]
    for number, function in enumerate(made):
        function.arguments, function.result = "d" * (number + 1), "d"
    return made


def build(folder):
    """Builds the modules. Returns them keyed by tool."""
    module_text.functions = functions
    ways, skipped = module_cost.available_ways()
    for name, reason in skipped.items():
        print("SKIPPED %s: %s" % (name, reason))
    bench = module_cost.Bench(folder, peers.ROOT)
    modules = {}
    for name in NAMES:
        if name not in ways:
            continue
        generate, command = bench.prepare(name, ways[name], MOST)
        for each in (generate, command):
            if each:
                module_cost.processor_seconds(each, bench.place(name, MOST))
        modules[name] = loaders.load(
            name, os.path.join(bench.place(name, MOST), "made" + module_cost.SUFFIX), "made")
    return modules


def main():
    rounds = interleaved.rounds(__doc__, 51)
    with tempfile.TemporaryDirectory() as folder:
        modules = build(folder)
        for count in range(1, MOST + 1):
            arguments = tuple(1.5 + i for i in range(count))
            loops, expected = {}, sum(arguments) + count - 1
            for name, module in modules.items():
                function = getattr(module, "f%d" % (count - 1))
                if function(*arguments) != expected:
                    sys.exit("%s computes something else" % name)
                loops[name] = run.python_loop(function, arguments)
                loops[name](CALLS)
            taken = {name: [] for name in loops}
            for _ in range(rounds):
                for name in random.sample(list(loops), len(loops)):
                    start = time.thread_time()
                    loops[name](CALLS)
                    taken[name].append(time.thread_time() - start)
            interleaved.report(taken, CALLS, [], str(count))


if __name__ == "__main__":
    main()
