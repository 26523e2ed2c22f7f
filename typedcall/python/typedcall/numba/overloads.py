"""Chooses the overloads for a call in nopython code, as the boxed call would. If an int may not fit, the choice is
made at run time."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

import functools
from typing import Any, NamedTuple

from numba.core import types
from numba.core.errors import TypingError
from numba.core.typeconv import Conversion

from typedcall.calling.choose import is_alone
from typedcall.numba.buffers import check_elements, is_copied, takes_array, why_not_array
from typedcall.numba.complexes import passes_narrow_complex
from typedcall.numba.optionals import inner, is_none, is_optional, points
from typedcall.numba.read_only import ReadOnlyCTypes
from typedcall.numba.refusals import narrower, why_not
from typedcall.record.choice import Step, steps
from typedcall.record.codes import (
    CODES,
    c_letters,
    is_buffer,
    is_place,
    kind_of,
    letters_for,
    parse_signature,
    pointee,
    rank,
)
from typedcall.record.records import HANDLED, Entry
from typedcall.tools.foreign import few
from typedcall.tools.parameters import constant_of

__all__ = ["Case", "Choice", "Overload", "is_omitted", "kind_of_type", "letters_of_type",
           "numba_type", "overloads_of", "select", "takes_truth"]


def numba_type(letters: str) -> Any:
    """Returns the Numba type of a code. Returns None for a buffer, which may have several Numba types. Raises
    ValueError if Numba has no such type, or passes it differently from C."""
    if is_buffer(letters):
        check_elements(letters)
        return None
    code = CODES[pointee(letters)]
    if letters.startswith("&"):
        if code.kind == "complex" and code.size <= 16:
            return types.CPointer({8: types.complex64, 16: types.complex128}[code.size])
        if code.kind in ("pointer", "string", "object", "bool"):
            return types.voidptr
        return types.CPointer(numba_type(code.letters))
    if code.kind == "void":
        return types.none
    if code.kind == "bool":
        return types.boolean
    if code.kind in ("signed", "unsigned"):
        return types.Integer.from_bitwidth(8 * code.size, code.kind == "signed")
    if code.kind == "floating" and code.size in (4, 8):
        return {4: types.float32, 8: types.float64}[code.size]
    if code.kind == "complex" and code.size == 16:
        return types.complex128
    if code.kind == "complex" and code.size == 8 and passes_narrow_complex():
        return types.complex64
    if code.kind == "pointer":
        return types.voidptr
    if code.kind == "string":
        raise ValueError(f"Numba has no UTF-8 for {letters!r} ({code.c_type}); offer '&kB', and pass the .ctypes of an "
                         "array of its bytes, with a 0 at the end")
    instead = "; call it in `with numba.objmode():`" if code.kind == "object" else ""
    raise ValueError(f"Numba has no type for {letters!r} ({code.c_type}){instead}")


class Case:
    """One overload, with its types in Numba and its arguments in C."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.view = view = entry.view()
        arguments, result = view.arguments, view.result
        if view.may_fall_back:
            kinds = {kind_of(each) for each in [*arguments, result] if not is_copied(each)}
            if not kinds <= {"void", "bool", "signed", "unsigned", "floating", "complex"}:
                raise ValueError("may fall back, and has types other than numbers")
        #: The codes of the values that Python passes and receives.
        self.letters = arguments
        self.result = result
        #: The Numba types of the arguments, with None for an array.
        self.arguments = [None if takes_array(each) and not is_buffer(each) else numba_type(each)
                          for each in arguments]
        self.result_type = numba_type(result)
        passed = [kind_of(letters) for letters in arguments]
        if "complex" in passed and 2 * passed.count("complex") + passed.count("floating") > 8:
            # C would pass both parts of a complex number on the stack, but Numba may pass only one there.
            raise ValueError("has complex numbers, and too many arguments to pass them")


class Overload(NamedTuple):
    """An entry, as an overload of the boxed call."""

    #: The codes of the arguments that Python passes.
    letters: list[str]
    #: How compiled code calls the overload; None if it cannot.
    case: Case | None
    #: True if there are no other overloads. A bool parameter then accepts any value, as its truth value.
    is_alone: bool


class Choice(NamedTuple):
    """A call with arguments of certain types. The first step that accepts the values is taken at run time. If no step
    accepts them, the boxed call follows."""

    steps: list[Step]
    #: The types that compiled code passes, and the type of the result.
    arguments: tuple[Any, ...]
    result: Any
    letters_of_result: str
    #: The Optional arguments whose None goes to the Python function.
    absent: tuple[int, ...] = ()
    #: Why the Python function cannot be called with these arguments; "" if it can.
    unboxable: str = ""


def overloads_of(function: Any, entries: list[Entry]) -> tuple[list[Overload], list[str]]:
    """Returns all overloads, and the reasons why some of them cannot be called."""
    overloads, reasons = [], []
    alone = is_alone(function, [entry.python_types()[0] for entry in entries])
    for entry in entries:
        case = None
        reason = entry.flags.requirements(HANDLED)
        try:
            if not reason:
                case = Case(entry)
        except ValueError as error:
            reason = f"({error})"
        if reason:
            reasons.append(f"'{entry.signature}' {reason}")
        overloads.append(Overload(entry.python_types()[0], case, alone))
    return overloads, reasons


