"""Finds GoogleTest cases that cannot fail, because neither they nor the functions that they name
contain an assertion."""
import pathlib
import re

# Comments come first, so that a quote in a comment does not start a string.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![\da-fA-F])\'(?:[^\'\\\n]|\\.)+\'',
    re.DOTALL)
CASE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)\s*\{", re.MULTILINE)
# Matches the start of the definition of a function or class, and captures the name.
DEFINED = re.compile(
    r"\b(\w+)\([^;{}]*\)\s*(?:const\b|noexcept\b|override\b|->\s*[\w:<>]+|\s)*(?::[^;{}]*)?\{"
    r"|\b(?:class|struct)\s+(\w+)[^;{}()]*\{")
MACRO = re.compile(r"^#\s*define\s+(\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
ASSERTION = re.compile(r"\b(?:EXPECT|ASSERT)_\w+\s*\(|\b(?:FAIL|ADD_FAILURE|GTEST_FAIL)(?:_AT)?\s*\(")
SKIP = re.compile(r"\s*GTEST_SKIP\(\)[^;]*;\s*")
INCLUDE = re.compile(r'^\s*#\s*include\s+"tests/([^"]+)"', re.MULTILINE)
NO_FUNCTIONS = {"if", "for", "while", "switch", "catch", "TEST", "TEST_F", "TEST_P", "TYPED_TEST"}


def without_comments_and_texts(code):
    """Removes comments and the contents of strings, but keeps the line numbers."""
    return NO_CODE.sub(lambda found: '""' + "\n" * found.group().count("\n"), code)


def block(code, start):
    """Returns the text between the brace before `start` and the matching brace."""
    depth = 1
    for brace in re.finditer(r"[{}]", code[start:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return code[start:start + brace.start()]
    return code[start:]


class Source:
    """A file and its named blocks."""

    def __init__(self, text):
        self.code = without_comments_and_texts(text)
        # The paths are strings, which `code` does not contain.
        self.includes = INCLUDE.findall(text)
        self.named = [(found.group(1) or found.group(2), block(self.code, found.end()))
                      for found in DEFINED.finditer(self.code)]
        self.named += MACRO.findall(self.code)


def asserting_names(sources):
    """Returns the names of functions, classes and macros that assert, directly or indirectly."""
    blocks = [(name, body) for source in sources for name, body in source.named
              if name not in NO_FUNCTIONS]
    known = set()
    while True:
        more = {name for name, body in blocks if name not in known and asserts(body, known)}
        if not more:
            return known
        known |= more


def asserts(body, names):
    return bool(ASSERTION.search(body)) or not names.isdisjoint(re.findall(r"\w+", body))


class Tree:
    def __init__(self, folder):
        self.folder, self._sources = pathlib.Path(folder), {}

    def source(self, path):
        if path not in self._sources:
            self._sources[path] = Source((self.folder / path).read_text(encoding="utf-8"))
        return self._sources[path]

    def reachable(self, path):
        """Returns a file, the test headers that it includes, and the sources beside these
        headers."""
        found, waiting = [], [path]
        while waiting:
            path = waiting.pop()
            if path in found or not (self.folder / path).is_file():
                continue
            found.append(path)
            waiting += self.source(path).includes
            if path.endswith(".h"):
                waiting.append(path[:-2] + ".cc")
        return [self.source(path) for path in found]


def faults(folder):
    """Returns a message for each case that cannot fail."""
    tree, found = Tree(folder), []
    for path in sorted(tree.folder.rglob("*.cc")):
        path = path.relative_to(folder).as_posix()
        code = tree.source(path).code
        cases = list(CASE.finditer(code))
        names = asserting_names(tree.reachable(path)) if cases else ()
        for case in cases:
            body = block(code, case.end())
            if not asserts(body, names) and not SKIP.fullmatch(body):
                line = code.count("\n", 0, case.start()) + 1
                found.append("%s:%d: %s.%s asserts nothing" % (path, line, *case.groups()))
    return found
