// Metaclasses written in C. CPython gives a combined metaclass the fields, tp_new and tp_dealloc of
// one base only, which is ours: another base's tp_dealloc is run here, and the rest is refused.
#ifndef TYPEDCALL_CORE_TYPES_C_METACLASS_H_
#define TYPEDCALL_CORE_TYPES_C_METACLASS_H_

#include "core/types/metaclass.h"

// Returns -1 with TypeError.
static inline TYPEDCALL_COLD int PyExtensibleType_Internal_CannotCombine(PyTypeObject *metaclass,
                                                                         const char *reason) {
  char name[PyTypedcall_Internal_NAME_SIZE];
  PyErr_Format(PyExc_TypeError,
               "metaclass '%s' cannot be combined with the one of custom slots: %s; give its types "
               "foreign slots instead (core/foreign_slots.h)",
               PyTypedcall_Internal_Name(metaclass, name), reason);
  return -1;
}

// True if a metaclass is neither `type` nor has our data.
static inline int PyExtensibleType_Internal_IsForeign(PyTypeObject *ours, PyTypeObject *metaclass) {
  return metaclass != &PyType_Type && PyType_IsSubtype(metaclass, &PyType_Type) &&
         !PyType_IsSubtype(metaclass, ours);
}

// True if the metaclass has a tp_new of its own: not inherited, not `type`'s, and not a `__new__`
// in Python. -1 with an exception.
static inline int PyExtensibleType_Internal_HasOwnNew(PyTypeObject *metaclass) {
  PyObject *function = PyTypedcall_Internal_OwnAttribute(metaclass, "__new__");
  if (function == NULL) return PyErr_Occurred() ? -1 : 0;
  int is_own = 0;
  if (Py_TYPE(function) == &PyCFunction_Type &&
      PyTypedcall_Internal_SLOT(newfunc, metaclass, tp_new) !=
          PyTypedcall_Internal_SLOT(newfunc, &PyType_Type, tp_new)) {
    PyObject *self = PyObject_GetAttrString(function, "__self__");
    is_own = self == NULL ? -1 : self == (PyObject *)metaclass;
    Py_XDECREF(self);
  }
  Py_DECREF(function);
  return is_own;
}

// Returns 0 if these metaclasses can be the bases of one with our data, else -1 with an exception.
static inline int PyExtensibleType_Internal_CheckForeign(PyTypeObject *ours, PyObject *bases) {
  const Py_ssize_t usual = PyTypedcall_Internal_BasicSize(&PyType_Type);
  if (usual < 0) return -1;
  for (Py_ssize_t i = 0; i < PyList_Size(bases); ++i) {
    PyTypeObject *metaclass = (PyTypeObject *)PyList_GetItem(bases, i);
    if (!PyExtensibleType_Internal_IsForeign(ours, metaclass)) continue;
    const Py_ssize_t size = PyTypedcall_Internal_BasicSize(metaclass);
    if (size < 0) return -1;
    if (size != usual) {
      return PyExtensibleType_Internal_CannotCombine(
          metaclass, "it has C fields of its own, which are where the slots would be");
    }
    PyObject *mro = PyTypedcall_Internal_Mro(metaclass);
    if (mro == NULL) return PyErr_Occurred() ? -1 : 0;
    int failed = 0;
    for (Py_ssize_t at = 0; !failed && at < PyTuple_Size(mro); ++at) {
      PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, at);
      if (!PyExtensibleType_Internal_IsForeign(ours, base)) continue;
      failed = PyExtensibleType_Internal_HasOwnNew(base);
      if (failed > 0) {
        PyExtensibleType_Internal_CannotCombine(
            base, "it has a tp_new of its own, which CPython would not call");
      }
    }
    Py_DECREF(mro);
    if (failed) return -1;
  }
  return 0;
}

// Returns the tp_dealloc of classes whose metaclass was made in Python: CPython's subtype_dealloc,
// the same for the life of the process. Remembers `known` unless it is NULL.
static inline destructor PyExtensibleType_Internal_UsualDealloc(destructor known) {
  static destructor kept;
  if (known != NULL && kept != known) kept = known;
  return kept;
}

