"""The comparisons with a growing amount of work: from a single call to ten million calls, and from
one to eight arguments."""

import pathlib
import subprocess
import tempfile
import time

from results import Comparison, Group, NotHere, Source, reason_of

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import pypy_loop_module as module
{before}
def main(count):
    x = 0.0
    for i in range(count):
        x = add(x, 1.0)
    return x

{made}
assert main(int(sys.argv[2])) == float(sys.argv[2])
"""
# The code before and after the loop, keyed by name.
WAYS = {
    "CPython": ("add = module.add", ""),
    "Numba": ("import numba\nadd = module.add", "main = numba.njit(main)"),
    "Numba, kept": ("import numba\nadd = module.add", "main = numba.njit(cache=True)(main)"),
    "PyPy": ("add = module.add", ""),
    "PyPy, accelerated": ("import typedcall\ntypedcall.accelerate(module)\nadd = module.add", ""),
}
TOOLS = {"by hand in C": "by_hand", "typedcall": "typedcall", "Cython": "cython",
         "nanobind": "nanobind", "pybind11": "pybind11", "cffi": "cffi", "tvm-ffi": "tvm_ffi"}


def processes(bench):
    """Returns {name: command}, and {name: reason} for missing programs. The command lacks the number of calls."""
    import build_module

    folder = pathlib.Path(tempfile.mkdtemp(prefix="typedcall-figures-"))
    commands, skipped = {}, {}
    for name, (before, made) in WAYS.items():
        on_pypy = name.startswith("PyPy")
        if on_pypy and bench.pypy is None:
            skipped[name] = "there is no PyPy with headers"
            continue
        python = bench.pypy if on_pypy else bench.python
        place = folder / ("pypy" if on_pypy else "cpython")
        if not place.exists():
            place.mkdir()
            build_module.build("pypy_loop_module.cc", place, python)
        script = folder / f"{name.replace(', ', '_')}.py"
        script.write_text(PROGRAM.format(before=before, made=made))
        commands[name] = [python, str(script), str(place)]
    return commands, skipped


def seconds(command):
    begin = time.perf_counter()
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False)
    if ended.returncode:
        raise NotHere(ended.stdout.strip().splitlines()[-1])
    return time.perf_counter() - begin


def calls(bench):
    commands, skipped = processes(bench)
    for name, command in list(commands.items()):
        try:
            seconds([*command, "1"])  # the first run fills Numba's cache
        except NotHere as error:
            skipped[name] = reason_of(error)
            del commands[name]
    counts = [1, 1000, 100_000, 1_000_000, 10_000_000]
    taken = {count: {name: [] for name in commands} for count in counts}
    for _ in range(int(bench.rounds(7, 3))):
        for count in counts:
            for name, command in commands.items():
                taken[count][name].append(seconds([*command, str(count)]))
    return [Group("", samples, skipped, count) for count, samples in taken.items()]


def arguments(bench):
    return [Group("python", group["samples"], {}, int(group["name"])) for group in bench.script(
        "peers/arguments.py", "--rounds", bench.rounds(51, 15))["groups"]]


SOURCES = [
    Source("growing_calls", "tools/figures growth", calls, [
        Comparison(
            "calls_growth", "A whole program, as its calls grow",
            "With ten million calls a program takes {CPython / Numba, from its cache} times as long on CPython "
            "as with Numba, and {PyPy, cpyext / PyPy, accelerated} times as long by cpyext as accelerated", "s", "CPython",
            {"CPython": "CPython", "Numba, compiled": "Numba", "Numba, from its cache": "Numba, kept",
             "PyPy, cpyext": "PyPy", "PyPy, accelerated": "PyPy, accelerated"}, {"program": ""},
            "The whole process: `x = add(x, 1.0)` in a loop, `add` tagged. Importing Numba alone takes longer "
            "than CPython's ten million calls.",
            x="calls", ours=("Numba, compiled", "Numba, from its cache", "PyPy, accelerated")),
    ]),
    Source("growing_arguments", "tools/figures growth", arguments, [
        Comparison(
            "arguments_growth", "A call from Python, as its arguments grow",
            "With eight doubles a typedcall wrapper takes {typedcall} times as long as a handwritten one in C, "
            "nanobind {nanobind}, pybind11 {pybind11}", "ns", "by hand in C", TOOLS,
            {"doubles": "python"}, x="arguments, all double"),
    ]),
]
