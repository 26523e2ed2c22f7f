"""Tests the C++ example in the README. tests/package/test_pages.py tests the other blocks, and
those of docs/, with the installed package."""
import os
import pathlib
import tempfile
import unittest

import code_blocks


class Readme(unittest.TestCase):
    def test_the_example_works_as_written(self):
        blocks = code_blocks.blocks(pathlib.Path("README.md").resolve())
        code, = [block for block in blocks if block.file == "hello.cc"]
        commands, = [block for block in blocks if "hello.cc" in block.text and block is not code]
        self.assertLessEqual(len([line for line in code.text.splitlines() if line.strip()]), 15)
        self.assertEqual(len(list(code_blocks.commands(commands.text))), 2)
        with tempfile.TemporaryDirectory() as folder:
            # This uses the headers of the build, which a test with old headers may replace.
            place = code_blocks.Folder(folder, include_root=os.getcwd())
            place.run(code)
            place.run(commands)

    def test_a_wrong_block_fails(self):
        for text in ("```sh\necho 1   # 2\n```\n", "```sh\nfalse\n```\n",
                     "```python\nprint(1)   # 2\n```\n", "```python\n>>> 1\n2\n```\n",
                     "```c\nint f(void) { return g(); }\n```\n", "```toml\n```\n",
                     "```sh\necho 1\n```\n<!-- test: output -->\n```text\n2\n```\n"):
            with self.subTest(text=text), tempfile.TemporaryDirectory() as folder:
                with self.assertRaises(AssertionError):
                    place = code_blocks.Folder(folder)
                    for block in code_blocks.blocks_of(text, "page"):
                        place.run(block)

    def test_blocks_that_are_not_run_say_why(self):
        block, = code_blocks.blocks_of("<!-- test: not run: it is wrong -->\n```sh\nfalse\n```\n", "page")
        self.assertEqual((block.is_tested, block.reason), (False, "it is wrong"))
        with self.assertRaises(ValueError):
            code_blocks.blocks_of("<!-- test: not at all -->\n```sh\nfalse\n```\n", "page")

    def test_the_front_page_is_short(self):
        lines = pathlib.Path("README.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), 150)
