// For compiled code: calls the Python callable with the same values if a native function falls back
// or does not accept a value, and surrounds calls that need a thread state or raise.
#ifndef TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_
#define TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_

#include "typedcall/loop.h"
// First because it includes Python.h.
#include <cstdint>
#include <cstring>
#include <memory>

namespace typedcall::python {

/// The callable to call, and its types. Never freed, like the code that has its address; the
/// creator keeps the callable alive.
struct fall_back_plan {
  typedcall::internal::element_plan types;
  typedcall::internal::callable_at_home callee;

  /// `signature` is the one that Python sees: "d->d". Returns null with ValueError if it is
  /// invalid, or with MemoryError. Throws std::bad_alloc. GIL: held.
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

/// The key in a thread state's dictionary for the exception that is leaving compiled code.
inline constexpr char kRaised[] = "typedcall.raised";

/// Moves the pending exception to the thread's state, if there is memory for that.
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

/// Sets the exception that put_exception_aside() left for this thread, unchanged: `raise` would
/// give it another __context__. Always returns NULL, with an exception. GIL: held.
inline PyObject *raise_again() {
  PyObject *const known = PyThreadState_GetDict();
  PyObject *value = known != nullptr ? PyDict_GetItemString(known, kRaised) : nullptr;
  if (value == nullptr) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "an exception was lost: another thread's, or one that there was no memory to keep");
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

/// Handles the pending exception. With `clears` it is dropped, as by `except Exception`; exceptions
/// that end programs are kept. Otherwise it is put aside, or, if the thread's state is about to go
/// (`is_known` false), passed to sys.unraisablehook.
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

/// Calls the plan's callable with `values` and stores the result at `place`. Returns 0, or -1 with
/// the exception taken; see take_exception(). After the interpreter has ended there is no
/// exception: the caller of the compiled code stops when it takes the GIL. GIL: none, or held.
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

/// Nonzero if this thread is attached. Checked once where code is entered.
inline int is_attached() { return PyTypedcall_IsAttached(); }

/// enter() returns a PyGILState_STATE, with this bit if the thread already had a state.
inline constexpr int kKnown = 2;

/// Attaches the thread, or stops it for good if Python has ended, as Numba's own wrappers around
/// compiled code do when it returns. GIL: none.
inline int enter() {
  typedcall::internal::stop_if_stateless_at_the_end();
  const int known = PyGILState_GetThisThreadState() != nullptr ? kKnown : 0;
  return run_python([known] { return known | static_cast<int>(PyGILState_Ensure()); });
}

/// GIL: held.
inline void leave(int entered) {
  PyGILState_Release(static_cast<PyGILState_STATE>(entered & ~kKnown));
}

/// The modes of check().
enum : int { kClears = 1, kFailed = 4 };  // kKnown is between

/// Called after a call whose result may mean that an exception is set. Nonzero if one was, and has
/// been taken; with kFailed there must be one. GIL: held.
inline int check(PyObject *callable, int how) {
  if ((how & kFailed) != 0) typedcall::internal::set_missing_error();
  if (PyErr_Occurred() == nullptr) return 0;
  take_exception(callable, (how & kClears) != 0, (how & kKnown) != 0);
  return 1;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_
