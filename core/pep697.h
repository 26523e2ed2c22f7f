// PEP 697's functions under their own names, on every CPython since 3.9. Include this after
// Python.h. From 3.12 on, these are CPython's own functions. Unlike ours, they check neither the
// spec's itemsize nor whether each member has Py_RELATIVE_OFFSET. Needs the full API.
#ifndef TYPEDCALL_CORE_PEP697_H_
#define TYPEDCALL_CORE_PEP697_H_

#include "core/type_data.h"

#if PY_VERSION_HEX < 0x030C0000

/// Same contract and thread rules as PyTypeData_Get. Source: PEP 697, "Relative basicsize".
static inline void *PyObject_GetTypeData(PyObject *obj, PyTypeObject *cls) {
  return PyTypeData_Get(obj, cls);
}

/// Same contract and thread rules as PyTypeData_Size. Source: PEP 697, "Relative basicsize".
static inline Py_ssize_t PyType_GetTypeDataSize(PyTypeObject *cls) { return PyTypeData_Size(cls); }

/// Same contract and thread rules as PyTypeData_Items. Source: PEP 697, "Inheriting itemsize".
static inline void *PyObject_GetItemData(PyObject *obj) { return PyTypeData_Items(obj); }

/// Same contract and thread rules as PyTypeData_FromSpec. Source: CPython 3.12.
static inline PyObject *PyType_FromMetaclass(PyTypeObject *metaclass, PyObject *module,
                                             PyType_Spec *spec, PyObject *bases) {
  return PyTypeData_FromSpec(metaclass, module, spec, bases);
}

// Before 3.12 CPython's own functions reject a negative `basicsize`.
#define PyType_FromModuleAndSpec(module, spec, bases) \
  PyType_FromMetaclass(NULL, (module), (spec), (bases))
#define PyType_FromSpecWithBases(spec, bases) PyType_FromMetaclass(NULL, NULL, (spec), (bases))
#define PyType_FromSpec(spec) PyType_FromMetaclass(NULL, NULL, (spec), NULL)

#endif  // PY_VERSION_HEX < 0x030C0000
#endif  // TYPEDCALL_CORE_PEP697_H_
