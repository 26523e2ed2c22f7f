# One binary, compiled for the limited API of 3.12, under every CPython from 3.12 on that the machine
# has; beside modules compiled for the full API, in both import orders.
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import unittest

import interpreters

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIO = os.path.join(HERE, "scenario.py")

# What CPython's own macros refer to, and Misc/stable_abi.toml lists, of the names with an underscore.
STABLE_PRIVATE = {
    "_Py_CheckRecursionLimit", "_Py_Dealloc", "_Py_DecRef", "_Py_EllipsisObject", "_Py_FalseStruct",
    "_Py_IncRef", "_Py_NoneStruct", "_Py_NotImplementedStruct", "_Py_TrueStruct",
}


def run(*command, **environment):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, env=dict(os.environ, **environment))


@unittest.skipIf(sys.version_info < (3, 12), "PEP 697, and with it the limited tier, came with 3.12")
@unittest.skipIf(sysconfig.get_config_var("Py_GIL_DISABLED"),
                 "free-threaded builds have no limited API")
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
                done = run(each.executable, SCENARIO, "limited")
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout, r"\Alimited offset \d+\n\Z")
                ran.append("%s (%s)" % (each.label, done.stdout.split()[-1]))
        print("one binary ran under", ", ".join(ran))
        self.assertTrue(ran)

    def test_beside_the_full_api(self):
        for names in ("limited,full", "full,limited"):
            with self.subTest(names):
                done = run(sys.executable, SCENARIO, names)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_what_debug_builds_assert(self):
        library = os.path.abspath(os.environ["TYPEDCALL_CHECKED_TYPE_DATA"])
        preload = os.pathsep.join(filter(None, [os.environ.get("LD_PRELOAD"), library]))
        wrong = ("from ctypes import py_object, pythonapi\n"
                 "import limited_slots\n"
                 "f = pythonapi.PyObject_GetTypeData\n"
                 "f.argtypes = [py_object, py_object]\n"
                 "f(int, limited_slots.Metaclass)\n")
        if "is no instance" not in run(sys.executable, "-c", wrong, LD_PRELOAD=preload).stdout:
            self.skipTest("this interpreter's own function cannot be replaced")
        for names in ("limited", "limited,full", "full,limited"):
            with self.subTest(names):
                done = run(sys.executable, SCENARIO, names, LD_PRELOAD=preload)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_squatters_are_an_import_error(self):
        for squatter, words in (
                ("sys.modules['_extensibletype'] = 5", "is not a module but a 'int'"),
                ("import types; m = sys.modules['_extensibletype'] = types.ModuleType('x');"
                 "m.typedcall_v1 = 5", "is not typedcall's interface but a 'int'"),
                ("import types; m = sys.modules['_extensibletype'] = types.ModuleType('x');"
                 "m.extensibletype_v2 = type", "is not typedcall's metaclass but a 'type'")):
            with self.subTest(squatter):
                done = run(sys.executable, "-c", "import sys; %s\nimport limited_slots" % squatter)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stdout, "ImportError: .*" + words)

    def test_it_needs_the_stable_abi_only(self):
        path = importlib.util.find_spec("limited_slots").origin
        self.assertTrue(path.endswith(".abi3.so"), path)
        listed = subprocess.run(["nm", "-D", "--undefined-only", path], stdout=subprocess.PIPE,
                                text=True, check=True).stdout
        needed = set(re.findall(r"\bU (_?Py\w+)", listed))
        self.assertIn("PyType_FromMetaclass", needed)
        private = {name for name in needed if name.startswith("_")}
        self.assertLessEqual(private, STABLE_PRIVATE)
