"""Builds a consumer of the headers by hand and with pkg-config, CMake, setuptools and Cython."""
import importlib.util
import os
import pathlib
import shutil
import sys
import sysconfig
import unittest

import support
import typedcall

typed = support.build("typed_functions")
CONSUMER = support.MODULES / "consumer.cc"
REPOSITORY_INCLUDES = (pathlib.Path(__file__).resolve().parents[2] / "typedcall" / "python"
                       / "typedcall" / "includes.py")
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
LIMITED = []
if not support.IS_PYPY and sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    LIMITED.append("-DPy_LIMITED_API=0x030C0000")
if not support.IS_PYPY and sys.version_info >= (3, 15):
    LIMITED.append("-DPy_TARGET_ABI3T=0x030F0000")
NEEDS_PKG_CONFIG = unittest.skipIf(shutil.which("pkg-config") is None,
                                   "pkg-config is not installed")


def command_line(option):
    """Returns the output of `python -m typedcall OPTION`."""
    status, output, errors = support.python("-m", "typedcall", option)
    assert (status, errors) == (0, ""), errors
    return output.strip()


class Building(support.InAFolder):
    def check(self, folder=None):
        """Imports the consumer in another process, because every test builds a module of this name."""
        code = ("import consumer, typedcall\n"
                "print(consumer.triple(2.0), typedcall.signatures(consumer.triple))")
        expected = "6.0 ['d->d']\n"
        if not support.IS_PYPY:
            code += "\nprint(consumer.sum(consumer.triple), consumer.sum(typed_functions.half))"
            code = "import typed_functions\n" + code
            expected += "135.0 22.5\n"
        result = support.python("-c", code, paths=[
            folder or self.folder, support.module_folder("typed_functions")])
        self.assertEqual(result, (0, expected, ""))

    def compile(self, flags):
        support.run(support.compiler("c++") + ["-std=c++17", "-O1", "-shared", "-fPIC", *flags,
                                               CONSUMER, "-o", self.folder / ("consumer" + SUFFIX)])

    def compile_object(self, source, *flags):
        made = self.folder / (pathlib.Path(source).stem + ".o")
        support.run(support.compiler("c++") + ["-O1", "-fPIC", "-fvisibility=hidden", *command_line("--includes").split(),
                                               *flags, "-c", source, "-o", made])
        return made


class ByHand(Building):
    def test_includes(self):
        flags = command_line("--includes").split()
        self.assertIn("-I" + typedcall.get_include(), flags)
        self.compile(flags)
        self.check()


@NEEDS_PKG_CONFIG
class PkgConfig(Building):
    def ask(self, *options, module="typedcall"):
        environment = {"PKG_CONFIG_PATH": command_line("--pkgconfigdir")}
        return support.run(["pkg-config", *options, module], environment=environment).strip()

    def test_cflags(self):
        flag, = self.ask("--cflags").split()
        self.assertTrue(os.path.samefile(flag[2:], typedcall.get_include()), flag)
        self.compile([flag, "-I" + support.python_include()])
        self.check()

    def test_version(self):
        self.assertEqual(self.ask("--modversion"), typedcall.__version__)
        self.assertEqual(self.ask("--libs"), "")

    def test_with_libffi(self):
        if support.processes.run(["pkg-config", "--exists", "libffi"], check=False).status != 0:
            self.skipTest("libffi has no pkg-config file here")
        self.assertEqual(self.ask("--modversion", module="typedcall-ffi"), typedcall.__version__)
        self.assertIn("-lffi", self.ask("--libs", module="typedcall-ffi").split())
        self.assertIn("-I" + os.path.realpath(typedcall.get_include()),
                      ["-I" + os.path.realpath(flag[2:])
                       for flag in self.ask("--cflags", module="typedcall-ffi").split()])


