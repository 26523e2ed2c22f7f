"""Typed functions in Numba's nopython code, where a call of one compiles to a direct call of its C
function. Numba loads this by the entry point `numba_extensions`; nobody has to import it."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

import functools
import types as python_types
from typing import Any, NamedTuple

from typedcall._choose import offered
from typedcall._codes import CODES, kind_of
from typedcall._foreign import is_a, name_of
from typedcall._numba_fall_back import FallBack
from typedcall._records import Entry, Flags, parse_signature

__all__ = ["register"]

#: Compiled code can lose the GIL for a while, and takes it where a function falls back; it cannot
#: raise what a C function sets, nor does it hold the GIL for certain (`nogil=True`, prange).
_CAPABILITIES = Flags.ACQUIRES_GIL | Flags.FALLS_BACK

# By id of the function, which the type keeps alive with its entries: compiled code may last for
# ever, and has the addresses alone.
_known: dict[int, Any] = {}
# Of functions that offer something else by now.
_replaced: list[Any] = []


def _numba_type(letters: str) -> Any:
    """The Numba type of a code. ValueError where there is none, or where Numba would not pass it as
    C does."""
    from numba import types

    code = CODES[letters.lstrip("&")]
    if letters.startswith("&"):
        if code.kind == "complex" and code.size <= 16:
            return types.CPointer({8: types.complex64, 16: types.complex128}[code.size])
        if code.kind in ("pointer", "string", "object", "bool"):
            return types.voidptr
        return types.CPointer(_numba_type(code.letters))
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
    if code.kind == "pointer":
        return types.voidptr
    raise ValueError(f"Numba has no type for {letters!r} ({code.c_type})")


class _Case:
    """One overload: how Numba types it and what C gets."""

    def __init__(self, entry: Entry) -> None:
        from numba.core.typing import signature

        self.entry = entry
        self.falls_back = bool(entry.flags & Flags.FALLS_BACK)
        arguments, result = parse_signature(entry.signature)
        if self.falls_back:
            arguments, result = entry.python_types()
            kinds = {"pointer" if each[0] == "&" else CODES[each].kind
                     for each in [*arguments, result]}
            if not kinds <= {"bool", "signed", "unsigned", "floating", "complex"}:
                raise ValueError("may fall back, and has other types than numbers")
        self.letters = arguments
        self.result = result
        self.arguments = [_numba_type(letters) for letters in arguments]
        self.signature = signature(_numba_type(result), *self.arguments)
        registers = [CODES[letters].kind for letters in arguments if letters[0] != "&"]
        if "complex" in registers and 2 * len(registers) > 8:
            # C would pass both parts of a complex number on the stack, Numba one of them.
            raise ValueError("too many arguments for complex numbers among them")


class _Overload(NamedTuple):
    """An entry as the boxed call sees it."""

    #: Of what Python passes.
    letters: list[str]
    #: None where compiled code cannot call it.
    case: _Case | None


def _overloads(entries: list[Entry]) -> tuple[list[_Overload], list[str]]:
    """All of them, and why compiled code cannot call some."""
    overloads, reasons = [], []
    for entry in entries:
        case = None
        reason = entry.flags.asks(_CAPABILITIES)
        try:
            if not reason:
                case = _Case(entry)
        except ValueError as error:
            reason = f"({error})"
        if reason:
            reasons.append(f"'{entry.signature}' {reason}")
        overloads.append(_Overload(entry.python_types()[0], case))
    return overloads, reasons


# How well a Python object suits a parameter: typedcall/convert/argument.h. A narrow float is no type of
# Python's; it has its own parameter before all others.
_OWN, _EXACT, _SUBCLASS, _SAFE = range(4)
_RANKS = {
    "bool": {"bool": _EXACT, "signed": _SUBCLASS, "unsigned": _SUBCLASS, "floating": _SAFE,
             "complex": _SAFE},
    "integer": {"signed": _EXACT, "unsigned": _EXACT, "floating": _SAFE, "complex": _SAFE},
    "floating": {"floating": _EXACT, "complex": _SAFE},
    "complex": {"complex": _EXACT},
}


def _kind_of_letters(letters: str) -> str:
    return "pointer" if letters[0] == "&" else CODES[letters].kind


def _kind_of_type(given: Any) -> str:
    """Which numbers of Python's it holds; empty for anything else."""
    from numba import types

    for kind, numba_class in (
        ("bool", types.Boolean),
        ("integer", types.Integer),
        ("floating", types.Float),
        ("complex", types.Complex),
    ):
        if isinstance(types.unliteral(given), numba_class):
            return kind
    return ""


