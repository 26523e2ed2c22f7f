"""The comparisons of calls in databases, C libraries with callbacks, JAX and tvm-ffi."""

from calls import by_name
from results import Comparison, Source

SOURCES = [
    Source("duckdb", "tools/bench_package sql_duckdb", by_name("sql_duckdb", 21, 5), [
        Comparison(
            "duckdb", "A row in DuckDB",
            "A query with a typed function takes {typedcall} times as long as with DuckDB's own abs, with a Python "
            "function {Python function}", "ns", "built in",
            {"built in": "abs(x), built in", "scan alone": "scan alone", "typedcall": "typed",
             "typedcall, with the GIL": "typed, for which the GIL is taken",
             "Arrow function": "Arrow function", "C function, boxed": "the same, boxed",
             "Python function": "Python function"},
            {"DuckDB": ""}, "The whole query, `select sum(f(x))`, in one thread.",
            ours=("typedcall", "typedcall, with the GIL")),
    ]),
    Source("callbacks", "tools/bench_package callbacks", by_name("callbacks", 15, 5), [
        Comparison(
            "callbacks", "Called back by C libraries",
            "A library with a typed callback takes {typedcall} times as long as with a handwritten one, with a "
            "Python function {Python function}", "ns", "by hand in C",
            {"by hand in C": "by hand in C", "typedcall": "typed", "Python function": "Python function"},
            {"a loop": "A loop, each call waits for the one before",
             "GSL, integral": "GSL, qags of exp(-x * x)",
             "GSL, ODE": "GSL, rkf45 (per 1/1000 of the way)",
             "NLopt": "NLopt, Nelder-Mead, two variables",
             "cubature": "cubature, hcubature over a square",
             "CVODE": "CVODE, Adams (per 1/1000 of the way)"}),
    ]),
    Source("jax", "tools/bench_package jax_elementwise", by_name("jax_elementwise", 21, 5), [
        Comparison(
            "jax", "Over an array in JAX",
            "In jit a typed function takes {typedcall.jax} times as long as the formula in jax.numpy, by "
            "pure_callback {pure_callback, ufunc}", "ns", "formula in jax.numpy",
            {"formula in jax.numpy": "the formula in jax.numpy", "typedcall.jax": "typedcall.jax",
             "pure_callback, ufunc": "pure_callback, the typed ufunc",
             "pure_callback, vectorize": "pure_callback, numpy.vectorize"},
            {f"{size:,} doubles": f"{size} doubles" for size in (1, 1000, 100_000)},
            ours=("typedcall.jax",)),
    ]),
    Source("tvm_ffi", "tools/bench_package tvm_ffi_calls", by_name("tvm_ffi_calls", 21, 7), [
        Comparison(
            "tvm_ffi_from_python", "tvm-ffi's functions and typed ones, from Python",
            "From Python a typed wrapper takes {typedcall wrapper} times as long as tvm-ffi's own function, a "
            "typed function in tvm-ffi {typed, in tvm-ffi}", "ns", "tvm-ffi's own",
            {"tvm-ffi's own": "tvm-ffi's own function", "typedcall wrapper": "typed, its wrapper",
             "typed, in tvm-ffi": "typed, as a function of tvm-ffi",
             "tvm-ffi's, as a typed one": "tvm-ffi's own, as a typed one"}, {"d->d": "from Python"},
            ours=("typedcall wrapper", "typed, in tvm-ffi", "tvm-ffi's, as a typed one")),
        Comparison(
            "tvm_ffi_from_cpp", "tvm-ffi's functions and typed ones, from C++",
            "From C++ a packed call of tvm-ffi takes {tvm-ffi, packed call} times as long as a typed call", "ns",
            "typedcall",
            {"typedcall": "typed, by typedcall", "tvm-ffi, packed call": "tvm-ffi's own, by tvm-ffi",
             "typed, by tvm-ffi": "typed, by tvm-ffi",
             "tvm-ffi's, by typedcall": "tvm-ffi's own, by typedcall"}, {"d->d": "from C++"},
            ours=("typedcall", "typed, by tvm-ffi", "tvm-ffi's, by typedcall")),
    ]),
]
