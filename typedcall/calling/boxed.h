// The call of the Python callable, where no C function takes the values or the one that does falls
// back.
#ifndef TYPEDCALL_CALLING_BOXED_H_
#define TYPEDCALL_CALLING_BOXED_H_

#include "typedcall/boxed_call.h"

#include <cstddef>

#include "typedcall/calling/given.h"
#include "typedcall/namespace.h"
#include "typedcall/object_ref.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// What Python has for a value that is none of its own. Null with an exception: MemoryError, too,
/// for a text for which there was no memory. GIL: held.
inline object_ref box(const given &value) {
  const native_value bits{value.bits};
  switch (value.kind) {
    case PyNativeGiven_BOOL:
      return object_ref::steal(PyBool_FromLong(value.bits != 0));
    case PyNativeGiven_INT:
      return object_ref::steal(value.size != 0 ? PyLong_FromUnsignedLongLong(value.bits)
                                               : PyLong_FromLongLong(bits.get<std::int64_t>()));
    case PyNativeGiven_FLOAT:
      return object_ref::steal(PyFloat_FromDouble(bits.get<double>()));
    case PyNativeGiven_STR:
      return object_ref::steal(
          PyUnicode_DecodeUTF8(value.utf8(), static_cast<Py_ssize_t>(value.size), nullptr));
    default:
      if (value.element_size != 1) return object_ref::steal(PyErr_NoMemory());
      return object_ref::steal(
          PyBytes_FromStringAndSize(bits.get<const char *>(), static_cast<Py_ssize_t>(value.size)));
  }
}

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
