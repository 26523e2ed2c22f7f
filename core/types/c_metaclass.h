// What metaclasses that are written in C have of their own. CPython gives a combined metaclass the
// fields, tp_new and tp_dealloc of one base only, which is ours: others' tp_dealloc is run here,
// and what cannot be had is refused.
#ifndef TYPEDCALL_CORE_TYPES_C_METACLASS_H_
#define TYPEDCALL_CORE_TYPES_C_METACLASS_H_

#include "core/types/metaclass.h"

#ifdef __cplusplus
extern "C" {
#endif

// -1 with TypeError.
static inline __attribute__((cold)) int PyExtensibleType_Internal_CannotCombine(
    PyTypeObject *metaclass, const char *reason) {
  char name[PyTypedcall_Internal_NAME_SIZE];
  PyErr_Format(PyExc_TypeError,
               "metaclass '%s' cannot be combined with the one of custom slots: %s; give its types "
               "foreign slots instead (core/foreign_slots.h)",
               PyTypedcall_Internal_Name(metaclass, name), reason);
  return -1;
}

// A metaclass that is neither `type` nor has our data.
static inline int PyExtensibleType_Internal_IsForeign(PyTypeObject *ours, PyTypeObject *metaclass) {
  return metaclass != &PyType_Type && PyType_IsSubtype(metaclass, &PyType_Type) &&
         !PyType_IsSubtype(metaclass, ours);
}

// Has the metaclass a tp_new of its own, not one that it inherits, nor a `__new__` in Python? That
// of `type` goes without saying. -1 with an exception.
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

// May these metaclasses be the bases of one with our data? 0, or -1 with an exception.
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

// The tp_dealloc of classes whose metaclass was made in Python: CPython's subtype_dealloc, which is
// the same for the life of the process. Given one, it is kept.
static inline destructor PyExtensibleType_Internal_UsualDealloc(destructor known) {
  static destructor kept;
  if (known != NULL && kept != known) kept = known;
  return kept;
}

// The first foreign metaclass in the MRO with a tp_dealloc in C that is not `type`'s, borrowed from
// it; NULL if there is none. `*other` is one whose tp_dealloc that one cannot know of, or NULL.
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

// Of classes with a combined metaclass: what ours does, around the foreign one's tp_dealloc, which
// ends in that of `type`.
static inline __attribute__((cold)) void PyExtensibleType_Internal_CombinedDealloc(PyObject *self) {
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
  if (foreign == NULL) {  // someone has assigned to the metaclass's `__bases__`
    Py_XDECREF(mro);
    PyExtensibleType_Internal_Dealloc(self);
    return;
  }
  PyExtensibleType_Internal_Table *table = PyExtensibleType_Internal_TableOf(ours, type);
  if (table != NULL) PyExtensibleType_Internal_LeaveTable(table, type);
  // By CPython's rule that of a heap type gives back the reference to the object's type.
  const int gives_back = PyTypedcall_Internal_IsHeapType(foreign);
  Py_INCREF((PyObject *)foreign);
  foreign->tp_dealloc(self);
  Py_DECREF((PyObject *)foreign);
  Py_DECREF(mro);
  PyExtensibleType_Internal_ReleaseTable(table);
  if (!gives_back) Py_DECREF((PyObject *)metaclass);
}

#endif

// Makes the classes of a new combined metaclass die as their other metaclass wants it. 0, or -1
// with an exception.
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
        other, "it has a tp_dealloc of its own, and so has another one of them");
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

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_TYPES_C_METACLASS_H_
