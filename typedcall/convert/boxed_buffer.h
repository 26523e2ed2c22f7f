// What a Python callable gets for a buffer in a boxed call: a copy, which nobody can use after its
// time; what is written to it goes back when the call is over.
#ifndef TYPEDCALL_CONVERT_BOXED_BUFFER_H_
#define TYPEDCALL_CONVERT_BOXED_BUFFER_H_

#include "typedcall/object_ref.h"
// Python.h, which object_ref.h includes, comes before all standard headers.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "typedcall/namespace.h"
#include "typedcall/signature_of.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// The elements of one buffer, for Python.
struct buffer_parts {
  PyNativeType type;
  const void *data;
  std::size_t count;

  /// Of an element; a text has bytes.
  std::size_t size() const {
    return type.code == PyNativeType_STRING ? 1 : PyNativeCode_Size(type.code);
  }
  Py_ssize_t bytes() const { return static_cast<Py_ssize_t>(count * size()); }
  const char *begin() const { return static_cast<const char *>(data); }
  /// Does memoryview.cast() know such elements? It refuses to cast nothing.
  bool can_be_cast() const {
    const PyNativeKind kind = PyNativeCode_Kind(type.code);
    return count != 0 && kind != PyNativeKind_COMPLEX && type.code != PyNativeType_LONGDOUBLE;
  }
};

template <class Buffer>
buffer_parts parts_of(Buffer buffer) {
  return {buffer_type<typename buffer_of<Buffer>::element>(), buffer.data(), buffer.size()};
}

/// An array of elements that memoryview.cast() does not know, or of none, over the copy's memory.
inline PyObject *view_of_copy(const buffer_parts &parts, PyObject *copy) {
  static char nothing[1];
  Py_ssize_t count = static_cast<Py_ssize_t>(parts.count);
  Py_ssize_t step = static_cast<Py_ssize_t>(parts.size());
  Py_buffer view = {};
  view.buf = parts.count == 0               ? nothing
             : PyByteArray_Check(copy) != 0 ? PyByteArray_AS_STRING(copy)
                                            : PyBytes_AS_STRING(copy);
  view.len = parts.bytes();
  view.itemsize = step;
  view.readonly = PyNativeType_IsConst(parts.type);
  view.format = const_cast<char *>(PyNativeCode_Letters(parts.type.code));
  view.ndim = 1;
  view.shape = &count;
  view.strides = &step;
  return PyMemoryView_FromBuffer(&view);
}

/// A str for a text, bytes for const bytes, else a memoryview of one dimension, read-only for const
/// elements, over `*copy`. NULL with MemoryError, or UnicodeDecodeError for a text that is no
/// UTF-8. GIL: held.
__attribute__((noinline)) inline PyObject *box_buffer(const buffer_parts &parts, object_ref *copy) {
  if (parts.type.code == PyNativeType_STRING) {
    return PyUnicode_FromStringAndSize(parts.count == 0 ? "" : parts.begin(), parts.bytes());
  }
  const bool is_const = PyNativeType_IsConst(parts.type) != 0;
  if (is_const) {
    *copy = object_ref::steal(PyBytes_FromStringAndSize(parts.begin(), parts.bytes()));
  } else {
    *copy = object_ref::steal(PyByteArray_FromStringAndSize(parts.begin(), parts.bytes()));
  }
  if (!*copy) return nullptr;
  if (is_const && parts.type.code == PyNativeType_UCHAR) return copy->release();
  if (!parts.can_be_cast()) return view_of_copy(parts, copy->get());
  const object_ref bytes = object_ref::steal(PyMemoryView_FromObject(copy->get()));
  return bytes
             ? PyObject_CallMethod(bytes.get(), "cast", "s", PyNativeCode_Letters(parts.type.code))
             : nullptr;
}

/// After the call: what it wrote goes to where it was meant for, also where it failed. Keeps a
/// pending exception. GIL: held.
__attribute__((noinline)) inline void finish_buffer(const buffer_parts &parts, PyObject *boxed,
                                                    object_ref *copy) {
  if (!*copy) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyByteArray_Check(copy->get())) {
    // Who releases the view can make it shorter.
    const Py_ssize_t left = std::min(parts.bytes(), PyByteArray_GET_SIZE(copy->get()));
    if (left > 0) {
      std::memcpy(const_cast<void *>(parts.data), PyByteArray_AS_STRING(copy->get()),
                  static_cast<std::size_t>(left));
    }
  }
  // Such a view does not keep the copy alive. Who has made another array of it keeps it for ever.
  if (!parts.can_be_cast() && parts.count != 0) {
    PyObject *released = PyObject_CallMethod(boxed, "release", nullptr);
    if (released == nullptr) copy->release();
    Py_XDECREF(released);
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_BOXED_BUFFER_H_
