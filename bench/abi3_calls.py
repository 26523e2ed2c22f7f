#!/usr/bin/env python3
"""Measures calls to the functions of examples/abi3. They are compiled for the limited API of 3.12,
for abi3t (3.15 and later) and for this version. Usage: python bench/abi3_calls.py
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
    kinds = {}
    if sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
        kinds["limited API"] = "-DPy_LIMITED_API=0x030C0000"
    if sys.version_info >= (3, 15):
        kinds["abi3t"] = "-DPy_TARGET_ABI3T=0x030F0000"
    if not kinds:
        raise SystemExit("this needs CPython 3.12 or later with the GIL, or 3.15 or later")
    rounds = interleaved.rounds(__doc__, 30)
    with tempfile.TemporaryDirectory() as folder:
        many = {kind: load(f"{folder}/{kind}", flag) for kind, flag in kinds.items()}
        own = load(folder + "/own")
    right = True
    for name, arguments in (("between", (350.0, 10.0)), ("wind", (10.0, 2))):
        measured = {f"{name}, {kind}": loop(getattr(module, name), *arguments)
                    for kind, module in many.items()}
        measured[name + ", this version's"] = loop(getattr(own, name), *arguments)
        taken = interleaved.measure(measured, rounds)
        right &= interleaved.report(taken, CALLS, [
            (f"{name}, {kind}", name + ", this version's", 1.05, "most") for kind in many], name)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
