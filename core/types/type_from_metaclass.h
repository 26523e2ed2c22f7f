// PyType_FromMetaclass for every CPython since 3.9.
#ifndef TYPEDCALL_CORE_TYPES_TYPE_FROM_METACLASS_H_
#define TYPEDCALL_CORE_TYPES_TYPE_FROM_METACLASS_H_

#include "core/type_access.h"

#include <string.h>

#if PY_VERSION_HEX < 0x030C0000
#include "core/types/type_from_metaclass_backport.h"
#endif

#ifndef Py_LIMITED_API
// Returns the spec's members, which end with a NULL name.
static inline const PyMemberDef *PyTC_Members(const PyType_Spec *spec) {
  static const PyMemberDef none = {NULL, 0, 0, 0, NULL};
  for (const PyType_Slot *slot = spec->slots; slot->slot != 0; ++slot) {
    const PyMemberDef *members = (const PyMemberDef *)slot->pfunc;
    if (slot->slot == Py_tp_members && members->name != NULL) return members;
  }
  return &none;
}

// CPython copies tp_dictoffset from any base with a `__dict__`, even if another base determines the
// layout. Attributes would then overwrite other data.
static inline void PyTC_PlaceDict(PyTypeObject *type, const PyType_Spec *spec) {
#ifdef Py_TPFLAGS_MANAGED_DICT
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) return;
#endif
  for (const PyMemberDef *m = PyTC_Members(spec); m->name != NULL; ++m) {
    if (strcmp(m->name, "__dictoffset__") == 0) return;
  }
  type->tp_dictoffset = type->tp_base->tp_dictoffset;
}

// CPython lets the type inherit tp_alloc, but datetime's and time's have sizes of their own. Gives
// a type that needs more memory than its base the functions of classes made in Python.
static inline void PyTC_PlaceAlloc(PyTypeObject *type, const PyType_Spec *spec) {
  PyTypeObject *base = type->tp_base;
  if (type->tp_basicsize == base->tp_basicsize && PyType_IS_GC(type) == PyType_IS_GC(base)) return;
  if (PyTC_HasSlot(spec, Py_tp_alloc)) return;
  type->tp_alloc = PyType_GenericAlloc;
  if (PyTC_HasSlot(spec, Py_tp_free)) return;
  type->tp_free = PyType_IS_GC(type) ? PyObject_GC_Del : PyObject_Free;
}
#endif

#if PY_VERSION_HEX >= 0x030C0000
// True if the tuple of bases is empty. CPython then fails without an exception, or aborts (debug).
static inline int PyTC_HasNoBase(const PyType_Spec *spec, PyObject *bases) {
  if (bases != NULL) return PyTuple_Check(bases) && PyTuple_Size(bases) == 0;
  if (spec->name == NULL) return 0;  // CPython refuses a spec without a name
  for (const PyType_Slot *slot = spec->slots; slot->slot != 0; ++slot) {
    if (slot->slot != Py_tp_bases || slot->pfunc == NULL) continue;
    PyObject *given = (PyObject *)slot->pfunc;
    if (PyTuple_Check(given) && PyTuple_Size(given) == 0) return 1;
  }
  return 0;
}
#endif

/// Makes a heap type from `spec`, as PyType_FromMetaclass does (CPython 3.12's C API documentation,
/// "Type Objects"). From 3.12 on it calls that function.
///
/// If `metaclass` is NULL, or a base's metaclass is more derived, the base's metaclass is used.
/// `module` may be NULL. `bases` is a type, a non-empty tuple of types, or NULL for the bases in
/// the spec. The memory that the metaclass adds to its types is zeroed. The metaclass's tp_new and
/// tp_init and the bases' __init_subclass__ are not called. Before 3.11 the name must outlive it.
///
/// Returns a new reference, or NULL with TypeError (a metaclass with its own tp_new, a metaclass
/// conflict, incompatible bases or sizes), SystemError or RuntimeError (an invalid spec),
/// MemoryError, or an exception from Python code. GIL: held. The type belongs to the calling
/// interpreter. Before 3.12 only PyTypeData_FromSpec takes a negative basicsize.
static inline PyObject *PyExtensibleType_FromMetaclass(PyTypeObject *metaclass, PyObject *module,
                                                       PyType_Spec *spec, PyObject *bases) {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject *type = NULL;
  if (PyTC_HasNoBase(spec, bases)) {
    PyErr_SetString(PyExc_TypeError, "a type needs at least one base");
  } else {
    type = PyType_FromMetaclass(metaclass, module, spec, bases);
    if (type == NULL && !PyErr_Occurred()) PyErr_NoMemory();  // CPython may forget to set an error
  }
#else
  PyObject *type = PyTC_Make(metaclass, module, spec, bases);
#endif
#ifndef Py_LIMITED_API
  if (type != NULL) PyTC_PlaceDict((PyTypeObject *)type, spec);
  if (type != NULL) PyTC_PlaceAlloc((PyTypeObject *)type, spec);
#endif
  return type;
}

#endif  // TYPEDCALL_CORE_TYPES_TYPE_FROM_METACLASS_H_
