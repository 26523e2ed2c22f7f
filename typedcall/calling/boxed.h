// The call of the Python callable, where no C function takes the values or the one that does falls
// back.
#ifndef TYPEDCALL_CALLING_BOXED_H_
#define TYPEDCALL_CALLING_BOXED_H_

#include <Python.h>

#include <cstddef>

#include "typedcall/namespace.h"
#include "typedcall/object_ref.h"
#include "typedcall/signature.h"
#include "typedcall/stats.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// Calls `callable` with what `box(i)` makes of each argument, an object_ref. Null with an
/// exception. GIL: held.
template <class Box>
object_ref call_boxed(PyObject *callable, std::size_t count, const Box &box) {
  stats::add(event::boxed);
  if (count > PyNativeSignature_MAX_ARGS) {
    PyErr_Format(PyExc_TypeError, "typedcall: %zu arguments, and at most %d can be passed", count,
                 PyNativeSignature_MAX_ARGS);
    return {};
  }
  object_ref boxed[PyNativeSignature_MAX_ARGS];
  // One place more in front lets a bound method put its self there.
  PyObject *stack[PyNativeSignature_MAX_ARGS + 1] = {nullptr};
  for (std::size_t i = 0; i < count; ++i) {
    boxed[i] = box(i);
    if (!boxed[i]) return {};
    stack[i + 1] = boxed[i].get();
  }
  return object_ref::steal(
      PyObject_Vectorcall(callable, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_BOXED_H_
