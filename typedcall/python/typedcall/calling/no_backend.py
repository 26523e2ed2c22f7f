"""What api.py needs where there is no extension module: nothing is offered, and what is tagged is checked
and left out, so that packages which tag their functions work. cpython_backend.py has the same names."""
from __future__ import annotations

from typing import Any, Callable

from typedcall.native.no_native import WHY_NOTHING
from typedcall.places.tagging import Row
from typedcall.record.records import Entry, parse_signature
from typedcall.tools.foreign import name_of, show

__all__ = [
    "HAS_SIDE_TABLE", "CAPABILITIES", "TypedFunction", "kept_with", "obstacle", "own_entries", "pickle_by",
    "refuse", "resolve_among", "resolve_own", "tag", "untag",
]

HAS_SIDE_TABLE = False
CAPABILITIES = None


class TypedFunction:
    """What resolve() returns elsewhere. There is none."""

    def __new__(cls, *args: Any, **keywords: Any) -> TypedFunction:
        raise TypeError(f"cannot create 'typedcall.TypedFunction' instances: {WHY_NOTHING}")


def pickle_by(reduce: Callable[..., Any]) -> None:
    """Does nothing: there is no TypedFunction."""


def own_entries(f: Any) -> list[Entry]:
    return []


def resolve_own(f: Any, asked: str, can: int | None, casting: str) -> TypedFunction | None:
    parse_signature(asked)
    return None


def resolve_among(f: Any, found: list[Entry], asked: str, can: int | None, casting: str) -> TypedFunction | None:
    return None


def obstacle(entry: Entry, can: int | None) -> str:
    return WHY_NOTHING


def refuse(f: Any, asked: str, can: int | None, casting: str) -> None:
    if not callable(f):
        raise TypeError(f"{show(f)} is not callable")
    raise TypeError(f"{name_of(f)} offers no native signature; '{asked}' was asked for: {WHY_NOTHING}")


def tag(f: Any, rows: list[Row], kept: Any) -> None:
    if not rows:
        raise ValueError(f"{name_of(f)}: a tag needs at least one entry")


def kept_with(f: Any, present: list[Entry]) -> list[Any]:
    return []


def untag(f: Any) -> bool:
    return False
