"""A typed function as a ufunc of NumPy: broadcasting, `out`, `where`, reductions, one loop for each
overload. The loops call the C function directly."""

from __future__ import annotations

import importlib
import sys
from types import BuiltinFunctionType, ModuleType
from typing import Any

from typedcall._choose import choose, offered
from typedcall._foreign import attribute, is_a, module_of, name_of, text_attribute
from typedcall._records import Entry, Flags
from typedcall.sources.numpy_ import dtype_of, ufunc_api

__all__ = ["dtype_of", "ufunc"]

#: A loop without THREAD_SAFE is run with the GIL, for which it waits.
_CAPABILITIES = Flags.NEEDS_THREAD | Flags.ACQUIRES_GIL
#: Behind a loop that took the GIL NumPy looks for an exception, but not before 1.22.
_RAISES = Flags.MAY_RAISE | Flags.ERROR_IS_NEG_ZERO | Flags.RETURNS_STATUS | Flags.FALLS_BACK
# A ufunc's `__name__` is the path to it below this module, by which it is pickled.
_MODULE = "typedcall.ufuncs"
_made: dict[int, tuple[Any, list[Entry], Any]] = {}


def _arrays(entry: Entry) -> list[str]:
    """The letters of the elements of each array, the output's last; none for what has no output."""
    arguments, result = entry.python_types()
    return [] if result == "v" or not arguments else arguments + [result]


def _no_numbers(entry: Entry) -> str:
    letters = _arrays(entry)
    if not letters:
        return "has no arguments or no result"
    try:
        for each in letters:
            dtype_of(each)
    except ValueError:
        return "has other types than numbers"
    return ""


def _dtypes(entry: Entry) -> tuple[Any, ...]:
    return tuple(dtype_of(letters) for letters in _arrays(entry)[:-1])


def _capabilities() -> Flags:
    import numpy

    version = tuple(int(part) for part in numpy.__version__.split(".")[:2])
    return _CAPABILITIES | _RAISES if version >= (1, 22) else _CAPABILITIES


def _in_order(entries: list[Entry]) -> list[Entry]:
    """In the table's order, as Python tries them, except that an entry goes behind all whose types
    can be cast safely to its own: NumPy takes the first loop that it can cast to, so what is wide
    would hide what is narrow."""
    import numpy

    ordered: list[Entry] = []
    # Types may be equal to NumPy where letters differ; then the first counts.
    waiting: dict[tuple[Any, ...], Entry] = {}
    for entry in entries:
        waiting.setdefault(_dtypes(entry), entry)
    while waiting:
        # There is one: of different types no two can each be cast to the other.
        types = next(
            wide
            for wide in waiting
            if not any(
                narrow != wide and all(map(numpy.can_cast, narrow, wide)) for narrow in waiting
            )
        )
        ordered.append(waiting.pop(types))
    return ordered


def _loops(function: Any) -> list[Entry]:
    """The entries that NumPy can use, of as many arguments as the first of them has."""
    capabilities = _capabilities()
    arrays = len(_arrays(choose(function, None, capabilities, "NumPy", _no_numbers)))
    return _in_order(
        [
            entry
            for entry in offered(function)
            if not entry.flags.asks(capabilities) and len(_arrays(entry)) == arrays
            if not _no_numbers(entry)
        ]
    )


def ufunc(function: Any, name: str | None = None) -> Any:
    """A numpy.ufunc with one loop for each overload of `function` whose types are numbers, the same
    object for the same function if that can be imported by its name. It keeps `function` alive.

    A function that can be imported by its name, also a static method or one of the script itself,
    gives a ufunc that can be pickled by its name. The loops are in the order of the overloads, as
    Python tries them, but narrow types before those that they can be cast to.
    NumPy calls loops without the GIL: around the loop of an overload that may raise, or has not
    said that it may run in several threads at once, the GIL is taken. For elements for which an
    overload falls back `function` is called. After an exception the rest
    of the output is as it was, unless NumPy casts it: then it is undefined. NumPy before 1.22 does
    not look for exceptions; with it, overloads
    that may raise are left out. TypeError as typedcall.resolve(); ImportError on PyPy."""
    if sys.implementation.name == "pypy":
        raise ImportError("CPython only: ufunc() needs NumPy's C API, which PyPy emulates")
    from typedcall._numpy_bridge import make_ufunc

    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a str, not '{type(name).__name__}'")
    loops = _loops(function)
    path = name or _path(function)
    existing = _made.get(id(function))
    if name is None and existing is not None and existing[1] == loops:
        return existing[2]
    types = b""
    for entry in loops:
        types += bytes(dtype_of(letters).num for letters in _arrays(entry))
    rows = tuple((e.signature, int(e.flags), e.address, e.keep_alive, function) for e in loops)
    text = _c_string(text_attribute(function, "__doc__"))
    doc = f"{name_of(function)} for arrays.\n\n{text}"
    nin = len(_arrays(loops[0])) - 1
    made = make_ufunc(ufunc_api(), path, doc, rows, types, nin, 1)
    if name is None and "." in path:
        # For ever, as the module of that name has the function.
        _made[id(function)] = (function, loops, made)
        importlib.import_module(_MODULE)
    return made


def _path(function: Any) -> str:
    """`module.name` or `module.Class.name` where that leads to `function`, else its name alone."""
    name = _c_string(text_attribute(function, "__name__")) or "typed_function"
    module = module_of(function)
    if attribute(function, "__module__") is None and is_a(function, BuiltinFunctionType):
        # Of a static method in C only its own pickle shows the class: getattr, (class, name).
        reduced = function.__reduce__()
        module = module_of(reduced[1][0]) if is_a(reduced, tuple) else None
    if module is None:
        return name
    # The script has this name in every process; in multiprocessing's it has another one as well.
    is_main = module is sys.modules.get("__main__")
    known_as = "__main__" if is_main else text_attribute(module, "__name__")
    for path in (name, _c_string(text_attribute(function, "__qualname__"))):
        found: Any = module
        for step in path.split("."):
            found = attribute(found, step)
        if found is function and known_as:
            return f"{known_as}.{path}"
    return name


def _c_string(text: str | None) -> str:
    """Without what no C string has: null characters and lone surrogates."""
    return (text or "").replace("\0", "").encode(errors="replace").decode()


def _is_special(name: str) -> bool:
    """Is `name` one that Python asks of any object, rather than of a module's or function's?"""
    return name.startswith("__") and name.endswith("__")


class _Names:
    """What a path to a ufunc leads through: the ufuncs of one module or class, the module's
    submodules and the classes in it."""

    def __init__(self, path: str, inside: type | None = None) -> None:
        self._path = path
        self._inside = inside

    def __getattr__(self, name: str) -> Any:
        if _is_special(name):
            # Also asked of an object that pickle is about to make, which has no path yet.
            if "{}.{}".format(self.__dict__.get("_path"), name) not in sys.modules:
                raise AttributeError(name)
        path = f"{self._path}.{name}"
        module: Any = self._inside
        if module is None:
            try:
                module = importlib.import_module(self._path)
            except ImportError as error:
                raise AttributeError(str(error)) from None
        found = getattr(module, name, None)
        if callable(found):
            try:
                return ufunc(found)
            except TypeError as error:
                if isinstance(found, type):
                    return _Names(path, found)
                raise AttributeError(str(error)) from None
        if self._inside is not None:
            raise AttributeError(f"there is no function {path}")
        if not isinstance(found, ModuleType):
            try:
                importlib.import_module(path)
            except ImportError:
                raise AttributeError(f"there is no function {path}") from None
        return _Names(path)
