"""Capsules for Python: their names and addresses, and new ones whose names live for ever. By
ctypes, which every interpreter with capsules has."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Optional

__all__ = ["capsule_address", "capsule_name", "is_capsule", "make_capsule"]

_api = getattr(ctypes, "pythonapi", None)
if _api is not None:  # PyPy has neither capsules nor this
    _get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
    _get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", _api)
    )
    _new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", _api)
    )

# A capsule keeps a pointer to its name, so a name may never go. There are few: C declarations.
_names: Dict[str, Any] = {}


def is_capsule(obj: Any) -> bool:
    return type(obj).__name__ == "PyCapsule" and type(obj).__module__ == "builtins"


def capsule_name(capsule: Any) -> Optional[str]:
    name = _get_name(capsule)
    return None if name is None else name.decode("utf-8", "replace")


def capsule_address(capsule: Any) -> int:
    """Whatever its name is."""
    return int(_get_pointer(capsule, _get_name(capsule)) or 0)


def make_capsule(address: int, name: str) -> Any:
    """A capsule with a name that outlives it. It does not keep alive what the address is of."""
    kept = _names.get(name)
    if kept is None:
        kept = _names.setdefault(name, ctypes.create_string_buffer(name.encode()))
    return _new(address, ctypes.cast(kept, ctypes.c_char_p), None)
