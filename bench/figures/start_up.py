#!/usr/bin/env python3
"""Measures the time from the import of a module to the first result of its function, for each tool and for Numba.
Usage: python bench/figures/start_up.py [--rounds N]"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "peers")]
import interleaved  # noqa: E402
import peers  # noqa: E402

ONE = """
import sys, time
begin = time.perf_counter()
sys.path.insert(0, sys.argv[1])
import loaders
result = loaders.load(sys.argv[2], sys.argv[3]).add(1.5, 2.25)
taken = time.perf_counter() - begin
assert result == 3.75, result
print(taken)
"""
# Numba imports the typed function's module, peer_typedcall, by its name.
NUMBA = """
import sys, time
begin = time.perf_counter()
sys.path.insert(0, sys.argv[2])
import numba
{function}

@numba.njit(cache={keep})
def call(x, y):
    return add(x, y)

result = call(1.5, 2.25)
taken = time.perf_counter() - begin
assert result == 3.75, result
hits = sum(call.stats.cache_hits.values())
assert hits == int(sys.argv[1]), hits
print(taken)
"""
OWN = """
@numba.njit(cache={keep})
def add(x, y):
    return x + y
"""
TYPED = "from peer_typedcall import add"
TOOLS = ("by_hand", "typedcall", "cython", "nanobind", "pybind11", "cffi", "tvm_ffi", "ctypes")


def seconds(command, environment=None):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           check=False, env=environment)
    if ended.returncode:
        raise SystemExit(ended.stderr[-2000:])
    return float(ended.stdout)


def of_numba(folder, built):
    """Yields (name, command, environment) for Numba with and without its disk cache."""
    for name, function in (("numba", OWN), ("numba over typedcall", TYPED)):
        for keep in (True, False):
            script = folder / f"{name.replace(' ', '_')}_{keep}.py"
            script.write_text(NUMBA.format(keep=keep, function=function.format(keep=keep)))
            command = [sys.executable, str(script)]
            environment = dict(os.environ, NUMBA_CACHE_DIR=str(folder / "cache"))
            if keep:
                seconds([*command, "0", built], environment)
            yield name + (", kept" if keep else ""), [*command, str(int(keep)), built], environment


def main():
    rounds = interleaved.rounds(__doc__, 15)
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    shop = peers.Workshop(os.path.join(cache, "typedcall", "figures", "built"))
    with tempfile.TemporaryDirectory() as name:
        ways = []
        for peer in TOOLS:
            try:
                path = peers.PEERS[peer][1](shop, "peer_" + peer)
            except peers.Unavailable as error:
                print(f"SKIPPED {peer}: {error}")
                continue
            ways.append((peer, [sys.executable, "-c", ONE, peers.HERE, peer, path], None))
        try:
            peers.package("numba")
            ways += of_numba(pathlib.Path(name), shop.folder)
        except peers.Unavailable as error:
            print(f"SKIPPED numba: {error}")
        taken = {way: [] for way, *_ in ways}
        for turn in range(rounds):
            for way, command, environment in ways[::-1] if turn % 2 else ways:
                taken[way].append(seconds(command, environment))
    interleaved.report(taken, 1, [(way, "by_hand", 1000, "most") for way in taken], "first call")
    return 0


if __name__ == "__main__":
    sys.exit(main())
