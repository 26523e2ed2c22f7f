"""The comparisons of the cost of one call: from Python, from C++, and in libraries that call functions in loops."""

from results import Comparison, Group, NotHere, Source

from machine import read_groups, read_peers

SHAPES = {"l->l": "l->l", "dd->d": "dd->d", "dldl->d": "dldl->d"}
PEERS = {
    "by hand in C": "by_hand", "typedcall": "typedcall", "Cython": "cython",
    "nanobind": "nanobind", "pybind11": "pybind11", "cffi": "cffi",
    "Numba's own": "numba", "tvm-ffi": "tvm_ffi", "ctypes": "ctypes",
}


def peers(bench):
    return read_peers(bench.script(
        "peers/run.py", "--rounds", bench.rounds(101, 21), "--calls", "5000", "--build-dir",
        bench.folder, "--only", *PEERS.values()))


def tag_cost(bench, *prefix):
    if bench.programs is None:
        raise NotHere("it is built by Bazel, which is not here")
    return [Group(group["name"], group["samples"]) for group in bench.script(
        "tag_cost.py", "--rounds", bench.rounds(101, 31), "--calls", "30000",
        python=bench.cpython, prefix=prefix)["groups"]]


def class_data(bench):
    if bench.programs is None:
        raise NotHere("it is built by Bazel, which is not here")
    return bench.interleaved("class_data.py", 101, 31, "--classes", "10", python=bench.cpython)


def abi3(bench):
    found = bench.interleaved("abi3_calls.py", 31, 11, python=bench.need_newest())
    return [Group(group.name, {name.partition(", ")[2]: taken for name, taken in group.samples.items()},
                  group.skipped) for group in found]


def pypy(bench):
    return pypy_groups(bench.script(
        "pypy_loop.py", "--pypy", bench.need_pypy(), "--cpython", bench.cpython,
        "--rounds", bench.rounds(5, 3), "--calls", bench.rounds(5_000_000, 1_000_000)))


def pypy_groups(file):
    groups = []
    for signature in SHAPES:
        samples = {"PyPy " + way: [on_pypy[signature][way] for on_pypy, _ in file["rounds"]]
                   for way in file["rounds"][0][0][signature]}
        samples["CPython boxed"] = [on_cpython[signature]["boxed"]
                                    for _, on_cpython in file["rounds"]]
        groups.append(Group(signature, samples))
    return groups


def application(bench):
    return [Group("", group["samples"]) for group in bench.script(
        "application/run.py", "--pypy", bench.pypy or "", "--rounds", bench.rounds(5, 3),
        "--steps", bench.rounds(400, 100))["groups"]]


def per_point(bench):
    """Returns the samples per point. One iteration of these benchmarks maps a million points."""
    groups = bench.program("loops", "/(map_(d_d|dd_d|l_l)|integrate)/(pointer|loop|direct|vectorcall)$")
    return [Group(group.name, {name: [each / 1e6 for each in taken]
                               for name, taken in group.samples.items()}) for group in groups]


#: Maps each script to {function: (boxed loop, Numba loop)}, in the script's own names.
ADOPTERS = {
    "pyerfa_from_outside": {"pyerfa, anp": ("anp, Python loop", "anp, Numba"),
                            "pyerfa, gmst82": ("gmst82, Python loop", "gmst82, Numba")},
    "noise_octaves": {"noise, snoise2": ("snoise2(...), boxed", "snoise2(...), Numba")},
    "pycalcpp_edited": {"pycalcpp, division": ("division, Python loop", "division, Numba")},
}


def adopters(bench):
    groups = []
    for script, functions in ADOPTERS.items():
        try:
            samples = {name: taken for group in bench.interleaved(f"adopters/{script}.py", 9, 5)
                       for name, taken in group.samples.items()}
        except NotHere as error:
            groups += [Group(name, {}, dict.fromkeys(("boxed", "Numba"), error)) for name in functions]
            continue
        groups += [Group(name, {"boxed": samples[boxed], "Numba": samples[compiled]})
                   for name, (boxed, compiled) in functions.items()]
    return groups


