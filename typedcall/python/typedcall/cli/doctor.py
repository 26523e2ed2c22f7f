"""The command `doctor`, which reports what this interpreter supports, what is installed, and whether a call works."""
from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shlex
import shutil
import sys
import sysconfig
from typing import Any, NamedTuple

import typedcall
from typedcall import includes
from typedcall.calling import tag_modules
from typedcall.cli import FOUND
from typedcall.cli.report import print_json, print_table
from typedcall.cli.targets import describe
from typedcall.record.codes import WHY_NOTHING

__all__ = ["run"]

#: The names of distributions, and how typedcall uses them.
_LIBRARIES = (
    ("numpy", "ufuncs in both directions"),
    ("scipy", "LowLevelCallable in both directions"),
    ("numba", "direct calls in nopython code"),
    ("Cython", "functions that modules export as a source"),
    ("cffi", "pointers in both directions; needed on PyPy"),
    ("pybind11", "typedcall/pybind11.h: def<f>, def_falling_back<f>"),
    ("nanobind", "typedcall/nanobind.h: def<f>, def_falling_back<f>"),
    ("apsw", "typedcall.sql for SQLite"),
    ("duckdb", "typedcall.sql for DuckDB"),
    ("apache-tvm-ffi", "typedcall.tvm_ffi"),
    ("jax", "typedcall.jax"),
    ("dask", "typed functions in worker processes"),
    ("rich", "the tables of this command line"),
)

#: The extension modules of the package, and where they exist.
_CPYTHON = "only CPython has it, on platforms with tags"
_EXTENSIONS = (
    ("typedcall.native._native", "only platforms with tags have it"),
    ("typedcall.numpy._numpy_bridge", _CPYTHON),
    ("typedcall.sinks.sql._sqlite", f"{_CPYTHON}, if the package was built with sqlite3ext.h"),
    ("typedcall.sinks.sql._duckdb", _CPYTHON),
    ("typedcall.sinks.callbacks._callbacks", _CPYTHON),
    ("typedcall.sinks.tvm_ffi._tvm_ffi", _CPYTHON),
    ("typedcall.sinks.jax._jax", _CPYTHON),
)


class Finding(NamedTuple):
    name: str
    value: str
    #: False if the finding is a fault.
    ok: bool = True


def _interpreter() -> list[Finding]:
    version = f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}"
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    if free_threaded:
        is_enabled: Any = getattr(sys, "_is_gil_enabled", lambda: True)
        threads = "free-threaded build, GIL %s" % ("on" if is_enabled() else "off")
    else:
        threads = "one GIL" + (" for each interpreter" if sys.version_info >= (3, 12)
                               and sys.implementation.name == "cpython" else "")
    build = "debug" if hasattr(sys, "gettotalrefcount") else "release"
    is_supported = sys.version_info >= (3, 9) and sys.implementation.name in ("cpython", "pypy")
    return [
        Finding("interpreter", version, is_supported),
        Finding("threads", threads),
        Finding("build", build),
    ]


def _package() -> list[Finding]:
    found = [Finding("typedcall", f"{typedcall.__version__} in {os.path.dirname(typedcall.__file__)}")]
    if WHY_NOTHING:
        found.append(Finding("METH_TYPED", WHY_NOTHING))
    elif sys.implementation.name == "pypy":
        found.append(Finding("METH_TYPED", "bits in the rows; no side table on PyPy"))
        found.append(Finding("unboxed calls", "through cffi, where no GIL and no object is needed"))
    else:
        from typedcall.native import _native

        found.append(Finding("METH_TYPED", "bits in the rows" if _native.ROW_FLAGS else
                             "no bits: rows are in the interpreter's side table"))
        found.append(Finding("unboxed calls", "register images and libffi"
                             if _native.REGISTER_IMAGE else "libffi"))
    return found


