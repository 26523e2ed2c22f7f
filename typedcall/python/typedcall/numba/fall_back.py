"""Writes code for Numba that calls the Python function if a typed function falls back or does not accept a value.
Exceptions are passed on unchanged."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.callconv import RETCODE_USEREXC

from typedcall.numba.buffers import check_items, parts_of
from typedcall.numba.cache import address, helper
from typedcall.numba.optionals import is_none
from typedcall.numba.overloads import numba_type
from typedcall.record.codes import CODES, c_letters, is_buffer
from typedcall.record.records import Entry

__all__ = ["FallBack", "let_out", "place_of"]


class Raised(Exception):
    """Compiled code raises this class if the Python function has raised an exception. Creating an instance raises the
    original exception. Compiled code can catch the exception, because compiled code has raised it."""

    def __new__(cls, *args: Any) -> Raised:
        from typedcall.native import _native

        _native.raise_again()


def place_of(context: Any, builder: Any, signature: Any) -> Any:
    """Returns a slot for a result, with the layout of an array element. The slot is zeroed because it is read even if
    there is no result."""
    return cgutils.alloca_once(builder, context.get_data_type(signature.return_type), zfill=True)


def let_out(context: Any, builder: Any, in_try: Any) -> None:
    """Writes code that leaves the compiled function with the saved exception. Inside a `try`, execution continues at
    the next check for exceptions."""
    conv = context.call_conv
    conv.set_static_user_exc(builder, Raised, ())
    with builder.if_then(builder.not_(in_try)):
        conv._return_errcode_raw(builder, RETCODE_USEREXC)


class FallBack:
    """Writes the call to the Python function if the C function gives no result. The call acquires the GIL."""

    def __init__(
        self, letters: list[str], result: str, function: Any, entries: list[Entry], names: list[str],
        optional: list[int]
    ) -> None:
        """`letters` and `result` are the codes in Python. `names` are the names of the last arguments if these are
        passed by name. `optional` are the indices of the arguments that may be None. The caller must keep the function
        and its entries alive."""
        self._letters = letters = letters + ["?"] * len(optional)
        self._function = function
        self._entries = entries
        self._plan = " ".join([f"plan {''.join(letters)}->{result}", *map(str, optional), *names])

    def lower(self, context: Any, builder: Any, types: list[Any], values: list[Any], present: list[Any],
              place: Any) -> None:
        """Writes the call to the Python function. `types` are the Numba types of `values`. `present` tells which of the
        optional arguments are not None."""
        word, byte = ir.IntType(64), ir.IntType(8)
        # The slots are in the entry block, because a loop would otherwise use more stack in each iteration.
        slots = cgutils.alloca_once(builder, word, size=max(len(c_letters(self._letters)), 1))
        at = 0
        types = types + [numba_type("?")] * len(present)
        for letters, given, value in zip(self._letters, types, values + present):
            own = numba_type(letters)
            if is_buffer(letters):
                pointer, count = parts_of(context, builder, given, value)
                check_items(context, builder, letters, pointer, count)
                parts = [("P", pointer), ("n", count)]
            else:
                if is_none(given):
                    value, given = ir.Constant(ir.IntType(1), 0), own
                parts = [(letters,
                          value if given == own else context.cast(builder, value, given, own))]
            for code, part in parts:
                slot = builder.gep(slots, [ir.Constant(ir.IntType(32), at)])
                self._store(builder, CODES[code], part, slot)
                at += 1
        arguments = [byte.as_pointer(), word.as_pointer(), byte.as_pointer(), ir.IntType(32)]
        call = helper(
            context, builder, "FALL_BACK", ir.FunctionType(ir.IntType(32), arguments)
        )
        plan = address(context, builder, self._function, self._entries, self._plan)
        # Inside a `try`, the exception is cleared, because the code may catch it without reading it.
        in_try = context.call_conv.check_try_status(builder).in_try
        failed = builder.call(
            call,
            [
                plan,
                slots,
                builder.bitcast(place, byte.as_pointer()),
                builder.zext(in_try, ir.IntType(32)),
            ],
        )
        with builder.if_then(builder.icmp_signed("!=", failed, ir.Constant(failed.type, 0))):
            let_out(context, builder, in_try)

    def _store(self, builder: Any, code: Any, value: Any, slot: Any) -> None:
        """Stores a value in a slot, with the layout of typedcall/invoke/native_value.h."""
        if code.kind in ("bool", "signed", "unsigned"):
            if value.type.width < 64:
                extend = builder.sext if code.kind == "signed" else builder.zext
                value = extend(value, ir.IntType(64))
        elif code.kind == "complex":
            wide = cgutils.alloca_once(builder, value.type)
            builder.store(value, wide)
            value = builder.ptrtoint(wide, ir.IntType(64))
        builder.store(value, builder.bitcast(slot, value.type.as_pointer()))
