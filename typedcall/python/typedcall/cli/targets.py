"""Finds the functions for MODULE and MODULE:NAME on the command line."""
from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import typedcall
from typedcall.calling.api import backend
from typedcall.cli import NOTHING, CommandError, suggestion
from typedcall.record.codes import WHY_NOTHING
from typedcall.record.records import EVERYTHING, Entry
from typedcall.sources import why_not
from typedcall.tools.foreign import attribute, is_a, members, printable, text_attribute, type_name

__all__ = ["Target", "describe", "find_targets", "refusal"]


class Target(NamedTuple):
    """A function, its name in the module, and its entries."""

    name: str
    function: Any
    entries: list[Entry]


def describe(error: BaseException) -> str:
    """Describes an exception in one line."""
    try:
        text = printable(" ".join(str(error).split()), 1000)
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = ""
    name = printable(type_name(error))
    return f"{name}: {text}" if text else name


def refusal(what: str, error: BaseException, instead: str = "") -> BaseException:
    """Returns the error to raise after foreign code has raised `error`. An interrupt is returned unchanged."""
    return error if isinstance(error, KeyboardInterrupt) else CommandError(f"{what}: {describe(error)}{instead}")


def find_targets(
    text: str, modules: Sequence[str] = (), *, only_one: bool = False, exports: bool = False
) -> list[Target]:
    """Imports `modules` and returns the targets that `text` names. If `exports` is true, the targets include the
    functions that a module exports to Cython. Raises CommandError if an import fails, or if no target offers an
    entry."""
    module_name, colon, name = text.partition(":")
    if not module_name or (colon and not name) or (only_one and not colon):
        raise CommandError(
            "'{}' is not MODULE:NAME{}".format(text, "" if only_one else " and not MODULE")
        )
    for each in modules:
        _import(each)
    module = _import(module_name)
    try:
        typedcall.load_tags()
    except RuntimeError as error:
        raise CommandError(describe(error)) from None
    if not colon:
        found = _all_in(module, exports)
        if not found:
            raise CommandError(f"no function in '{module_name}' offers a native signature"
                               + (f": {WHY_NOTHING}" if WHY_NOTHING else ""), NOTHING)
        return found
    function = module
    steps = name.split(".")
    for at, part in enumerate(steps):
        try:
            is_key = is_a(function, dict) and part in function
            function = function[part] if is_key else getattr(function, part)
        except AttributeError:
            known = (each for each, _ in members(function) + members(type(function)))
            near = suggestion(part, known, ".".join([*steps[:at], ""]), ".".join(["", *steps[at + 1:]]))
            raise CommandError(f"'{module_name}' has no '{name}'{near}") from None
        except BaseException as error:  # raised by a property
            raise refusal(f"cannot get '{text}'", error) from None
    inside = None if only_one or is_a(function, type) else _inside(name, function)
    found = _targets(inside or [])
    if found:
        return found
    try:
        entries = typedcall.entries(function)
        reasons = "" if entries else "; ".join(why_not(function)) or _native_reason(function)
    except BaseException as error:  # raised by a protocol's Python code
        raise refusal(f"cannot ask '{text}'", error) from None
    if not entries:
        raise CommandError(f"{text} offers no native signature" + (f": {reasons}" if reasons else ""), NOTHING)
    return [Target(name, function, entries)]


def _native_reason(function: Any) -> str:
    """Returns the reason that resolve() gives for a callable that no adapter knows."""
    try:
        backend.refuse(function, "->v", EVERYTHING, "exact")
    except TypeError as error:
        return str(error).partition(": ")[2] or str(error)
    return ""


def _modules_beside(name: str) -> list[str]:
    """Returns the names of the modules that have the same parent as `name`."""
    parent, dot, _ = name.rpartition(".")
    path = getattr(sys.modules.get(parent), "__path__", ()) if dot else None
    found = [parent + dot + each.name for each in pkgutil.iter_modules(path)]
    return found if dot else [*found, *sys.builtin_module_names]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        lacks = error.name if error.name and f"{name}.".startswith(f"{error.name}.") else None
        raise refusal(f"cannot import '{name}'", error, suggestion(lacks, _modules_beside(lacks)) if lacks else "") from None
    except BaseException as error:  # a module may raise anything at import, even SystemExit
        raise refusal(f"cannot import '{name}'", error) from None


def _all_in(module: Any, exports: bool) -> list[Target]:
    """Returns the module's functions and the methods of classes that the module defines."""
    found = []
    own_name = text_attribute(module, "__name__")
    for name, value in _sorted(members(module)):
        if name.startswith("__") and not (name == "__pyx_capi__" and exports):
            continue
        try:
            inside = _inside(name, value, own_name)
            found += _targets([(name, value)] if inside is None else inside)
        except KeyboardInterrupt:
            raise
        except BaseException:  # one bad object must not hide the module's other functions
            continue
    return found


def _sorted(named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return sorted(named, key=lambda pair: pair[0])


def _targets(named: list[tuple[str, Any]]) -> list[Target]:
    """Returns targets for the callables that have entries."""
    made = [Target(name, value, typedcall.entries(value)) for name, value in named]
    return [target for target in made if target.entries]


def _inside(name: str, value: Any, own_name: str | None = None) -> list[tuple[str, Any]] | None:
    """Returns the callables inside a container: a class that the module defines, the functions that a Cython module
    exports, or a library opened with cffi. Returns None for anything else."""
    # The module is "cffi.api" after dlopen(), and "_cffi_backend" for a compiled module.
    of = text_attribute(type(value), "__module__")
    if is_a(value, type):
        is_own = text_attribute(value, "__module__") == own_name
        methods = [(each, attribute(value, each)) for each, _ in _sorted(members(value))] if is_own else []
        found = [(each, method) for each, method in methods if callable(method)]
    elif name == "__pyx_capi__":
        found = _sorted(members(value))
    elif of == "cffi.api" or of == "_cffi_backend" and type_name(value) == "Lib":
        # The library may lack a declared function.
        found = [(each, attribute(value, each)) for each in sorted(dir(value))]
    else:
        return None
    return [(f"{name}.{each}", inner) for each, inner in found]
