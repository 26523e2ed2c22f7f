#!/usr/bin/env python3
"""Joins the C99 headers that a provider needs into one file, typedcall_provider.h.

    tools/amalgamate.py > typedcall_provider.h

Each header keeps its include guard, so the file can be used together with the headers, and with other copies of it.
"""
import argparse
import hashlib
import os
import re
import sys

NAME = "typedcall_provider.h"
GUARD = "TYPEDCALL_PROVIDER_SINGLE_FILE_H_"

# The header that a provider includes. The headers that these include are added. Types on PyPy have no slots.
ROOTS = ["typedcall/tag.h"]
NOT_ON_PYPY = "#ifndef PYPY_VERSION"
# This header comes before the file's guard, because it checks for another copy.
VERSION = "core/version.h"
ROOTS_NOT_ON_PYPY = [
    "core/extensible_type.h",
    "typedcall/native_callable_slot.h",
]

_OURS = re.compile(r'#\s*include\s+"((?:core|typedcall)/[^"]+)"')
_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|elif|else|endif)\b")


class Joiner:
    """Puts each header at its first `#include`, like the preprocessor."""

    def __init__(self, root):
        self._root = root
        # The conditions under which each header has been included.
        self._conditions = {VERSION: [set()]}
        self.sources = [VERSION]
        self.lines = []

    def text(self, path):
        with open(os.path.join(self._root, path), encoding="utf-8") as file:
            return file.read()

    def add(self, path, conditions=(), within=()):
        self._conditions.setdefault(path, []).append(set(conditions))
        text = self.text(path)
        if path not in self.sources:
            self.sources.append(path)
        guard = re.search(r"^#ifndef (\w+)\n#define \1\n", text, re.MULTILINE)
        if not guard or not text.rstrip().endswith("#endif  // " + guard.group(1)):
            raise ValueError(f"{path} has no include guard around all of it")
        self.lines.append(f"// ---- {path}")
        around = []  # the first condition is the header's own guard
        for number, line in enumerate(text.splitlines()):
            condition = _CONDITION.match(line)
            if condition and condition.group(1) in ("endif", "else", "elif"):
                around.pop()
            if condition and condition.group(1) in ("else", "elif"):
                around.append(f"{path}:{number}")  # differs from every other condition
            elif condition and condition.group(1) != "endif":
                around.append(line.partition("//")[0].strip())
            ours = _OURS.match(line)
            if ours and ours.group(1) in within + (path,):
                circle = " -> ".join(within + (path, ours.group(1)))
                raise ValueError(f"{ours.group(1)} includes itself: {circle}")
            if ours is None:
                self.lines.append(line)
            elif not self._stands(ours.group(1), [*conditions, *around[1:]]):
                self.add(ours.group(1), [*conditions, *around[1:]], within + (path,))
                self.lines.append(f"// ---- {path}, continued")

    def _stands(self, path, conditions):
        """True if the header has been included wherever all of these conditions hold."""
        return any(earlier.issubset(conditions) for earlier in self._conditions.get(path, ()))

    def add_missing(self, paths, conditions=()):
        for path in paths:
            if not self._stands(path, conditions):
                self.add(path, conditions)

    def digest(self):
        """Returns the digest of all joined headers."""
        digest = hashlib.sha256()
        for path in self.sources:
            digest.update(self.text(path).encode())
        return digest.hexdigest()

    def version(self):
        numbers = dict(re.findall(r"^#define PyTypedcall_ABI_(MAJOR|MINOR) (\d+)$",
                                  self.text("core/interface.h"), re.MULTILINE))
        return numbers["MAJOR"] + "." + numbers["MINOR"]

    def licence(self):
        return ["// " + line if line else "//" for line in self.text("LICENSE").splitlines()]


def squeeze(lines):
    """Removes repeated blank lines, which removed includes leave behind."""
    return [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]


def amalgamate(root):
    joiner = Joiner(root)
    joiner.add_missing(ROOTS)
    joiner.lines += ["", NOT_ON_PYPY]
    joiner.add_missing(ROOTS_NOT_ON_PYPY, [NOT_ON_PYPY])
    joiner.lines += ["#endif  // PYPY_VERSION"]
    head = [
        "// typedcall for providers, in one file: offers the C functions behind a Python module's",
        "// functions, and slots on its types, to other modules; on PyPy functions only. C99, C11, C++11",
        "// to C++20; needs Python.h only. Generated: change the headers and run tools/amalgamate.py.",
        "// The struct PyPyTypedMethodMetadata is PyPy's (MIT licence, PyPy Copyright holders).",
        "//",
        f"// ABI version {joiner.version()}. SHA-256 of the headers: {joiner.digest()[:32]}",
        "//",
    ] + joiner.licence()
    head += ["", "// ---- " + VERSION, *joiner.text(VERSION).splitlines(), ""]
    # Python.h must come before all standard headers.
    head += ["#ifndef " + GUARD, "#define " + GUARD, "", "#include <Python.h>", ""]
    return "\n".join(head + squeeze(joiner.lines) + ["", "#endif  // " + GUARD]) + "\n"


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=here, help="the project's folder")
    parser.add_argument("--output", help="the file to write, instead of standard output")
    arguments = parser.parse_args()
    try:
        text = amalgamate(arguments.root)
    except ValueError as error:
        sys.exit(f"amalgamate.py: {error}")
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
