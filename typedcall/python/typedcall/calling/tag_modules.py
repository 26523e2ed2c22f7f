"""Tags for functions of a whole module: from a table or a C header's text, and those that installed
packages bring for the modules of others."""

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

#: What a package says in its metadata: the module that the tags are for, and a function that tags.
_GROUP = "typedcall_tags"
# What has been run, or runs, by the module's name, with the module itself: one that is imported again is
# another one.
_loaded: dict[tuple[str, str], ModuleType] = {}
# Of these what has failed: load_tags() runs it again, nobody else does.
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

    `signatures` says for each Python name which signature its C function has: "ii->i", or as in C,
    "int(int, int)". A name in the C text is the C function's, "int gcd_of_ints(int a, int b)";
    otherwise that is `prefix` and the Python name. Overloads are a list. Or `signatures` is the text
    of a C header: every function in it whose name, less `prefix`, the module has is tagged. Of the
    preprocessor's lines only conditions are looked at that constants, __cplusplus, which is not defined,
    and macros of the header decide; of others both branches are read.

    `library`: the path of the shared library, or what ctypes or cffi opened; usually
    the module's own file. `flags` are those of all of them, as for tag(): a promise, like the signatures.

    All are tagged or none. TypeError for what is no function of the module, a module that is no
    shared library, and what the C text says of no type code; ValueError for a faulty signature, a
    name that the library does not have, and another tag that is there already; OSError for a
    library that cannot be opened."""
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
        raise TypeError(f"{show(name)} is no function's name")
    value = dict(members(module)).get(name)
    if not callable(value):
        raise TypeError(f"{name_of(module)} has no function '{name}'")
    return value


def _overloads(
    name: str, given: Any, prefix: str, symbol: Callable[[str], Any]
) -> tuple[list[str], list[Any]]:
    """Signatures in letters, and what holds the address of each."""
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
    """The shared library's file."""
    path = text_attribute(module, "__file__") or ""
    if not path.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        raise TypeError(
            f"{name_of(module)} is no shared library: library= says where its C functions are"
        )
    return path


def _symbols(module: ModuleType, library: Any) -> Callable[[str], Any]:
    """What finds a C function by its name."""
    import ctypes

    opened = library
    if library is None or isinstance(library, (str, os.PathLike)):
        opened = ctypes.CDLL(_path(module) if library is None else str(os.fspath(library)))
    # As an item it is a function object of its own, whose types nobody has changed.
    find = opened.__getitem__ if is_a(opened, ctypes.CDLL) else lambda name: getattr(opened, name)

    def symbol(name: str) -> Any:
        try:
            return find(name)
        except AttributeError as error:
            raise ValueError(f"{show(library or module)} has no C function '{name}'") from error

    return symbol


def _declared(module: ModuleType, text: str, prefix: str) -> dict[str, str]:
    """Python's names for what a C header declares, with the signatures."""
    known = {name for name, value in members(module) if callable(value)}
    try:
        found = functions_of(
            text, lambda name: name.startswith(prefix) and name[len(prefix) :] in known
        )
    except ValueError as error:
        raise ValueError(f"cannot read this C text: {error}") from None
    return {name[len(prefix) :]: signature for name, signature in found.items()}


def load_tags_of(function: Any) -> bool:
    """The same for the module that `function` says it is of, and the packages that this is in. Was
    anything run? Costs next to nothing where no package brings tags for them; what packages there
    are is looked up once. What fails is a RuntimeWarning, once: who asks about a function has not
    asked for these packages."""
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
    """Runs what installed packages bring for modules of others that are imported by now, each once, and
    returns the modules' names.

    A package says in its metadata which module, and what to call with it:

        [project.entry-points.typedcall_tags]
        noise = "noise_tags:tag"

    Numba's compiler asks for the tags of a function that offers nothing by itself, and so does what reads a
    pickle; there a function that fails is a RuntimeWarning, and is not run again. Here it is a RuntimeError,
    from the first one's exception, when all have been called; and the next call runs it again."""
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
    """The modules whose tags were made, and what has failed. `again`: also what has failed before."""
    ran: list[str] = []
    failures: list[tuple[importlib.metadata.EntryPoint, BaseException]] = []
    for point in points:
        module = sys.modules.get(point.name)
        key = point.name, point.value
        if not is_a(module, ModuleType) or _loaded.get(key) is module and not (again and key in _failed):
            continue
        assert module is not None
        # Before it runs: it may use Numba, which asks for tags.
        _loaded[key] = module
        _failed.discard(key)
        try:
            point.load()(module)
        except KeyboardInterrupt:  # of who sits there: it comes out, and the tags are made another time
            del _loaded[key]
            raise
        except BaseException as error:  # exit() in others' code is no reason to end a compilation
            _failed.add(key)
            failures.append((point, error))
            continue
        ran.append(point.name)
    return ran, failures


def _entry_points() -> Iterable[importlib.metadata.EntryPoint]:
    if sys.version_info >= (3, 10):
        return importlib.metadata.entry_points(group=_GROUP)
    return importlib.metadata.entry_points().get(_GROUP, ())