def _rank(context: Any, given: Any, letters: str) -> int | None:
    """None: it does not suit. Python's own rules: an integer for a float is right, a float for an
    integer is not."""
    from numba.core.typeconv import Conversion

    wanted, kind = _kind_of_letters(letters), _kind_of_type(given)
    if wanted == "object":
        return _SAFE
    if not kind:
        try:
            conversion = context.can_convert(given, _numba_type(letters))
        except ValueError:
            return None
        exact = {Conversion.exact: _EXACT, Conversion.promote: _SAFE, Conversion.safe: _SAFE}
        return exact.get(conversion)
    rank = _RANKS[kind].get(wanted)
    size = CODES[letters].size if letters[0] != "&" else 0
    if rank == _EXACT and wanted == "floating" and size < 8:
        return _OWN if given.bitwidth == 8 * size else _SUBCLASS
    if rank == _EXACT and wanted == "complex" and size < 16:
        return _OWN if given.bitwidth == 8 * size else _SUBCLASS
    return rank


def _bounds(given: Any) -> tuple[int, int]:
    """The smallest and the largest value of a Numba type of integers."""
    from numba import types

    if isinstance(given, types.IntegerLiteral):
        return given.literal_value, given.literal_value
    return (given.minval, given.maxval) if isinstance(given, types.Integer) else (0, 1)


def _fits(given: Any, letters: str) -> bool | None:
    """Do all values of an argument, whose kind suits, fit the parameter? None: some do."""
    if _kind_of_type(given) not in ("bool", "integer"):
        return True
    if _kind_of_letters(letters) not in ("signed", "unsigned"):
        return True
    low, high = _bounds(given)
    code = CODES[letters]
    bits = 8 * code.size
    least = -1 << (bits - 1) if code.kind == "signed" else 0
    most = least + (1 << bits) - 1
    if least <= low and high <= most:
        return True
    return None if low <= most and least <= high else False


def _select(
    context: Any, overloads: list[_Overload], arguments: tuple[Any, ...]
) -> tuple[_Case | None, str]:
    """The overload that the boxed call would choose, whatever the values are; or why there is none
    that compiled code can call. typedcall/provider/overloads.h does the same for objects: the best rank
    first, then the table's order, and an int that one overload is too narrow for is not made
    floating by another."""
    ranked = []
    for overload in overloads:
        if len(overload.letters) == len(arguments):
            ranks = [_rank(context, *pair) for pair in zip(arguments, overload.letters)]
            if None not in ranks:
                ranked.append((max([_OWN] + [rank for rank in ranks if rank is not None]), overload))
    misfits: dict[int, bool | None] = {}
    for _, overload in sorted(ranked, key=lambda pair: pair[0]):
        fits = [_fits(*pair) for pair in zip(arguments, overload.letters)]
        for i, letters in enumerate(overload.letters):
            if i in misfits and _kind_of_letters(letters) in ("floating", "complex"):
                fits[i] = misfits[i]
        if all(fits):
            return (overload.case, "") if _can_pass(context, arguments, overload) else (None, "")
        misfits.update((i, fit) for i, fit in enumerate(fits) if not fit and i not in misfits)
        if False not in fits:
            at = fits.index(None) + 1
            return None, f"what the boxed call would do depends on the value of argument {at}"
    if misfits:
        at = min(misfits) + 1
        return None, f"no overload has room for the int in argument {at}"
    return None, ""


def _can_pass(context: Any, arguments: tuple[Any, ...], overload: _Overload) -> bool:
    """Does Numba's conversion give what the boxed call's would?"""
    from numba.core.typeconv import Conversion

    if overload.case is None:
        return False
    for given, letters in zip(arguments, overload.letters):
        if _kind_of_letters(letters) in ("floating", "complex"):
            is_narrow = CODES[letters].size < (8 if CODES[letters].kind == "floating" else 16)
            if is_narrow and _kind_of_type(given) in ("bool", "integer"):
                # Rounded once; CPython rounds to a double first.
                if max(map(abs, _bounds(given))) > 1 << 24:
                    return False
            elif is_narrow and context.can_convert(given, _numba_type(letters)) not in (
                Conversion.exact,
                Conversion.promote,
                Conversion.safe,
            ):
                return False
    return True


