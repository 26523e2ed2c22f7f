// Capsules for Python: their names and addresses, and new ones. By the C API, not by ctypes, which
// CPython 3.12 does not load into interpreters with a GIL of their own.
#ifndef TYPEDCALL_PYTHON_NATIVE_CAPSULE_H_
#define TYPEDCALL_PYTHON_NATIVE_CAPSULE_H_

#include <Python.h>

#include <cstring>

namespace typedcall::python {

/// None for a capsule without a name.
inline PyObject *capsule_name(PyObject *, PyObject *capsule) {
  const char *const name = PyCapsule_GetName(capsule);
  if (name != nullptr) {
    return PyUnicode_DecodeUTF8(name, static_cast<Py_ssize_t>(std::strlen(name)), "replace");
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  Py_RETURN_NONE;
}

/// As an int, whatever its name is. ValueError for what is no capsule.
inline PyObject *capsule_address(PyObject *, PyObject *capsule) {
  const char *const name = PyCapsule_GetName(capsule);
  if (name == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  void *const address = PyCapsule_GetPointer(capsule, name);
  return address != nullptr ? PyLong_FromVoidPtr(address) : nullptr;
}

/// make_capsule(address, name): the caller keeps the bytes of the name for ever.
inline PyObject *make_capsule(PyObject *, PyObject *args) {
  PyObject *address, *name;
  if (!PyArg_ParseTuple(args, "O!S:make_capsule", &PyLong_Type, &address, &name)) return nullptr;
  void *const pointer = PyLong_AsVoidPtr(address);
  if (pointer == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  return PyCapsule_New(pointer, PyBytes_AS_STRING(name), nullptr);
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_CAPSULE_H_
