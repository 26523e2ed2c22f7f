// Where a function in a loop over arrays falls back: that element's values as Python objects, the
// call of the Python callable, and its result back, chosen by type codes.
#ifndef TYPEDCALL_LOOP_ELEMENT_FALLBACK_H_
#define TYPEDCALL_LOOP_ELEMENT_FALLBACK_H_

#include "typedcall/fallback.h"
// fallback.h comes first, because of Python.h.
#include <cstddef>
#include <cstring>

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

/// Calls `callable` with the values of one element, which do not include self. False with an
/// exception. GIL: held; one that is pending already is left, and nothing is called.
TYPEDCALL_RARE inline bool call_element(PyObject *callable, const element_plan &plan,
                                        const native_value *values, wide_value *result) {
  if (PyErr_Occurred() != nullptr) return false;
  stats::add(event::boxed);
  object_ref boxed[most_arguments];
  PyObject *stack[most_arguments + 1] = {nullptr};
  const std::size_t count = plan.inputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    boxed[i] = object_ref::steal(box_element(plan.inputs[i], values[i]));
    if (!boxed[i]) return false;
    stack[i + 1] = boxed[i].get();
  }
  const object_ref returned = object_ref::steal(
      PyObject_Vectorcall(callable, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  return returned && unbox_element(plan.output, returned.get(), result);
}

/// What a loop calls for an element without a result.
struct element_fallback {
  PyObject *callable = nullptr;
  const home_interpreter *home = nullptr;
  /// What the loop has let go of; null: the thread may be attached or not.
  PyThreadState *detached = nullptr;

  bool operator()(const element_plan &plan, const native_value *values, wide_value *result) const {
    const auto call = [&](bool) { return call_element(callable, plan, values, result); };
    if (detached == nullptr) return run_attached_to(*home, callable, call);
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
