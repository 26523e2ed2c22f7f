// Metaclasses written in C. A combined metaclass inherits fields, tp_new and tp_dealloc from ours
// only. We call another base's tp_dealloc ourselves, and refuse a base with fields or a tp_new.
#ifndef TYPEDCALL_CORE_TYPES_C_METACLASS_H_
#define TYPEDCALL_CORE_TYPES_C_METACLASS_H_

#include "core/types/metaclass.h"

// Sets TypeError. Always returns -1.
static inline TYPEDCALL_COLD int PyTC_CannotCombine(PyTypeObject *metaclass, const char *reason) {
  char name[PyTC_NAME_SIZE];
  PyErr_Format(PyExc_TypeError,
               "metaclass '%s' cannot be combined with the one of custom slots: %s; give its types "
               "foreign slots instead (core/foreign_slots.h)",
               PyTC_Name(metaclass, name), reason);
  return -1;
}

// True for a metaclass that is not `type` and does not derive from ours.
static inline int PyTC_IsForeign(PyTypeObject *ours, PyTypeObject *metaclass) {
  return metaclass != &PyType_Type && PyType_IsSubtype(metaclass, &PyType_Type) &&
         !PyType_IsSubtype(metaclass, ours);
}

// Returns 1 if the metaclass has its own tp_new in C, 0 if not, or -1 with an exception set.
static inline int PyTC_HasOwnNew(PyTypeObject *metaclass) {
  PyObject *function = PyTC_OwnAttribute(metaclass, "__new__");
  if (function == NULL) return PyErr_Occurred() ? -1 : 0;
  int is_own = 0;
  if (Py_TYPE(function) == &PyCFunction_Type &&
      PyTC_SLOT(newfunc, metaclass, tp_new) != PyTC_SLOT(newfunc, &PyType_Type, tp_new)) {
    PyObject *self = PyObject_GetAttrString(function, "__self__");
    is_own = self == NULL ? -1 : self == (PyObject *)metaclass;
    Py_XDECREF(self);
  }
  Py_DECREF(function);
  return is_own;
}

// Returns 0 if these metaclasses can be combined with ours, else -1 with an exception set.
static inline int PyTC_CheckForeign(PyTypeObject *ours, PyObject *bases) {
  const Py_ssize_t usual = PyTC_BasicSize(&PyType_Type);
  if (usual < 0) return -1;
  for (Py_ssize_t i = 0; i < PyList_Size(bases); ++i) {
    PyTypeObject *metaclass = (PyTypeObject *)PyList_GetItem(bases, i);
    if (!PyTC_IsForeign(ours, metaclass)) continue;
    const Py_ssize_t size = PyTC_BasicSize(metaclass);
    if (size < 0) return -1;
    if (size != usual) {
      return PyTC_CannotCombine(metaclass,
                                "it has C fields of its own, which are where the slots would be");
    }
    PyObject *mro = PyTC_Mro(metaclass);
    if (mro == NULL) return PyErr_Occurred() ? -1 : 0;
    int failed = 0;
    for (Py_ssize_t at = 0; !failed && at < PyTuple_Size(mro); ++at) {
      PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, at);
      if (!PyTC_IsForeign(ours, base)) continue;
      failed = PyTC_HasOwnNew(base);
      if (failed > 0) {
        PyTC_CannotCombine(base, "it has a tp_new of its own, which CPython would not call");
      }
    }
    Py_DECREF(mro);
    if (failed) return -1;
  }
  return 0;
}

// Returns the tp_dealloc of metaclasses made in Python. Stores `known` first if that is not NULL.
static inline destructor PyTC_UsualDealloc(destructor known) {
  static destructor kept;
  if (known != NULL && kept != known) kept = known;
  return kept;
}

// Returns the first foreign metaclass in the MRO that has its own tp_dealloc in C (borrowed), or
// NULL. If there is another one, whose tp_dealloc the first cannot call, sets `*other` to it.
static inline PyTypeObject *PyTC_OwnDealloc(PyTypeObject *ours, PyObject *mro,
                                            PyTypeObject **other) {
  PyTypeObject *first = NULL;
  *other = NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (!PyTC_IsForeign(ours, base)) continue;
    const destructor own = PyTC_SLOT(destructor, base, tp_dealloc);
    if (own == PyTC_SLOT(destructor, &PyType_Type, tp_dealloc) || own == PyTC_UsualDealloc(NULL)) {
      continue;
    }
    if (first == NULL) {
      first = base;
    } else if (own != PyTC_SLOT(destructor, first, tp_dealloc) && !PyType_IsSubtype(first, base)) {
      *other = base;
    }
  }
  return first;
}

#ifndef Py_LIMITED_API

// The tp_dealloc of combined metaclasses. Calls the foreign tp_dealloc, which calls that of `type`.
static inline TYPEDCALL_COLD void PyTC_CombinedDealloc(PyObject *self) {
  PyTypeObject *type = (PyTypeObject *)self, *metaclass = Py_TYPE(self), *combined = metaclass;
  PyTypeObject *ours = PyTC_MetaclassOf(type), *other;
  while (combined->tp_dealloc != PyTC_CombinedDealloc) combined = combined->tp_base;
  const PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *mro = PyTC_Mro(combined);
  PyTypedcall_RestoreError(saved);
  PyTypeObject *foreign = mro != NULL ? PyTC_OwnDealloc(ours, mro, &other) : NULL;
  if (foreign == NULL) {  // Python code has assigned to `__bases__`
    Py_XDECREF(mro);
    PyTC_Dealloc(self);
    return;
  }
  PyTC_Table *table = PyTC_TableOf(ours, type);
  if (table != NULL) PyTC_LeaveTable(table, type);
  // A heap type's tp_dealloc also releases the reference to the object's type.
  const int gives_back = PyTC_IsHeapType(foreign);
  Py_INCREF((PyObject *)foreign);
  foreign->tp_dealloc(self);
  Py_DECREF((PyObject *)foreign);
  Py_DECREF(mro);
  PyTC_ReleaseTable(table);
  if (!gives_back) Py_DECREF((PyObject *)metaclass);
}

#endif

// Sets tp_dealloc if a foreign base needs that. Returns 0, or -1 with an exception set.
static inline int PyTC_TakeDealloc(PyTypeObject *ours, PyTypeObject *combined) {
  PyTC_UsualDealloc(PyTC_SLOT(destructor, combined, tp_dealloc));
  PyObject *mro = PyTC_Mro(combined);
  if (mro == NULL) return PyErr_Occurred() ? -1 : 0;
  PyTypeObject *other = NULL;
  PyTypeObject *foreign = PyTC_OwnDealloc(ours, mro, &other);
  int result = 0;
  if (other != NULL) {
    result = PyTC_CannotCombine(
        other, "it has a tp_dealloc of its own, and so has another of the metaclasses");
  } else if (foreign != NULL) {
#ifdef Py_LIMITED_API
    result = PyTC_CannotCombine(
        foreign, "it has a tp_dealloc of its own, which a module of the limited API cannot call");
#else
    combined->tp_dealloc = PyTC_CombinedDealloc;
#endif
  }
  Py_DECREF(mro);
  return result;
}

#endif  // TYPEDCALL_CORE_TYPES_C_METACLASS_H_
