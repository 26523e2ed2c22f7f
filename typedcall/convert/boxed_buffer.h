// Passes a copy of a buffer to a Python callable in a boxed call. Changes are copied back after the
// call.
#ifndef TYPEDCALL_CONVERT_BOXED_BUFFER_H_
#define TYPEDCALL_CONVERT_BOXED_BUFFER_H_

#include "typedcall/base/object_ref.h"
// Python.h, which object_ref.h includes, must come before all standard headers.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/convert/bools.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

struct buffer_parts {
  PyNativeType type;
  const void *data;
  std::size_t count;

  /// The size of an element in bytes.
  std::size_t size() const {
    return type.code == PyNativeType_STRING ? 1 : PyNativeCode_Size(type.code);
  }
  /// Returns the total size of the elements. On overflow returns PY_SSIZE_T_MAX, which is too large
  /// for any Python object.
  Py_ssize_t bytes() const {
#if TYPEDCALL_IS_SUPPORTED
    Py_ssize_t found;
    return __builtin_mul_overflow(count, size(), &found) ? PY_SSIZE_T_MAX : found;
#else
    const std::size_t most = static_cast<std::size_t>(PY_SSIZE_T_MAX) / size();
    return count > most ? PY_SSIZE_T_MAX : static_cast<Py_ssize_t>(count * size());
#endif
  }
  const char *begin() const { return static_cast<const char *>(data); }
};

/// A buffer and the object that holds the copy for Python. Empty for an argument that is not a
/// buffer.
struct copied_buffer {
  buffer_parts parts = {};
  object_ref copy;

  bool is_written() const { return PyNativeType_IsConst(parts.type) == 0; }
  bool is_same_memory(const copied_buffer &other) const {
    return parts.data == other.parts.data && parts.bytes() == other.parts.bytes() &&
           parts.bytes() > 0;
  }
};

template <class Buffer>
buffer_parts parts_of(Buffer buffer) {
  return {buffer_type<typename buffer_of<Buffer>::element>(), buffer.data(), buffer.size()};
}

/// Returns a memoryview of `copy`, which is a bytes or bytearray object. The view keeps `copy`
/// alive. On failure, returns NULL with MemoryError set. Sets the fields of the view because
/// memoryview.cast() supports neither complex numbers nor empty buffers.
inline PyObject *view_of_copy(const buffer_parts &parts, PyObject *copy) {
#ifdef PYPY_VERSION
  // On PyPy, changing the fields after PyMemoryView_FromObject() has no effect.
  Py_buffer whole;
  if (PyObject_GetBuffer(copy, &whole, PyBUF_SIMPLE) < 0) return nullptr;
  PyObject *const view = PyMemoryView_FromBuffer(&whole);
  PyBuffer_Release(&whole);
  if (view == nullptr) return nullptr;
  Py_buffer *const fields = PyMemoryView_GET_BUFFER(view);
  fields->ndim = 1;
  fields->shape = fields->_shape;
  fields->strides = fields->_strides;
#else
  PyObject *const view = PyMemoryView_FromObject(copy);
  if (view == nullptr) return nullptr;
  Py_buffer *const fields = PyMemoryView_GET_BUFFER(view);
#endif
  fields->readonly = PyNativeType_IsConst(parts.type);
  fields->format = const_cast<char *>(PyNativeCode_Letters(parts.type.code));
  fields->itemsize = static_cast<Py_ssize_t>(parts.size());
  fields->shape[0] = static_cast<Py_ssize_t>(parts.count);
  fields->strides[0] = fields->itemsize;
  return view;
}

/// Returns the Python object for buffer `at` of a call: a str for a text, bytes for const bytes, or
/// else a one-dimensional memoryview of a copy, read-only for const elements. Buffers with the same
/// memory share one copy, as memoryviews, if any of them is writable. On failure, returns NULL with
/// MemoryError set, or with UnicodeDecodeError if a text is not UTF-8. GIL: held.
TYPEDCALL_OUT_OF_LINE inline PyObject *box_buffer(copied_buffer *all, std::size_t count,
                                                  std::size_t at) {
  copied_buffer &own = all[at];
  const buffer_parts &parts = own.parts;
  // MemoryError is raised here because Python versions differ in the exception that they raise.
  if (parts.bytes() == PY_SSIZE_T_MAX) return PyErr_NoMemory();
  if (parts.type.code == PyNativeType_STRING) {
    return PyUnicode_FromStringAndSize(parts.count == 0 ? "" : parts.begin(), parts.bytes());
  }
  bool is_written = own.is_written();
  for (std::size_t i = 0; i < count; ++i) {
    if (i == at || !own.is_same_memory(all[i])) continue;
    is_written = is_written || all[i].is_written();
    if (all[i].copy && PyByteArray_Check(all[i].copy.get())) own.copy = all[i].copy;
  }
  if (!own.copy) {
    own.copy =
        object_ref::steal(is_written ? PyByteArray_FromStringAndSize(parts.begin(), parts.bytes())
                                     : PyBytes_FromStringAndSize(parts.begin(), parts.bytes()));
  }
  if (!own.copy) return nullptr;
  if (!is_written && parts.type.code == PyNativeType_UCHAR) return own.copy.release();
  return view_of_copy(parts, own.copy.get());
}

/// Copies the data back after a call, even if the call failed. GIL: held.
inline void finish_buffer(const copied_buffer &own) {
  const buffer_parts &parts = own.parts;
  if (!own.copy || !own.is_written() || !PyByteArray_Check(own.copy.get())) return;
  // Python code can shorten the bytearray after releasing the view.
  const Py_ssize_t left = std::min(parts.bytes(), PyByteArray_GET_SIZE(own.copy.get()));
  if (left <= 0) return;
  std::memcpy(const_cast<void *>(parts.data), PyByteArray_AS_STRING(own.copy.get()),
              static_cast<std::size_t>(left));
  if (parts.type.code == PyNativeType_BOOL) {
    make_bools(const_cast<void *>(parts.data), static_cast<std::size_t>(left));
  }
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_BOXED_BUFFER_H_
