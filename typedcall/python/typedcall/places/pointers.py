"""Reads the address of a C function from ints, ctypes and cffi objects, capsules, and any object with entries.
Imports no library, because the library of an object has already been imported."""
from __future__ import annotations

import sys
from typing import Any, Callable

from typedcall.record.c_text import letters_of
from typedcall.record.capsules import capsule_address, is_capsule
from typedcall.record.codes import are_equivalent, has_error_value
from typedcall.record.records import PROMISES, Entry, Flags, parse_signature
from typedcall.sources.ctypes_ import FUNCFLAG_PYTHONAPI, address_of
from typedcall.tools import cffi as _cffi
from typedcall.tools.foreign import attribute, few, imported_class, is_a, is_address, show

__all__ = ["is_of", "read_pointer"]

_KINDS = (
    "an int, a ctypes function or c_void_p, a cffi function pointer or void *, a capsule, a "
    "LowLevelCallable, a TypedFunction, or a callable that offers the signature"
)


#: How a program gets the bare address of a function, by the place of its entry.
_ADDRESS_OF = {"cffi": "ffi.cast('void *', f)", "ctypes": "ctypes.cast(f, ctypes.c_void_p)"}

#: An address, its flags, and the object that keeps it valid.
_Read = tuple[int, Flags, Any]


def read_pointer(
    pointer: Any, signature: str, entries: Callable[[Any], list[Entry]], told: int
) -> _Read:
    """Returns the address in `pointer`, its flags, and the object that keeps it valid. `entries` returns an object's
    entries. `told` are the flags that the caller has passed. Raises TypeError for an object without an address or with
    a different signature, and ValueError for an impossible address."""
    if is_a(pointer, int) and not is_a(pointer, bool):
        return _checked(int.__int__(pointer), pointer), Flags(0), None
    found = entries(pointer)
    if found:
        return _of_entries(pointer, signature, found, told)
    for reader in (_of_ctypes, _of_cffi, _of_capsule):
        read = reader(pointer, signature)
        if read is not None:
            return (_checked(read[0], pointer), *read[1:])
    raise TypeError(f"{show(pointer)} holds no address of a C function; pass {_KINDS}")


def _checked(address: int, pointer: Any) -> int:
    if is_address(address):
        return address
    raise ValueError(f"{show(pointer)} is not the address of a C function")


# The places of entries from libraries that do not record const.
_WITHOUT_CONST = ("cffi", "ctypes", "Numba")


def is_of(entry: Entry, signature: str) -> bool:
    """True if the entry's C function may have this signature, even if its library does not record const."""
    if are_equivalent(entry.signature, signature):
        return True
    if entry.place not in _WITHOUT_CONST:
        return False
    char = letters_of("char *")
    plain = signature.replace("&k", "&")
    return any(are_equivalent(entry.signature, each) for each in (plain, plain.replace("s", char)))


def _of_entries(pointer: Any, signature: str, found: list[Entry], told: int) -> _Read:
    for entry in found:
        if not is_of(entry, signature):
            continue
        if entry.flags & Flags.TAKES_SELF:
            raise TypeError(
                f"{show(pointer)} is a method: its C function takes self, "
                f"which '{signature}' does not show"
            )
        return entry.address, entry.with_effects(Flags(told) & PROMISES).flags, entry.keep_alive
    raise TypeError(
        f"{show(pointer)} is not a C function of '{signature}'; it is "
        + few([f"'{entry.signature}'" for entry in found])
        + "; to tag its address with another type, pass "
        + _ADDRESS_OF.get(found[0].place, "typedcall.entries(f)[0].address")
    )


def _of_ctypes(pointer: Any, signature: str) -> _Read | None:
    if is_a(pointer, imported_class("ctypes", "_CFuncPtr")):
        # If reading argtypes raises, argtypes count as set.
        if attribute(pointer, "argtypes", pointer) is not None:
            raise TypeError(
                f"{show(pointer)} has argtypes or a restype that no signature has; tag its address, "
                "ctypes.cast(f, ctypes.c_void_p), if you are sure"
            )
        address, keep_alive = address_of(pointer)
        # Without argtypes, the prototype only shows how exceptions are handled.
        bits = attribute(type(pointer), "_flags_")
        if not is_a(bits, int):
            raise TypeError(f"{show(pointer)} has a prototype without flags")
        raises = int.__and__(bits, FUNCFLAG_PYTHONAPI)
        if raises and not has_error_value(parse_signature(signature)[1]):
            raise TypeError(
                f"{show(pointer)} may raise, which '{signature}' cannot say; tag its address, "
                "ctypes.cast(f, ctypes.c_void_p), with flags=NEEDS_THREAD, if it does not"
            )
        flags = Flags.NEEDS_THREAD | Flags.MAY_RAISE if raises else Flags(0)
        return address, flags, keep_alive
    if is_a(pointer, imported_class("ctypes", "c_void_p")):
        address, keep_alive = address_of(pointer)
        return address, Flags(0), keep_alive
    return None


def _of_cffi(pointer: Any, signature: str) -> _Read | None:
    if not is_a(pointer, imported_class("_cffi_backend", "_CDataBase")):
        return None
    kind = sys.modules["_cffi_backend"].typeof(pointer)
    if kind.kind == "function" or kind.cname == "void *":
        return int(_cffi.ffi().cast("uintptr_t", pointer)), Flags(0), pointer
    raise TypeError(f"{show(pointer)} is a '{kind.cname}', not a pointer to a function")


def _of_capsule(pointer: Any, signature: str) -> _Read | None:
    capsule = pointer
    if is_a(pointer, imported_class("scipy._lib._ccallback", "LowLevelCallable")):
        # A LowLevelCallable that reaches this line has no signature, or it would have an entry.
        capsule = next(tuple.__iter__(pointer), None)
    if not is_capsule(capsule):
        return None
    return capsule_address(capsule), Flags(0), pointer
