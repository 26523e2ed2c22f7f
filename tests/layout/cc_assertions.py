"""Which GoogleTest cases cannot fail: those without an EXPECT, ASSERT or FAIL, neither in their body
nor in a function or class of the tests that the body names."""
import pathlib
import re

# What is not code comes first, so that a quote in a comment begins no text.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![\da-fA-F])\'(?:[^\'\\\n]|\\.)+\'',
    re.DOTALL)
CASE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)\s*\{", re.MULTILINE)
# A function's name and what may stand between its parameters and its body; or a class's name.
DEFINED = re.compile(
    r"\b(\w+)\([^;{}]*\)\s*(?:const\b|noexcept\b|override\b|->\s*[\w:<>]+|\s)*(?::[^;{}]*)?\{"
    r"|\b(?:class|struct)\s+(\w+)[^;{}()]*\{")
MACRO = re.compile(r"^#\s*define\s+(\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
ASSERTION = re.compile(r"\b(?:EXPECT|ASSERT)_\w+\s*\(|\b(?:FAIL|ADD_FAILURE|GTEST_FAIL)(?:_AT)?\s*\(")
# Says itself that it tests nothing, where its subject is not there.
SKIP = re.compile(r"\s*GTEST_SKIP\(\)[^;]*;\s*")
INCLUDE = re.compile(r'^\s*#\s*include\s+"tests/([^"]+)"', re.MULTILINE)
NO_FUNCTIONS = {"if", "for", "while", "switch", "catch", "TEST", "TEST_F", "TEST_P", "TYPED_TEST"}


def without_comments_and_texts(code):
    """The same lines; of a comment or a text nothing is left that could be taken for code."""
    return NO_CODE.sub(lambda found: '""' + "\n" * found.group().count("\n"), code)


def block(code, start):
    """What is between the brace before `start` and its partner."""
    depth = 1
    for brace in re.finditer(r"[{}]", code[start:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return code[start:start + brace.start()]
    return code[start:]


class Source:
    """A file's code, and the blocks that have a name."""

    def __init__(self, text):
        self.code = without_comments_and_texts(text)
        # In a text nothing was left of the path.
        self.includes = INCLUDE.findall(text)
        self.named = [(found.group(1) or found.group(2), block(self.code, found.end()))
                      for found in DEFINED.finditer(self.code)]
        self.named += MACRO.findall(self.code)


def asserting_names(sources):
    """Names of functions, classes and macros that assert, by themselves or by others of them."""
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
        """A file, the tests' headers that it includes, and the sources beside these."""
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
    """A line for every case below a folder that cannot fail."""
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
