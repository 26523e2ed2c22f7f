"""typedcall.accelerate: on PyPy, calls of a module's typed functions go straight to the C
functions. On CPython, where that would make them slower, it does nothing and says so."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from typedcall._foreign import is_a, members, module_of, text_attribute, type_name
from typedcall._pypy_originals import find_shim, wrapper_of

__all__ = ["Acceleration", "accelerate", "restore"]

IS_PYPY = sys.implementation.name == "pypy"
_NOT_PYPY = (
    f"nothing is installed: this is {sys.implementation.name}, "
    "where the boxed call is the quickest from Python"
)


@dataclass(frozen=True)
class Acceleration:
    """What accelerate() has done. True if anything is accelerated."""

    module: str
    #: Names that lead to an accelerated function now, "Class.method" for static methods.
    accelerated: list[str] = field(default_factory=list)
    #: Typed functions that stay as they are, and why.
    refused: dict[str, str] = field(default_factory=dict)
    #: Accelerated although no entry says THREAD_SAFE; see accelerate().
    not_thread_safe: list[str] = field(default_factory=list)
    #: Why nothing was tried; empty on PyPy.
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.accelerated)

    def __str__(self) -> str:
        if self.reason:
            return f"{self.module}: {self.reason}"
        lines = [f"{self.module}: {len(self.accelerated)} accelerated"]
        lines += ["  " + name for name in self.accelerated]
        lines += ["  not {}: {}".format(*pair) for pair in self.refused.items()]
        return "\n".join(lines)


def _places(module: ModuleType) -> Iterator[tuple[Any, str, str, Any]]:
    """(namespace, attribute, name to show, function) of what may be typed: functions of the module,
    and the static methods of its classes."""
    own_name = text_attribute(module, "__name__")
    for name, value in members(module):
        if not is_a(value, type):
            yield module, name, name, value
        elif own_name is not None and text_attribute(value, "__module__") == own_name:
            for attribute, raw in members(value):
                if is_a(raw, staticmethod):
                    yield value, attribute, f"{name}.{attribute}", raw.__func__


def _homes(namespace: Any, attribute: str, function: Any) -> Iterator[tuple[Any, str]]:
    """Where to put a function's substitute: where it was found, and, if it was imported there, also
    where it was defined. Pickle looks there, and the two stay the same object."""
    yield namespace, attribute
    home = module_of(function)
    name = text_attribute(function, "__name__")
    if home is None or not name or is_a(namespace, type):
        return
    if home is namespace and name == attribute:
        return
    if any(each == name and found is function for each, found in members(home)):
        yield home, name


def _put(namespace: Any, attribute: str, function: Any) -> None:
    if is_a(namespace, type):
        function = staticmethod(function)
    setattr(namespace, attribute, function)


def _check_module(module: Any) -> None:
    if not is_a(module, ModuleType):
        raise TypeError(f"a module is needed, not a '{type_name(module)}' object")


def accelerate(module: ModuleType, *, thread_safe_only: bool = False) -> Acceleration:
    """On PyPy, replaces the typed functions of `module`, and the typed static methods of its
    classes, by functions that call the C function through cffi when the arguments' types are the
    very ones of the signature (an int that fits, a float, a bool), and the original in every other
    case. Results and exceptions, names, documentation, signature and pickling by name stay as they
    are; `__wrapped__` is the original. Done twice it changes nothing. restore() takes it back.

    Only entries are used that need neither the GIL nor self, set no exception and have no objects
    or pointers; where one falls back, the original is called. PyPy lets the GIL go around a cffi call: functions that are not marked THREAD_SAFE
    could then run in two threads at once. They are accelerated, and listed in the result,
    unless `thread_safe_only` is true.

    What other modules imported from `module` before (`from module import f`) stays the original,
    unless `module` itself had it from there; such an original cannot be pickled meanwhile, because
    its name leads to another object. On CPython nothing is installed, and the result says so.
    TypeError if `module` is none."""
    _check_module(module)
    if not IS_PYPY:
        return Acceleration(module.__name__, reason=_NOT_PYPY)
    from typedcall._pypy_backend import own_entries
    from typedcall._pypy_shims import why_not

    result = Acceleration(module.__name__)
    for namespace, attribute, shown, found in _places(module):
        function = found if wrapper_of(found) is None else wrapper_of(found)
        entries = own_entries(function) if callable(function) else []
        if not entries:
            continue
        usable = [entry for entry in entries if why_not(entry) is None]
        unsafe = [entry for entry in usable if not entry.flags.is_thread_safe]
        if thread_safe_only and unsafe and found is function:
            result.refused[shown] = f"'{unsafe[0].signature}' is not marked THREAD_SAFE"
            continue
        shim = find_shim(function, entries) if usable else None
        if shim is None:
            reasons = [f"'{entry.signature}' ({why_not(entry)})" for entry in entries]
            if usable:
                reasons = ["an overload takes any object"]
            result.refused[shown] = "; ".join(reasons)
            continue
        try:
            if found is not shim:
                for home, name in _homes(namespace, attribute, found):
                    _put(home, name, shim)
        except (AttributeError, TypeError) as error:
            result.refused[shown] = str(error)
            continue
        result.accelerated.append(shown)
        if unsafe:
            result.not_thread_safe.append(shown)
    return result


def restore(module: ModuleType) -> list[str]:
    """Puts the original functions back where accelerate(module) has replaced them. Returns their
    names. TypeError if `module` is none."""
    _check_module(module)
    restored = []
    for namespace, attribute, shown, function in _places(module):
        wrapper = wrapper_of(function)
        if wrapper is None:
            continue
        for home, name in list(_homes(namespace, attribute, function)):
            _put(home, name, wrapper)
        restored.append(shown)
    return restored
