// A buffer argument of a typed function: from a Python object to the pointer to the first element
// and their number. The conversion is that of the generated wrappers.
#ifndef TYPEDCALL_PYTHON_NATIVE_BUFFERS_H_
#define TYPEDCALL_PYTHON_NATIVE_BUFFERS_H_

#include "typedcall/convert/pointer.h"
// pointer.h comes first, because of Python.h.
#include "typedcall/invoker.h"

namespace typedcall::python {

/// `values` become what C gets for a buffer of what `wanted` points to. If `view->obj` is not NULL
/// afterwards, the buffer is to be released behind the call. False with TypeError for what has no
/// such items, BufferError or ValueError for memory that is not contiguous, not aligned, of
/// another number of dimensions than one (a count says no shape), or read-only where it is written
/// to. GIL: held.
inline bool buffer_from_python(PyObject *object, const typedcall::internal::pointer_wanted &wanted,
                               native_value *values, Py_buffer *view) {
  view->obj = nullptr;
  if (!PyObject_CheckBuffer(object)) {
    PyErr_Format(PyExc_TypeError, "a buffer of '%s' items is needed, not '%.100s'",
                 PyNativeCode_Letters(wanted.type.code), Py_TYPE(object)->tp_name);
    return false;
  }
  void *pointer;
  // Neither None nor a capsule is an exporter.
  if (!typedcall::internal::pointer_from_python(object, wanted, &pointer, view)) return false;
  if (view->ndim != 1) {
    PyErr_Format(PyExc_ValueError, "a buffer of 1 dimension is needed, not of %d", view->ndim);
    PyBuffer_Release(view);
    return false;
  }
  values[0] = native_value::of(pointer);
  values[1] = native_value::of(static_cast<std::intptr_t>(view->len / view->itemsize));
  return true;
}

/// The same for "*s": the UTF-8 of a str, which keeps it.
inline bool text_from_python(PyObject *object, native_value *values) {
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "a str is needed, not '%.100s'", Py_TYPE(object)->tp_name);
    return false;
  }
  Py_ssize_t length;
  const char *const text = PyUnicode_AsUTF8AndSize(object, &length);
  if (text == nullptr) return false;
  values[0] = native_value::of(text);
  values[1] = native_value::of(static_cast<std::intptr_t>(length));
  return true;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_BUFFERS_H_
