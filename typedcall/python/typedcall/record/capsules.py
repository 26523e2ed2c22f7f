"""Reads the names and addresses of capsules, and makes capsules. Works only on CPython, because PyPy's capsules belong
to extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typedcall.record.codes import WHY_NOTHING

if TYPE_CHECKING or not WHY_NOTHING:
    from typedcall.native import _native

__all__ = ["capsule_address", "capsule_name", "is_capsule", "make_capsule", "need_capsules"]

_HAS_CAPSULES = not WHY_NOTHING and hasattr(_native, "Capsule")

# Names are never freed, because a capsule keeps a pointer to its name.
_names: dict[str, bytes] = {}


def need_capsules(purpose: str) -> None:
    """Raises ImportError if capsules cannot be made."""
    if not _HAS_CAPSULES:
        raise ImportError(WHY_NOTHING or f"CPython only: {purpose} needs capsules, which Python cannot read here")


def is_capsule(obj: Any) -> bool:
    """True if the object is a capsule that can be read. False on PyPy."""
    return _HAS_CAPSULES and type(obj) is _native.Capsule


def capsule_name(capsule: Any) -> str | None:
    """Returns the capsule's name. Returns None if it has none, or if capsules cannot be read."""
    return _native.capsule_name(capsule) if _HAS_CAPSULES else None


def capsule_address(capsule: Any) -> int:
    """Returns the capsule's address, without checking its name. Raises ImportError if capsules cannot be read."""
    need_capsules("the address of a capsule")
    return _native.capsule_address(capsule)


def make_capsule(address: int, name: str) -> Any:
    """Makes a capsule. The capsule does not keep the owner of the address alive. Raises ImportError if capsules cannot
    be made."""
    need_capsules("make_capsule()")
    return _native.make_capsule(address, _names.setdefault(name, name.encode()))
