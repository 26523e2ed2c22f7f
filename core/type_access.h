// Access to types and specs through the full or the limited API. No function here runs Python code.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_TYPE_ACCESS_H_
#define TYPEDCALL_CORE_TYPE_ACCESS_H_

#include "core/platform.h"

static inline int PyTC_IsHeapType(PyTypeObject *type) {
  return (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) != 0;
}

// Returns 0, or -1 with SystemError if the spec has no name.
static inline int PyTC_CheckName(const PyType_Spec *spec) {
  if (spec->name == NULL) PyErr_SetString(PyExc_SystemError, "the spec of a type needs a name");
  return spec->name != NULL ? 0 : -1;
}

static inline int PyTC_HasSlot(const PyType_Spec *spec, int id) {
  const PyType_Slot *slot = spec->slots;
  while (slot->slot != 0 && slot->slot != id) ++slot;
  return slot->slot != 0;
}

// A slot of `type`, cast to its C type, as in PyTC_SLOT(initproc, type, tp_init).
#ifdef Py_LIMITED_API
#define PyTC_SLOT(ctype, type, slot) ((ctype)PyType_GetSlot(type, Py_##slot))
#else
#define PyTC_SLOT(ctype, type, slot) ((ctype)(type)->slot)
#endif

// Returns a new reference to an attribute that the builtin `type` defines, or NULL with an
// exception set. Ignores metaclasses that override the attribute.
static inline PyObject *PyTC_TypeAttribute(PyTypeObject *type, const char *name) {
  PyObject *attributes = PyObject_GetAttrString((PyObject *)&PyType_Type, "__dict__");
  PyObject *descriptor = attributes != NULL ? PyMapping_GetItemString(attributes, name) : NULL;
  PyObject *value = NULL;
  if (descriptor != NULL) {
    descrgetfunc get = PyTC_SLOT(descrgetfunc, Py_TYPE(descriptor), tp_descr_get);
    value = get(descriptor, (PyObject *)type, (PyObject *)Py_TYPE((PyObject *)type));
  }
  Py_XDECREF(descriptor);
  Py_XDECREF(attributes);
  return value;
}

// Returns tp_basicsize, or -1 with an exception set.
static inline Py_ssize_t PyTC_BasicSize(PyTypeObject *type) {
#ifdef Py_LIMITED_API
  PyObject *basicsize = PyTC_TypeAttribute(type, "__basicsize__");
  if (basicsize == NULL) return -1;
  const Py_ssize_t size = PyLong_AsSsize_t(basicsize);
  Py_DECREF(basicsize);
  return size;
#else
  return type->tp_basicsize;
#endif
}

#if PY_VERSION_HEX >= 0x030C0000

// Returns the offset of a metaclass's data in a type (PEP 697), or -1 with an exception set.
static inline Py_ssize_t PyTC_TypeDataOffset(PyTypeObject *metaclass) {
  const Py_ssize_t size = PyTC_BasicSize(metaclass);
  if (size < 0) return -1;
  const Py_ssize_t added = PyType_GetTypeDataSize(metaclass);
  return added < 0 ? -1 : size - added;
}

#endif

// Returns a new reference to the MRO of `type`, a tuple. Returns NULL with MemoryError, or with no
// exception set if the type has no MRO yet. Keeps a pending exception.
static inline PyObject *PyTC_Mro(PyTypeObject *type) {
#if defined(Py_LIMITED_API) || defined(Py_GIL_DISABLED)  // another thread may replace the MRO
  if (Py_TYPE((PyObject *)type) == NULL) return NULL;    // PyType_Ready was never called
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *mro = PyTC_TypeAttribute(type, "__mro__");
  if (mro == NULL && saved.raised == NULL) return NULL;
  PyTypedcall_RestoreError(saved);
  if (mro == NULL || PyTuple_Check(mro)) return mro;
  Py_DECREF(mro);
  return NULL;
#else
  Py_XINCREF(type->tp_mro);
  return type->tp_mro;
#endif
}

