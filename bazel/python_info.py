# Prints, as JSON, what a C build needs to know about the interpreter that runs this file. Must run
# under any Python, even PyPy and Python 2, so that the caller can explain what is unsupported.
import json
import os
import platform
import sys
import sysconfig


def variable(name):
    return sysconfig.get_config_var(name)


def shared_library():
    """The path of the shared libpython, or an empty string."""
    if not variable("Py_ENABLE_SHARED"):
        return ""
    path = os.path.join(variable("LIBDIR") or "", variable("LDLIBRARY") or "")
    return path if os.path.isfile(path) else ""


def loads_sqlite_extensions():
    try:
        import sqlite3
    except ImportError:
        return False
    return hasattr(sqlite3.Connection, "enable_load_extension")


def main():
    include = sysconfig.get_paths()["include"]
    print(json.dumps({
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "major": sys.version_info[0],
        "minor": sys.version_info[1],
        "executable": sys.executable,
        "home": getattr(sys, "base_prefix", sys.prefix),
        "include": include if os.path.isfile(os.path.join(include, "Python.h")) else "",
        "library": shared_library(),
        "debug": bool(variable("Py_DEBUG")),
        "gil_disabled": bool(variable("Py_GIL_DISABLED")),
        # The processor and the C library.
        "multiarch": variable("MULTIARCH") or "",
        "sqlite": loads_sqlite_extensions(),
        # True if the JIT is compiled in, but off unless PYTHON_JIT=1 is set.
        "jit": hasattr(sys, "_jit") and sys._jit.is_available() and not sys._jit.is_enabled(),
    }))


main()
