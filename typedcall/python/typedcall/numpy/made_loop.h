// A ufunc's loop, the memory to which its data points, and the thread state in which it runs.
#ifndef TYPEDCALL_PYTHON_NUMPY_MADE_LOOP_H_
#define TYPEDCALL_PYTHON_NUMPY_MADE_LOOP_H_

#include "../native/numpy_ufuncs.h"
#include "converting.h"
#include "gufunc.h"
#include "typedcall/calling.h"
#include "typedcall/entry_view.h"
#include "typedcall/loop.h"

// After Python.h.
#include <memory>

namespace typedcall::python {

/// Runs loops whose functions may raise or are not thread-safe. NumPy may call a loop while an
/// exception is pending, because NumPy checks for exceptions only after the whole array.
template <inner_loop run>
void with_gil(char **args, const std::intptr_t *dimensions, const std::intptr_t *steps,
              void *data) {
  const PyGILState_STATE state = PyGILState_Ensure();
  if (PyErr_Occurred() == nullptr) run(args, dimensions, steps, data);
  PyGILState_Release(state);
}

/// Runs loops whose functions acquire the GIL themselves. The GIL is released because NumPy holds
/// it for arrays with few elements.
template <inner_loop run>
void without_gil(char **args, const std::intptr_t *dimensions, const std::intptr_t *steps,
                 void *data) {
  calling::without_gil([&] { run(args, dimensions, steps, data); });
}

/// Returns a loop that acquires or releases the GIL if necessary.
template <inner_loop run>
inner_loop held_as(PyNativeThreadState thread_state) {
  switch (thread_state) {
    case PyNativeThreadState_ANY:
      break;
    case PyNativeThreadState_ATTACHED:
      return &with_gil<run>;
    case PyNativeThreadState_DETACHED:
      return &without_gil<run>;
  }
  return run;
}

inline void run_converting(char **args, const std::intptr_t *dimensions, const std::intptr_t *steps,
                           void *data) {
  static_cast<const converting_loop *>(data)->run(args, dimensions, steps);
}

inline void run_rows(char **args, const std::intptr_t *dimensions, const std::intptr_t *steps,
                     void *data) {
  static_cast<const gufunc_loop *>(data)->run(args, dimensions, steps);
}

/// A loop, and the memory to which its data points. One of the pointers is set.
struct made_loop {
  inner_loop function = nullptr;
  std::unique_ptr<loop> plain;
  std::unique_ptr<converting_loop> converting;
  std::unique_ptr<gufunc_loop> rows;

  void *data() const {
    if (plain != nullptr) return plain.get();
    return converting != nullptr ? static_cast<void *>(converting.get()) : rows.get();
  }
  int traverse(visitproc visit, void *arg) const {
    if (rows != nullptr) return rows->traverse(visit, arg);
    const loop &own = plain != nullptr ? *plain : converting->inner();
    Py_VISIT(own.keep_alive());
    Py_VISIT(own.callable());
    if (converting != nullptr) Py_VISIT(converting->callable());
    return 0;
  }
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NUMPY_MADE_LOOP_H_
