#!/usr/bin/env python3
# Prints the number of instructions in one iteration of each slots benchmark. Usage: bench/slots_callgrind.py
# [PROGRAM] (default: the slots program that Bazel built)
import functools
import os
import subprocess
import sys

from callgrind import instructions_per_iteration

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def names(program):
    """Returns the names of the program's benchmarks."""
    listed = subprocess.run([program, "--benchmark_list_tests=true"], stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    return listed.split()


def command(program, name, iterations):
    return [program, "--benchmark_filter=^%s/" % name, "--benchmark_repetitions=1",
            "--iterations=%d" % iterations]


def main(program):
    if not os.path.exists(program):
        sys.exit("%s is missing: bazel build -c opt //bench:slots" % program)
    pointers = {}
    print("%-20s %12s %16s" % ("", "instructions", "beyond pointer"))
    for name in names(program):
        counted = instructions_per_iteration(functools.partial(command, program, name))
        group, _, kind = name.rpartition("/")
        if kind == "pointer":
            pointers[group] = counted
        print("%-20s %12.1f %16.1f" % (name, counted, counted - pointers[group]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "bazel-bin/bench/slots"))
