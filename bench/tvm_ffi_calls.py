"""Compares calls to a tvm-ffi function and to a typed function, from Python and from C++, with and without a bridge.
Usage: python bench/tvm_ffi_calls.py [--rounds N]"""

import pathlib
import sys

import build_module
import interleaved
import tvm_ffi
import typedcall
from tvm_ffi import libinfo
from typedcall import Flags
from typedcall.tvm_ffi import function, typed_function

CALLS = 50_000


def load():
    folder = str(pathlib.Path(libinfo.find_libtvm_ffi()).parent)
    return build_module.load("tvm_ffi_calls.cc", (
        "-isystem", libinfo.find_include_path(), "-isystem", libinfo.find_dlpack_include_path(),
        "-L" + folder, "-Wl,-rpath," + folder, "-ltvm_ffi"))


def from_python(f):
    def run():
        x = 0.5
        for _ in range(CALLS):
            x = f(x)
        return x

    return run


def main():
    rounds = interleaved.rounds(__doc__, 51)
    callees = load()
    callees.register_step()
    own = tvm_ffi.get_global_func("bench.step")
    bridged, boxed = function(callees.step), tvm_ffi.convert(callees.step)
    typed = typed_function("bench.step", "d->d", flags=Flags.PURE | Flags.THREAD_SAFE)
    tvm_ffi.register_global_func("bench.bridged", bridged, override=True)
    tvm_ffi.register_global_func("bench.boxed", boxed, override=True)

    print("from Python, tvm-ffi", tvm_ffi.__version__)
    python = {
        "tvm-ffi's own function": from_python(own),
        "typed, its wrapper": from_python(callees.step),
        "typed, as a function of tvm-ffi": from_python(bridged),
        "wrapper, as tvm-ffi converts it": from_python(boxed),
        "tvm-ffi's own, as a typed one": from_python(typedcall.resolve(typed, "d->d")),
    }
    held = [interleaved.report(interleaved.measure(python, rounds), CALLS, [
        ("typed, as a function of tvm-ffi", "tvm-ffi's own function", 1.1, "most"),
        ("wrapper, as tvm-ffi converts it", "typed, as a function of tvm-ffi", 1.5, "least"),
        ("tvm-ffi's own, as a typed one", "tvm-ffi's own function", 1, "most"),
    ], "from Python")]

    print("\nfrom C++")
    contestants = {
        "tvm-ffi's own, by tvm-ffi": lambda: callees.by_tvm("bench.step", CALLS),
        "typed, by tvm-ffi": lambda: callees.by_tvm("bench.bridged", CALLS),
        "wrapper that tvm-ffi converted, by tvm-ffi": lambda: callees.by_tvm("bench.boxed", CALLS),
        "typed, by typedcall": lambda: callees.by_typedcall(callees.step, CALLS),
        "tvm-ffi's own, by typedcall": lambda: callees.by_typedcall(typed, CALLS),
    }
    results = {run() for run in (*python.values(), *contestants.values())}
    if len(results) != 1:
        raise SystemExit("the results differ: %s" % results)
    held.append(interleaved.report(interleaved.measure(contestants, rounds), CALLS, [
        ("typed, by tvm-ffi", "tvm-ffi's own, by tvm-ffi", 2.5, "most"),
        ("wrapper that tvm-ffi converted, by tvm-ffi", "typed, by tvm-ffi", 3, "least"),
        ("tvm-ffi's own, by typedcall", "tvm-ffi's own, by tvm-ffi", 8, "most"),
    ], "from C++"))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
