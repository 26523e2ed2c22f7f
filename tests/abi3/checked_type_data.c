// Replaces PyObject_GetTypeData() with a version that checks the type of the object. Otherwise only
// CPython's debug builds check this.
#include <Python.h>

void *PyObject_GetTypeData(PyObject *object, PyTypeObject *cls) {
  if (!PyObject_TypeCheck(object, cls)) {
    Py_FatalError("PyObject_GetTypeData: the object is no instance of the class");
  }
  const size_t behind_base = (size_t)cls->tp_base->tp_basicsize;
  const size_t alignment = 16;  // alignof(max_align_t) on x86-64 and AArch64
  return (char *)object + (behind_base + alignment - 1) / alignment * alignment;
}
