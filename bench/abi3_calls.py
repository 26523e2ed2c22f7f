#!/usr/bin/env python3
"""What one binary for many versions costs a caller: the functions of examples/abi3, compiled for the
limited API of 3.12 and for this version, called in a Python loop. python bench/abi3_calls.py
"""
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
from itertools import repeat

import build_module
import interleaved

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "examples/abi3/angles.c"
CALLS = 300_000
# The name that both binaries have for the loader.
MODULE = "angles"


def load(folder, *flags):
    made = pathlib.Path(folder) / (MODULE + ".so")
    made.parent.mkdir()
    subprocess.run(
        ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", *flags,
         "-I" + sysconfig.get_path("include"), "-I" + str(SOURCE.parents[2]), str(SOURCE),
         "-o", str(made)], check=True)
    return build_module.load_file(MODULE, str(made))


def loop(function, *arguments):
    def calls():
        for _ in repeat(None, CALLS):
            function(*arguments)
    return calls


def main():
    if sys.version_info < (3, 12) or sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("this needs CPython 3.12 or later, with the GIL")
    rounds = interleaved.rounds(__doc__, 30)
    with tempfile.TemporaryDirectory() as folder:
        one = load(folder + "/one", "-DPy_LIMITED_API=0x030C0000")
        own = load(folder + "/own")
    right = True
    for name, arguments in (("between", (350.0, 10.0)), ("wind", (10.0, 2))):
        taken = interleaved.measure({
            name + ", limited API": loop(getattr(one, name), *arguments),
            name + ", this version's": loop(getattr(own, name), *arguments),
        }, rounds)
        right &= interleaved.report(taken, CALLS, [
            (name + ", limited API", name + ", this version's", 1.05, "most")])
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
