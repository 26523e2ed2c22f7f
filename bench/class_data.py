#!/usr/bin/env python3
# Measures six ways to attach a C pointer to a Python class. The designs are in class_data_designs.cc.
import argparse
import gc
import importlib
import json
import os
import platform
import random
import statistics
import sys
import tracemalloc

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(os.path.dirname(HERE), "bazel-bin", "bench")
PLAIN = "plain"
SUBJECTS = "class", "subclass", "mixed"


def load_module():
    # PYTHONPATH takes precedence.
    sys.path.append(BUILT)
    try:
        return importlib.import_module("class_data_designs")
    except ImportError as error:
        sys.exit("%s\nbuild it: PYTHON_BIN=%s bazel build -c opt //bench:class_data_designs"
                 % (error, sys.executable))


def subclass(*bases):
    """Makes a subclass. Without `__slots__` its memory would include a `__dict__`."""
    return type(bases[-1])("Sub", bases, {"__slots__": ()})


def subjects(designs, name):
    """Returns the instances whose pointer is looked up."""
    cls = designs.make(name, designs.base())
    mixins = [type("Mixin%d" % i, (), {"__slots__": ()}) for i in range(4)]
    return dict(zip(SUBJECTS, (cls(), subclass(cls)(), subclass(*mixins, cls)())))


def of_two(designs, name):
    """Describes the pointer that a subclass of two of the design's classes finds. The first base has the second
    unit, which is the right result."""
    base = designs.base()
    try:
        ounce, kilogram = designs.make(name, base), designs.make(name, base, True)
        found = designs.find(name, subclass(kilogram, ounce)())
    except (TypeError, NotImplementedError) as error:
        return str(error).partition(":")[0]
    return "right" if found == "kg" else "nothing" if found is None else "wrong"


def bytes_each(make, count):
    """Returns the number of bytes that CPython allocates for each of `count` classes."""
    kept = [None] * count
    kept[0] = make()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for i in range(count):
        kept[i] = make()
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken / count


def measure_memory(designs, count):
    """Returns {design: (bytes of a class, bytes of a Python subclass)} for each design."""
    memory = {}
    for name in designs.designs:
        # Each design needs its own base class, because a base class keeps a list of subclasses.
        base = designs.base()
        own = bytes_each(lambda: designs.make(name, base), count)
        # Add the C variable, which is not allocated.
        own += 8 if name == "module variable" else 0
        cls = designs.make(name, base)
        memory[name] = own, bytes_each(lambda: subclass(cls), count)
    return memory


def measure_time(designs, rounds, accesses):
    """Returns {(design, subject, chained): [nanoseconds of each round]}, and the subjects for which
    no pointer is found."""
    times, nothing, instances = {}, set(), {}
    for name in designs.designs:
        for subject, instance in subjects(designs, name).items():
            if designs.find(name, instance) is None:
                nothing.add((name, subject))
                continue
            for chained in (False, True):
                instances[name, subject, chained] = instance
                times[name, subject, chained] = []
    for _ in range(rounds):
        # A random order, because the machine may be slow for a while.
        for key in random.sample(list(times), len(times)):
            name, _, chained = key
            times[key].append(designs.measure(name, instances[key], accesses, chained))
    return times, nothing


def spread(values):
    low, median, high = statistics.quantiles(values, n=4)
    return "%.2f ± %.2f" % (median, (high - low) / 2)


def print_table(designs, times, nothing, memory):
    def cell(name, subject, chained):
        return "nothing" if (name, subject) in nothing else spread(times[name, subject, chained])

    print("| | class | Python subclass | behind 4 mixins | overlapping | bytes per class"
          " | per Python subclass | subclass of one | of two |")
    print("|---" * 9 + "|")
    for name in designs.designs:
        cells = [cell(name, subject, True) for subject in SUBJECTS]
        cells.append(cell(name, "class", False))
        cells += ["%+.0f" % (own - plain) if name != PLAIN else "%.0f" % plain
                  for own, plain in zip(memory[name], memory[PLAIN])]
        cells += ["nothing" if (name, "subclass") in nothing else "right", of_two(designs, name)]
        if name == PLAIN:
            cells[-2:] = ["", ""]  # the plain class has no pointer to find
        print("| %s | %s |" % (name, " | ".join(cells)))


def write_json(path, designs, times, nothing):
    """Writes the samples of the chained loops in the format of interleaved.keep()."""
    groups = [{"name": subject, "unit": "ns", "samples": {
        name: times[name, subject, True] for name in designs.designs if (name, subject, True) in times}}
        for subject in SUBJECTS]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"groups": groups, "skipped": {name: "finds nothing for " + subject
                                                 for name, subject in nothing}}, file)


def main():
    parser = argparse.ArgumentParser(description="Six ways to keep a C pointer for a class.")
    parser.add_argument("--rounds", type=int, default=101, help="of each loop (default: 101)")
    parser.add_argument("--accesses", type=int, default=200000, help="per loop (default: 200000)")
    parser.add_argument("--classes", type=int, default=1000, help="to count (default: 1000)")
    parser.add_argument("--json", metavar="FILE", help="writes the samples there")
    options = parser.parse_args()
    designs = load_module()
    memory = measure_memory(designs, options.classes)
    times, nothing = measure_time(designs, options.rounds, options.accesses)
    if options.json:
        write_json(options.json, designs, times, nothing)
    print("%s %s, %s" % (platform.python_implementation(), platform.python_version(),
                         platform.machine()))
    print("Nanoseconds, median and half the distance of the quartiles. Bytes above the plain class.")
    print_table(designs, times, nothing, memory)


if __name__ == "__main__":
    main()
