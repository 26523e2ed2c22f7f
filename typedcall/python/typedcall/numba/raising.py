"""Writes calls to functions that need a thread state, may raise, or acquire the GIL. Exceptions are passed on
unchanged."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

import struct
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils

from typedcall.numba.cache import address, helper
from typedcall.numba.fall_back import let_out
from typedcall.numba.overloads import Case
from typedcall.record.records import Entry, Flags, View

__all__ = ["AttachedCall", "call_detached", "is_slow_without_gil", "is_suspect", "is_without_gil"]

# These are the values of kKnown and kFailed in fall_back.h.
_KNOWN, _FAILED = 2, 4
_INT = ir.IntType(32)


def is_slow_without_gil(case: Case) -> bool:
    """True if code without the GIL must acquire it only because the function is not THREAD_SAFE."""
    thread_safe = case.entry.with_effects(Flags.THREAD_SAFE)
    return case.view.thread_state == "ATTACHED" and thread_safe.view().thread_state == "ANY"


def is_without_gil() -> bool:
    """True if the compiled code runs without the GIL (nogil=True or parallel=True)."""
    try:
        from numba.core.targetconfig import ConfigStack
    except ImportError:  # raised by Numba before 0.54
        return False
    flags = ConfigStack.top_or_none()
    return flags is not None and bool(
        getattr(flags, "release_gil", False) or getattr(getattr(flags, "auto_parallel", None), "enabled", False))


def call_detached(context: Any, builder: Any, function: Any, passed: list[Any]) -> Any:
    """Writes the call to a function that acquires the GIL. Releases the GIL around the call if the compiled code holds
    it."""
    state = ir.IntType(8).as_pointer()
    detach = helper(context, builder, "DETACH", ir.FunctionType(state, []))
    reattach = helper(context, builder, "REATTACH", ir.FunctionType(ir.VoidType(), [state]))
    before = builder.call(detach, [])
    result = builder.call(function, passed)
    builder.call(reattach, [before])
    return result


def is_suspect(builder: Any, view: View, result: Any) -> Any:
    """Returns a condition that is true if the C result may mean failure."""
    if not view.mask:
        return ir.Constant(ir.IntType(1), not view.is_value_if_equal)
    bits = ir.IntType(view.mask.bit_length())
    if result.type == ir.DoubleType() and view.expected << 1 & view.mask:
        # Floats are compared as numbers, which is faster than comparing bits, and differs only for zeros.
        number, = struct.unpack("=d", struct.pack("=Q", view.expected))
        return builder.fcmp_ordered("==", result, ir.Constant(result.type, number))
    if isinstance(result.type, ir.PointerType):
        result = builder.ptrtoint(result, bits)
    elif not isinstance(result.type, ir.IntType):
        result = builder.bitcast(result, bits)
    elif result.type != bits:  # the bits above those of a narrow result are undefined
        result = builder.trunc(result, bits)
    return builder.icmp_unsigned("!=" if view.is_value_if_equal else "==", result, ir.Constant(bits, view.expected))


class AttachedCall(NamedTuple):
    """Writes calls to a function that needs an attached thread."""

    context: Any
    builder: Any
    case: Case
    function: Any
    entries: list[Entry]

    def write(self, function: Any, passed: list[Any]) -> Any:
        """Writes the call and returns the C function's result, unconverted. The call is written twice, for attached
        and detached threads, so that LLVM can move the test out of a loop."""
        builder = self.builder
        of = function.function_type.return_type
        is_void = isinstance(of, ir.VoidType)
        result = None if is_void else cgutils.alloca_once(builder, of)
        view = self.case.view
        failed = None
        if view.may_raise:
            in_try = self.context.call_conv.check_try_status(builder).in_try
            failed = cgutils.alloca_once(builder, _INT)
            builder.store(ir.Constant(_INT, 0), failed)

        def call(entered: Any) -> None:
            returned = builder.call(function, passed)
            if result is not None:
                builder.store(returned, result)
            if failed is not None:
                self._check(returned, entered, in_try, failed)

        with builder.if_else(self._is_attached(), likely=True) as (attached, detached):
            with attached:
                call(ir.Constant(_INT, _KNOWN))
            with detached:
                entered = self._call("ENTER", _INT, [])
                call(entered)
                self._call("LEAVE", ir.VoidType(), [entered])
        if failed is not None:
            has_failed = builder.icmp_signed("!=", builder.load(failed), ir.Constant(_INT, 0))
            with builder.if_then(has_failed, likely=False):
                let_out(self.context, builder, in_try)
        return None if result is None else builder.load(result)

    def _call(self, name: str, returned: Any, values: list[Any], attributes: tuple[str, ...] = ()) -> Any:
        of = ir.FunctionType(returned, [value.type for value in values])
        return self.builder.call(helper(self.context, self.builder, name, of), values, attrs=attributes)

    def _is_attached(self) -> Any:
        """Returns a condition that is true if this thread is attached. The test is made once, at the start of the
        compiled function, because the functions that it calls do not change the result. IS_ATTACHED is declared
        `readnone`, so LLVM can move the test out of loops."""
        builder = self.builder
        owner = builder.function
        if not hasattr(owner, "typedcall_attached"):
            with builder.goto_entry_block():
                answer = self._call("IS_ATTACHED", _INT, [], ("nounwind", "readnone"))
                owner.typedcall_attached = builder.icmp_signed("!=", answer, ir.Constant(_INT, 0))
        return owner.typedcall_attached

    def _check(self, result: Any, entered: Any, in_try: Any, failed: Any) -> None:
        """Writes code that handles the function's exception, and stores in `failed` whether there was one."""
        builder = self.builder
        with builder.if_then(is_suspect(builder, self.case.view, result), likely=False):
            how = builder.or_(builder.zext(in_try, _INT), builder.and_(entered, ir.Constant(_INT, _KNOWN)))
            if self.case.view.reports:
                how = builder.or_(how, ir.Constant(_INT, _FAILED))
            callable_ = address(self.context, builder, self.function, self.entries, "callable")
            builder.store(self._call("CHECK", _INT, [callable_, how]), failed)
