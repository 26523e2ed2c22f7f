// Functions that read and make capsules. CPython 3.12 cannot load ctypes into interpreters with
// their own GIL.
#ifndef TYPEDCALL_PYTHON_NATIVE_CAPSULE_H_
#define TYPEDCALL_PYTHON_NATIVE_CAPSULE_H_

#include <Python.h>

#include <cstdint>
#include <cstring>

namespace typedcall::python {

/// Returns the capsule's name, or None if it has none.
inline PyObject *capsule_name(PyObject *capsule) {
  const char *const name = PyCapsule_GetName(capsule);
  if (name != nullptr) {
    return PyUnicode_DecodeUTF8(name, static_cast<Py_ssize_t>(std::strlen(name)), "replace");
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  Py_RETURN_NONE;
}

/// Returns the capsule's address, without checking its name. Raises ValueError if the object is not
/// a capsule.
inline PyObject *capsule_address(PyObject *capsule) {
  const char *const name = PyCapsule_GetName(capsule);
  if (name == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  void *const address = PyCapsule_GetPointer(capsule, name);
  return address != nullptr ? PyLong_FromVoidPtr(address) : nullptr;
}

/// Makes a capsule. `name` is a bytes object that must live until the process ends.
inline PyObject *make_capsule(std::uintptr_t address, PyObject *name) {
  const char *const text = PyBytes_AsString(name);
  return text != nullptr ? PyCapsule_New(reinterpret_cast<void *>(address), text, nullptr)
                         : nullptr;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_CAPSULE_H_
