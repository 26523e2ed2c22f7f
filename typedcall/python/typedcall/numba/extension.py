"""Makes Numba compile calls to typed functions into direct calls to C functions. Numba loads this module through the
entry point `numba_extensions`."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

import ctypes
import functools
import itertools
import os
import types as python_types
import weakref
from typing import Any

from numba.core import errors, types
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate

from typedcall.numba.arguments import type_call
from typedcall.numba.cache import install, offered, reduce_type, turn
from typedcall.numba.call import Call
from typedcall.numba.overloads import Overload, overloads_of
from typedcall.numba.read_only import define, tell_apart
from typedcall.numba.refusals import why_nothing
from typedcall.record.records import Entry
from typedcall.tools.foreign import few, is_a, name_of

__all__ = ["register", "unregister"]

# Numba's types for functions, by the function's id. Compiled code keeps its types alive, and a type keeps its function
# alive.
_known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_numbers = itertools.count()


def _make_template(
    function: Any, overloads: list[Overload], reasons: list[str], call: Call
) -> Any:
    """Returns the template from which Numba learns the types of a call."""
    name = name_of(function)
    cases = [overload.case for overload in overloads if overload.case is not None]

    class TypedFunctionTemplate(AbstractTemplate):
        key = ("typedcall", name, next(_numbers))
        prefer_literal = True

        def generic(self, args: Any, kws: Any) -> Any:
            typed, reason = type_call(self.context, function, overloads, args, dict(kws))
            if typed is not None:
                choice = typed.choice
                call.choices[choice.arguments] = choice
                made = signature(choice.result, *choice.arguments)
                return made if typed.pysig is None else made.replace(pysig=typed.pysig)
            listed = [f"'{each.entry.signature}'" for each in cases] + reasons
            listed += [reason] if reason else []
            given = [*map(str, args), *(f"{keyword}={each}" for keyword, each in dict(kws).items())]
            types, refused = few(given), few(listed, "; ")
            raise errors.TypingError(
                f"{name} has nothing that nopython code can call with ({types}): {refused}"
            )

        def get_impl_key(self, signature: Any) -> Any:
            return self.key

    return TypedFunctionTemplate


def _typeof(fallback: Any, function: Any, context: Any) -> Any:
    """Returns the Numba type of a callable that has entries. The type stays the same until the entries change. Numba's
    own types take precedence."""
    try:
        found = fallback(function, context)
    except TypeError:  # for functions of cffi and ctypes with types that Numba lacks, such as complex numbers
        if not offered(function):
            raise
        found = None
    if found is not None or is_a(function, type) or not callable(function):
        return found
    from numba.core.registry import cpu_target

    # Tags that packages provide must not be loaded for functions that Numba knows, such as those of math.
    if _is_known_to_numba(cpu_target.typing_context, function):
        return None
    entries = offered(function)
    nothing = [] if entries else why_nothing(function)
    if not entries and not nothing:
        return None
    existing = _known.get(id(function))
    if existing is None or existing.entries != entries:
        overloads, reasons = overloads_of(function, entries)
        call = Call(function, entries)
        template = _make_template(function, overloads, reasons + nothing, call)
        any_types = (types.VarArg(types.Any),)
        target = cpu_target.target_context
        target.insert_func_defn([(call.lower, template.key, any_types)])
        existing = TypedFunctionType(template, function, entries)
        # Removes the definition of the function, and the objects that only it keeps alive, when the type is freed.
        # `Call` and address() keep alive the objects that compiled code needs.
        weakref.finalize(existing, target.remove_user_function, template.key).atexit = False
        _known[id(function)] = existing
    return existing


def _is_known_to_numba(typing_context: Any, function: Any) -> bool:
    """True for functions that Numba compiles itself, such as math.sin, even if they are tagged."""
    try:
        return typing_context._lookup_global(function) is not None
    except MemoryError:
        raise
    except Exception:  # raised by the function's `__hash__` or `__eq__`
        return False


class TypedFunctionType(types.Function):
    """The Numba type of one typed function."""

    def __init__(self, template: Any, function: Any, entries: list[Entry]) -> None:
        self.function = function
        self.entries = entries
        super().__init__(template)

    def __reduce__(self) -> Any:
        return reduce_type(self.function, self.entries)


# Numba's functions that register() has replaced, by the type that they dispatch on. Empty while typedcall is not
# registered.
_before: dict[Any, Any] = {}


def register() -> None:
    """Registers typed functions with Numba, unless TYPEDCALL_NUMBA=0 is in the environment. Numba calls this
    automatically. Call it yourself after unregister(), or if the entry point was removed."""
    if _before or os.environ.get("TYPEDCALL_NUMBA") == "0":
        return
    from numba.extending import typeof_impl

    _define()
    turn(True)
    tell_apart(True)
    for handled in (object, python_types.BuiltinFunctionType, ctypes._CFuncPtr):
        known = typeof_impl.registry.get(handled)
        if known is not None:
            _before[handled] = known
            typeof_impl.register(handled, functools.partial(_typeof, known))


def unregister() -> None:
    """Undoes register(). Only code that is compiled or read from Numba's cache later is affected."""
    from numba.core import entrypoints
    from numba.extending import typeof_impl

    entrypoints.init_all()  # otherwise Numba would call register() later, with its first function
    for handled, known in _before.items():
        typeof_impl.register(handled, known)
    _before.clear()
    turn(False)
    tell_apart(False)


@functools.cache
def _define() -> None:
    """Makes registrations that are needed only once per process."""
    from numba.extending import NativeValue, models, register_model, unbox

    install()
    define()
    register_model(TypedFunctionType)(models.OpaqueModel)

    @unbox(TypedFunctionType)
    def unbox_typed_function(numba_type: Any, obj: Any, c: Any) -> Any:
        return NativeValue(c.context.get_dummy_value())
