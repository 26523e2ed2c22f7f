// Ends an interpreter while another thread runs native code. For death tests, because the process
// also ends.
#ifndef TYPEDCALL_TESTS_SUPPORT_INTERPRETER_END_H_
#define TYPEDCALL_TESTS_SUPPORT_INTERPRETER_END_H_

#include <Python.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/support/asleep.h"

namespace typedcall_test {

inline std::atomic<bool> is_inside{false}, may_return{false}, returns{false}, is_destroyed{false};
inline std::atomic<pid_t> thread_inside{0};
inline std::atomic<bool> has_signal{false};

/// Must be called without the GIL. Returns when LetReturn() is called while the interpreter ends.
inline double WaitInside(double x) noexcept {
  thread_inside = ThisThread();
  is_inside = true;
  while (!may_return) usleep(1000);
  returns = true;
  return x;
}

/// A Python function that calls WaitInside() and releases the GIL during the call.
inline PyObject *WaitInPython(PyObject *, PyObject *) {
  Py_BEGIN_ALLOW_THREADS;
  WaitInside(0);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

/// Returns a new reference to the Python function.
inline PyObject *WaitFunction() {
  static PyMethodDef def = {"wait", WaitInPython, METH_NOARGS, nullptr};
  return PyCFunction_New(&def, nullptr);
}

/// Returns a new reference to the value of `expression`, which can use wait(), and Waiting(), whose
/// methods call wait(). If the expression raises an exception, the process ends with status 3.
inline PyObject *Waiting(const char *expression) {
  PyObject *const globals = PyDict_New(), *const wait = WaitFunction();
  PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins());
  PyDict_SetItemString(globals, "wait", wait);
  PyObject *const classes = PyRun_String(
      "class Waiting:\n"
      "    def __float__(self): wait(); return 1.0\n"
      "    def __index__(self): wait(); return 1\n"
      "    def __complex__(self): wait(); return 1j\n"
      "    def __bool__(self): wait(); return True\n"
      "    def __getattr__(self, name): wait(); return name\n"
      "class Dying:\n"
      "    def __del__(self): wait()\n"
      "def call_while_collecting(called, *arguments):\n"
      "    import gc\n"
      "    gc.collect()\n"
      "    gc.disable()\n"
      "    gc.set_threshold(1)\n"
      "    garbage = Dying()\n"
      "    garbage.itself = garbage\n"
      "    del garbage\n"
      "    try:\n"
      "        raise KeyError\n"
      "    except KeyError:\n"
      "        gc.enable()\n"
      "        called(*arguments)\n",
      Py_file_input, globals, globals);
  PyObject *const made =
      classes != nullptr ? PyRun_String(expression, Py_eval_input, globals, globals) : nullptr;
  if (made == nullptr) {
    PyErr_Print();
    _exit(3);
  }
  Py_DECREF(classes);
  Py_DECREF(wait);
  Py_DECREF(globals);
  return made;
}

/// An object on the thread's stack.
struct Destroyed {
  ~Destroyed() { is_destroyed = true; }
};

/// Called while the interpreter ends. Lets WaitInside() return, and waits until its thread waits
/// for the GIL or has stopped.
inline void LetReturn(PyObject *) {
  may_return = true;
  while (!returns) usleep(1000);
  WaitUntilAsleep(thread_inside);
}

inline int HowItWas() { return !may_return ? 2 : is_destroyed ? 1 : 0; }

/// The exit status of EndPythonDuring() if the thread's stack may be unwound. From 3.14 on, and
/// with musl, stacks are not unwound.
#if PY_VERSION_HEX < 0x030E0000 && defined(__GLIBC__)
constexpr int kPassed = 1;
#else
constexpr int kPassed = 0;
#endif

/// Runs `call` in another thread and ends the interpreter during the call. `call` must release the
/// GIL around WaitInside(). Then starts and ends another interpreter. The exit status is 0 if the
/// thread has stopped, 1 if its stack was unwound, or 2 if the interpreter did not wait. GIL: held.
template <class Call>
[[noreturn]] void EndPythonDuring(Call call) {
  PyObject *const capsule = PyCapsule_New(&may_return, nullptr, LetReturn);
  PyObject_SetAttrString(PyImport_AddModule("__main__"), "at_the_end", capsule);
  Py_DECREF(capsule);
  std::signal(SIGUSR1, [](int) { has_signal = true; });
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
  WaitUntilAsleep(thread_inside);
  if (HowItWas() != 0) _exit(HowItWas());
  Py_InitializeEx(0);
#if PY_VERSION_HEX >= 0x030E0000 || defined(__GLIBC__)
  pthread_kill(id, SIGUSR1);
  while (!has_signal) usleep(1000);
#else
  (void)id;  // The thread no longer exists.
#endif
  WaitUntilAsleep(thread_inside);
  _exit(HowItWas());
}

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_INTERPRETER_END_H_
