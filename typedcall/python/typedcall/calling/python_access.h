// Access to Python for functions that are called in any thread, even after the interpreter has
// ended.
#ifndef TYPEDCALL_PYTHON_CALLING_PYTHON_ACCESS_H_
#define TYPEDCALL_PYTHON_CALLING_PYTHON_ACCESS_H_

#include "typedcall/base/attach.h"
#include "typedcall/provider.h"
// After Python.h.
#include <atomic>
#include <memory>

namespace typedcall::python {

/// The interpreter that a function enters to call Python. Never freed, because functions may
/// outlive the interpreter.
struct python_access {
  internal::home_interpreter interpreter;
  std::atomic<bool> is_closed{false};

  /// Returns the access to the current interpreter, or null with MemoryError set. GIL: held.
  static python_access *make() {
    auto made = std::make_unique<python_access>();
    return made->interpreter.set_current() ? made.release() : nullptr;
  }

  bool is_main() const { return interpreter.state() == PyInterpreterState_Main(); }
  /// True if Python has ended or is ending. A thread that waits for the GIL then never returns.
  bool has_ended() const {
    return internal::python_is_ending() || is_closed.load(std::memory_order_acquire);
  }

  /// Explains why attached() could not get a thread state.
  const char *why_detached() const {
    return has_ended() ? "the Python interpreter has ended" : "no memory for a Python thread state";
  }

  /// Runs `body` with a thread state. An exception that is already pending stays pending. Returns
  /// false if no thread state is available.
  template <class Body>
  __attribute__((noinline)) bool attached(PyObject *callable, const Body &body) const {
    const auto run = [&](bool) {
      const PyTypedcall_SavedError pending = PyTypedcall_SaveError();
      body();
      PyTypedcall_RestoreError(pending);
      return true;
    };
    return !has_ended() && internal::run_attached_to(interpreter, callable, run);
  }

  /// Destroys an object whose destructor needs the GIL. May be called from any thread. Leaks the
  /// object if Python has ended.
  template <class T>
  void destroy(T *made) const {
    attached(nullptr, [made] { delete made; });
  }
};

/// True in the main interpreter. Otherwise sets an ImportError with the text `where_else`, and
/// returns false.
inline bool is_main_interpreter(const char *where_else) {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError, where_else);
  return false;
}

/// True if modules of this kind can be imported in this interpreter. Otherwise sets ImportError and
/// returns false.
inline bool is_interpreter_supported() {
#if PY_VERSION_HEX < 0x030C0000
  return is_main_interpreter("before Python 3.12: in the main interpreter only");
#else
  return true;
#endif
}

/// The state of an extension module that has one python_access for each interpreter.
struct state_with_access : module_state {
  static constexpr bool runs_without_gil = true;
  python_access *where = nullptr;

  int exec(PyObject *) {
    if (is_interpreter_supported()) where = python_access::make();
    return where != nullptr ? 0 : -1;
  }
  /// Closes the access when a subinterpreter ends. That to the main interpreter stays open for
  /// atexit functions; python_is_ending() detects the end of the main interpreter.
  void end() const {
    if (!where->is_main()) where->is_closed.store(true, std::memory_order_release);
  }
  ~state_with_access() {
    if (where != nullptr) where->is_closed.store(true, std::memory_order_release);
  }
};

/// The state of an extension module for a library that is loaded once per process. The module runs
/// only in the main interpreter.
struct state_with_one_access : module_state {
  static constexpr bool runs_without_gil = true;
  static constexpr bool supports_interpreters = false;
  static inline python_access *where = nullptr;

  int exec(PyObject *) {
    // CPython makes no such check for subinterpreters that share the main interpreter's GIL.
    if (!is_main_interpreter("in the main interpreter only")) return -1;
    if (where == nullptr) where = python_access::make();
    return where != nullptr ? 0 : -1;
  }
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_PYTHON_ACCESS_H_
