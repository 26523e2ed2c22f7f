"""Shared by the tests of the package. Compiles extension modules once per interpreter and state of the sources."""
import contextlib
import fcntl
import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import shutil
import sys
import sysconfig
import tempfile
import time
import unittest

import typedcall

try:
    import sqlite3
except ImportError:
    sqlite3 = None

# unittest does not read conftest.py, which also adds this folder.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import leaks  # noqa: E402
import processes  # noqa: E402
import seeds  # noqa: E402
from at_once import at_once  # noqa: E402, F401
from collected import module_only_if, only_if  # noqa: E402
from folders import InAFolder, temporary  # noqa: E402, F401

MODULES = pathlib.Path(__file__).resolve().parent / "modules"
IS_PYPY = sys.implementation.name == "pypy"
# Some Pythons are built without support for SQLite's extensions.
SQLITE3_LOADS = hasattr(getattr(sqlite3, "Connection", None), "load_extension")
ON_CPYTHON, ON_PYPY = only_if(not IS_PYPY), only_if(IS_PYPY)
# Free-threaded CPython 3.13 never frees functions once there is a second thread. pytest's timeout starts one.
WHERE_FUNCTIONS_GO = only_if(not sysconfig.get_config_var("Py_GIL_DISABLED") or sys.version_info >= (3, 14))
# AddressSanitizer keeps freed memory, so tests of process memory are not run under it.
WHERE_FREED_MEMORY_GOES = only_if("asan" not in os.environ.get("LD_PRELOAD", ""))


def timing(test):
    """Marks a test that measures time or process memory, or in which threads must meet."""
    # Processes that tests start import this file, but must not import pytest.
    pytest = sys.modules.get("pytest")
    return test if pytest is None or test is None else pytest.mark.timing(test)


def compiler(language):
    """Returns the compiler command for `language` ("c" or "c++") as a list."""
    variable, usual = ("CXX", "c++") if language == "c++" else ("CC", "cc")
    command = shlex.split(os.environ.get(variable, usual))
    if shutil.which(command[0]) is None:
        raise unittest.SkipTest("no %s compiler (%s)" % (language, command[0]))
    return command


def has_header(language, name):
    """Returns true if the compiler of `language` finds the header."""
    return processes.run([*compiler(language), "-E", "-x", language, "-", "-o", os.devnull], check=False,
                         input="#include <%s>\n" % name).status == 0


def python_include():
    return sysconfig.get_path("include")


def run(command, **options):
    """Runs `command` and returns its output."""
    return processes.run(command, together=True, **options).out


def compile_module(source, folder, name=None, flags=(), include=None):
    """Compiles a C or C++ file to an extension module in `folder`, and returns the module's path."""
    source = pathlib.Path(source)
    is_c = source.suffix == ".c"
    command = compiler("c" if is_c else "c++") + [
        # Bazel's tests cover optimised code.
        "-std=c99" if is_c else "-std=c++17", "-O0", "-shared", "-fPIC", "-fvisibility=hidden",
        "-I" + python_include(), "-I" + (include or typedcall.get_include())]
    made = pathlib.Path(folder) / (
        (name or source.stem) + sysconfig.get_config_var("EXT_SUFFIX"))
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    # Write to a temporary file, because a concurrent test must not find half a module.
    half_made = made.with_name("%d.%s" % (os.getpid(), made.name))
    run(command + [source, *flags, "-o", half_made])
    os.replace(half_made, made)
    return made


def _state(source, flags):
    """Returns a digest of everything on which the compiled module depends."""
    digest = hashlib.sha256(repr((sys.version, sys.executable, flags,
                                  sysconfig.get_config_var("SOABI"))).encode())
    headers = sorted(MODULES.glob("*.h")) + sorted(pathlib.Path(typedcall.get_include()).rglob("*.h"))
    for path in [source, MODULES / "../../support/c_module.h", *headers]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def load(name, path):
    """Imports the extension module `name` from a file."""
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, str(path), loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def module_folder(name, flags=()):
    """Compiles tests/package/modules/<name>.c or .cc, and returns the folder of the compiled module."""
    source = next(path for path in (MODULES / (name + ".cc"), MODULES / (name + ".c"))
                  if path.exists())
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = pathlib.Path(tempfile.gettempdir(), "typedcall-tests-%s" % user,
                          _state(source, tuple(flags)))
    made = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # concurrent tests compile it only once
        if not made.exists():
            compile_module(source, folder, flags=flags)
    return str(folder)


def build(name, flags=()):
    """Compiles and imports the module tests/package/modules/<name>.c or .cc."""
    if name in sys.modules:
        return sys.modules[name]
    folder = module_folder(name, flags)
    return load(name, pathlib.Path(folder, name + sysconfig.get_config_var("EXT_SUFFIX")))


def python(*arguments, check=False, **options):
    """Runs this interpreter in another process, and returns (exit status, stdout, stderr)."""
    return processes.python(*arguments, check=check, **options)


def printed(*arguments, **options):
    """Runs this interpreter in another process, which must succeed, and returns its output."""
    return processes.python(*arguments, **options).out.strip()


def wait_for_interrupt():
    """Waits up to a minute for a KeyboardInterrupt."""
    for _ in range(6000):
        time.sleep(0.01)


@contextlib.contextmanager
def modules(replaced):
    """Temporarily puts modules into sys.modules. Other modules that are imported meanwhile stay there."""
    known = {name: sys.modules.get(name) for name in replaced}
    sys.modules.update(replaced)
    try:
        yield
    finally:
        for name, module in known.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
