"""Lets Numba's disk cache store code that calls typed functions. The code contains symbols instead of addresses. The
next process binds the symbols when it unpickles the code. If a function has changed, or typedcall is turned off, Numba
treats the file as missing, and recompiles the code."""

# mypy: disable-error-code="no-untyped-call,attr-defined,untyped-decorator,misc"
from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba.core import cgutils

from typedcall.calling.api import TypedFunction
from typedcall.calling.choose import offered as entries_of
from typedcall.calling.tag_modules import load_tags_of
from typedcall.record.records import Entry
from typedcall.tools.foreign import (
    attribute,
    import_path,
    is_a,
    name_of,
    printable,
    text_attribute,
    type_name,
)
from typedcall.tools.locks import RenewedLock
from typedcall.tools.parameters import parameters_of, plain_default

__all__ = ["Stale", "Symbol", "address", "code_again", "helper", "install", "offered", "reduce_type", "turn", "type_again"]

#: Matches the names of symbols, which end in a digest.
_NAME = re.compile(rb"typedcall\.[\w.]*\.[0-9a-f]{32}")
# The bound symbols, with their addresses and the objects that keep the addresses valid. Bindings are never removed,
# because compiled code may later be linked into other code.
_binding = RenewedLock()
_bound: dict[str, tuple[Symbol, int, Any]] = {}
# The functions without a symbol, by the address in compiled code and the function's id, with the objects that keep
# their addresses valid.
_numbers: dict[tuple[int, int], tuple[Any, Any]] = {}
# The plans of functions that fall back, by the function's id and the types in Python.
_plans: dict[tuple[int, str], tuple[int, Any]] = {}


class Stale(FileNotFoundError):
    """Raised if cached code calls a function that is missing or has changed, or if typedcall is turned off. If this is
    raised while Numba reads a cache file, Numba behaves as if another process had removed the file. Programs see it only
    while typedcall is turned off, with cache files whose symbols are bound when Numba loads the code. The public name is in typedcall.to_numba."""

    def __init__(self, why: str) -> None:
        super().__init__(f"compiled code in Numba's cache {why}. If Numba does not compile it again by itself, delete the "
                         "files of this cache (*.nbi and *.nbc)")


Stale.__module__ = "typedcall.to_numba"


# True while typedcall is registered with Numba. If TYPEDCALL_NUMBA=0, nothing of Numba's is replaced, but its cache files
# still call this module.
_is_on = False


def turn(on: bool) -> None:
    """Makes cached code that calls typed functions usable, or stale."""
    global _is_on
    _is_on = on


class Symbol(NamedTuple):
    """A symbol for an address in compiled code. Numba stores symbols in cache files. This class is part of the cache
    format: do not rename it or its fields."""

    #: The import path of the function. Both parts are empty for an address in this package.
    module: str
    path: str
    #: "entry 0", "callable", "plan dd->d", "plan dd->d y" if y is passed by name, "plan dd?->d 0" if argument 0 may be
    #: None, or the name of a helper.
    what: str
    #: A digest of everything that the code depends on.
    digest: str

    @property
    def name(self) -> str:
        spelt = re.sub(r"\W+", ".", f"{self.module}.{self.path}.{self.what}", flags=re.ASCII)
        return f"typedcall.{spelt.strip('.')}.{self.digest}"

    def __call__(self) -> None:
        """Binds the symbol. Raises Stale if the code must be recompiled."""
        if not _is_on:
            raise Stale(f"calls {self._owner()}, and typedcall is not registered with Numba (TYPEDCALL_NUMBA=0, or "
                        "unregister())")
        if not self.path:
            now, target = _helper(self.what)
        else:
            function = self._function()
            found = offered(function)
            made = _symbol(function, found, self.what)
            if made != self:
                raise Stale(f"calls a function that {self._owner()} does not offer")
            assert made is not None
            now, target = made, _target(function, found, self.what)
        if now != self or not _bind(self, *target):
            raise Stale(f"is for another {self._owner()}")

    def _owner(self) -> str:
        return printable(f"{self.module}.{self.path}" if self.path else "typedcall")

    def _function(self) -> Any:
        try:
            found: Any = sys.modules.get(self.module) or importlib.import_module(self.module)
            for step in self.path.split("."):
                found = getattr(found, step)
        except MemoryError:
            raise
        except Exception as error:
            raise Stale(f"calls {self._owner()}: {error}") from error
        return found


def offered(function: Any) -> list[Entry]:
    """Returns the entries of a function. If there are none, loads the tags that packages provide for its module."""
    found = entries_of(function)
    return found if found or not load_tags_of(function) else entries_of(function)


def _bind(symbol: Symbol, number: int, keep_alive: Any) -> bool:
    """Binds the symbol. Returns False if it is already bound to another address in this process."""
    with _binding.lock:
        known = _bound.get(symbol.name)
        if known is None:
            binding.add_symbol(symbol.name, number)
            known = _bound[symbol.name] = symbol, number, keep_alive
    return known[1] == number


