// A buffer of a typed function called from Python: what C gets, chosen by type code at run time.
// And the way back, where compiled code falls back to the Python callable with what C would have
// got.
#ifndef TYPEDCALL_PYTHON_NATIVE_BUFFERS_H_
#define TYPEDCALL_PYTHON_NATIVE_BUFFERS_H_

#include "typedcall/convert/boxed_buffer.h"
#include "typedcall/convert/buffer.h"
#include "typedcall/loop.h"

namespace typedcall::python {

/// `values` become what C gets for a buffer of that type: the pointer and the count. If `view->obj`
/// is not NULL afterwards, the buffer is to be released behind the call. False with an exception,
/// as in the generated wrappers. GIL: held.
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

/// As call_element(), for signatures with buffers: `values` are the arguments as C gets them, two
/// for each buffer, of which the callable gets a copy. False with an exception. GIL: held.
__attribute__((noinline, cold)) inline bool call_with_copies(
    PyObject *callable, const typedcall::internal::element_plan &plan, const native_value *values,
    wide_value *result) {
  using typedcall::internal::buffer_parts;
  constexpr std::size_t most = typedcall::internal::most_arguments;
  if (PyErr_Occurred() != nullptr) return false;
  stats::add(event::boxed);
  object_ref boxed[most], copies[most];
  PyObject *stack[most + 1] = {nullptr};
  const std::size_t count = plan.inputs.size();
  // What is passed for an argument, and for a buffer its parts, which are two values.
  const auto parts_at = [](PyNativeType type, const native_value *at) {
    return buffer_parts{type, at[0].get<const void *>(),
                        static_cast<std::size_t>(at[1].get<Py_ssize_t>())};
  };
  const native_value *next = values;
  bool is_boxed = true;
  std::size_t made = 0;
  for (; is_boxed && made < count; ++made) {
    const PyNativeType type = plan.inputs[made];
    const bool is_buffer = PyNativeType_IsBuffer(type) != 0;
    boxed[made] = object_ref::steal(
        is_buffer ? typedcall::internal::box_buffer(parts_at(type, next), &copies[made])
                  : typedcall::internal::box_element(type, *next));
    is_boxed = static_cast<bool>(boxed[made]);
    stack[made + 1] = boxed[made].get();
    next += is_buffer ? 2 : 1;
  }
  object_ref returned;
  if (is_boxed) {
    returned = object_ref::steal(
        PyObject_Vectorcall(callable, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  }
  next = values;
  for (std::size_t i = 0; i < made; ++i) {
    const PyNativeType type = plan.inputs[i];
    const bool is_buffer = PyNativeType_IsBuffer(type) != 0;
    if (is_buffer && boxed[i]) {
      typedcall::internal::finish_buffer(parts_at(type, next), copies[i].get());
    }
    next += is_buffer ? 2 : 1;
  }
  return returned && typedcall::internal::unbox_element(plan.output, returned.get(), result);
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_BUFFERS_H_
