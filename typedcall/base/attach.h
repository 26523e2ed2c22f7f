// Runs code that needs Python in any thread. A thread that is not attached gets a temporary thread
// state.
#ifndef TYPEDCALL_BASE_ATTACH_H_
#define TYPEDCALL_BASE_ATTACH_H_

#include "core/platform.h"
#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/object_ref.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// The interpreter that an object belongs to. From 3.15 on, the interpreter is identified by a view
// (PEP 788), which may outlive the interpreter. GIL: held to copy, assign or destroy a
// home_interpreter that is set.
class home_interpreter {
 public:
  // Stores this thread's interpreter. On failure, returns false with MemoryError set. GIL: held.
  bool set_current() {
    state_ = PyInterpreterState_Get();
#if PY_VERSION_HEX >= 0x030F0000
    PyInterpreterView *const view = PyInterpreterView_FromCurrent();
    if (view == nullptr) return false;
    // The capsule is reference-counted, so copying it cannot fail.
    keep_view_ = object_ref::steal(PyCapsule_New(view, nullptr, close_view));
    if (!keep_view_) {
      PyInterpreterView_Close(view);
      return false;
    }
    view_ = view;
#endif
    return true;
  }

  // True if this thread is attached to this interpreter. From 3.12 to 3.14, also true if the thread
  // is attached to another interpreter. Before 3.12, always true for an interpreter other than the
  // main interpreter. GIL: optional.
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
  PyInterpreterView *view_ = nullptr;  // can be read without the GIL
#endif
  PyInterpreterState *state_ = nullptr;
};

// Runs `call` with the thread attached to `home`. `call` must return false if it raises an
// exception. The argument of `call` is true if the thread state outlives the call. If the thread
// state is temporary, an exception is passed to sys.unraisablehook with `callable`.
//
// Returns false, without running `call` or setting an exception, if there is not enough memory.
// From 3.15 on, also returns false if the interpreter is ending, and the interpreter does not end
// while `call` runs. Before 3.15, an unattached thread stops for good if the main interpreter has
// ended. This does not apply to the thread that ends the interpreter. Before 3.15, the end of other
// interpreters is not detected. `call` must not throw, because the GIL would stay held. GIL:
// optional.
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
    if (made == nullptr) return false;  // out of memory
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

#endif  // TYPEDCALL_BASE_ATTACH_H_
