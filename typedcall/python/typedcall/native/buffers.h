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
  constexpr std::size_t most = typedcall::internal::most_arguments;
  if (PyErr_Occurred() != nullptr) return false;
  stats::add(event::boxed);
  object_ref boxed[most];
  typedcall::internal::copied_buffer buffers[most];
  PyObject *stack[most + 1] = {nullptr};
  const std::size_t count = plan.inputs.size();
  // What is passed for an argument; for a buffer these are two values, its parts.
  const native_value *given[most];
  const native_value *next = values;
  for (std::size_t i = 0; i < count; ++i) {
    const PyNativeType type = plan.inputs[i];
    given[i] = next++;
    if (PyNativeType_IsBuffer(type) == 0) continue;
    const Py_ssize_t elements = (next++)->get<Py_ssize_t>();
    buffers[i].parts = {type, given[i]->get<const void *>(), static_cast<std::size_t>(elements)};
  }
  bool is_boxed = true;
  for (std::size_t i = 0; is_boxed && i < count; ++i) {
    const PyNativeType type = plan.inputs[i];
    boxed[i] = object_ref::steal(PyNativeType_IsBuffer(type) != 0
                                     ? typedcall::internal::box_buffer(buffers, count, i)
                                     : typedcall::internal::box_element(type, *given[i]));
    is_boxed = static_cast<bool>(boxed[i]);
    stack[i + 1] = boxed[i].get();
  }
  object_ref returned;
  if (is_boxed) {
    returned = object_ref::steal(
        PyObject_Vectorcall(callable, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    for (std::size_t i = 0; i < count; ++i) typedcall::internal::finish_buffer(buffers[i]);
  }
  return returned && typedcall::internal::unbox_element(plan.output, returned.get(), result);
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_BUFFERS_H_
