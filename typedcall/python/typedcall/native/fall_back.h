// For compiled code: where a native function falls back, or does not take a value, the call of the
// Python callable with the same values; and what is around one that needs a thread state or raises.
#ifndef TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_
#define TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_

#include "typedcall/loop.h"
// It comes first, because of Python.h.
#include <cstdint>
#include <cstring>
#include <memory>

namespace typedcall::python {

/// What to call, and with which types. For ever, as the code that has its address: whoever makes
/// one keeps the callable.
struct fall_back_plan {
  typedcall::internal::element_plan types;
  typedcall::internal::callable_at_home callee;

  /// `signature` is of what Python passes and gets: "d->d". Null with ValueError where the text is
  /// no signature, or with MemoryError. Throws std::bad_alloc. GIL: held.
  static const fall_back_plan *make(PyObject *callable, const char *signature) {
    PyNativeSignature parsed;
    if (!typedcall::internal::check_signature(signature, &parsed)) return nullptr;
    std::unique_ptr<fall_back_plan> made(new fall_back_plan);
    made->types.inputs.assign(parsed.args, parsed.args + parsed.nargs);
    made->types.output = parsed.result;
    if (!made->callee.set(callable, made->types.inputs.size())) return nullptr;
    return made.release();
  }
};

/// In the dictionary of a thread's state: the exception that compiled code is letting out.
inline constexpr char kRaised[] = "typedcall.raised";

/// Takes the pending exception away; it waits in the thread's state, if there is memory for that.
inline void put_exception_aside() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  PyObject *const known = PyThreadState_GetDict();
  if (known != nullptr && PyDict_SetItemString(known, kRaised, value) < 0) PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

/// Sets what put_exception_aside() has left for this thread, as it was: a `raise` would give it
/// another __context__. Always NULL, with an exception. GIL: held.
inline PyObject *raise_again() {
  PyObject *const known = PyThreadState_GetDict();
  PyObject *value = known != nullptr ? PyDict_GetItemString(known, kRaised) : nullptr;
  if (value == nullptr) {
    PyErr_SetString(PyExc_RuntimeError,
                    "an exception was lost: of another thread, or there was no memory to keep it");
    return nullptr;
  }
  Py_INCREF(value);
  if (PyDict_DelItemString(known, kRaised) == 0) {
    PyObject *const type = reinterpret_cast<PyObject *>(Py_TYPE(value));
    Py_INCREF(type);
    PyErr_Restore(type, value, PyException_GetTraceback(value));
  } else {
    Py_DECREF(value);
  }
  return nullptr;
}

/// What becomes of the pending exception. With `clears` it is let go, as `except Exception` does;
/// what ends programs is not lost. Else it is put aside, or of a thread whose state is about to go,
/// `is_known` false, sys.unraisablehook gets it.
__attribute__((noinline, cold)) inline void take_exception(PyObject *callable, bool clears,
                                                           bool is_known) {
  const bool is_let_go = clears && (PyErr_ExceptionMatches(PyExc_Exception) != 0 ||
                                    PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0);
  if (is_let_go) {
    typedcall::internal::clear_exception();
  } else if (is_known && !clears) {
    put_exception_aside();
  } else {
    PyErr_WriteUnraisable(callable);
  }
}

/// Calls the plan's callable with `values` and puts the result behind `place`. Returns 0, or -1
/// with the exception taken; see take_exception(). Where there is no interpreter any more there is
/// no exception: who called the compiled code stops when it asks for the GIL. GIL: none, or held.
inline int fall_back(const fall_back_plan *plan, const native_value *values, void *place,
                     int clears) {
  wide_value result = {};
  const auto call = [&](bool is_known) {
    if (typedcall::internal::call_element(plan->callee, plan->types, values, &result)) return true;
    take_exception(plan->callee.get(), clears != 0, is_known);
    return false;
  };
  if (!plan->callee.attached(call)) return -1;
  std::memcpy(place, &result, PyNativeType_Size(plan->types.output));
  return 0;
}

// For compiled code around a native function that needs a thread state.

/// Nonzero: this thread is attached. Asked once where code is entered.
inline int is_attached() { return PyTypedcall_IsAttached(); }

/// What enter() returns: a PyGILState_STATE, and this bit where the thread had a state before.
inline constexpr int kKnown = 2;

/// Attaches the thread, and stops it for good where Python has ended: so do Numba's own wrappers
/// around compiled code, when that returns. GIL: none.
inline int enter() {
  typedcall::internal::stop_if_stateless_at_the_end();
  const int known = PyGILState_GetThisThreadState() != nullptr ? kKnown : 0;
  return run_python([known] { return known | static_cast<int>(PyGILState_Ensure()); });
}

/// GIL: held.
inline void leave(int entered) {
  PyGILState_Release(static_cast<PyGILState_STATE>(entered & ~kKnown));
}

/// How check() is asked.
enum : int { kClears = 1, kFailed = 4 };  // kKnown is between

/// Behind a call whose result may say that an exception is set. Nonzero: so it is, and it has been
/// taken; with kFailed one there must be. GIL: held.
inline int check(PyObject *callable, int how) {
  if ((how & kFailed) != 0) typedcall::internal::set_missing_error();
  if (PyErr_Occurred() == nullptr) return 0;
  take_exception(callable, (how & kClears) != 0, (how & kKnown) != 0);
  return 1;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_
