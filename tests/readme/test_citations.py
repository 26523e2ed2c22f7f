"""Tests that everything that comments and documents cite exists."""
import ast
import io
import os
import re
import tokenize
import unittest

# Bazel's links lead to the repository.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
ROOMS = ("core", "typedcall", "tests", "tools", "examples", "bench", "docs", "bazel")
KINDS = "h|hpp|c|cc|cpp|py|pyi|md|pxd|pyx|bzl|pc|sh"
# Files from other projects, and generated files.
ELSEWHERE = {
    "Python.h", "pyconfig.h", "structmember.h", "sqlite3ext.h", "duckdb_extension.h", "hello.cc", "loop.py", "natives.h", "typedcall_provider.h",
    "typedcall_python_config.h", "version.bzl", "typedcall/include",
    "numpy/core/code_generators/numpy_api.py", "Modules/_ctypes/ctypes.h", "tvm/ffi/c_api.h",
    "xla/ffi/api/c_api.h",
}
_IN_A_ROOM = r"(?:%s)/[\w./-]*\w" % "|".join(ROOMS)
_WITH_SUFFIX = r"(?:[\w-]+/)*[\w-]+\.(?:%s)(?!\w)" % KINDS
CITED = re.compile(r"(?<![\w/.*$<{\[%%@-])(%s|%s)(?![(*])" % (_IN_A_ROOM, _WITH_SUFFIX))


def repository_files():
    """Returns paths relative to the root, without build products."""
    for folder, folders, names in os.walk(ROOT):
        here = os.path.relpath(folder, ROOT)
        folders[:] = [name for name in folders if not name.startswith((".", "bazel-"))
                      and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
                      and name not in ("__pycache__", "build", "dist", "corpus")
                      and not name.endswith(".egg-info")]
        for name in names:
            yield os.path.normpath(os.path.join(here, name))


def python_words(text):
    """Returns comments and docstrings."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node) or ""


def words(path, text):
    """Returns the comments and docstrings of a file, or the prose of a page."""
    if path.endswith(".md"):
        return [re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)]
    if path.endswith(".py"):
        return list(python_words(text))
    if path.endswith((".h", ".c", ".cc", ".hpp", ".cpp")):
        return re.findall(r"//[^\n]*|/\*.*?\*/", text, re.DOTALL)
    return re.findall(r"(?m)(?:^|\s)#\s[^\n]*", text)


class Repository(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(ROOT, "WORKSPACE")):
            raise unittest.SkipTest("the sources are not in the repository")
        cls.paths = sorted(repository_files())
        cls.names = {os.path.basename(path) for path in cls.paths}
        cls.texts = {}
        for path in cls.paths:
            try:
                with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                    cls.texts[path] = file.read()
            except (OSError, UnicodeDecodeError):
                pass  # a binary

    def is_there(self, cited, citing):
        if cited in ELSEWHERE or os.path.basename(cited) in ELSEWHERE:
            return True
        if "/" not in cited and cited in self.names:
            return True
        # Files of the package can also be cited under their installed names.
        installed = re.sub(r"^typedcall/", "typedcall/python/typedcall/", cited)
        beside = os.path.join(os.path.dirname(citing), cited)
        return any(os.path.exists(os.path.join(ROOT, path)) for path in (cited, installed, beside))

    def missing(self, path, text):
        """Returns (citation, citing file) for each citation of something that does not exist."""
        # A page may cite files that the reader writes (tests/readme/code_blocks.py).
        written = set(re.findall(r"<!-- test: file (\S+) -->", text))
        for part in words(path, text):
            for cited in CITED.findall(part):
                # NAME stands for any name.
                is_any = re.search(r"(?<![A-Z])NAME(?![A-Z])", cited)
                if not is_any and cited not in written and not self.is_there(cited, path):
                    yield cited, path

    def test_files(self):
        self.assertGreater(len(self.texts), 400)
        missing = [each for path, text in self.texts.items() for each in self.missing(path, text)]
        self.assertEqual(missing, [])

    def test_the_test_finds_what_is_not_there(self):
        for path, text, expected in [
                ("core/x.h", "// Source: DESIGN.md, section 2.", ["DESIGN.md"]),
                ("core/x.h", "/* see core/no_such.h\n and core/platform.h */", ["core/no_such.h"]),
                ("core/x.h", 'int x = f("core/no_such.h");', []),
                ("tests/core/x.py", '"""core/nothing_test.cc"""', ["core/nothing_test.cc"]),
                ("tests/core/x.py", "x = 'core/nothing_test.cc'  # find_test.cc", []),
                ("tools/x", "echo core/no  # tests/nowhere/", ["tests/nowhere"]),
                ("docs/x.md", "[a](docs/ABI.md), `core/none.h`\n```\ncore/nil.h\n```",
                 ["core/none.h"]),
                ("docs/x.md", "`new.c` is yours, `old.c` not\n<!-- test: file new.c -->", ["old.c"])]:
            self.assertEqual([cited for cited, _ in self.missing(path, text)], expected, text)

    def test_sections(self):
        there = set(re.findall(r"(?m)^## (\d+)\.", self.texts["docs/ABI.md"]))
        missing = [(path, number) for path, text in self.texts.items()
                   for number in re.findall(r"docs/ABI\.md, section (\d+)", text)
                   if number not in there]
        self.assertEqual(missing, [])

    def test_the_abi_names_what_the_headers_have(self):
        headers = "".join(text for path, text in self.texts.items() if path.endswith(".h"))
        named = set(re.findall(r"\bPy[A-Za-z]+_?[A-Z]\w+", self.texts["docs/ABI.md"]))
        known = set(re.findall(r"\b_?Py\w+", headers))
        self.assertEqual({name for name in named if name not in known}, set())
