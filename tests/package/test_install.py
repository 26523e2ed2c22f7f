"""Tests the installed headers, build files and metadata, and the source distribution."""
import importlib.metadata
import importlib.util
import pathlib
import re
import shutil
import sysconfig
import tarfile
import tempfile
import unittest
import zipfile

import support
import typedcall

PACKAGE = pathlib.Path(typedcall.__file__).parent
ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = pathlib.Path("typedcall", "python", "typedcall")
HAS_REPOSITORY = (ROOT / "pyproject.toml").is_file()
ROOMS = ("core", "typedcall")
#: The requirements of `pip install typedcall[...]`.
EXTRAS = {("rich>=10", "cli"), ("apsw", "sql"), ("duckdb>=1.2", "duckdb"), ("apache-tvm-ffi>=0.1", "tvm-ffi"),
          ("jax>=0.5", "jax"), ("dask[array,distributed]>=2024.5", "dask")}


def headers(folder, suffix=".h"):
    """Returns the paths of the headers, relative to `folder`. The package's own sources are excluded."""
    found = {path.relative_to(folder) for room in ROOMS for path in (folder / room).rglob("*" + suffix)}
    return {path for path in found if path.parts[:2] != ("typedcall", "python")}


def has_sqlite():
    """Returns true if SQLite's headers are installed."""
    return support.has_header("c", "sqlite3ext.h")


class Installed(unittest.TestCase):
    def test_the_headers_are_there(self):
        include = pathlib.Path(typedcall.get_include())
        self.assertTrue((include / "typedcall" / "typed_method.h").is_file())
        self.assertTrue((include / "core" / "custom_slots.h").is_file())

    @unittest.skipUnless(HAS_REPOSITORY, "this is not a test of the repository")
    def test_the_headers_say_what_the_repository_says(self):
        include = pathlib.Path(typedcall.get_include())
        expected = {path: (ROOT / path).read_bytes() for path in headers(ROOT)}
        found = {path: (include / path).read_bytes() for path in headers(include)}
        self.assertEqual(set(found), set(expected))
        different = [path for path in expected if found[path] != expected[path]]
        self.assertEqual(different, [], "install the package again")

    def test_every_header_that_a_header_includes_is_there(self):
        include = pathlib.Path(typedcall.get_include())
        for header in headers(include):
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
        # All requirements are optional.
        asked = {re.fullmatch(r"(.+?); ?extra == ['\"](.+)['\"]", each).groups()
                 for each in importlib.metadata.requires("typedcall")}
        self.assertEqual(asked, EXTRAS)
        points = {(point.group, point.name): point.value for point
                  in importlib.metadata.distribution("typedcall").entry_points}
        self.assertEqual(points["console_scripts", "typedcall"], "typedcall.cli:main")
        module, _, name = points["numba_extensions", "init"].partition(":")
        # The entry point must work without Numba.
        self.assertTrue(callable(getattr(importlib.import_module(module), name)))

    def test_types_and_pxd_are_there_and_no_sources(self):
        names = {path.name for path in PACKAGE.iterdir()}
        self.assertLessEqual({"py.typed", "__init__.pxd", "cpp.pxd", "tags"}, names)
        if (PACKAGE / "include").is_dir():  # not an editable installation
            self.assertEqual([path for path in PACKAGE.rglob("*.[ch]*")
                              if path.suffix in (".c", ".cc", ".h") and "include" not in path.parts], [])

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
@unittest.skipIf(importlib.util.find_spec("scikit_build_core") is None,
                 "scikit-build-core is not installed")
