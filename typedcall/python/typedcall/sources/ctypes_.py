"""Reads ctypes function pointers as entries. `argtypes` and `restype` determine the signature, and the prototype
determines the flags."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import BuiltinMethodType
from typing import Any, Callable

from typedcall.record.codes import CODES, has_error_value, letters_for
from typedcall.record.records import Entry, Flags, Found
from typedcall.tools.foreign import (
    attribute,
    exact_int,
    imported_class,
    is_a,
    show,
    text_attribute,
    type_name,
)
from typedcall.tools.libraries import library_of

__all__ = ["FUNCFLAG_PYTHONAPI", "FUNCFLAG_USE_ERRNO", "address_of", "entries", "letters_of"]

# Flags of ctypes prototypes (`_flags_`), from Modules/_ctypes/ctypes.h.
FUNCFLAG_PYTHONAPI = 0x4
FUNCFLAG_USE_ERRNO = 0x8


def _function_pointer() -> Any:
    return sys.modules["_ctypes"].CFuncPtr


def letters_of(ctypes_type: Any) -> str:
    """Returns the code of a ctypes type, where None stands for void. Raises ValueError for structs and other types
    without a code."""
    import ctypes

    if ctypes_type is None:
        return "v"
    kind = ctypes_type if isinstance(ctypes_type, type) else object
    if issubclass(kind, ctypes._SimpleCData):
        letters = _simple_letters(ctypes_type)
        if letters is not None:
            return letters
    if issubclass(kind, ctypes._Pointer):
        target = getattr(ctypes_type, "_type_", None)
        try:
            letters = letters_of(target)
        except ValueError:
            letters = ""
        if letters in CODES and CODES[letters].kind not in ("void", "pointer", "string", "object"):
            return "&" + letters
    if issubclass(kind, (ctypes._Pointer, _function_pointer())):
        return letters_for("pointer", ctypes.sizeof(ctypes.c_void_p))
    raise ValueError(f"no type code for the ctypes type {ctypes_type!r:.200}; structs and unions go by pointer")


def _simple_letters(ctypes_type: Any) -> str | None:
    """Returns the code of a simple type by its size and kind, or None."""
    import ctypes

    native = "__ctype_le__" if sys.byteorder == "little" else "__ctype_be__"
    if getattr(ctypes_type, native, ctypes_type) is not ctypes_type:
        return None  # the type has swapped bytes
    size = ctypes.sizeof(ctypes_type)
    for pointer, kind in (
        (ctypes.c_void_p, "pointer"),
        (ctypes.c_char_p, "string"),
        (ctypes.py_object, "object"),
    ):
        if issubclass(ctypes_type, pointer) or ctypes_type._type_ == pointer._type_:
            return letters_for(kind, size)
    value = ctypes_type().value
    for of, kind in ((bool, "bool"), (float, "floating"), (complex, "complex")):
        if isinstance(value, of):
            return letters_for(kind, size)
    if isinstance(value, int):
        return letters_for("signed" if ctypes_type(-1).value < 0 else "unsigned", size)
    return None  # characters and wide strings have no code


def _reached(pointer: Any, behind: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """Returns the pointer and all objects reachable from it. Duplicates are skipped, because pointers made by cast()
    keep each other alive."""
    waiting, seen = [pointer], {}
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen[id(each)] = each
            waiting += behind(each)
    return list(seen.values())


def _cast_from(each: Any) -> Iterable[Any]:
    objects = attribute(each, "_objects")
    return list(dict.values(objects)) if is_a(objects, dict) else []


def _is_callback(pointer: Any) -> bool:
    """True if the pointer was made from a Python callable. Such a pointer keeps ctypes' thunk alive, even after a
    cast. On PyPy, which has no thunks, the pointer keeps the pointer that has the callable alive. A pointer from a
    struct, an array or an address may be an unrecognized callback."""
    for each in _reached(pointer, _cast_from):
        if type_name(each) == "CThunkObject" or (
                is_a(each, _function_pointer()) and attribute(each, "callable") is not None):
            return True
    return False


def _behind(each: Any) -> Iterable[Any]:
    if is_a(each, dict):
        return list(dict.values(each))  # copied because assignments change the dict
    if is_a(each, _function_pointer().__base__):  # the base class of all ctypes types
        return [attribute(each, "_b_base_"), attribute(each, "_objects")]
    if is_a(each, memoryview):
        return [attribute(each, "obj")]  # from_buffer() keeps a view of the memory alive
    return [attribute(each, "base")] if is_a(each, imported_class("numpy", "ndarray")) else []


def _kept_by(pointer: Any) -> list[Any]:
    """Returns all objects that `pointer`, or an object that shares its memory, keeps alive."""
    return [each for each in _reached(pointer, _behind)[1:] if not is_a(each, dict)]


def _shares_memory(pointer: Any) -> bool:
    """True if the pointer is stored in another object's memory."""
    if attribute(pointer, "_b_base_") is not None:
        return True
    # PyPy's pointers do not report that they own their memory.
    return sys.implementation.name != "pypy" and not attribute(pointer, "_b_needsfree_")


def address_of(pointer: Any) -> tuple[int, Any]:
    """Returns the address in a function pointer or c_void_p, and the object that keeps it valid. A pointer with memory
    of its own keeps its address valid. A pointer that shares memory may change, so its object is a tuple of all objects
    on which it currently depends, as far as ctypes knows."""
    while True:
        address = _read(pointer)
        if not _shares_memory(pointer):
            return address, pointer
        kept = _kept_by(pointer)
        # Otherwise another thread has assigned a different pointer.
        if address == _read(pointer):
            return address, (pointer, *kept)


