"""Tests that few files decide by the flag FALLS_BACK, and that no other names an error protocol. Readers ask for the facts
of a PyNativeView (typedcall/entry_view.h), so a new way to report errors changes only these files."""
import os
import re
import unittest

# Bazel's links lead to the repository.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

PACKAGE = "typedcall/python/typedcall/"
# The files that test the flag, with their reasons.
DECIDE = {
    "typedcall/native_callable.h": "defines the flag, and which flags contradict each other",
    "typedcall/entry_view.h": "derives the facts from the flags, for all others",
    "typedcall/calling/entry.h": "the engine: what follows after a call without a result",
    "typedcall/provider/falls_back.h": "the author of a function states the flag, which decides how it is wrapped",
    PACKAGE + "record/records.py": "the flag in Python, and the same question about flags without a signature",
    PACKAGE + "native/no_native.py": "replaces the headers where nothing is compiled",
    "examples/rust/signature.rs": "derives the facts in Rust, which reads no C headers",
    "examples/quickstart/demo.py": "prints the flag of each function; it uses no package",
}
# The files that name the flag, but test it nowhere.
NAME = {
    "typedcall/base/effects.h": "states it: typedcall::falls_back",
    "typedcall/binding/tagged_function.h": "states it: def_falling_back<f>()",
    "typedcall/resolve/request.h": "a capability: calls_boxed",
    PACKAGE + "__init__.pxd": "declares it for Cython",
    PACKAGE + "sinks/ctypes.py": "a capability that ctypes lacks",
    PACKAGE + "pypy/pointers.py": "the only capability of a cffi call",
    "examples/rust/abi.rs": "declares it for Rust",
    "examples/rust/native.rs": "a capability of the example",
    "examples/rust/provider.rs": "states it",
    "examples/quickstart/tag_libm.cc": "states it",
}
TESTED = re.compile(r"\bif\b|[=!]=|\bhas\(|\bcase\b|\?")
# The engine keeps the error protocol of an entry, and the provider asserts which protocol the view of an entry has.
PROTOCOLS = {"typedcall/entry_view.h", "typedcall/calling/entry.h", "typedcall/loop/elements.h",
             "typedcall/provider/native.h", "typedcall/provider/falls_back.h"}
ENDINGS = (".h", ".c", ".cc", ".py", ".pyi", ".pyx", ".pxd", ".rs", ".go", ".md")


def texts():
    for folder in ("core", "typedcall", "examples"):
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith(ENDINGS):
                    path = os.path.join(where, name)
                    with open(path, encoding="utf-8") as file:
                        yield os.path.relpath(path, ROOT), file.read()


class Facts(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(ROOT, "WORKSPACE")):
            raise unittest.SkipTest("the sources are not in the repository")
        cls.texts = dict(texts())

    def test_files_that_name_the_flag(self):
        found = {path for path, text in self.texts.items() if "FALLS_BACK" in re.sub(r"\w+_FALLS_BACK_H_", "", text)}
        self.assertEqual(found, {*DECIDE, *NAME})
        self.assertLessEqual(len(DECIDE), 8)

    def test_only_some_of_them_test_it(self):
        tested = {path for path in NAME for line in self.texts[path].splitlines()
                  if "FALLS_BACK" in line and TESTED.search(line)}
        self.assertEqual(tested, set())

    def test_floating_types_are_those_with_a_code(self):
        """std::is_floating_point is false for types that are not standard, such as _Float16, and the code behind it would
        take them for integers."""
        found = {path for path, text in self.texts.items() if path.startswith("typedcall/")
                 and re.search(r"\bstd::is_floating_point(_v)?<", text)}
        self.assertEqual(found, set())

    def test_documents_have_every_code(self):
        rows = re.findall(r'(?m)^  (?:X\(|PyNativeType_Internal_U?INT\(X, )\w+, "([^"]+)"', self.texts["typedcall/signature/type_codes.h"])
        self.assertGreater(len(rows), 20)
        for page, form in (("docs/ABI.md", '"%s"'), ("docs/reference/signatures.md", "`%s`")):
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                text = file.read()
            self.assertEqual([letters for letters in rows if form % letters not in text], [], page)

    def test_no_other_file_names_an_error_protocol(self):
        found = {path for path, text in self.texts.items() if "PyNativeErrorProtocol_" in text}
        self.assertEqual(found, PROTOCOLS)
        self.assertEqual([path for path, text in self.texts.items() if path.endswith(".py") and "error_protocol" in text], [])
