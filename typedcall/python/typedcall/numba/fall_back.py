"""Code for a typed function that falls back, or does not take a value, in Numba's compiled code:
calls the Python function with the same values, takes its result, and passes its exception on
unchanged."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.callconv import RETCODE_USEREXC

from typedcall.numba.buffers import check_items, parts_of
from typedcall.numba.cache import address, helper
from typedcall.numba.overloads import numba_type
from typedcall.record.codes import CODES, c_letters, is_buffer
from typedcall.record.records import Entry

__all__ = ["FallBack", "let_out", "place_of"]


class Raised(Exception):
    """Raised by compiled code if the Python function has raised: creating an instance raises that
    exception, and Numba passes it on. Numba code in between, which only knows its own exceptions,
    can therefore catch it."""

    def __new__(cls, *args: Any) -> Raised:
        from typedcall.native import _native

        _native.raise_again()


def place_of(context: Any, builder: Any, signature: Any) -> Any:
    """Returns the slot for a result, with the layout of an array element: a bool is a byte, as in C.
    For void it is not used. It is zeroed, because it is read even without a result."""
    return cgutils.alloca_once(builder, context.get_data_type(signature.return_type), zfill=True)


def let_out(context: Any, builder: Any, in_try: Any) -> None:
    """Leaves the compiled function with the saved exception; in a `try`, continues at its check."""
    conv = context.call_conv
    conv.set_static_user_exc(builder, Raised, ())
    with builder.if_then(builder.not_(in_try)):
        conv._return_errcode_raw(builder, RETCODE_USEREXC)


class FallBack:
    """Writes the call of the Python function for when the C function has no result; it takes the
    GIL."""

    def __init__(
        self, letters: list[str], result: str, function: Any, entries: list[Entry], names: list[str]
    ) -> None:
        """Takes the codes of Python's arguments and result; the last arguments are passed by
        `names`. The caller keeps the function and its entries alive."""
        self._letters = letters
        self._function = function
        self._entries = entries
        self._plan = " ".join([f"plan {''.join(letters)}->{result}", *names])

    def lower(self, context: Any, builder: Any, types: Any, values: Any, place: Any) -> None:
        """Writes the call of the Python function, a rare path. `types` are those of `values`."""
        word, byte = ir.IntType(64), ir.IntType(8)
        # In the entry block, because otherwise a loop would use more of the stack in each
        # iteration.
        slots = cgutils.alloca_once(builder, word, size=max(len(c_letters(self._letters)), 1))
        at = 0
        for letters, given, value in zip(self._letters, types, values):
            own = numba_type(letters)
            if is_buffer(letters):
                pointer, count = parts_of(context, builder, given, value)
                check_items(context, builder, letters, pointer, count)
                parts = [("P", pointer), ("n", count)]
            else:
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
        # A `try` that catches the exception at once never reads it.
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
        """Like typedcall/invoke/native_value.h."""
        if code.kind in ("bool", "signed", "unsigned"):
            if value.type.width < 64:
                extend = builder.sext if code.kind == "signed" else builder.zext
                value = extend(value, ir.IntType(64))
        elif code.kind == "complex":
            wide = cgutils.alloca_once(builder, value.type)
            builder.store(value, wide)
            value = builder.ptrtoint(wide, ir.IntType(64))
        builder.store(value, builder.bitcast(slot, value.type.as_pointer()))
