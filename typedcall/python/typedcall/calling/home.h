// Python for functions that other libraries call: in any thread, even after the interpreter has
// ended.
#ifndef TYPEDCALL_PYTHON_CALLING_HOME_H_
#define TYPEDCALL_PYTHON_CALLING_HOME_H_

#include "typedcall/base/attach.h"
#include "typedcall/provider.h"
// These come first because they include Python.h.
#include <atomic>
#include <memory>

namespace typedcall::python {

/// Functions need this to enter Python. Never freed, because they may outlive the interpreter.
struct home {
  internal::home_interpreter interpreter;
  std::atomic<bool> is_closed{false};

  /// Returns the home for this thread's interpreter, or null with MemoryError. GIL: held.
  static home *make() {
    auto made = std::make_unique<home>();
    return made->interpreter.set_current() ? made.release() : nullptr;
  }

  bool is_main() const { return interpreter.state() == PyInterpreterState_Main(); }
  /// If true, a thread that waits for the GIL never returns.
  bool has_ended() const {
    return internal::python_is_ending() || is_closed.load(std::memory_order_acquire);
  }

  /// Explains why there is no thread state.
  const char *why_detached() const {
    return has_ended() ? "the Python interpreter has ended" : "no memory for a thread of Python";
  }

  /// Runs `body` with a thread state, and keeps a pending exception there. Returns false if there
  /// is none.
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

  /// Destroys an object that needs the GIL for that, in any thread. Once Python has ended, the
  /// object is leaked.
  template <class T>
  void destroy(T *made) const {
    attached(nullptr, [made] { delete made; });
  }
};

/// Returns false with ImportError, whose text is `where_else`.
inline bool is_main_interpreter(const char *where_else) {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError, where_else);
  return false;
}

/// Returns false with ImportError.
inline bool is_interpreter_supported() {
#if PY_VERSION_HEX < 0x030C0000
  return is_main_interpreter("before Python 3.12: in the main interpreter only");
#else
  return true;
#endif
}

/// The state of such a module: the home of its functions.
struct state_with_home : module_state {
  static constexpr bool runs_without_gil = true;
  home *where = nullptr;

  int exec(PyObject *) {
    if (is_interpreter_supported()) where = home::make();
    return where != nullptr ? 0 : -1;
  }
  /// The end of the main interpreter can be detected, and functions registered at exit may still
  /// use it.
  void end() const {
    if (!where->is_main()) where->is_closed.store(true, std::memory_order_release);
  }
  ~state_with_home() {
    if (where != nullptr) where->is_closed.store(true, std::memory_order_release);
  }
};

/// The same for modules of libraries that run in the main interpreter only, and once in a process.
struct state_with_one_home : module_state {
  static constexpr bool runs_without_gil = true;
  static constexpr bool supports_interpreters = false;
  static inline home *where = nullptr;

  int exec(PyObject *) {
    // CPython makes no such check for interpreters that share the main one's GIL.
    if (!is_main_interpreter("in the main interpreter only")) return -1;
    if (where == nullptr) where = home::make();
    return where != nullptr ? 0 : -1;
  }
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_HOME_H_
