#!/usr/bin/env python3
"""Counts the instructions of calls, and compares the counts with the baselines in instructions.json.

Usage: tools/figures instructions [--record]     (--record writes the counts into that file)"""

import argparse
import concurrent.futures
import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import platform
import resource
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import build_module  # noqa: E402
import machine  # noqa: E402
import slots_callgrind  # noqa: E402
import wrapper_cost  # noqa: E402
from callgrind import instructions_per_iteration  # noqa: E402

BASELINE = HERE / "instructions.json"
#: A count may exceed the baseline by this fraction.
LEAST = 0.02
#: The rows of each C++ benchmark program. Each row is one iteration of a loop.
PROGRAMS = {
    "call": ("call/l_l/direct", "call/dd_d/direct", "call/dldl_d/direct"),
    "invoke": ("invoke/dd_d/invoker",),
    "resolve": ("resolve_1/site_row", "resolve_1/site_bits", "resolve_1000/find_row", "resolve_1000/find_bits"),
    "slots": ("slots/expected", "slots/scan", "slots/miss", "slots/any_foreign"),
}
#: The names of functions in wrapper_cost_generated.cc.
WRAPPERS = {"wrapper l->l": "inc", "wrapper dd->d": "add", "wrapper dldl->d": "mix"}


@dataclasses.dataclass(frozen=True)
class Row:
    """`command(count)` runs a loop `count` times. The count of the row `base` is subtracted."""

    name: str
    command: object
    base: "Row | None" = None
    # A program that starts slowly needs more iterations.
    many: int = 520_000


def rows_of(programs):
    """Returns all rows that this machine can count."""
    rows = [Row(name, functools.partial(slots_callgrind.command, str(programs / program), name))
            for program, names in PROGRAMS.items() for name in names]
    empty = Row("empty", functools.partial(wrapper_cost.command, "hand", "empty"))
    rows += [Row(name, functools.partial(wrapper_cost.command, "generated", function), empty)
             for name, function in WRAPPERS.items()]

    def in_package(name, loop, base, many=Row.many):
        return Row(name, lambda count: [sys.executable, str(HERE.parent / "package_loops.py"), loop, str(count)],
                   base, many)

    of_library = {
        "typedcall": in_package("TypedFunction d->d", "typed_function", empty),
        "tvm_ffi": in_package("tvm-ffi d->d", "tvm_ffi", empty),
        "numpy": in_package("ufunc d->d, an element", "ufunc", None, many=20_000_000),
        "apsw": in_package("SQLite d->d", "sqlite", in_package("scan", "sqlite_scan", None)),
    }
    return rows + [row for library, row in of_library.items() if importlib.util.find_spec(library)]


def counts_of(rows):
    """Returns the number of instructions per iteration, keyed by row name."""
    every = {*rows, *(row.base for row in rows if row.base)}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = dict(zip(every, pool.map(
            lambda row: instructions_per_iteration(row.command, many=row.many), every)))
    return {row.name: counted[row] - (counted[row.base] if row.base else 0) for row in rows}


def seconds(command):
    """Returns the processor time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def nanoseconds(row, count):
    """Returns the approximate time of one iteration."""
    taken = (seconds(row.command(count)) - seconds(row.command(count // 10))) / (count - count // 10) * 1e9
    return taken - (nanoseconds(row.base, count) if row.base else 0)


def key():
    """Returns the key of the baselines: everything on which counts depend except the sources."""
    compiler = machine.first_line([*shlex.split(os.environ.get("CXX", "c++")), "--version"])
    return (f"{platform.machine()}, {compiler}, {' '.join(platform.libc_ver())}, "
            f"{platform.python_implementation()} {platform.python_version()} by {platform.python_compiler()}")


def baseline(of, path=BASELINE):
    """Returns the counts recorded for a key, or None."""
    return json.loads(path.read_text(encoding="utf-8")).get(of) if path.exists() else None


def record(of, counts, path=BASELINE):
    every = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    every[of] = {name: round(count, 2) for name, count in counts.items()}
    path.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")


def compared(counts, old):
    """Compares counts with the recorded ones, which may be None, and returns [(outcome, row, text)]."""
    old, found = old or {}, []
    for name, count in counts.items():
        before = old.get(name)
        if before is None:
            found.append(("passed", name, f"{count:.1f} instructions, new"))
        elif abs(count / before - 1) <= LEAST:
            found.append(("passed", name, f"{count:.1f} instructions"))
        else:
            found.append(("failed" if count > before else "passed", name,
                          f"{count:.1f} instructions, {before:.1f} before"))
    return found + [("failed", name, f"not counted, {before:.1f} instructions before")
                    for name, before in old.items() if name not in counts]


def main():
    parser = argparse.ArgumentParser(prog="tools/figures instructions", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--record", action="store_true", help="write the counts into " + BASELINE.name)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build_module.build("adapter_callees.cc", folder)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(options.programs.resolve()), folder])
        rows = rows_of(options.programs)
        counts = counts_of(rows)
        times = {row.name: nanoseconds(row, int(1e9 / counts[row.name])) for row in rows}
    old = None if options.record else baseline(key())
    found = compared(counts, old)
    for outcome, name, text in found:
        print(f"{outcome} {name}: {text}" + (f"; {times[name]:.1f} ns" if name in times else ""))
    if options.record:
        record(key(), counts)
    elif old is None:
        print(f"unavailable baseline: none for {key()}; tools/figures instructions --record makes it")
    return int(any(outcome == "failed" for outcome, *_ in found))


if __name__ == "__main__":
    sys.exit(main())