def _call(case: _Case, name: str, function: Any) -> Any:
    """The function that writes the call of `case` into compiled code."""
    back = FallBack(case.letters, case.entry.signature, function) if case.falls_back else None

    def passed_as(context: Any, letters: str, numba_type: Any) -> Any:
        from llvmlite import ir

        # Narrow ones extended, as C's calling conventions ask.
        if letters[0] != "&" and CODES[letters].kind in ("bool", "signed", "unsigned"):
            return ir.IntType(max(32, 8 * CODES[letters].size))
        return context.get_value_type(numba_type)

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        from llvmlite import ir

        types, passed = [], []
        for letters, numba_type, value in zip(case.letters, case.arguments, values):
            kind = CODES[letters.lstrip("&")].kind
            wanted = passed_as(context, letters, numba_type)
            if letters[0] == "&" or kind not in ("complex", "bool", "signed", "unsigned"):
                passed.append(value)
            elif kind == "complex":
                passed += [builder.extract_value(value, 0), builder.extract_value(value, 1)]
                wanted = passed[-1].type
                types.append(wanted)
            elif value.type == wanted:
                passed.append(value)
            else:
                extend = builder.sext if kind == "signed" else builder.zext
                passed.append(extend(value, wanted))
            types.append(wanted)
        place = None
        if back is not None:
            place = back.place(context, builder, signature)
            passed.append(place)
            types.append(place.type)
            returned: Any = ir.IntType(32)
        elif case.result == "v":
            returned = ir.VoidType()
        else:
            returned = passed_as(context, case.result, signature.return_type)
        pointer = ir.FunctionType(returned, types).as_pointer()
        # A "dynamic address": Numba does not keep code in its disk cache that has one.
        address = context.add_dynamic_addr(builder, case.entry.address, info=name)
        result = builder.call(builder.bitcast(address, pointer), passed)
        if back is not None:
            back.lower(context, builder, case.arguments, values, result, place)
            return context.unpack_value(builder, signature.return_type, place)
        if case.result == "v":
            return context.get_dummy_value()
        own = context.get_value_type(signature.return_type)
        if kind_of(case.result) == "bool":
            low = builder.trunc(result, ir.IntType(8))
            return builder.icmp_unsigned("!=", low, ir.Constant(low.type, 0))
        return result if result.type == own else builder.trunc(result, own)

    return lower


def _make_template(function: Any, overloads: list[_Overload], reasons: list[str]) -> Any:
    """A template: what tells Numba the types of a call."""
    from numba.core import errors
    from numba.core.typing.templates import AbstractTemplate

    name = name_of(function)
    cases = [overload.case for overload in overloads if overload.case is not None]

    class TypedFunctionTemplate(AbstractTemplate):
        key = ("typedcall", name, tuple(case.entry.address for case in cases), id(function))
        prefer_literal = True

        def generic(self, args: Any, kws: Any) -> Any:
            if kws:
                raise errors.TypingError(f"{name} takes no keyword arguments in nopython code")
            case, reason = _select(self.context, overloads, args)
            if case is not None:
                return case.signature
            listed = [f"'{each.entry.signature}'" for each in cases] + reasons
            listed += [reason] if reason else []
            types, refused = ", ".join(map(str, args)), "; ".join(listed)
            raise errors.TypingError(
                f"{name} has nothing that nopython code can call with ({types}): {refused}"
            )

        def get_impl_key(self, signature: Any) -> Any:
            for case in cases:
                if case.signature.args == signature.args:
                    return (self.key, case.entry.signature)
            raise KeyError(signature)

    return TypedFunctionTemplate


def _typeof(fallback: Any, function: Any, context: Any) -> Any:
    """The Numba type of a callable that offers something, the same object as long as it offers the
    same; whatever Numba itself knows comes first."""
    found = fallback(function, context)
    if found is not None or is_a(function, type) or not callable(function):
        return found
    entries = offered(function)
    if not entries:
        return None
    from numba.core.registry import cpu_target

    if _is_known_to_numba(cpu_target.typing_context, function):
        return None
    existing = _known.get(id(function))
    if existing is None or existing.entries != entries:
        overloads, reasons = _overloads(entries)
        template = _make_template(function, overloads, reasons)
        for case in [each.case for each in overloads if each.case is not None]:
            key = (template.key, case.entry.signature)
            definition = (_call(case, name_of(function), function), key, case.signature.args)
            cpu_target.target_context.insert_func_defn([definition])
        if existing is not None:
            _replaced.append(existing)
        existing = _type_class()(template, function, entries)
        _known[id(function)] = existing
    return existing


def _is_known_to_numba(typing_context: Any, function: Any) -> bool:
    """Such as math.sin, which Numba compiles by itself, tagged or not."""
    try:
        return typing_context._lookup_global(function) is not None
    except MemoryError:
        raise
    except Exception:  # of its own `__hash__` and `__eq__`
        return False


_classes: list[Any] = []


def _type_class() -> Any:
    if _classes:
        return _classes[0]
    from numba import types

    class TypedFunctionType(types.Function):
        """The type of one typed function: a value of it needs no memory."""

        def __init__(self, template: Any, function: Any, entries: list[Entry]) -> None:
            self.function = function
            self.entries = entries
            super().__init__(template)

    _classes.append(TypedFunctionType)
    return TypedFunctionType


def register() -> None:
    """Tells Numba about typed functions. Called by Numba, once."""
    if _classes:
        return
    from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

    made = _type_class()
    register_model(made)(models.OpaqueModel)

    @unbox(made)
    def unbox_typed_function(numba_type: Any, obj: Any, c: Any) -> Any:
        return NativeValue(c.context.get_dummy_value())

    for handled in (object, python_types.BuiltinFunctionType):
        known = typeof_impl.registry.get(handled)
        if known is not None:
            typeof_impl.register(handled, functools.partial(_typeof, known))
