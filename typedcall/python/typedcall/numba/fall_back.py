"""What compiled code of Numba's does where a typed function falls back, or does not take a value: it
calls the Python function with the same values, takes its result, and lets its exception out as it was
set."""

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
    """What compiled code raises where the Python function has raised. To make one raises that
    exception, and Numba lets it out. So code of Numba's between here and there can catch it, which
    knows no exceptions but its own."""

    def __new__(cls, *args: Any) -> Raised:
        from typedcall.native import _native

        _native.raise_again()


def place_of(context: Any, builder: Any, signature: Any) -> Any:
    """Where a result goes, as in an array: a bool is a byte there, as in C. That of no result is not
    used. With zeros, which are read where there is none."""
    return cgutils.alloca_once(builder, context.get_data_type(signature.return_type), zfill=True)


def let_out(context: Any, builder: Any, in_try: Any) -> None:
    """Leaves the compiled function for an exception that was put aside; in a `try` goes on, to where
    that looks."""
    conv = context.call_conv
    conv.set_static_user_exc(builder, Raised, ())
    with builder.if_then(builder.not_(in_try)):
        conv._return_errcode_raw(builder, RETCODE_USEREXC)


class FallBack:
    """What is written into compiled code where a function has no result: the call of the Python
    function behind it, which takes the GIL."""

    def __init__(
        self, letters: list[str], result: str, function: Any, entries: list[Entry], names: list[str]
    ) -> None:
        """The letters of what Python passes, and gets; the last arguments are passed by `names`. The
        function and what it offers are kept by others."""
        self._letters = letters
        self._function = function
        self._entries = entries
        self._plan = " ".join([f"plan {''.join(letters)}->{result}", *names])

    def lower(self, context: Any, builder: Any, types: Any, values: Any, place: Any) -> None:
        """Calls the Python function, on what is no usual path. `types` are those of `values`."""
        word, byte = ir.IntType(64), ir.IntType(8)
        # In the entry block: a loop must not take more of the stack in each turn.
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
        # Who catches it at once never looks at it.
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
        """As typedcall/invoke/native_value.h has it."""
        if code.kind in ("bool", "signed", "unsigned"):
            if value.type.width < 64:
                extend = builder.sext if code.kind == "signed" else builder.zext
                value = extend(value, ir.IntType(64))
        elif code.kind == "complex":
            wide = cgutils.alloca_once(builder, value.type)
            builder.store(value, wide)
            value = builder.ptrtoint(wide, ir.IntType(64))
        builder.store(value, builder.bitcast(slot, value.type.as_pointer()))
