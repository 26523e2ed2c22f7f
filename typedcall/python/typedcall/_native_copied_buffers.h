// Buffers for a Python callable that compiled code falls back to: copies of their memory, which may
// outlive the call, and what was written to them back.
#ifndef TYPEDCALL_PYTHON_NATIVE_COPIED_BUFFERS_H_
#define TYPEDCALL_PYTHON_NATIVE_COPIED_BUFFERS_H_

#include "typedcall/loop.h"
// loop.h comes first, because of Python.h.
#include <cstring>

namespace typedcall::python {

/// A memoryview of a copy of `count` elements, and in `*bytes` what has the copy: bytes, or a
/// bytearray for a type without "k". Null with an exception: also for elements that no memoryview
/// is cast to, complex numbers and long doubles. GIL: held.
inline object_ref copied_buffer(PyNativeType type, const void *from, Py_ssize_t count,
                                object_ref *bytes) {
  const char *const letters = PyNativeCode_Letters(type.code);
  const Py_ssize_t size = count * static_cast<Py_ssize_t>(PyNativeCode_Size(type.code));
  const char *const memory = size == 0 ? "" : static_cast<const char *>(from);
  *bytes =
      object_ref::steal(PyNativeType_IsConst(type) ? PyBytes_FromStringAndSize(memory, size)
                                                   : PyByteArray_FromStringAndSize(memory, size));
  if (!*bytes) return {};
  const object_ref view = object_ref::steal(PyMemoryView_FromObject(bytes->get()));
  return object_ref::steal(view ? PyObject_CallMethod(view.get(), "cast", "s", letters) : nullptr);
}

/// As call_element(), for signatures with buffers: `values` are the arguments as C gets them, two
/// for each buffer. False with an exception. GIL: held.
__attribute__((noinline, cold)) inline bool call_with_copies(
    PyObject *callable, const typedcall::internal::element_plan &plan, const native_value *values,
    wide_value *result) {
  constexpr std::size_t most = typedcall::internal::most_arguments;
  if (PyErr_Occurred() != nullptr) return false;
  stats::add(event::boxed);
  object_ref boxed[most], bytes[most];
  PyObject *stack[most + 1] = {nullptr};
  const std::size_t count = plan.inputs.size();
  const native_value *next = values;
  for (std::size_t i = 0; i < count; ++i, ++next) {
    if (PyNativeType_IsBuffer(plan.inputs[i])) {
      const void *const from = next->get<const void *>();
      boxed[i] = copied_buffer(plan.inputs[i], from, (++next)->get<Py_ssize_t>(), &bytes[i]);
    } else {
      boxed[i] = object_ref::steal(typedcall::internal::box_element(plan.inputs[i], *next));
    }
    if (!boxed[i]) return false;
    stack[i + 1] = boxed[i].get();
  }
  const object_ref returned = object_ref::steal(
      PyObject_Vectorcall(callable, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  next = values;
  for (std::size_t i = 0; i < count; ++i, ++next) {
    if (!PyNativeType_IsBuffer(plan.inputs[i])) continue;
    void *const to = next->get<void *>();
    const Py_ssize_t size = (++next)->get<Py_ssize_t>() *
                            static_cast<Py_ssize_t>(PyNativeCode_Size(plan.inputs[i].code));
    // Who has released the memoryview may have made it shorter, or longer.
    if (!PyNativeType_IsConst(plan.inputs[i]) && PyByteArray_GET_SIZE(bytes[i].get()) == size) {
      std::memcpy(to, PyByteArray_AS_STRING(bytes[i].get()), static_cast<std::size_t>(size));
    }
  }
  return returned && typedcall::internal::unbox_element(plan.output, returned.get(), result);
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_COPIED_BUFFERS_H_
