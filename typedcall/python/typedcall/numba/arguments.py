"""Determines the types of calls in nopython code that pass keywords or omit arguments with defaults."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from numba.core.types import Omitted

from typedcall.numba.overloads import Choice, Overload, select
from typedcall.tools.foreign import name_of
from typedcall.tools.parameters import MISSING, Parameters, contradiction, parameters_of

__all__ = ["Typed", "given_of", "names_of", "type_call"]


class Typed(NamedTuple):
    """A call whose types have been determined."""

    choice: Choice
    #: The signature by which Numba orders keyword arguments, or None if there are none.
    pysig: Any


def given_of(arguments: tuple[Any, ...]) -> list[int]:
    """Returns the indices of the parameters that the call passes."""
    return [i for i, each in enumerate(arguments) if not isinstance(each, Omitted)]


def names_of(function: Any, given: list[int]) -> list[str]:
    """Returns the names of the last arguments, which are passed to the Python function by name."""
    parameters = parameters_of(function)
    if parameters is None:
        return []
    first = 0
    while first < min(len(given), parameters.positional) and given[first] == first:
        first += 1
    return [parameters.names[at] for at in given[first:]]


def _signature_of(names: tuple[str, ...], default: Any) -> Any:
    """Returns a signature with which Numba puts each argument into its place. The arguments have already been checked.
    `default` represents omitted arguments, whose values are constants in the compiled call."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind, default=default) for name in names])


def type_call(
    context: Any, function: Any, overloads: list[Overload], args: tuple[Any, ...], kws: dict[str, Any]
) -> tuple[Typed | None, str]:
    """Returns the types of a call with these arguments, or the reason why compiled code cannot make the call."""
    if not overloads:
        return None, ""
    known = parameters_of(function)
    counts = {len(overload.letters) for overload in overloads}
    is_consistent = known is not None and len(known.names) in counts
    reason = ""
    # Without keywords, a Python signature that contradicts the overloads is ignored.
    if not kws and (not is_consistent or known is not None and len(args) <= known.positional):
        choice, reason = select(context, overloads, args)
        if choice is not None:
            return Typed(choice, None), ""
    if known is None:
        if not kws:
            return None, reason
        return None, (
            "its parameter names are unknown: give tag() the parameters, or the Python function a "
            "text signature"
        )
    if not is_consistent:
        said = contradiction(function, known, max(counts, default=0))
        return None, said if kws or not reason else reason
    try:
        places = known.bind(name_of(function), len(args), kws)
    except TypeError as error:
        return None, str(error)
    types = dict(zip(places, [*args, *kws.values()]))
    count = len(types)
    if kws and set(types) == set(range(count)):
        # An overload may have fewer parameters.
        choice, reason = select(context, overloads, tuple(types[i] for i in range(count)))
        if choice is not None:
            return Typed(choice, _signature_of(known.names[:count], inspect.Parameter.empty)), ""
    if count == len(known.names):
        return None, reason
    return _type_with_defaults(context, overloads, known, types, reason)


def _type_with_defaults(
    context: Any, overloads: list[Overload], known: Parameters, types: dict[int, Any], reason: str
) -> tuple[Typed | None, str]:
    full = []
    for i, (name, default) in enumerate(zip(known.names, known.defaults)):
        if i not in types and default is MISSING:
            return None, reason or f"the default of '{name}' has no literal; pass it"
        full.append(types.get(i) or Omitted(default))
    choice, of_all = select(context, overloads, tuple(full))
    if choice is None:
        return None, of_all or reason
    return Typed(choice, _signature_of(known.names, None)), ""
