"""A typed function as a ufunc of NumPy: broadcasting, `out`, `where`, reductions, one loop for each
overload. The loops call the C function directly."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, Dict, List, Optional, Tuple

from typedcall._choose import choose, name_of, offered
from typedcall._codes import CODES
from typedcall._records import Entry, Flags, parse_signature
from typedcall.sources.numpy_ import ufunc_api

__all__ = ["dtype_of", "ufunc"]

#: A loop without THREAD_SAFE is run with the GIL, for which it waits.
_HONOURS = Flags.NEEDS_THREAD | Flags.ACQUIRES_GIL
_KINDS = {"bool": "?", "signed": "i", "unsigned": "u", "floating": "f", "complex": "c"}
# Narrow before wide, so that NumPy's search for a loop finds the closest.
_ORDER = ("bool", "unsigned", "signed", "floating", "complex")

# A ufunc's `__name__` is the path to it below this module, by which it is pickled.
_MODULE = "typedcall.ufuncs"
_made: Dict[int, Tuple[Any, List[Entry], Any]] = {}


def dtype_of(letters: str) -> Any:
    """NumPy's dtype of a code. ValueError for pointers, strings and objects."""
    import numpy

    code = CODES[letters.lstrip("&")]
    if letters.startswith("&") or code.kind not in _KINDS:
        raise ValueError("NumPy has no numbers of the type %r" % letters)
    kind = _KINDS[code.kind]
    return numpy.dtype(kind if kind == "?" else "%s%d" % (kind, code.size))


def _no_numbers(entry: Entry) -> str:
    arguments, result = parse_signature(entry.signature)
    if not arguments or result == "v":
        return "has no arguments or no result"
    try:
        for letters in arguments + [result]:
            dtype_of(letters)
    except ValueError:
        return "has other types than numbers"
    return ""


def _rank(entry: Entry) -> List[Tuple[int, int]]:
    codes = [CODES[letters] for letters in parse_signature(entry.signature)[0]]
    return [(_ORDER.index(code.kind), code.size) for code in codes]


def _loops(function: Any) -> List[Entry]:
    """The entries that NumPy can use, of the most frequent arity, closest types first."""
    first = choose(function, None, _HONOURS, "NumPy", _no_numbers)
    arity = len(parse_signature(first.signature)[0])
    usable = []
    for entry in offered(function):
        must_be_understood = int(entry.flags) & 0xFFFF & ~int(_HONOURS)
        if must_be_understood or _no_numbers(entry):
            continue
        if len(parse_signature(entry.signature)[0]) == arity:
            usable.append(entry)
    # Types may be equal to NumPy where letters differ; then the first counts.
    unique: Dict[Tuple[Tuple[int, int], ...], Entry] = {}
    for entry in usable:
        unique.setdefault(tuple(_rank(entry)), entry)
    return sorted(unique.values(), key=_rank)


def ufunc(function: Any, name: Optional[str] = None) -> Any:
    """A numpy.ufunc with one loop for each overload of `function` whose types are numbers, the same
    object for the same function. It keeps `function` alive.

    A function that can be imported by its name gives a ufunc that can be pickled by its name.
    NumPy calls loops without the GIL and cannot report what they raise: overloads that may raise
    are left out, and around the loop of one that needs the GIL, or has not said that it may run in
    several threads at once, the GIL is taken. ValueError, TypeError as typedcall.resolve()."""
    from typedcall._numpy_bridge import make_ufunc

    loops = _loops(function)
    path = name or _path(function)
    standing = _made.get(id(function))
    if name is None and standing is not None and standing[1] == loops:
        return standing[2]
    types = b""
    for entry in loops:
        arguments, result = parse_signature(entry.signature)
        types += bytes(dtype_of(letters).num for letters in arguments + [result])
    rows = tuple((e.signature, int(e.flags), e.address, e.keep_alive) for e in loops)
    doc = "%s for arrays.\n\n%s" % (name_of(function), getattr(function, "__doc__", None) or "")
    nin = len(parse_signature(loops[0].signature)[0])
    made = make_ufunc(ufunc_api(), path, doc, rows, types, nin, 1)
    if name is None:
        # For ever: a function that is used in arrays is one of a module.
        _made[id(function)] = (function, loops, made)
        importlib.import_module(_MODULE)
    return made


def _path(function: Any) -> str:
    """`module.name` where that leads to `function`, else its name alone."""
    name = getattr(function, "__name__", None) or "typed_function"
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if module is not None and getattr(module, name, None) is function:
        return "%s.%s" % (module.__name__, name)
    return str(name)


class _Names:
    """What a path to a ufunc leads through: the ufuncs of one module, and its submodules."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            module = importlib.import_module(self._path)
        except ImportError as error:
            raise AttributeError(str(error)) from None
        path = "%s.%s" % (self._path, name)
        found = getattr(module, name, None)
        if callable(found):
            try:
                return ufunc(found)
            except TypeError as error:
                raise AttributeError(str(error)) from None
        if not isinstance(found, ModuleType):
            try:
                importlib.import_module(path)
            except ImportError:
                raise AttributeError("there is no function %s" % path) from None
        return _Names(path)
