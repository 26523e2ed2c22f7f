"""Tests that the consumer of docs/how-to/consumers.md finds the method that docs/how-to/cpp.md defines."""
import pathlib
import re

import support

SOURCE = """
#include "typedcall/provider.h"
#include "typedcall/resolve.h"
struct line { PyObject_HEAD double slope; };
%s
PyObject *make() {
  static PyMemberDef members[] = {{"slope", T_DOUBLE, offsetof(line, slope), 0, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_methods, methods.defs()}, {Py_tp_members, members}, {0, nullptr}};
  static PyType_Spec spec = {"together.Line", sizeof(line), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (type == nullptr || methods.tag(type) < 0) return nullptr;
  return type;
}
PyObject *call(PyObject *bound, PyObject *descriptor, PyObject *object) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == nullptr) return nullptr;
  %s
  if (!bound_f || !unbound_f) return nullptr;
  return Py_BuildValue("dd", bound_f(1.0), unbound_f(object, 1.0));
}
static typedcall::method_table functions{typedcall::def<make>("make"), typedcall::def<call>("call")};
TYPEDCALL_MODULE(together, "Two pages.", functions);
"""


def block(page, with_text):
    """Returns the C++ block of a page that contains a text."""
    text = pathlib.Path(support.MODULES, "../../../docs/how-to", page).resolve().read_text()
    found, = [each for each in re.findall(r"(?s)```cpp\n(.*?)```", text) if with_text in each]
    return found


class Methods(support.InAFolder):
    @support.ON_CPYTHON  # there are no consumers in C++ on PyPy
    def test_a_bound_and_an_unbound_method(self):
        source = SOURCE % (block("cpp.md", "double at(line *self"), block("consumers.md", "// line.at"))
        self.write("together.cc", "#include <Python.h>\n#include <structmember.h>\n" + source)
        support.compile_module(self.folder / "together.cc", self.folder)
        self.assertEqual(support.printed("-c", """if 1:
            import together
            Line = together.make()
            line = Line(); line.slope = 2.5
            print(together.call(line.at, Line.at, line))""", paths=[self.folder]), "(2.5, 2.5)")