// Returns the first foreign metaclass in the MRO with a tp_dealloc in C that is not `type`'s,
// borrowed; NULL if there is none. Sets `*other` to one whose tp_dealloc the first cannot know, or
// NULL.
static inline PyTypeObject *PyExtensibleType_Internal_OwnDealloc(PyTypeObject *ours, PyObject *mro,
                                                                 PyTypeObject **other) {
  PyTypeObject *first = NULL;
  *other = NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsForeign(ours, base)) continue;
    const destructor own = PyTypedcall_Internal_SLOT(destructor, base, tp_dealloc);
    if (own == PyTypedcall_Internal_SLOT(destructor, &PyType_Type, tp_dealloc) ||
        own == PyExtensibleType_Internal_UsualDealloc(NULL)) {
      continue;
    }
    if (first == NULL) {
      first = base;
    } else if (own != PyTypedcall_Internal_SLOT(destructor, first, tp_dealloc) &&
               !PyType_IsSubtype(first, base)) {
      *other = base;
    }
  }
  return first;
}

#ifndef Py_LIMITED_API

// For classes with a combined metaclass: our work around the foreign tp_dealloc, which ends in that
// of `type`.
static inline TYPEDCALL_COLD void PyExtensibleType_Internal_CombinedDealloc(PyObject *self) {
  PyTypeObject *type = (PyTypeObject *)self, *metaclass = Py_TYPE(self), *combined = metaclass;
  PyTypeObject *ours = PyExtensibleType_Internal_MetaclassOf(type), *other;
  while (combined->tp_dealloc != PyExtensibleType_Internal_CombinedDealloc) {
    combined = combined->tp_base;
  }
  const PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *mro = PyTypedcall_Internal_Mro(combined);
  PyTypedcall_RestoreError(saved);
  PyTypeObject *foreign =
      mro != NULL ? PyExtensibleType_Internal_OwnDealloc(ours, mro, &other) : NULL;
  if (foreign == NULL) {  // the metaclass's `__bases__` were assigned
    Py_XDECREF(mro);
    PyExtensibleType_Internal_Dealloc(self);
    return;
  }
  PyExtensibleType_Internal_Table *table = PyExtensibleType_Internal_TableOf(ours, type);
  if (table != NULL) PyExtensibleType_Internal_LeaveTable(table, type);
  // By CPython's rule a heap type's tp_dealloc releases the reference to the object's type.
  const int gives_back = PyTypedcall_Internal_IsHeapType(foreign);
  Py_INCREF((PyObject *)foreign);
  foreign->tp_dealloc(self);
  Py_DECREF((PyObject *)foreign);
  Py_DECREF(mro);
  PyExtensibleType_Internal_ReleaseTable(table);
  if (!gives_back) Py_DECREF((PyObject *)metaclass);
}

#endif

// Gives the classes of a new combined metaclass the tp_dealloc that its other metaclass needs.
// Returns 0, or -1 with an exception.
static inline int PyExtensibleType_Internal_TakeDealloc(PyTypeObject *ours,
                                                        PyTypeObject *combined) {
  PyExtensibleType_Internal_UsualDealloc(
      PyTypedcall_Internal_SLOT(destructor, combined, tp_dealloc));
  PyObject *mro = PyTypedcall_Internal_Mro(combined);
  if (mro == NULL) return PyErr_Occurred() ? -1 : 0;
  PyTypeObject *other = NULL;
  PyTypeObject *foreign = PyExtensibleType_Internal_OwnDealloc(ours, mro, &other);
  int result = 0;
  if (other != NULL) {
    result = PyExtensibleType_Internal_CannotCombine(
        other, "it has a tp_dealloc of its own, and so has another of the metaclasses");
  } else if (foreign != NULL) {
#ifdef Py_LIMITED_API
    result = PyExtensibleType_Internal_CannotCombine(
        foreign, "it has a tp_dealloc of its own, which a module of the limited API cannot call");
#else
    combined->tp_dealloc = PyExtensibleType_Internal_CombinedDealloc;
#endif
  }
  Py_DECREF(mro);
  return result;
}

#endif  // TYPEDCALL_CORE_TYPES_C_METACLASS_H_