class Distributions(support.InAFolder):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "source"
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        for name in ROOMS:
            shutil.copytree(ROOT / name, self.source / name, ignore=ignored)
        for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", ".gitignore"):
            shutil.copy(ROOT / name, self.source / name)

    def build(self, function, source, **options):
        """Runs a build with scikit-build-core. Returns whether it succeeded, and the output."""
        code = "import scikit_build_core.build as build; build.%s(%r, {'cmake.build-type': ''})"
        status, printed, _ = support.python("-c", code % (function, str(self.folder)), cwd=source,
                                            together=True, **options)
        return status == 0, printed

    def made(self, function, source, pattern):
        """Builds `source`, and returns the built file."""
        done, output = self.build(function, source)
        self.assertTrue(done, output)
        path, = self.folder.glob(pattern)
        return path

    def test_a_wheel_from_the_source_distribution_is_complete(self):
        # These files must not be included.
        for name in ("native/_native.old.so", "__pycache__/cli.pyc"):
            stale = self.source / SOURCES / name
            stale.parent.mkdir(exist_ok=True)
            stale.write_bytes(b"")
        archive = self.made("build_sdist", self.source, "typedcall-*.tar.gz")
        shutil.rmtree(self.source)
        with tarfile.open(archive) as opened:
            opened.extractall(self.folder, **({"filter": "data"} if hasattr(tarfile, "data_filter")
                                              else {}))
        unpacked = self.folder / archive.name[:-len(".tar.gz")]
        self.assertEqual({path.name for path in unpacked.iterdir()},
                         {"core", "typedcall", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "PKG-INFO"})
        wheel = self.made("build_wheel", unpacked, "typedcall-*.whl")
        with zipfile.ZipFile(wheel) as opened:
            found = opened.namelist()
        self.assertEqual({name.rpartition("/")[2] for name in found if "/licenses/" in name}, {"LICENSE", "NOTICE"})
        built = {name for name in found if ".dist-info/" not in name}
        modules = {name for name in built if name.endswith(".so")}
        self.assertEqual(built - modules, self.expected())
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        names = ["native/_native"]
        if not support.IS_PYPY:
            names += ["numpy/_numpy_bridge", *("sinks/" + name for name in (
                "callbacks/_callbacks", "sql/_duckdb", "jax/_jax", "tvm_ffi/_tvm_ffi"))]
            names += ["sinks/sql/_sqlite"] if has_sqlite() else []
        self.assertEqual(modules, {"typedcall/" + name + suffix for name in names})

    @support.ON_CPYTHON
    def test_a_wheel_without_tags_is_of_its_platform(self):
        # Without GCC's version macros, core/compiler.h disables tags.
        if shutil.which("clang") is None:
            self.skipTest("no clang here")
        succeeded, output = self.build("build_wheel", self.source, environment={"CC": "clang -fgnuc-version=0"})
        self.assertTrue(succeeded, output)
        wheel, = self.folder.glob("typedcall-*.whl")
        # The platform must not be `any`, because pip would then prefer this wheel everywhere.
        self.assertEqual(wheel.stem.rpartition("-")[2], re.sub(r"\W", "_", sysconfig.get_platform()))
        with zipfile.ZipFile(wheel) as opened:
            built = {name for name in opened.namelist() if ".dist-info/" not in name}
            about = next(name for name in opened.namelist() if name.endswith(".dist-info/WHEEL"))
            self.assertIn("Root-Is-Purelib: false", opened.read(about).decode())
        self.assertEqual(built, self.expected())

    def test_an_editable_installation_compiles_what_has_changed(self):
        for done in ("Linking", "no work to do"):
            succeeded, output = self.build("build_editable", self.source)
            self.assertTrue(succeeded, output)
            self.assertIn(done, output)
        # Few sources include this header.
        name = "native/signatures.h" if support.IS_PYPY else "numpy/gufunc.h"
        with open(self.source / SOURCES / name, "a", encoding="utf-8") as header:
            header.write("// Changed.\n")
        self.assertIn("Linking", self.build("build_editable", self.source)[1])
        self.assertEqual([path.name for path in self.source.rglob("*.so")
                          if ".build" not in path.parts], [])

    @support.ON_CPYTHON  # on PyPy only a C compiler is needed
    def test_what_is_missing_is_named(self):
        expected = ("typedcall: the extension module could not be built. It needs a C++17 compiler "
                    "and, on CPython, the headers of libffi (Debian: libffi-dev).\n")
        for environment in ({"CXX": "/no/such/compiler"}, {"CMAKE_ARGS": "-DFFI_HEADERS="}):
            succeeded, output = self.build("build_wheel", self.source,
                                           environment=environment)
            self.assertFalse(succeeded)
            self.assertIn(expected, output)

    @staticmethod
    def expected():
        """Returns the files that a wheel must contain in addition to the extension modules."""
        package = ROOT / SOURCES
        names = {pathlib.Path("typedcall", path.relative_to(package)) for path in package.rglob("*")
                 if path.suffix in (".py", ".pyi", ".pxd", ".cmake", ".pc") or path.name == "py.typed"}
        for suffix in (".h", ".pxd", "separate.cc"):
            names |= {pathlib.Path("typedcall", "include", path) for path in headers(ROOT, suffix)}
        return {path.as_posix() for path in names}
