"""Measures the loop `i = inc(i)` of examples/cinderx on CPython, and under CinderX's JIT with and without a
declaration. Needs CPython 3.14 or later, cinderx and typedcall. Usage: python bench/cinderx_loop.py [--rounds N]"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

import build_module
import interleaved

# The folder of the example's module, and the code of the loop.
EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples/cinderx"
CALLS = 5_000_000
BOXED = """
from counter import inc


def run(count):
    i = 0
    while i < count:
        i = inc(i)
    return i
"""
JIT = """
from cinderx.compiler.strict.loader import install
install()
import cinderx.jit
from {module} import run
cinderx.jit.force_compile(run)
assert cinderx.jit.is_jit_compiled(run)
"""
# Measures processor time after a warm-up run, without start-up and compilation.
TIME = """
import time
assert run(10000) == 10000
begin = time.process_time()
assert run({calls}) == {calls}
print(time.process_time() - begin)
"""
WAYS = {
    "Static Python, by the declaration": JIT.format(module="static_loop") + TIME,
    "boxed, compiled by CinderX": JIT.format(module="boxed_loop") + TIME,
    "boxed, CPython's loop": "from boxed_loop import run\n" + TIME,
}


def python(folder, *arguments):
    ended = subprocess.run([sys.executable, *arguments], env=dict(os.environ, PYTHONPATH=folder), text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if ended.returncode != 0:
        sys.exit("%s failed:\n%s" % (arguments, ended.stderr[-2000:]))
    return ended.stdout


def main():
    rounds = interleaved.rounds(__doc__, 9)
    for needed in ("cinderx", "typedcall"):
        if importlib.util.find_spec(needed) is None:
            sys.exit("cinderx_loop: %s has no %s" % (sys.executable, needed))
    with tempfile.TemporaryDirectory() as folder:
        build_module.build(EXAMPLE / "counter.cc", folder)
        declared = python(folder, str(EXAMPLE / "write_declarations.py"), "counter")
        behind = (EXAMPLE / "loop_behind_declarations.py").read_text(encoding="utf-8")
        pathlib.Path(folder, "static_loop.py").write_text(declared + behind, encoding="utf-8")
        pathlib.Path(folder, "boxed_loop.py").write_text(BOXED, encoding="utf-8")
        taken = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way, program in WAYS.items():
                taken[way].append(float(python(folder, "-c", program.format(calls=CALLS))))
    static, jitted, boxed = WAYS
    return not interleaved.report(taken, CALLS, [(boxed, static, 15, "least"), (jitted, static, 4, "least")])


if __name__ == "__main__":
    sys.exit(main())
