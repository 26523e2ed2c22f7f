"""MODULE and MODULE:NAME of the command line: imported, and the typed functions in it."""
from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

import typedcall
from typedcall.cli import NOTHING, CommandError
from typedcall.record.codes import WHY_NOTHING
from typedcall.record.records import Entry
from typedcall.sources import why_not
from typedcall.tools.foreign import attribute, is_a, members, printable, text_attribute, type_name

__all__ = ["Target", "describe", "find_targets"]


class Target(NamedTuple):
    """A function with its name in the module and what it offers."""

    name: str
    function: Any
    entries: list[Entry]


def describe(error: BaseException) -> str:
    """An exception in one line, also one that has no text or does not want to show it."""
    try:
        text = printable(" ".join(str(error).split()), 1000)
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = ""
    name = printable(type_name(error))
    return f"{name}: {text}" if text else name


def find_targets(
    text: str, modules: Sequence[str] = (), *, only_one: bool = False, exports: bool = False
) -> list[Target]:
    """What `text` names, when `modules` are imported; of a module also what it `exports` to Cython, if
    that is asked for. CommandError if that cannot be done, or what
    it names offers nothing."""
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
    for part in name.split("."):
        try:
            # What __pyx_capi__ has is in a dict.
            is_key = is_a(function, dict) and part in function
            function = function[part] if is_key else getattr(function, part)
        except AttributeError:
            raise CommandError(f"'{module_name}' has no '{name}'") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a property's
            raise CommandError(f"cannot get '{text}': {describe(error)}") from None
    if _is_library(function) or name == "__pyx_capi__":
        look = _exported if name == "__pyx_capi__" else _in_library
        found = look(name, function, None)
        if found and not only_one:
            return found
    try:
        entries = typedcall.entries(function)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # of a protocol that is written in Python
        raise CommandError(f"cannot ask '{text}': {describe(error)}") from None
    if not entries:
        reasons = "; ".join(why_not(function))
        raise CommandError(f"{text} offers no native signature" + (f": {reasons}" if reasons else ""), NOTHING)
    return [Target(name, function, entries)]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a module does when it is executed, sys.exit() too
        raise CommandError(f"cannot import '{name}': {describe(error)}") from None


def _all_in(module: Any, exports: bool) -> list[Target]:
    """Functions of the module, and methods of the classes that it has made itself."""
    found = []
    own_name = text_attribute(module, "__name__")
    for name, value in _sorted(members(module)):
        look: Callable[[str, Any, str | None], list[Target]] = _function
        if name == "__pyx_capi__" and exports:
            look = _exported
        elif name.startswith("__"):
            continue
        elif is_a(value, type):
            look = _methods
        elif _is_library(value):
            look = _in_library
        try:
            found += look(name, value, own_name)
        except KeyboardInterrupt:
            raise
        except BaseException:  # one object of a module must not hide the others
            continue
    return found


def _sorted(named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return sorted(named, key=lambda pair: pair[0])


def _function(name: str, function: Any, _: str | None = None) -> list[Target]:
    entries = typedcall.entries(function)
    return [Target(name, function, entries)] if entries else []


def _is_library(value: Any) -> bool:
    """Is it what cffi makes of a library? That has no entries of its own, but functions."""
    # Of compiled modules, and what dlopen() of others returns.
    of = text_attribute(type(value), "__module__")
    return of == "cffi.api" or of == "_cffi_backend" and type_name(value) == "Lib"


def _in_library(name: str, library: Any, _: str | None) -> list[Target]:
    found: list[Target] = []
    for each in sorted(dir(library)):
        # A name that the library does not have after all.
        found += _function(f"{name}.{each}", attribute(library, each))
    return found


def _exported(name: str, capsules: Any, _: str | None) -> list[Target]:
    """What a Cython module exports to others."""
    found: list[Target] = []
    for each, capsule in _sorted(members(capsules)):
        found += _function(f"{name}.{each}", capsule)
    return found


def _methods(class_name: str, made: type, own_name: str | None) -> list[Target]:
    found: list[Target] = []
    if text_attribute(made, "__module__") != own_name:
        return found
    for name, _ in _sorted(members(made)):
        value = attribute(made, name)
        found += _function(f"{class_name}.{name}", value) if callable(value) else []
    return found
