"""Tests that two versions of the single file in one source file produce one #error."""
import os
import re

import compilers

SINGLE = os.environ["SINGLE_FILE"]
OURS, OTHERS, BEFORE = "ours.h", "others.h", "before.h"


class TwoVersions(compilers.Compiling):
    def setUp(self):
        super().setUp()
        with open(SINGLE, encoding="utf-8") as file:
            text = file.read()
        number = re.search(r"#define TYPEDCALL_CORE_VERSION_H_ (\d+)\n", text).group(1)
        others = text.replace(" %s\n" % number, " %d\n" % (int(number) - 100))
        self.assertNotEqual(text, others)
        start = text.index("// ---- core/version.h")
        before = text[:start] + text[text.index("#ifndef TYPEDCALL_PROVIDER_SINGLE_FILE_H_"):]
        for name, written in ((OURS, text), (OTHERS, others), (BEFORE, before)):
            self.write(name, written)

    def compile(self, includes, language, standard):
        text = "".join('#include "%s"\n' % each for each in includes) + "int behind = nothing_of_that_name;\n"
        return compilers.run(compilers.of_this_build(), "-fsyntax-only", "-Wall", "-Wextra", "-x", language,
                             "-std=" + standard, "-I", self.folder, "-I.", *compilers.PYTHON_HEADERS, "-", text=text)

    def check(self, first, second):
        for language, standard in (("c", "c99"), ("c++", "c++17")):
            with self.subTest(first=first, second=second, standard=standard):
                ended = self.compile([first, second], language, standard)
                self.assertNotEqual(ended.status, 0)
                errors = re.findall(r"error: (.*)", ended.err)
                self.assertEqual(len(errors), 2, ended.err)
                self.assertIn("typedcall: two versions of the headers: keep one copy", errors[0])
                self.assertIn("typedcall: the error above says why this stops here", errors[1])
                notes = re.findall(r"([^\s:]+):\d+.* note: .*previous definition", ended.err)
                single = first in (OURS, OTHERS, BEFORE)
                self.assertEqual(os.path.basename(notes[0]), first if single else "version.h")

    def test_single_files(self):
        self.check(OURS, OTHERS)
        self.check(OTHERS, OURS)

    def test_among_the_headers(self):
        for header in ("typedcall/tag.h", "typedcall/typed_method.h", "core/custom_slots.h",
                       "core/extensible_type.h", "typedcall/signature.h", "typedcall/sibling_symbol.h"):
            self.check(OTHERS, header)
            self.check(header, OTHERS)

    def test_a_copy_from_before_there_was_a_version(self):
        for second in (OURS, "typedcall/tag.h", "core/custom_slots.h", "typedcall/signature/type_codes.h"):
            self.check(BEFORE, second)

    def test_of_one_version(self):
        ended = self.compile([OURS, "typedcall/tag.h", OURS], "c", "c99")
        errors = re.findall(r"error: (.*)", ended.err)
        self.assertEqual(len(errors), 1, ended.err)
        self.assertIn("nothing_of_that_name", errors[0])
