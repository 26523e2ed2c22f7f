# Tests the limited-API binary under every installed CPython from 3.12 on, and the abi3t binary
# under each from 3.15 on. Both are also tested together with a full-API module.
import importlib.util
import os
import re
import sys
import sysconfig
import unittest

from collected import only_if
import interpreters
import processes

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIO = os.path.join(HERE, "scenario.py")
with open("/proc/self/maps", encoding="utf-8") as file:
    # Without libpython, CPython's functions are in the program, where a preloaded library cannot
    # replace them.
    HAS_LIBPYTHON = "/libpython" in file.read()

# The private names in Misc/stable_abi.toml, which CPython's macros use.
STABLE_PRIVATE = {
    "_Py_CheckRecursionLimit", "_Py_Dealloc", "_Py_DecRef", "_Py_EllipsisObject", "_Py_FalseStruct",
    "_Py_IncRef", "_Py_NoneStruct", "_Py_NotImplementedStruct", "_Py_TrueStruct",
}


def run(*command, **environment):
    return processes.run(command, check=False, together=True, environment=environment)


class Cases:
    """The checks for each kind of binary. A subclass defines the kind."""

    def test_under_every_later_interpreter(self):
        ran = []
        # Only tools/test sets TYPEDCALL_PYTHONS.
        told = os.environ.get("TYPEDCALL_PYTHONS", "").split(os.pathsep)
        for each in interpreters.find([sys.executable] + [path for path in told if path]):
            info = each.info
            if info["implementation"] != "CPython" or each.version < self.oldest:
                continue
            if info["gil_disabled"] and not self.without_gil:
                continue
            if info["multiarch"] != sysconfig.get_config_var("MULTIARCH"):
                continue  # this interpreter was built for another C library
            with self.subTest(each.label):
                # Importing another module may enable the GIL again.
                off = {"PYTHON_GIL": "0"} if info["gil_disabled"] else {}
                done = run(each.executable, SCENARIO, self.name, **off)
                self.assertEqual(done.status, 0, done.out)
                self.assertRegex(done.out, r"\A%s offset \d+\n\Z" % self.name)
                ran.append("%s (%s)" % (each.label, done.out.split()[-1]))
        print("one binary ran under", ", ".join(ran))
        self.assertTrue(ran)

    def test_beside_the_full_api(self):
        for names in (self.name + ",full", "full," + self.name, *self.other_orders):
            with self.subTest(names):
                done = run(sys.executable, SCENARIO, names)
                self.assertEqual(done.status, 0, done.out)

    @only_if(HAS_LIBPYTHON)
    def test_what_debug_builds_assert(self):
        library = os.path.abspath(os.environ["TYPEDCALL_CHECKED_TYPE_DATA"])
        preload = os.pathsep.join(filter(None, [os.environ.get("LD_PRELOAD"), library]))
        wrong = ("from ctypes import py_object, pythonapi\n"
                 "import %s as module\n"
                 "f = pythonapi.PyObject_GetTypeData\n"
                 "f.argtypes = [py_object, py_object]\n"
                 "f(int, module.Metaclass)\n" % self.module)
        self.assertIn("is no instance", run(sys.executable, "-c", wrong, LD_PRELOAD=preload).out)
        for names in (self.name, self.name + ",full", "full," + self.name):
            with self.subTest(names):
                done = run(sys.executable, SCENARIO, names, LD_PRELOAD=preload)
                self.assertEqual(done.status, 0, done.out)

    def test_squatters_are_an_import_error(self):
        for squatter, words in (
                ("sys.modules['_extensibletype'] = 5", "is a 'int' instead of a module"),
                ("import types; m = sys.modules['_extensibletype'] = types.ModuleType('x');"
                 "m.typedcall_v2 = 5", "is a 'int' instead of typedcall's interface"),
                ("import types; m = sys.modules['_extensibletype'] = types.ModuleType('x');"
                 "m.extensibletype_v2 = type", "is a 'type' instead of typedcall's metaclass")):
            with self.subTest(squatter):
                done = run(sys.executable, "-c",
                           "import sys; %s\nimport %s" % (squatter, self.module))
                self.assertEqual(done.status, 1, done.out)
                self.assertRegex(done.out, "ImportError: .*" + words)

    def test_it_needs_the_stable_abi_only(self):
        path = importlib.util.find_spec(self.module).origin
        self.assertTrue(path.endswith(self.suffix), path)
        listed = processes.run(["nm", "-D", "--undefined-only", path]).out
        needed = set(re.findall(r"\bU (_?Py\w+)", listed))
        self.assertIn(self.needs, needed)
        private = {name for name in needed if name.startswith("_")}
        self.assertLessEqual(private, STABLE_PRIVATE)


# PEP 697 and the limited tier need 3.12. Free-threaded builds do not support the limited API of 3.12.
@only_if(sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED"))
class OneBinary(Cases, unittest.TestCase):
    name, module, suffix = "limited", "limited_slots", ".abi3.so"
    oldest, without_gil = (3, 12), False
    needs = "PyType_FromMetaclass"
    other_orders = ()


@only_if(sys.version_info >= (3, 15))  # abi3t (PEP 803) is new in 3.15
class OneBinaryForBothBuilds(Cases, unittest.TestCase):
    name, module, suffix = "abi3t", "abi3t_slots", ".abi3t.so"
    oldest, without_gil = (3, 15), True
    needs = "PyObject_GetTypeData_DuringGC"

    @property
    def other_orders(self):
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            return ()
        return "abi3t,limited,full", "full,limited,abi3t"
