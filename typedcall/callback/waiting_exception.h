// Holds a callback's exception until the library that called the callback has returned. Used by
// typedcall/callback.h and by the package's callbacks.
#ifndef TYPEDCALL_CALLBACK_WAITING_EXCEPTION_H_
#define TYPEDCALL_CALLBACK_WAITING_EXCEPTION_H_

#include "typedcall/base/attach.h"
// attach.h comes first because it includes Python.h.
#include <atomic>

#include "typedcall/base/error_value.h"
#include "typedcall/base/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

class waiting_exception {
 public:
  waiting_exception() = default;
  waiting_exception(const waiting_exception &) = delete;
  waiting_exception &operator=(const waiting_exception &) = delete;

  bool is_there() const { return object_.load(std::memory_order_relaxed) != nullptr; }
  /// Returns a borrowed reference to the exception, for the garbage collector.
  PyObject *get() const { return object_.load(); }

  /// Attaches this thread to Python if necessary and runs `body`. Keeps the exception if `body`
  /// returns false. An exception that is already pending stays pending. Returns false if `body`
  /// returns false or if the interpreter has ended. `callee` is a callable_at_home.
  template <class Callee, class Body>
  TYPEDCALL_RARE bool run_attached(const Callee &callee, const Body &body) {
    bool is_done = false;
    callee.attached([&](bool) {
      const PyTypedcall_SavedError pending = PyTypedcall_SaveError();
      is_done = body();
      if (!is_done) keep(callee.get());
      PyTypedcall_RestoreError(pending);
      return true;
    });
    return is_done;
  }

  /// Keeps the pending exception, or SystemError if there is none. If an exception is already kept,
  /// passes the new one to sys.unraisablehook. GIL: held.
  void keep(PyObject *callable) {
    set_missing_error();
    PyObject *kind, *raised, *traceback, *none = nullptr;
    PyErr_Fetch(&kind, &raised, &traceback);
    PyErr_NormalizeException(&kind, &raised, &traceback);
    if (traceback != nullptr) PyException_SetTraceback(raised, traceback);
    if (object_.compare_exchange_strong(none, raised)) {
      Py_XDECREF(kind);
      Py_XDECREF(traceback);
    } else {
      PyErr_Restore(kind, raised, traceback);
      PyErr_WriteUnraisable(callable);
    }
  }

  /// Raises the kept exception. Returns false if no exception was kept. GIL: held.
  bool raise() {
    PyObject *const exception = object_.exchange(nullptr);
    if (exception == nullptr) return false;
    auto *const kind = reinterpret_cast<PyObject *>(Py_TYPE(exception));
    Py_INCREF(kind);
    PyErr_Restore(kind, exception, PyException_GetTraceback(exception));
    return true;
  }

  /// If an exception is still kept, passes it to sys.unraisablehook. A pending exception stays
  /// pending. GIL: held.
  void tell(PyObject *callable) {
    if (!is_there()) return;
    const PyTypedcall_SavedError pending = PyTypedcall_SaveError();
    if (raise()) PyErr_WriteUnraisable(callable);
    PyTypedcall_RestoreError(pending);
  }

 private:
  std::atomic<PyObject *> object_{nullptr};  // owned
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLBACK_WAITING_EXCEPTION_H_
