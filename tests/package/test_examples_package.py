"""Tests examples/package, built with setuptools, pip and CMake."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
import unittest

import adapter_support
import support

EXAMPLE = adapter_support.EXAMPLES / "package"
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")
try:
    from setuptools import __version__ as setuptools_version
except ImportError:
    setuptools_version = "0.0"
SETUPTOOLS = tuple(int(part) for part in setuptools_version.split(".")[:2])
# setuptools 70.1 and later make wheels without the package `wheel`.
MAKES_WHEELS = SETUPTOOLS >= (70, 1) or importlib.util.find_spec("wheel") is not None


class Copied(unittest.TestCase):
    """A base class for tests of a copy of the example. Subclasses build the module into `installed`."""

    @classmethod
    def setUpClass(cls):
        cls.folder = support.temporary(cls.addClassCleanup)
        cls.source, cls.installed = cls.folder / "source", cls.folder / "installed"
        shutil.copytree(EXAMPLE, cls.source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
        cls.build()

    @classmethod
    def build(cls):
        raise NotImplementedError

    def check_demo(self):
        """Runs the demo with the module in `self.installed`."""
        status, printed, errors = support.python(
            self.source / "demo.py", paths=[self.installed], cwd=self.folder
        )
        self.assertEqual((status, errors), (0, ""), printed)
        self.assertRegex(printed, "(?m)^Lisbon to Kyiv: 3352 km, course 54, UTM zone 36$")
        self.assertRegex(printed, "(?m)^Lisbon to Quito: 8249 km, course 257, UTM zone 17$")
        self.assertIn("ValueError: a longitude is from -180 to 180", printed)
        self.assertIn("distance offers ['ddddd->d', 'dddd->d']", printed)
        self.assertIn("utm_zone may raise: True", printed)
        self.assertRegex(printed, "TypeError: .*bearing does not offer 'd->d'; it offers 'dddd->d'")


class TheModule(Copied):
    """Tests that do not depend on the build system."""

    @classmethod
    def build(cls):
        cls.installed.mkdir()
        support.compile_module(cls.source / "geodesy.cc", cls.installed)

    def test_the_demo(self):
        self.check_demo()

    def test_its_users_do_not_need_typedcall(self):
        code = (
            "import sys\n"
            "sys.modules['typedcall'] = None  # import typedcall is an ImportError now\n"
            "import geodesy\n"
            "print(geodesy.bearing(0, 0, 0, lon2=1), geodesy.utm_zone(lon=180))"
        )
        result = support.python("-c", code, paths=[self.installed], cwd=self.folder)
        self.assertEqual(result, (0, "90.0 60\n", ""))

    def test_the_commands_in_the_readme(self):
        commands = [
            shlex.split(line, comments=True)[1:]
            for line in re.findall("(?m)^python -m typedcall .*$", README)
        ]
        self.assertEqual([command[2] for command in commands], ["show", "verify", "bench"])
        show, verify, bench = commands

        rows = self.json(*show)["entries"]
        self.assertEqual(
            [(row["name"], row["signature"], row["flags"]) for row in rows],
            [
                ("bearing", "dddd->d", ["THREAD_SAFE", "PURE"]),
                ("distance", "ddddd->d", ["THREAD_SAFE", "PURE"]),
                ("distance", "dddd->d", ["THREAD_SAFE", "PURE"]),
                ("utm_zone", "d->l", ["NEEDS_THREAD", "MAY_RAISE", "THREAD_SAFE"]),
            ],
        )

        verdicts = {verdict["name"]: verdict for verdict in self.json(*verify)["results"]}
        self.assertEqual(set(verdicts), {"bearing", "distance", "utm_zone"})
        if support.IS_PYPY:
            self.assertIn("called boxed only", verdicts.pop("utm_zone")["skipped"])
        for verdict in verdicts.values():
            self.assertEqual((verdict["calls"], verdict["equal"]), (1000, 1000), verdict)

        report = self.json(*bench, "--rounds", "1", "--milliseconds", "1")
        self.assertEqual(report["signature"], "ddddd->d")
        self.assertEqual(report["arguments"][1], "-9.1")
        ways = {way["way"]: way for way in report["ways"]}
        for way in ("boxed, Python loop", "TypedFunction, Python loop"):
            self.assertGreater(ways[way]["nanoseconds"], 0, way)

    def json(self, *command):
        status, printed, errors = support.python(
            *command, "--json", paths=[self.installed], cwd=self.folder
        )
        self.assertEqual((status, errors), (0, ""), printed)
        return json.loads(printed)

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is not installed")
    def test_the_type_hints_are_those_of_the_module(self):
        # mypy accepts a folder NAME-stubs only in site-packages. Elsewhere the stubs must be called NAME.
        stubs = self.folder / "stubs"
        stubs.mkdir()
        shutil.copy(self.source / "geodesy-stubs" / "__init__.pyi", stubs / "geodesy.pyi")
        environment = {"MYPYPATH": str(stubs), "PYTHONPATH": str(self.installed)}
        command = [sys.executable, "-m", "mypy.stubtest", "geodesy"]
        self.assertIn("no issues", support.run(command, environment=environment, cwd=self.folder))

        user = self.folder / "user.py"
        user.write_text("import geodesy\nx: float = geodesy.distance(0, 0, 0, lon2=1)\n"
                        "y: str = geodesy.bearing(0, 0, 0, 1)\ngeodesy.utm_zone()\n")
        checked = support.python("-m", "mypy", "--strict", "--cache-dir", os.devnull, user,
                                 environment=environment, cwd=self.folder, together=True)
        self.assertEqual(re.findall(r"user\.py:(\d+): error", checked.out), ["3", "4"])


@unittest.skipIf(SETUPTOOLS < (64, 0), "setuptools 64 is not installed")
class Setuptools(Copied):
    @classmethod
    def build(cls):
        # A plain build needs neither pip nor `wheel`.
        command = [sys.executable, "setup.py", "-q", "build", "--build-lib", cls.installed]
        support.run(command, cwd=cls.source)

    def test_the_demo(self):
        self.check_demo()
        self.assertTrue((self.installed / "geodesy-stubs" / "__init__.pyi").is_file())


@unittest.skipIf(SETUPTOOLS < (64, 0), "setuptools 64 is not installed")
@unittest.skipUnless(
    MAKES_WHEELS, "setuptools %s makes no wheels, and wheel is not installed" % setuptools_version
)
class Pip(Copied):
    @classmethod
    def build(cls):
        (line,) = re.findall("(?m)^(pip install --no-build-isolation .*?) *#", README)
        command = [sys.executable, "-m"] + shlex.split(line)
        options = ["-q", "--disable-pip-version-check", "--no-index", "--target", cls.installed]
        support.run(command + options, cwd=cls.source)

    def test_the_demo(self):
        self.check_demo()

    def test_what_is_installed(self):
        self.assertTrue((self.installed / "geodesy-stubs" / "__init__.pyi").is_file())
        (metadata,) = self.installed.glob("geodesy_example-1.0.dist-info/METADATA")
        # The package must not require packages that only the build needs.
        self.assertNotIn("Requires-Dist", metadata.read_text())


@support.ON_CPYTHON  # CMake uses SOABI as the suffix of modules, which is wrong on PyPy
@unittest.skipIf(shutil.which("cmake") is None, "CMake is not installed")
class CMake(Copied):
    @classmethod
    def build(cls):
        support.run(["cmake", "-S", cls.source, "-B", cls.installed,
                     "-DPython_EXECUTABLE=" + sys.executable, "-DCMAKE_BUILD_TYPE=Release"])
        support.run(["cmake", "--build", cls.installed])

    def test_the_demo(self):
        self.check_demo()
