"""The comparisons of calls on newer CPythons and PyPys. An interpreter that is not installed is measured in the root in
which the tests use it."""

import dataclasses
import json
import re
import subprocess

from calls import SOURCES as CALLS
from calls import by_name, pypy_groups, tag_cost
from machine import first_line
from results import Comparison, NotHere, Source

PYTHONS = ("python3.15", "python3.14")
SHOWN = ("peers", "call", "slots", "tag_cost", "abi3", "sql")


def again(source, suffix, place, version, **changes):
    """Returns the same source under other names, with a shorter finding."""
    def finding(each):
        whole = each.finding[0].lower() + each.finding[1:]
        short = ", ".join(f"{label} {{{label}}}" for label in re.findall(r"{([^{}]+)}", each.finding))
        return f"{place}: {whole if source.name in ('pypy', 'cinderx') else short}"
    return dataclasses.replace(source, **changes, comparisons=[
        dataclasses.replace(each, name=each.name + suffix, finding=finding(each),
                            of=each.of or each.name, version=version)
        for each in source.comparisons])


def with_jit(bench):
    if first_line([bench.cpython, "-c", "import sys; print(sys._jit.is_available())"]) != "True":
        raise NotHere("this CPython has no JIT")
    return tag_cost(bench, "env", "PYTHON_JIT=1")


def sources(python):
    """Returns the sources of a topic."""
    suffix, version = "_" + python.replace(".", "_"), python.replace("python", "")
    place = "CPython " + version
    found = [again(source, suffix, place, version) for source in CALLS if source.name in SHOWN]
    tagged = next(source for source in CALLS if source.name == "tag_cost")
    found.append(again(tagged, "_jit" + suffix, place + ", PYTHON_JIT=1", version + " JIT", name="tag_cost_jit",
                       measure=with_jit))
    found.append(again(Source("cinderx", "bench/cinderx_loop.py", by_name("cinderx_loop", 31, 9), [
        Comparison(
            "cinderx", "A call in CinderX's JIT",
            "A loop over the boxed function takes {CPython's loop, boxed} times as long as CinderX's over the "
            "typed one", "ns", "typedcall, Static Python",
            {"typedcall, Static Python": "Static Python, by the declaration",
             "CinderX, boxed": "boxed, compiled by CinderX", "CPython's loop, boxed": "boxed, CPython's loop"},
            {"l->l": ""}, "`i = inc(i)`: each call waits for the previous one.",
            ours=("typedcall, Static Python",))]), suffix, place, version))
    return found


def in_their_root(topic, bench, only):
    """Measures a topic in the root that contains these CPythons, and returns the results."""
    file = f"/tmp/figures/{topic}.json"
    command = ["tools/figures", topic, "--output", "/tmp/figures", *["--quick"] * bench.quick,
               *(["--only", *only] if only else [])]
    ended = subprocess.run(
        ["tools/newest_pythons", "env", "PYTHON_BIN=/usr/bin/" + topic, "sh", "-c",
         f"rm -f {file}; {' '.join(command)} >&2; cat {file}"], stdout=subprocess.PIPE, check=False)
    if ended.returncode != 0:
        raise NotHere(f"tools/newest_pythons ended with status {ended.returncode}")
    found = json.loads(ended.stdout)
    # The checkout in that root has no Git history.
    found["versions"]["typedcall"] = bench.commit
    return found


def newer_pypy(suite):
    def measure(bench):
        # Set up PyPy first, because this must not count towards the timeout.
        subprocess.run(["tools/pypy_newer", "--suite", suite, "setup"], check=False)
        file = bench.run(["tools/pypy_newer", "--suite", suite, "bench", "{json}", "--rounds",
                          bench.rounds(5, 3), "--calls", bench.rounds(5_000_000, 1_000_000)])
        bench.more_versions[f"PyPy of Debian {suite}"] = file["pypy"]
        return pypy_groups(file)
    return measure


def pypy_sources():
    usual = next(source for source in CALLS if source.name == "pypy")
    return [again(usual, "_" + suite, "PyPy of Debian " + suite, suite, name="pypy_" + suite,
                  command=f"tools/pypy_newer --suite {suite} bench", measure=newer_pypy(suite))
            for suite in ("trixie", "sid")]
