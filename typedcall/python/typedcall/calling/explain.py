"""Explains which overload of a typed function is called for arguments of given types or values, and why the others are
not. The choice is the plan's (typedcall/record/choice.py), as each sink makes it."""

from __future__ import annotations

import importlib
import operator
import sys
from typing import Any, Callable, NamedTuple

from typedcall.calling.choose import NUMBERS, VALUES, is_alone, nothing_offered, offered, valueless
from typedcall.record.choice import Kind, Overloads, Step, makes_floating, rank_of_kind
from typedcall.record.codes import CODES, kind_of, kind_of_object, letters_for, pointee, range_of
from typedcall.record.records import HANDLED, Entry, Flags
from typedcall.tools.foreign import attribute, exact_text, few, imported_class, is_a, name_of, printable, show, type_of

__all__ = ["Argument", "Check", "Explanation", "Other", "Tried", "explain"]

#: What Python's int may be; beyond all C types.
_ANY_INT = (-1 << 127, (1 << 128) - 1)


class Argument(NamedTuple):
    """One argument, as the plan sees it."""

    given: str
    #: The kind, from typedcall/overload_choice.h, such as "INT" or "C_FLOAT".
    kind: str
    #: The range of an int; 0 and 0 for everything else.
    least: int
    most: int


class Check(NamedTuple):
    """What decides at run time whether a step is taken."""

    #: The number of the argument, from 1.
    argument: int
    #: The range that the int must be in. None if it must be in the ranges of the earlier steps.
    least: int | None
    most: int | None

    def __str__(self) -> str:
        if self.least is None:
            return f"argument {self.argument} was in range before"
        return f"argument {self.argument} is in {self.least}..{self.most}"


class Tried(NamedTuple):
    """A step: an overload that may be called."""

    signature: str
    place: str
    flags: list[str]
    #: All must hold, or the next step follows.
    checks: list[Check]
    #: Why the sink calls the Python function in its place; "" if it calls the C function.
    boxed_because: str


class Other(NamedTuple):
    """An overload that is not called."""

    signature: str
    why: str


class Explanation(NamedTuple):
    """What explain() returns. str() is the text for a person, and as_json() what --json prints."""

    function: str
    sink: str
    arguments: list[Argument]
    #: In the order in which they are tried.
    steps: list[Tried]
    others: list[Other]
    #: True if the Python function is called for values that no step takes.
    falls_back: bool
    #: The codes of the types that the result may have.
    results: list[str]
    #: Why the sink refuses such a call; "" if it does not.
    refused: str

    def as_json(self) -> dict[str, Any]:
        """Returns dicts, lists, texts and numbers. The keys are the names of the fields."""
        made = self._asdict()
        for name in ("arguments", "others"):
            made[name] = [each._asdict() for each in made[name]]
        made["steps"] = [{**step._asdict(), "checks": [check._asdict() for check in step.checks]} for step in self.steps]
        return made

    def __str__(self) -> str:
        given = ", ".join([each.given for each in self.arguments])
        lines = [f"{self.function}({given}), called from {self.sink}"]
        if self.refused:
            lines.append(f"  refused: {self.refused}")
        for number, step in enumerate(self.steps, 1):
            checks = " and ".join(map(str, step.checks))
            instead = f": the Python function is called, because it {step.boxed_because}" if step.boxed_because else ""
            lines.append(f"  {number}. '{step.signature}'{instead}" + (f", if {checks}" if checks else ""))
        if self.falls_back:
            lines.append(f"  {len(self.steps) + 1}. the Python function" + (", for all other values" if self.steps else ""))
        if self.results and not self.refused:
            lines.append(f"  result: {few(map(repr, self.results), ' or ')}")
        lines += ["  not called:"] if self.others else []
        return "\n".join(lines + [f"    '{each.signature}' {each.why}" for each in self.others])


class _Given(NamedTuple):
    """One argument of explain()."""

    text: str
    kind: Kind
    #: The code of a number of a C type, or "".
    letters: str = ""
    #: True for an array of such numbers.
    is_array: bool = False
    #: The value, or None if a type was given.
    value: Any = None


def _of_letters(letters: str, text: str, is_array: bool = False, value: Any = None) -> _Given:
    """Describes a number of a C type."""
    kind = kind_of(letters)
    if kind in ("signed", "unsigned"):
        return _Given(text, Kind("INT", range_of(letters)), letters, is_array, value)
    if kind == "bool":
        return _Given(text, Kind("BOOL", (0, 1)), letters, is_array, value)
    names = {"f": "C_FLOAT", "Zf": "C_COMPLEX"}
    return _Given(text, Kind(names.get(letters, "FLOAT" if kind == "floating" else "COMPLEX")), letters, is_array, value)


def _of_dtype(dtype: Any, text: str, is_array: bool, value: Any) -> _Given:
    kind = {"b": "bool", "i": "signed", "u": "unsigned", "f": "floating", "c": "complex"}.get(dtype.kind)
    if kind is None:
        return _Given(text, Kind("OTHER"), "", is_array, value)
    # All sinks see a float16 as a float.
    size = 4 if (kind, dtype.itemsize) == ("floating", 2) else dtype.itemsize
    return _of_letters(letters_for(kind, size), text, is_array, value)


