// Tagging a method array of one's own that exists already, in place: a row's name becomes the one
// in front of which its metadata stands. For arrays that nobody has made functions from yet; for
// those of others there is typedcall/tag.h, which writes to none. Source: docs/ABI.md, section 4.
#ifndef TYPEDCALL_TAG_ARRAY_H_
#define TYPEDCALL_TAG_ARRAY_H_

#include "typedcall/tag.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// For code that is generated, or that is not to be touched line by line:
//
//   static PyMethodDef methods[] = {{"inc", inc, METH_O, "Add one."}, {NULL, NULL, 0, NULL}};
//
//   PyTypedMethod_DEFINE(inc_typed, "inc", {"l->l", 0, (void *)inc_impl});
//   static const PyTypedMethodMetadata *const typed[] = {&inc_typed, NULL};
//
//   PyMODINIT_FUNC PyInit_example(void) {
//     if (PyTypedMethod_TagRows(methods, typed) < 0) return NULL;
//     return PyModuleDef_Init(&definition);  // its Py_mod_exec calls PyTypedMethod_AddTags
//   }

// Is this metadata as PyTypedMethod_DEFINE makes it? Returns 0, or -1 with ValueError.
static inline int PyTypedMethod_Internal_CheckMetadata(const PyTypedMethodMetadata *metadata) {
  if (metadata == NULL || metadata->magic != PyTypedMethod_MAGIC ||
      metadata->abi_major != PyTypedMethod_ABI_MAJOR || metadata->size < PyTypedMethod_SIZE_1_0) {
    PyErr_SetString(PyExc_ValueError, "typedcall: these metadata are not of version 1");
    return -1;
  }
  // In C a literal of 100 bytes fits into the field without its NUL.
  const char *name = metadata->pypy.ml_name;
  if (memchr(name, '\0', sizeof(metadata->pypy.ml_name)) == NULL) {
    PyErr_Format(PyExc_ValueError, "%.99s...: the name in metadata has more than 99 bytes", name);
    return -1;
  }
  if (PyNativeCallable_CheckTable(metadata->table, name) < 0) return -1;
  return PyTypedMethod_Internal_CheckPyPy(metadata);
}

// Can `row`, which has a name, have these metadata, which have been checked? Returns 1, 0 when it
// has them or equal ones, or -1 with an exception.
static inline int PyTypedMethod_Internal_CheckRow(const PyMethodDef *row,
                                                  const PyTypedMethodMetadata *metadata) {
  const char *name = metadata->pypy.ml_name;
  if (row->ml_name != name && strcmp(row->ml_name, name) != 0) {
    PyErr_Format(PyExc_ValueError, "row '%.100s' cannot have the metadata of '%.99s'", row->ml_name,
                 name);
    return -1;
  }
  if (row->ml_name == name) return (row->ml_flags | PyTypedMethod_FLAGS) != row->ml_flags;
  const PyNativeCallableTable *existing = PyTypedMethod_Table(row);
  if (existing != NULL) {
    if (PyNativeCallable_TablesAreEqual(existing, metadata->table)) return 0;
    PyNativeCallable_Internal_SetConflict(name, existing, metadata->table);
    return -1;
  }
  if ((row->ml_flags & METH_TYPED) != 0) {
    PyErr_Format(PyExc_ValueError, "%.99s is tagged already, in a layout that is not ours", name);
    return -1;
  }
  return 1;
}

// After CheckRow. What is there already is not written again: another interpreter may be reading.
static inline void PyTypedMethod_Internal_ChangeRow(PyMethodDef *row,
                                                    const PyTypedMethodMetadata *metadata) {
  // The name first: whoever sees the bits looks in front of it.
  if (row->ml_name != metadata->pypy.ml_name) row->ml_name = metadata->pypy.ml_name;
  const int flags = row->ml_flags | PyTypedMethod_FLAGS;
  if (row->ml_flags != flags) PyTypedcall_STORE_RELEASE(&row->ml_flags, flags);
}

/// Makes `row`, an element of the caller's own array, one that carries `metadata`, as
/// PyTypedMethod_ROW would have written it: the name is replaced by the equal one in the metadata,
/// and the flag bits are added where rows have them (PyTypedMethod_FLAGS). To be called before the
/// functions are made, so in PyInit_* or in front of PyType_FromSpec; doing it again changes
/// nothing. `metadata` must live as long as the row. Where rows have no flag bits,
/// PyTypedMethod_AddTags is to follow, as for any row.
///
/// Returns 0, or -1 with ValueError, and then nothing has changed: a NULL row or name, metadata
/// that are not of version 1 or whose name has more than 99 bytes, a row of another name, a faulty
/// table, or other metadata that the row carries already. GIL: held.
static inline int PyTypedMethod_TagRow(PyMethodDef *row, const PyTypedMethodMetadata *metadata) {
  if (row == NULL || row->ml_name == NULL) {
    PyErr_SetString(PyExc_ValueError, "typedcall: a def without a name cannot be tagged");
    return -1;
  }
  if (PyTypedMethod_Internal_CheckMetadata(metadata) < 0) return -1;
  const int wanted = PyTypedMethod_Internal_CheckRow(row, metadata);
  if (wanted > 0) PyTypedMethod_Internal_ChangeRow(row, metadata);
  return wanted < 0 ? -1 : 0;
}

// The row of that name; NULL without an exception when there is none.
static inline PyMethodDef *PyTypedMethod_Internal_RowFor(PyMethodDef *rows,
                                                         const PyTypedMethodMetadata *metadata) {
  while (rows->ml_name != NULL && strcmp(rows->ml_name, metadata->pypy.ml_name) != 0) ++rows;
  return rows->ml_name != NULL ? rows : NULL;
}

/// The same for every element of `typed`, which ends with NULL: each goes to the first row of its
/// name in `rows`, an array that ends with a NULL name. All rows are changed, or none.
///
/// Returns 0, or -1: as PyTypedMethod_TagRow, SystemError when no row has the name, and ValueError
/// when two of `typed` want the same row. GIL: held.
static inline int PyTypedMethod_TagRows(PyMethodDef *rows,
                                        const PyTypedMethodMetadata *const *typed) {
  for (Py_ssize_t i = 0; typed[i] != NULL; ++i) {
    if (PyTypedMethod_Internal_CheckMetadata(typed[i]) < 0) return -1;
    const char *name = typed[i]->pypy.ml_name;
    const PyMethodDef *row = PyTypedMethod_Internal_RowFor(rows, typed[i]);
    if (row == NULL) {
      PyErr_Format(PyExc_SystemError, "no row of the method table is called '%.99s'", name);
      return -1;
    }
    if (PyTypedMethod_Internal_CheckRow(row, typed[i]) < 0) return -1;
    for (Py_ssize_t before = 0; before < i; ++before) {
      if (strcmp(typed[before]->pypy.ml_name, name) != 0) continue;
      PyErr_Format(PyExc_ValueError, "row '%.99s' is named by two metadata", name);
      return -1;
    }
  }
  for (; *typed != NULL; ++typed) {
    PyMethodDef *row = PyTypedMethod_Internal_RowFor(rows, *typed);
    if (PyTypedMethod_Internal_CheckRow(row, *typed) > 0) {
      PyTypedMethod_Internal_ChangeRow(row, *typed);
    }
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_ARRAY_H_
