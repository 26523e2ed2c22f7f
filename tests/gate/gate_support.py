"""Imports the modules in tools/ and makes a repository with its own cache."""
import os
import sys
import tempfile
import unittest
import unittest.mock

import processes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))


def outcomes(cases):
    return [(case.name, case.outcome) for case in cases]


class InAFolder(unittest.TestCase):
    """Runs each test in a new repository with its own cache."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = os.path.join(folder.name, "cache")
        self.tree = os.path.join(folder.name, "tree")
        os.makedirs(self.tree)
        self.enterContext(unittest.mock.patch.dict(
            os.environ, TYPEDCALL_DISK_CACHE=os.path.join(self.cache, "bazel"), TYPEDCALL_MACHINE="compiler 1"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.tree)
        for command in ("init -q", "config user.name a", "config user.email a@b", "commit -q --allow-empty -m a"):
            processes.run(["git", *command.split()])
        self.write("file", "one")

    def write(self, name, text):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def enterContext(self, manager):  # unittest has this method only from 3.11 on
        self.addCleanup(manager.__exit__, None, None, None)
        return manager.__enter__()
