// Tags the defs in an existing method array by changing their names and flags, before any function
// is made from the array. Included by typedcall/tag.h. Source: docs/ABI.md, section 4.
#ifndef TYPEDCALL_TAG_ARRAY_H_
#define TYPEDCALL_TAG_ARRAY_H_

#include "typedcall/tag/native_table.h"
#include "typedcall/typed_method.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// For arrays that should not be edited, such as generated code:
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

// Returns 0 if PyPy's fields are empty or match an entry, or -1 with ValueError set. The flags must
// also match, because PyPy does not read them.
static inline int PyTypedMethod_Internal_CheckPyPy(const PyTypedMethodMetadata *metadata) {
  PyNativeCallableEntry entry;
  char signature[PyTypedMethod_PYPY_LENGTH];
  const uintptr_t protocol = PyNativeCallable_Internal_OUTCOME_MASK | PyNativeCallable_TAKES_SELF;
  const PyPyTypedMethodMetadata *pypy = &metadata->pypy;
  if (pypy->arg_types == NULL || pypy->arg_types[0] == PyTypedMethod_NOT_FOR_PYPY) return 0;
  if (PyTypedMethod_Internal_Spell(pypy->arg_types, PyNativeSignature_MAX_ARGS, pypy->ret_type,
                                   pypy->underlying_func, &entry, signature)) {
    const PyNativeCallableEntry *offered = metadata->table->entries;
    for (Py_ssize_t i = 0; i < metadata->table->count; ++i, ++offered) {
      if (offered->funcptr == entry.funcptr && strcmp(offered->signature, signature) == 0 &&
          ((offered->flags ^ entry.flags) & protocol) == 0) {
        return 0;
      }
    }
  }
  PyErr_Format(PyExc_ValueError, "%.100s: PyPy's type codes contradict the entries", pypy->ml_name);
  return -1;
}

// Returns 0 if the metadata are valid, or -1 with ValueError set.
static inline int PyTypedMethod_Internal_CheckMetadata(const PyTypedMethodMetadata *metadata) {
  if (metadata == NULL || metadata->magic != PyTypedMethod_MAGIC ||
      metadata->abi_major != PyTypedMethod_ABI_MAJOR || metadata->size < PyTypedMethod_SIZE_1_0) {
    PyErr_SetString(PyExc_ValueError, "typedcall: these metadata are not of version 1");
    return -1;
  }
  // In C, a literal of 100 bytes fits into the field without a NUL.
  const char *name = metadata->pypy.ml_name;
  if (memchr(name, '\0', sizeof(metadata->pypy.ml_name)) == NULL) {
    PyErr_Format(PyExc_ValueError, "%.99s...: the name in metadata has more than 99 bytes", name);
    return -1;
  }
  if (!TYPEDCALL_IS_SUPPORTED) return 0;  // there is no table
  if (PyNativeCallable_CheckTable(metadata->table, name) < 0) return -1;
  return PyTypedMethod_Internal_CheckPyPy(metadata);
}

// Returns 1 if `def` can have these metadata, 0 if it already has equal metadata, or -1 with an
// exception set. The metadata must have been checked.
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
    PyNativeCallable_Internal_SetConflict(name, existing, metadata->table, "");
    return -1;
  }
  if ((def->ml_flags & METH_TYPED) != 0) {
    PyErr_Format(PyExc_ValueError, "%.99s is tagged already, in a layout that is not ours", name);
    return -1;
  }
  return 1;
}

// Must be called after CheckDef. Does not write a field that already has the right value, because
// another interpreter may be reading it.
static inline void PyTypedMethod_Internal_ChangeDef(PyMethodDef *def,
                                                    const PyTypedMethodMetadata *metadata) {
  // The name is changed first, because readers that find the flag bits read the memory before the
  // name.
  if (def->ml_name != metadata->pypy.ml_name) def->ml_name = metadata->pypy.ml_name;
  const int flags = def->ml_flags | PyTypedMethod_FLAGS;
  if (def->ml_flags != flags) PyTypedcall_STORE_RELEASE(&def->ml_flags, flags);
}

/// Sets the name of `def` to the name in the metadata, and adds PyTypedMethod_FLAGS to its flags.
/// Call this before functions are made, in PyInit_* or before PyType_FromSpec. Further calls change
/// nothing. `metadata` must live as long as the def. Call PyTypedMethod_AddTags afterwards, as for
/// any def.
///
/// Returns 0 on success. On failure, returns -1 with ValueError set and changes nothing. The call
/// fails if the metadata are invalid, or if the def's name or existing metadata differ. GIL: held.
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

// Returns the def with the name in `metadata`, or NULL without an exception.
static inline PyMethodDef *PyTypedMethod_Internal_DefFor(PyMethodDef *defs,
                                                         const PyTypedMethodMetadata *metadata) {
  while (defs->ml_name != NULL && strcmp(defs->ml_name, metadata->pypy.ml_name) != 0) ++defs;
  return defs->ml_name != NULL ? defs : NULL;
}

/// Calls PyTypedMethod_TagInPlace for each element of `typed` and the first def with the same name
/// in `defs`. `typed` ends with NULL. On failure, no def is changed.
///
/// Returns 0, or -1 with an exception set. Raises the exceptions of PyTypedMethod_TagInPlace.
/// Raises SystemError if no def has the name, and ValueError if two elements of `typed` have the
/// same name. GIL: held.
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
