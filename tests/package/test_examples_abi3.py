"""Tests the wheels of examples/abi3. One is for CPython 3.12 and later, and one for 3.15 and later with or without the
GIL."""

import os
import pathlib
import re
import shutil
import sys
import sysconfig
import tempfile
import unittest

import adapter_support
import support

EXAMPLE = adapter_support.EXAMPLES / "abi3"
HAS_ABI3T = not support.IS_PYPY and sys.version_info >= (3, 15)
LIMITED, ABI3T = "-DPy_LIMITED_API=0x030C0000", "-DPy_TARGET_ABI3T=0x030F0000"
# A program for interpreters without typedcall. It prints the contents of a symbol.
LOOK = """
import angles, ctypes, sys, walk
class Entry(ctypes.Structure):
    _fields_ = [("signature", ctypes.c_char_p), ("flags", ctypes.c_size_t),
                ("function", ctypes.c_void_p)]
class Table(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ssize_t), ("entry", Entry)]
class Sibling(ctypes.Structure):
    _fields_ = [("def_", ctypes.c_void_p), ("table", ctypes.POINTER(Table))]
table = Sibling.in_dll(ctypes.PyDLL(angles.__file__), "_PyPyTyped_wind").table.contents
wind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_long)(table.entry.function)
assert walk.half_turn(10) == 190
print(angles.wind(10, 2), angles.between(350, 10), table.count, table.entry.signature.decode(),
      wind(10, 2), getattr(sys, "_is_gil_enabled", lambda: True)())
"""


class Wheel:
    """The tests of one wheel. A subclass defines setup.py's ABI3T, the tag, the oldest CPython version, and whether
    free-threaded builds are supported."""

    @classmethod
    def setUpClass(cls):
        adapter_support.library("setuptools")
        cls.folder = support.temporary(cls.addClassCleanup)
        cls.installed = cls.folder / "installed"
        source = cls.folder / "source"
        shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
        pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
        support.run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index",
                     "-w", cls.folder, source], environment={"ABI3T": cls.abi3t})
        (cls.wheel,) = cls.folder.glob("*.whl")
        support.run([*pip, "install", "--no-index", "--target", cls.installed, cls.wheel])

    def test_its_tag(self):
        self.assertRegex(self.wheel.name, r"\Aangles_example-1\.0-%s-\w+\.whl\Z" % self.tag)
        libraries = sorted(path.name for path in self.installed.glob("*.so"))
        self.assertRegex(" ".join(libraries), r"\Aangles\.{0}\.so walk\.{0}\.so\Z".format(self.suffix))

    def test_what_it_offers(self):
        code = ("import angles, typedcall\n"
                "wind = typedcall.resolve(angles.wind, 'dl->d')\n"
                "print(wind(10, 2), typedcall.signatures(angles.between), end='')")
        self.assertEqual(support.python("-c", code, paths=[self.installed], cwd=self.folder),
                         (0, "730.0 ['dd->d']", ""))

    def test_what_the_cpp_module_offers_and_calls(self):
        code = ("import angles, typedcall, walk\n"
                "print(typedcall.signatures(walk.half_turn), walk.walk(walk.half_turn, 10, 3))\n"
                "for wrong in angles.between, lambda angle: angle:\n"
                "    try: walk.walk(wrong, 10, 3)\n"
                "    except TypeError as error: print(error)")
        status, printed, errors = support.python("-c", code, paths=[self.installed], cwd=self.folder)
        self.assertEqual((status, errors), (0, ""))
        self.assertRegex(printed, r"\A\['d->d'\] 190\.0\n"
                                  r"between does not offer 'd->d'; it offers 'dd->d'.*\n"
                                  r".* it is a Python function, .*\n\Z")

    def test_under_every_interpreter_that_its_tag_names(self):
        sys.path.append(str(adapter_support.ROOT / "tools"))
        self.addCleanup(sys.path.pop)
        import interpreters

        ran = []
        for each in interpreters.find([sys.executable]):
            without_gil = each.info["gil_disabled"]
            if (each.info["implementation"] != "CPython" or each.version < self.oldest or
                    (without_gil and not self.without_gil)):
                continue
            with self.subTest(each.label):
                printed = support.run([each.executable, "-c", LOOK], cwd=self.folder, paths=[self.installed],
                                      environment=dict.fromkeys(os.environ))
                self.assertEqual(printed, f"730.0 20.0 1 dl->d 730.0 {not without_gil}\n")
                ran.append(each.label)
        print("one wheel ran under", ", ".join(ran))
        self.assertTrue(ran)

    def test_as_cpp(self):
        source = self.folder / "angles.cc"
        shutil.copy(EXAMPLE / "angles.c", source)
        made = self.folder / "cpp"
        made.mkdir()
        support.compile_module(source, made, flags=[self.option])
        printed = support.python("-c", LOOK, paths=[made, self.installed], cwd=self.folder)
        has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
        self.assertEqual(printed, (0, f"730.0 20.0 1 dl->d 730.0 {has_gil}\n", ""))

    def test_the_line_of_the_readme(self):
        line = re.search("(?m)^python -c '(.*)'   # (.*)$",
                         (EXAMPLE / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(support.python("-c", line[1], paths=[self.installed], cwd=self.folder),
                         (0, line[2] + "\n", ""))


@support.only_if(not support.IS_PYPY and sys.version_info >= (3, 12) and
                 not sysconfig.get_config_var("Py_GIL_DISABLED"))
class WithTheGil(Wheel, unittest.TestCase):
    abi3t, tag, oldest, without_gil = "0", "cp312-abi3", (3, 12), False
    option = LIMITED
    # From 3.15 on, the suffix may contain the platform.
    suffix = r"abi3(-[a-z0-9_-]+)?" if sys.version_info >= (3, 15) else "abi3"


@support.only_if(HAS_ABI3T)
class WithAndWithoutTheGil(Wheel, unittest.TestCase):
    abi3t, tag, oldest, without_gil = "1", r"cp315-abi3\.abi3t", (3, 15), True
    suffix = "abi3t"
    option = ABI3T


@support.ON_CPYTHON  # PyPy has no limited API
class Refusals(unittest.TestCase):
    def refused(self, words, source, *flags):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(AssertionError, words):
            if not isinstance(source, pathlib.Path):
                text, source = source, pathlib.Path(folder, "source.cc")
                source.write_text(text, encoding="utf-8")
            support.compile_module(source, folder, flags=flags)

    @support.only_if(not HAS_ABI3T)
    def test_abi3t_before_3_15(self):
        self.refused("typedcall: abi3t is supported from 3.15 on", EXAMPLE / "angles.c",
                     ABI3T)

    @support.only_if(HAS_ABI3T)
    def test_abi3t_with_an_older_limited_api(self):
        self.refused("typedcall: abi3t is supported from 3.15 on", EXAMPLE / "angles.c",
                     LIMITED, ABI3T)

    def test_what_needs_the_full_api(self):
        for header in ("provider.h", "resolve.h", "tag.h"):
            for option in (LIMITED, ABI3T):
                with self.subTest(header=header, option=option):
                    self.refused(f"typedcall/{header} needs the full API",
                                 f'#include "typedcall/{header}"\n', option)
