"""Looking at objects, modules and dictionaries that someone else made: attributes that raise, names
that are no text, keys of any kind. One rule for all of it, and for the C++ of the package: what is
no Exception (KeyboardInterrupt, SystemExit, which signal handlers raise anywhere) and MemoryError
come out, whatever else goes wrong counts as "it has none"."""
from __future__ import annotations

import importlib
import importlib.machinery
import itertools
import operator
import sys
import types
from typing import Any

__all__ = [
    "attribute",
    "exact_int",
    "exact_text",
    "import_path",
    "imported_class",
    "is_a",
    "is_address",
    "is_mapping",
    "is_unbound",
    "members",
    "module_of",
    "name_of",
    "printable",
    "read_module",
    "show",
    "text_attribute",
    "type_name",
]

# Of the type itself, whatever a metaclass says.
_name_of_type: Any = type.__dict__["__name__"].__get__
#: Longer texts are cut in messages and tables.
_LONGEST = 200


def attribute(obj: Any, name: str, default: Any = None) -> Any:
    """An attribute that `obj` may have: `default` where looking for it fails, however it fails."""
    try:
        return getattr(obj, name)
    except MemoryError:
        raise
    except Exception:
        return default


def text_attribute(obj: Any, name: str) -> str | None:
    """An attribute that should be a str, as one of the exact type; None where it is none."""
    value = attribute(obj, name)
    return exact_text(value) if is_a(value, str) else None


def exact_text(text: str) -> str:
    """Of a subclass of str what it holds, whatever its methods say. (PyPy's str.__str__ asks them.)"""
    return str.__getitem__(text, slice(None))


def exact_int(number: Any) -> int | None:
    """Of an int, or what stands for one (NumPy's), its value; None of anything else, and of a bool,
    which is no number here."""
    if is_a(number, bool):
        return None
    try:
        return int.__int__(operator.index(number))
    except MemoryError:
        raise
    except Exception:
        return None


def is_address(number: int) -> bool:
    """Can something are there? At 0 nothing does."""
    return 0 < number <= 2 * sys.maxsize + 1


def is_a(obj: Any, kind: type | None) -> bool:
    """isinstance() by the real type: `__class__`, which isinstance() asks for, may lie or raise."""
    return kind is not None and type.__subclasscheck__(kind, type(obj))


def type_name(obj: Any) -> str:
    """The name of its type."""
    return str(_name_of_type(type(obj)))


def imported_class(module: str, name: str) -> type | None:
    """A class of a library, if that has been imported, and so far that the class is there."""
    found = attribute(sys.modules.get(module), name)
    return found if is_a(found, type) else None


def is_mapping(obj: Any) -> bool:
    """Is it a dict, or a view of one that cannot be written?"""
    return is_a(obj, dict) or is_a(obj, types.MappingProxyType)


def module_of(obj: Any) -> Any:
    """What is in sys.modules under the name in `__module__`, often a module; else None."""
    name = text_attribute(obj, "__module__")
    return sys.modules.get(name) if name else None


def read_module(module: Any) -> types.ModuleType:
    """A module, or the one of this name, which is imported. TypeError for anything else."""
    found: Any = module
    if is_a(module, str):
        # A module that is just being initialised is there already.
        found = sys.modules.get(found) or importlib.import_module(found)
        # It may have put anything in its place.
        is_module = is_a(attribute(found, "__dict__"), dict)
    else:
        is_module = is_a(module, types.ModuleType)
    if not is_module:
        raise TypeError(f"a module or its name is needed, not a '{type_name(found)}' object")
    return found  # type: ignore[no-any-return]


def import_path(function: Any) -> tuple[str, str] | None:
    """The names of a module and of what is below it, "Class.name", that lead to `function`; None
    where its own names do not."""
    names = [text_attribute(function, "__name__"), text_attribute(function, "__qualname__")]
    module = module_of(function)
    if attribute(function, "__module__") is None and is_a(function, types.BuiltinFunctionType):
        # Of a static method in C only its own pickle shows the class: getattr, (class, name).
        reduced = function.__reduce__()
        module = module_of(reduced[1][0]) if is_a(reduced, tuple) else None
    elif attribute(function, "__module__") is None:
        module = _extension_that_has(function, names[0])
    if module is None:
        return None
    # The script has this name in every process; in multiprocessing's it has another one as well.
    is_main = module is sys.modules.get("__main__")
    known_as = "__main__" if is_main else text_attribute(module, "__name__")
    for path in names:
        found: Any = module
        for step in (path or "").split("."):
            found = attribute(found, step)
        if found is function and known_as and path:
            return known_as, path
    return None


def _extension_that_has(function: Any, name: str | None) -> Any:
    """The extension module of a function that does not say its module, as NumPy's ufuncs, or the package
    around it that has it, too. Any Python module may have got it from there, so these do not count."""
    for known_as in sorted(exact_text(each) for each in list(sys.modules) if is_a(each, str)):
        file = text_attribute(sys.modules.get(known_as), "__file__") or ""
        if not name or not file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
            continue
        if dict(members(sys.modules[known_as])).get(name) is not function:
            continue
        packages = itertools.accumulate(known_as.split("."), "{}.{}".format)
        return next(module for module in map(sys.modules.get, packages)
                    if dict(members(module)).get(name) is function)
    return None


def members(namespace: Any) -> list[tuple[str, Any]]:
    """(name, value) of what is in the `__dict__` of a module or class, or in a mapping itself. Keys
    that are no str are no names. Python code may change the dict meanwhile: then it is read again."""
    found = namespace if is_mapping(namespace) else attribute(namespace, "__dict__")
    if not is_mapping(found):
        return []
    items: Any = dict.items if is_a(found, dict) else types.MappingProxyType.items
    for _ in range(100):
        try:
            pairs = list(items(found))
            break
        except RuntimeError:  # changed size
            continue
    else:
        return []
    return [(exact_text(key), value) for key, value in pairs if is_a(key, str)]


def is_unbound(obj: Any) -> bool:
    """Is it `Type.method` of a type made in C, to which Python passes self first?"""
    if sys.implementation.name == "pypy":  # its own methods are functions, and C's have no name in `types`
        return type_name(obj) == "method_descriptor"
    kind = type(obj)  # whose own __eq__ nobody asks
    return kind is types.MethodDescriptorType or kind is types.ClassMethodDescriptorType


def printable(text: str, longest: int = _LONGEST) -> str:
    """For terminals and logs: one line without control characters and lone surrogates, and not
    longer than what can be read."""
    text = exact_text(text)
    cut = text if len(text) <= longest else text[: longest - 3]
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in cut)
    return shown if cut is text else shown + "..."


def name_of(function: Any) -> str:
    """For messages: `module.name`, or what kind of object it is."""
    own = text_attribute(function, "__name__")
    name = text_attribute(function, "__qualname__") or own
    # pybind11's functions are methods of a record that has none by that name.
    kind = type(attribute(function, "__self__"))
    if own and name == f"{text_attribute(kind, '__qualname__')}.{own}":
        name = name if attribute(kind, own) is not None else own
    if not name:
        return f"a '{printable(type_name(function))}' object"
    module = text_attribute(function, "__module__")
    return printable(f"{module}.{name}" if module else name)


def show(obj: Any) -> str:
    """repr() for messages, which is no reason to lose them."""
    try:
        return printable(repr(obj))
    except MemoryError:
        raise
    except Exception:
        return f"a '{printable(type_name(obj))}' object"