_CLASSES = {"bool": types.Boolean, "integer": types.Integer, "floating": types.Float, "complex": types.Complex}
# Compiled code tries so many overloads. Then it calls the Python function, which tries all of them.
_MOST_STEPS = 32
# Ranks from typedcall/overload_choice.h.
_EXACT, _SAFE = 1, 3
_KINDS = {"bool": "BOOL", "integer": "INT", "floating": "FLOAT", "complex": "COMPLEX"}
# C's narrow floats prefer a parameter of their own type.
_NARROW = {("floating", 32): "C_FLOAT", ("complex", 64): "C_COMPLEX"}


def kind_of_type(given: Any) -> str:
    """Returns the kind of Python number for a type, or "" if it is not a number."""
    plain = _plain(given)
    for kind, numba_class in _CLASSES.items():
        if isinstance(plain, numba_class):
            return kind
    return ""


def _plain(given: Any) -> Any:
    """Returns the plain type of a literal or an IntEnum, and any other type unchanged."""
    return given.dtype if isinstance(given, types.IntEnumMember) else types.unliteral(given)


def is_omitted(given: Any) -> bool:
    """True for the default of an omitted argument, which every overload accepts."""
    return isinstance(given, types.Omitted)


def letters_of_type(given: Any) -> str:
    """Returns the code of the widest type of the same kind."""
    kind = kind_of_type(given)
    if kind == "integer":
        return letters_for("signed" if given.signed else "unsigned", 8)
    return {"bool": "?", "floating": "d", "complex": "Zd"}[kind]


def takes_truth(given: Any, letters: str) -> bool:
    """True if the argument is not a bool, but its truth value is passed for a bool parameter."""
    return letters == "?" and kind_of_type(given) != "bool" and not is_omitted(given)


def _has_truth(context: Any, given: Any) -> bool:
    """True if compiled code can call bool() on values of this type."""
    try:
        return isinstance(given, types.NoneType) or context.resolve_function_type(bool, (given,), {}) is not None
    except TypingError:
        return False


def _rank(context: Any, is_alone: bool, given: Any, letters: str) -> int | None:
    """Returns the rank of an argument for a parameter, or None if the parameter does not accept it. A float parameter
    accepts an integer, but an integer parameter does not accept a float. With `is_alone`, the code `?` accepts any
    object, as its truth value."""
    wanted, kind = kind_of(letters), kind_of_type(given)
    if is_omitted(given):
        if is_none(given) and points(letters):
            return _EXACT
        try:
            constant_of(letters, given.value)
        except ValueError:
            return None
        return _EXACT
    if wanted == "object" or is_none(given) and points(letters):
        return _SAFE
    if is_alone and takes_truth(given, letters):
        return _SAFE if _has_truth(context, _plain(given)) else None
    if takes_array(letters):
        return None if why_not_array(given, letters) else _EXACT
    if not kind:
        if isinstance(given, types.CPointer) and letters == "P":
            return _SAFE
        if isinstance(given, ReadOnlyCTypes) and is_place(letters):
            return None
        try:
            conversion = context.can_convert(given, numba_type(letters))
        except ValueError:
            return None
        exact = {Conversion.exact: _EXACT, Conversion.promote: _SAFE, Conversion.safe: _SAFE}
        return exact.get(conversion)
    if isinstance(given, types.IntEnumMember):
        return rank("INT_SUBCLASS", letters)
    narrow = _NARROW.get((kind, given.bitwidth)) if kind in ("floating", "complex") else None
    return rank(narrow or _KINDS[kind], letters)


def _bounds(given: Any) -> tuple[int, int]:
    """Returns the smallest and the largest value of a Numba integer type."""
    if isinstance(given, types.IntegerLiteral):
        return given.literal_value, given.literal_value
    given = _plain(given)
    return (given.minval, given.maxval) if isinstance(given, types.Integer) else (0, 1)


def _steps(
    context: Any, overloads: list[Overload], arguments: tuple[Any, ...]
) -> tuple[list[Step], list[Step]]:
    """Returns the overloads that accept these types, in the order in which the boxed call tries them, and those that some
    values choose."""
    letters = [overload.letters for overload in overloads]
    rank_of = functools.partial(_rank, context, overloads[0].is_alone)
    found = steps(letters, list(arguments), list(map(_bounds, arguments)), rank_of)
    tried, possible = [[step._replace(overload=overloads[step.overload]) for step in each] for each in (found, found.reachable)]
    # The others are only compared with, for later steps.
    return [step if step in possible else step._replace(overload=step.overload._replace(case=None)) for step in tried], possible


