# Generates the same module for every tool.
import contextlib
import io
import os
import tempfile

C_TYPES = {"l": "long", "i": "int", "L": "unsigned long", "d": "double", "f": "float",
           "b": "bool", "": "void"}

# The signatures of the functions.
SIGNATURES = ["l->l", "dd->d", "dldl->d", "d->d", "ii->i", "ddd->d", "->l", "d->", "f->f", "b->b",
              "Ll->L", "idl->d", "llll->l"]

# For each type, an argument for comparing the results of the modules.
VALUES = {"l": 3, "i": 4, "L": 5, "d": 1.5, "f": 0.5, "b": True}


class Function:
    """A function of the module."""

    def __init__(self, number):
        self.number = number
        self.name = "f%d" % number
        self.arguments, _, self.result = SIGNATURES[number % len(SIGNATURES)].partition("->")

    def parameters(self, separator=", "):
        return separator.join("%s a%d" % (C_TYPES[code], i)
                              for i, code in enumerate(self.arguments))

    def values(self):
        return [VALUES[code] for code in self.arguments]

    def native(self):
        total = " + ".join(["%d" % self.number] + ["a%d" % i for i in range(len(self.arguments))])
        if not self.result:
            body = "sink = (double)(%s);" % total
        elif self.result == "b":
            body = "return !a0;"
        else:
            body = "return (%s)(%s);" % (C_TYPES[self.result], total)
        return "static __attribute__((noinline)) %s %s(%s) NATIVE_NOEXCEPT { %s }" % (
            C_TYPES[self.result], self.name, self.parameters() or "void", body)


def functions(count):
    return [Function(number) for number in range(count)]


def natives(made):
    return """#include <stdbool.h>
#if defined(__cplusplus) && !defined(NATIVE_MAY_THROW)
#define NATIVE_NOEXCEPT noexcept
#else
#define NATIVE_NOEXCEPT
#endif
static volatile double sink;
%s
""" % "\n".join(function.native() for function in made)


# C code that reads one argument, keyed by its type code.
FROM_PYTHON = {
    "l": """  long a{i} = PyLong_AsLong({object});
  if (a{i} == -1 && PyErr_Occurred()) return NULL;
""",
    "i": """  long wide{i} = PyLong_AsLong({object});
  if (wide{i} == -1 && PyErr_Occurred()) return NULL;
  if (wide{i} < INT_MIN || wide{i} > INT_MAX) {{
    PyErr_SetString(PyExc_OverflowError, "Python int too large to convert to C int");
    return NULL;
  }}
  int a{i} = (int)wide{i};
""",
    "L": """  unsigned long a{i} = PyLong_AsUnsignedLong({object});
  if (a{i} == (unsigned long)-1 && PyErr_Occurred()) return NULL;
""",
    "d": """  double a{i} = PyFloat_AsDouble({object});
  if (a{i} == -1.0 && PyErr_Occurred()) return NULL;
""",
    "f": """  double wide{i} = PyFloat_AsDouble({object});
  if (wide{i} == -1.0 && PyErr_Occurred()) return NULL;
  float a{i} = (float)wide{i};
""",
    "b": """  int truth{i} = PyObject_IsTrue({object});
  if (truth{i} < 0) return NULL;
  bool a{i} = truth{i};
""",
}
TO_PYTHON = {"l": "PyLong_FromLong", "i": "PyLong_FromLong", "L": "PyLong_FromUnsignedLong",
             "d": "PyFloat_FromDouble", "f": "PyFloat_FromDouble", "b": "PyBool_FromLong"}


