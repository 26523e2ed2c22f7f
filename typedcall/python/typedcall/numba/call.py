"""Writes the code for a call to a typed function in Numba. Arguments are converted and checked as in the wrapper."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from typedcall.numba.arguments import given_of, names_of
from typedcall.numba.buffers import check_items, parts_of, takes_array
from typedcall.numba.cache import address
from typedcall.numba.complexes import as_complex, passed_parts, returned_as
from typedcall.numba.fall_back import FallBack, place_of
from typedcall.numba.optionals import is_none, points, unwrapped
from typedcall.numba.overloads import (
    Case,
    Choice,
    is_omitted,
    kind_of_type,
    letters_of_type,
    numba_type,
    takes_truth,
)
from typedcall.numba.raising import (
    AttachedCall,
    call_detached,
    is_slow_without_gil,
    is_suspect,
    is_without_gil,
)
from typedcall.record.choice import makes_floating
from typedcall.record.codes import CODES, is_const, kind_of, range_of
from typedcall.record.records import Entry
from typedcall.tools.foreign import name_of
from typedcall.tools.parameters import constant_of

__all__ = ["Call"]


class Call:
    """Writes the calls to one function, for all types of arguments."""

    def __init__(self, function: Any, entries: list[Entry]) -> None:
        """The caller must keep the function and its entries alive until the process ends."""
        self._function = function
        self._entries = entries
        #: The chosen overloads for each tuple of argument types. Must be filled before code is generated.
        self.choices: dict[tuple[Any, ...], Choice] = {}
        self._backs: dict[tuple[Any, ...], FallBack] = {}
        self._has_warned = False

    def lower(self, context: Any, builder: Any, signature: Any, values: Any) -> Any:
        """Writes the call and returns its result. Numba calls this."""
        choice = self.choices[signature.args]
        result = None
        if choice.letters_of_result != "v":
            result = cgutils.alloca_once(builder, context.get_value_type(signature.return_type))
        site = _Site.of(context, builder, signature, values, choice, result)
        if not choice.absent:
            self._steps(site, 0, {})
        else:
            is_present = self._all(site, [site.present[i] for i in choice.absent])
            with builder.if_else(is_present, likely=True) as (then, otherwise):
                with then:
                    self._steps(site, 0, {})
                with otherwise:
                    self._absent(site)
        return context.get_dummy_value() if result is None else builder.load(result)

    def _steps(self, site: _Site, at: int, in_range: dict[int, Any]) -> None:
        """Writes code that tries the overloads from step `at` on. `in_range` tells for each int argument whether all
        overloads so far could take it."""
        builder = site.builder
        if at == len(site.choice.steps):
            self._boxed(site)
            return
        overload, fits = site.choice.steps[at]
        # An int that an earlier overload could not take must not be converted to a float.
        allowed, checks = [], {}
        for i, (letters, fit) in enumerate(zip(overload.letters, fits)):
            if makes_floating(letters):
                if fit is not True:
                    allowed.append(in_range[i])
            elif fit is not True:
                checks[i] = self._fits(site, i, letters)
        blocked = builder.not_(self._all(site, allowed)) if allowed else None
        for i, check in checks.items():
            known = check if blocked is None else builder.or_(blocked, check)
            in_range[i] = known if i not in in_range else builder.and_(in_range[i], known)
        conditions = allowed + list(checks.values())
        if False in fits or overload.case is None:
            self._steps(site, at + 1, in_range)
        elif not conditions:
            self._native(site, overload.case)
        else:
            with builder.if_else(self._all(site, conditions), likely=True) as (then, otherwise):
                with then:
                    self._native(site, overload.case)
                with otherwise:
                    self._steps(site, at + 1, in_range)

    def _all(self, site: _Site, conditions: list[Any]) -> Any:
        together = conditions[0]
        for each in conditions[1:]:
            together = site.builder.and_(together, each)
        return together

    def _fits(self, site: _Site, i: int, letters: str) -> Any:
        """Returns a comparison that tests whether the int is in the parameter's range."""
        builder, value, given = site.builder, site.values[i], site.types[i]
        if kind_of_type(given) == "bool":
            return ir.Constant(ir.IntType(1), 1)
        least, most = range_of(letters)
        if given.signed and least < 0:
            narrow = builder.trunc(value, ir.IntType(8 * CODES[letters].size))
            return builder.icmp_signed("==", builder.sext(narrow, value.type), value)
        if most >= given.maxval:
            return builder.icmp_signed(">=", value, ir.Constant(value.type, 0))
        return builder.icmp_unsigned("<=", value, ir.Constant(value.type, most))

    def _call_back(self, site: _Site, result: str, place: Any) -> None:
        """Writes the call to the Python function with the same arguments."""
        given = given_of(site.types)
        letters = [site.letters(i) for i in given]
        optional = [at for at, i in enumerate(given) if site.present[i] is not None]
        key = (tuple(given), *letters, result, *optional)
        if key not in self._backs:
            names = names_of(self._function, given)
            self._backs[key] = FallBack(letters, result, self._function, self._entries, names, optional)
        types = [site.types[i] for i in given]
        values = [site.values[i] for i in given]
        present = [site.present[given[at]] for at in optional]
        self._backs[key].lower(site.context, site.builder, types, values, present, place)

    def _boxed(self, site: _Site) -> None:
        """Writes a call to the Python function, which handles these arguments or raises OverflowError."""
        place = place_of(site.context, site.builder, site.signature)
        self._call_back(site, site.choice.letters_of_result, place)
        self._store_from(site, place)

    def _absent(self, site: _Site) -> None:
        """Writes the call for arguments of which some are None, but must not be."""
        if not site.choice.unboxable:
            self._boxed(site)
            return
        text = (f"{name_of(self._function)}: a number or an array is None, and compiled code cannot call the Python "
                f"function instead, because {site.choice.unboxable}")
        site.context.call_conv.return_user_exc(site.builder, TypeError, (text,))

    def _native(self, site: _Site, case: Case) -> None:
        context, builder = site.context, site.builder
        types: list[Any] = []
        passed: list[Any] = []
        for letters, own, given, value, present in zip(
            case.letters, case.arguments, site.types, site.values, site.present
        ):
            kind = kind_of(letters)
            if is_none(given) and points(letters):
                types.append(ir.IntType(8).as_pointer() if own is None else _passed_as(context, letters, own))
                passed.append(ir.Constant(types[-1], None))
                continue
            if takes_array(letters):
                parts = parts_of(context, builder, given, value)
                check_items(context, builder, letters, *parts)
                passed += parts if kind == "buffer" else parts[:1]
                types += [each.type for each in passed[len(types):]]
                continue
            value = _converted(context, builder, value, given, own, letters, present)
            if kind == "complex":
                passed += passed_parts(builder, value)
                types += [each.type for each in passed[len(types):]]
                continue
            types.append(_passed_as(context, letters, own))
            if kind in ("bool", "signed", "unsigned") and value.type != types[-1]:
                extend = builder.sext if kind == "signed" else builder.zext
                value = extend(value, types[-1])
            passed.append(value)
        place = None
        if case.view.reports:
            returned: Any = ir.IntType(32)
            place = place_of(context, builder, site.signature)
            if case.result != "v":
                passed.append(place)
                types.append(place.type)
        elif case.result == "v":
            returned = ir.VoidType()
        else:
            returned = _passed_as(context, case.result, case.result_type)
        self._warn_of_threads(case)
        which = f"entry {self._entries.index(case.entry)}"
        function = address(context, builder, self._function, self._entries, which,
                           ir.FunctionType(returned, types))
        if case.view.thread_state == "ATTACHED":
            result = AttachedCall(context, builder, case, self._function, self._entries).write(function, passed)
        elif case.view.thread_state == "DETACHED":
            result = call_detached(context, builder, function, passed)
        else:
            result = builder.call(function, passed)
        if case.view.may_fall_back:
            with builder.if_then(is_suspect(builder, case.view, result), likely=False):
                self._call_back(site, case.result, place)
        if case.view.reports:
            self._store_from(site, place)
        elif case.result != "v":
            own = context.get_value_type(case.result_type)
            if kind_of(case.result) == "bool":
                low = builder.trunc(result, ir.IntType(8))
                result = builder.icmp_unsigned("!=", low, ir.Constant(low.type, 0))
            elif kind_of(case.result) == "complex":
                result = as_complex(builder, result, own) if result.type != own else result
            elif result.type != own:
                result = builder.trunc(result, own)
            builder.store(result, site.result)

    def _warn_of_threads(self, case: Case) -> None:
        """Warns once if code that runs without the GIL calls a function that is not THREAD_SAFE."""
        if self._has_warned or not is_slow_without_gil(case) or not is_without_gil():
            return
        self._has_warned = True
        warnings.warn(f"{name_of(self._function)} is not declared THREAD_SAFE: compiled code without the GIL takes it "
                      "for each call, so threads take turns; with that flag it would not", RuntimeWarning, stacklevel=2)

    def _store_from(self, site: _Site, place: Any) -> None:
        """Reads the result at `place`, which has the layout of an array element, and stores it."""
        if site.result is not None:
            value = site.context.unpack_value(site.builder, site.signature.return_type, place)
            site.builder.store(value, site.result)