def _number_named(name: str) -> str | None:
    """Returns the code of a number's type, by NumPy's name or by its code."""
    usual = {"float": "d", "complex": "Zd", "bool": "?", "float16": "f", "longdouble": "g", "clongdouble": "Zg"}
    if name in CODES and kind_of(name) in ("bool", "signed", "unsigned", "floating", "complex"):
        return name
    kinds = {"int": "signed", "uint": "unsigned", "float": "floating", "complex": "complex"}
    kind = name.rstrip("0123456789")
    bits = int(name[len(kind):] or 0)
    try:
        return usual.get(name) or letters_for(kinds[kind], bits // 8)
    except (KeyError, ValueError):
        return None


def _of_type(name: str) -> _Given:
    """Describes a value of the named type. Raises ValueError for an unknown name."""
    ints = {"int": _ANY_INT, "int128": (_ANY_INT[0], -_ANY_INT[0] - 1), "uint128": (0, _ANY_INT[1])}
    if name in ints:
        return _Given(name, Kind("INT", ints[name]))
    if name in ("str", "bytes", "object", "None"):
        return _Given(name, Kind("STR" if name == "str" else "OTHER"), "B" if name == "bytes" else "", name == "bytes")
    is_array = name.endswith("[]")
    letters = _number_named(name[:-2] if is_array else name)
    if letters is None:
        raise ValueError(f"{name!r:.200} is not the name of a type, such as int64, float32, float, str or uint8[]")
    return _of_letters(letters, name, is_array)


def _of(given: Any) -> _Given:
    """Describes an argument of explain(): a type or its name, or a value."""
    if is_a(given, str):
        return _of_type(exact_text(given))
    if any(given is each for each in (bool, int, float, complex, str, bytes, object)):
        return _of_type(given.__name__)
    numpy: Any = sys.modules.get("numpy")
    generic, kinds = imported_class("numpy", "generic"), imported_class("numpy", "dtype")
    if is_a(given, kinds) or is_a(given, type) and generic is not None and type.__subclasscheck__(generic, given):
        dtype = numpy.dtype(given)
        return _of_dtype(dtype, str(dtype), False, None)
    if is_a(given, imported_class("numpy", "ndarray")) and given.shape:
        return _of_dtype(given.dtype, f"{given.dtype}[]", True, given)
    name = kind_of_object(given)
    if name == "OTHER" and attribute(type_of(given), "__complex__") is not None:
        name = "HAS_COMPLEX"
    limits = (0, 1) if name == "BOOL" else (0, 0)
    if name.startswith("INT"):
        limits = (operator.index(given), operator.index(given))
    is_bytes = is_a(given, bytes)
    return _Given(show(given), Kind(name, limits), "B" if is_bytes else "", is_bytes, given)


def _array_type(given: _Given) -> Any:
    """Returns the dtype of an array of such values. Raises TypeError if there is none."""
    import numpy

    from typedcall.sources.numpy_ import dtype_of

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
_Answer = Callable[[Any, list[Entry], list[_Given]], list[str]]


class _Sink(NamedTuple):
    """How explain() asks a sink."""

    #: Returns the reason why the sink cannot call an entry, or "".
    obstacle: Callable[[Entry], str]
    #: For a sink that decides before the call; None if the call itself chooses.
    ask: _Answer | None = None
    #: True if arguments are elements of arrays.
    is_elementwise: bool = False


def _ask_numpy(f: Any, found: list[Entry], given: list[_Given]) -> list[str]:
    from typedcall.numpy.ufunc import plan_of

    return [plan_of(f, list(map(_array_type, given)))]


def _ask_jax(f: Any, found: list[Entry], given: list[_Given]) -> list[str]:
    import jax
    import jax.numpy as jnp

    from typedcall.sinks.jax import plan_of

    shaped: Any = jax.ShapeDtypeStruct
    arrays = [shaped((), jax.dtypes.canonicalize_dtype(_array_type(each))) if each.value is None else jnp.asarray(each.value)
              for each in given]
    return [plan_of(f, arrays)]


def _ask_numba(f: Any, found: list[Entry], given: list[_Given]) -> list[str]:
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
    return importlib.import_module("typedcall.sinks.jax").obstacle(entry, True)  # type: ignore[no-any-return]


def _numba_obstacle(entry: Entry) -> str:
    from typedcall.numba.overloads import overloads_of

    reasons = overloads_of(None, [entry])[1]
    return reasons[0].partition("' ")[2] if reasons else ""


def _of_values(consumer: str, arguments: Any = VALUES) -> _Sink:
    return _Sink(lambda entry: valueless(entry, consumer, arguments))


_TENSORS = VALUES | {each + letters for each in ("*", "*k") for letters in (*NUMBERS, "Zf", "Zd")}
_SINKS = {
    "python": _Sink(lambda entry: ""),
    "numpy": _Sink(_numpy_obstacle, _ask_numpy, True),
    "numba": _Sink(_numba_obstacle, _ask_numba),
    "jax": _Sink(_jax_obstacle, _ask_jax, True),
    "duckdb": _of_values("DuckDB"),
    "sqlite": _of_values("SQLite"),
    "tvm_ffi": _of_values("tvm-ffi", _TENSORS),
}


def explain(f: Any, *given: Any, sink: str = "python") -> Explanation:
    """Explains what a call of `f` with such arguments does: which overloads are tried, in which order, what decides at
    run time, and why each other overload is not called.

    Each argument is a value, or a type: the name of a type such as "int64", "float32", "int", "str" or "uint8[]" (an
    array), a code such as "l", Python's int, float, bool, complex, str or bytes, or a dtype of NumPy. A str is always
    the name of a type. `sink` is "python", "numpy", "numba", "jax", "duckdb", "sqlite" or "tvm_ffi". An entry that is
    not PURE counts as if it were, for JAX.

    Calls no function. Raises ValueError for an unknown sink or name, TypeError if `f` offers nothing, and ImportError if
    the sink's library is missing."""
    known = _SINKS.get(sink)
    if known is None:
        raise ValueError(f"{sink!r:.200} is none of {few(_SINKS)}")
    found = offered(f)
    if not found:
        raise TypeError(f"{name_of(f)} {nothing_offered(f)}")
    values = list(map(_of, given))
    obstacles = [entry.flags.requirements(HANDLED) or known.obstacle(entry) for entry in found]
    # An overload that differs from Python's function takes no part in its choice.
    among = [at for at, entry in enumerate(found) if not (obstacles[at] and entry.flags & Flags.DIFFERS)]
    letters = [found[at].python_types()[0] for at in among]
    alone = is_alone(f, [entry.python_types()[0] for entry in found])

    def rank_of(i: int, code: str) -> int | None:
        value = values[i]
        if value.is_array and not known.is_elementwise:
            return 1 if kind_of(code) == "buffer" and pointee(code) == value.letters else None
        return rank_of_kind(alone, value.kind, code)

    plan = Overloads(letters, rank_of)
    ranges = [value.kind.range for value in values]
    tried = plan.steps([*range(len(values))], ranges)
    refused, results = "", [found[among[step.overload]].python_types()[1] for step in plan.reachable(tried, ranges)
                            if not obstacles[among[step.overload]]]
    if known.ask is not None:
        try:
            results = known.ask(f, found, values)
        except (TypeError, ValueError, OverflowError) as error:
            refused = printable(str(error), 1000)
    taken = plan.reachable(tried, ranges)
    steps = []
    for step in taken:
        at = among[step.overload]
        steps.append(Tried(found[at].signature, found[at].place, found[at].flags.names, _checks(step, letters[step.overload]),
                           obstacles[at]))
        if obstacles[at]:
            break
    others = [Other(entry.signature, _why_not(at, among, letters, obstacles[at], values, rank_of, tried))
              for at, entry in enumerate(found)
              if at not in [among[step.overload] for step in taken[:len(steps)]]]
    is_sure = bool(steps) and not steps[-1].checks and not steps[-1].boxed_because
    arguments = [Argument(value.text, value.kind.name, *value.kind.range) for value in values]
    return Explanation(name_of(f), sink, arguments, steps, others, not (refused or is_sure or steps and steps[-1].boxed_because),
                       list(dict.fromkeys(results)), refused)


def _checks(step: Step, letters: list[str]) -> list[Check]:
    return [Check(i + 1, *((None, None) if makes_floating(letters[i]) else range_of(letters[i]))) for i in sorted(step.open)]


def _why_not(at: int, among: list[int], letters: list[list[str]], obstacle: str, values: list[_Given],
             rank_of: Callable[[int, str], int | None], tried: list[Step]) -> str:
    """Returns the reason why an overload is not called, as the end of a sentence."""
    if at not in among:
        return obstacle
    own = letters[among.index(at)]
    if len(own) != len(values):
        return f"takes {len(own)} argument{'' if len(own) == 1 else 's'}, not {len(values)}"
    for i, code in enumerate(own):
        if rank_of(i, code) is None:
            return f"takes no {values[i].text} as argument {i + 1}, which is '{code}'"
    step = next((step for step in tried if among[step.overload] == at), None)
    if step is not None and False in step.fits:
        i = step.fits.index(False)
        if makes_floating(own[i]):
            return f"would round argument {i + 1}, an int out of range for an overload that comes first"
        return f"has no room for argument {i + 1}: '{own[i]}' is {'..'.join(map(str, range_of(own[i])))}"
    floating = {i for i, code in enumerate(own) if makes_floating(code)}
    for before in tried:
        if before.open and before.open <= floating:
            i = min(before.open) + 1
            return f"would round argument {i}, if that is an int out of range for an overload that comes first"
    if tried:
        return "comes after overloads that accept all such values"
    return obstacle or "is not tried"
