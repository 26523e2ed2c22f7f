// Python as functions need it that other libraries call: in any thread, also when the interpreter
// has ended.
#ifndef TYPEDCALL_PYTHON_HOME_H_
#define TYPEDCALL_PYTHON_HOME_H_

#include "typedcall/attach.h"
// attach.h comes first, because of Python.h.
#include <atomic>

namespace typedcall::python {

/// What functions need Python of. Never freed: what has them may outlive the interpreter.
struct home {
  internal::home_interpreter interpreter;
  std::atomic<bool> is_closed{false};

  bool is_main() const { return interpreter.state() == PyInterpreterState_Main(); }
  /// A thread that waited for it now would wait for ever.
  bool has_ended() const {
#if PY_VERSION_HEX >= 0x030D0000
    const bool is_ending = Py_IsFinalizing() != 0 || !Py_IsInitialized();
#else
    const bool is_ending = _Py_IsFinalizing() != 0 || !Py_IsInitialized();
#endif
    return is_ending || is_closed.load(std::memory_order_acquire);
  }

  /// Runs `body` with a thread state; what is pending there stays. False: there is none any more.
  template <class Body>
  __attribute__((noinline)) bool attached(PyObject *callable, const Body &body) const {
    const auto run = [&](bool) {
      PyObject *kind, *exception, *traceback;
      PyErr_Fetch(&kind, &exception, &traceback);
      body();
      PyErr_Restore(kind, exception, traceback);
      return true;
    };
    return !has_ended() && internal::run_attached_to(interpreter, callable, run);
  }
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_HOME_H_
