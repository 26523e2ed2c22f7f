// Tags your own existing method array in place: a def's name is replaced by the one behind its
// metadata. For arrays from which no functions have been made yet; for foreign arrays use
// typedcall/tag.h, which does not write to them. Source: docs/ABI.md, section 4.
#include "core/version.h"

#ifndef TYPEDCALL_TAG_ARRAY_H_
#define TYPEDCALL_TAG_ARRAY_H_

#include "typedcall/tag.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// For generated code, or code that should not be edited line by line:
//
//   static PyMethodDef methods[] = {{"inc", inc, METH_O, "Add one."}, {NULL, NULL, 0, NULL}};
//
//   PyTypedMethod_DEFINE(inc_typed, "inc", {"l->l", 0, (void *)inc_impl});
//   static const PyTypedMethodMetadata *const typed[] = {&inc_typed, NULL};
//
//   PyMODINIT_FUNC PyInit_example(void) {
//     if (PyTypedMethod_TagArray(methods, typed) < 0) return NULL;
//     return PyModuleDef_Init(&definition);  // its Py_mod_exec calls PyTypedMethod_AddTags
//   }

// Checks that this metadata is as PyTypedMethod_DEFINE makes it. Returns 0, or -1 with ValueError.
static inline int PyTypedMethod_Internal_CheckMetadata(const PyTypedMethodMetadata *metadata) {
  if (metadata == NULL || metadata->magic != PyTypedMethod_MAGIC ||
      metadata->abi_major != PyTypedMethod_ABI_MAJOR || metadata->size < PyTypedMethod_SIZE_1_0) {
    PyErr_SetString(PyExc_ValueError, "typedcall: these metadata are not of version 1");
    return -1;
  }
  // In C a literal of 100 bytes fits in the field without its NUL.
  const char *name = metadata->pypy.ml_name;
  if (memchr(name, '\0', sizeof(metadata->pypy.ml_name)) == NULL) {
    PyErr_Format(PyExc_ValueError, "%.99s...: the name in metadata has more than 99 bytes", name);
    return -1;
  }
  if (!TYPEDCALL_IS_SUPPORTED) return 0;  // the table has been left out
  if (PyNativeCallable_CheckTable(metadata->table, name) < 0) return -1;
  return PyTypedMethod_Internal_CheckPyPy(metadata);
}

// Checks whether the named `def` can have these checked metadata. Returns 1, 0 if it already has
// them or equal ones, or -1 with an exception.
static inline int PyTypedMethod_Internal_CheckDef(const PyMethodDef *def,
                                                  const PyTypedMethodMetadata *metadata) {
  const char *name = metadata->pypy.ml_name;
  if (def->ml_name != name && strcmp(def->ml_name, name) != 0) {
    PyErr_Format(PyExc_ValueError, "def '%.100s' cannot have the metadata of '%.99s'", def->ml_name,
                 name);
    return -1;
  }
  if (def->ml_name == name) return (def->ml_flags | PyTypedMethod_FLAGS) != def->ml_flags;
  const PyNativeCallableTable *existing = PyTypedMethod_Table(def);
  if (existing != NULL) {
    if (PyNativeCallable_TablesAreEqual(existing, metadata->table)) return 0;
    PyNativeCallable_Internal_SetConflict(name, existing, metadata->table);
    return -1;
  }
  if ((def->ml_flags & METH_TYPED) != 0) {
    PyErr_Format(PyExc_ValueError, "%.99s is tagged already, in a layout that is not ours", name);
    return -1;
  }
  return 1;
}

// Call after CheckDef. A field with the right value is not rewritten: another interpreter may be
// reading it.
static inline void PyTypedMethod_Internal_ChangeDef(PyMethodDef *def,
                                                    const PyTypedMethodMetadata *metadata) {
  // The name first: readers that see the bits look in front of it.
  if (def->ml_name != metadata->pypy.ml_name) def->ml_name = metadata->pypy.ml_name;
  const int flags = def->ml_flags | PyTypedMethod_FLAGS;
  if (def->ml_flags != flags) PyTypedcall_STORE_RELEASE(&def->ml_flags, flags);
}

/// Gives `def`, an element of the caller's own array, `metadata` as PyTypedMethod_METHOD_DEF would
/// have written it: the name is replaced by the equal one in the metadata, and the flag bits are
/// added if defs have them (PyTypedMethod_FLAGS). Call it before the functions are made, in
/// PyInit_* or before PyType_FromSpec; repeating it changes nothing. `metadata` must live as long
/// as the def. If defs have no flag bits, call PyTypedMethod_AddTags afterwards, as for any def.
///
/// Returns 0, or -1 with ValueError and nothing changed: a NULL def or name, metadata that are not
/// of version 1 or whose name has more than 99 bytes, a def with another name, an invalid table, or
/// a def that already has other metadata. GIL: held.
static inline int PyTypedMethod_TagInPlace(PyMethodDef *def,
                                           const PyTypedMethodMetadata *metadata) {
  if (def == NULL || def->ml_name == NULL) {
    PyErr_SetString(PyExc_ValueError, "typedcall: a def without a name cannot be tagged");
    return -1;
  }
  if (PyTypedMethod_Internal_CheckMetadata(metadata) < 0) return -1;
  const int wanted = PyTypedMethod_Internal_CheckDef(def, metadata);
  if (wanted > 0) PyTypedMethod_Internal_ChangeDef(def, metadata);
  return wanted < 0 ? -1 : 0;
}

// Returns the def with that name; NULL without an exception if there is none.
static inline PyMethodDef *PyTypedMethod_Internal_DefFor(PyMethodDef *defs,
                                                         const PyTypedMethodMetadata *metadata) {
  while (defs->ml_name != NULL && strcmp(defs->ml_name, metadata->pypy.ml_name) != 0) ++defs;
  return defs->ml_name != NULL ? defs : NULL;
}

/// The same for every element of `typed`, which ends with NULL: each goes to the first def with its
/// name in `defs`, which ends with a NULL name. Changes all of these defs or none.
///
/// Returns 0, or -1: like PyTypedMethod_TagInPlace, SystemError if no def has the name, and
/// ValueError if two of `typed` have the same def. GIL: held.
static inline int PyTypedMethod_TagArray(PyMethodDef *defs,
                                         const PyTypedMethodMetadata *const *typed) {
  for (Py_ssize_t i = 0; typed[i] != NULL; ++i) {
    if (PyTypedMethod_Internal_CheckMetadata(typed[i]) < 0) return -1;
    const char *name = typed[i]->pypy.ml_name;
    const PyMethodDef *def = PyTypedMethod_Internal_DefFor(defs, typed[i]);
    if (def == NULL) {
      PyErr_Format(PyExc_SystemError, "no def of the method table is called '%.99s'", name);
      return -1;
    }
    if (PyTypedMethod_Internal_CheckDef(def, typed[i]) < 0) return -1;
    for (Py_ssize_t before = 0; before < i; ++before) {
      if (strcmp(typed[before]->pypy.ml_name, name) != 0) continue;
      PyErr_Format(PyExc_ValueError, "def '%.99s' is named by two metadata", name);
      return -1;
    }
  }
  for (; *typed != NULL; ++typed) {
    PyMethodDef *def = PyTypedMethod_Internal_DefFor(defs, *typed);
    if (PyTypedMethod_Internal_CheckDef(def, *typed) > 0) {
      PyTypedMethod_Internal_ChangeDef(def, *typed);
    }
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_ARRAY_H_
