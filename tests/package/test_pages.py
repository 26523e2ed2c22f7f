"""Tests that the code blocks of the README and docs/ work, and print the output that they show."""
import importlib.util
import pathlib
import unittest

import support
import typedcall

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_blocks():
    spec = importlib.util.spec_from_file_location(
        "code_blocks", ROOT / "tests" / "readme" / "code_blocks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


code_blocks = load_blocks()

# Each page runs in a separate process, because tags must not affect the next page.
ONE_PAGE = """
import pathlib, runpy, sys, tempfile
blocks = runpy.run_path(sys.argv[1])
page = pathlib.Path(sys.argv[2])
with tempfile.TemporaryDirectory() as folder:
    place = blocks["Folder"](folder, sys.argv[3:])
    for block in blocks["blocks"](page):
        place.run(block)
"""


class Pages(unittest.TestCase):
    def check(self, page):
        reason = code_blocks.missing(page)
        if reason:
            self.skipTest(reason)
        flags = ["-I" + support.python_include(), "-I" + typedcall.get_include()]
        status, output, errors = support.python(
            "-c", ONE_PAGE, code_blocks.__file__, page, *flags)
        self.assertEqual(status, 0, output + errors)

    def test_every_block_says_how_it_is_tested(self):
        found = [block for page in code_blocks.pages() for block in code_blocks.blocks(page)]
        self.assertGreater(len(found), 40)
        not_run = ["%s: %s" % (block, block.reason) for block in found if not block.is_tested]
        # All other blocks must run.
        self.assertEqual(len(not_run), NOT_RUN, "\n".join(not_run))
        for block in found:
            self.assertTrue(block.file or block.is_output or block.reason
                            or block.language in code_blocks.LANGUAGES, str(block))


#: The number of blocks that are not run.
NOT_RUN = 21


def add_tests():
    """Adds a test for each page with blocks."""
    for page in code_blocks.pages():
        if code_blocks.is_for_this_python(page) and any(
                block.is_tested for block in code_blocks.blocks(page)):
            words = page.relative_to(ROOT).with_suffix("").as_posix()
            name = "test_" + "".join(c if c.isalnum() else "_" for c in words.lower())
            setattr(Pages, name, lambda self, page=page: self.check(page))


add_tests()
