// Tests threads that are running Python code inside C++ functions when the interpreter ends.
// CPython before 3.14 unwinds their stacks, which must not terminate the process.
#include "typedcall/boxed_call.h"
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

// After Python.h.
#include <gtest/gtest.h>

#include <complex>
#include <stdexcept>

#include "tests/support/interpreter_end.h"

namespace {

using typedcall::object_ref;
using typedcall_test::EndPythonDuring;
using typedcall_test::kPassed;
using typedcall_test::Waiting;

constexpr int kStopped = 0;

PyObject *Call(PyObject *callable) { return PyObject_CallObject(callable, nullptr); }

// --- The functions -------------------------------------------------------------------------------

PyObject *may_throw(PyObject *callable) { return Call(callable); }
PyObject *in_c(PyObject *callable) { return Call(callable); }
double status_by_throwing(PyObject *callable) {
  object_ref::steal(Call(callable));
  return 1;
}
void nothing(PyObject *callable) { object_ref::steal(Call(callable)); }
int by_status(PyObject *callable, double *result) {
  *result = 1;
  return object_ref::steal(Call(callable)) ? 0 : -1;
}
PyObject *of_self(PyObject *, PyObject *callable) { return Call(callable); }
// With run_python(), a function that runs Python code can be noexcept.
PyObject *in_run_python(PyObject *callable) noexcept {
  return typedcall::run_python([callable] { return Call(callable); });
}
PyObject *boxed(PyObject *callable) noexcept {
  PyObject *result = nullptr;
  typedcall::boxed_call(callable, &result, callable, 2.5);
  return result;
}
PyObject *boxed_result(PyObject *callable) noexcept {
  double result;
  return typedcall::boxed_call(callable, &result) ? PyFloat_FromDouble(result) : nullptr;
}
PyObject *resolved(PyObject *callable) noexcept {
  return typedcall::resolve<double(double)>(PyTypedcall_Import(), callable) ? PyLong_FromLong(1)
                                                                            : nullptr;
}
// Destroys the result of the callable in this thread.
PyObject *let_go(PyObject *callable) noexcept {
  object_ref last = object_ref::steal(Call(callable));
  last = object_ref();
  Py_RETURN_NONE;
}
PyObject *translated(PyObject *callable) { throw object_ref::borrow(callable); }
void Translate() {
  try {
    throw;
  } catch (const object_ref &callable) {
    object_ref::steal(Call(callable.get()));
  }
}
// The interpreter ends while the thread is inside an exception handler.
PyObject *in_handler(PyObject *callable) {
  try {
    throw std::runtime_error("handled");
  } catch (const std::exception &) {
    return Call(callable);
  }
}
double with_buffer(const void *, double x) noexcept { return x; }
double release(double x) noexcept { return typedcall_test::WaitInside(x); }
double real(double x) noexcept { return x; }
long whole(long x) noexcept { return x; }
double named(double x, PyObject *callable) {
  return Call(callable) != nullptr ? x : typedcall::error_value<double>();
}
std::complex<double> complexes(std::complex<double> x) noexcept { return x; }
bool truth(bool x) noexcept { return x; }

typedcall::method_table methods{
    typedcall::def<may_throw>("may_throw"),
    typedcall::def<in_c>("in_c", typedcall::nothrow),
    typedcall::def<status_by_throwing>("status_by_throwing"),
    typedcall::def<nothing>("nothing"),
    typedcall::def<by_status>("by_status", typedcall::returns_status),
    typedcall::def<of_self>("of_self", typedcall::takes_self),
    typedcall::def<in_run_python>("in_run_python"),
    typedcall::def<boxed>("boxed"),
    typedcall::def<boxed_result>("boxed_result"),
    typedcall::def<resolved>("resolved"),
    typedcall::def<let_go>("let_go"),
    typedcall::def<translated>("translated"),
    typedcall::def<in_handler>("in_handler"),
    typedcall::def<with_buffer>("with_buffer"),
    typedcall::def<release>("release", typedcall::releases_gil),
    typedcall::def<real>("real"),
    typedcall::def<whole>("whole"),
    typedcall::def<complexes>("complexes"),
    typedcall::def<truth>("truth"),
    typedcall::def<named>("named", typedcall::arg("x"), typedcall::arg("callable") = nullptr),
    typedcall::def<whole, real>("overloaded"),
};
struct unwinding_state : typedcall::module_state {
  int exec(PyObject *) {
    typedcall::set_exception_translator(Translate);
    return 0;
  }
};
TYPEDCALL_MODULE_STATE(unwinding, "Functions that run Python code.", methods, unwinding_state);

/// Returns a new reference to a new module.
PyObject *Module() {
  PyObject *const definition = PyInit_unwinding();
  PyObject *const spec = PyObject_CallMethod(PyImport_ImportModule("types"), "SimpleNamespace", "");
  PyObject_SetAttrString(spec, "name", PyUnicode_FromString("unwinding"));
  PyObject *const made = PyModule_FromDefAndSpec(reinterpret_cast<PyModuleDef *>(definition), spec);
  if (made == nullptr || PyModule_ExecDef(made, reinterpret_cast<PyModuleDef *>(definition)) < 0) {
    PyErr_Print();
    _exit(3);
  }
  return made;
}

/// Ends the interpreter while the call runs Python code. `arguments` is the source of a tuple.
[[noreturn]] void During(const char *function, const char *arguments) {
  PyObject *const called = PyObject_GetAttrString(Module(), function);
  PyObject *const given = Waiting(arguments);
  EndPythonDuring([=] { PyObject_Call(called, given, nullptr); });
}

#define EXPECT_END(how, ...) \
  EXPECT_EXIT(During(__VA_ARGS__), testing::ExitedWithCode(how), "") << #__VA_ARGS__

TEST(UnwindingTest, FunctionsThatMayThrowStop) {
  EXPECT_END(kStopped, "may_throw", "(wait,)");
  EXPECT_END(kStopped, "status_by_throwing", "(wait,)");
  EXPECT_END(kStopped, "nothing", "(wait,)");
  EXPECT_END(kStopped, "by_status", "(wait,)");
  EXPECT_END(kStopped, "of_self", "(wait,)");
  EXPECT_END(kStopped, "named", "(1.0, wait)");
}

TEST(UnwindingTest, FunctionsInCAreUnwound) { EXPECT_END(kPassed, "in_c", "(wait,)"); }

TEST(UnwindingTest, FunctionsThatAreNoexceptStopWhereOurHeadersRunTheCode) {
  EXPECT_END(kStopped, "in_run_python", "(wait,)");
  EXPECT_END(kStopped, "boxed", "(lambda *arguments: wait(),)");
  EXPECT_END(kStopped, "boxed_result", "(lambda: Waiting(),)");
  EXPECT_END(kStopped, "resolved", "(Waiting(),)");
}

TEST(UnwindingTest, DestructorsStop) { EXPECT_END(kStopped, "let_go", "(Dying,)"); }

TEST(UnwindingTest, Translators) { EXPECT_END(kStopped, "translated", "(wait,)"); }

TEST(UnwindingTest, Conversions) {
  EXPECT_END(kPassed, "real", "(Waiting(),)");
  EXPECT_END(kPassed, "whole", "(Waiting(),)");
  EXPECT_END(kPassed, "complexes", "(Waiting(),)");
  EXPECT_END(kPassed, "truth", "(Waiting(),)");
  EXPECT_END(kPassed, "named", "(Waiting(),)");
  EXPECT_END(kPassed, "overloaded", "(Waiting(),)");
  // Here the buffer is not released.
  EXPECT_END(kPassed, "with_buffer", "(bytearray(8), Waiting())");
}

TEST(UnwindingTest, WhileAnExceptionIsHandled) {
  const auto handled = [](const char *inner, const char *arguments) {
    // Calls `lambda: inner(*arguments)` inside an exception handler.
    PyObject *const module = Module();
    PyObject *const partial =
        PyObject_CallFunction(PyObject_GetAttrString(PyImport_ImportModule("functools"), "partial"),
                              "NN", PyObject_GetAttrString(module, inner), Waiting(arguments));
    PyObject *const outer = PyObject_GetAttrString(module, "in_handler");
    EndPythonDuring([=] { PyObject_CallFunctionObjArgs(outer, partial, nullptr); });
  };
  EXPECT_EXIT(handled("may_throw", "wait"), testing::ExitedWithCode(kStopped), "");
  EXPECT_EXIT(handled("boxed", "lambda *arguments: wait()"), testing::ExitedWithCode(kStopped), "");
  EXPECT_EXIT(handled("release", "1.0"), testing::ExitedWithCode(kStopped), "");
  EXPECT_EXIT(handled("let_go", "Dying"), testing::ExitedWithCode(kStopped), "");
}

// Before 3.12, creating an exception can trigger a garbage collection, which can run Python code.
#if PY_VERSION_HEX < 0x030C0000
TEST(UnwindingTest, Messages) {
  const auto wrong = [](const char *function, const char *arguments) {
    PyObject *const call = Waiting("call_while_collecting");
    PyObject *const called = PyObject_GetAttrString(Module(), function);
    PyObject *const given = PySequence_Concat(PyTuple_Pack(1, called), Waiting(arguments));
    EndPythonDuring([=] { PyObject_Call(call, given, nullptr); });
  };
  EXPECT_EXIT(wrong("named", "()"), testing::ExitedWithCode(kPassed), "");
  EXPECT_EXIT(wrong("overloaded", "(None,)"), testing::ExitedWithCode(kPassed), "");
  EXPECT_EXIT(wrong("overloaded", "(1 << 80,)"), testing::ExitedWithCode(kPassed), "");
}
#endif

}  // namespace