def by_hand_function(function):
    count = len(function.arguments)
    fast = count > 1
    takes = ("PyObject *const *args, Py_ssize_t nargs" if fast else "PyObject *arg")
    text = "static PyObject *%s_wrapper(PyObject *module, %s) {\n  (void)module;\n" % (
        function.name, takes)
    if fast:
        text += """  if (nargs != {count}) {{
    PyErr_Format(PyExc_TypeError, "{name}() takes exactly {count} arguments (%zd given)", nargs);
    return NULL;
  }}
""".format(count=count, name=function.name)
    elif count == 0:
        text += "  (void)arg;\n"
    for i, code in enumerate(function.arguments):
        text += FROM_PYTHON[code].format(i=i, object="args[%d]" % i if fast else "arg")
    call = "%s(%s)" % (function.name, ", ".join("a%d" % i for i in range(count)))
    if function.result:
        return text + "  return %s(%s);\n}\n" % (TO_PYTHON[function.result], call)
    return text + "  %s;\n  Py_RETURN_NONE;\n}\n" % call


def by_hand(made, name):
    rows = ""
    for function in made:
        flag = {0: "METH_NOARGS", 1: "METH_O"}.get(len(function.arguments), "METH_FASTCALL")
        rows += '    {"%s", (PyCFunction)(void (*)(void))%s_wrapper, %s, NULL},\n' % (
            function.name, function.name, flag)
    return """#include <Python.h>
#include <limits.h>
#include "natives.h"
{wrappers}
static PyMethodDef methods[] = {{
{rows}    {{NULL, NULL, 0, NULL}},
}};
static PyModuleDef_Slot slots[] = {{{{0, NULL}}}};
static PyModuleDef definition = {{.m_base = PyModuleDef_HEAD_INIT, .m_name = "{name}",
                                 .m_methods = methods, .m_slots = slots}};
PyMODINIT_FUNC PyInit_{name}(void) {{ return PyModuleDef_Init(&definition); }}
""".format(wrappers="".join(by_hand_function(function) for function in made), rows=rows, name=name)


def typedcall(made, name):
    rows = ",\n    ".join('typedcall::def<%s>("%s")' % (function.name, function.name)
                          for function in made)
    return """#include <Python.h>
#include "natives.h"
#include "typedcall/provider.h"
static typedcall::method_table methods{{
    {rows}}};
TYPEDCALL_MODULE({name}, "", methods);
""".format(rows=rows, name=name)


def with_def(made, header, macro, name):
    """Returns the source for pybind11 or nanobind, which have the same syntax."""
    rows = "".join('  module.def("%s", &%s);\n' % (function.name, function.name)
                   for function in made)
    return '#include <%s>\n#include "natives.h"\n%s(%s, module) {\n%s}\n' % (
        header, macro, name, rows)


def nanobind(made, name):
    return with_def(made, "nanobind/nanobind.h", "NB_MODULE", name)


def pybind11(made, name):
    return with_def(made, "pybind11/pybind11.h", "PYBIND11_MODULE", name)


CYTHON_TYPES = dict(C_TYPES, b="bint")


def cython(made, name):
    del name  # the module is named after its file
    declared = defined = ""
    for function in made:
        types = [CYTHON_TYPES[code] for code in function.arguments]
        names = ["a%d" % i for i in range(len(types))]
        declared += '    %s native_%s "%s"(%s) noexcept nogil\n' % (
            CYTHON_TYPES[function.result], function.name, function.name, ", ".join(types))
        defined += "def %s(%s):\n    %snative_%s(%s)\n\n" % (
            function.name, ", ".join(" ".join(pair) for pair in zip(types, names)),
            "return " if function.result else "", function.name, ", ".join(names))
    return 'cdef extern from "natives.h":\n%s\n%s' % (declared, defined)


def cffi(made, name):
    from cffi import FFI
    ffi = FFI()
    ffi.cdef("".join("%s %s(%s);" % (C_TYPES[function.result], function.name,
                                     function.parameters() or "void") for function in made))
    ffi.set_source(name, '#include "natives.h"')
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "made.c")
        with contextlib.redirect_stdout(io.StringIO()):
            ffi.emit_c_code(path)
        with open(path, encoding="utf-8") as text:
            return text.read()


def tvm_ffi(made, name):
    del name  # a library has no module name
    return '#include <tvm/ffi/tvm_ffi.h>\n#include "natives.h"\n' + "".join(
        "TVM_FFI_DLL_EXPORT_TYPED_FUNC(%s, ::%s);\n" % (function.name, function.name)
        for function in made)
