"""Tags the functions of whole modules."""

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
from typedcall.record.c_header import functions_of
from typedcall.record.c_text import parse_declaration
from typedcall.record.records import OF_TAGS, parse_signature
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

__all__ = ["entry_points", "load_tags", "load_tags_of", "tag_module"]

#: The group of entry points. Each maps a module's name to a function that tags the module.
_GROUP = "typedcall_tags"
# The tag functions that have run or are running, each with the module that it tagged. If the module has been imported
# again, sys.modules has another object, which is not tagged yet.
_loaded: dict[tuple[str, str], ModuleType] = {}
# The tag functions that failed. Only load_tags() runs them again.
_failed: set[tuple[str, str]] = set()


def tag_module(
    module: ModuleType | str,
    signatures: Mapping[str, Any] | str,
    *,
    library: Any = None,
    prefix: str = "",
    flags: int = 0,
) -> list[str]:
    """Tags functions of a module with C functions, and returns the names of the tagged functions.

    `signatures` maps the name of each Python function to the signature of its C function, written as "ii->i" or, in C,
    as "int(int, int)". If the C text contains a name, as in "int gcd_of_ints(int a, int b)", that is the name of the C
    function. Otherwise, its name is `prefix` plus the Python name. A list of signatures declares overloads.
    `signatures` can also be the text of a C header. A function of the module is then tagged if the header declares
    `prefix` plus its name. Preprocessor conditions are evaluated if they depend only on constants, macros of the
    header and __cplusplus, which is not defined. Otherwise, both branches are read.

    `library` is the path of the shared library, or a library opened with ctypes or cffi. The default is the module's
    own file. `flags` apply to all functions. As with tag(), wrong flags or signatures are not detected, and may crash
    the process.

    Tags all functions or none. Raises TypeError if a name is not a function of the module, if the module is not a
    shared library, or if a C type is not supported. Raises ValueError for a faulty signature, for a name that is not
    in the library, and for a function that already has a different tag. Raises OSError if the library cannot be
    opened."""
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
        raise TypeError(f"{name_of(module)} has no function '{name:.200}'")
    return value


def _overloads(
    name: str, given: Any, prefix: str, symbol: Callable[[str], Any]
) -> tuple[list[str], list[Any]]:
    """Returns the signatures, written in letters, and the objects that hold the functions' addresses."""
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
    """Returns the path of the module's shared library. Raises TypeError if the module is not one."""
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
    # getattr() returns a cached function object, whose types someone may have changed.
    find = opened.__getitem__ if is_a(opened, ctypes.CDLL) else lambda name: getattr(opened, name)

    def symbol(name: str) -> Any:
        try:
            return find(name)
        except AttributeError as error:
            raise ValueError(f"{show(library or module)} has no C function '{name:.200}'") from error

    return symbol


def _declared(module: ModuleType, text: str, prefix: str) -> dict[str, str]:
    """Returns the signatures of the functions in a C header, by Python name."""
    known = {name for name, value in members(module) if callable(value)}
    try:
        found = functions_of(
            text, lambda name: name.startswith(prefix) and name[len(prefix) :] in known
        )
    except ValueError as error:
        raise ValueError(f"cannot read this C text: {error}") from None
    return {name[len(prefix) :]: signature for name, signature in found.items()}


def load_tags_of(function: Any) -> bool:
    """Runs the tag functions for the module of `function` and for the packages that contain this module. Returns True
    if any tag function ran. The call is fast if no package provides tags, because the metadata of installed packages is
    read only once. A failure causes one RuntimeWarning."""
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
    for point in entry_points():
        found.setdefault(point.name, []).append(point)
    return found


def load_tags() -> list[str]:
    """Runs the functions of installed packages that tag other modules. Each function runs only once, and only if its
    module has already been imported. Returns the names of the modules tagged by this call.

    A package's metadata names a module and the function that tags it:

        [project.entry-points.typedcall_tags]
        noise = "noise_tags:tag"

    Numba's compiler and unpickling load the tags for a function without entries automatically. If a tag function then
    fails, a RuntimeWarning is issued once. load_tags() itself runs all tag functions, and then raises RuntimeError if
    one has failed. The next call runs failed functions again."""
    ran, failures = _load(entry_points(), again=True)
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
    """Returns the names of the tagged modules, and the failures. If `again` is true, functions that failed before run
    again."""
    ran: list[str] = []
    failures: list[tuple[importlib.metadata.EntryPoint, BaseException]] = []
    for point in points:
        module = sys.modules.get(point.name)
        key = point.name, point.value
        if not is_a(module, ModuleType) or _loaded.get(key) is module and not (again and key in _failed):
            continue
        assert module is not None
        # Set before the call, because a tag function that uses Numba loads tags again.
        _loaded[key] = module
        _failed.discard(key)
        try:
            point.load()(module)
        except KeyboardInterrupt:  # the user's interrupt must not mark the tags as loaded
            del _loaded[key]
            raise
        except BaseException as error:  # exit() in a tag function must not end a compilation
            _failed.add(key)
            failures.append((point, error))
            continue
        ran.append(point.name)
    return ran, failures


def entry_points() -> Iterable[importlib.metadata.EntryPoint]:
    """Returns the tag functions that installed packages declare."""
    if sys.version_info >= (3, 10):
        return importlib.metadata.entry_points(group=_GROUP)
    return importlib.metadata.entry_points().get(_GROUP, ())
