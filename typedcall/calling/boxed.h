// The call of the Python callable, where no C function takes the values or the one that does falls
// back.
#ifndef TYPEDCALL_CALLING_BOXED_H_
#define TYPEDCALL_CALLING_BOXED_H_

#include "typedcall/boxed_call.h"

#include <cstddef>

#include "typedcall/namespace.h"
#include "typedcall/object_ref.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// Calls `callable` with what `box(i)` makes of each argument, an object_ref. Null with an
/// exception. GIL: held.
template <class Box>
object_ref call_boxed(PyObject *callable, std::size_t count, const Box &box) {
  internal::boxed_arguments<PyNativeSignature_MAX_ARGS> boxed;
  if (count > PyNativeSignature_MAX_ARGS) {
    PyErr_Format(PyExc_TypeError, "typedcall: %zu arguments, and at most %d can be passed", count,
                 PyNativeSignature_MAX_ARGS);
    return {};
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!boxed.add(box(i).release())) return {};
  }
  return boxed.call(callable);
}

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_BOXED_H_
