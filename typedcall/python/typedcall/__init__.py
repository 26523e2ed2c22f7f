"""Typed, unboxed calls between Python extension modules: what a Python callable offers to native
code, and the ways to it. Names whose import is slow are imported when they are first asked for."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from typedcall._api import (
    TypedFunction,
    add,
    adopt,
    entries,
    resolve,
    signatures,
    tag,
    untag,
)
from typedcall._records import Entry, Flags, parse_signature

if TYPE_CHECKING:
    from typedcall._pypy_imports import accelerate_imports
    from typedcall._tag_modules import load_tags, tag_module
    from typedcall.callbacks import callback
    from typedcall.includes import get_cmake_dir, get_include, get_pkgconfig_dir
    from typedcall.pypy import accelerate, restore
    from typedcall.to_cffi import cffi_function
    from typedcall.to_ctypes import ctypes_function
    from typedcall.to_cython import cython_declarations, export_to_cython, tag_pyx_capi
    from typedcall.to_numpy import ufunc
    from typedcall.to_scipy import low_level_callable

__version__ = "0.1.0"

__all__ = [
    "Entry",
    "Flags",
    "TypedFunction",
    "accelerate",
    "accelerate_imports",
    "add",
    "adopt",
    "callback",
    "cffi_function",
    "ctypes_function",
    "cython_declarations",
    "entries",
    "export_to_cython",
    "get_cmake_dir",
    "get_include",
    "get_pkgconfig_dir",
    "load_tags",
    "low_level_callable",
    "parse_signature",
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
    "accelerate_imports": "_pypy_imports",
    "callback": "callbacks",
    "cffi_function": "to_cffi",
    "ctypes_function": "to_ctypes",
    "cython_declarations": "to_cython",
    "export_to_cython": "to_cython",
    "get_cmake_dir": "includes",
    "get_include": "includes",
    "get_pkgconfig_dir": "includes",
    "load_tags": "_tag_modules",
    "low_level_callable": "to_scipy",
    "restore": "pypy",
    "tag_module": "_tag_modules",
    "tag_pyx_capi": "to_cython",
    "ufunc": "to_numpy",
}


if not TYPE_CHECKING:  # which is to find names that are not there

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module 'typedcall' has no attribute {name!r}")
        value = getattr(importlib.import_module("typedcall." + _LAZY[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