@functools.cache
def _package() -> str:
    """Returns a digest of the code generator and of the helpers that the code calls."""
    from typedcall.native import _native

    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    # Any subpackage may affect the compiled code, so the key covers all of them.
    for path in [*sorted(package.glob("*/*.py")), Path(attribute(_native, "__file__", ""))]:
        try:
            digest.update(path.read_bytes())
        except OSError:  # modules may be in an archive
            continue
    return digest.hexdigest()


def _digest(*parts: Any) -> str:
    text = repr((_package(), *parts))
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]


def _symbol(function: Any, entries: list[Entry], what: str) -> Symbol | None:
    """Returns the symbol, or None if another process might not find the same function."""
    place = import_path(function)
    if place is None:
        return None
    module, path = place
    script = ""
    if module == "__main__":  # another script may define the same name
        script = text_attribute(sys.modules["__main__"], "__file__") or ""
        if not script:
            return None
        script = os.path.abspath(script)
    rows = [(entry.signature, int(entry.flags)) for entry in entries]
    return Symbol(module, path, what, _digest(
        module, script, path, what, rows, text_attribute(function, "__text_signature__"),
        _parameters(function)))


def _parameters(function: Any) -> Any:
    """Returns the parameters' names and defaults, which are constants in compiled code. If a default's repr may differ
    between processes, the name of its type is used instead."""
    known = parameters_of(function)
    if known is None:
        return None
    plain = (bool, int, float, complex, str, type(None))
    numbers = map(plain_default, known.defaults)
    defaults = tuple(each if type(each) in plain else type_name(each) for each in numbers)
    return known._replace(defaults=defaults)


def _target(function: Any, entries: list[Entry], what: str) -> tuple[int, Any]:
    """Returns an address and the object that keeps it valid."""
    kind, _, which = what.partition(" ")
    if kind == "entry":
        entry = entries[int(which)]
        return entry.address, (function, entry)
    if kind == "plan":
        key = id(function), which
        with _binding.lock:
            if key not in _plans:
                from typedcall.native import _native

                signature, *words = which.split(" ")
                called = _called_with(function, [int(word) for word in words if word.isdecimal()],
                                      [word for word in words if not word.isdecimal()])
                _plans[key] = _native.fall_back_plan(called, signature), (function, called)
            return _plans[key]
    return id(function), function


def _called_with(function: Any, optional: list[int], names: list[str]) -> Any:
    """Returns a callable that passes its last arguments by these names. For each optional argument, it takes a bool
    behind all arguments. If that is false, the argument is None."""
    if not names and not optional:
        return function

    def call(*given: Any) -> Any:
        count = len(given) - len(optional)
        values = list(given[:count])
        for at, is_present in zip(optional, given[count:]):
            values[at] = values[at] if is_present else None
        first = count - len(names)
        return function(*values[:first], **dict(zip(names, values[first:])))

    return call


def _helper(what: str) -> tuple[Symbol, tuple[int, Any]]:
    from typedcall.native import _native

    return Symbol("", "", what, _digest(what)), (attribute(_native, what, 0), None)


def address(
    context: Any, builder: Any, function: Any, entries: list[Entry], what: str, of: Any = None
) -> Any:
    """Returns the address that `what` means for a function (see Symbol.what), as a value in the generated code. Its
    type is a pointer to an LLVM function of type `of`, or to bytes. If no other process can find the function, the code
    contains the address as a number, and is not cached."""
    symbol = _symbol(function, entries, what)
    target = _target(function, entries, what)
    if symbol is not None and _bind(symbol, *target):
        return _reference(builder, symbol, of)
    # Compiled code holds only the address, and may never be freed.
    _numbers.setdefault((target[0], id(function)), (function, target[1]))
    return _number(context, builder, target[0], what, of)


def helper(context: Any, builder: Any, what: str, of: Any) -> Any:
    """Returns a pointer to a C function of `_native`, as a value in the generated code."""
    symbol, target = _helper(what)
    if not _bind(symbol, *target):  # _native was imported twice
        return _number(context, builder, target[0], what, of)
    return _reference(builder, symbol, of)


def _number(context: Any, builder: Any, number: int, what: str, of: Any) -> Any:
    value = context.add_dynamic_addr(builder, number, info=what)
    return value if of is None else builder.bitcast(value, of.as_pointer())


def _reference(builder: Any, symbol: Symbol, of: Any) -> Any:
    # Data are also declared as functions, because LLVM keeps all bits of a function's address.
    plain = of or ir.FunctionType(ir.VoidType(), [])
    declared = cgutils.get_or_insert_function(builder.module, plain, symbol.name)
    return declared if of is not None else builder.bitcast(declared, ir.IntType(8).as_pointer())


def reduce_type(function: Any, entries: list[Entry]) -> tuple[Any, ...]:
    """Returns the `__reduce__` value of the Numba type of a function. Cache keys contain it."""
    return type_again, (_symbol(function, entries, "type"),)


class _UnknownType:
    """A type in a cache key that equals no other type."""

    def __init__(self, symbol: Symbol | None) -> None:
        self._symbol = symbol

    def __reduce__(self) -> tuple[Any, ...]:
        return type_again, (self._symbol,)


