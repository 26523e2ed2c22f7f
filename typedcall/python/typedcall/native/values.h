// Converts between a Python object and a C value at run time, by type code. The conversions are the
// same as in the generated wrappers.
#ifndef TYPEDCALL_PYTHON_NATIVE_VALUES_H_
#define TYPEDCALL_PYTHON_NATIVE_VALUES_H_

#include "typedcall/convert/argument.h"
// After Python.h.
#include <cstring>

#include "typedcall/convert/buffer.h"
#include "typedcall/invoker.h"

namespace typedcall::python {

/// Storage for a wide number or the buffer behind a pointer, until the call returns.
struct scratch {
  wide_value wide;
  Py_buffer view;
};

/// The operations on values of a C type; see code_of().
struct value_code {
  /// Converts a Python object. On failure, returns false with an exception set. `where` may be null
  /// unless needs_scratch is true.
  bool (*convert)(PyObject *object, native_value *value, scratch *where);
  /// Returns a new Python object made from the value at this address, or NULL with an exception
  /// set.
  PyObject *(*box)(const void *place);
  /// Like `box`, for a pointer to the C type.
  PyObject *(*box_pointer)(const void *place);
  PyObject *(*box_const_pointer)(const void *place);
  internal::pointer_wanted pointer, const_pointer;
  bool needs_scratch;
};

namespace internal {

using typedcall::internal::argument;
using typedcall::internal::pointer_name;
using typedcall::internal::pointer_to_capsule;
using typedcall::internal::wanted_pointer;

template <class T>
bool convert(PyObject *object, native_value *value, scratch *where) {
  if constexpr (std::is_same_v<T, const char *>) {
    // The text lives as long as the str object.
    argument<const char *> text;
    if (!text.convert(object)) return false;
    *value = native_value::of(text.value);
    return true;
  } else if constexpr (std::is_same_v<T, void *>) {
    constexpr typedcall::internal::pointer_wanted wanted = wanted_pointer<void *>();
    void *pointer;
    if (!typedcall::internal::pointer_from_python(object, wanted, &pointer, &where->view)) {
      return false;
    }
    *value = native_value::of(pointer);
    return true;
  } else {
    T number;
    if (!from_python(object, &number)) return false;
    if constexpr (sizeof(T) <= sizeof(native_value)) {
      *value = native_value::of(number);
    } else {
      std::memcpy(&where->wide, &number, sizeof(number));
      *value = native_value::at(&where->wide);
    }
    return true;
  }
}

template <class T>
PyObject *box(const void *place) {
  if constexpr (std::is_same_v<T, bool>) {
    // Reading any other value as a bool is undefined behaviour.
    return PyBool_FromLong(*static_cast<const unsigned char *>(place) & 1);
  } else {
    T value;
    std::memcpy(&value, place, sizeof(value));
    return to_python(value);
  }
}

template <class Pointer>
PyObject *box_pointer(const void *place) {
  void *pointer;
  std::memcpy(&pointer, place, sizeof(pointer));
  return pointer_to_capsule(pointer, pointer_name<Pointer>::text);
}

template <class T>
constexpr value_code make_code() {
  return {&convert<T>,
          &box<T>,
          &box_pointer<T *>,
          &box_pointer<const T *>,
          wanted_pointer<T *>(),
          wanted_pointer<const T *>(),
          std::is_same_v<T, void *> || (sizeof(T) > sizeof(native_value))};
}

inline PyObject *box_nothing(const void *) { Py_RETURN_NONE; }

}  // namespace internal

inline const value_code &code_of(int code) {
  static constexpr value_code codes[] = {
      {nullptr, &internal::box_nothing, nullptr, nullptr, {}, {}, false},
#define ROW(NAME, LETTERS, TYPE, KIND, ...) internal::make_code<TYPE>(),
      PyNativeType_VALUE_LIST(ROW)
#undef ROW
  };
  return codes[code];
}

/// Sets `values` to the pointer and the count of a buffer of that type. If `view->obj` is not NULL
/// afterwards, release the buffer after the call. On failure, returns false with the same
/// exceptions as the generated wrappers. GIL: held.
inline bool buffer_to_values(PyObject *object, PyNativeType type, native_value *values,
                             Py_buffer *view) {
  void *data = nullptr;
  std::size_t count = 0;
  view->obj = nullptr;
  if (type.code == PyNativeType_STRING) {
    span<const char> text;
    if (!typedcall::internal::text_from_python(object, &text)) return false;
    values[0] = native_value::of(text.data());
    count = text.size();
  } else {
    if (!typedcall::internal::buffer_from_python(object, type, &data, &count, view)) return false;
    values[0] = native_value::of(data);
  }
  values[1] = native_value::of(static_cast<std::intptr_t>(count));
  return true;
}

/// A parameter for which Python passes an argument. The caller releases the buffer in its scratch.
class parameter {
 public:
  explicit parameter(PyNativeType type)
      : code_(&code_of(type.code)),
        pointer_(!type.pointer_flags          ? nullptr
                 : PyNativeType_IsConst(type) ? &code_->const_pointer
                                              : &code_->pointer),
        type_(type),
        is_buffer_(PyNativeType_IsBuffer(type)) {}

  /// Returns the number of C arguments.
  std::size_t width() const { return is_buffer_ ? 2 : 1; }
  bool needs_scratch() const { return pointer_ != nullptr || code_->needs_scratch; }

  /// Converts an argument. `value` has room for width() values.
  bool convert(PyObject *object, native_value *value, scratch *where) const {
    if (is_buffer_) return buffer_to_values(object, type_, value, &where->view);
    if (pointer_ == nullptr) return code_->convert(object, value, where);
    void *pointer;
    if (!typedcall::internal::pointer_from_python(object, *pointer_, &pointer, &where->view)) {
      return false;
    }
    *value = native_value::of(pointer);
    return true;
  }

 private:
  const value_code *code_;
  const typedcall::internal::pointer_wanted *pointer_;  // null if it is not a pointer
  PyNativeType type_;
  bool is_buffer_;
};

/// Returns the function that converts a value of this type to a Python object.
inline PyObject *(*boxer_of(PyNativeType type))(const void *place) {
  const value_code &code = code_of(type.code);
  if (!type.pointer_flags) return code.box;
  return PyNativeType_IsConst(type) ? code.box_const_pointer : code.box_pointer;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_VALUES_H_
