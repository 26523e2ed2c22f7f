// The end of the interpreter, as other threads meet it: CPython before 3.14 ends a thread that asks
// for the GIL by unwinding its stack, through all frames, without the GIL. (musl ends it without
// unwinding: nothing of its stack is destroyed, and nothing here has anything to do.)
#ifndef TYPEDCALL_GIL_H_
#define TYPEDCALL_GIL_H_

#include <Python.h>

#include <cassert>
#include <type_traits>
#include <utility>

#include "typedcall/namespace.h"

#if TYPEDCALL_IS_SUPPORTED
#include <unistd.h>
#else
#include <chrono>
#include <thread>
#endif

// PyPy has its own ways at the end, and from 3.14 on such a thread stops for good.
#if defined(PYPY_VERSION) || PY_VERSION_HEX >= 0x030E0000
#define TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND 0
#else
#define TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND 1
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// In a loop: signals end a pause, and a new interpreter may be running by then.
[[noreturn]] inline void wait_for_ever() {
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

#if TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND

/// Has this thread the GIL (its thread state)? Not when its stack is unwound at the end. Before
/// 3.12 only asked about exactly then: while the interpreter lives it is true without a look.
inline bool is_attached() {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked() != nullptr;
#else
  const PyThreadState *current = _PyThreadState_UncheckedGet();
#if PY_VERSION_HEX < 0x030C0000
  // It is that of whichever thread has the GIL; at the end only one thread can get it.
  if (current != nullptr && _Py_IsFinalizing()) {
    return current->thread_id == PyThread_get_thread_ident();
  }
#endif
  return current != nullptr;
#endif
}

inline bool has_python_ended() { return !is_attached() && python_is_ending(); }

#else

inline bool is_attached() { return true; }

#ifndef PYPY_VERSION
inline bool has_python_ended() {
  return PyThreadState_GetUnchecked() == nullptr && python_is_ending();
}
#endif

#endif

#ifndef PYPY_VERSION
TYPEDCALL_RARE inline void stop_if_python_ended() {
  if (has_python_ended()) wait_for_ever();
}

/// For a thread that is about to take the GIL. CPython stops one that has a thread state, but for
/// the one that ends the interpreter, which gets the GIL to the last.
TYPEDCALL_RARE inline void stop_if_stateless_at_the_end() {
  if (has_python_ended() && PyGILState_GetThisThreadState() == nullptr) wait_for_ever();
}
#endif

#if TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND
/// Stops a thread that is unwound at the end. A destructor and no handler: C++ ends the process
/// when such an unwinding is caught while an exception is being handled further out.
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

/// Runs `call`, which may run Python code, and gives what it gives. If the interpreter ends
/// meanwhile, the thread stops in here for good, as from CPython 3.14 on, where it would have been
/// unwound: a function that runs all its Python code in this may be noexcept, and what is on
/// its stack is not destroyed without the GIL. Costs nothing otherwise.
///
/// A thread that is cancelled (pthread_cancel) goes on being cancelled, and its stack is unwound
/// without the GIL: CPython does not support that, nor do we.
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

/// PyEval_RestoreThread.
inline void restore_thread(PyThreadState *thread) {
  run_python([thread] { PyEval_RestoreThread(thread); });
}

/// Runs `call` without the GIL, which this thread has if `has_gil` says so, and gives what it
/// gives. `call` gets the thread state to restore, if there is one, and throws nothing.
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

/// For destructors, which nothing may be unwound through: runs `call`, which gives back what needs
/// the GIL; without the GIL, which is how a stack is unwound at the end, nothing.
template <class Call>
TYPEDCALL_IN_LINE inline void give_back(Call &&call) {
  if (TYPEDCALL_EXPECT(is_attached(), 1)) {
    run_python(std::forward<Call>(call));
  } else {
#if TYPEDCALL_INTERNAL_THREADS_ARE_UNWOUND
    assert(python_is_ending());
#endif
  }
}

/// Not in line: one serves all destructors.
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

#endif  // TYPEDCALL_GIL_H_
