#!/usr/bin/env python3
"""Joins the C99 headers that a provider needs into one file to copy, typedcall_provider.h.

    tools/amalgamate.py > typedcall_provider.h

What it writes depends on the headers and LICENSE only. Each header keeps its include guard, so the
file can stand beside the headers themselves, and beside other copies of it.
"""
import argparse
import hashlib
import os
import re
import sys

NAME = "typedcall_provider.h"
GUARD = "TYPEDCALL_PROVIDER_SINGLE_FILE_H_"

# What a provider includes; what these include comes along.
ROOTS = [
    "core/extensible_type.h",
    "typedcall/native_callable_slot.h",
    "typedcall/tag_array.h",
    "typedcall/typed_entry.h",
]

_OURS = re.compile(r'#\s*include\s+"((?:core|typedcall)/[^"]+)"')
_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|endif)\b")


class Joiner:
    """Puts each header where the first `#include` of it stands, as the preprocessor would."""

    def __init__(self, root):
        self._root = root
        self._certain = set()  # headers that are there whatever the conditions around them say
        self.sources = []
        self.lines = []

    def _text(self, path):
        with open(os.path.join(self._root, path), encoding="utf-8") as file:
            return file.read()

    def add(self, path, certain=True, within=()):
        if certain:
            self._certain.add(path)
        text = self._text(path)
        if path not in self.sources:
            self.sources.append(path)
        guard = re.search(r"^#ifndef (\w+)\n#define \1\n", text, re.MULTILINE)
        if not guard or not text.rstrip().endswith("#endif  // " + guard.group(1)):
            raise ValueError("%s has no include guard around all of it" % path)
        self.lines.append("// ---- %s" % path)
        depth = 0
        for line in text.splitlines():
            condition = _CONDITION.match(line)
            if condition:
                depth += -1 if condition.group(1) == "endif" else 1
            ours = _OURS.match(line)
            if ours and ours.group(1) in within + (path,):
                circle = " -> ".join(within + (path, ours.group(1)))
                raise ValueError("%s includes itself: %s" % (ours.group(1), circle))
            if ours is None:
                self.lines.append(line)
            elif ours.group(1) not in self._certain:
                # Depth 1 is the header's own guard.
                self.add(ours.group(1), certain and depth == 1, within + (path,))
                self.lines.append("// ---- %s, continued" % path)

    def digest(self):
        """Of everything that was joined: two files with the same one are the same."""
        digest = hashlib.sha256()
        for path in self.sources:
            digest.update(self._text(path).encode())
        return digest.hexdigest()

    def version(self):
        numbers = dict(re.findall(r"^#define PyTypedcall_ABI_(MAJOR|MINOR) (\d+)$",
                                  self._text("core/interface.h"), re.MULTILINE))
        return numbers["MAJOR"] + "." + numbers["MINOR"]

    def licence(self):
        return ["// " + line if line else "//" for line in self._text("LICENSE").splitlines()]


def squeeze(lines):
    """Without blank lines in a row, which removed includes leave behind."""
    return [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]


def amalgamate(root):
    joiner = Joiner(root)
    for path in ROOTS:
        if path not in joiner.sources:
            joiner.add(path)
    head = [
        "// typedcall for providers, in one file: offer the C functions behind a Python module's",
        "// functions, and slots on its types, to whoever asks. C99, C11, C++11 to C++20; needs",
        "// Python.h only. Generated: change the headers and run tools/amalgamate.py.",
        "//",
        "// ABI version %s. SHA-256 of the headers: %s" % (joiner.version(), joiner.digest()[:32]),
        "//",
    ] + joiner.licence()
    # Python.h must be in front of all standard headers.
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
        sys.exit("amalgamate.py: %s" % error)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
