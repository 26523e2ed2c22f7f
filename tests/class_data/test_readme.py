"""Tests the commands and the code in the README of the example."""

import os
import re
import shutil
import sys
import sysconfig
import unittest

import folders
import processes

FOLDER = "examples/class_data"
NO_CYTHON = os.environ.get("TYPEDCALL_NO_CYTHON", "")


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def blocks(language, page="README.md"):
    return re.findall(r"^```%s\n(.*?)^```" % language, read(page), re.MULTILINE | re.DOTALL)


class Readme(unittest.TestCase):
    def run_block(self, text):
        includes = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
        text = text.replace("$(python3-config --includes)",
                            " ".join("-I" + path for path in sorted(includes)))
        text = re.sub(r"^(PYTHONPATH=\w+) python3 ", r"\1 %s " % sys.executable, text)
        text = re.sub(r"(?m)^( *)cython\b", r"\1" + os.environ["TYPEDCALL_CYTHON"], text)
        return processes.run(["sh", "-e", "-c", text], cwd=self.root, together=True,
                             environment=dict(processes.UNSANITIZED, PYTHONPATH=None)).out

    def setUp(self):
        # The folder contains only what an adopter has.
        self.root = folders.temporary(self.addCleanup)
        for folder in ("core", FOLDER):
            shutil.copytree(folder, os.path.join(self.root, folder))

    def test_the_commands(self):
        in_cxx, in_cython, run = blocks("sh")
        self.run_block(in_cxx)
        output = self.run_block(run)
        self.assertIn("units_cython has not been built", output)
        self.check_output(output, "units_cpp")

        if NO_CYTHON:
            self.skipTest("after the C++ half: " + NO_CYTHON)
        self.run_block(in_cython)
        output = self.run_block(run)
        in_cxx, _, in_cython = output.partition("== units_cython\n")
        self.check_output(in_cxx, "units_cpp")
        self.check_output(in_cython, "units_cython")

    @unittest.skipIf(NO_CYTHON, NO_CYTHON)
    def test_the_commands_for_the_five_designs(self):
        build, run = blocks("sh", "designs/README.md")
        self.run_block(build)
        printed = self.run_block(run)
        self.assertIn("metaclass\n    itself     5 oz\n    subclass   crash: SIGSEGV\n", printed)
        self.assertIn("units_cython\n    itself     5 oz\n    subclass   1 oz\n", printed)

    def check_output(self, output, module):
        for line in ("Ounce().text() -> 1 oz",
                     "Kilogram().text() -> 1 kg",
                     "Ounce(2.5).text() -> 2.5 oz",
                     "HeavyOunce().text() -> 1 oz",
                     "LoudKilogram().text() -> 1 KG",
                     "Mass().text() -> TypeError: <class '%s.Mass'> has no unit" % module):
            self.assertIn(line, output)
        self.assertRegex(output, r"Both\(\)\.text\(\) -> 1 kg")

    def test_the_code_is_that_of_the_modules(self):
        cxx = read("units_cpp.cc")
        lines = "".join(blocks("cpp")).splitlines()
        self.assertEqual(len(lines), 5)
        for line in lines:
            self.assertIn(line, cxx)
        cython = read("units_cython.pyx")
        for words in ("from core.custom_slots cimport PyCustomSlots_Find",
                      "from core.extensible_type cimport PyExtensibleType_Import",
                      '"__customslots__": {UNIT_SLOT_ID: PyCapsule_New(<void *>unit, NULL, NULL)}'):
            self.assertIn(words, cython)
            self.assertIn(words, "".join(blocks("cython")))

    def test_every_file_is_described(self):
        table = re.findall(r"`([\w.]+)`", read("README.md").partition("| file |")[2].partition("##")[0])
        there = set(os.listdir(FOLDER)) - {"README.md", "BUILD"}
        self.assertEqual(set(table), there)