@unittest.skipUnless(REPOSITORY_INCLUDES.is_file(), "the repository is not here")
class EditablePkgConfig(unittest.TestCase):
    """The output of pkg-config for an editable installation."""

    def setUp(self):
        spec = importlib.util.spec_from_file_location("repository_includes", REPOSITORY_INCLUDES)
        self.includes = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.includes)
        self.folder = pathlib.Path(self.includes.get_pkgconfig_dir())

    def ask(self, *options):
        environment = {"PKG_CONFIG_PATH": str(self.folder)}
        return support.run(["pkg-config", *options], environment=environment).split()

    @NEEDS_PKG_CONFIG
    def test_the_headers_are_where_it_says(self):
        flag, = self.ask("--cflags", "typedcall")
        self.assertTrue(pathlib.Path(flag[2:], "typedcall", "typed_method.h").is_file(), flag)
        self.assertTrue(os.path.samefile(flag[2:], self.includes.get_include()), flag)

    @NEEDS_PKG_CONFIG
    def test_with_libffi(self):
        if support.processes.run(["pkg-config", "--exists", "libffi"], check=False).status != 0:
            self.skipTest("libffi has no pkg-config file here")
        self.assertIn("-lffi", self.ask("--libs", "typedcall-ffi"))

    def test_the_files_say_the_same_as_the_installed_ones(self):
        for name in ("typedcall.pc", "typedcall-ffi.pc"):
            here, installed = (
                [line for line in (folder / name).read_text().splitlines()
                 if not line.startswith(("#", "prefix=", "includedir="))]
                for folder in (self.folder, REPOSITORY_INCLUDES.parent / "pkgconfig"))
            self.assertEqual(here, installed)


class CompiledOnce(Building):
    """Files that define TYPEDCALL_SEPARATE, and the source file with the definitions."""

    def link(self, name, *objects):
        support.run(support.compiler("c++") + ["-shared", *objects, "-o", self.folder / (name + SUFFIX)])

    def test_consumer(self):
        consumer = self.compile_object(CONSUMER, "-std=c++17", "-DTYPEDCALL_SEPARATE")
        with self.assertRaisesRegex(AssertionError, "hidden symbol"):
            self.link("consumer", consumer)
        self.link("consumer", consumer, self.compile_object(command_line("--sources"), "-std=c++17"))
        self.check()

    def test_compiled_as_c(self):
        flags = ["-std=c99", "-Wall", "-Werror", "-fPIC", "-DTYPEDCALL_SEPARATE",
                 *command_line("--includes").split(), "-x", "c", "-c"]
        objects = []
        for source in (support.MODULES / "pypy_functions.c", command_line("--sources")):
            objects.append((self.folder / pathlib.Path(source).stem).with_suffix(".o"))
            support.run(support.compiler("c") + [*flags, source, "-o", objects[-1]])
        self.link("pypy_functions", *objects)
        code = "import pypy_functions, typedcall; print(typedcall.signatures(pypy_functions.inc))"
        self.assertEqual(support.python("-c", code, paths=[self.folder]), (0, "['l->l']\n", ""))

    def test_refuses_to_follow_other_files(self):
        unity = self.folder / "unity.c"
        unity.write_text('#include "typedcall/tag.h"\n#include "typedcall/separate.cc"\n')
        with self.assertRaisesRegex(AssertionError, "separate.cc: compile it alone"):
            support.run([*support.compiler("c"), *command_line("--includes").split(), "-fsyntax-only", unity])

    @support.only_if(LIMITED)
    def test_limited_api(self):
        for flag in LIMITED:
            support.run([*support.compiler("c"), "-std=c99", "-Wall", "-Werror", "-fsyntax-only", flag,
                         *command_line("--includes").split(), "-x", "c", command_line("--sources")])

    @support.ON_CPYTHON
    def test_headers_include_what_they_need(self):
        for header in sorted(pathlib.Path(typedcall.get_include(), "core").glob("*.h")):
            if header.name == "custom_slots_limited.h":  # needs CPython 3.12
                continue
            with self.subTest(header.name):
                support.run(support.compiler("c") + [
                    "-std=c99", "-Wall", "-Werror", "-fsyntax-only", "-DTYPEDCALL_SEPARATE",
                    *command_line("--includes").split(), "-x", "c", header])

    def test_names_and_defaults(self):
        source = self.folder / "told.cc"
        source.write_text("""
            #include "typedcall/provider.h"
            #include <stdexcept>
            static double power(double x, long n) {
              if (n < 0) throw std::domain_error("below 0");
              double result = 1;
              while (n-- > 0) result *= x;
              return result;
            }
            static typedcall::method_table methods{
                typedcall::def<power>("power", typedcall::arg("x"), typedcall::arg("n") = 2)};
            TYPEDCALL_MODULE(told, "", methods);
        """)
        self.link("told", self.compile_object(source, "-std=c++17", "-DTYPEDCALL_SEPARATE"),
                  self.compile_object(command_line("--sources"), "-std=c++17"))
        code = """
import inspect, told
print(inspect.signature(told.power).parameters["n"], told.power(3.0), told.power(n=3, x=2.0))
for call in (lambda: told.power(), lambda: told.power(1, 2, 3), lambda: told.power(1, m=2),
             lambda: told.power("1"), lambda: told.power(1, -1)):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
"""
        where = "" if support.IS_PYPY else "power() argument 'x': "
        self.assertEqual(support.python("-c", code, paths=[self.folder]), (0, f"""\
n=2 9.0 8.0
TypeError power() missing 1 required positional argument: 'x'
TypeError power() takes from 1 to 2 positional arguments but 3 were given
TypeError power() got an unexpected keyword argument 'm'
TypeError {where}must be real number, not str
ValueError below 0
""", ""))

    def test_both_kinds_in_one_shared_object(self):
        source = support.MODULES / "typed_functions.cc"
        objects = [self.compile_object(source, "-std=c++17"),
                   self.compile_object(CONSUMER, "-std=c++17", "-DTYPEDCALL_SEPARATE"),
                   self.compile_object(command_line("--sources"), "-std=c++17")]
        for name in ("consumer", "typed_functions"):
            self.link(name, *objects)
        code = ("import consumer, typed_functions\n"
                "print(consumer.sum(consumer.triple), consumer.sum(typed_functions.half))")
        if not support.IS_PYPY:
            self.assertEqual(support.python("-c", code, paths=[self.folder]), (0, "135.0 22.5\n", ""))
        defined = [{line.split()[-1] for line in support.run(["nm", "--defined-only", made]).splitlines()
                    if line.split()[-2] in "TWVBDuR"} for made in objects]
        shared = {name for name in defined[0] & (defined[1] | defined[2]) if "typedcall" in name.lower()}
        self.assertEqual(shared, set())

    def test_two_copies_are_one(self):
        consumer = self.compile_object(CONSUMER, "-std=c++17", "-DTYPEDCALL_SEPARATE")
        copies = []
        for name in ("one.cc", "two.cc"):
            shutil.copy(command_line("--sources"), self.folder / name)
            copies.append(self.compile_object(self.folder / name, "-std=c++17"))
        self.link("consumer", consumer, *copies)
        self.check()