def _round_trip() -> Finding:
    """Tries to tag a function, to resolve it, and to call the result."""

    def twice(x: float) -> float:
        return 2 * x

    if WHY_NOTHING:
        return Finding("self-test", "nothing is offered", typedcall.signatures(twice) == [])
    callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(twice)
    if sys.implementation.name == "pypy":
        offered = typedcall.signatures(callback)
        return Finding("self-test", "a ctypes function is read", offered == ["d->d"])
    try:
        typedcall.tag(twice, "d->d", callback)
        result = typedcall.resolve(twice, "d->d")(4.0)
        typedcall.untag(twice)
    except Exception as error:
        return Finding("self-test", describe(error), False)
    return Finding("self-test", "tag, resolve and call work", result == 8.0)


def _building() -> list[Finding]:
    try:
        folder = includes.get_include()
    except RuntimeError as error:
        return [Finding("headers", str(error), False)]
    found = [Finding("headers", folder)]
    python = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    found.append(Finding("Python.h", python if os.path.exists(python) else
                         "not installed: nothing can be compiled for this interpreter"))
    for variable, usual in (("CXX", "c++"), ("CC", "cc")):
        command = shlex.split(os.environ.get(variable, usual)) or [usual]
        found.append(Finding(f"compiler {command[0]}", shutil.which(command[0]) or "not found"))
    found.append(Finding("CMake files", includes.get_cmake_dir()))
    found.append(Finding("pkg-config files", includes.get_pkgconfig_dir()))
    return found


def _libraries() -> list[Finding]:
    found = []
    for name, purpose in _LIBRARIES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = _version_of_module(name)
        found.append(Finding(name, "{} ({})".format(version or "not installed", purpose)))
    return found + [_numba_extension()]


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # raised by the import of the parent package, or by a custom finder
        return False


def _version_of_module(name: str) -> str:
    """Returns the module's own version, because packages such as Debian's may lack metadata."""
    if not _is_there(name):
        return ""
    return str(getattr(importlib.import_module(name), "__version__", "installed"))


def _numba_extension() -> Finding:
    """Checks the entry point for Numba. A source tree on the path does not have it."""
    for distribution in importlib.metadata.distributions(name="typedcall"):
        for entry_point in distribution.entry_points:
            if entry_point.group == "numba_extensions":
                return Finding("Numba's entry point", entry_point.value)
    return Finding("Numba's entry point", "missing: the package was not installed by pip", False)


def _switched_off() -> list[Finding]:
    """Returns what is switched off or missing here, and where to look if a function offers nothing."""
    found = []
    if os.environ.get("TYPEDCALL_NUMBA") == "0":
        found.append(Finding("Numba", "off: TYPEDCALL_NUMBA=0 is in the environment"))
    if WHY_NOTHING:
        found.append(Finding("tags", WHY_NOTHING))
    found += [Finding(module.rpartition(".")[2], f"missing: {reason}")
              for module, reason in _EXTENSIONS if not _is_there(module)]
    tags = sorted({f"{point.name} ({point.value})" for point in tag_modules.entry_points()})
    found.append(Finding("tags of packages", ", ".join(tags) or "none"))
    found.append(Finding("a function that offers nothing", "`python -m typedcall show MODULE:NAME` says why"))
    return found


def run(options: argparse.Namespace) -> int:
    sections: list[tuple[str, list[Finding]]] = [
        ("interpreter", _interpreter()),
        ("package", [*_package(), _round_trip()]),
        ("building", _building()),
        ("libraries", _libraries()),
        ("unavailable", _switched_off()),
    ]
    ok = all(finding.ok for _, findings in sections for finding in findings)
    if options.json:
        print_json({"ok": ok, **{
            title: [finding._asdict() for finding in findings] for title, findings in sections}})
    else:
        for title, findings in sections:
            print_table(title, ("name", "value", ""), [
                (each.name, each.value, "" if each.ok else "FAULT") for each in findings])
    return 0 if ok else FOUND
