"""MODULE and MODULE:NAME of the command line: imported, and the typed functions in it."""
from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import typedcall
from typedcall.cli import NOTHING, CommandError
from typedcall.record.codes import WHY_NOTHING
from typedcall.record.records import Entry
from typedcall.sources import why_not
from typedcall.tools.foreign import attribute, is_a, members, printable, text_attribute, type_name

__all__ = ["Target", "describe", "find_targets", "refusal"]


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


def refusal(what: str, error: BaseException, instead: str = "") -> BaseException:
    """What a command raises where code of others has raised: an interrupt is the user's."""
    return error if isinstance(error, KeyboardInterrupt) else CommandError(f"{what}: {describe(error)}{instead}")


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
        except BaseException as error:  # a property's
            raise refusal(f"cannot get '{text}'", error) from None
    inside = None if only_one or is_a(function, type) else _inside(name, function)
    found = _targets(inside or [])
    if found:
        return found
    try:
        entries = typedcall.entries(function)
    except BaseException as error:  # of a protocol that is written in Python
        raise refusal(f"cannot ask '{text}'", error) from None
    if not entries:
        reasons = "; ".join(why_not(function))
        raise CommandError(f"{text} offers no native signature" + (f": {reasons}" if reasons else ""), NOTHING)
    return [Target(name, function, entries)]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except BaseException as error:  # whatever a module does when it is executed, sys.exit() too
        raise refusal(f"cannot import '{name}'", error) from None


def _all_in(module: Any, exports: bool) -> list[Target]:
    """Functions of the module, and methods of the classes that it has made itself."""
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
        except BaseException:  # one object of a module must not hide the others
            continue
    return found


def _sorted(named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return sorted(named, key=lambda pair: pair[0])


def _targets(named: list[tuple[str, Any]]) -> list[Target]:
    """Those that offer anything."""
    made = [Target(name, value, typedcall.entries(value)) for name, value in named]
    return [target for target in made if target.entries]


def _inside(name: str, value: Any, own_name: str | None = None) -> list[tuple[str, Any]] | None:
    """The methods of a class, if the module has made it itself, what a Cython module exports to others, and the functions of
    what cffi makes of a library, which has no entries of its own; None for anything else."""
    # Of compiled modules, and what dlopen() of others returns.
    of = text_attribute(type(value), "__module__")
    if is_a(value, type):
        is_own = text_attribute(value, "__module__") == own_name
        methods = [(each, attribute(value, each)) for each, _ in _sorted(members(value))] if is_own else []
        found = [(each, method) for each, method in methods if callable(method)]
    elif name == "__pyx_capi__":
        found = _sorted(members(value))
    elif of == "cffi.api" or of == "_cffi_backend" and type_name(value) == "Lib":
        # A name that the library does not have after all.
        found = [(each, attribute(value, each)) for each in sorted(dir(value))]
    else:
        return None
    return [(f"{name}.{each}", inner) for each, inner in found]
