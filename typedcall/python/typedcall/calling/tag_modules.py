"""Tags the functions of a whole module: from a table, from the text of a C header, or by functions
that installed packages provide for other modules."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.metadata
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, Callable

from typedcall.calling.api import entries, tag, untag
from typedcall.places.tagging import OF_TAGS
from typedcall.record.c_header import functions_of
from typedcall.record.c_text import parse_declaration
from typedcall.record.records import parse_signature
from typedcall.tools.foreign import (
    exact_text,
    is_a,
    members,
    name_of,
    read_module,
    show,
    text_attribute,
    type_name,
)

__all__ = ["load_tags", "load_tags_of", "tag_module"]

#: The group of entry points: the module that the tags are for, and a function that tags.
_GROUP = "typedcall_tags"
# Tag functions that have run or are running, by the module's name, with the module itself: a module that
# is imported again is another object.
_loaded: dict[tuple[str, str], ModuleType] = {}
# The keys of _loaded whose functions failed: only load_tags() runs them again.
_failed: set[tuple[str, str]] = set()


def tag_module(
    module: ModuleType | str,
    signatures: Mapping[str, Any] | str,
    *,
    library: Any = None,
    prefix: str = "",
    flags: int = 0,
) -> list[str]:
    """Tags functions of a module with the C functions of the same names, and returns the names.

    `signatures` gives the signature of each Python name's C function: "ii->i", or as in C, "int(int,
    int)". If the C text has a name, the C function is called that, "int gcd_of_ints(int a, int b)";
    otherwise it is called `prefix` plus the Python name. Overloads are a list. Or `signatures` is the
    text of a C header: every function in it whose name without `prefix` is in the module is tagged.
    Preprocessor conditions are evaluated if constants, __cplusplus, which is not defined, and macros of
    the header decide them; of any others, both branches are read.

    `library` is the path of the shared library, or an object that ctypes or cffi opened; by default it is the
    module's own file. `flags` apply to all functions, as for tag(): they are a promise, like the signatures.

    Tags all functions or none. Raises TypeError if a name is not a function of the module, the
    module is not a shared library, or a C type has no type code; ValueError for a faulty signature,
    a name that the library does not have, or if another tag exists; OSError if the library cannot
    be opened."""
    module = read_module(module)
    table: Any = signatures
    if is_a(table, str):
        table = _declared(module, exact_text(table), prefix)
    elif not isinstance(table, Mapping):
        raise TypeError(f"signatures are a dict or a C header's text, not {show(table)}")
    symbol = _symbols(module, library)
    found = [
        (name, _function(module, name), *_overloads(name, given, prefix, symbol))
        for name, given in table.items()
    ]
    done: list[Any] = []
    try:
        for _, function, texts, pointers in found:
            had_none = not any(entry.place in OF_TAGS for entry in entries(function))
            tag(function, texts, pointers, flags=flags)
            if had_none:
                done.append(function)
    except BaseException:
        for function in done:
            untag(function)
        raise
    return sorted(name for name, *_ in found)


def _function(module: ModuleType, name: Any) -> Any:
    if not is_a(name, str):
        raise TypeError(f"{show(name)} is not a function name")
    value = dict(members(module)).get(name)
    if not callable(value):
        raise TypeError(f"{name_of(module)} has no function '{name}'")
    return value


def _overloads(
    name: str, given: Any, prefix: str, symbol: Callable[[str], Any]
) -> tuple[list[str], list[Any]]:
    """Returns the signatures in letters, and the objects that hold their addresses."""
    texts, pointers = [], []
    for text in [given] if is_a(given, str) or not isinstance(given, Iterable) else given:
        symbol_name = prefix + name
        if is_a(text, str) and "(" in text:
            declared = parse_declaration(exact_text(text))
            text, symbol_name = declared.signature, declared.name or symbol_name
        parse_signature(text)
        texts.append(text)
        pointers.append(symbol(symbol_name))
    return texts, pointers


def _path(module: ModuleType) -> str:
    """Returns the shared library's file."""
    path = text_attribute(module, "__file__") or ""
    if not path.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        raise TypeError(
            f"{name_of(module)} is not a shared library: pass the library of its C functions as library="
        )
    return path


