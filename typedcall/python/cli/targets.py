"""MODULE and MODULE:NAME of the command line: imported, and the typed functions in it."""
from __future__ import annotations

import importlib
from typing import Any, List, NamedTuple

import typedcall
from typedcall.cli import CommandError
from typedcall._records import Entry

__all__ = ["Target", "describe", "find_targets"]


class Target(NamedTuple):
    """A function with its name in the module and what it offers."""

    name: str
    function: Any
    entries: List[Entry]


def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__


def find_targets(text: str, *, only_one: bool = False) -> List[Target]:
    """What `text` names. CommandError if that cannot be imported or offers nothing."""
    module_name, colon, name = text.partition(":")
    if not module_name or (colon and not name) or (only_one and not colon):
        raise CommandError(
            "'%s' is not MODULE:NAME%s" % (text, "" if only_one else " and not MODULE")
        )
    module = _import(module_name)
    if not colon:
        found = _all_in(module)
        if not found:
            raise CommandError("no function in '%s' offers a native signature" % module_name)
        return found
    function = module
    for part in name.split("."):
        try:
            function = getattr(function, part)
        except AttributeError:
            raise CommandError("'%s' has no '%s'" % (module_name, name)) from None
        except Exception as error:  # a property's
            raise CommandError("cannot get '%s': %s" % (text, describe(error))) from None
    entries = typedcall.entries(function)
    if not entries:
        raise CommandError("%s offers no native signature" % text)
    return [Target(name, function, entries)]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a module does when it is executed, sys.exit() too
        raise CommandError("cannot import '%s': %s" % (name, describe(error))) from None


def _all_in(module: Any) -> List[Target]:
    """Functions of the module, and methods of the classes that it has made itself."""
    found = []
    for name, value in sorted(vars(module).items()):
        if name.startswith("__"):
            continue
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                found += _methods(name, value)
            continue
        entries = typedcall.entries(value)
        if entries:
            found.append(Target(name, value, entries))
    return found


def _methods(class_name: str, made: type) -> List[Target]:
    found = []
    for name in sorted(vars(made)):
        value = getattr(made, name, None)
        entries = typedcall.entries(value) if callable(value) else []
        if entries:
            found.append(Target("%s.%s" % (class_name, name), value, entries))
    return found
