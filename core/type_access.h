// What the core needs to know of a type, asked of the full API and of the limited one (3.12+)
// alike. None of it runs Python code, whatever the type or its metaclass defines.
#ifndef TYPEDCALL_CORE_TYPE_ACCESS_H_
#define TYPEDCALL_CORE_TYPE_ACCESS_H_

#include "core/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int PyTypedcall_Internal_IsHeapType(PyTypeObject *type) {
  return (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) != 0;
}

// A slot of `type`, cast to its C type: PyTypedcall_Internal_SLOT(initproc, type, tp_init).
#ifdef Py_LIMITED_API
#define PyTypedcall_Internal_SLOT(ctype, type, slot) ((ctype)PyType_GetSlot(type, Py_##slot))
#else
#define PyTypedcall_Internal_SLOT(ctype, type, slot) ((ctype)(type)->slot)
#endif

#ifdef Py_LIMITED_API

// What `type.__dict__[name].__get__(type)` yields: `type`'s own attribute, past any metaclass that
// defines one of the same name. New reference, or NULL with an exception.
static inline PyObject *PyTypedcall_Internal_TypeAttribute(PyTypeObject *type, const char *name) {
  PyObject *attributes = PyObject_GetAttrString((PyObject *)&PyType_Type, "__dict__");
  PyObject *descriptor = attributes != NULL ? PyMapping_GetItemString(attributes, name) : NULL;
  PyObject *value = NULL;
  if (descriptor != NULL) {
    descrgetfunc get = (descrgetfunc)PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_get);
    value = get(descriptor, (PyObject *)type, (PyObject *)Py_TYPE((PyObject *)type));
  }
  Py_XDECREF(descriptor);
  Py_XDECREF(attributes);
  return value;
}

#endif  // Py_LIMITED_API

// The MRO of `type`: a new reference to a tuple, or NULL without an exception when it has none yet.
static inline PyObject *PyTypedcall_Internal_Mro(PyTypeObject *type) {
#ifdef Py_LIMITED_API
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *mro = PyTypedcall_Internal_TypeAttribute(type, "__mro__");
  PyTypedcall_RestoreError(saved);
  if (mro == NULL || PyTuple_Check(mro)) return mro;
  Py_DECREF(mro);
  return NULL;
#else
  Py_XINCREF(type->tp_mro);
  return type->tp_mro;
#endif
}

// What the class body itself has under `name`. New reference; NULL without an exception when there
// is nothing, else with one.
static inline PyObject *PyTypedcall_Internal_OwnAttribute(PyTypeObject *type, const char *name) {
#ifdef Py_LIMITED_API
  PyObject *dict = PyTypedcall_Internal_TypeAttribute(type, "__dict__");
  if (dict == NULL) return NULL;
  PyObject *value = PyMapping_GetItemString(dict, name);
  Py_DECREF(dict);
  if (value == NULL && PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_Clear();
  return value;
#else
  PyObject *key = type->tp_dict != NULL ? PyUnicode_FromString(name) : NULL;
  if (key == NULL) return NULL;
  PyObject *value = PyDict_GetItemWithError(type->tp_dict, key);
  Py_XINCREF(value);
  Py_DECREF(key);
  return value;
#endif
}

// Does a weak reference refer to nothing any more? Keeps a pending exception.
static inline int PyTypedcall_Internal_IsDead(PyObject *reference) {
#ifdef Py_LIMITED_API
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *object = PyObject_CallObject(reference, NULL);
  const int dead = object == Py_None;
  Py_XDECREF(object);
  PyTypedcall_RestoreError(saved);
  return dead;
#else
  return ((PyWeakReference *)reference)->wr_object == Py_None;
#endif
}

// What stands in `dict` under `key`, `value` if nothing did. Borrowed, or NULL with an exception.
static inline PyObject *PyTypedcall_Internal_SetDefault(PyObject *dict, PyObject *key,
                                                        PyObject *value) {
#ifdef Py_LIMITED_API
  PyObject *standing = PyDict_GetItemWithError(dict, key);
  if (standing != NULL || PyErr_Occurred()) return standing;
  return PyDict_SetItem(dict, key, value) == 0 ? value : NULL;
#else
  return PyDict_SetDefault(dict, key, value);
#endif
}

#define PyTypedcall_Internal_NAME_SIZE 128

// The name of `type` for an error message, cut to the buffer. Keeps a pending exception.
static inline const char *PyTypedcall_Internal_Name(PyTypeObject *type,
                                                    char buffer[PyTypedcall_Internal_NAME_SIZE]) {
#ifdef Py_LIMITED_API
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *name = PyType_GetName(type);
  const char *text = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  PyOS_snprintf(buffer, PyTypedcall_Internal_NAME_SIZE, "%.100s", text != NULL ? text : "?");
  Py_XDECREF(name);
  PyTypedcall_RestoreError(saved);
#else
  PyOS_snprintf(buffer, PyTypedcall_Internal_NAME_SIZE, "%.100s", type->tp_name);
#endif
  return buffer;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_TYPE_ACCESS_H_
