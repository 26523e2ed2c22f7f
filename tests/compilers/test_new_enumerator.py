"""Adds an enumerator to each enum of entry_view.h, and compiles all readers. A new way to report errors, or a new thread
state, must not compile until each reader says what it does."""
import collections
import glob
import os
import re

import compilers

HEADER = "typedcall/entry_view.h"
# A reader may compare with this, because false is right for every other enumerator. Instead of the error protocol,
# readers ask for the facts of the view.
COMPARED = {"PyNativeThreadState_ANY"}
# Two sources need headers that may be missing. They include what the others include.
OPTIONAL = {"_sqlite.cc", "_native_pypy.cc"}
MISSING = re.compile(r"^(\S+?):(\d+):\d+: warning: enumeration value .(\w+). not handled in switch", re.MULTILINE)
# The number of switches in each file.
SWITCHES = {
    "typedcall/entry_view.h": 4,
    "typedcall/calling/call.h": 1,
    "typedcall/calling/entry.h": 1,
    "typedcall/python/typedcall/native/signatures.h": 1,
    "typedcall/python/typedcall/numpy/made_loop.h": 1,
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def enums(text):
    """Returns {enum: its enumerators}."""
    return {name: re.findall(r"^  (\w+),", body, re.MULTILINE)
            for name, body in re.findall(r"(?ms)^enum (\w+) \{\n(.*?)^\};", text)}


def blocks(text):
    """Yields the text of each switch."""
    for found in re.finditer(r"\bswitch \(", text):
        depth, at = 0, text.index("{", found.start())
        for at in range(at, len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                break
        yield text[found.start():at]


class NewEnumerator(compilers.Compiling):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.enums = enums(read(HEADER))
        self.assertEqual(len(self.enums), 2)
        self.all = {each for names in self.enums.values() for each in names}
        self.assertLessEqual(COMPARED, self.all)
        self.sources = sorted(glob.glob("typedcall/python/typedcall/**/*.cc", recursive=True))
        headers = sorted(glob.glob("core/**/*.h", recursive=True) + glob.glob("typedcall/**/*.h", recursive=True))
        self.readers = {path: text for path in headers + self.sources for text in [read(path)] if path != HEADER}
        self.assertGreater(len(self.readers), 100)

    def test_no_switch_has_a_default(self):
        found = [block for text in self.readers.values() for block in blocks(text)
                 if self.all & set(re.findall(r"\w+", block))]
        self.assertGreater(len(found), 0)
        self.assertEqual([block for block in found if "default:" in block], [])

    def test_comparisons_are_with_what_excludes_all_others(self):
        compared = re.compile(r"[=!]=\s*(%s)\b" % "|".join(self.all - COMPARED))
        self.assertEqual([(path, name) for path, text in self.readers.items() for name in compared.findall(text)], [])

    def test_each_switch_fails_to_compile(self):
        text = re.sub(r"(?ms)^enum (\w+) \{\n.*?(?=^\};)", r"\g<0>  \1_NEW,\n", read(HEADER))
        self.assertEqual([names[-1] for names in enums(text).values()], [name + "_NEW" for name in self.enums])
        self.write(HEADER, text)
        flags = ["-fsyntax-only", "-Wswitch", "-I", self.folder, "-I.", *compilers.PYTHON_HEADERS]
        places = set()
        for source in [path for path in self.sources if os.path.basename(path) not in OPTIONAL]:
            ended = compilers.run(compilers.of_this_build(), "-std=c++17", *flags, "-x", "c++", source)
            self.assertEqual(ended.status, 0, ended.err)
            places.update(MISSING.findall(ended.err))
        counted = collections.Counter(os.path.relpath(path, self.folder if os.path.isabs(path) else ".")
                                      for path, line, name in places)
        self.assertEqual(counted, SWITCHES)
