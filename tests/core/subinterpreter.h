// A subinterpreter for the length of a scope, so that a test finds an interpreter where nobody has
// imported anything of ours.
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

  /// Is it there, and the calling thread in it?
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

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_CORE_SUBINTERPRETER_H_
