// PEP 697 by its own names on every CPython since 3.9: a file written for 3.12 includes this behind
// Python.h and also compiles before 3.12. From 3.12 on this only includes core/type_data.h;
// CPython's own functions check less than ours: neither the spec's itemsize nor whether each member
// has Py_RELATIVE_OFFSET. Needs the full API.
#ifndef TYPEDCALL_CORE_PEP697_H_
#define TYPEDCALL_CORE_PEP697_H_

#include "core/type_data.h"

#if PY_VERSION_HEX < 0x030C0000

/// PyTypeData_Get, its contract and its thread rules. Source: PEP 697, "Relative basicsize".
static inline void *PyObject_GetTypeData(PyObject *obj, PyTypeObject *cls) {
  return PyTypeData_Get(obj, cls);
}

/// PyTypeData_Size, its contract and its thread rules. Source: PEP 697, "Relative basicsize".
static inline Py_ssize_t PyType_GetTypeDataSize(PyTypeObject *cls) { return PyTypeData_Size(cls); }

/// PyTypeData_Items, its contract and its thread rules. Source: PEP 697, "Inheriting itemsize".
static inline void *PyObject_GetItemData(PyObject *obj) { return PyTypeData_Items(obj); }

/// PyTypeData_FromSpec, its contract and its thread rules. Source: CPython 3.12.
static inline PyObject *PyType_FromMetaclass(PyTypeObject *metaclass, PyObject *module,
                                             PyType_Spec *spec, PyObject *bases) {
  return PyTypeData_FromSpec(metaclass, module, spec, bases);
}

// CPython's older functions that make types reject a negative `basicsize`. These accept it.
#define PyType_FromModuleAndSpec(module, spec, bases) \
  PyType_FromMetaclass(NULL, (module), (spec), (bases))
#define PyType_FromSpecWithBases(spec, bases) PyType_FromMetaclass(NULL, NULL, (spec), (bases))
#define PyType_FromSpec(spec) PyType_FromMetaclass(NULL, NULL, (spec), NULL)

#endif  // PY_VERSION_HEX < 0x030C0000
#endif  // TYPEDCALL_CORE_PEP697_H_
