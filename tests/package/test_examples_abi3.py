"""examples/abi3: one wheel for CPython 3.12 and later, installed and run under every such
interpreter of this machine; and what it offers to consumers."""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

import adapter_support
import support

EXAMPLE = adapter_support.EXAMPLES / "abi3"
# Run by interpreters without typedcall: what a symbol says, as a consumer reads it.
LOOK = """
import angles, ctypes, sys
class Entry(ctypes.Structure):
    _fields_ = [("signature", ctypes.c_char_p), ("flags", ctypes.c_size_t),
                ("function", ctypes.c_void_p)]
class Table(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ssize_t), ("entry", Entry)]
class Sibling(ctypes.Structure):
    _fields_ = [("def_", ctypes.c_void_p), ("table", ctypes.POINTER(Table))]
table = Sibling.in_dll(ctypes.PyDLL(angles.__file__), "_PyPyTyped_wind").table.contents
wind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_long)(table.entry.function)
print(angles.wind(10, 2), angles.between(350, 10), table.count, table.entry.signature.decode(),
      wind(10, 2))
"""


@unittest.skipIf(support.IS_PYPY or sys.version_info < (3, 12) or
                 sysconfig.get_config_var("Py_GIL_DISABLED"),
                 "the limited API of 3.12 is CPython's, from 3.12 on, with the GIL")
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        adapter_support.library("setuptools")
        folder = tempfile.TemporaryDirectory(prefix="typedcall-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.installed = cls.folder / "installed"
        source = cls.folder / "source"
        shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
        pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
        support.run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index",
                     "-w", cls.folder, source])
        (cls.wheel,) = cls.folder.glob("*.whl")
        support.run([*pip, "install", "--no-index", "--target", cls.installed, cls.wheel])

    def test_its_tag(self):
        self.assertRegex(self.wheel.name, r"\Aangles_example-1\.0-cp312-abi3-\w+\.whl\Z")
        library, = self.installed.glob("*.so")
        # From 3.15 on it may name the platform, too, which older versions do not look for.
        platform = r"(-[a-z0-9_-]+)?" if sys.version_info >= (3, 15) else ""
        self.assertRegex(library.name, r"\Aangles\.abi3%s\.so\Z" % platform)

    def test_what_it_offers(self):
        code = ("import angles, typedcall\n"
                "wind = typedcall.resolve(angles.wind, 'dl->d')\n"
                "print(wind(10, 2), typedcall.signatures(angles.between), end='')")
        self.assertEqual(support.python("-c", code, paths=[self.installed], cwd=self.folder),
                         (0, "730.0 ['dd->d']", ""))

    def test_under_every_interpreter_that_its_tag_names(self):
        sys.path.append(str(adapter_support.ROOT / "tools"))
        self.addCleanup(sys.path.pop)
        import interpreters

        ran = []
        for each in interpreters.find([sys.executable]):
            if (each.info["implementation"] != "CPython" or each.version < (3, 12) or
                    each.info["gil_disabled"]):
                continue
            with self.subTest(each.label):
                printed = subprocess.run(
                    [each.executable, "-c", LOOK], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True, check=False, cwd=self.folder,
                    env={"PYTHONPATH": str(self.installed)}).stdout
                self.assertEqual(printed, "730.0 20.0 1 dl->d 730.0\n")
                ran.append(each.label)
        print("one wheel ran under", ", ".join(ran))
        self.assertTrue(ran)

    def test_the_line_of_the_readme(self):
        line = re.search("(?m)^python -c '(.*)'   # (.*)$",
                         (EXAMPLE / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(support.python("-c", line[1], paths=[self.installed], cwd=self.folder),
                         (0, line[2] + "\n", ""))


if __name__ == "__main__":
    unittest.main()
