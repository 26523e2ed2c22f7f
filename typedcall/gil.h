// Taking the GIL back without being unwound when the interpreter has ended meanwhile.
#ifndef TYPEDCALL_GIL_H_
#define TYPEDCALL_GIL_H_

#include <Python.h>
#include <unistd.h>

namespace typedcall::internal {

#ifdef PYPY_VERSION
// PyPy has its own ways at the end.
inline void restore_thread(PyThreadState *thread) { PyEval_RestoreThread(thread); }
#else
inline bool python_is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() || !Py_IsInitialized();
#else
  return _Py_IsFinalizing() || !Py_IsInitialized();
#endif
}

/// PyEval_RestoreThread. CPython before 3.14 ends a thread that asks for the GIL when the
/// interpreter has ended: its stack is unwound, and what stands there gives back references and
/// buffers without the GIL. Here it stops for good instead, as 3.14 does, until the process ends.
/// A thread that is cancelled (pthread_cancel) goes on being cancelled, and its stack is unwound
/// without the GIL: CPython does not support that, nor do we.
inline void restore_thread(PyThreadState *thread) {
  try {
    PyEval_RestoreThread(thread);
  } catch (...) {  // by no name: there is no object to refer to
    if (!python_is_ending()) throw;
    // For ever: signals end a pause, and a new interpreter may be running by then.
    for (;;) pause();
  }
}
#endif

}  // namespace typedcall::internal

#endif  // TYPEDCALL_GIL_H_