class _Site(NamedTuple):
    """One call in the code that is being generated."""

    context: Any
    builder: Any
    signature: Any
    #: The types and values of the arguments, without Optionals, and conditions that tell which arguments are not None.
    types: tuple[Any, ...]
    values: tuple[Any, ...]
    present: tuple[Any, ...]
    choice: Choice
    #: The slot for the result, or None for void.
    result: Any

    @classmethod
    def of(cls, context: Any, builder: Any, signature: Any, values: Any, choice: Choice, result: Any) -> _Site:
        parts = [unwrapped(context, builder, *pair) for pair in zip(signature.args, values)]
        of, passed, present = [tuple(part[at] for part in parts) for at in range(3)]
        return cls(context, builder, signature, of, passed, present, choice, result)

    def letters(self, i: int) -> str:
        """Returns the code of an argument for the Python function. For a buffer, this is the code in the overloads."""
        if is_none(self.types[i]):
            return "?"
        if kind_of_type(self.types[i]):
            return letters_of_type(self.types[i])
        asked: list[str] = [step.overload.letters[i] for step in self.choice.steps]
        return min(asked, key=is_const)


def _passed_as(context: Any, letters: str, own: Any) -> Any:
    # C's calling conventions require narrow integers to be extended to 32 bits.
    if kind_of(letters) in ("bool", "signed", "unsigned"):
        return ir.IntType(max(32, 8 * CODES[letters].size))
    of = context.get_value_type(own)
    return returned_as(of) if kind_of(letters) == "complex" else of


