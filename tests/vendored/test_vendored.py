"""Tests that the single file is complete and compatible with the headers from which it is made."""
import os
import platform
import re
import shutil
import stat
import sys
import sysconfig

import compilers
import look
import processes
import vendored_consumer

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join("examples", "vendored")
SINGLE = os.path.abspath(os.environ["SINGLE_FILE"])
CC = os.environ["CC"]
LANGUAGES = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++14"), ("c++", "c++17"),
             ("c++", "c++20")]


def run(command, **options):
    return processes.run(command, **dict({"environment": processes.UNSANITIZED}, **options), check=False,
                         together=True)


def compile_with(options, *sources, **kwargs):
    return run([CC, *compilers.WARNINGS, *compilers.PYTHON_HEADERS, *options, *sources], **kwargs)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Vendored(compilers.Compiling):
    def adopt(self, source):
        """Makes a folder with the source and the single file."""
        shutil.copy(SINGLE, self.path("typedcall_provider.h"))
        return shutil.copy(source, self.folder)

    def load(self, name):
        sys.path.insert(0, self.path())
        self.addCleanup(sys.path.remove, self.path())
        self.addCleanup(sys.modules.pop, name, None)
        return __import__(name)

    def test_generated_twice_is_the_same(self):
        for name in ("first.h", "second.h"):
            ended = run([sys.executable, "tools/amalgamate.py", "--output", self.path(name)])
            self.assertEqual((ended.status, ended.out), (0, ""))
        self.assertEqual(read(self.path("first.h")), read(self.path("second.h")))
        self.assertEqual(read(self.path("first.h")), read(SINGLE))

    def test_what_is_in_it(self):
        text = read(SINGLE)
        self.assertEqual(re.findall(r'#\s*include\s+"', text), [])
        for include in re.findall(r"#\s*include\s+<(.*?)>", text):
            self.assertIn(include, {"Python.h", "float.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h",
                                    "string.h", "structmember.h"})
        self.assertIn("ABI version 1.0.", text)
        for line in read("LICENSE").splitlines():
            self.assertIn("// " + line if line else "//", text)
        self.assertLess(max(map(len, text.splitlines())), 101)

    def test_a_c_module_that_has_only_that_file(self):
        source = self.adopt(os.path.join(EXAMPLE, "geometry.c"))
        self.check_compiles(compile_with(
            ["-std=c99", "-O1", "-shared", "-fPIC", "-o", self.path("geometry.so")], source))
        geometry = self.load("geometry")
        self.assertTrue(geometry.__file__.startswith(self.path()))
        self.assertEqual(geometry.gcd(12, -18), 6)
        self.assertEqual(geometry.clamp(3.0, high=2.0), 2.0)
        self.assertEqual(vendored_consumer.call_ll_l(geometry.gcd, 12, -18), 6)
        self.assertEqual(vendored_consumer.call_without_interface(geometry.gcd, 12, -18), 6)
        self.assertEqual(vendored_consumer.call_ddd_d(geometry.clamp, 3.0, 0.0, 2.0), 2.0)
        with self.assertRaisesRegex(TypeError, "clamp does not offer 'll->l'.*'ddd->d'"):
            vendored_consumer.call_ll_l(geometry.clamp, 1, 2)
        line = geometry.Line(2.0, 1.0)
        self.assertEqual(look.call(line.at, line, "d->d", 3.0), 7.0)
        self.assertIn("sibling", look.places(geometry.gcd))

    def test_a_cc_module_of_two_languages(self):
        for name in ("geometry_in_cc.cc", "second_unit.c"):
            self.adopt(os.path.join(HERE, name))
        for options in (["-x", "c", "-std=c99", "-fPIC", "-c", self.path("second_unit.c"), "-o",
                         self.path("second_unit.o")],
                        ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden",
                         "-shared", "-fPIC", self.path("geometry_in_cc.cc"),
                         self.path("second_unit.o"), "-o", self.path("geometry_in_cc.so")]):
            self.check_compiles(compile_with(options))
        module = self.load("geometry_in_cc")
        self.assertEqual(module.product(6, 7), 42)
        self.assertEqual(vendored_consumer.call_ll_l(module.product, 6, 7), 42)
        self.assertEqual(vendored_consumer.call_ll_l(module.in_c, 6, 7), 13)
        self.assertEqual(type(module.Flagged).__module__, "_extensibletype")

    def test_nothing_leaks_out(self):
        # -fvisibility=hidden is not needed, because everything in the copied header is static.
        source = self.adopt(os.path.join(EXAMPLE, "geometry.c"))
        self.check_compiles(compile_with(
            ["-std=c99", "-shared", "-fPIC", "-o", self.path("geometry.so")], source))
        listed = run(["nm", "-D", "--defined-only", self.path("geometry.so")])
        names = {line.split()[-1] for line in listed.out.splitlines()}
        self.assertEqual({name for name in names if not name.startswith("_") or "Typed" in name},
                         {"PyInit_geometry", "_PyPyTyped_gcd"})

    def check_together(self, *includes, languages=(("c", "c99"), ("c++", "c++11"))):
        """Checks that a translation unit with these includes compiles."""
        shutil.copy(SINGLE, self.path("typedcall_provider.h"))
        lines = ['#include "%s"' % include for include in includes]
        use = ('static long f(long x) { return x; }\n'
               'PyTypedMethod_DEFINE(t, "f", PyTypedMethod_ENTRY(0, f, LONG, LONG));\n'
               'const void *use(void);\nconst void *use(void) { return &t; }\n')
        source = self.write("unit.c", "\n".join(lines + [use]))
        for language, standard in languages:
            with self.subTest(includes=includes, standard=standard):
                self.check_compiles(compile_with(
                    ["-x", language, "-std=" + standard, "-fsyntax-only", "-I", self.folder,
                     "-I."], source))

    def test_twice_and_among_the_headers(self):
        single = "typedcall_provider.h"
        self.check_together(single, single, languages=LANGUAGES)
        for header in ("typedcall/tag.h", "typedcall/typed_method.h", "core/custom_slots.h",
                       "typedcall/sibling_symbol.h"):
            self.check_together(single, header)
            self.check_together(header, single)
        self.check_together("typedcall/tag.h", "typedcall/sibling_symbol.h", "typedcall/typed_method.h")
        self.check_together("typedcall/signature/type_codes.h", single, "typedcall/typed_method.h", single)

    def test_a_second_copy(self):
        shutil.copy(SINGLE, self.path("other_copy.h"))
        self.check_together("other_copy.h", "typedcall_provider.h")

    def test_the_readme(self):
        """Runs the commands in the README with this interpreter and this compiler."""
        for folder in ("core", "typedcall"):
            for where, _, names in os.walk(folder):
                os.makedirs(self.path(where))
                for name in names:
                    if name.endswith(".h"):
                        shutil.copy(os.path.join(where, name), self.path(where, name))
        os.makedirs(self.path("tools"))
        os.makedirs(self.path(EXAMPLE))
        shutil.copy("tools/amalgamate.py", self.path("tools"))
        shutil.copy("LICENSE", self.folder)
        shutil.copy(os.path.join(EXAMPLE, "geometry.c"), self.path(EXAMPLE))
        os.mkdir(self.path("bin"))
        for name, command in (("python3", 'exec "%s" "$@"' % sys.executable),
                              ("cc", 'exec "%s" "$@"' % CC),
                              ("python3-config",
                               'echo "-I%s"' % sysconfig.get_paths()["include"])):
            script = self.write(os.path.join("bin", name), "#!/bin/sh\n%s\n" % command)
            os.chmod(script, stat.S_IRWXU)
        block = re.search(r"```sh\n(.*?)```", read(os.path.join(EXAMPLE, "README.md")), re.DOTALL)
        environment = dict(processes.UNSANITIZED, PATH=self.path("bin") + ":" + os.environ["PATH"])
        ended = run(["sh", "-e", "-c", block.group(1)], cwd=self.folder, environment=environment)
        self.assertEqual((ended.status, ended.out), (0, "6 7.0\n"))


