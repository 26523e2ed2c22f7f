"""Says what typedcall.explain() must know of each caller: the entries that it can call, and what it decides before a
call."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from typedcall.calling.choose import TENSORS, VALUES, valueless
from typedcall.explaining.arguments import Given
from typedcall.record.records import Entry
from typedcall.sources.numpy_ import dtype_of
from typedcall.tools.foreign import few

__all__ = ["SINKS", "Sink"]


def _array_type(given: Given) -> Any:
    """Returns the dtype of an array of such values. Raises TypeError if there is none."""
    import numpy

    if given.value is not None:
        dtype = numpy.asarray(given.value).dtype
    else:
        usual = {"INT": "l", "BOOL": "?"}
        letters = given.letters or usual.get(given.kind.name)
        dtype = dtype_of(letters) if letters and not given.text == "bytes" else numpy.dtype(object)
    if dtype.kind not in "biufc":
        raise TypeError(f"an array cannot hold {given.text}")
    return dtype


#: The answer of a sink: the result's types, or a TypeError.
Answer = Callable[[Any, list[Entry], list[Given]], list[str]]


class Sink(NamedTuple):
    """How explain() asks a sink."""

    #: Returns the reason why the sink cannot call an entry, or "".
    obstacle: Callable[[Entry], str]
    #: For a sink that decides before the call; None if the call itself chooses.
    ask: Answer | None = None
    #: True if arguments are elements of arrays.
    is_elementwise: bool = False


def _ask_numpy(f: Any, found: list[Entry], given: list[Given]) -> list[str]:
    from typedcall.numpy.ufunc import plan_of

    return [plan_of(f, list(map(_array_type, given)))]


def _ask_jax(f: Any, found: list[Entry], given: list[Given]) -> list[str]:
    import jax
    import jax.numpy as jnp

    from typedcall.sinks.jax import plan_of

    shaped: Any = jax.ShapeDtypeStruct
    arrays = [shaped((), jax.dtypes.canonicalize_dtype(_array_type(each))) if each.value is None else jnp.asarray(each.value)
              for each in given]
    return [plan_of(f, arrays)]


def _ask_numba(f: Any, found: list[Entry], given: list[Given]) -> list[str]:
    import numba
    from numba.core.registry import cpu_target

    from typedcall.numba.arguments import type_call
    from typedcall.numba.overloads import overloads_of

    named = {"str": numba.types.unicode_type, "None": numba.types.none}
    types = []
    for each in given:
        if each.value is not None:
            types.append(numba.typeof(each.value))
        elif each.text in named:
            types.append(named[each.text])
        else:
            of = numba.from_dtype(_array_type(each))
            types.append(numba.types.Array(of, 1, "C") if each.is_array else of)
    overloads, reasons = overloads_of(f, found)
    typed, reason = type_call(cpu_target.typing_context, f, overloads, tuple(types), {})
    if typed is None:
        raise TypeError(reason or few(reasons, "; "))
    return [typed.choice.letters_of_result]


def _numpy_obstacle(entry: Entry) -> str:
    from typedcall.numpy.ufunc import why_no_numbers

    return why_no_numbers(entry)


def _jax_obstacle(entry: Entry) -> str:
    from typedcall.sinks.jax import obstacle

    return obstacle(entry, True)


def _numba_obstacle(entry: Entry) -> str:
    from typedcall.numba.overloads import overloads_of

    reasons = overloads_of(None, [entry])[1]
    return reasons[0].partition("' ")[2] if reasons else ""


def _of_values(consumer: str, arguments: Any = VALUES) -> Sink:
    return Sink(lambda entry: valueless(entry, consumer, arguments))


SINKS = {
    "python": Sink(lambda entry: ""),
    "numpy": Sink(_numpy_obstacle, _ask_numpy, True),
    "numba": Sink(_numba_obstacle, _ask_numba),
    "jax": Sink(_jax_obstacle, _ask_jax, True),
    "duckdb": _of_values("DuckDB"),
    "sqlite": _of_values("SQLite"),
    "tvm_ffi": _of_values("tvm-ffi", TENSORS),
}