def _converted(
    context: Any, builder: Any, value: Any, given: Any, own: Any, letters: str, present: Any
) -> Any:
    """Converts a value that is in range. As in the wrapper, an int becomes a float by way of a double. `present` is
    false at run time if an Optional is None."""
    if is_omitted(given):
        return context.get_constant_generic(builder, own, constant_of(letters, given.value))
    if given == own:
        return value
    if takes_truth(given, letters):
        return _truth_of(context, builder, value, given, present)
    if kind_of(letters) in ("floating", "complex") and kind_of_type(given) in ("bool", "integer"):
        wide = numba_type("d")
        value, given = context.cast(builder, value, given, wide), wide
    if isinstance(given, types.CPointer) and given != own:
        return builder.bitcast(value, context.get_value_type(own))
    return value if given == own else context.cast(builder, value, given, own)


def _truth_of(context: Any, builder: Any, value: Any, given: Any, present: Any) -> Any:
    """Returns bool(value), as a value in the generated code."""
    if isinstance(given, types.NoneType):  # Numba folds bool(None) and has no code for it
        return present
    if present is None:
        return context.is_true(builder, given, value)
    truth = cgutils.alloca_once(builder, ir.IntType(1))
    builder.store(ir.Constant(ir.IntType(1), 0), truth)
    with builder.if_then(present):
        builder.store(context.is_true(builder, given, value), truth)
    return builder.load(truth)
