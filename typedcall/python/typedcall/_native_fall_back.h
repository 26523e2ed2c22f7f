// For compiled code where a native function falls back, or does not take a value: the call of the
// Python callable with the same values, from any thread, with the GIL or without.
#ifndef TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_
#define TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_

#include "typedcall/loop.h"
// loop.h comes first, because of Python.h.
#include <cstdint>
#include <cstring>
#include <memory>

namespace typedcall::python {

/// What to call, and with which types. For ever, as the code that has its address: whoever makes
/// one keeps the callable.
struct fall_back_plan {
  typedcall::internal::element_plan types;
  PyObject *callable;
  PyInterpreterState *interpreter;

  /// `signature` is of what Python passes and gets: "d->d". Null with ValueError where the text is
  /// no signature. Throws std::bad_alloc. GIL: held.
  static const fall_back_plan *make(PyObject *callable, const char *signature) {
    PyNativeSignature parsed;
    if (!typedcall::internal::check_signature(signature, &parsed)) return nullptr;
    std::unique_ptr<fall_back_plan> made(
        new fall_back_plan{{}, callable, PyInterpreterState_Get()});
    made->types.inputs.assign(parsed.args, parsed.args + parsed.nargs);
    made->types.output = parsed.result;
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

/// Takes what put_exception_aside() has left for this thread: a new reference, or NULL with an
/// exception. GIL: held.
inline PyObject *take_raised() {
  PyObject *const known = PyThreadState_GetDict();
  PyObject *value = known != nullptr ? PyDict_GetItemString(known, kRaised) : nullptr;
  if (value == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "an exception of another thread was lost");
    return nullptr;
  }
  Py_INCREF(value);
  if (PyDict_DelItemString(known, kRaised) == 0) return value;
  Py_DECREF(value);
  return nullptr;
}

/// Calls the plan's callable with `values` and puts the result behind `place`. Returns 0, or -1
/// with the exception put aside, for take_raised(); in a thread without a state sys.unraisablehook
/// has got it. With `clears` nonzero it is let go. GIL: none, or held.
inline int fall_back(const fall_back_plan *plan, const native_value *values, void *place,
                     int clears) {
  wide_value result = {};
  const bool is_known = PyGILState_GetThisThreadState() != nullptr;
  const bool is_done = typedcall::internal::run_attached_to(plan->interpreter, plan->callable, [&] {
    if (typedcall::internal::call_element(plan->callable, plan->types, values, &result)) {
      return true;
    }
    if (clears != 0) {
      // As `except Exception` does; what ends programs is not lost.
      if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_SetInterrupt();
      } else if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_WriteUnraisable(plan->callable);
      }
      PyErr_Clear();
    } else if (is_known) {
      put_exception_aside();
    }
    return false;
  });
  if (!is_done) return -1;
  std::memcpy(place, &result, PyNativeType_Size(plan->types.output));
  return 0;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_
