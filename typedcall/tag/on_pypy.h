// The functions of tag.h on PyPy, which has no side table. They check the table, and tag nothing.
#ifndef TYPEDCALL_TAG_ON_PYPY_H_
#define TYPEDCALL_TAG_ON_PYPY_H_

#include "core/platform.h"
#include "typedcall/tag/native_table.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef PYPY_VERSION  // elsewhere, core/interface.h defines it
/// On PyPy, the interface has no functions.
typedef struct PyTypedcall_Interface PyTypedcall_Interface;
#endif

/// Returns a pointer that the functions below ignore. Never fails. GIL: none.
static inline const PyTypedcall_Interface *PyTypedcall_Import(void) {
  static const char none = 0;
  return (const PyTypedcall_Interface *)(const void *)&none;
}

/// Like PyTypedcall_Import.
static inline const PyTypedcall_Interface *PyTypedcall_ImportForTags(PyObject *owner) {
  (void)owner;
  return PyTypedcall_Import();
}

/// Returns 0: the caller still owns `table`. On failure, returns -1 with ValueError for a NULL def
/// or name, or an invalid table. GIL: held.
static inline int PyTypedMethod_TagDef(const PyTypedcall_Interface *interface,
                                       const PyMethodDef *def, PyObject *owner,
                                       const PyNativeCallableTable *table,
                                       void (*destroy)(const void *value)) {
  (void)interface, (void)owner, (void)destroy;
  if (def != NULL && def->ml_name != NULL) return PyNativeCallable_CheckTable(table, def->ml_name);
  PyErr_SetString(PyExc_ValueError, "typedcall: a def without a name cannot be tagged");
  return -1;
}

/// Like PyTypedMethod_TagDef. GIL: held.
static inline int PyNativeCallable_TagObject(const PyTypedcall_Interface *interface,
                                             PyObject *object, const PyNativeCallableTable *table,
                                             void (*destroy)(const void *value)) {
  (void)interface, (void)destroy;
  return PyNativeCallable_CheckTable(table, Py_TYPE(object)->tp_name);
}

/// Like PyTypedMethod_TagDef, for every object. GIL: held.
static inline int PyTypedMethod_TagCallable(const PyTypedcall_Interface *interface,
                                            PyObject *callable, const PyNativeCallableTable *table,
                                            void (*destroy)(const void *value)) {
  return PyNativeCallable_TagObject(interface, callable, table, destroy);
}

/// Returns 0, because there is no tag. GIL: none.
static inline int PyTypedMethod_UntagDef(const PyTypedcall_Interface *interface,
                                         const PyMethodDef *def) {
  (void)interface, (void)def;
  return 0;
}

/// Returns 0, because there is no tag. GIL: none.
static inline int PyNativeCallable_UntagObject(const PyTypedcall_Interface *interface,
                                               PyObject *object) {
  (void)interface, (void)object;
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_ON_PYPY_H_
