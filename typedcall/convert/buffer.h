// Gets buffers from Python callers.
#ifndef TYPEDCALL_CONVERT_BUFFER_H_
#define TYPEDCALL_CONVERT_BUFFER_H_

#include "typedcall/convert/pointer.h"
// pointer.h comes first because it includes Python.h.
#include <cstddef>

#include "typedcall/base/namespace.h"
#include "typedcall/base/span.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Gets the elements that `object` exports, and their number. `wanted` is the type of the buffer.
/// If `view->obj` is not NULL afterwards, the caller must release the buffer. If there are no
/// elements, `*data` is unspecified. On failure, returns false with an exception set. Raises
/// TypeError if the object exports no elements of the wanted type. Raises ValueError if the memory
/// is not aligned or not one-dimensional. Raises BufferError if the memory is not contiguous, or is
/// read-only but must be writable. GIL: held.
TYPEDCALL_OUT_OF_LINE inline bool buffer_from_python(PyObject *object, PyNativeType wanted,
                                                     void **data, std::size_t *count,
                                                     Py_buffer *view) {
  view->obj = nullptr;
  if (!PyObject_CheckBuffer(object)) {
    PyErr_Format(PyExc_TypeError, "a buffer of '%s' items is needed, not '%.100s'",
                 PyNativeCode_Letters(wanted.code), Py_TYPE(object)->tp_name);
    return false;
  }
  const bool is_const = PyNativeType_IsConst(wanted) != 0;
  const int writable = is_const ? 0 : PyBUF_WRITABLE;
  if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | writable) < 0) {
    view->obj = nullptr;
    return false;
  }
  const pointer_wanted items = {wanted, is_const, nullptr};
  bool fits = buffer_fits(*view, items);
  if (fits && view->ndim != 1) {
    PyErr_Format(PyExc_ValueError, "a buffer of 1 dimension is needed, not of %d", view->ndim);
    fits = false;
  }
  if (!fits || !items_fit(*view, items)) {
    PyBuffer_Release(view);
    view->obj = nullptr;
    return false;
  }
  *data = view->buf;
  *count = static_cast<std::size_t>(view->len / view->itemsize);
  return true;
}

/// Gets the UTF-8 of a str. The text is valid as long as the str exists. Raises TypeError if the
/// object is not a str, and UnicodeEncodeError for lone surrogates. GIL: held.
TYPEDCALL_OUT_OF_LINE inline bool text_from_python(PyObject *object, span<const char> *text) {
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "a str is needed, not '%.100s'", Py_TYPE(object)->tp_name);
    return false;
  }
  Py_ssize_t length;
  const char *const utf8 = PyUnicode_AsUTF8AndSize(object, &length);
  if (utf8 == nullptr) return false;
  *text = {utf8, static_cast<std::size_t>(length)};
  return true;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_BUFFER_H_
