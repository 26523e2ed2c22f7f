"""Reads cffi function pointers, and functions of compiled cffi modules, as entries. Functions other than callbacks do
not need the GIL, because cffi releases it around calls."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, ModuleType
from typing import Any

from typedcall.record.c_text import letters_of as letters_of_text
from typedcall.record.codes import letters_for
from typedcall.record.records import Entry, Flags, Found
from typedcall.tools import cffi as _cffi
from typedcall.tools.foreign import exact_text, imported_class, is_a
from typedcall.tools.libraries import library_of

__all__ = ["entries", "letters_of"]


def letters_of(ctype: Any) -> str:
    """Returns the code of a cffi type. cffi does not record const, so `char *` is not a string. Raises ValueError for
    structs passed by value and other types without a code."""
    is_pointer = ctype.kind == "pointer" and ctype.item.kind in ("primitive", "void")
    if is_pointer or ctype.kind in ("primitive", "void"):
        return letters_of_text(ctype.cname)
    if ctype.kind in ("pointer", "function", "array"):
        return letters_of_text("void *")
    if ctype.kind == "enum":
        ffi = _cffi.ffi()
        kind = "signed" if int(ffi.cast(ctype, -1)) < 0 else "unsigned"
        return letters_for(kind, ffi.sizeof(ctype))
    raise ValueError(f"no type code for the C type {ctype.cname!r} of cffi; structs and unions go by pointer")


def _is_variadic(declared: Any) -> bool:
    """True if the function has variable arguments. `ellipsis` is also true for functions with complex numbers."""
    parameters = ", ".join(each.cname for each in declared.args)
    return declared.ellipsis and f"({parameters}, ...)" in declared.cname


def _may_call_python(address: int, is_data: bool, lib_type: type) -> bool:
    """True if the function may call Python. A callback owns its callable. After a cast, or in a struct, a callback
    looks like any other pointer. So does a function declared as extern "Python", which is a C function of the compiled
    cffi module."""
    library = library_of(address)
    if library is None or not is_data:
        return library is None
    # vars() does not call a module's __getattr__.
    modules = [vars(each) for each in list(sys.modules.values()) if type(each) is ModuleType]
    files: list[Any] = [
        names.get("__file__") for names in modules if is_a(names.get("lib"), lib_type)
    ]
    return any(is_a(file, str) and exact_text(file) == library for file in files)


def entries(obj: Any) -> Found:
    """Returns the entries of a cffi function, or None for any other object. Returns only reasons if the function's
    type has no signature."""
    if "_cffi_backend" not in sys.modules:
        return None
    is_data = is_a(obj, imported_class("_cffi_backend", "_CDataBase"))
    # The `__self__` of a compiled module's function is the library.
    is_function = is_a(obj, BuiltinFunctionType)
    if not is_data and not (is_function and is_a(obj.__self__, imported_class("_cffi_backend", "Lib"))):
        return None
    ffi = _cffi.ffi()
    pointer = obj
    if not is_data:
        pointer = ffi.addressof(obj.__self__, obj.__name__)
    declared = ffi.typeof(pointer)
    if declared.kind != "function":
        return None
    if not pointer:
        return ["it is a NULL pointer"]
    if _is_variadic(declared):
        return [f"a function with variable arguments has no signature: {declared.cname!r}; write a C function that "
                "calls it with the arguments that you mean"]
    try:
        arguments = "".join(map(letters_of, declared.args))
        signature = arguments + "->" + letters_of(declared.result)
    except ValueError as error:
        return [str(error)]
    address = int(ffi.cast("uintptr_t", pointer))
    callback = _may_call_python(address, is_data, sys.modules["_cffi_backend"].Lib)
    flags = Flags.ACQUIRES_GIL if callback else Flags.THREAD_SAFE
    if any(each.kind == "primitive" and each.cname == "char" for each in (*declared.args, declared.result)):
        flags |= Flags.DIFFERS  # a char is bytes in Python
    return [Entry(signature, flags, address, "cffi", obj)]
