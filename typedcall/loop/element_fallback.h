// Where a function whose types are known at run time falls back: its arguments as Python objects,
// the call of the Python callable, and its result back, chosen by type codes.
#ifndef TYPEDCALL_LOOP_ELEMENT_FALLBACK_H_
#define TYPEDCALL_LOOP_ELEMENT_FALLBACK_H_

#include "typedcall/boxed_call.h"
// boxed_call.h comes first, because of Python.h.
#include <cstddef>
#include <cstring>

#include "typedcall/fallback.h"
#include "typedcall/invoke/native_value.h"
#include "typedcall/loop/elements.h"
#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

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
                    "typedcall: the Python callable was called in a loop, and its result is no "
                    "number");
    return false;
  }
}

/// A new reference to the value of an argument, or NULL with an exception.
inline PyObject *box_element(PyNativeType type, native_value value) {
  switch (element_code(type)) {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                      \
    return box_loaded<TYPE>(value);
    PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
  }
  Py_RETURN_NONE;
}

inline bool unbox_element(PyNativeType type, PyObject *object, wide_value *to) {
  switch (element_code(type)) {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                      \
    return unbox_result<TYPE>(object, to);
    PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
  }
  return true;
}

/// Calls `callee` with `values`, which do not include self; a buffer, of which it gets a copy, is
/// two of them. `buffers` are as many as there are arguments, or null. False with an exception.
inline bool call_with(const python_callable &callee, const element_plan &plan,
                      const native_value *values, copied_buffer *buffers, wide_value *result) {
  boxed_arguments<most_arguments> boxed;
  const std::size_t count = plan.inputs.size();
  for (std::size_t i = 0; i < count; ++i, ++values) {
    const PyNativeType type = plan.inputs[i];
    if (PyNativeType_IsBuffer(type) == 0) {
      if (!boxed.add(box_element(type, *values))) return false;
    } else if (!boxed.add(box_buffer(buffers, count, i))) {
      return false;
    } else {
      ++values;
    }
  }
  const object_ref returned = boxed.call(callee);
  for (std::size_t i = 0; buffers != nullptr && i < count; ++i) finish_buffer(buffers[i]);
  return returned && unbox_element(plan.output, returned.get(), result);
}

TYPEDCALL_RARE inline bool call_with_copies(const python_callable &callee, const element_plan &plan,
                                            const native_value *values, wide_value *result) {
  copied_buffer buffers[most_arguments];
  const native_value *next = values;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i, ++next) {
    const PyNativeType type = plan.inputs[i];
    if (PyNativeType_IsBuffer(type) == 0) continue;
    const auto *const data = (next++)->get<const void *>();
    buffers[i].parts = {type, data, next->get<std::size_t>()};
  }
  return call_with(callee, plan, values, buffers, result);
}

/// Calls the Python callable with what a C function gets. False with an exception. GIL: held; one
/// that is pending already is left, and nothing is called.
TYPEDCALL_RARE inline bool call_element(const python_callable &callee, const element_plan &plan,
                                        const native_value *values, wide_value *result) {
  if (PyErr_Occurred() != nullptr) return false;
  return plan.has_buffers() ? call_with_copies(callee, plan, values, result)
                            : call_with(callee, plan, values, nullptr, result);
}

/// For loops that hold objects, or whose function may fall back.
struct element_fallback {
  bool holds = false;
  const callable_at_home *callee = nullptr;
  /// What the loop has let go of; null: the thread may be attached or not.
  PyThreadState *detached = nullptr;

  bool operator()(const element_plan &plan, const native_value *values, wide_value *result) const {
    const calling::outcome found = calling::settle(plan.verdict);
    if (found != calling::outcome::none) return found == calling::outcome::value;
    const auto call = [&](bool) { return call_element(*callee, plan, values, result); };
    if (detached == nullptr) return callee->attached(call);
    restore_thread(detached);
    const bool is_done = run_python([&] { return call(true); });
    PyEval_SaveThread();
    return is_done;
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_LOOP_ELEMENT_FALLBACK_H_