class OnPyPy(compilers.Compiling):
    """Tests the single file in modules for PyPy."""

    # The source of a program that prints the data before the name of a def.
    READER ="""
        #include "typedcall_provider.h"
        static PyObject *offered(PyObject *module, PyObject *callable) {
          const PyMethodDef *def = NULL;
          (void)module;
          if (Py_TYPE(callable) == &PyCFunction_Type) def = ((PyCFunctionObject *)callable)->m_ml;
          if (Py_TYPE(callable) == &PyMethodDescr_Type) {
            def = ((PyMethodDescrObject *)callable)->d_method;
          }
          const PyNativeCallableTable *table = PyTypedMethod_Table(def);
          if (table == NULL) Py_RETURN_NONE;
          return PyUnicode_FromString(table->entries[0].signature);
        }
        static PyMethodDef methods[] = {{"offered", offered, METH_O, NULL}, {NULL, NULL, 0, NULL}};
        static struct PyModuleDef definition = {
            PyModuleDef_HEAD_INIT, "reader", NULL, 0, methods, NULL, NULL, NULL, NULL};
        PyMODINIT_FUNC PyInit_reader(void) { return PyModule_Create(&definition); }
        """

    def setUp(self):
        super().setUp()
        self.pypy = shutil.which("pypy3")
        if self.pypy is None:
            self.skipTest("there is no pypy3")
        asked = run([self.pypy, "-c", "import sysconfig\nprint(sysconfig.get_path('include'))\n"
                                      "print(sysconfig.get_config_var('EXT_SUFFIX'))"])
        self.include, self.suffix = asked.out.split()
        if not os.path.exists(os.path.join(self.include, "Python.h")):
            self.skipTest("PyPy's headers (pypy3-dev) are not installed")
        if platform.machine() not in self.suffix:
            self.skipTest("pypy3 is for a different processor than this build's compiler")
        shutil.copy(SINGLE, self.path("typedcall_provider.h"))

    def compile(self, source, language, standard, *options):
        self.check_compiles(run([CC, *compilers.WARNINGS, "-x", language, "-std=" + standard, "-isystem", self.include,
                                 "-I", self.folder, *options, source]))

    def test_a_module_that_has_only_that_file(self):
        self.write("reader.c", self.READER)
        shutil.copy(os.path.join(EXAMPLE, "geometry.c"), self.folder)
        for name in ("geometry", "reader"):
            self.compile(self.path(name + ".c"), "c", "c99", "-O1", "-shared", "-fPIC", "-o",
                         self.path(name + self.suffix))
        code = ("from geometry import *; from reader import offered\n"
                "line = Line(2.0, 1.0)\n"
                "print(gcd(12, -18), clamp(3.0, high=2.0), line.at(3.0), Line.slope(0, 0, 1, 2))\n"
                "print(offered(gcd), offered(clamp), offered(Line.__dict__['at']), offered(len))")
        ended = run([self.pypy, "-c", code], cwd=self.folder)
        self.assertEqual(ended.out, "6 2.0 7.0 2.0\nll->l ddd->d d->d None\n")

    def test_every_standard_and_twice(self):
        source = self.write("unit.c", '#include "typedcall_provider.h"\n' * 2 + (
            'static long f(long x) { return x; }\n'
            'PyTypedMethod_DEFINE(t, "f", PyTypedMethod_ENTRY(0, f, LONG, LONG));\n'
            'const void *use(void);\nconst void *use(void) { return &t; }\n'))
        for language, standard in LANGUAGES:
            with self.subTest(standard=standard):
                self.compile(source, language, standard, "-fsyntax-only")


class Refusals(compilers.Compiling):
    """Tests headers that the script must refuse."""

    def amalgamate(self, **headers):
        for folder in ("core", "typedcall"):
            shutil.copytree(folder, self.path(folder))
        shutil.copy("LICENSE", self.folder)
        for name, text in headers.items():
            self.write(os.path.join("core", name + ".h"), text)
        return run([sys.executable, "tools/amalgamate.py", "--root", self.folder])

    def test_no_guard(self):
        ended = self.amalgamate(platform="#include <Python.h>\n")
        self.assertEqual((ended.status, ended.out), (
            1, "amalgamate.py: core/platform.h has no include guard around all of it\n"))

    def test_an_include_in_a_circle(self):
        ended = self.amalgamate(platform='#ifndef A_\n#define A_\n#include "core/slot_id.h"\n'
                                         '#endif  // A_\n')
        self.assertEqual(ended.status, 1)
        self.assertRegex(ended.out, r"core/\w+\.h includes itself: typedcall/tag\.h -> .*"
                                       r"core/slot_id\.h -> core/platform\.h")
