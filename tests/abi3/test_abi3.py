# One binary, compiled for the limited API of 3.12, under every CPython from 3.12 on that the machine
# has; beside modules compiled for the full API, in both import orders.
import importlib.util
import os
import re
import subprocess
import sys
import unittest

import interpreters

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIO = os.path.join(HERE, "scenario.py")

# What CPython's own macros refer to, and Misc/stable_abi.toml lists, of the names with an underscore.
STABLE_PRIVATE = {
    "_Py_CheckRecursionLimit", "_Py_Dealloc", "_Py_DecRef", "_Py_EllipsisObject", "_Py_FalseStruct",
    "_Py_IncRef", "_Py_NoneStruct", "_Py_NotImplementedStruct", "_Py_TrueStruct",
}


def run(python, names):
    return subprocess.run([python, SCENARIO, names], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


@unittest.skipIf(sys.version_info < (3, 12), "PEP 697, and with it the limited tier, came with 3.12")
class OneBinary(unittest.TestCase):
    def test_under_every_later_interpreter(self):
        ran = []
        # tools/test knows all of them; a bare `bazel test` those that it can see.
        told = os.environ.get("TYPEDCALL_PYTHONS", "").split(os.pathsep)
        for each in interpreters.find([sys.executable] + [path for path in told if path]):
            info = each.info
            if info["implementation"] != "CPython" or each.version < (3, 12):
                continue
            if info["gil_disabled"]:
                continue  # another ABI: 3.13's free-threaded build has no limited API at all
            with self.subTest(each.label):
                done = run(each.executable, "limited")
                self.assertEqual(done.returncode, 0, done.stdout)
                ran.append("%s (%s)" % (each.label, done.stdout.split()[-1]))
        print("one binary ran under", ", ".join(ran))
        self.assertTrue(ran)

    def test_beside_the_full_api(self):
        for names in ("limited,full", "full,limited"):
            with self.subTest(names):
                done = run(sys.executable, names)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_it_needs_the_stable_abi_only(self):
        path = importlib.util.find_spec("limited_slots").origin
        self.assertTrue(path.endswith(".abi3.so"), path)
        listed = subprocess.run(["nm", "-D", "--undefined-only", path], stdout=subprocess.PIPE,
                                text=True, check=True).stdout
        needed = set(re.findall(r"\bU (_?Py\w+)", listed))
        self.assertIn("PyType_FromMetaclass", needed)
        private = {name for name in needed if name.startswith("_")}
        self.assertLessEqual(private, STABLE_PRIVATE)
