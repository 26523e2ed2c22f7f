"""The comparisons of modules: compile time, size, import time and Numba's cache."""

from results import Comparison, Group, Source

TOOLS = {"by hand in C": "by_hand", "typedcall": "typedcall", "Cython": "cython",
         "nanobind": "nanobind", "pybind11": "pybind11", "cffi": "cffi", "tvm-ffi": "tvm_ffi"}
COMPILED = {**TOOLS, "typedcall, compiled once": "typedcall_once"}


def cost(bench, functions, rounds, tools):
    file = bench.script("peers/module_cost.py", "--functions", functions, "--rounds", rounds, "--only",
                        *tools.values())
    file["skipped"] = {name.lower(): reason for name, reason in file["skipped"].items()}
    return file


def seconds_of(file, functions):
    """Returns the seconds that it takes to generate and compile a module."""
    made, key = file["seconds_to_make_c"], "seconds" if functions else "seconds_of_one"
    if not functions:
        return file[key]
    return {name: [a + b for a, b in zip(values, made[name])] if made.get(name) else values
            for name, values in file[key].items()}


def modules(bench):
    file = cost(bench, "50", bench.rounds(5, 1), COMPILED)
    sizes = {name: [size] for name, size in file["bytes"].items()}
    return [Group("seconds", seconds_of(file, 50), file["skipped"]),
            Group("bytes", sizes, file["skipped"])]


def growing(bench):
    """Measures the compile time and size of modules of 1 to 1000 functions."""
    groups = []
    for functions in (10, 100) if bench.quick else (10, 100, 1000):
        file = cost(bench, str(functions), bench.rounds(2, 1) if functions < 1000 else "1", TOOLS)
        if not groups:
            groups += [Group("seconds", file["seconds_of_one"], file["skipped"], 1),
                       Group("bytes", {name: [size] for name, size in file["bytes_of_one"].items()},
                             file["skipped"], 1)]
        groups += [Group("seconds", seconds_of(file, functions), file["skipped"], functions),
                   Group("bytes", {name: [size] for name, size in file["bytes"].items()},
                         file["skipped"], functions)]
    return groups


def numba_cache(bench):
    return bench.interleaved("numba_cache.py", 5, 3)


def headers(bench):
    return [Group(group["name"], group["samples"]) for group in bench.script(
        "weight.py", "--rounds", bench.rounds(9, 3), "--modules", "0")["groups"]]


def start_up(bench):
    return bench.interleaved("figures/start_up.py", 15, 5)


SOURCES = [
    Source("modules", "tools/peers module_cost", modules, [
        Comparison(
            "compile_time", "Compiling a module of 50 functions",
            "A module of 50 functions takes {typedcall} times as long to compile as a handwritten one in C, nanobind "
            "{nanobind}, Cython {Cython}, pybind11 {pybind11}", "s", "by hand in C", COMPILED, {"-O2": "seconds"},
            "Processor seconds at `-O2`, with Cython's translation and without the libraries of nanobind and "
            "typedcall that are compiled once.", ours=tuple(name for name in COMPILED if name.startswith("typedcall"))),
        Comparison(
            "module_size", "The size of that module",
            "The stripped module has {typedcall} times the bytes of the handwritten one, nanobind's {nanobind}, "
            "Cython's {Cython}, pybind11's {pybind11}", "bytes", "by hand in C", COMPILED, {"stripped": "bytes"},
            "The libraries of nanobind and typedcall are linked in."),
    ]),
    Source("headers", "tools/bench weight.py", headers, [
        Comparison(
            "headers", "Including a header",
            "typedcall/resolve.h takes {typedcall/resolve.h} times the compile time of Python.h alone, "
            "typedcall/provider.h {typedcall/provider.h}", "s", "Python.h",
            {"Python.h": "Python.h", "typedcall/tag.h": "typedcall/tag.h",
             "typedcall/resolve.h": "typedcall/resolve.h",
             "typedcall/provider.h": "typedcall/provider.h", "typedcall/loop.h": "typedcall/loop.h"},
            {"g++ -fsyntax-only": "headers"},
            ours=("typedcall/tag.h", "typedcall/resolve.h", "typedcall/provider.h",
                  "typedcall/loop.h")),
    ]),
]

START_UP = [
    Source("start_up", "tools/figures start_up", start_up, [
        Comparison(
            "first_call", "From the import to the first result",
            "Importing and calling a typedcall module takes {typedcall} times as long as a handwritten one, Numba "
            "{Numba's own, compiled} without its cache, {Numba's own, cached} with it", "ns",
            "by hand in C",
            {**{label: name for label, name in TOOLS.items()}, "ctypes": "ctypes",
             "Numba's own, cached": "numba, kept", "Numba's own, compiled": "numba",
             "typed in Numba, cached": "numba over typedcall, kept",
             "typed in Numba, compiled": "numba over typedcall"},
            {"one function": "first call"},
            "In a fresh process, after the interpreter's start. tvm-ffi and Numba import their packages, "
            "NumPy included.",
            ours=("typedcall", "typed in Numba, cached", "typed in Numba, compiled")),
    ]),
    Source("numba_cache", "tools/bench_package numba_cache", numba_cache, [
        Comparison(
            "numba_cache", "Twenty functions in Numba's cache",
            "With Numba's disk cache the first calls of twenty functions over typed ones take "
            "{kept, later} times as long as without it", "s", "not kept",
            {"not kept": "not kept", "kept, first time": "kept, first time",
             "kept, later": "kept, later"},
            {"first calls": "first calls", "whole process": "process"}, ours=("kept, later",)),
    ]),
]

GROWTH = [
    Source("growing_modules", "tools/figures growth", growing, [
        Comparison(
            "compile_growth", "Compile time as a module grows",
            "With the most functions, typedcall takes {typedcall} times the compile time of a handwritten module, "
            "nanobind {nanobind}, Cython {Cython}, pybind11 {pybind11}", "s", "by hand in C", TOOLS, {"seconds": "seconds"},
            x="functions in the module"),
        Comparison(
            "size_growth", "Size as a module grows",
            "With the most functions, typedcall's module has {typedcall} times the bytes of the handwritten one, "
            "nanobind's {nanobind}, Cython's {Cython}, pybind11's {pybind11}", "bytes", "by hand in C", TOOLS,
            {"bytes": "bytes"}, x="functions in the module"),
    ]),
]
