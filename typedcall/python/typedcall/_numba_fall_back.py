"""What compiled code of Numba's does where a typed function falls back: it calls the Python function
with the same values, takes its result, and lets its exception out as it was set."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

from typing import Any

from typedcall._codes import CODES
from typedcall._foreign import name_of

__all__ = ["FallBack"]


class Raised(Exception):
    """What compiled code raises where the Python function has raised. To make one raises that
    exception, and Numba lets it out. So code of Numba's between here and there can catch it, which
    knows no exceptions but its own."""

    def __new__(cls, *args: Any) -> Raised:
        from typedcall import _native

        raise _native.take_raised()


class FallBack:
    """What is written into compiled code for a function that may have no result: the place where
    its value goes, and the call of the Python function behind it, which takes the GIL."""

    def __init__(self, letters: list[str], signature: str, function: Any) -> None:
        """`letters` of what Python passes; `signature` is the entry's. `function` is kept by others."""
        from typedcall import _native

        self._letters = letters
        self._name = name_of(function)
        self._plan = _native.fall_back_plan(function, signature)
        self._call = _native.FALL_BACK

    def place(self, context: Any, builder: Any, signature: Any) -> Any:
        """As in an array: a bool is a byte there, as in C."""
        from numba.core import cgutils

        return cgutils.alloca_once(builder, context.get_data_type(signature.return_type))

    def lower(self, context: Any, builder: Any, types: Any, values: Any, status: Any, place: Any
              ) -> None:
        from llvmlite import ir
        from numba.core import cgutils
        from numba.core.callconv import RETCODE_USEREXC

        conv = context.call_conv
        zero = ir.Constant(status.type, 0)
        word, byte = ir.IntType(64), ir.IntType(8)
        # In the entry block: a loop must not take more of the stack in each turn.
        slots = cgutils.alloca_once(builder, word, size=max(len(values), 1))
        with builder.if_then(builder.icmp_signed("!=", status, zero), likely=False):
            for i, (letters, numba_type, value) in enumerate(
                zip(self._letters, types, values)
            ):
                slot = builder.gep(slots, [ir.Constant(ir.IntType(32), i)])
                self._store(context, builder, CODES[letters], numba_type, value, slot)
            arguments = [byte.as_pointer(), word.as_pointer(), byte.as_pointer(), ir.IntType(32)]
            pointer = ir.FunctionType(ir.IntType(32), arguments).as_pointer()
            call = context.add_dynamic_addr(builder, self._call, info="typedcall fall back")
            plan = context.add_dynamic_addr(builder, self._plan, info=self._name)
            # Who catches it at once never looks at it.
            in_try = conv.check_try_status(builder).in_try
            failed = builder.call(
                builder.bitcast(call, pointer),
                [
                    plan,
                    slots,
                    builder.bitcast(place, byte.as_pointer()),
                    builder.zext(in_try, ir.IntType(32)),
                ],
            )
            with builder.if_then(builder.icmp_signed("!=", failed, zero), likely=False):
                builder.store(ir.Constant(place.type.pointee, None), place)
                conv.set_static_user_exc(builder, Raised, ())
                with builder.if_then(builder.not_(in_try)):
                    conv._return_errcode_raw(builder, RETCODE_USEREXC)

    def _store(self, context: Any, builder: Any, code: Any, numba_type: Any, value: Any, slot: Any
               ) -> None:
        """As typedcall/invoke/native_value.h has it."""
        from llvmlite import ir
        from numba.core import cgutils

        if code.kind in ("bool", "signed", "unsigned"):
            if value.type.width < 64:
                extend = builder.sext if code.kind == "signed" else builder.zext
                value = extend(value, ir.IntType(64))
        elif code.kind == "complex":
            wide = cgutils.alloca_once(builder, value.type)
            builder.store(value, wide)
            value = builder.ptrtoint(wide, ir.IntType(64))
        builder.store(value, builder.bitcast(slot, value.type.as_pointer()))