def _symbols(module: ModuleType, library: Any) -> Callable[[str], Any]:
    """Returns a function that finds a C function by its name."""
    import ctypes

    opened = library
    if library is None or isinstance(library, (str, os.PathLike)):
        opened = ctypes.CDLL(_path(module) if library is None else str(os.fspath(library)))
    # Indexing makes a new function object, whose types have not been changed.
    find = opened.__getitem__ if is_a(opened, ctypes.CDLL) else lambda name: getattr(opened, name)

    def symbol(name: str) -> Any:
        try:
            return find(name)
        except AttributeError as error:
            raise ValueError(f"{show(library or module)} has no C function '{name}'") from error

    return symbol


def _declared(module: ModuleType, text: str, prefix: str) -> dict[str, str]:
    """Returns the signatures of the functions that a C header declares, by their names in Python."""
    known = {name for name, value in members(module) if callable(value)}
    try:
        found = functions_of(
            text, lambda name: name.startswith(prefix) and name[len(prefix) :] in known
        )
    except ValueError as error:
        raise ValueError(f"cannot read this C text: {error}") from None
    return {name[len(prefix) :]: signature for name, signature in found.items()}


def load_tags_of(function: Any) -> bool:
    """Loads tags like load_tags(), for the module that `function` names and the packages that
    contain it. True if anything was run. It costs almost nothing if no package provides tags for
    them; the installed packages are read once. A failure is a RuntimeWarning, once, because the
    caller has not requested these packages."""
    name = text_attribute(function, "__module__") or ""
    points: list[importlib.metadata.EntryPoint] = []
    while name:
        points += _points_by_name().get(name, ())
        name = name.rpartition(".")[0]
    if not points:
        return False
    ran, failures = _load(points)
    for point, cause in failures:
        warnings.warn(f"{_failure(point, cause)}; typedcall goes on without them", RuntimeWarning, stacklevel=2)
    return bool(ran or failures)


@functools.cache
def _points_by_name() -> dict[str, list[importlib.metadata.EntryPoint]]:
    found: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for point in _entry_points():
        found.setdefault(point.name, []).append(point)
    return found


def load_tags() -> list[str]:
    """Runs the tag functions of installed packages for the modules that are already imported, each
    once, and returns the modules' names.

    A package's metadata name the module and the function to call with it:

        [project.entry-points.typedcall_tags]
        noise = "noise_tags:tag"

    Numba's compiler loads the tags of a function that offers nothing by itself, and so does reading a
    pickle; a failure there is a RuntimeWarning, and is not repeated. Here it raises RuntimeError from the
    first exception after all functions have been called; the next call runs the failed ones again."""
    ran, failures = _load(_entry_points(), again=True)
    if failures:
        point, cause = failures[0]
        raise RuntimeError(_failure(point, cause)) from cause
    return sorted(set(ran))


def _failure(point: importlib.metadata.EntryPoint, cause: BaseException) -> str:
    text = f"{type_name(cause)}: {cause}" if str(cause) else type_name(cause)
    return f"the tags for {point.name} ({point.value}) failed: {text}"


def _load(
    points: Iterable[importlib.metadata.EntryPoint], again: bool = False
) -> tuple[list[str], list[tuple[importlib.metadata.EntryPoint, BaseException]]]:
    """Returns the modules that were tagged, and the failures. `again` repeats earlier failures."""
    ran: list[str] = []
    failures: list[tuple[importlib.metadata.EntryPoint, BaseException]] = []
    for point in points:
        module = sys.modules.get(point.name)
        key = point.name, point.value
        if not is_a(module, ModuleType) or _loaded.get(key) is module and not (again and key in _failed):
            continue
        assert module is not None
        # Set before the call, which may use Numba, which loads tags.
        _loaded[key] = module
        _failed.discard(key)
        try:
            point.load()(module)
        except KeyboardInterrupt:  # from the user: it propagates, and the tags are loaded later
            del _loaded[key]
            raise
        except BaseException as error:  # exit() in a package must not end a compilation
            _failed.add(key)
            failures.append((point, error))
            continue
        ran.append(point.name)
    return ran, failures


def _entry_points() -> Iterable[importlib.metadata.EntryPoint]:
    if sys.version_info >= (3, 10):
        return importlib.metadata.entry_points(group=_GROUP)
    return importlib.metadata.entry_points().get(_GROUP, ())
