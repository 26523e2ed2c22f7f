"""Typed, unboxed calls between Python extension modules. Names that are slow to import are imported on first use."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from typedcall.calling.api import (
    TypedFunction,
    add_overloads,
    entries,
    pickle_by,
    publish,
    resolve,
    signatures,
    tag,
    untag,
)
from typedcall.record.records import Entry, Flags, parse_signature

if TYPE_CHECKING:
    from typedcall.calling.tag_modules import load_tags, tag_module
    from typedcall.explaining.explanation import explain
    from typedcall.includes import get_cmake_dir, get_include, get_pkgconfig_dir, get_source
    from typedcall.numpy.ufunc import ufunc
    from typedcall.pypy.acceleration import accelerate, restore
    from typedcall.pypy.imports import accelerate_imports
    from typedcall.sinks.callbacks import callback
    from typedcall.sinks.cffi import cffi_function
    from typedcall.sinks.ctypes import ctypes_function
    from typedcall.sinks.cython import cython_declarations, export_to_cython, tag_pyx_capi
    from typedcall.sinks.scipy import low_level_callable

__version__ = "0.1.0"

__all__ = [
    "Entry",
    "Flags",
    "TypedFunction",
    "accelerate",
    "accelerate_imports",
    "add_overloads",
    "callback",
    "cffi_function",
    "ctypes_function",
    "cython_declarations",
    "entries",
    "explain",
    "export_to_cython",
    "get_cmake_dir",
    "get_include",
    "get_pkgconfig_dir",
    "get_source",
    "load_tags",
    "low_level_callable",
    "parse_signature",
    "publish",
    "resolve",
    "restore",
    "signatures",
    "tag",
    "tag_module",
    "tag_pyx_capi",
    "ufunc",
    "untag",
]

_LAZY = {
    "accelerate": "pypy",
    "accelerate_imports": "pypy.imports",
    "callback": "sinks.callbacks",
    "cffi_function": "sinks.cffi",
    "ctypes_function": "sinks.ctypes",
    "cython_declarations": "sinks.cython",
    "explain": "explaining.explanation",
    "export_to_cython": "sinks.cython",
    "get_cmake_dir": "includes",
    "get_include": "includes",
    "get_pkgconfig_dir": "includes",
    "get_source": "includes",
    "load_tags": "calling.tag_modules",
    "low_level_callable": "sinks.scipy",
    "restore": "pypy",
    "tag_module": "calling.tag_modules",
    "tag_pyx_capi": "sinks.cython",
    "ufunc": "numpy.ufunc",
}


def _reduce(*question: Any) -> Any:
    # This import is slow, so it is delayed until the first pickle.
    from typedcall.calling.pickles import reduce_function

    return reduce_function(*question)


pickle_by(_reduce)

if not TYPE_CHECKING:  # a type checker must report names that do not exist

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module 'typedcall' has no attribute {name!r:.200}")
        value = getattr(importlib.import_module("typedcall." + _LAZY[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
