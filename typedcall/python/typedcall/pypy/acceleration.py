"""Implements typedcall.accelerate, which on PyPy makes calls to a module's typed functions go straight to the C
functions. On CPython, where that would be slower, it changes nothing and reports this."""
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

#: The promises made about each function, kept until restore().
_promised: IdentityTable[Flags] = IdentityTable()


@dataclass(frozen=True)
class Acceleration:
    """The result of accelerate(), which is true if any function is accelerated."""

    module: str
    #: The names that now refer to an accelerated function, in the form "Class.method" for static methods.
    accelerated: list[str] = field(default_factory=list)
    #: The typed functions that stay unchanged, with the reasons.
    refused: dict[str, str] = field(default_factory=dict)
    #: The functions with an overload that stays boxed because it is not known to work without the GIL. If you know
    #: that it does, pass these names to `trust=`.
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
    """Yields (namespace, attribute, name to show, function) for each function of the module and each static method of
    its classes that may be typed."""
    own_name = text_attribute(module, "__name__")
    for name, value in members(module):
        if not is_a(value, type):
            yield module, name, name, value
        elif own_name is not None and text_attribute(value, "__module__") == own_name:
            for attribute, raw in members(value):
                if is_a(raw, staticmethod):
                    yield value, attribute, f"{name}.{attribute}", raw.__func__


def _homes(namespace: Any, attribute: str, function: Any) -> Iterator[tuple[Any, str]]:
    """Yields the places in which to put a function's replacement: where the function was found and, if it was
    imported, where it was defined. The pickle module looks the function up where it was defined, so both names must
    refer to the same object."""
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
    """Returns the module named by the `__module__` of a function or its class, or else `module`."""
    return module_of(namespace if is_a(namespace, type) else function) or module


def _why_boxed(entry: Entry) -> str:
    """Explains why a shim does not call the entry. Returns "" if it does."""
    from typedcall.pypy.pointers import says_threads, why_not

    if why_not(entry.with_effects(Flags.THREAD_SAFE)) is not None:
        return why_not(entry) or ""
    return "" if why_not(entry) is None and says_threads(entry) else _UNTRUSTED


def accelerate(module: ModuleType, *, trust: Any = None) -> Acceleration:
    """On PyPy, replaces the typed functions of `module`, and the typed static methods of its classes. The replacement
    calls the C function through cffi if the arguments have exactly the signature's types (an int that fits, a float,
    a bool), and otherwise the original. Results, exceptions, names, documentation, signature and pickling by name
    stay the same; `__wrapped__` is the original. Repeating the call changes nothing; restore() undoes the
    replacement.

    The replacement calls only entries that need neither the GIL nor self, set no exception, and use neither objects
    nor pointers. If such a function falls back, the original is called. Because PyPy releases the GIL around a cffi
    call, the function must also be known to allow several threads at once. It is known if the entry has PURE or
    THREAD_SAFE, if the module has `__typedcall_effects__ = "thread_safe"`, or if you pass `trust`.

    `trust` is "thread_safe" or "pure" for all functions of the module, or a list of names in the form used in the
    result. Like a tag, it is a promise: these C functions do not use Python, and are safe in several threads. If the
    promise is wrong, results are wrong or the process crashes. It lasts until restore(), in this process. It does not
    override the flags of an entry that may raise or needs the GIL, but it does apply to METH_TYPED rows in PyPy's own
    layout or that of the seed post, which have no flag for the GIL. Functions that stay boxed because no promise
    covers them are in the result's `untrusted`.

    Other modules that have already imported a function (`from module import f`) keep the original, unless `module`
    itself imported it from there. Such an original cannot be pickled meanwhile, because its name refers to another
    object. On CPython, nothing is installed, and the result reports this. Before any change, raises TypeError if
    `module` is not a module or `trust` has the wrong type, and ValueError for an unknown effect, or for a name that
    no typed function of the module has."""
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
    """Restores the original functions that accelerate(module) replaced, and withdraws the promises about them.
    Returns their names. Raises TypeError if `module` is not a module."""
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
