// Handles threads that request the GIL while the interpreter is ending. Before 3.14, CPython ends
// such a thread by unwinding its stack without the GIL. With musl, the stack is not unwound, so
// this code is not needed.
#ifndef TYPEDCALL_BASE_GIL_H_
#define TYPEDCALL_BASE_GIL_H_

#include "core/platform.h"
// core/platform.h comes first because it needs Python.h before all standard headers.
#include <cassert>
#include <type_traits>
#include <utility>

#include "typedcall/base/namespace.h"

#if TYPEDCALL_IS_SUPPORTED
#include <unistd.h>
#else
#include <chrono>
#include <thread>
#endif

// PyPy does not unwind threads. From 3.14 on, CPython hangs the thread instead of unwinding it.
#if defined(PYPY_VERSION) || PY_VERSION_HEX >= 0x030E0000
#define TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND 0
#else
#define TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND 1
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// Loops because a signal ends pause().
[[noreturn]] inline void wait_forever() {
#if TYPEDCALL_IS_SUPPORTED
  for (;;) pause();
#else
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
#endif
}

#ifndef PYPY_VERSION
inline bool python_is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() || !Py_IsInitialized();
#else
  return _Py_IsFinalizing() || !Py_IsInitialized();
#endif
}
#endif

#ifndef PYPY_VERSION
/// True if this thread has the GIL. False while CPython unwinds this thread's stack at the end of
/// the interpreter. Before 3.12, unless the interpreter is ending, also true if another thread has
/// the GIL.
inline bool still_has_gil() {
#if PY_VERSION_HEX < 0x030C0000
  const PyThreadState *current = _PyThreadState_UncheckedGet();
  // `current` belongs to the thread that has the GIL. A thread has no GILState at the end.
  if (current != nullptr && _Py_IsFinalizing()) {
    return current->thread_id == PyThread_get_thread_ident();
  }
  return current != nullptr;
#else
  return PyTypedcall_IsAttached() != 0;
#endif
}

inline bool has_python_ended() { return !still_has_gil() && python_is_ending(); }

TYPEDCALL_RARE inline void stop_if_python_ended() {
  if (has_python_ended()) wait_forever();
}

/// Call this in a thread that is about to take the GIL. CPython itself stops a thread that has a
/// thread state. Only the thread that ends the interpreter can still take the GIL.
TYPEDCALL_RARE inline void stop_if_stateless_at_the_end() {
  if (has_python_ended() && PyGILState_GetThisThreadState() == nullptr) wait_forever();
}
#endif

#if TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND
/// Stops a thread whose stack CPython unwinds at the end of the interpreter. This is done in a
/// destructor because a handler that catches the unwinding inside another handler ends the process.
struct unwinding_guard {
  bool is_done = false;
  unwinding_guard() = default;
  unwinding_guard(const unwinding_guard &) = delete;
  unwinding_guard &operator=(const unwinding_guard &) = delete;
  TYPEDCALL_IN_LINE ~unwinding_guard() {
    if (!is_done) stop_if_python_ended();
  }
};
#endif

}  // namespace internal

/// Runs `call`, which may run Python code, and returns its result. If the interpreter ends
/// meanwhile, the thread stops here for good, as in CPython 3.14 and later. The thread's stack is
/// not unwound, so objects on the stack are never destroyed without the GIL. A function that runs
/// all its Python code through run_python() may be noexcept.
///
/// Thread cancellation (pthread_cancel) is not supported. A cancelled thread is unwound without the
/// GIL.
template <class Call>
TYPEDCALL_IN_LINE inline decltype(auto) run_python(Call &&call) {
#if TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND
  internal::unwinding_guard guard;
  if constexpr (std::is_void_v<decltype(std::forward<Call>(call)())>) {
    std::forward<Call>(call)();
    guard.is_done = true;
  } else {
    decltype(auto) result = std::forward<Call>(call)();
    guard.is_done = true;
    return result;
  }
#else
  return std::forward<Call>(call)();
#endif
}

namespace internal {

/// Like PyEval_RestoreThread().
inline void restore_thread(PyThreadState *thread) {
  run_python([thread] { PyEval_RestoreThread(thread); });
}

/// Runs `call` without the GIL and returns its result. `has_gil` is true if this thread holds the
/// GIL. The argument of `call` is the thread state to restore, or null. `call` must not throw.
template <class Call>
TYPEDCALL_IN_LINE inline auto run_without_gil(const Call &call, bool has_gil = true) {
  PyThreadState *const thread = has_gil ? PyEval_SaveThread() : nullptr;
  if constexpr (std::is_void_v<decltype(call(thread))>) {
    call(thread);
    if (has_gil) restore_thread(thread);
  } else {
    const auto result = call(thread);
    if (has_gil) restore_thread(thread);
    return result;
  }
}

/// Runs `call`, which releases something and needs the GIL. Destructors use this because the stack
/// must not be unwound through a destructor. Does nothing while CPython unwinds the stack at the
/// end of the interpreter.
template <class Call>
TYPEDCALL_IN_LINE inline void give_back(Call &&call) {
#if TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND
  if (!TYPEDCALL_EXPECT(still_has_gil(), 1)) {
    assert(python_is_ending());
    return;
  }
#endif
  run_python(std::forward<Call>(call));
}

/// Out of line, so that all destructors share one copy.
TYPEDCALL_OUT_OF_LINE inline void give_back_reference(PyObject *object) {
  give_back([object] {
    assert(PyGILState_Check());
    Py_DECREF(object);
  });
}
TYPEDCALL_OUT_OF_LINE inline void give_back_buffer(Py_buffer *view) {
  give_back([view] { PyBuffer_Release(view); });
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_GIL_H_