@unittest.skipIf(shutil.which("cmake") is None, "CMake is not installed")
class CMake(Building):
    def project(self, find):
        self.write("CMakeLists.txt", """\
            cmake_minimum_required(VERSION 3.15)
            project(consumer CXX)
            %s
            add_library(consumer MODULE "%s")
            target_link_libraries(consumer PRIVATE typedcall::typedcall)
            target_include_directories(consumer PRIVATE "%s")
            set_target_properties(consumer PROPERTIES PREFIX "" SUFFIX "%s")
            """ % (find, CONSUMER.as_posix(), support.python_include(), SUFFIX))

    def configure(self, *options):
        return support.processes.run(["cmake", "-S", self.folder, "-B", self.folder / "build", *options],
                                     check=False, together=True)

    def build(self):
        ended = self.configure("-Dtypedcall_DIR=" + command_line("--cmakedir"))
        self.assertEqual(ended.status, 0, ended.out)
        support.run(["cmake", "--build", self.folder / "build"])

    def test_find_package(self):
        self.project("find_package(typedcall 0.1 CONFIG REQUIRED)")
        self.build()
        self.check(self.folder / "build")

    def test_compile_once(self):
        self.project("find_package(typedcall CONFIG REQUIRED)\ntypedcall_compile_once(once)\n"
                     "target_include_directories(once PRIVATE \"%s\")" % support.python_include())
        lists = self.folder / "CMakeLists.txt"
        lists.write_text(lists.read_text() + "target_link_libraries(consumer PRIVATE once)\n")
        self.build()
        self.check(self.folder / "build")

    def test_the_prefix_path_is_enough(self):
        self.project("find_package(typedcall CONFIG REQUIRED)\n"
                     "if(NOT TARGET typedcall::ffi)\nmessage(FATAL_ERROR \"no ffi\")\nendif()\n"
                     "typedcall_compile_once(once)")
        ended = self.configure("-DCMAKE_PREFIX_PATH=" + command_line("--cmakedir"),
                               "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON")
        self.assertEqual(ended.status, 0, ended.out)
        self.assertNotIn("Warning", ended.out)

    def test_another_version_is_refused(self):
        for version in ("0.2", "1.0", "0.0", "0.1.1"):
            self.project("find_package(typedcall %s CONFIG REQUIRED)" % version)
            ended = self.configure("-Dtypedcall_DIR=" + command_line("--cmakedir"))
            self.assertNotEqual(ended.status, 0, version)
            self.assertIn("typedcallConfig.cmake, version: 0.1.0", ended.out)

    def test_cxx_enabled_behind_find_package(self):
        self.project("find_package(typedcall CONFIG REQUIRED)\nenable_language(CXX)\nset(CMAKE_CXX_STANDARD 14)")
        lists = self.folder / "CMakeLists.txt"
        lists.write_text(lists.read_text().replace("project(consumer CXX)", "project(consumer C)"))
        self.build()
        self.check(self.folder / "build")

    def test_a_project_in_c(self):
        self.write("only.c",
                   '#include "typedcall/tag.h"\n'
                   "int only(PyObject *m, PyMethodDef *defs, const PyTypedMethodMetadata *const *typed) {\n"
                   "  return PyTypedMethod_AddTags(m, defs, typed);\n}\n")
        self.write("CMakeLists.txt", """\
            cmake_minimum_required(VERSION 3.15)
            project(only C)
            find_package(typedcall CONFIG REQUIRED)
            typedcall_compile_once(once)
            target_include_directories(once PUBLIC "%s")
            add_library(only MODULE only.c)
            target_link_libraries(only PRIVATE once)
            """ % support.python_include())
        self.build()


