"""The sinks of the matrix, keyed by name."""
from matrix_c_sinks import (
    Callback,
    Cffi,
    ClosurePointer,
    ConvertingCallback,
    Ctypes,
    Cython,
    FreeCallback,
    LowLevelCallable,
)
from matrix_cpp_sinks import CppCallback, CppFallback, CppLoop, CppNarrowing, CppSite
from matrix_made_up_sinks import LongArrays, MadeUpArrays, MadeUpValues
from matrix_sink import Refused, RefusedByValue, RefusedResult
from matrix_type_sinks import DuckDb, Jax, Numba, NumbaOptional, NumbaWithoutGil, Ufunc, UfuncOfArrays
from matrix_value_sinks import (
    Closure,
    FreeClosure,
    PyPy,
    PyPyTypedFunction,
    PyPyWrapper,
    Sqlite,
    Sqlite3,
    TvmFfi,
    TypedFunction,
    Wrapper,
)

__all__ = ["SINKS", "Refused", "RefusedByValue", "RefusedResult"]

SINKS = {sink.name: sink for sink in (
    # Sinks that choose an overload by the values of each call.
    Wrapper, TypedFunction, PyPyWrapper, PyPyTypedFunction, PyPy, Sqlite, Sqlite3, TvmFfi, Closure, FreeClosure, MadeUpValues,
    # Sinks that choose an overload by types.
    Ufunc, UfuncOfArrays, Numba, NumbaWithoutGil, NumbaOptional, Jax, DuckDb,
    # Sinks whose caller names a signature.
    CppSite, CppFallback, CppLoop, CppCallback, CppNarrowing, MadeUpArrays, LongArrays, Callback, FreeCallback, ConvertingCallback, ClosurePointer,
    LowLevelCallable, Ctypes, Cffi, Cython)}
