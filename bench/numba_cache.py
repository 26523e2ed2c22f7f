"""Measures the start of a program with twenty Numba functions that call typed functions: with a new
disk cache, with a full one, and without a cache. Usage: python bench/numba_cache.py [--rounds N]"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import build_module
import interleaved

callees = build_module.load("adapter_callees.cc")

FUNCTIONS = 20
HEAD = """
import sys
sys.path.insert(0, sys.argv[1])
import numba
import adapter_callees as callees
"""
FUNCTION = """
@numba.njit(cache={keep})
def function_{i}(count, x):
    total = 0.0
    for k in range(count):
        total += callees.checked_part(x + {i}) * callees.bare_part(x)
    return total
"""
TAIL = """
import time
# Numba loads most of itself on the first compilation, of any function.
begin = time.perf_counter()
numba.njit(cache={keep})(lambda x: x + 1)(1)
own = time.perf_counter() - begin
begin = time.perf_counter()
total = sum(each(10, 2.0) for each in functions)
taken = time.perf_counter() - begin
hits = sum(sum(each.stats.cache_hits.values()) for each in functions)
print(hits, own, taken, total)
"""


def program(keep):
    parts = [FUNCTION.format(keep=keep, i=i) for i in range(FUNCTIONS)]
    names = ", ".join(f"function_{i}" for i in range(FUNCTIONS))
    return HEAD + "".join(parts) + f"functions = [{names}]\n" + TAIL.format(keep=keep)


def run(script, cache):
    """Returns the seconds of the process, of Numba's start and of the first calls, the number of
    cache hits, and the sum of the results."""
    begin = time.perf_counter()
    printed = subprocess.run(
        [sys.executable, script, str(pathlib.Path(callees.__file__).parent)], check=True,
        stdout=subprocess.PIPE, env=dict(os.environ, NUMBA_CACHE_DIR=str(cache))).stdout.split()
    hits, own, taken, total = map(float, printed)
    return time.perf_counter() - begin, own, taken, int(hits), total


def main():
    rounds = interleaved.rounds(__doc__, 5)
    ways = {"kept, first time": [], "kept, later": [], "not kept": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kept, other = folder / "kept.py", folder / "not_kept.py"
        kept.write_text(program(True))
        other.write_text(program(False))
        total = run(other, folder)[4]
        for i in range(rounds):
            cache = folder / f"cache{i}"
            for way, script, hits in (("kept, first time", kept, 0), ("kept, later", kept, FUNCTIONS),
                                      ("not kept", other, 0)):
                ran = run(script, cache)
                if ran[3:] != (hits, total):
                    raise SystemExit(f"{way}: hits {ran[3]} instead of {hits}, sum {ran[4]}")
                ways[way].append(ran)
    for way, taken in ways.items():
        whole, own, first = (statistics.median(each[at] for each in taken) for at in range(3))
        print(f"{way:17} process {whole:6.2f} s, in it Numba's own start {own:6.3f} s, "
              f"first calls of the {FUNCTIONS} functions {first:6.3f} s")
    for at, part in enumerate(("process", "Numba's own start", "first calls")):
        interleaved.keep(part, "s", {way: [each[at] for each in taken] for way, taken in ways.items()})
    ratio = statistics.median(
        a[2] / b[2] for a, b in zip(ways["kept, first time"], ways["kept, later"]))
    print(f"first calls, first time / later: {ratio:.1f}, at least 10: "
          + ("holds" if ratio >= 10 else "MISSED"))
    return 0 if ratio >= 10 else 1


if __name__ == "__main__":
    sys.exit(main())
