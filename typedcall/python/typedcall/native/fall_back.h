// Functions for compiled code: they call Python if a native function falls back or does not accept
// a value, attach threads, and check for exceptions.
#ifndef TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_
#define TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_

#include "typedcall/calling.h"
#include "typedcall/fallback.h"
// After Python.h.
#include <cstdint>
#include <cstring>
#include <memory>

namespace typedcall::python {

/// A callable and the types of its arguments and result. Never freed, because compiled code
/// contains its address. Holds the callable, because a destructor may run compiled code after
/// Python has cleared its modules.
struct fall_back_plan {
  calling::description types;
  typedcall::internal::callable_at_home callee;

  /// `signature` is the signature in Python, such as "d->d". Returns null with ValueError or
  /// MemoryError set on failure. Throws std::bad_alloc. GIL: held.
  static const fall_back_plan *make(PyObject *callable, const char *signature) {
    PyNativeSignature parsed;
    if (!typedcall::internal::check_signature(signature, &parsed)) return nullptr;
    std::unique_ptr<fall_back_plan> made(new fall_back_plan);
    made->types = calling::description(parsed);
    if (!made->callee.set(callable, made->types.parameters.size())) return nullptr;
    Py_INCREF(callable);
    return made.release();
  }
};

/// The key of the exception that is leaving compiled code, in a thread state's dictionary.
inline constexpr char kRaised[] = "typedcall.raised";

/// Moves the pending exception to the thread state's dictionary, unless memory runs out.
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

/// Sets the exception that put_exception_aside() stored for this thread. A `raise` statement would
/// change its __context__. Always returns NULL, with an exception set. GIL: held.
inline PyObject *raise_again() {
  PyObject *const known = PyThreadState_GetDict();
  object_ref value = object_ref::steal(PyTC_Look(known, kRaised));
  if (value && PyDict_DelItemString(known, kRaised) < 0) PyErr_Clear();
  // C code of other modules can write to the dictionary.
  if (!value || !PyExceptionInstance_Check(value.get())) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "an exception was lost: it is another thread's, or there was no memory to keep it");
    return nullptr;
  }
  PyObject *const type = reinterpret_cast<PyObject *>(Py_TYPE(value.get()));
  PyObject *const traceback = PyException_GetTraceback(value.get());
  PyErr_Restore(object_ref::borrow(type).release(), value.release(), traceback);
  return nullptr;
}

/// Handles the pending exception. If `clears` is true, clears an Exception or an interrupt, and
/// passes any other exception to sys.unraisablehook. Otherwise puts the exception aside or, if
/// `is_known` is false, passes it to sys.unraisablehook, because the thread state will be deleted.
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

/// Calls the plan's callable with `values` and stores the result at `place`. Returns 0, or -1 after
/// take_exception(). If the interpreter has ended, returns -1 with no exception set. The caller of
/// the compiled code then stops when it takes the GIL. GIL: none, or held.
inline int fall_back(const fall_back_plan *plan, const native_value *values, void *place,
                     int clears) {
  wide_value result = {};
  const auto call = [&](bool is_known) {
    if (typedcall::internal::call_element(plan->callee, plan->types, values, &result)) return true;
    take_exception(plan->callee.get(), clears != 0, is_known);
    return false;
  };
  if (!plan->callee.attached(call)) return -1;
  std::memcpy(place, &result, plan->types.result.size);
  return 0;
}

// Compiled code calls the functions below around a native function that needs a thread state.

/// Returns nonzero if this thread is attached.
inline int is_attached() { return PyTypedcall_IsAttached(); }

/// The bit that enter() adds to its PyGILState_STATE if the thread already had a state.
inline constexpr int kKnown = 2;

/// Attaches the thread. If Python has ended, stops the thread forever, as Numba's wrappers do. GIL:
/// none.
inline int enter() {
  typedcall::internal::stop_if_stateless_at_the_end();
  const int known = PyGILState_GetThisThreadState() != nullptr ? kKnown : 0;
  return run_python([known] { return known | static_cast<int>(PyGILState_Ensure()); });
}

/// GIL: held.
inline void leave(int entered) {
  PyGILState_Release(static_cast<PyGILState_STATE>(entered & ~kKnown));
}

/// The modes of check(), to be combined with kKnown.
enum : int { kClears = 1, kFailed = 4 };  // 2 is kKnown

/// Compiled code calls this if a result may mean that an exception is set. Returns nonzero after
/// take_exception() has handled an exception. With kFailed, sets an exception if the function has
/// not. GIL: held.
inline int check(PyObject *callable, int how) {
  if ((how & kFailed) != 0) typedcall::internal::set_missing_error();
  if (PyErr_Occurred() == nullptr) return 0;
  take_exception(callable, (how & kClears) != 0, (how & kKnown) != 0);
  return 1;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_FALL_BACK_H_