def _read(pointer: Any) -> int:
    """Reads the address in a pointer. ctypes.cast() would make the pointer keep itself alive."""
    import ctypes

    if sys.implementation.name == "pypy":
        try:  # PyPy's ctypes is written in Python and calls the object
            return ctypes.cast(pointer, ctypes.c_void_p).value or 0
        except MemoryError:
            raise
        except Exception as error:
            raise TypeError(f"{show(pointer)} does not show its address") from error
    return ctypes.c_void_p.from_address(ctypes.addressof(pointer)).value or 0


def _flags_of(pointer: Any, address: int, result: str) -> Flags | None:
    """Returns the flags of a function pointer, or None if flags cannot describe it."""
    bits = type(pointer)._flags_
    raises = bits & FUNCFLAG_PYTHONAPI
    flags = Flags(0)
    # The address decides, because shared memory may have changed since. An address inside a library belongs to a C
    # function. Any other function may acquire the GIL.
    if library_of(address) is None and (not raises or _is_callback(pointer)):
        flags |= Flags.ACQUIRES_GIL
    elif raises:
        # ctypes checks for an exception after each such call, so the function may raise. A consumer would not notice
        # an exception if the result cannot report one.
        if not has_error_value(result):
            return None
        flags |= Flags.NEEDS_THREAD | Flags.MAY_RAISE
    else:
        flags |= Flags.THREAD_SAFE  # ctypes releases the GIL for each call
    if bits & FUNCFLAG_USE_ERRNO:
        flags |= Flags.SETS_ERRNO
    if _converts_differently(pointer):
        flags |= Flags.DIFFERS
    return flags


def _converts_differently(pointer: Any) -> bool:
    """True if a call through ctypes may pass or return other values than the signature shows."""
    if attribute(pointer, "errcheck", pointer) is not None:
        return True
    if attribute(type(pointer), "__call__") != attribute(_function_pointer(), "__call__"):
        return True
    if _converts_result(pointer.restype) or any(map(_converts_argument, pointer.argtypes)):
        return True
    return any(map(_fills_in, _parameter_flags(pointer)))


def _converts_result(restype: Any) -> bool:
    """True if ctypes calls `_check_retval_`, or returns bytes for a str, or an instance of a class. For a simple type,
    ctypes does the latter unless the type is directly derived from _SimpleCData."""
    import ctypes

    if restype is ctypes.c_char_p:
        return True
    if attribute(restype, "_check_retval_", attribute) is not attribute:
        return True
    is_simple = isinstance(restype, type) and issubclass(restype, ctypes._SimpleCData)
    return is_simple and restype.__base__ is not ctypes._SimpleCData


def _converts_argument(argtype: Any) -> bool:
    """True if the class has its own `from_param`, or takes bytes for a str."""
    import ctypes

    if isinstance(argtype, type) and issubclass(argtype, ctypes.c_char_p):
        return True
    given = attribute(argtype, "from_param")
    if sys.implementation.name == "pypy":
        return not (text_attribute(given, "__module__") or "").startswith("_ctypes")
    if not is_a(given, BuiltinMethodType):
        return True
    # ctypes itself replaces the `from_param` of pointers to characters.
    own = [argtype, *([ctypes.c_char_p, ctypes.c_wchar_p] if issubclass(argtype, ctypes._Pointer) else [])]
    return all(given.__self__ is not each for each in own)


def _parameter_flags(pointer: Any) -> list[Any]:
    """Returns the `paramflags` of the prototype's constructor: a tuple for each argument. CPython has no attribute for
    them, but shows them to the garbage collector, like `argtypes` and its converters, which are no tuples of tuples."""
    for each in [attribute(pointer, "_paramflags"), *gc.get_referents(pointer)]:
        if is_a(each, tuple) and each and all(is_a(item, tuple) for item in tuple.__iter__(each)):
            return list(tuple.__iter__(each))
    return []


def _fills_in(flags: tuple[Any, ...]) -> bool:
    """True if Python may omit an argument with these flags, which are (kind, name, default)."""
    kind = exact_int(tuple.__getitem__(flags, 0)) if tuple.__len__(flags) else 0
    return kind not in (0, 1) or tuple.__len__(flags) > 2


def entries(obj: Any) -> Found:
    """Returns the entries of a ctypes function pointer, or None for any other object. Returns only a reason if
    `argtypes` is not set, because ctypes would guess the types."""
    if not is_a(obj, imported_class("_ctypes", "CFuncPtr")):
        return None

    argtypes = obj.argtypes
    # ctypes has already read argtypes, so an iterator is empty by now.
    if not is_a(argtypes, tuple) and not is_a(argtypes, list):
        return ["its argtypes are not set: set argtypes and restype to the types of the C function"]
    try:
        result = letters_of(obj.restype)
        arguments = [letters_of(each) for each in argtypes]
    except ValueError as error:
        return [str(error)]
    signature = "".join(arguments) + "->" + result
    if "v" in arguments:
        return ["its argtypes contain None, which is void; no argument can be void"]
    address, keep_alive = address_of(obj)
    if not address:
        return ["it is a NULL pointer"]
    flags = _flags_of(obj, address, result)
    if flags is None:
        return [f"it may raise, being a PYFUNCTYPE, which a result '{result}' cannot report"]
    return [Entry(signature, flags, address, "ctypes", keep_alive)]
