# Finds the installed Python interpreters and determines which of them the project can use. As a program it prints the
# interpreter to build for: $PYTHON_BIN, or the first usable python3.
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
    """One interpreter, and the reason why it cannot be used (empty if it can)."""

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
        """Returns a digest of the interpreter's program and library."""
        digest = hashlib.sha256(self.label.encode())
        for path in (self.executable, self.info["library"]):
            # An emulated interpreter reports paths that differ from the host's.
            if path and os.path.exists(path):
                with open(path, "rb") as file:
                    digest.update(file.read())
        return f"{self.label} {digest.hexdigest()[:16]}"

    @property
    def runs_package(self):
        """True if the Python package can be installed for this interpreter. The package needs headers, but no
        libpython."""
        return (self.info["implementation"] in ("CPython", "PyPy") and self.version >= OLDEST
                and bool(self.info["include"]) and (
                    not self.info["gil_disabled"] or self.version >= (3, 13)))

    @property
    def debug(self):
        return self.info["debug"]

    @property
    def ordinary(self):
        """True if the interpreter is neither a debug build nor free-threaded."""
        return not self.debug and not self.info["gil_disabled"]

    @property
    def flavour(self):
        """Returns the version, and whether the interpreter is a debug build or free-threaded."""
        return self.version[:2], self.debug, self.info["gil_disabled"]

    @property
    def label(self):
        traits = ((self.info["gil_disabled"], " free-threaded"), (self.debug, " debug"))
        return "{} {}{}".format(self.info["implementation"], self.info["version"],
                            "".join(word for is_so, word in traits if is_so))


def probe(path):
    """Returns the Interpreter at path, or None if it does not run (such as a pyenv shim without a version)."""
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
    """Returns paths that may be interpreters, preferred ones first."""
    default = shutil.which("python3")
    if default:
        yield default
    for folder in ["/usr/bin"] + os.environ.get("PATH", "").split(os.pathsep):
        # pyenv's shims repeat its versions folder.
        if os.path.isdir(folder) and os.path.basename(folder) != "shims":
            for name in sorted(os.listdir(folder)):
                if NAME.fullmatch(name):
                    yield os.path.join(folder, name)
    # These interpreters were built by tools/free_threaded.
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    for folder in ("free-threaded", "free-threaded-3.*"):
        yield from glob.glob(os.path.join(glob.escape(cache), "typedcall", folder, "bin/python3.*t"))
    # The newest come first, because the first of several equal interpreters is used.
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
                raise SystemExit(f"{path} is not a Python interpreter")
            continue
        # A virtual environment has its own executable but shares the library.
        found.setdefault(os.path.realpath(interpreter.executable), interpreter)
    return list(found.values())


def find(extra=()):
    """Returns all interpreters, each once, beginning with those in `extra`."""
    return _find(tuple(extra))


def default():
    """Returns the interpreter to build for if only one is needed."""
    if os.environ.get("PYTHON_BIN"):
        return os.environ["PYTHON_BIN"]
    for path in candidates():
        interpreter = probe(path)
        if interpreter and not interpreter.reason and interpreter.ordinary:
            return interpreter.executable
    raise SystemExit("no CPython >= {}.{} with headers and a shared libpython".format(*OLDEST))


if __name__ == "__main__":
    print(default())
