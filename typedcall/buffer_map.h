// A loop over Python objects that have buffers (PEP 3118): array.array, memoryview, ctypes arrays,
// NumPy's, without knowing any of them. Element types, lengths and writability are checked.
#ifndef TYPEDCALL_BUFFER_MAP_H_
#define TYPEDCALL_BUFFER_MAP_H_

#include "typedcall/with_exceptions.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "typedcall/convert/buffer_format.h"
#include "typedcall/loop.h"
#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// A buffer that is given back. GIL: held where it is made and destroyed; see gil.h.
class buffer_view {
 public:
  buffer_view() = default;
  buffer_view(const buffer_view &) = delete;
  buffer_view &operator=(const buffer_view &) = delete;
  ~buffer_view() {
    if (view_.obj != nullptr) give_back_buffer(&view_);
  }

  /// False with the exporter's exception.
  bool get(PyObject *object, bool writable) {
    return PyObject_GetBuffer(object, &view_, writable ? PyBUF_RECORDS : PyBUF_RECORDS_RO) == 0;
  }

  const Py_buffer &view() const { return view_; }
  /// The number of elements: 1 for an array without dimensions.
  Py_ssize_t length() const { return view_.ndim == 0 ? 1 : view_.shape[0]; }
  Py_ssize_t step() const {
    return view_.ndim == 0 ? 0 : view_.strides != nullptr ? view_.strides[0] : view_.itemsize;
  }
  const char *format() const { return view_.format != nullptr ? view_.format : "B"; }

 private:
  Py_buffer view_ = {};
};

/// What can come out of a buffer: an address in one may be anything.
inline bool is_buffer_type(PyNativeType type) {
  const PyNativeKind kind = PyNativeType_Kind(type);
  return kind != PyNativeKind_POINTER && kind != PyNativeKind_STRING;
}

/// Is it an array that can be an input or the output of elements `type`? False with an exception.
inline bool check_buffer(const buffer_view &array, std::size_t number, PyNativeType type,
                         bool is_output) {
  const Py_buffer &view = array.view();
  const char *const letters = PyNativeCode_Letters(type.code);
  if (is_output && PyNativeType_Kind(type) == PyNativeKind_OBJECT) {
    PyErr_SetString(
        PyExc_TypeError,
        "typedcall: objects cannot be stored in a buffer: it does not say whether it owns "
        "the ones that are there (ctypes' arrays do not)");
    return false;
  }
  if (!is_buffer_type(type)) {
    PyErr_Format(PyExc_TypeError,
                 "typedcall: array %zu would hold pointers ('%s%s'), which cannot be checked",
                 number, type.is_pointer != 0 ? "&" : "", letters);
    return false;
  }
  if (view.ndim > 1) {
    PyErr_Format(PyExc_ValueError, "typedcall: array %zu has %d dimensions; at most 1 is possible",
                 number, view.ndim);
    return false;
  }
  if (is_buffer_of(type, array.format(), static_cast<std::size_t>(view.itemsize))) return true;
  PyErr_Format(PyExc_TypeError,
               "typedcall: array %zu has elements '%.50s' of %zd bytes, where '%s' of %zu bytes is "
               "needed",
               number, array.format(), view.itemsize, letters, PyNativeType_Size(type));
  return false;
}

}  // namespace internal

/// Applies `made` to the objects in `arrays`, `count` of them: one for each of its inputs, then the
/// output, if it has one. Each is a buffer without or with one dimension, contiguous or strided, of
/// the very element type or one of its width and class; the output is writable. Its length counts
/// (without one, that of the first input that is not of length 1); inputs have the same, or 1 and
/// are repeated. Arrays may overlap, as in a loop. Lets the GIL go as loop::run() does.
///
/// Returns the number of elements, or -1 with TypeError (number of arrays; no buffer; other
/// elements; pointers), ValueError (lengths, dimensions), BufferError (read-only output, other
/// kinds of buffers), MemoryError, or the exception of the function; then `*done`, unless it is
/// null, is how many elements came before. GIL: held.
inline Py_ssize_t map_buffers(const loop &made, PyObject *const *arrays, std::size_t count,
                              Py_ssize_t *done = nullptr) {
  if (done != nullptr) *done = 0;
  const std::size_t inputs = made.inputs().size();
  const bool has_output = made.output().code != PyNativeType_VOID;
  const std::size_t needed = inputs + (has_output ? 1 : 0);
  if (count != needed) {
    PyErr_Format(PyExc_TypeError, "typedcall: %zu arrays were given, %zu are needed", count,
                 needed);
    return -1;
  }
  try {
    std::vector<internal::buffer_view> views(count);
    std::intptr_t length = 1;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_output = i == inputs;
      if (!views[i].get(arrays[i], is_output) ||
          !internal::check_buffer(views[i], i, is_output ? made.output() : made.inputs()[i],
                                  is_output)) {
        return -1;
      }
      if (is_output || length == 1) length = views[i].length();
    }
    std::vector<char *> args(count + 1);
    std::vector<std::intptr_t> steps(count + 1);
    for (std::size_t i = 0; i < count; ++i) {
      const Py_ssize_t has = views[i].length();
      if (has != length && (has != 1 || i == inputs)) {
        PyErr_Format(PyExc_ValueError,
                     "typedcall: array %zu has %zd elements, where %zd or 1 are needed", i, has,
                     static_cast<Py_ssize_t>(length));
        return -1;
      }
      args[i] = static_cast<char *>(views[i].view().buf);
      steps[i] = has == 1 ? 0 : views[i].step();
    }
    std::intptr_t reached = 0;
    const int result = made.run(args.data(), &length, steps.data(), &reached);
    if (done != nullptr) *done = reached;
    return result < 0 ? -1 : reached;
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
    return -1;
  }
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BUFFER_MAP_H_
