// main() of the GoogleTest programs that embed an interpreter. The interpreter starts before the
// first test and ends after the last one.
#include "tests/support/embedded.h"

#include <cstdio>
#include <cstdlib>

#include "gtest/gtest.h"
#include "typedcall_python_config.h"

namespace typedcall_test {

namespace {

[[noreturn]] void Die(const PyStatus &status) {
  std::fprintf(stderr, "Python does not start: %s\n", status.err_msg ? status.err_msg : "?");
  std::exit(1);
}

}  // namespace

void StartPython() {
  PyConfig config;
  // The isolated configuration ignores PYTHONMALLOC, which the sanitizers need.
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  config.user_site_directory = 0;
  config.write_bytecode = 0;
  const PyStatus status = typedcall_python_start(&config);
  if (PyStatus_Exception(status)) Die(status);
}

int StopPython() { return Py_FinalizeEx(); }

Scope::Scope() : globals_(Ref::Steal(PyDict_New())) {
  Set("__builtins__", PyEval_GetBuiltins());
  Set("__name__", Ref::Steal(PyUnicode_FromString("__test__")).get());
}

void Scope::Set(const char *name, PyObject *borrowed) {
  ASSERT_NE(borrowed, nullptr) << name << ": " << TakeError();
  ASSERT_EQ(PyDict_SetItemString(globals_.get(), name, borrowed), 0) << TakeError();
}

bool Scope::Run(const std::string &code) {
  Ref done = Ref::Steal(PyRun_String(code.c_str(), Py_file_input, globals_.get(), globals_.get()));
  if (!done) ADD_FAILURE() << TakeError() << "\nin\n" << code;
  return static_cast<bool>(done);
}

Ref Scope::Eval(const std::string &expression) {
  Ref value =
      Ref::Steal(PyRun_String(expression.c_str(), Py_eval_input, globals_.get(), globals_.get()));
  if (!value) ADD_FAILURE() << TakeError() << "\nin\n" << expression;
  return value;
}

std::string TakeError() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return "";
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref owned[] = {Ref::Steal(type), Ref::Steal(value), Ref::Steal(traceback)};
  Ref text = Ref::Steal(PyObject_Str(value));
  const char *utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string words = reinterpret_cast<PyTypeObject *>(type)->tp_name;
  words += ": ";
  words += utf8 ? utf8 : "?";
  PyErr_Clear();
  return words;
}

void Collect() {
  while (PyGC_Collect() > 0) {
  }
}

bool ClassesCanDie() {
  Scope scope;
  scope.Run("import weakref\nclass X: pass\nreference = weakref.ref(X)\ndel X");
  Collect();
  return scope.Eval("reference() is None").get() == Py_True;
}

}  // namespace typedcall_test

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  typedcall_test::StartPython();
  const int failed = RUN_ALL_TESTS();
  const int unflushed = typedcall_test::StopPython();
  return failed != 0 || unflushed != 0 ? 1 : 0;
}
