"""Runs the simulation in every available way, and compares the results and times.

    python run.py [--pypy PYPY] [--steps N] [--particles N] [--rounds N] [--profile]

typedcall must be installed for this interpreter and for PyPy.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

sys.path.insert(0, os.path.dirname(HERE))
import build_module  # noqa: E402

# Prints the interpreter, and whether Numba is available. Fails if typedcall is not installed.
ASK = """
import importlib.util, json, sys, typedcall
print(json.dumps({"name": "%s %s" % (sys.implementation.name, ".".join(
                      map(str, sys.implementation.version[:3]))),
                  "numba": importlib.util.find_spec("numba") is not None}))
"""


def ask(python, folder):
    """Runs ASK with `python`. Returns None if typedcall is not installed."""
    asked = subprocess.run([python, "-c", ASK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           cwd=folder, check=False)
    return json.loads(asked.stdout) if asked.returncode == 0 else None


def build(python, folder):
    """Compiles `forces` for one interpreter, and returns the result of ask()."""
    said = ask(python, folder)
    if said is None:
        return None
    said["folder"] = os.path.join(folder, said["name"].replace(" ", "-"))
    os.mkdir(said["folder"])
    build_module.build("application/forces.cc", said["folder"], python)
    return said


def simulate(python, said, mode, options, *more):
    """Runs the simulation once and returns its results."""
    ended = subprocess.run(
        [python, os.path.join(HERE, "simulation.py"), mode, str(options.steps),
         str(options.particles), *more],
        env=dict(os.environ, PYTHONPATH=said["folder"]), cwd=said["folder"],
        stdout=subprocess.PIPE, check=True)
    return json.loads(ended.stdout)


def is_same(result, other):
    """Returns true if two runs agree. The last digits may differ, because Numba may contract a*b +
    c."""
    return result["histogram"] == other["histogram"] and all(
        abs(result[key] - other[key]) <= 1e-6 * abs(other[key]) for key in ("potential", "kinetic"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pypy", default=shutil.which("pypy3"))
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--particles", type=int, default=144)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", metavar="FILE", help="write the seconds of each round to FILE")
    parser.add_argument("--profile", action="store_true", help="also show where the time goes")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        ways = []
        for python in (sys.executable, options.pypy):
            said = build(python, folder) if python else None
            if said is None:
                print("not run: %s (typedcall is not installed there)" % (python or "PyPy"))
                continue
            is_pypy = said["name"].startswith("pypy")
            for mode in ("boxed",) + (("accelerated",) if is_pypy else ()) + (
                    ("numba",) if said["numba"] else ()):
                ways.append(("%s, %s" % (said["name"], mode), python, said, mode))
        if not ways:
            sys.exit("nothing to run")
        seconds = {label: [] for label, *_ in ways}
        first = None
        for _ in range(options.rounds):
            for label, python, said, mode in ways:
                result = simulate(python, said, mode, options)
                first = first or result
                if not is_same(result, first):
                    sys.exit("%s: another result: %s instead of %s" % (label, result, first))
                seconds[label].append(result["seconds"])
        if options.json:
            # The label without the version, such as "cpython, boxed".
            samples = {"%s, %s" % (label.split()[0], label.split(", ")[1]): taken
                       for label, taken in seconds.items()}
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump({"groups": [{"name": "", "unit": "s", "samples": samples}]}, file)
        boxed = seconds[ways[0][0]]
        print("%-28s %9s %22s" % ("%d steps, %d particles" % (options.steps, options.particles),
                                  "seconds", "times as fast (spread)"))
        for label, *_ in ways:
            ratios = sorted(one / other for one, other in zip(boxed, seconds[label]))
            print("%-28s %9.3f %8.2f (%.2f to %.2f)" % (
                label, statistics.median(seconds[label]), statistics.median(ratios),
                ratios[0], ratios[-1]))
        if options.profile:
            for label, python, said, mode in ways:
                if mode != "numba":  # Numba compiles the program to one function, so it has no profile
                    print("\n" + label, flush=True)
                    simulate(python, said, mode, options, "--profile")


if __name__ == "__main__":
    main()
