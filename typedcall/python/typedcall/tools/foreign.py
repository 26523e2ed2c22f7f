"""Safe access to foreign objects, modules and dictionaries. Their attributes may raise, and their keys may be of any
type. MemoryError and exceptions that are not Exceptions, such as KeyboardInterrupt, propagate. Any other failure
counts as a missing value. The C++ code follows the same rule."""
from __future__ import annotations

import importlib
import importlib.machinery
import itertools
import operator
import sys
import types
from collections.abc import Iterable
from typing import Any

from typedcall.record.codes import type_of

__all__ = [
    "attribute",
    "exact_int",
    "exact_text",
    "few",
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
    "type_of",
]

# The descriptor of type is used, because a metaclass may define another `__name__`.
_name_of_type: Any = type.__dict__["__name__"].__get__
#: Longer texts are cut in messages and tables.
_LONGEST = 200
#: Messages list so many texts, each of at most so many characters.
_FEW, _LONGEST_LISTED = 10, 500


def attribute(obj: Any, name: str, default: Any = None) -> Any:
    """Returns an attribute of `obj`, or `default` if the look-up fails."""
    try:
        return getattr(obj, name)
    except MemoryError:
        raise
    except Exception:
        return default


def text_attribute(obj: Any, name: str) -> str | None:
    """Returns an attribute as an exact str, or None if it is not a str."""
    value = attribute(obj, name)
    return exact_text(value) if is_a(value, str) else None


def exact_text(text: str) -> str:
    """Returns the contents of a str without calling methods of its class. PyPy's str.__str__ would call them."""
    return str.__getitem__(text, slice(None))


def exact_int(number: Any) -> int | None:
    """Returns the value of an int, or of an object with `__index__`, such as NumPy's ints. Returns None for anything
    else, including a bool."""
    if is_a(number, bool):
        return None
    try:
        return int.__int__(operator.index(number))
    except MemoryError:
        raise
    except Exception:
        return None


def is_address(number: int) -> bool:
    """True if the number can be an address. 0 cannot."""
    return 0 < number <= 2 * sys.maxsize + 1


def is_a(obj: Any, kind: type | None) -> bool:
    """Like isinstance(), but uses the real type, because `__class__` may lie or raise."""
    return kind is not None and type.__subclasscheck__(kind, type_of(obj))


def type_name(obj: Any) -> str:
    """Returns the name of the object's type, cut if it is long."""
    return str(_name_of_type(type_of(obj)))[:_LONGEST]


def imported_class(module: str, name: str) -> type | None:
    """Returns a library's class, or None if it does not exist or has not been imported."""
    found = attribute(sys.modules.get(module), name)
    return found if is_a(found, type) else None


def is_mapping(obj: Any) -> bool:
    """True for a dict, or for a read-only view of a dict."""
    return is_a(obj, dict) or is_a(obj, types.MappingProxyType)


def module_of(obj: Any) -> Any:
    """Returns the object's module in sys.modules, which may hold any object, or None."""
    name = text_attribute(obj, "__module__")
    return sys.modules.get(name) if name else None


def read_module(module: Any) -> types.ModuleType:
    """Returns `module`, or imports the module with this name. Raises TypeError for anything else."""
    found: Any = module
    if is_a(module, str):
        # A module is in sys.modules while it is still being initialised.
        found = sys.modules.get(found) or importlib.import_module(found)
        # The module may have replaced itself.
        is_module = is_a(attribute(found, "__dict__"), dict)
    else:
        is_module = is_a(module, types.ModuleType)
    if not is_module:
        raise TypeError(f"a module or its name is needed, not a '{type_name(found)}' object")
    return found  # type: ignore[no-any-return]


def import_path(function: Any) -> tuple[str, str] | None:
    """Returns the module's name and the path in the module that leads to `function`, such as "Class.name". Returns
    None if there is no such path."""
    names = [text_attribute(function, "__name__"), text_attribute(function, "__qualname__")]
    # A cfunc of Numba names Numba's own module; the function that it is made from names the user's.
    wrapped = attribute(function, "__wrapped__")
    found = None if wrapped is None else _path_in(module_of(wrapped), function, names)
    if found is not None:
        return found
    module = module_of(function)
    if attribute(function, "__module__") is None and is_a(function, types.BuiltinFunctionType):
        # For a static method in C, only `__reduce__` names the class: (getattr, (class, name)).
        reduced = function.__reduce__()
        module = module_of(reduced[1][0]) if is_a(reduced, tuple) else None
    elif attribute(function, "__module__") is None:
        module = _extension_that_has(function, names[0])
    return _path_in(module, function, names)


def _path_in(module: Any, function: Any, names: list[str | None]) -> tuple[str, str] | None:
    """Returns the module's name and the first of these paths that leads to `function`, or None."""
    if module is None:
        return None
    # The script is __main__ in every process. A child process of multiprocessing also has it under another name.
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
    """Returns the extension module of a function that does not name its module, such as a NumPy ufunc. If a package
    that contains the module also has the function, returns the package. Other Python modules do not count, because
    they may only have imported the function."""
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
    """Returns the (name, value) pairs in the `__dict__` of a module or class, or in a mapping. Skips keys that are not
    strs. If the dict changes meanwhile, it is read again."""
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
    """True for an unbound method `Type.method` of a type made in C. Its first argument is self."""
    if sys.implementation.name == "pypy":  # methods written in C have no type in `types`
        return type_name(obj) == "method_descriptor"
    kind = type(obj)  # a metaclass's __eq__ must not run
    return kind is types.MethodDescriptorType or kind is types.ClassMethodDescriptorType


def printable(text: str, longest: int = _LONGEST) -> str:
    """Returns a text for terminals and logs: a single line of at most `longest` characters, without control characters
    or lone surrogates."""
    text = exact_text(text)
    cut = text if len(text) <= longest else text[: longest - 3]
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in cut)
    return shown if cut is text else shown + "..."


def few(texts: Iterable[str], between: str = ", ") -> str:
    """Joins the first few texts for a message, each cut, and says how many more there are."""
    listed = list(texts)
    shown = [printable(each, _LONGEST_LISTED) for each in listed[:_FEW]]
    left = len(listed) - len(shown)
    return between.join(shown) + (f" and {left} more" if left else "")


def name_of(function: Any) -> str:
    """Returns `module.name` for messages, or a description of the object."""
    own = text_attribute(function, "__name__")
    name = text_attribute(function, "__qualname__") or own
    # pybind11's functions look like methods of a record object, which has no such methods.
    kind = type_of(attribute(function, "__self__"))
    if own and name == f"{text_attribute(kind, '__qualname__')}.{own}":
        name = name if attribute(kind, own) is not None else own
    if not name:
        return f"a '{printable(type_name(function))}' object"
    module = text_attribute(function, "__module__")
    return printable(f"{module}.{name}" if module else name)


def show(obj: Any) -> str:
    """Returns the object's repr() for messages, or the name of its type if repr() raises."""
    try:
        return printable(repr(obj))
    except MemoryError:
        raise
    except Exception:
        return f"a '{printable(type_name(obj))}' object"
