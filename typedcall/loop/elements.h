// The inner loop for signatures that have none of their own: each element is loaded by its type
// code, the invoker calls, the result is stored by its type code. Used by typedcall/loop.h.
#ifndef TYPEDCALL_LOOP_ELEMENTS_H_
#define TYPEDCALL_LOOP_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "typedcall/calling.h"
#include "typedcall/invoker.h"
#include "typedcall/loop/kernels.h"
#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// The code of what a pointer is, for a pointer.
constexpr int element_code(PyNativeType type) {
  return type.is_pointer != 0 ? static_cast<int>(PyNativeType_POINTER) : type.code;
}

template <class T>
native_value load_value(const char *from, wide_value *scratch) {
  if constexpr (std::is_same_v<T, PyObject *>) {
    // Source: NumPy's loops over objects: an element that was never set counts as None.
    PyObject *object = load_as<PyObject *>(from);
    return native_value::of(object != nullptr ? object : Py_None);
  } else if constexpr (sizeof(T) > sizeof(native_value::bits)) {
    std::memcpy(scratch, from, sizeof(T));
    return native_value::at(scratch);
  } else {
    return native_value::of(load_as<T>(from));
  }
}

/// The element at `from` as an argument; one that does not fit is copied to `scratch`.
inline native_value load_element(PyNativeType type, const char *from, wide_value *scratch) {
  switch (element_code(type)) {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                      \
    return load_value<TYPE>(from, scratch);
    PyNativeType_VALUE_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
  }
  return {0};
}

/// Stores a result that is no object: the low bytes of `result`, or what is in `scratch`.
inline void store_element(std::size_t size, native_value result, const wide_value *scratch,
                          char *to) {
  switch (size) {  // a copy of any size takes longer
    case 8:
      return void(std::memcpy(to, &result.bits, 8));
    case 4:
      return void(std::memcpy(to, &result.bits, 4));
    default:
      std::memcpy(to, size > 8 ? static_cast<const void *>(scratch) : &result.bits, size);
  }
}

/// Stores a new reference in place of the one at `to`, which may be NULL. As with Py_SETREF, the
/// array is as it will be when the old object's destructor looks at it.
inline void store_object(PyObject *object, char *to) {
  PyObject *const old = load_as<PyObject *>(to);
  std::memcpy(to, &object, sizeof(object));
  Py_XDECREF(old);
}

/// References to the objects among the arguments of one call: code that it runs may take them out
/// of the arrays. Not object_refs, of which a call would make and destroy as many as there can be.
struct held_objects {
  PyObject *objects[most_arguments];
  std::size_t count = 0;

  void hold(PyObject *object) {
    Py_INCREF(object);
    objects[count++] = object;
  }
  void release() {
    while (count > 0) Py_DECREF(objects[--count]);
  }
};

/// What the loop knows of the signature: its arrays, and how they become arguments.
struct element_plan {
  std::vector<PyNativeType> inputs;
  PyNativeType output = {PyNativeType_VOID, 0};
  PyNativeVerdict verdict = PyNativeVerdict_RESULT;
  bool has_place = false;  // the output is what the argument behind the inputs points to

  bool has_output() const { return output.code != PyNativeType_VOID; }
  bool stores_objects() const { return PyNativeType_Kind(output) == PyNativeKind_OBJECT; }
  static bool is_object(PyNativeType type) {
    return PyNativeType_Kind(type) == PyNativeKind_OBJECT;
  }
  /// Not of a loop; of other calls by type codes.
  bool has_buffers() const {
    for (const PyNativeType type : inputs) {
      if (PyNativeType_IsBuffer(type) != 0) return true;
    }
    return false;
  }
  bool reads_objects() const {
    for (const PyNativeType type : inputs) {
      if (is_object(type)) return true;
    }
    return false;
  }
};

/// For loops that hold no objects and whose function never falls back.
struct no_fallback {
  static constexpr bool holds = false;
  bool operator()(const element_plan &plan, const native_value *, wide_value *) const {
    return calling::settle(plan.verdict) == calling::outcome::value;
  }
};

/// As a kernel: `args` and `steps` are those of the inputs, then that of the output. `self` is
/// passed first unless it is null. Touches Python only where the flags or objects ask for it: where
/// `back.holds`, objects are held during the call that they are passed to, which needs the GIL.
/// `back` gives the value of an element whose C result is none by itself, or false with an
/// exception.
template <class Fallback>
std::intptr_t run_elements(const element_plan &plan, const invoker &invoke, PyObject *self,
                           char *const *args, const std::intptr_t *steps, std::intptr_t count,
                           const Fallback &back) {
  native_value values[most_arguments];
  wide_value scratches[most_arguments];
  const std::size_t inputs = plan.inputs.size();
  const std::size_t size = PyNativeType_Size(plan.output);
  const bool stores_objects = plan.stores_objects(), holds = back.holds;
  native_value *const arguments = values + (self != nullptr ? 1 : 0);
  values[0] = native_value::of(self);
  held_objects held;
  std::intptr_t i = 0;
  for (; i < count; ++i) {
    for (std::size_t at = 0; at < inputs; ++at) {
      arguments[at] = load_element(plan.inputs[at], args[at] + i * steps[at], &scratches[at]);
    }
    for (std::size_t at = 0; holds && at < inputs; ++at) {
      if (element_plan::is_object(plan.inputs[at])) held.hold(arguments[at].get<PyObject *>());
    }
    wide_value scratch = {};
    // Behind 127 arguments and self there is no place for another.
    if (plan.has_place) arguments[inputs] = native_value::at(&scratch);
    native_value result = invoke(values, &scratch);
    if (!invoke.is_result(result) && !back(plan, arguments, &scratch)) break;
    if (plan.has_place) std::memcpy(&result.bits, &scratch, sizeof(result.bits));
    if (stores_objects) {
      auto *const object = result.get<PyObject *>();
      if (object == nullptr) {
        set_missing_error();
        break;
      }
      store_object(object, args[inputs] + i * steps[inputs]);
    } else if (size != 0) {
      store_element(size, result, &scratch, args[inputs] + i * steps[inputs]);
    }
    if (holds) held.release();
  }
  held.release();
  return i;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_LOOP_ELEMENTS_H_
