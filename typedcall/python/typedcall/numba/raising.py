"""The call of a function that needs a thread state, or raises, or takes the GIL itself, in Numba's compiled
code: attaches the thread where it is not, or lets go of the GIL, and lets the exception out as it was set."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

from typing import Any

from typedcall.numba.cache import address, helper
from typedcall.numba.fall_back import let_out
from typedcall.numba.overloads import Case
from typedcall.record.codes import CODES, has_error_value, pointee
from typedcall.record.records import Entry, Flags

__all__ = ["GuardedCall", "call_detached", "is_without_gil", "lets_go", "may_meet", "needs_guard"]

_RAISES = Flags.MAY_RAISE | Flags.RETURNS_STATUS
# As in fall_back.h.
_KNOWN, _FAILED = 2, 4


def needs_guard(case: Case) -> bool:
    return bool(case.entry.flags & (_RAISES | Flags.NEEDS_THREAD))


def lets_go(case: Case) -> bool:
    """True if the function may wait for another thread to let go of the GIL."""
    return case.entry.flags & (Flags.ACQUIRES_GIL | Flags.NEEDS_THREAD) == Flags.ACQUIRES_GIL


def may_meet(case: Case) -> bool:
    """True if only the GIL of its callers keeps several threads out of the function."""
    return not case.entry.flags & (Flags.NEEDS_THREAD | Flags.ACQUIRES_GIL | Flags.THREAD_SAFE)


def is_without_gil() -> bool:
    """True if the code that is being compiled runs without the GIL: nogil=True, or parts of it in parallel."""
    try:
        from numba.core.targetconfig import ConfigStack
    except ImportError:  # before Numba 0.54
        return False
    flags = ConfigStack.top_or_none()
    return flags is not None and bool(
        getattr(flags, "release_gil", False) or getattr(getattr(flags, "auto_parallel", None), "enabled", False))


def call_detached(context: Any, builder: Any, function: Any, passed: list[Any]) -> Any:
    """The call of such a function, without the GIL also where the compiled code has it."""
    from llvmlite import ir

    state = ir.IntType(8).as_pointer()
    detach = helper(context, builder, "DETACH", ir.FunctionType(state, []))
    reattach = helper(context, builder, "REATTACH", ir.FunctionType(ir.VoidType(), [state]))
    before = builder.call(detach, [])
    result = builder.call(function, passed)
    builder.call(reattach, [before])
    return result


class GuardedCall:
    """Written around one call: enter(), the call, leave()."""

    def __init__(
        self, context: Any, builder: Any, case: Case, function: Any, entries: list[Entry]
    ) -> None:
        from llvmlite import ir
        from numba.core import cgutils

        self._context = context
        self._builder = builder
        self._case = case
        self._function = function
        self._entries = entries
        self._int = ir.IntType(32)
        self._is_detached = builder.not_(self._attached())
        #: As enter() says it; of a thread that is attached anyway:
        self._entered = cgutils.alloca_once_value(builder, ir.Constant(self._int, _KNOWN))

    def _call(self, builder: Any, name: str, returned: Any, values: list[Any]) -> Any:
        from llvmlite import ir

        of = ir.FunctionType(returned, [value.type for value in values])
        return builder.call(helper(self._context, builder, name, of), values)

    def _attached(self) -> Any:
        """Is this thread attached? Asked once, where the compiled function begins: nothing in it
        changes that for long."""
        from llvmlite import ir

        builder = self._builder
        owner = builder.function
        if not hasattr(owner, "typedcall_attached"):
            with builder.goto_entry_block():
                answer = self._call(builder, "IS_ATTACHED", self._int, [])
                owner.typedcall_attached = builder.icmp_signed(
                    "!=", answer, ir.Constant(self._int, 0)
                )
        return owner.typedcall_attached

    def enter(self) -> None:
        builder = self._builder
        with builder.if_then(self._is_detached, likely=False):
            builder.store(self._call(builder, "ENTER", self._int, []), self._entered)

    def leave(self, result: Any) -> None:
        """`result` is what the C function returned, as C returns it."""
        from llvmlite import ir
        from numba.core import cgutils

        builder = self._builder
        suspect = self._may_have_raised(result)
        failed = in_try = None
        if suspect is not None:
            in_try = self._context.call_conv.check_try_status(builder).in_try
            failed = cgutils.alloca_once_value(builder, ir.Constant(self._int, 0))
            with builder.if_then(suspect, likely=False):
                how = builder.or_(builder.zext(in_try, self._int), builder.and_(
                    builder.load(self._entered), ir.Constant(self._int, _KNOWN)))
                if self._case.entry.flags & Flags.RETURNS_STATUS:
                    how = builder.or_(how, ir.Constant(self._int, _FAILED))
                callable_ = address(
                    self._context, builder, self._function, self._entries, "callable"
                )
                builder.store(self._call(builder, "CHECK", self._int, [callable_, how]), failed)
        with builder.if_then(self._is_detached, likely=False):
            self._call(builder, "LEAVE", ir.VoidType(), [builder.load(self._entered)])
        if failed is not None:
            has_failed = builder.icmp_signed("!=", builder.load(failed), ir.Constant(self._int, 0))
            with builder.if_then(has_failed, likely=False):
                let_out(self._context, builder, in_try)

    def _may_have_raised(self, result: Any) -> Any:
        """Where an exception may be set; None: never."""
        from llvmlite import ir

        builder, flags = self._builder, self._case.entry.flags
        if flags & Flags.RETURNS_STATUS:
            return builder.icmp_signed("!=", result, ir.Constant(result.type, 0))
        if not flags & Flags.MAY_RAISE:
            return None
        letters = self._case.result
        if not has_error_value(letters):
            return ir.Constant(ir.IntType(1), 1)
        code = CODES[pointee(letters)]
        if letters[0] == "&" or code.kind == "pointer":
            return builder.icmp_unsigned("==", result, ir.Constant(result.type, None))
        if code.kind == "floating":
            if flags & Flags.ERROR_IS_NEG_ZERO:
                bits = ir.IntType(8 * code.size)
                least = ir.Constant(bits, 1 << (8 * code.size - 1))
                return builder.icmp_unsigned("==", builder.bitcast(result, bits), least)
            return builder.fcmp_ordered("==", result, ir.Constant(result.type, -1.0))
        # What is above a narrow result's own bits is not defined.
        own = ir.IntType(8 * code.size)
        low = result if result.type == own else builder.trunc(result, own)
        return builder.icmp_unsigned("==", low, ir.Constant(own, -1))
