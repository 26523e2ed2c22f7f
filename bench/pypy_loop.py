#!/usr/bin/env python3
"""Measures the loop `i = mod.inc(i)` from Bernstein's post on an unmodified PyPy: boxed (through
cpyext), accelerated, through a resolved function, and through a raw pointer. CPython and a loop in
C are measured for comparison.

Usage: bench/pypy_loop.py [--pypy EXE] [--cpython EXE] [--calls N] [--rounds N] [--json FILE]
`--pypy` needs the package: `pypy3 -m venv V && V/bin/pip install .` makes V/bin/python."""
import argparse
import gc
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from build_module import ask, build

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
LOOPS = {
    "l->l": "i = mod.inc(i)",
    "dd->d": "x = mod.add(x, 1.0)",
    "dldl->d": "x = mod.mix(x, 1, 0.5, 2)",
}
NAMES = {"l->l": "inc", "dd->d": "add", "dldl->d": "mix"}
WAYS = ("boxed", "accelerated", "resolved", "pointer", "C, GIL let go")
#: In each round the ways alternate this many times.
TURNS = 5
#: Required ratios for "l->l" on PyPy 7.3.11 and on newer versions, which call extensions more slowly.
TARGETS = {
    "PyPy boxed / accelerated": (12, 17),
    "CPython boxed / accelerated": (3.5, 3.5),
    "PyPy boxed / pointer": (25, 25),
}
#: Ratios to aim for, which are not required. The loop in C shows what is possible.
HOPES = {
    "PyPy boxed / accelerated": (30, 50),
    "PyPy boxed / pointer": (50, 70),
    "PyPy boxed / C, GIL let go": (None, None),
}


def make_loop(signature, module):
    """Makes a separate main() for each way of calling. A shared main() would share machine code."""
    text = """
def main(n):
    i, x = 0, 0.0
    while i < n:
        %s
        %s
    return i, x
""" % (LOOPS[signature], "" if signature == "l->l" else "i += 1")
    # Use a module's dictionary, because the dictionary of a plain exec() is slower on PyPy.
    namespace = type(sys)("loop").__dict__
    namespace["mod"] = module
    exec(compile(text, "loop of " + signature, "exec"), namespace)
    return namespace["main"]


def time_loop(main, calls):
    gc.collect()  # collect the garbage of other loops
    start = time.process_time()
    result = main(calls)
    elapsed = time.process_time() - start
    assert result[0] == calls, result
    return elapsed / calls * 1e9, result


def worker(calls):
    """Runs one round in this interpreter, and prints {signature: {way: nanoseconds}}."""
    import pypy_loop_module as module

    found = {}
    for signature, name in NAMES.items():
        ways = {"boxed": module}
        if sys.implementation.name == "pypy":
            import typedcall

            boxed = getattr(module, name)
            resolved = typedcall.resolve(boxed, signature)
            done = typedcall.accelerate(module)
            assert name in done.accelerated, str(done)
            for way, function in (("accelerated", getattr(module, name)), ("resolved", resolved),
                                  ("pointer", resolved.pointer)):
                ways[way] = type(sys)(way)
                setattr(ways[way], name, function)
            typedcall.restore(module)
            assert getattr(module, name) is boxed
        mains = {way: make_loop(signature, where) for way, where in ways.items()}
        for main in list(mains.values()) * 3:  # PyPy recompiles a function that is entered again
            time_loop(main, min(calls, 200000))
        found[signature] = dict.fromkeys(mains, 0.0)
        for _ in range(TURNS):
            timed = {way: time_loop(main, calls // TURNS) for way, main in mains.items()}
            assert len({result for _, result in timed.values()}) == 1, timed
            if signature == "l->l":
                timed["C, GIL let go"] = module.letting_go(calls // TURNS), None
            for way, (nanoseconds, _) in timed.items():
                found[signature][way] = found[signature].get(way, 0.0) + nanoseconds / TURNS
    print(json.dumps(found))


def run(python, folder, calls):
    code = "import sys; sys.path[:0] = %r; import pypy_loop; pypy_loop.worker(%d)" % (
        [str(folder), str(REPOSITORY / "bench")], calls)
    ended = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           check=False, text=True)
    if ended.returncode != 0:
        hint = ""
        if "No module named 'typedcall'" in ended.stderr:
            hint = "\nInstall the package there: %s -m pip install %s" % (python, REPOSITORY)
        sys.exit("pypy_loop: %s failed:\n%s%s" % (python, ended.stderr[-2000:], hint))
    return json.loads(ended.stdout)


def spread(values):
    """Returns the median and the quartiles."""
    values = sorted(values)
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def report(rounds):
    """Prints the table, and returns the ratios of each round as {signature: {name: [ratio]}}."""
    ratios = {}
    for signature in LOOPS:
        print("\n`%s`, %s" % (signature, LOOPS[signature]))
        ways = [way for way in WAYS if way in rounds[0][0][signature]]
        columns = {"PyPy " + way: [pypy[signature][way] for pypy, _ in rounds] for way in ways}
        columns["CPython boxed"] = [cpython[signature]["boxed"] for _, cpython in rounds]
        for name, values in columns.items():
            print("  %-18s %7.2f ns  (quartiles %.2f to %.2f)" % (name, *spread(values)))
        mine = ratios[signature] = {}
        for name in {**TARGETS, **HOPES}:
            over, under = (part if part.startswith(("PyPy", "CPython")) else "PyPy " + part
                           for part in name.split(" / "))
            if under not in columns:
                continue
            mine[name] = [a / b for a, b in zip(columns[over], columns[under])]
            print("  %-28s %6.1f x  (quartiles %.1f to %.1f)" % (name, *spread(mine[name])))
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pypy", default="pypy3")
    parser.add_argument("--cpython", default="/usr/bin/python3")
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for python in (options.pypy, options.cpython):
            print(ask(python, "import sys; print(sys.version.replace(chr(10), ' '))"))
            build("pypy_loop_module.cc", folder, python)
        # The interpreters take turns, because the machine may be slow for a while.
        for _ in range(options.rounds):
            rounds.append(tuple(run(python, folder, options.calls)
                                for python in (options.pypy, options.cpython)))
    ratios = report(rounds)
    print()
    missed = 0
    is_newer = ask(options.pypy, "import sys; print(sys.pypy_version_info[:3] > (7, 3, 11))")
    for name, targets in TARGETS.items():
        least = targets[is_newer == "True"]
        median = spread(ratios["l->l"][name])[0]
        missed += median < least
        verdict = "reached" if median >= least else "MISSED"
        print("%-28s at least %4.1f: %s" % (name, least, verdict))
    for name, hopes in HOPES.items():
        median, hope = spread(ratios["l->l"][name])[0], hopes[is_newer == "True"]
        if hope is not None:
            print("%-28s %.1f was hoped for: %s" % (name, hope, "reached" if median >= hope else "not reached"))
    if options.json:
        options.json.write_text(json.dumps(
            {"pypy": ask(options.pypy, "import sys; print('%d.%d.%d' % sys.pypy_version_info[:3])"),
             "rounds": rounds, "ratios": ratios}, indent=1))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