// Returns a new reference to `type.__dict__[name]`, or NULL. Sets an exception only on failure.
static inline PyObject *PyTC_OwnAttribute(PyTypeObject *type, const char *name) {
#ifdef Py_LIMITED_API
  PyObject *dict = PyTC_TypeAttribute(type, "__dict__");
  if (dict == NULL) return NULL;
  PyObject *value = PyMapping_GetItemString(dict, name);
  Py_DECREF(dict);
  if (value == NULL && PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_Clear();
  return value;
#else
  PyObject *key = type->tp_dict != NULL ? PyUnicode_FromString(name) : NULL;
  if (key == NULL) return NULL;
  PyObject *value = PyTC_GetItem(type->tp_dict, key);
  Py_DECREF(key);
  return value;
#endif
}

#ifdef Py_LIMITED_API
static inline int PyTC_TakeDict(PyObject *visited, void *found) {
  if (PyDict_Check(visited)) *(PyObject **)found = visited;
  return 0;
}
#endif

// Returns a new reference to the dictionary of an extension's static type, or NULL with an
// exception set. Call PyType_Modified after changing it.
static inline PyObject *PyTC_StaticDict(PyTypeObject *type) {
  PyObject *dict = NULL;
#ifdef Py_LIMITED_API
  // The limited API has only a proxy, which shows the dictionary to the garbage collector.
  PyObject *proxy = PyTC_TypeAttribute(type, "__dict__");
  if (proxy == NULL) return NULL;
  traverseproc traverse = PyTC_SLOT(traverseproc, Py_TYPE(proxy), tp_traverse);
  if (traverse != NULL) (void)traverse(proxy, PyTC_TakeDict, &dict);
  Py_XINCREF(dict);
  Py_DECREF(proxy);
#else
  dict = type->tp_dict;
  Py_XINCREF(dict);
#endif
  if (dict == NULL) PyErr_SetString(PyExc_SystemError, "typedcall: the type has no dictionary");
  return dict;
}

// Like 3.13's PyWeakref_GetRef: 1 (a new reference), 0 (dead) or -1. Sets and clears no exception.
static inline int PyTC_GetReferent(PyObject *reference, PyObject **object) {
#if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_LIMITED_API)
  return PyWeakref_GetRef(reference, object);
#else
#ifdef Py_LIMITED_API
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  *object = PyObject_CallObject(reference, NULL);
  PyTypedcall_RestoreError(saved);
  if (*object == NULL) return -1;
#else
  *object = PyWeakref_GET_OBJECT(reference);
  Py_INCREF(*object);
#endif
  if (*object == Py_None) Py_CLEAR(*object);
  return *object != NULL;
#endif
}

// True if only the caller has a reference to `type`.
static inline int PyTC_IsUnshared(PyTypeObject *type) {
#if defined(Py_LIMITED_API) && !defined(Py_TARGET_ABI3T)
  // The headers of 3.12 read 64 bits of the object, but from 3.14 on the count is the lower half.
  return (uint32_t)Py_REFCNT((PyObject *)type) == 1;
#else  // free-threaded builds add a 60-bit number to the counts of classes
  return Py_REFCNT((PyObject *)type) == 1;
#endif
}

// Hides one of our dictionaries from gc.get_objects(), because Python code must not change it. Call
// this after each insertion. Nothing in the dictionary is part of a cycle.
static inline void PyTC_Hide(PyObject *dict) { PyObject_GC_UnTrack(dict); }

#define PyTC_NAME_SIZE 128

// Returns the name of `type`, possibly truncated, for an error message. Keeps a pending exception.
static inline const char *PyTC_Name(PyTypeObject *type, char buffer[PyTC_NAME_SIZE]) {
#ifdef Py_LIMITED_API
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *name = PyType_GetName(type);
  const char *text = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  PyOS_snprintf(buffer, PyTC_NAME_SIZE, "%.100s", text != NULL ? text : "?");
  Py_XDECREF(name);
  PyTypedcall_RestoreError(saved);
#else
  PyOS_snprintf(buffer, PyTC_NAME_SIZE, "%.100s", type->tp_name);
#endif
  return buffer;
}

// Sets an exception. `format` contains one %s for the type's name. Always returns -1.
static inline int PyTC_Refuse(PyTypeObject *type, PyObject *exception, const char *format) {
  char name[PyTC_NAME_SIZE];
  PyErr_Format(exception, format, PyTC_Name(type, name));
  return -1;
}

#endif  // TYPEDCALL_CORE_TYPE_ACCESS_H_