def type_again(symbol: Symbol | None) -> Any:
    """Returns the type that reduce_type() stored, or an _UnknownType if the function has changed or is missing. Numba's
    index files call this function. An exception while such a file is read would end the program."""
    from numba import typeof

    if symbol is not None:
        try:
            symbol()
            return typeof(symbol._function())
        except Stale:
            pass
    return _UnknownType(symbol)


class _Code:
    """What Numba stores about compiled code, with the symbols that the code needs."""

    def __init__(self, symbols: list[Symbol], stored: Any) -> None:
        self._parts = symbols, stored

    def __reduce__(self) -> tuple[Any, ...]:
        return code_again, self._parts


def code_again(symbols: list[Symbol], stored: Any) -> Any:
    """Binds the symbols, and returns what Numba stored. Raises Stale if the code must be recompiled. Cache files call
    this."""
    for symbol in symbols:
        symbol()
    return stored


# Cache files refer to these names in typedcall._numba_cache.
for _pickled in (Symbol, code_again, type_again):
    _pickled.__module__ = "typedcall._numba_cache"


def _numbers_in(library: Any) -> list[Any]:
    """Returns the functions whose addresses appear as numbers in the compiled code."""
    variables = {each.name for each in library._final_module.global_variables}
    return [row[0] for (number, _), row in list(_numbers.items())
            if f"numba.dynamic.globals.{number:x}" in variables]


def _nameless(library: Any) -> list[str]:
    return [name_of(each) for each in _numbers_in(library)]


def _resolved(library: Any) -> list[str]:
    return [name_of(each) for each in _numbers_in(library) if is_a(each, TypedFunction)]


def _symbols_in(library: Any) -> list[Symbol]:
    """Returns the symbols in the compiled code."""
    rows = [_bound.get(each.name) for each in library._final_module.functions if each.is_declaration]
    return [row[0] for row in rows if row is not None]


def _named(library: Any) -> list[str]:
    """Returns the names of the functions whose addresses appear as symbols in the compiled code."""
    return [symbol._owner() for symbol in _symbols_in(library)]


def _called(library: Any, *kinds: Any) -> str:
    return ", ".join(sorted({name for kind in kinds for name in kind(library)}))


def install() -> None:
    """Makes Numba recompile stale code, and warn about code that it cannot cache. Numba itself checks only the source
    file of a compiled function."""
    from numba.core import caching, codegen, errors

    of_functions: Any = caching.CompileResultCacheImpl
    of_libraries: Any = caching.CodeLibraryCacheImpl
    of_modules: Any = codegen.AOTCodeLibrary
    may_keep, finish = of_functions.check_cachable, of_modules._finalize_specific
    load, load_library = of_functions.rebuild, of_libraries.rebuild

    def with_symbols(reduce: Any) -> Any:
        @functools.wraps(reduce)
        def reduced(self: Any, result: Any) -> Any:
            # Code that is linked in also has symbols. A wrapper around a function is stored without its CompileResult.
            rows = _symbols_in(getattr(result, "library", result))
            stored = reduce(self, result)
            return _Code(rows, stored) if rows else stored

        return reduced

    @functools.wraps(load)
    def rebuild(self: Any, target_context: Any, stored: Any) -> Any:
        try:
            return load(self, target_context, stored)
        except Stale:  # the file is older than _Code: it lets Numba call the symbols
            return None

    @functools.wraps(load_library)
    def rebuild_library(self: Any, target_context: Any, stored: Any) -> Any:
        # LLVM ends the process if a symbol is not bound, as it may be in such a file.
        code = stored[2][0] if stored[1] == "object" else stored[2]
        if any(name.decode() not in _bound for name in _NAME.findall(code)):
            return None
        return load_library(self, target_context, stored)

    @functools.wraps(may_keep)
    def check_cachable(self: Any, result: Any) -> Any:
        called = _called(result.library, _nameless)
        if not called:
            return may_keep(self, result)
        name = result.fndesc.qualname.split(".")[-1]
        warnings.warn_explicit(
            f'Cannot cache compiled function "{name}" as it calls {called}, which no other process can find: '
            "no module has it under its own name" + (
                "; call the function itself, not the TypedFunction of resolve()" if _called(result.library, _resolved) else ""),
            errors.NumbaWarning, self._locator._py_file, self._lineno)
        return False

    @functools.wraps(finish)
    def finish_module(self: Any) -> Any:
        called = _called(self, _nameless, _named)
        if called:
            raise errors.UnsupportedError(
                f"a module made by numba.pycc cannot look up functions of other modules, but this one calls {called}, "
                "so it could not be imported; use njit(cache=True)")
        return finish(self)

    of_functions.check_cachable = check_cachable
    of_functions.rebuild, of_libraries.rebuild = rebuild, rebuild_library
    of_modules._finalize_specific = finish_module
    of_functions.reduce = with_symbols(of_functions.reduce)
    of_libraries.reduce = with_symbols(of_libraries.reduce)
