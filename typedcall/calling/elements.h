// Elements of arrays: as arguments of a C function, as its results, and as Python objects.
#ifndef TYPEDCALL_CALLING_ELEMENTS_H_
#define TYPEDCALL_CALLING_ELEMENTS_H_

#include "typedcall/boxed_call.h"
// boxed_call.h comes first because it includes Python.h.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "typedcall/base/namespace.h"
#include "typedcall/base/stack.h"
#include "typedcall/calling/call.h"
#include "typedcall/invoke/native_value.h"
#include "typedcall/invoker.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

template <class T>
struct element_type {
  using type = T;
};

/// Returns body(element_type<T>()), where T is the C type. T is `void *` for typed pointers. For
/// "v", returns 0, false or null.
template <class Body>
TYPEDCALL_IN_LINE inline auto with_element_type(PyNativeType type, const Body &body) {
  switch (type.pointer_flags != 0 ? static_cast<int>(PyNativeType_POINTER) : type.code) {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND, ...) \
  case PyNativeType_##NAME:                           \
    return body(element_type<TYPE>());
    PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
  }
  return decltype(body(element_type<int>()))();
}

template <class T>
native_value load_value(const char *from, wide_value *scratch) {
  if constexpr (std::is_same_v<T, PyObject *>) {
    // A NULL element counts as None, as in NumPy.
    PyObject *object = load_as<PyObject *>(from);
    return native_value::of(object != nullptr ? object : Py_None);
  } else if constexpr (sizeof(T) > sizeof(native_value::bits)) {
    std::memcpy(scratch, from, sizeof(T));
    return native_value::at(scratch);
  } else {
    return native_value::of(load_as<T>(from));
  }
}

/// Loads the element at `from` as an argument. An element that is too wide for a native_value is
/// copied to `scratch`.
TYPEDCALL_IN_LINE inline native_value load_element(PyNativeType type, const char *from,
                                                   wide_value *scratch) {
  return with_element_type(type, [&](auto element) {
    return load_value<typename decltype(element)::type>(from, scratch);
  });
}

/// Stores a result that is not an object.
inline void store_element(std::size_t size, native_value result, const wide_value &wide, char *to) {
  switch (size) {  // copies of constant size are faster
    case 8:
      return void(std::memcpy(to, &result.bits, 8));
    case 4:
      return void(std::memcpy(to, &result.bits, 4));
    default:
      std::memcpy(to, size > 8 ? static_cast<const void *>(&wide) : &result.bits, size);
  }
}

/// Replaces the reference at `to`, which may be NULL, with `object`. As in Py_SETREF(), the array
/// must be changed before the old object's destructor runs.
inline void store_object(PyObject *object, char *to) {
  PyObject *const old = load_as<PyObject *>(to);
  std::memcpy(to, &object, sizeof(object));
  Py_XDECREF(old);
}

template <class T>
PyObject *box_loaded(native_value value) {
  if constexpr (std::is_same_v<T, PyObject *>) {
    return object_ref::borrow(value.get<PyObject *>()).release();
  } else if constexpr (sizeof(T) > sizeof(native_value)) {
    T wide;
    std::memcpy(&wide, value.get<const void *>(), sizeof(wide));
    return to_python(wide);
  } else {
    return to_python(value.get<T>());
  }
}

template <class T>
bool unbox_result(PyObject *object, wide_value *to) {
  if constexpr (std::is_same_v<T, PyObject *>) {
    Py_INCREF(object);
    std::memcpy(to, &object, sizeof(object));
    return true;
  } else if constexpr (is_convertible_type<T>) {
    T value{};
    if (!from_python(object, &value)) return false;
    std::memcpy(to, &value, sizeof(value));
    return true;
  } else {
    PyErr_SetString(PyExc_TypeError,
                    "typedcall: the Python callable was called in a loop, and its result is not "
                    "a number");
    return false;
  }
}

/// Returns a new reference to an argument as a Python object, or NULL with an exception set.
inline PyObject *box_element(PyNativeType type, native_value value) {
  return with_element_type(
      type, [&](auto element) { return box_loaded<typename decltype(element)::type>(value); });
}

inline bool unbox_element(PyNativeType type, PyObject *object, wide_value *to) {
  if (type.code == PyNativeType_VOID) return true;
  return with_element_type(type, [&](auto element) {
    return unbox_result<typename decltype(element)::type>(object, to);
  });
}

/// Calls the Python callable with the C function's arguments, which do not include self. A buffer
/// takes up two values and is passed as a copy. On failure, returns false with an exception set. If
/// an exception is already pending, calls nothing and returns false. GIL: held.
TYPEDCALL_RARE inline bool call_element(const python_callable &callee,
                                        const calling::description &types,
                                        const native_value *values, wide_value *result) {
  if (PyErr_Occurred() != nullptr) return false;
  const std::size_t count = types.parameters.size(), copies = types.takes_buffers() ? count : 0;
  auto *const buffers = TYPEDCALL_INTERNAL_ON_STACK(copied_buffer, copies + 1);
  const native_value *next = values;
  for (std::size_t i = 0; i < copies; ++i, ++next) {
    const calling::value_type &type = types.parameters[i];
    new (&buffers[i]) copied_buffer;
    if (!type.is_buffer) continue;
    const auto *const data = (next++)->get<const void *>();
    buffers[i].parts = {type.type, data, next->get<std::size_t>()};
  }
  const object_ref returned = calling::call_boxed(callee, count, [&](std::size_t i) {
    const native_value value = *values++;
    const calling::value_type &type = types.parameters[i];
    if (!type.is_buffer) return object_ref::steal(box_element(type.type, value));
    ++values;
    return object_ref::steal(box_buffer(buffers, count, i));
  });
  for (std::size_t i = 0; i < copies; ++i) finish_buffer(buffers[i]);
  const bool is_done = returned && unbox_element(types.result.type, returned.get(), result);
  for (std::size_t i = 0; i < copies; ++i) buffers[i].copy.reset();
  return is_done;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_ELEMENTS_H_
