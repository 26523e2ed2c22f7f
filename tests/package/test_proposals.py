"""Tests that the headings, commands and names in docs/proposals.md exist."""
import pathlib
import re
import unittest
from xml.etree import ElementTree

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "proposals.md"
LINK = re.compile(r"(?<!!)\[(?:[^][]|\n)+\]\(([^()\s]+)\)")
PICTURE = re.compile(r"!\[(?:[^][])+\]\((\S+\.svg)\)")
SVG = "{http://www.w3.org/2000/svg}"


def anchors(path):
    """Returns the anchors of a page's headings."""
    headings = re.findall(r"(?m)^#+ (.*)$", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def table_below(heading, text):
    """Returns the rows of the first table below a heading."""
    section = text.partition("\n## %s\n" % heading)[2].partition("\n## ")[0]
    table, = re.findall(r"(?ms)\A.*?^\|[^\n]*\n\|---[^\n]*\n((?:\|[^\n]*\n)*)", section)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def is_target(package, name):
    text = (ROOT / package / "BUILD").read_text(encoding="utf-8")
    # The BUILD file contains the target's name, or its first part if a list adds the ending.
    ends = re.findall(r'\bname \+ "(\w+)"', text)
    return '"%s"' % name in text or any(
        name.endswith(end) and '"%s"' % name[:-len(end)] in text for end in ends)


class TheTable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = PAGE.read_text(encoding="utf-8")
        cls.rows = table_below("Where to find what", cls.text)

    def test_it_has_rows_for_each_document(self):
        self.assertEqual({row[0] for row in self.rows},
                         {"SEP 200", "SEP 201", "PEP 697", "METH_TYPED", "the article", "all"})
        for row in self.rows:
            self.assertEqual(len(row), 4, row)

    def test_each_row_leads_to_a_page(self):
        for row in self.rows:
            with self.subTest(row[1]):
                self.assertEqual(len(LINK.findall(row[2])), 1)
        for target in LINK.findall(self.text):
            if target.startswith("https://"):
                continue
            with self.subTest(target):
                path, _, anchor = target.partition("#")
                page = (PAGE.parent / path).resolve() if path else PAGE
                self.assertTrue(page.exists())
                if anchor:
                    self.assertIn(anchor, anchors(page))

    def test_each_command_is_there(self):
        for row in self.rows:
            command, = re.findall(r"^`(.*)`$", row[3])
            with self.subTest(command):
                self.follow(*command.split())

    def follow(self, program, *arguments):
        """Runs a command. For tests and benchmarks, only checks the name."""
        if (program, arguments[0]) == ("bazel", "test"):
            package, _, name = arguments[1].removeprefix("//").partition(":")
            if package.endswith("/..."):
                package, name = package[:-len("/...")], "//bazel:tests.bzl"
            self.assertTrue(is_target(package, name))
        elif program == "pytest":
            self.assertTrue((ROOT / arguments[0]).exists())
        elif program == "tools/bench":
            known, = re.findall(r"(?m)^ALL=\((.*)\)$", (ROOT / program).read_text(encoding="utf-8"))
            self.assertIn(arguments[0], known.split())
        elif program == "tools/bench_package":
            self.assertIn(f'"{arguments[0]}"', (ROOT / "tools" / "bench_package.py").read_text(encoding="utf-8"))
        else:
            self.assertEqual(program, "python3")
            status, printed, errors = support.python(*arguments)
            self.assertEqual(status, 0, printed + errors)

    def test_the_documents_are_linked(self):
        linked = {target for target in LINK.findall(self.text) if target.startswith("https://")}
        for words in ("sep200.rst", "sep201.rst", "pep-0697", "typed-c-extensions", "adding-class-attributes"):
            self.assertTrue(any(words in target for target in linked), words)


class TheNames(unittest.TestCase):
    def test_what_is_here_is_in_the_headers(self):
        text = PAGE.read_text(encoding="utf-8")
        headers = "".join(path.read_text(encoding="utf-8") for room in ("core", "typedcall")
                          for path in (ROOT / room).rglob("*.h"))
        named = set()
        for heading in re.findall(r"(?m)^## (.*)$", text):
            if heading != "Where to find what":
                for row in table_below(heading, text):
                    named |= set(re.findall(r"`(?:typedcall/)?((?:Py|METH_|PYCUSTOM)\w+\w)", row[1]))
        self.assertGreater(len(named), 25)
        self.assertEqual({name for name in named if not re.search(r"\b%s" % name, headers)}, set())


class Diagrams(unittest.TestCase):
    def test_each_is_on_a_page_and_has_colours_for_dark_ones(self):
        shown = {(page.parent / picture).resolve() for page in (ROOT / "docs").rglob("*.md")
                 for picture in PICTURE.findall(page.read_text(encoding="utf-8"))}
        drawn = sorted((ROOT / "docs" / "explanation").glob("*.svg"))
        self.assertGreater(len(drawn), 5)
        for path in drawn:
            with self.subTest(path.name):
                self.assertIn(path, shown)
                root = ElementTree.parse(path).getroot()
                self.assertEqual(root[0].tag, SVG + "title")
                light, dark, end = re.match(r"(?s)(.*)@media \(prefers-color-scheme: dark\) \{(.*?)\n    \}(.*)",
                                            path.read_text(encoding="utf-8")).groups()
                # Each colour for light pages needs a colour for dark pages.
                for selector in re.findall(r"(\.?\w+) \{[^}]*(?:fill|stroke): #", light):
                    self.assertIn(selector + " {", dark)
                for attribute in set(re.findall(r'(?:fill|stroke)="#\w+"', end)):
                    self.assertIn("[%s]" % attribute, dark)
