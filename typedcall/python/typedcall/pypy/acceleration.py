"""Implements typedcall.accelerate, which makes PyPy call the C functions of typed functions directly. On CPython,
accelerate() does nothing, because such calls would be slower than boxed calls."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from typedcall.pypy.originals import find_shim, wrapper_of
from typedcall.pypy.trust import read_trust, said_by_module
from typedcall.record.records import Entry, Flags
from typedcall.tools.foreign import is_a, members, module_of, text_attribute, type_name
from typedcall.tools.identity import IdentityTable

__all__ = ["Acceleration", "accelerate", "restore"]

IS_PYPY = sys.implementation.name == "pypy"
_NOT_PYPY = (
    f"nothing is installed: this is {sys.implementation.name}, "
    "where the boxed call is the quickest from Python"
)
#: The only reason that `trust` overrides.
_UNTRUSTED = "nothing says that it needs no GIL; trust=\"thread_safe\" does"

#: The promises about each function, until restore().
_promised: IdentityTable[Flags] = IdentityTable()


@dataclass(frozen=True)
class Acceleration:
    """The result of accelerate(), which is true if any function is accelerated."""

    module: str
    #: The names of the accelerated functions. Static methods appear as "Class.method".
    accelerated: list[str] = field(default_factory=list)
    #: The typed functions that are not accelerated, with the reasons.
    refused: dict[str, str] = field(default_factory=dict)
    #: The functions with an overload that stays boxed because it is not known to work without the GIL. If you know
    #: that these functions work without the GIL, pass their names to `trust=`.
    untrusted: list[str] = field(default_factory=list)
    #: The functions that were accelerated because of `trust=`.
    trusted: list[str] = field(default_factory=list)
    #: The reason why nothing was tried; empty on PyPy.
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.accelerated)

    def __str__(self) -> str:
        if self.reason:
            return f"{self.module}: {self.reason}"
        lines = [f"{self.module}: {len(self.accelerated)} accelerated"]
        lines += ["  " + name for name in self.accelerated]
        lines += ["  not {}: {}".format(*pair) for pair in self.refused.items()]
        if self.untrusted:
            lines.append(f"  trust={self.untrusted!r} includes more functions, if they do not use Python and "
                         "may run in several threads at once")
        return "\n".join(lines)


def _places(module: ModuleType) -> Iterator[tuple[Any, str, str, Any]]:
    """Yields (namespace, attribute, name to show, function) for each function of the module, and for each static
    method of its classes."""
    own_name = text_attribute(module, "__name__")
    for name, value in members(module):
        if not is_a(value, type):
            yield module, name, name, value
        elif own_name is not None and text_attribute(value, "__module__") == own_name:
            for attribute, raw in members(value):
                if is_a(raw, staticmethod):
                    yield value, attribute, f"{name}.{attribute}", raw.__func__


def _homes(namespace: Any, attribute: str, function: Any) -> Iterator[tuple[Any, str]]:
    """Yields the places where a function is replaced: where it was found, and where it was defined. Pickles use the
    place of definition, so both names must refer to the same object."""
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


def _home(namespace: Any, function: Any, module: ModuleType) -> Any:
    """Returns the module in which a function or its class was defined, or else `module`."""
    return module_of(namespace if is_a(namespace, type) else function) or module


def _why_boxed(entry: Entry) -> str:
    """Returns the reason why a shim does not call the entry, or ""."""
    from typedcall.pypy.pointers import says_threads, why_not

    if why_not(entry.with_effects(Flags.THREAD_SAFE)) is not None:
        return why_not(entry) or ""
    return "" if why_not(entry) is None and says_threads(entry) else _UNTRUSTED


def accelerate(module: ModuleType, *, trust: Any = None) -> Acceleration:
    """On PyPy, replaces the typed functions of `module`, and the typed static methods of its classes. The replacement
    calls the C function through cffi if the arguments have exactly its types (an int that fits, a float, a bool).
    Otherwise it calls the original. Results, exceptions, names, documentation, signature and pickling by name do not
    change. `__wrapped__` is the original. Repeating the call changes nothing. restore() undoes the replacement.

    The replacement calls only entries that need neither the GIL nor self, set no exception, and neither take nor
    return objects or pointers. If the C function falls back, the original is called. PyPy releases the GIL around a
    cffi call, so the function must allow several threads at once. This is known if the entry has PURE or THREAD_SAFE,
    if the module has `__typedcall_effects__ = "thread_safe"`, or if you pass `trust`.

    `trust` is "thread_safe" or "pure" for all functions of the module, or a list of names from the result. `trust`
    promises that these C functions do not use Python, and are safe in several threads. If this is wrong, results are
    wrong or the process crashes. The promise lasts until restore(). Flags of an entry take precedence. Rows in PyPy's
    own layout or that of the METH_TYPED post have no flag for the GIL, so the promise applies to them. The result's
    `untrusted` lists the functions that only lack a promise.

    Modules that have already imported a function (`from module import f`) keep the original, unless `module` itself
    imported it from there. Such an original cannot be pickled until restore(), because its name refers to another
    object. On CPython, nothing is installed, and the result reports this. Errors are raised before any change. Raises
    TypeError if `module` is not a module or `trust` has the wrong type. Raises ValueError for an unknown effect, or
    for a name that is not that of a typed function."""
    _check_module(module)
    promise = read_trust(trust)
    if not IS_PYPY:
        return Acceleration(module.__name__, reason=_NOT_PYPY)
    from typedcall.pypy.backend import own_entries

    typed = []
    for namespace, attribute, shown, found in _places(module):
        function = found if wrapper_of(found) is None else wrapper_of(found)
        entries = own_entries(function) if callable(function) else []
        if entries:
            typed.append((namespace, attribute, shown, found, function, entries))
    promise.check(module.__name__, [shown for _, _, shown, _, _, _ in typed])
    result = Acceleration(module.__name__)
    for namespace, attribute, shown, found, function, entries in typed:
        promised = promise.of(shown) | (_promised.get(function) or Flags(0))
        said = said_by_module(_home(namespace, function, module))
        taken = [entry.with_effects(said).with_effects(promised) for entry in entries]
        reasons = {entry.signature: _why_boxed(entry) for entry in taken}
        if _UNTRUSTED in reasons.values():
            result.untrusted.append(shown)
        shim = find_shim(function, taken) if "" in reasons.values() else None
        if shim is None:
            listed = [f"'{text}' ({why})" for text, why in reasons.items()]
            result.refused[shown] = "; ".join(listed) if all(reasons.values()) else "an overload takes any object"
            continue
        try:
            if found is not shim:
                for home, name in _homes(namespace, attribute, found):
                    _put(home, name, shim)
        except (AttributeError, TypeError) as error:
            result.refused[shown] = str(error)
            continue
        result.accelerated.append(shown)
        if promised:
            _promised.put(function, promised)
            if any(_why_boxed(entry.with_effects(said)) == _UNTRUSTED for entry in entries):
                result.trusted.append(shown)
    return result


def restore(module: ModuleType) -> list[str]:
    """Restores the functions that accelerate(module) replaced, and ends the promises about them. Returns their names.
    Raises TypeError if `module` is not a module."""
    _check_module(module)
    restored = []
    for namespace, attribute, shown, function in _places(module):
        wrapper = wrapper_of(function)
        if wrapper is None:
            continue
        for home, name in list(_homes(namespace, attribute, function)):
            _put(home, name, wrapper)
        _promised.pop(wrapper)
        restored.append(shown)
    return restored
