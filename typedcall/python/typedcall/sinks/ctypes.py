"""Makes ctypes function pointers from typed functions. The function's flags determine whether ctypes keeps the GIL and
checks for exceptions."""

from __future__ import annotations

import ctypes
from typing import Any

from typedcall.calling.choose import offered, usable
from typedcall.record.codes import CODES, c_letters, is_buffer, pointee
from typedcall.record.records import HANDLED, Entry, Flags, parse_signature
from typedcall.sources.ctypes_ import FUNCFLAG_USE_ERRNO, letters_of

__all__ = ["ctypes_function", "ctypes_type"]

# ctypes checks for an exception after each call with the GIL.
_CAPABILITIES = HANDLED & ~Flags.FALLS_BACK | Flags.SETS_ERRNO


def _simple_types() -> Any:
    names = (
        "c_bool c_byte c_ubyte c_short c_ushort c_int c_uint c_long c_ulong c_longlong "
        "c_ulonglong c_ssize_t c_size_t c_float c_double c_longdouble c_float_complex "
        "c_double_complex c_longdouble_complex c_void_p c_char_p py_object"
    )
    found: dict[tuple[str, int], Any] = {}
    for name in names.split():
        simple = getattr(ctypes, name, None)  # Python before 3.14 has no complex types
        if simple is not None:
            code = CODES[letters_of(simple)]
            found.setdefault((code.kind, code.size), simple)
    return found


_SIMPLE = _simple_types()


def ctypes_type(letters: str) -> Any:
    """Returns the ctypes type for a code, or None for "v". Raises ValueError if ctypes has no such type."""
    if letters == "v":
        return None
    if is_buffer(letters):
        raise ValueError(f"a buffer ({letters!r}) is two arguments to ctypes")
    code = CODES[pointee(letters)]
    simple = _SIMPLE.get((code.kind, code.size))
    if simple is None:
        raise ValueError(f"ctypes has no type for {letters!r} ({code.c_type})")
    return ctypes.POINTER(simple) if letters.startswith("&") else simple


def _missing_type(entry: Entry) -> str:
    arguments, result = parse_signature(entry.signature)
    try:
        for letters in c_letters(arguments) + [result]:
            ctypes_type(letters)
    except ValueError as error:
        return f"({error})"
    return ""


def ctypes_function(f: Any, signature: str | None = None) -> Any:
    """Returns a ctypes function that keeps `f` alive. Its argtypes and restype are set. Without a signature,
    the first entry that ctypes can call is used. A buffer becomes two arguments: the pointer and the number of
    elements.

    A function that needs the GIL or is not thread-safe becomes a PYFUNCTYPE, which holds the GIL and raises the
    function's exceptions. Any other function becomes a CFUNCTYPE, which releases the GIL. Raises ValueError and
    TypeError as typedcall.resolve() does."""
    entry = usable(f, "ctypes", _missing_type, offered(f), signature, _CAPABILITIES)[0]
    arguments, result = parse_signature(entry.signature)
    keeps_errno = bool(entry.flags & Flags.SETS_ERRNO)
    types = [ctypes_type(letters) for letters in [result, *c_letters(arguments)]]
    if entry.view().thread_state != "ATTACHED":
        prototype: Any = ctypes.CFUNCTYPE(*types, use_errno=keeps_errno)
    else:
        prototype = ctypes.PYFUNCTYPE(*types)
        if keeps_errno:  # PYFUNCTYPE has no such option
            # The types are repeated, because CPython does not look for them in base classes.
            own = {"_flags_": prototype._flags_ | FUNCFLAG_USE_ERRNO, "_argtypes_": prototype._argtypes_,
                   "_restype_": prototype._restype_}
            prototype = type(prototype)("FunctionWithErrno", (prototype,), own)
    # A pointer made by cast() has a dictionary of objects to keep alive. A struct or an array into which the pointer
    # is copied keeps this dictionary, but not the pointer's attributes.
    made = ctypes.cast(ctypes.c_void_p(entry.address), prototype)
    made._objects.clear()
    made._objects["typed_function"] = entry.keep_alive
    return made
