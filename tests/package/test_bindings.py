"""Tests typedcall/pybind11.h and nanobind.h: C functions that are not noexcept, and modules for PyPy, which tag
nothing."""
import shutil
import sys

import adapter_support
import support
import typedcall

# Stands in for both libraries: pybind11 3.1 cannot be compiled with the headers of Debian 12's PyPy.
STAND_IN = """
#pragma once
#include <Python.h>
namespace LIBRARY {
struct module_ {
  PyObject *made;
  template <class F, class... Extra> void def(const char *name, F, const Extra &...) {
    PyModule_AddIntConstant(made, name, 1 + sizeof...(Extra));
  }
};
}  // namespace LIBRARY
"""

ON_PYPY = """
#include "typedcall/LIBRARY.h"
#include "typedcall/provider.h"
extern "C" double of_c(double x) { return x; }
double throws(double x) { return x; }
static const PyNativeCallableTable table = {1, {{"d->d", 0, reinterpret_cast<void *>(of_c)}}};
static const PyNativeCallableTable faulty = {0, {{nullptr, 0, nullptr}}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "vendored", nullptr, -1, nullptr,
                                         nullptr, nullptr, nullptr, nullptr};
static bool frees = false;
PyMODINIT_FUNC PyInit_vendored(void) {
  LIBRARY::module_ module{PyModule_Create(&definition)};
  typedcall::require_tags(module);
  typedcall::def<of_c>(module, "of_c", typedcall::nothrow | typedcall::pure, "text");
  typedcall::def_falling_back<throws>(module, "throws");
  const PyTypedcall_Interface *interface = PyTypedcall_ImportForTags(module.made);
  if (interface == nullptr || interface != PyTypedcall_Import()) return nullptr;
  auto destroy = [](const void *) { frees = true; };
  static PyMethodDef def = {"f", nullptr, METH_O, nullptr};
  int all = PyNativeCallable_TagObject(interface, module.made, &table, destroy) |
            PyTypedMethod_TagCallable(interface, module.made, &table, destroy) |
            PyTypedMethod_TagDef(interface, &def, module.made, &table, destroy) |
            PyTypedMethod_UntagDef(interface, &def) | PyNativeCallable_UntagObject(interface, module.made);
  PyModule_AddIntConstant(module.made, "results", all | frees);
  if (PyTypedMethod_TagCallable(interface, module.made, &faulty, nullptr) != -1) return nullptr;
  PyErr_Clear();
  return module.made;
}
"""

MODULE = {
    "pybind11": '#include "typedcall/pybind11.h"\nFUNCTION\nPYBIND11_MODULE(bound, module) { DEF }\n',
    "nanobind": '#include "typedcall/nanobind.h"\nFUNCTION\nNB_MODULE(bound, module) { DEF }\n',
}
#: Throws the exception that is set.
RAISE = {"pybind11": "throw pybind11::error_already_set();", "nanobind": "throw nanobind::python_error();"}


