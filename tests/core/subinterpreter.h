// Subinterpreters that end with a scope.
#ifndef TYPEDCALL_TESTS_CORE_SUBINTERPRETER_H_
#define TYPEDCALL_TESTS_CORE_SUBINTERPRETER_H_

#include <Python.h>

namespace typedcall_test {

class Subinterpreter {
 public:
  Subinterpreter() : outer_(PyThreadState_Get()), inner_(Py_NewInterpreter()) {}
  ~Subinterpreter() { End(); }
  Subinterpreter(const Subinterpreter &) = delete;
  Subinterpreter &operator=(const Subinterpreter &) = delete;

  /// True if the interpreter was created and entered.
  bool Entered() const { return inner_ != nullptr; }
  void Leave() { PyThreadState_Swap(outer_); }
  void Enter() { PyThreadState_Swap(inner_); }
  void End() {
    if (inner_ == nullptr) return;
    Enter();
    Py_EndInterpreter(inner_);
    inner_ = nullptr;
    Leave();
  }

 private:
  PyThreadState *outer_, *inner_;
};

#if PY_VERSION_HEX >= 0x030C0000
/// A subinterpreter with its own GIL, for a thread that has no thread state.
class OwnGilInterpreter {
 public:
  OwnGilInterpreter() {
    PyInterpreterConfig config = {};
    config.check_multi_interp_extensions = 1;
    config.gil = PyInterpreterConfig_OWN_GIL;
    status_ = Py_NewInterpreterFromConfig(&state_, &config);
  }
  ~OwnGilInterpreter() {
    if (state_ != nullptr) Py_EndInterpreter(state_);
  }
  OwnGilInterpreter(const OwnGilInterpreter &) = delete;
  OwnGilInterpreter &operator=(const OwnGilInterpreter &) = delete;

  bool Entered() const { return state_ != nullptr; }
  /// Returns the error message if the interpreter could not be created.
  const char *Error() const { return status_.err_msg; }

 private:
  PyThreadState *state_ = nullptr;
  PyStatus status_;
};
#endif

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_CORE_SUBINTERPRETER_H_
