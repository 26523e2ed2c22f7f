// Tests a thread that is inside a function with releases_gil when the interpreter ends. Objects
// must not be destroyed without the GIL.
#include "typedcall/provider.h"

// After Python.h.
#include <gtest/gtest.h>

#include "tests/support/interpreter_end.h"

namespace {

double wait_with(const void *, double x) noexcept { return typedcall_test::WaitInside(x); }

typedcall::method_table methods{typedcall::def<wait_with>("wait_with", typedcall::releases_gil),
                                typedcall::def<typedcall_test::WaitInside>(
                                    "wait", typedcall::releases_gil, typedcall::arg("x"))};
TYPEDCALL_MODULE(ending, "Functions that let the GIL go.", methods);

/// Returns a new reference to a function of a new module.
PyObject *Function(const char *name) {
  PyObject *const module = PyInit_ending();
  PyObject *const spec = PyObject_CallMethod(PyImport_ImportModule("types"), "SimpleNamespace", "");
  PyObject_SetAttrString(spec, "name", PyUnicode_FromString("ending"));
  PyObject *const made = PyModule_FromDefAndSpec(reinterpret_cast<PyModuleDef *>(module), spec);
  if (made == nullptr || PyModule_ExecDef(made, reinterpret_cast<PyModuleDef *>(module)) < 0) {
    return nullptr;
  }
  return PyObject_GetAttrString(made, name);
}

void CallWithBuffer() {
  typedcall::object_ref buffer = typedcall::object_ref::steal(PyBytes_FromString("12345678"));
  PyObject_CallFunction(Function("wait_with"), "Od", buffer.get(), 1.0);
}

void CallWithKeyword() {
  typedcall::object_ref arguments = typedcall::object_ref::steal(PyTuple_New(0));
  typedcall::object_ref keywords = typedcall::object_ref::steal(Py_BuildValue("{sd}", "x", 1.0));
  PyObject_Call(Function("wait"), arguments.get(), keywords.get());
}

TEST(ExitTest, WrappersOfOtherThreadsStop) {
  EXPECT_EXIT(typedcall_test::EndPythonDuring(CallWithBuffer), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(typedcall_test::EndPythonDuring(CallWithKeyword), testing::ExitedWithCode(0), "");
}

}  // namespace
