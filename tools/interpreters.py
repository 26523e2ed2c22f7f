# Finds the Python interpreters of this machine and says which of them the project can use.
# Run as a program it prints the one to build for: $PYTHON_BIN, or the first usable python3.
import functools
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess

OLDEST = (3, 9)
INFO_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bazel/python_info.py")
NAME = re.compile(r"python3(\.\d+)?(t|d|-dbg)?|pypy3(\.\d+)?")


class Interpreter:
    """One interpreter, and why it cannot be used, if so (an empty string: it can)."""

    def __init__(self, path, info):
        self.path = path
        self.info = info
        self.executable = info["executable"]
        self.version = tuple(int(n) for n in re.findall(r"\d+", info["version"])[:3])
        self.reason = self._refusal()

    def _refusal(self):
        if self.info["implementation"] == "PyPy":
            return "PyPy: for the Python package only"
        if self.info["implementation"] != "CPython":
            return "not CPython"
        if self.version < OLDEST:
            return "older than {}.{}".format(*OLDEST)
        if self.info["gil_disabled"] and self.version < (3, 13):
            return "a free-threaded build older than 3.13"
        if not self.info["include"]:
            return "no headers"
        if not self.info["library"]:
            return "no shared libpython"
        return ""

    @functools.cached_property
    def state(self):
        """A digest of its program and library: another build in the same place differs."""
        digest = hashlib.sha256(self.label.encode())
        for path in (self.executable, self.info["library"]):
            # An emulated one's are not where it sees them.
            if path and os.path.exists(path):
                with open(path, "rb") as file:
                    digest.update(file.read())
        return f"{self.label} {digest.hexdigest()[:16]}"

    @property
    def runs_package(self):
        """Can the Python package be installed there? It needs headers, but no libpython."""
        return (self.info["implementation"] in ("CPython", "PyPy") and self.version >= OLDEST
                and bool(self.info["include"]) and (
                    not self.info["gil_disabled"] or self.version >= (3, 13)))

    @property
    def debug(self):
        return self.info["debug"]

    @property
    def ordinary(self):
        """Neither a debug build nor a free-threaded one?"""
        return not self.debug and not self.info["gil_disabled"]

    @property
    def flavour(self):
        """Interpreters of one flavour are alike."""
        return self.version[:2], self.debug, self.info["gil_disabled"]

    @property
    def label(self):
        traits = ((self.info["gil_disabled"], " free-threaded"), (self.debug, " debug"))
        return "{} {}{}".format(self.info["implementation"], self.info["version"],
                            "".join(word for is_so, word in traits if is_so))


def probe(path):
    """The Interpreter at path, or None when it does not run (a pyenv shim of no version)."""
    try:
        output = subprocess.run([path, "-E", "-s", INFO_SCRIPT], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return Interpreter(path, json.loads(output))


def pyenv_root():
    if shutil.which("pyenv"):
        found = subprocess.run(["pyenv", "root"], stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.strip()
    return os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))


def candidates():
    """Paths that may be interpreters, the ones to prefer first."""
    default = shutil.which("python3")
    if default:
        yield default
    for folder in ["/usr/bin"] + os.environ.get("PATH", "").split(os.pathsep):
        # pyenv's shims repeat its versions folder.
        if os.path.isdir(folder) and os.path.basename(folder) != "shims":
            for name in sorted(os.listdir(folder)):
                if NAME.fullmatch(name):
                    yield os.path.join(folder, name)
    # What tools/free_threaded has built.
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    for folder in ("free-threaded", "free-threaded-3.*"):
        yield from glob.glob(os.path.join(glob.escape(cache), "typedcall", folder, "bin/python3.*t"))
    # Newest first: among equals the first is run.
    versions = glob.glob(os.path.join(glob.escape(pyenv_root()), "versions/*/bin/python"))
    yield from sorted(versions, reverse=True,
                      key=lambda path: [int(n) for n in re.findall(r"\d+", path)])


@functools.cache
def _find(extra):
    found = {}
    for path in list(extra) + list(candidates()):
        interpreter = probe(path)
        if interpreter is None:
            if path in extra:
                raise SystemExit(f"{path} is no Python interpreter")
            continue
        # A virtual environment has its own executable but shares the library.
        found.setdefault(os.path.realpath(interpreter.executable), interpreter)
    return list(found.values())


def find(extra=()):
    """All interpreters, each once, those of `extra` first."""
    return _find(tuple(extra))


def default():
    """The interpreter to build for when only one is asked for."""
    if os.environ.get("PYTHON_BIN"):
        return os.environ["PYTHON_BIN"]
    for path in candidates():
        interpreter = probe(path)
        if interpreter and not interpreter.reason and interpreter.ordinary:
            return interpreter.executable
    raise SystemExit("no CPython >= {}.{} with headers and a shared libpython".format(*OLDEST))


if __name__ == "__main__":
    print(default())