@unittest.skipIf(importlib.util.find_spec("setuptools") is None, "setuptools is not installed")
class Setuptools(Building):
    def test_build_ext(self):
        self.write("setup.py", """\
            import typedcall
            from setuptools import Extension, setup
            setup(name="consumer", ext_modules=[Extension(
                "consumer", [%r], include_dirs=[typedcall.get_include()],
                extra_compile_args=["-std=c++17", "-O1"], language="c++")])
            """ % str(CONSUMER))
        support.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=self.folder)
        self.check()


@support.ON_CPYTHON  # CPython only: PyPy has no C consumers
@unittest.skipIf(importlib.util.find_spec("Cython") is None, "Cython is not installed")
class Cython(Building):
    def build(self, name):
        source = self.folder / (name + ".pyx")
        shutil.copy(support.MODULES / source.name, source)
        is_cpp = name.endswith("cpp")
        made = source.with_suffix(".cc" if is_cpp else ".c")
        # Cython finds .pxd files in installed packages.
        support.run([sys.executable, "-m", "cython", "-3", *(["--cplus"] if is_cpp else []), source,
                     "-o", made])
        # Code generated by Cython causes warnings.
        return support.load(name, support.compile_module(made, self.folder, flags=["-w"]))

    def test_in_c(self):
        module = self.build("cython_in_c")
        self.assertEqual(module.total(typed.half, 10), 22.5)
        with self.assertRaisesRegex(TypeError, "it offers 'l->l'"):
            module.total(typed.inc, 10)
        resolved = typedcall.resolve(typed.half, "d->d")
        self.assertEqual(module.address(resolved), resolved.address)
        with self.assertRaises(AttributeError):
            module.address(len)
        self.assertEqual(module.MAY_RAISE, typedcall.Flags.MAY_RAISE)
        self.assertEqual((module.fault(b"d->d"), module.fault(b"dx->d")), (None, 1))
        self.assertEqual((module.equivalent(b"l->l", b"q->q"), module.equivalent(b"l->l", b"d->d")),
                         (True, False))

    def test_in_cpp(self):
        module = self.build("cython_in_cpp")
        self.assertEqual(module.total(typed.half, 10), 22.5)
        with self.assertRaisesRegex(TypeError, "it offers 'l->l'"):
            module.total(typed.inc, 10)
        with self.assertRaisesRegex(TypeError, "offers no native signature"):
            module.total(len, 10)
