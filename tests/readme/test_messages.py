"""Tests that the messages in docs/how-to/troubleshooting.md exist in the sources. Headings quote
the messages, with `...` for names that vary."""
import ast
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PAGE = os.path.join(ROOT, "docs", "how-to", "troubleshooting.md")
HEADING = re.compile(r"(?m)^### (.*)$\n(?:<!-- message of: (.*?) -->\n)?")
# Matches adjacent C strings.
C_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*\\?\s*"(?:[^"\\\n]|\\.)*")*')
C_ERROR = re.compile(r"(?m)^\s*#\s*(?:error|warning)\s+((?:.*\\\n)*.*)$")
TABLE = re.compile(r"(?m)^\| it says \|.*\n\|---.*\n((?:\|.*\n)+)")
HOLE = "\0"


def texts_of_python(text):
    """Returns the strings in a Python file. Values in f-strings become gaps."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(each.value if isinstance(each, ast.Constant) else HOLE for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"\{\w*\}|%s", HOLE, node.value)


def texts_of_c(text):
    text = re.sub(r"(?m)//[^\n\"]*$", "", text)
    for found in C_TEXT.findall(text):
        joined = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found))
        yield re.sub(r"%[.\d]*[a-z]+", HOLE, joined.replace('\\"', '"'))
    yield from C_ERROR.findall(text)


def texts_of_sources():
    """Returns every text in the project's code that may be part of a message."""
    found = []
    for room in ("core", "typedcall"):
        for folder, _, names in os.walk(os.path.join(ROOT, room)):
            for name in names:
                read = {".py": texts_of_python, ".h": texts_of_c, ".cc": texts_of_c, ".c": texts_of_c,
                        ".cmake": texts_of_c}.get(os.path.splitext(name)[1])
                if read is not None:
                    with open(os.path.join(folder, name), encoding="utf-8") as source:
                        found += read(source.read())
    return found


def messages(page):
    """Returns (message, origin or None) for each heading and each row in a table of messages."""
    for heading, owner in HEADING.findall(page):
        for message in re.findall(r'"([^"]*)"', heading) or [""]:
            yield message, owner
    for table in TABLE.findall(page):
        for row in table.splitlines():
            yield row.split("|")[1].strip(), ""


def pieces(message):
    """Returns the fixed parts of a message."""
    found = [re.sub(r"^\W+|\W+$", "", each) for each in message.split("...")]
    return [each for each in found if len(each) > 3]


def missing_of(message, texts):
    """Returns the parts of a message that no source contains."""
    found = pieces(message)
    if not any(len(each) > 9 and " " in each for each in found):
        return [message + " (too short to be found by)"]
    return [piece for piece in found if not any(piece in text for text in texts)]


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(PAGE, encoding="utf-8") as page:
            cls.found = list(messages(page.read()))
        cls.texts = texts_of_sources()

    def test_each_is_in_the_sources(self):
        self.assertGreater(len(self.found), 15)
        for message, owner in self.found:
            with self.subTest(message=message):
                missing = missing_of(message, self.texts)
                self.assertTrue(missing) if owner else self.assertEqual(missing, [])

    def test_each_is_there_once(self):
        self.assertEqual(len({message for message, _ in self.found}), len(self.found))

    def test_what_is_in_no_source_is_found(self):
        texts = [*texts_of_python('raise E(f"{f} has no "\n"data pointer, {x}")'),
                 *texts_of_c('#error "typedcall needs C++17 or later"\nPyErr_Format(E, "%s is \'%.9s\' "\n  "in C");')]
        for message in ("x has no data pointer", "has no data pointer, ...", "typedcall needs C++17 or later",
                        "... is '...' in C", "... has no data pointer", "is no longer a message", "", "in C"):
            with self.subTest(message=message):
                is_there = message in ("has no data pointer, ...", "typedcall needs C++17 or later", "... has no data pointer")
                self.assertEqual(missing_of(message, texts) == [], is_there)
        page = '### "one ...", "two"\n<!-- message of: NumPy -->\ntext\n### none\n\n| it says | write |\n|---|---|\n| three ... | x |\n'
        self.assertEqual(list(messages(page)), [("one ...", "NumPy"), ("two", "NumPy"), ("", ""), ("three ...", "")])