def select(
    context: Any, overloads: list[Overload], arguments: tuple[Any, ...]
) -> tuple[Choice | None, str]:
    """Returns the choice that the boxed call would make, or the reason why there is none. The choice may depend on the
    values of literal ints. For an Optional, it is the choice for a value that is not None."""
    choice, reason = _select(context, overloads, tuple(map(inner, arguments)))
    optional = [i for i, given in enumerate(arguments) if is_optional(given)]
    if choice is None or not optional:
        return choice, reason
    same = [overload for overload in overloads if len(overload.letters) == len(arguments)]
    try:
        # The plan for the Python function has a bool for each Optional.
        parse_signature("".join(c_letters(choice.steps[0].overload.letters) + ["?"] * len(optional)) + "->v")
    except ValueError:
        return None, "it has too many arguments for Optionals"
    absent = []
    for i in optional:
        letters = same[0].letters[i]
        if len(same) > 1 and any(points(overload.letters[i]) for overload in same):
            return None, f"None for argument {i + 1} may choose another overload; pass it in another call"
        if not (points(letters) or letters == "?" and overloads[0].is_alone):
            absent.append(i)
    passed = tuple(given if is_optional(given) else own for given, own in zip(arguments, choice.arguments))
    return choice._replace(arguments=passed, absent=tuple(absent)), ""


def _select(
    context: Any, overloads: list[Overload], arguments: tuple[Any, ...]
) -> tuple[Choice | None, str]:
    """Like select(), for arguments without Optionals."""
    plain = tuple(types.unliteral(given) for given in arguments)
    choice, reason = _choose(context, overloads, plain)
    if choice is not None or plain == arguments:
        return choice, reason
    decided, reason_of_literals = _choose(context, overloads, arguments)
    if decided is None or len(decided.steps) > 1 or not all(decided.steps[0].fits):
        return None, reason_of_literals or reason
    for at, (given, passed) in enumerate(zip(arguments, decided.arguments), 1):
        if passed == types.float32 and _is_no_double(given):
            return None, f"Numba would round the int in argument {at} differently from the wrapper"
    # A variable of the same type may have other values.
    general, _ = _choose(context, overloads, decided.arguments)
    return general or decided, ""


def _why_none(context: Any, overloads: list[Overload], arguments: tuple[Any, ...]) -> str:
    """Returns the reason why no overload accepts these types."""
    counts = sorted({len(overload.letters) for overload in overloads})
    if len(arguments) not in counts:
        plural = "" if counts == [1] else "s"
        return f"it takes {few(map(str, counts), ' or ')} argument{plural}, not {len(arguments)}"
    reasons = []
    for overload in overloads:
        if len(overload.letters) != len(arguments) or overload.case is None:
            continue
        for at, (given, letters) in enumerate(zip(arguments, overload.letters), 1):
            if _rank(context, overload.is_alone, given, letters) is None:
                reasons.append(f"argument {at} does not suit '{letters}': {why_not(given, letters)}")
                break
    return few(dict.fromkeys(reasons), "; ")


def _is_no_double(given: Any) -> bool:
    """True for a literal int that a double cannot represent exactly. The wrapper converts it to a double first."""
    value = given.literal_value if isinstance(given, types.IntegerLiteral) else 0
    return int(float(value)) != value


def _choose(
    context: Any, overloads: list[Overload], arguments: tuple[Any, ...]
) -> tuple[Choice | None, str]:
    tried, possible = _steps(context, overloads, arguments)
    if not possible:
        if not tried:
            return None, _why_none(context, overloads, arguments)
        at = min(step.fits.index(False) for step in tried) + 1
        return None, f"no overload has room for the int in argument {at}"
    cases = [step.overload.case for step in possible]
    if None in cases:
        return None, ""
    results = {case.result_type for case in cases if case is not None}
    unboxable = [i for i, given in enumerate(arguments)
                 if not (kind_of_type(given) or is_omitted(given) or is_none(given)
                         or all(is_copied(step.overload.letters[i]) for step in tried))]
    is_open = len(possible) > 1 or not all(possible[0].fits)
    if len(results) > 1 or is_open and unboxable:
        at, narrow = min((min(step.open), step.overload.letters[min(step.open)]) for step in possible if step.open)
        return None, (f"what the boxed call would do depends on the value of argument {at + 1}; "
                      f"for '{narrow}' write {narrower(narrow)} around it")
    first = cases[0]
    assert first is not None
    if first.view.may_fall_back:
        for at, (given, letters) in enumerate(zip(arguments, first.letters), 1):
            if takes_truth(given, letters) and not (kind_of_type(given) or is_none(given)):
                return None, f"it may fall back, and the Python function needs argument {at} itself, not its truth"
    passed = []
    for given, own, letters in zip(arguments, first.arguments, first.letters):
        is_literal = given != types.unliteral(given)
        is_own = is_literal or not (kind_of_type(given) or is_omitted(given) or is_none(given))
        has_own = own is not None and not takes_truth(given, letters) and not isinstance(given, types.CPointer)
        passed.append(own if is_own and has_own else _plain(given))
    why = f"argument {unboxable[0] + 1} is a {arguments[unboxable[0]]}" if unboxable else ""
    chosen = tried[:_MOST_STEPS] if is_open else possible
    return Choice(chosen, tuple(passed), first.result_type, first.result, unboxable=why), ""
