"""Typed functions in Numba's nopython code, where a call of one compiles to a direct call of its C
function. Numba loads this by the entry point `numba_extensions`; nobody has to import it."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

import functools
import types as python_types
from typing import Any, Dict, List, Optional, Tuple

from typedcall._choose import name_of
from typedcall._codes import CODES, kind_of
from typedcall._foreign import is_a
from typedcall._records import Entry, Flags, parse_signature

__all__ = ["register"]

#: Compiled code can lose the GIL for a while; it cannot raise what a C function sets, nor does it
#: hold the GIL for certain (`nogil=True`, prange).
_HONOURS = Flags.ACQUIRES_GIL

# By id of the function, which the type keeps alive with its entries: compiled code may last for
# ever, and has the addresses alone.
_known: Dict[int, Any] = {}
# Of functions that offer something else by now.
_replaced: List[Any] = []


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
    raise ValueError("Numba has no type for %r (%s)" % (letters, code.c_type))


class _Case:
    """One overload: how Numba types it and what C gets."""

    def __init__(self, entry: Entry) -> None:
        from numba.core.typing import signature

        self.entry = entry
        arguments, result = parse_signature(entry.signature)
        self.letters = arguments
        self.result = result
        self.arguments = [_numba_type(letters) for letters in arguments]
        self.signature = signature(_numba_type(result), *self.arguments)
        registers = [CODES[letters].kind for letters in arguments if letters[0] != "&"]
        if "complex" in registers and 2 * len(registers) > 8:
            # C would pass both parts of a complex number on the stack, Numba one of them.
            raise ValueError("too many arguments for complex numbers among them")


def _cases(entries: List[Entry]) -> Tuple[List[_Case], List[str]]:
    """The overloads that compiled code can call, and why it cannot call the others."""
    cases, reasons = [], []
    for entry in entries:
        reason = entry.flags.asks(_HONOURS)
        try:
            if not reason:
                cases.append(_Case(entry))
        except ValueError as error:
            reason = "(%s)" % error
        if reason:
            reasons.append("'%s' %s" % (entry.signature, reason))
    return cases, reasons


def _cost(context: Any, given: Any, wanted: Any) -> Optional[int]:
    """How far an argument is from a parameter; None: not without loss. Python's own rules: an
    integer for a float is right, a float for an integer is not."""
    from numba import types
    from numba.core.typeconv import Conversion

    if given == wanted:
        return 0
    if isinstance(given, types.IntegerLiteral) and isinstance(wanted, types.Integer):
        return 1 if wanted.minval <= given.literal_value <= wanted.maxval else None
    if isinstance(given, types.Literal):
        given = types.unliteral(given)
    number = (types.Integer, types.Boolean)
    if isinstance(given, number) and isinstance(wanted, types.Float) and wanted.bitwidth == 64:
        return 9
    if isinstance(given, number) and isinstance(wanted, types.Complex):
        return 10
    conversion = context.can_convert(given, wanted)
    costs = {Conversion.exact: 0, Conversion.promote: 1, Conversion.safe: 2}
    return costs.get(conversion)


def _select(context: Any, cases: List[_Case], arguments: Tuple[Any, ...]) -> Optional[_Case]:
    """The case with the smallest cost, the first of several."""
    best: Optional[_Case] = None
    least = 0
    for case in cases:
        if len(case.arguments) != len(arguments):
            continue
        costs = [_cost(context, given, wanted) for given, wanted in zip(arguments, case.arguments)]
        if None in costs:
            continue
        total = sum(cost for cost in costs if cost is not None)
        if best is None or total < least:
            best, least = case, total
    return best


def _call(case: _Case, name: str) -> Any:
    """The function that writes the call of `case` into compiled code."""

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
        if case.result == "v":
            returned: Any = ir.VoidType()
        else:
            returned = passed_as(context, case.result, signature.return_type)
        pointer = ir.FunctionType(returned, types).as_pointer()
        # A "dynamic address": Numba does not keep code in its disk cache that has one.
        address = context.add_dynamic_addr(builder, case.entry.address, info=name)
        result = builder.call(builder.bitcast(address, pointer), passed)
        if case.result == "v":
            return context.get_dummy_value()
        own = context.get_value_type(signature.return_type)
        if kind_of(case.result) == "bool":
            low = builder.trunc(result, ir.IntType(8))
            return builder.icmp_unsigned("!=", low, ir.Constant(low.type, 0))
        return result if result.type == own else builder.trunc(result, own)

    return lower


def _make_template(function: Any, cases: List[_Case], reasons: List[str]) -> Any:
    """A template: what tells Numba the types of a call."""
    from numba.core import errors
    from numba.core.typing.templates import AbstractTemplate

    name = name_of(function)

    class TypedFunctionTemplate(AbstractTemplate):
        key = ("typedcall", name, tuple(case.entry.address for case in cases), id(function))
        prefer_literal = True

        def generic(self, args: Any, kws: Any) -> Any:
            if kws:
                raise errors.TypingError("%s takes no keyword arguments in nopython code" % name)
            case = _select(self.context, cases, args)
            if case is not None:
                return case.signature
            listed = ["'%s'" % each.entry.signature for each in cases] + reasons
            raise errors.TypingError(
                "%s has nothing that nopython code can call with (%s): %s"
                % (name, ", ".join(map(str, args)), "; ".join(listed))
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
    from typedcall._choose import offered

    entries = offered(function)
    if not entries:
        return None
    from numba.core.registry import cpu_target

    if _is_known_to_numba(cpu_target.typing_context, function):
        return None
    standing = _known.get(id(function))
    if standing is None or standing.entries != entries:
        cases, reasons = _cases(entries)
        template = _make_template(function, cases, reasons)
        for case in cases:
            key = (template.key, case.entry.signature)
            definition = (_call(case, name_of(function)), key, case.signature.args)
            cpu_target.target_context.insert_func_defn([definition])
        if standing is not None:
            _replaced.append(standing)
        standing = _type_class()(template, function, entries)
        _known[id(function)] = standing
    return standing


def _is_known_to_numba(typing_context: Any, function: Any) -> bool:
    """Such as math.sin, which Numba compiles by itself, tagged or not."""
    try:
        return typing_context._lookup_global(function) is not None
    except KeyboardInterrupt:
        raise
    except BaseException:  # of its own `__hash__` and `__eq__`
        return False


_classes: List[Any] = []


def _type_class() -> Any:
    if _classes:
        return _classes[0]
    from numba import types

    class TypedFunctionType(types.Function):
        """The type of one typed function: a value of it needs no memory."""

        def __init__(self, template: Any, function: Any, entries: List[Entry]) -> None:
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
