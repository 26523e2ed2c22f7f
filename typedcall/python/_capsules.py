"""Capsules for Python: their names and addresses, and new ones whose names live for ever. By the
C API, which ctypes has on CPython only."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Optional

__all__ = ["capsule_address", "capsule_name", "is_capsule", "make_capsule", "need_capsules"]

_api = getattr(ctypes, "pythonapi", None)
if _api is not None:  # PyPy's capsules are its extensions' own: Python cannot read them
    _get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
    _get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", _api)
    )
    _new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", _api)
    )

# A capsule keeps a pointer to its name, so a name may never go. There are few: C declarations.
_names: Dict[str, Any] = {}


def need_capsules(purpose: str) -> None:
    """ImportError where there is no way to make one."""
    if _api is None:
        raise ImportError("CPython only: %s needs capsules, which ctypes lacks here" % purpose)


def is_capsule(obj: Any) -> bool:
    """Is it one that can be read? On PyPy nothing is."""
    kind = type(obj)
    return _api is not None and kind.__name__ == "PyCapsule" and kind.__module__ == "builtins"


def capsule_name(capsule: Any) -> Optional[str]:
    """None also where no capsule can be read."""
    name = None if _api is None else _get_name(capsule)
    return None if name is None else name.decode("utf-8", "replace")


def capsule_address(capsule: Any) -> int:
    """Whatever its name is. ImportError where no capsule can be read."""
    need_capsules("the address of a capsule")
    return int(_get_pointer(capsule, _get_name(capsule)) or 0)


def make_capsule(address: int, name: str) -> Any:
    """A capsule with a name that outlives it. It does not keep alive what the address is of.
    ImportError where none can be made."""
    need_capsules("make_capsule()")
    kept = _names.get(name)
    if kept is None:
        kept = _names.setdefault(name, ctypes.create_string_buffer(name.encode()))
    return _new(address, ctypes.cast(kept, ctypes.c_char_p), None)
