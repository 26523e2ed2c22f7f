"""What is installed: headers, build files, metadata; and that the source distribution has all that
a build needs. The latter needs the repository and setuptools."""
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile
import unittest

import support
import typedcall

PACKAGE = pathlib.Path(typedcall.__file__).parent
ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = pathlib.Path("typedcall", "python", "typedcall")
HAS_REPOSITORY = (ROOT / "setup.py").is_file()
try:
    from setuptools import __version__ as setuptools_version
except ImportError:
    setuptools_version = "0"


def headers(folder, room):
    """Those of a room, without what the package's own modules are made of."""
    found = {path.relative_to(folder) for path in (folder / room).rglob("*.h")}
    return {path for path in found if path.parts[:2] != ("typedcall", "python")}


class Installed(unittest.TestCase):
    def test_the_headers_are_there_and_say_what_the_repository_says(self):
        include = pathlib.Path(typedcall.get_include())
        self.assertTrue((include / "typedcall" / "typed_method.h").is_file())
        self.assertTrue((include / "core" / "custom_slots.h").is_file())
        if not HAS_REPOSITORY:
            return
        for room in ("core", "typedcall"):
            expected = {path: (ROOT / path).read_bytes() for path in headers(ROOT, room)}
            found = {path: (include / path).read_bytes() for path in headers(include, room)}
            self.assertEqual(set(found), set(expected))
            different = [name for name in expected if found[name] != expected[name]]
            self.assertEqual(different, [], "install the package again")

    def test_every_header_that_a_header_includes_is_there(self):
        include = pathlib.Path(typedcall.get_include())
        for room in ("core", "typedcall"):
            for header in headers(include, room):
                for line in (include / header).read_text().splitlines():
                    if line.startswith(('#include "core/', '#include "typedcall/')):
                        self.assertTrue((include / line.split('"')[1]).is_file(), (header, line))

    def test_versions_agree(self):
        version = importlib.metadata.version("typedcall")
        self.assertEqual(typedcall.__version__, version)
        self.assertIn("Version: %s\n" % version,
                      pathlib.Path(typedcall.get_pkgconfig_dir(), "typedcall.pc").read_text())
        self.assertIn('set(PACKAGE_VERSION "%s")' % version, pathlib.Path(
            typedcall.get_cmake_dir(), "typedcallConfigVersion.cmake").read_text())

    def test_metadata(self):
        found = importlib.metadata.metadata("typedcall")
        self.assertEqual(found["Requires-Python"], ">=3.9")
        self.assertIn("rich", " ".join(importlib.metadata.requires("typedcall")))
        points = {(point.group, point.name): point.value for point
                  in importlib.metadata.distribution("typedcall").entry_points}
        self.assertEqual(points["console_scripts", "typedcall"], "typedcall.cli:main")
        module, _, name = points["numba_extensions", "init"].partition(":")
        # The function is there, although Numba itself may not be.
        source = pathlib.Path(importlib.util.find_spec(module).origin).read_text()
        self.assertIn("\ndef %s()" % name, source)

    def test_types_and_pxd_are_there_and_no_sources(self):
        names = {path.name for path in PACKAGE.iterdir()}
        self.assertLessEqual({"py.typed", "_native.pyi", "__init__.pxd", "cpp.pxd"}, names)
        if (PACKAGE / "include").is_dir():  # not in an editable installation
            self.assertEqual([name for name in names if name.endswith((".c", ".cc", ".h"))], [])

    def test_it_works_from_another_folder_and_isolated(self):
        with tempfile.TemporaryDirectory() as folder:
            code = "import typedcall; print(typedcall.signatures(len))"
            result = support.python("-I", "-c", code, cwd=folder)
        self.assertEqual(result, (0, "[]\n", ""))

    def test_no_paths_of_the_building_machine_in_the_build_files(self):
        for path in [*pathlib.Path(typedcall.get_cmake_dir()).iterdir(),
                     *pathlib.Path(typedcall.get_pkgconfig_dir()).iterdir()]:
            self.assertNotIn(str(PACKAGE), path.read_text())


@unittest.skipUnless(HAS_REPOSITORY, "this is not a test of the repository")
@unittest.skipIf(int(setuptools_version.partition(".")[0]) < 64, "setuptools 64 is not installed")
class Distributions(unittest.TestCase):
    def test_a_wheel_from_the_source_distribution_is_complete(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
            source = folder / "source"
            for name in ("core", "typedcall"):
                shutil.copytree(ROOT / name, source / name, ignore=ignored)
            for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
                shutil.copy(ROOT / name, source / name)
            support.run([sys.executable, "setup.py", "-q", "sdist", "-d", folder], cwd=source)
            archive, = folder.glob("typedcall-*.tar.gz")
            shutil.rmtree(source)
            with tarfile.open(archive) as opened:
                opened.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter")
                                             else {}))
            unpacked = folder / archive.name[:-len(".tar.gz")]
            # Python alone, for the test's sake: compiling is what installing has tested.
            (folder / "wheel").mkdir()
            support.run([sys.executable, "setup.py", "-q", "build_py", "--build-lib",
                         folder / "wheel"], cwd=unpacked)
            built = {str(path.relative_to(folder / "wheel")) for path
                     in (folder / "wheel").rglob("*") if path.is_file()}
            sources = {path.name for path in (unpacked / SOURCES).iterdir()}
        self.assertLessEqual(self.expected(), built)
        expected_sources = {path.name for path in (ROOT / SOURCES).iterdir()
                            if path.suffix in (".c", ".cc", ".h")}
        self.assertLessEqual(expected_sources, sources)
        self.assertEqual([name for name in built if name.endswith((".c", ".cc"))], [])

    @staticmethod
    def expected():
        """What a wheel must hold, by the repository."""
        names = set()
        python = ROOT / SOURCES
        for path in python.rglob("*"):
            if path.suffix in (".py", ".pyi", ".pxd", ".cmake", ".pc") or path.name == "py.typed":
                names.add(os.path.join("typedcall", str(path.relative_to(python))))
        for room in ("core", "typedcall"):
            names.update(os.path.join("typedcall", "include", str(path))
                         for path in headers(ROOT, room))
        return names


if __name__ == "__main__":
    unittest.main()
