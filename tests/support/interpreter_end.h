// An interpreter that ends while another thread is in native code, without the GIL: is the thread's
// stack left alone? For death tests, as the process ends with it.
#ifndef TYPEDCALL_TESTS_SUPPORT_INTERPRETER_END_H_
#define TYPEDCALL_TESTS_SUPPORT_INTERPRETER_END_H_

#include <Python.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace typedcall_test {

inline std::atomic<bool> is_inside{false}, may_return{false}, is_destroyed{false};

/// What the thread calls without the GIL: returns when the interpreter is about to end.
inline double WaitInside(double x) noexcept {
  is_inside = true;
  while (!may_return) usleep(1000);
  return x;
}

/// Stands on the thread's stack.
struct Destroyed {
  ~Destroyed() { is_destroyed = true; }
};

/// Called while the interpreter ends. The thread now asks for the GIL, which this one keeps.
inline void LetReturn(PyObject *) {
  may_return = true;
  usleep(300000);
}

inline int HowItWas() { return !may_return ? 2 : is_destroyed ? 1 : 0; }

/// Runs `call`, which lets the GIL go around WaitInside(), in another thread, ends the interpreter
/// meanwhile, and starts and ends one more, in which the thread gets a signal. Then ends the
/// process: 0 when the thread has stopped for good, 1 when its stack was unwound, 2 when it was not
/// waited for. GIL: held.
template <class Call>
[[noreturn]] void EndPythonDuring(Call call) {
  PyObject *const capsule = PyCapsule_New(&may_return, nullptr, LetReturn);
  PyObject_SetAttrString(PyImport_AddModule("__main__"), "at_the_end", capsule);
  Py_DECREF(capsule);
  std::signal(SIGUSR1, [](int) {});
  std::thread thread([&call] {
    const PyGILState_STATE state = PyGILState_Ensure();
    {
      const Destroyed destroyed;
      call();
    }
    PyGILState_Release(state);
  });
  const pthread_t id = thread.native_handle();
  thread.detach();
  Py_BEGIN_ALLOW_THREADS;
  while (!is_inside) usleep(1000);
  Py_END_ALLOW_THREADS;
  Py_FinalizeEx();
  usleep(100000);
  if (HowItWas() != 0) _exit(HowItWas());
  Py_InitializeEx(0);
  pthread_kill(id, SIGUSR1);
  usleep(200000);
  _exit(HowItWas());
}

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_INTERPRETER_END_H_