def threads(bench):
    if bench.free_threaded is None:
        raise NotHere("there is no free-threaded CPython")
    return read_groups(bench.script("threads.py", "--rounds", bench.rounds(31, 9), python=bench.free_threaded,
                                    prefix=("env", "PYTHON_GIL=0")))


def by_name(name, usual, quick):
    return lambda bench: bench.interleaved(name + ".py", usual, quick)


def by_program(name, pattern=".", least=0):
    return lambda bench: bench.program(name, pattern, least)


SOURCES = [
    Source("peers", "tools/peers run", peers, [
        Comparison(
            "from_python", "A call from Python",
            "A typedcall wrapper takes {typedcall} times as long as a handwritten one in C, nanobind {nanobind}, "
            "pybind11 {pybind11}, ctypes {ctypes}", "ns", "by hand in C", PEERS,
            {shape: "python " + shape for shape in SHAPES},
            "A Python loop calls one C function through each tool's wrapper. cffi and ctypes release the GIL. "
            "\"Numba's own\" is a function compiled by Numba. The handwritten wrappers use PyFloat_AsDouble and "
            "PyLong_AsLong; typedcall's read floats and small ints directly."),
        Comparison(
            "from_c_boxed", "A boxed call from C",
            "Called from C, a typedcall wrapper takes {typedcall} times as long as a handwritten one, nanobind "
            "{nanobind}, pybind11 {pybind11}", "ns", "by hand in C", PEERS,
            {shape: "vectorcall " + shape for shape in SHAPES},
            "`PyObject_Vectorcall` with prepared arguments: the cost for native code that ignores tags."),
    ]),
    Source("call", "tools/bench call",
           # Each of the sixteen repetitions uses a different position in a cache line.
           by_program("call", "call/(dd_d|l_l|dldl_d)/", 16), [
        Comparison(
            "from_cpp", "A call from C++",
            "A typed call from C++ takes {typedcall} times as long as one through a C pointer, a boxed call "
            "{boxed call} times", "ns", "C function pointer",
            {"C function pointer": "pointer", "typedcall": "direct", "libffi": "ffi",
             "boxed call": "boxed"},
            {"l->l": "call/l_l", "dd->d": "call/dd_d", "dldl->d": "call/dldl_d"},
            "typedcall is `typedcall::function`, resolved before the loop. A boxed call packs arguments and unpacks "
            "the result. Under the usual CPython, each round has the loop at another position in a cache line."),
    ]),
    Source("invoke", "tools/bench invoke", by_program("invoke", "(pointer|invoker|ffi_call)$"), [
        Comparison(
            "run_time_signature", "A signature known only at run time",
            "typedcall's invoker takes {typedcall::invoker} times as long as a C pointer, libffi {libffi} times",
            "ns", "C function pointer",
            {"C function pointer": "pointer", "typedcall::invoker": "invoker", "libffi": "ffi_call"},
            {"dd->d": "invoke/dd_d", "dldl->d": "invoke/dldl_d", "ldldldld->d": "invoke/ldldldld_d"},
            "The arguments are in an array.", ours=("typedcall::invoker",)),
    ]),
    Source("slots", "tools/bench slots",
           # Each of the sixteen repetitions uses a different position in a cache line.
           by_program("slots", "(pointer|expected|scan|miss|dict|getattr|any_foreign)$", 16), [
        Comparison(
            "slots", "Finding the function behind an object, and calling it",
            "With a slot look-up a call takes {typedcall, expected position} times as long as without, with the "
            "type's dictionary {capsule in the type's dict}", "ns", "pointer at hand",
            {"pointer at hand": "pointer", "typedcall, no slot there": "miss",
             "typedcall, expected position": "expected", "typedcall, last of eight": "scan",
             "typedcall, foreign type": "any_foreign", "capsule in the type's dict": "dict",
             "capsule by getattr": "getattr"}, {"d->d": "slots"},
            ours=("typedcall, expected position", "typedcall, last of eight", "typedcall, foreign type",
                  "typedcall, no slot there")),
    ]),
    Source("slots_sep200", "tools/bench slots_sep200", by_program("slots_sep200", least=16), [
        Comparison(
            "slots_sep200", "SEP 200's own comparisons",
            "A table in the type takes {flag, table in the type} times the bare call, one behind a pointer "
            "{flag, table by pointer}; a metaclass instead of a flag {metaclass, table by pointer}", "ns",
            "pointer at hand",
            {"pointer at hand": "pointer", "flag, table by pointer": "flag_table",
             "flag, table in the type": "flag_embedded", "metaclass, table by pointer": "metaclass_table",
             "metaclass, which may be derived": "may_be_derived", "metaclass, which is derived": "is_derived",
             "typedcall": "typedcall"}, {"d->d": "slots_sep200"},
            "The SEP measured a penalty of 0.54 ns for the table (1.87 GHz), and no difference in the three."),
    ]),
    Source("class_data", "tools/bench class_data.py", class_data, [
        Comparison(
            "class_data", "Finding a class's C pointer from an instance",
            "A custom slot takes {custom slot: class} times as long as a walk along the MRO for a plain class, and "
            "{custom slot: behind 4 mixins} times behind four mixins",
            "ns", "walk along the MRO",
            {"walk along the MRO": "metaclass, MRO walk", "custom slot": "custom slot",
             "module variable": "module variable", "metaclass's field": "metaclass",
             "meta-metaclass": "meta-metaclass", "dictionary": "dictionary"},
            {"class": "class", "Python subclass": "subclass", "behind 4 mixins": "mixed"},
            "Each access waits for the previous one. For a plain class, the walk ends at the first type. A "
            "metaclass's field and a dictionary find nothing for subclasses: "
            "[examples/class_data](../examples/class_data/README.md).", ours=("custom slot",)),
    ]),
    Source("resolve", "tools/bench resolve", by_program("resolve"), [
        Comparison(
            "resolve", "Finding the entry of a Python callable, and calling it",
            "A call site that has seen the function takes {call site, seen} times as long as the bare call, a "
            "boxed call {boxed call}", "ns", "pointer at hand",
            {"pointer at hand": "pointer", "call site, seen": "site_row",
             "call site, flag bits": "site_bits", "found anew": "find_row", "boxed call": "boxed"},
            {"1 function": "resolve_1", "16": "resolve_16", "1000": "resolve_1000"},
            ours=("call site, seen", "call site, flag bits", "found anew")),
    ]),
    Source("loops", "tools/bench loops", per_point, [
        Comparison(
            "arrays", "A million points from C++",
            "typedcall::loop takes {typedcall::loop} times as long as a handwritten loop, the best boxed loop "
            "{boxed, vectorcall}", "ns", "loop by hand",
            {"loop by hand": "pointer", "typedcall::loop": "loop", "typedcall, one by one": "direct",
             "boxed, vectorcall": "vectorcall"},
            {"d->d": "loops/map_d_d", "dd->d": "loops/map_dd_d", "l->l": "loops/map_l_l",
             "integration": "loops/integrate"},
            ours=("typedcall::loop", "typedcall, one by one")),
    ]),
    Source("numba", "tools/bench_package numba_loop", by_name("numba_loop", 15, 7), [
        Comparison(
            "numba", "A call in Numba",
            "In Numba a tagged function takes {typedcall} times as long as one declared by ctypes, CPython's loop "
            "{CPython, boxed}", "ns", "declared by ctypes",
            {"declared by ctypes": "Numba, ctypes", "typedcall": "Numba, tagged",
             "Numba's own": "Numba, its own function", "CPython, boxed": "CPython"}, {"d->d": ""},
            "A nopython loop in which each call waits for the previous one. Numba's own function is inlined."),
    ]),
    Source("fallback", "tools/bench_package numba_fallback", by_name("numba_fallback", 15, 7), [
        Comparison(
            "fallback", "A function that checks its arguments, in Numba",
            "A function that may fall back takes {typedcall, falls back} times as long as one without the check, "
            "CPython's loop {CPython, boxed}", "ns", "without the check",
            {"without the check": "bare, in a chain", "typedcall, falls back": "falls back, in a chain",
             "CPython, boxed": "CPython, boxed"}, {"d->d": ""}, "Each call waits for the previous one.",
            ours=("typedcall, falls back",)),
    ]),
    Source("numpy", "tools/bench_package numpy_ufunc", by_name("numpy_ufunc", 51, 11), [
        Comparison(
            "numpy", "A million elements in NumPy",
            "typedcall.ufunc takes {typedcall.ufunc} times as long as a handwritten C ufunc, numpy.vectorize "
            "{numpy.vectorize}", "ns", "ufunc by hand in C",
            {"ufunc by hand in C": "ufunc, by hand in C", "typedcall.ufunc": "ufunc, tagged",
             "numba.vectorize": "numba.vectorize, its own function",
             "numpy.frompyfunc": "numpy.frompyfunc", "numpy.vectorize": "numpy.vectorize"},
            {"d->d": ""}, ours=("typedcall.ufunc",)),
    ]),
    Source("gufunc", "tools/bench_package numpy_gufunc", by_name("numpy_gufunc", 51, 11), [
        Comparison(
            "gufunc", "Rows of an array in NumPy",
            "A generalised ufunc of a tagged function takes {typedcall.ufunc} times as long as a handwritten one, "
            "{gaps, copied} if rows have gaps", "ns", "by hand in C",
            {"by hand in C": "gufunc, by hand in C", "typedcall.ufunc": "gufunc, tagged",
             "gaps, copied": "gufunc, tagged, rows with gaps", "numpy.vectorize": "numpy.vectorize"},
            {f"rows of {size}": f"rows of {size}" for size in (3, 30, 300)},
            ours=("typedcall.ufunc", "gaps, copied")),
    ]),
    Source("quad", "tools/bench_package scipy_quad", by_name("scipy_quad", 51, 15), [
        Comparison(
            "quad", "An evaluation in SciPy's quad",
            "quad takes {typedcall} times as long as with a handwritten LowLevelCallable, {Python callable} with "
            "the Python function", "ns", "LowLevelCallable by hand",
            {"LowLevelCallable by hand": "quad, LowLevelCallable by hand", "typedcall": "quad, tagged",
             "Python callable": "quad, Python callable"}, {"d->d": ""}),
    ]),
    Source("pypy", "tools/bench_package pypy_loop", pypy, [
        Comparison(
            "pypy", "A call on PyPy",
            "An accelerated call is {cpyext, boxed / typedcall, accelerated} times as fast as one by cpyext", "ns", "pointer by cffi",
            {"pointer by cffi": "PyPy pointer", "typedcall, accelerated": "PyPy accelerated",
             "typedcall, resolved": "PyPy resolved", "CPython, boxed": "CPython boxed",
             "cpyext, boxed": "PyPy boxed"}, SHAPES,
            ours=("typedcall, accelerated", "typedcall, resolved")),
    ]),
    Source("sql", "tools/bench_package sql_sqlite", by_name("sql_sqlite", 21, 7), [
        Comparison(
            "sqlite", "A row in SQLite",
            "A query with a typed function takes {typedcall} times as long as with SQLite's own abs, with a Python "
            "function {Python function}", "ns", "built in",
            {"built in": "abs(x), built in", "scan alone": "scan alone", "typedcall": "typed",
             "typedcall, with the GIL": "typed, for which the GIL is taken",
             "C function, boxed": "the same, boxed", "Python function": "Python function"},
            {"APSW": "APSW", "sqlite3": "sqlite3"}, "The whole query, `select sum(f(x))`.",
            ours=("typedcall", "typedcall, with the GIL")),
    ]),
    Source("tag_cost", "tools/bench tag_cost.py", tag_cost, [
        Comparison(
            "tag_cost", "The cost of a tag to Python callers",
            "A tag costs a Python caller nothing ({tagged} times); flag bits would ({flag bits} times)",
            "ns", "untagged",
            {"untagged": "untagged", "tagged": "tagged", "flag bits": "flagged"},
            {"METH_O": "METH_O", "METH_FASTCALL": "METH_FASTCALL"}, ours=("tagged",)),
    ]),
    Source("abi3", "bench/abi3_calls.py", abi3, [
        Comparison(
            "abi3", "One binary for many versions",
            "A module compiled for the limited API takes {limited API} times as long as one for its version", "ns",
            "this version's", {"this version's": "this version's", "limited API": "limited API",
                               "abi3t": "abi3t"},
            {"dd->d": "between", "dl->d": "wind"},
            "One C source, called in a Python loop by the newest CPython installed.",
            ours=("limited API", "abi3t")),
    ]),
    Source("application", "tools/bench_package application", application, [
        Comparison(
            "application", "A whole program",
            "A simulation with a C extension runs {cpyext, boxed / PyPy, accelerated} times as fast on "
            "PyPy if accelerated, and {CPython, boxed / Numba} times as fast in Numba as on CPython", "s",
            "CPython, boxed",
            {"CPython, boxed": "cpython, boxed", "cpyext, boxed": "pypy, boxed",
             "PyPy, accelerated": "pypy, accelerated", "Numba": "cpython, numba"}, {"program": ""},
            ours=("PyPy, accelerated", "Numba")),
    ]),
    Source("clusters", "bench/clusters_dask.py",
           lambda bench: bench.interleaved("clusters_dask.py", 5, 3), [
        Comparison(
            "clusters", "An element of an array on a Dask cluster",
            "On a Dask cluster numpy.vectorize takes {numpy.vectorize} times as long as a ufunc of a typed function",
            "ns", "typedcall.ufunc",
            {"typedcall.ufunc": "typed", "array and sum alone": "sum alone", "numpy.vectorize": "boxed"},
            {"one process": "one process", "two processes": "two processes"},
            "Wall clock of the sum of f(x) over 2 GB in chunks; numpy.vectorize gets a sixteenth of the data.",
            ours=("typedcall.ufunc",)),
    ]),
    Source("adopters", "bench/adopters/pyerfa_from_outside.py", adopters, [
        Comparison(
            "adopters", "Modules of others",
            "Tagged functions of modules from PyPI run {boxed, Python loop / Numba} times as fast in Numba as in a "
            "Python loop", "ns", "boxed, Python loop",
            {"boxed, Python loop": "boxed", "Numba": "Numba"},
            {name: name for functions in ADOPTERS.values() for name in functions},
            "Each script in `bench/adopters` tags one module, from outside or in its source.", ours=("Numba",)),
    ]),
]

THREADS = [
    Source("threads", "bench/threads.py", threads, [
        Comparison(
            "threads", "Two threads without the GIL",
            "Two threads make {wrapper} times the calls of one through a wrapper, {TypedFunction} times through a "
            "TypedFunction; math.sqrt {math.sqrt}", "times", "one thread",
            {"one thread": "one thread", "math.sqrt": "math.sqrt", "Python function": "Python function",
             "wrapper": "wrapper", "TypedFunction": "TypedFunction", "call site": "call_site",
             "resolve()": "resolve()", "numpy.sqrt": "numpy.sqrt", "ufunc": "ufunc"}, {"": ""},
            "Both threads call the same function, in Python's loops or, for the call site, in a C++ loop. Each thread "
            "has 1,000 elements of its own for ufuncs. In CPython 3.13t, both threads count the references to a "
            "called Python function or TypedFunction, and wait for each other; 3.14 can defer that.",
            ours=("wrapper", "TypedFunction", "call site", "resolve()", "ufunc"))]),
]
