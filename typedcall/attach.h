// Runs code that needs Python in whichever thread that is: attached as it is, or with a thread
// state for that long. From CPython 3.15 on it sees whether the interpreter has ended.
#ifndef TYPEDCALL_ATTACH_H_
#define TYPEDCALL_ATTACH_H_

#include "core/platform.h"
#include "typedcall/gil.h"
#include "typedcall/namespace.h"
#include "typedcall/object_ref.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// The interpreter that something belongs to, for threads that are to run Python code of it.
// From 3.15 on it is known by a view (PEP 788), which may outlive it; before, by its address.
// GIL: held wherever one that is set is copied, assigned or destroyed, as object_ref's.
class home_interpreter {
 public:
  // This thread's. False with MemoryError. GIL: held.
  bool set_current() {
    state_ = PyInterpreterState_Get();
#if PY_VERSION_HEX >= 0x030F0000
    PyInterpreterView *const view = PyInterpreterView_FromCurrent();
    if (view == nullptr) return false;
    // Counts the references: who copies this may not fail.
    keep_view_ = object_ref::steal(PyCapsule_New(view, nullptr, close_view));
    if (!keep_view_) {
      PyInterpreterView_Close(view);
      return false;
    }
    view_ = view;
#endif
    return true;
  }

  // Has this thread a thread state of it, attached? From 3.12 to 3.14 one of any interpreter
  // counts. Before, nobody knows that of others than the main one, whose threads have to be
  // attached. GIL: none, or held.
  bool is_attached() const {
#if PY_VERSION_HEX >= 0x030F0000
    PyThreadState *const current = PyThreadState_GetUnchecked();
    return current != nullptr && PyThreadState_GetInterpreter(current) == state_;
#else
#if PY_VERSION_HEX < 0x030C0000
    if (state_ != PyInterpreterState_Main()) return true;
#endif
    return PyTypedcall_IsAttached() != 0;
#endif
  }

  PyInterpreterState *state() const { return state_; }
#if PY_VERSION_HEX >= 0x030F0000
  PyInterpreterView *view() const { return view_; }
#endif

 private:
#if PY_VERSION_HEX >= 0x030F0000
  static void close_view(PyObject *capsule) {
    PyInterpreterView_Close(
        static_cast<PyInterpreterView *>(PyCapsule_GetPointer(capsule, nullptr)));
  }

  object_ref keep_view_;
  PyInterpreterView *view_ = nullptr;  // the capsule is not read without the GIL
#endif
  PyInterpreterState *state_ = nullptr;
};

// Runs `call`, which gives false with an exception, attached to `home`. It is told whether
// exceptions wait in this thread's state: where that is a new one, an exception would go with it,
// so sys.unraisablehook gets it, with `callable`.
//
// False without a call, and without an exception, where there is no thread state to be had: no
// memory, or (from 3.15 on) the interpreter is ending, or has ended. Before 3.15 a thread that is
// not attached stops for good where the main interpreter has ended, unless it is the one that ends
// it; the end of others is not seen. From 3.15 on the interpreter does not end while `call` runs.
// `call` throws nothing: the GIL would stay held. GIL: none, or held.
template <class Call>
TYPEDCALL_RARE bool run_attached_to(const home_interpreter &home, PyObject *callable,
                                    const Call &call) {
#if PY_VERSION_HEX >= 0x030F0000
  if (home.is_attached()) return static_cast<bool>(call(true));
  PyThreadState *const known = PyGILState_GetThisThreadState();
  PyThreadStateToken *const token = PyThreadState_EnsureFromView(home.view());
  if (token == nullptr) return false;
  const bool is_known = PyThreadState_GetUnchecked() == known;
  const bool is_done = call(is_known);
  if (!is_known && PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(callable);
  PyThreadState_Release(token);
  return is_done;
#else
  const bool is_of_main = home.state() == PyInterpreterState_Main();
  is_of_main ? stop_if_stateless_at_the_end() : stop_if_python_ended();
  return run_python([&] {
    if (home.is_attached()) return static_cast<bool>(call(true));
    if (is_of_main) {
      const bool is_known = PyGILState_GetThisThreadState() != nullptr;
      const PyGILState_STATE state = PyGILState_Ensure();
      const bool is_done = call(is_known);
      if (!is_known && PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(callable);
      PyGILState_Release(state);
      return is_done;
    }
    PyThreadState *const made = PyThreadState_New(home.state());
    if (made == nullptr) return false;  // no memory, and nobody to tell
    PyEval_RestoreThread(made);
    const bool is_done = call(false);
    if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(callable);
    PyThreadState_Clear(made);
    PyThreadState_DeleteCurrent();
    return is_done;
  });
#endif
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_ATTACH_H_
