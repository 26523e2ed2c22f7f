// What the extension modules of typedcall.sql share: an order of functions, which the extension
// that an engine loads adds, and the call of Python's function.
#ifndef TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_
#define TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_

#include "typedcall/provider.h"

#include "../../calling/error_text.h"
#include "../../calling/home.h"
#include "../../calling/overload.h"

#include <memory>
#include <vector>

namespace typedcall::python {

constexpr std::size_t kMost = PyNativeSignature_MAX_ARGS;

/// What install() wants of the extension that is being loaded.
template <class Function>
struct order_of {
  const char *name;
  std::vector<std::unique_ptr<Function>> functions;
  bool is_done = false;
};

/// An engine does not need the Function any more; in any thread.
template <class Function>
void destroy(void *data) {
  auto *const self = static_cast<Function *>(data);
  self->where->destroy(self);
}

using state = state_with_home;

inline void end(PyObject *module) { state_of<state>(module).end(); }
constexpr char kEndDoc[] = "A subinterpreter ends: nothing is called in it any more, or let go.";

/// Calls Python's function with what `box` makes of each argument. Null with an exception. GIL:
/// held.
template <class Box>
object_ref call_boxed(PyObject *callable, std::size_t count, const Box &box) {
  object_ref boxed[kMost];
  PyObject *stack[kMost + 1] = {nullptr};
  for (std::size_t i = 0; i < count; ++i) {
    boxed[i] = box(i);
    if (!boxed[i]) return {};
    stack[i + 1] = boxed[i].get();
  }
  return object_ref::steal(
      PyObject_Vectorcall(callable, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_SQL_FUNCTIONS_H_