class Bindings(support.InAFolder):
    def source(self, library, function, definition):
        text = MODULE[library].replace("FUNCTION", function).replace("DEF", definition)
        self.write("bound.cc", text)
        return self.folder / "bound.cc"

    def compiled(self, library, function, definition):
        """Checks a module with this function and this definition by the compiler."""
        source = self.source(library, function, definition)
        return support.processes.run(
            [*support.compiler("c++"), "-std=c++17", "-fsyntax-only", *adapter_support.binding_flags(library)[:1],
             "-I" + support.python_include(), "-I" + typedcall.get_include(), source], check=False, together=True)

    @support.ON_CPYTHON  # the libraries are installed for CPython
    def test_a_c_function_that_is_not_noexcept(self):
        function = 'extern "C" double of_c(double x) { return x + 1; }'
        for library in MODULE:
            with self.subTest(library):
                said = self.compiled(library, function, 'typedcall::def<of_c>(module, "of_c");')
                self.assertNotEqual(said.status, 0)
                self.assertIn("for a C function, pass typedcall::nothrow", said.out)
                said = self.compiled(library, function, """
                    typedcall::def<of_c>(module, "of_c", typedcall::nothrow);
                    typedcall::def<of_c>(module, "pure", typedcall::pure | typedcall::nothrow, "text");""")
                self.assertEqual(said.status, 0, said.out)

    @support.ON_CPYTHON
    def test_effects_that_their_wrappers_cannot_have(self):
        function = ('int f(double x, double *) noexcept { return x > 0; }\n'
                    "constexpr auto all = typedcall::pure | typedcall::thread_safe | typedcall::does_not_block |\n"
                    "                     typedcall::needs_gil | typedcall::nothrow;")
        wrong = ("may_raise", "takes_self", "falls_back", "returns_status", "releases_gil", "widened", "static_method")
        for library in MODULE:
            with self.subTest(library):
                right = 'typedcall::def<f>(module, "f", all);'
                self.assertEqual(self.compiled(library, function, right).status, 0)
                lines = [f'typedcall::def<f>(module, "f", all | typedcall::{each});' for each in wrong]
                said = self.compiled(library, function, "\n".join(lines))
                self.assertNotEqual(said.status, 0)
                self.assertEqual(said.out.count("typedcall: def<f>() takes pure, thread_safe"), len(wrong), said.out)

    @support.ON_CPYTHON
    def test_a_module_with_nothrow(self):
        for library in MODULE:
            with self.subTest(library):
                folder = self.folder / library
                folder.mkdir()
                source = self.source(library, 'extern "C" double of_c(double x) { return x + 1; }', """
                    typedcall::def<of_c>(module, "of_c", typedcall::nothrow, "text");
                    typedcall::def<of_c>(module, "of_c_too", typedcall::nothrow | typedcall::thread_safe);
                    static int address;
                    static const PyNativeCallableTable other = {1, {{"l->l", PyNativeCallable_PURE, &address}}};
                    module.def("again", [](LIBRARY::object object) {
                      if (PyNativeCallable_TagObject(PyTypedcall_Import(), object.ptr(), &other, nullptr) < 0) {
                        RAISE
                      }
                    });""".replace("LIBRARY", library).replace("RAISE", RAISE[library]))
                support.compile_module(source, folder, flags=adapter_support.binding_flags(library))
                self.assertEqual(support.printed("-c", """if 1:
                    import bound, typedcall
                    print(bound.of_c(1.0), bound.of_c.__doc__.split()[-1], typedcall.resolve(bound.of_c, "d->d")(2.0),
                          *(typedcall.entries(f)[0].flags.names for f in (bound.of_c, bound.of_c_too)))
                    def f(x): return x
                    typedcall.tag(f, "d->d", typedcall.entries(bound.of_c)[0].address)
                    for each in (bound.of_c_too, f):
                        try: bound.again(each)  # pybind11's functions have a def, and the tag belongs to that
                        except ValueError as error:
                            said = str(error)
                            assert said.endswith("PURE (of 1), was offered; to replace the tag, call untag() first"), said
                            assert said.startswith(each.__name__ + " is tagged already: 'd->d' at 0x"), said
                            print(each.__name__)
                    """, paths=[folder]).split("\n"),
                    ["2.0 text 3.0 [] ['THREAD_SAFE']", *["of_c_too"] * (library == "nanobind"), "f"])

    def test_on_pypy_they_build_and_tag_nothing(self):
        pypy = sys.executable if support.IS_PYPY else shutil.which("pypy3", path="/usr/bin")
        if pypy is None:
            self.skipTest("PyPy is not installed")
        include, suffix = support.run([pypy, "-c", "import sysconfig as s; print(s.get_paths()['include'], "
                                       "s.get_config_var('EXT_SUFFIX'))"]).split()
        for library in MODULE:
            with self.subTest(library):
                (self.folder / library).mkdir()
                self.write(library + "/" + library + ".h", STAND_IN.replace("LIBRARY", library))
                self.write("vendored.cc", ON_PYPY.replace("LIBRARY", library))
                support.run([*support.compiler("c++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                             "-isystem" + include, "-I" + str(self.folder), "-I" + typedcall.get_include(),
                             self.folder / "vendored.cc", "-o", self.folder / ("vendored" + suffix)])
                self.assertEqual(support.run(
                    [pypy, "-c", "import vendored as v; print(v.of_c, v.throws, v.results)"], paths=[self.folder]).strip(),
                    "2 1 0")

    def test_a_consumer_stays_an_error_on_pypy(self):
        for header in ("typedcall/resolve.h", "typedcall/callback.h", "typedcall/loop.h", "core/custom_slots.h"):
            said = support.processes.run(
                [*support.compiler("c++"), "-std=c++17", "-fsyntax-only", "-DPYPY_VERSION=\"7\"", "-x", "c++",
                 "-I" + support.python_include(), "-I" + typedcall.get_include(), "-include", header, "/dev/null"],
                check=False, together=True)
            self.assertIn("on PyPy there are providers only", said.out)
