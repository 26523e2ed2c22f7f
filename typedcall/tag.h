// Tags Python callables in the side table of an interpreter. The callables and their defs are not
// modified. Source: docs/ABI.md, section 5.
#include "core/version.h"

#ifndef TYPEDCALL_TAG_H_
#define TYPEDCALL_TAG_H_

#if defined(Py_LIMITED_API) || defined(Py_TARGET_ABI3T)
#error "typedcall/tag.h needs the full API: it looks into builtin functions and method descriptors"
#endif

#include "core/platform.h"
#include "typedcall/tag/array.h"
#include "typedcall/tag/native_table.h"
#include "typedcall/typed_method.h"
#ifdef PYPY_VERSION  // there is no side table
#include "typedcall/tag/on_pypy.h"
#else
#include "core/rendezvous.h"
#include "typedcall/tag/def_of.h"
#include "typedcall/tag/import_for_tags.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Like a ctypes prototype, a tag is not checked against the C function. If the function has a
// different signature, calls crash.
//
//   what you have                              what tags it
//   defs by PyTypedMethod_METHOD_DEF           PyTypedMethod_AddTags, when the module is executed
//   an array that a generator wrote            PyTypedMethod_TagArray (tag/array.h), then AddTags
//   a callable of another module               PyTypedMethod_TagCallable
//   a PyMethodDef and the object that owns it  PyTypedMethod_TagDef, PyTypedMethod_UntagDef
//   an object that has no PyMethodDef          PyNativeCallable_TagObject, _UntagObject
//
// `interface` is from PyTypedcall_ImportForTags or, if the module cannot do without its tags, from
// PyTypedcall_Import. It may be NULL: the functions then check the table, tag nothing, and return
// 0, or -1 if an exception is set.

#ifndef PYPY_VERSION
static inline int PyNativeCallable_Internal_AreEqual(const void *a, const void *b) {
  return PyNativeCallable_TablesAreEqual((const PyNativeCallableTable *)a,
                                         (const PyNativeCallableTable *)b);
}

// Replaces the name of an object's type with the object's own name, for a message. On failure,
// keeps it, and may leave a MemoryError or an exception that is no Exception.
static inline TYPEDCALL_COLD void PyNativeCallable_Internal_NameOf(PyObject *object,
                                                                   char name[101]) {
  PyObject *found = PyObject_GetAttrString(object, "__name__");
  const char *text = found != NULL && PyUnicode_Check(found) ? PyUnicode_AsUTF8(found) : NULL;
  if (text != NULL) PyOS_snprintf(name, 101, "%.100s", text);
  Py_XDECREF(found);
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception) &&
      !PyErr_ExceptionMatches(PyExc_MemoryError)) {
    PyErr_Clear();
  }
}

// Publishes a checked table. Returns the result of interface->publish(), or -1 with ValueError set
// for a conflict. `kept` (may be NULL) is kept alive with the published table.
static inline TYPEDCALL_COLD int PyNativeCallable_Internal_Publish(
    const PyTypedcall_Interface *interface, int space, const void *key, PyObject *owner,
    const char *name, const PyNativeCallableTable *table, void (*destroy)(const void *value),
    PyObject *kept) {
  if (interface == NULL) return 0;
  for (;;) {
    const int result = interface->publish(interface->state, space, key, owner, table,
                                          PyNativeCallable_Internal_AreEqual, destroy, kept);
    if (result != PyTypedcall_CONFLICT) return result;
    const void *existing;
    PyObject *held = interface->hold(interface->state, space, key, NULL, &existing);
    if (held != NULL) {
      char own_name[101];
      PyOS_snprintf(own_name, sizeof(own_name), "%.100s", name);
      if (space == PyTypedcall_BY_OBJECT) PyNativeCallable_Internal_NameOf(owner, own_name);
      if (!PyErr_Occurred()) {
        PyNativeCallable_Internal_SetConflict(own_name, (const PyNativeCallableTable *)existing,
                                              table, "; to replace the tag, call untag() first");
      }
      Py_DECREF(held);
    }
    if (PyErr_Occurred()) return -1;
    // The conflicting table has been removed in the meantime.
  }
}

// Like PyTypedMethod_TagDef, but does not check the name and the table.
static inline TYPEDCALL_COLD int PyTypedMethod_Internal_TagDef(
    const PyTypedcall_Interface *interface, const PyMethodDef *def, PyObject *owner,
    const PyNativeCallableTable *table, void (*destroy)(const void *value), PyObject *kept) {
  const PyNativeCallableTable *behind_name = PyTypedMethod_Table(def);
  if (behind_name == NULL) {
    return PyNativeCallable_Internal_Publish(interface, PyTypedcall_BY_DEF, def, owner,
                                             def->ml_name, table, destroy, kept);
  }
  if (PyNativeCallable_TablesAreEqual(behind_name, table)) return 0;
  PyNativeCallable_Internal_SetConflict(def->ml_name, behind_name, table, "");
  return -1;
}

/// Publishes `table` for `def` while `owner` lives. The owner is the module or type whose array
/// contains the def, or the function object if the def belongs only to this function. The def is
/// not modified. `table` must live as long as any owner and any consumer that uses it. `destroy` is
/// called when the table is no longer needed, and may be NULL.
///
/// Returns 1 if the table was published. Returns 0 if the def already has an equal tag, which now
/// also lives at least as long as `owner`. Returns 2 if an equal tag of this owner was restored.
/// After 0 and 2 the caller still owns `table`. On failure, returns -1 with an exception set.
/// Raises ValueError for a NULL def or name, an invalid table or a different existing tag. Raises
/// TypeError if `owner` does not support weak references. GIL: held.
static inline int PyTypedMethod_TagDef(const PyTypedcall_Interface *interface,
                                       const PyMethodDef *def, PyObject *owner,
                                       const PyNativeCallableTable *table,
                                       void (*destroy)(const void *value)) {
  if (PyTypedcall_Internal_HasFailed(interface)) return -1;
  if (def == NULL || def->ml_name == NULL) {
    PyErr_SetString(PyExc_ValueError, "typedcall: a def without a name cannot be tagged");
    return -1;
  }
  if (PyNativeCallable_CheckTable(table, def->ml_name) < 0) return -1;
  return PyTypedMethod_Internal_TagDef(interface, def, owner, table, destroy, NULL);
}

// Implements PyNativeCallable_TagObject.
static inline int PyNativeCallable_Internal_TagObject(const PyTypedcall_Interface *interface,
                                                      PyObject *object,
                                                      const PyNativeCallableTable *table,
                                                      void (*destroy)(const void *value),
                                                      PyObject *kept) {
  if (PyTypedcall_Internal_HasFailed(interface)) return -1;
  // The name is copied, because publishing may run Python code that renames the type.
  char name[101];
  PyOS_snprintf(name, sizeof(name), "%.100s", Py_TYPE(object)->tp_name);
  if (PyNativeCallable_CheckTable(table, name) < 0) return -1;
  return PyNativeCallable_Internal_Publish(interface, PyTypedcall_BY_OBJECT, object, object, name,
                                           table, destroy, kept);
}

/// Like PyTypedMethod_TagDef, for an object without a PyMethodDef. An object that does not support
/// weak references is kept alive until it is untagged. GIL: held.
///
/// An object with a def may also be tagged. The object's tag is used if the def's tag has no
/// suitable entry. The two tags are not compared and may differ.
static inline int PyNativeCallable_TagObject(const PyTypedcall_Interface *interface,
                                             PyObject *object, const PyNativeCallableTable *table,
                                             void (*destroy)(const void *value)) {
  return PyNativeCallable_Internal_TagObject(interface, object, table, destroy, NULL);
}

/// Removes the def's tag, for all of its owners. Returns 1, or 0 if there is no tag. Never fails.
/// The table is kept as long as an owner lives, because other threads may be reading it. GIL: held.
static inline int PyTypedMethod_UntagDef(const PyTypedcall_Interface *interface,
                                         const PyMethodDef *def) {
  return interface != NULL ? interface->retract(interface->state, PyTypedcall_BY_DEF, def) : 0;
}

/// Like PyTypedMethod_UntagDef, for an object. Releases the object if the tag kept it alive. GIL:
/// held.
static inline int PyNativeCallable_UntagObject(const PyTypedcall_Interface *interface,
                                               PyObject *object) {
  return interface != NULL ? interface->retract(interface->state, PyTypedcall_BY_OBJECT, object)
                           : 0;
}

// Returns a new reference to the class from which `type` inherits `def`. Returns NULL without an
// exception if there is no such class.
static inline PyObject *PyTypedMethod_Internal_ClassOf(PyTypeObject *type, const PyMethodDef *def) {
  PyObject *found = PyNativeCallable_Internal_Inherited(type, def->ml_name);
  PyErr_Clear();
  PyObject *owner = NULL;
  if (found != NULL && PyTypedMethod_IsUnbound(found)) {
    const PyMethodDescrObject *descriptor = (PyMethodDescrObject *)found;
    if (descriptor->d_method == def) owner = (PyObject *)PyDescr_TYPE(descriptor);
  }
  Py_XINCREF(owner);
  Py_XDECREF(found);
  return owner;
}

// Returns a new reference to the object that owns the def of a callable.
static inline PyObject *PyTypedMethod_Internal_OwnerOf(PyObject *callable, const PyMethodDef *def) {
  PyObject *owner = NULL;
  if (!PyTypedMethod_IsFunction(callable)) {
    owner = (PyObject *)((PyDescrObject *)callable)->d_type;
    Py_INCREF(owner);
    return owner;
  }
  PyObject *self = ((PyCFunctionObject *)callable)->m_self;
  if (self != NULL && PyModule_Check(self)) {
    owner = self;
  } else if (self != NULL && PyType_Check(self) && (def->ml_flags & METH_STATIC) != 0) {
    owner = self;  // the class that contains the def
  } else if (self != NULL) {
    if (PyType_Check(self)) owner = PyTypedMethod_Internal_ClassOf((PyTypeObject *)self, def);
    if (owner == NULL) owner = PyTypedMethod_Internal_ClassOf(Py_TYPE(self), def);
    if (owner != NULL) return owner;
  }
  if (owner == NULL) owner = callable;
  Py_INCREF(owner);
  return owner;
}

// Implements PyTypedMethod_TagCallable.
static inline int PyTypedMethod_Internal_TagCallable(const PyTypedcall_Interface *interface,
                                                     PyObject *callable,
                                                     const PyNativeCallableTable *table,
                                                     void (*destroy)(const void *value),
                                                     PyObject *kept) {
  if (PyTypedcall_Internal_HasFailed(interface)) return -1;
  PyMethodDef *def = PyTypedMethod_DefOf(callable);
  if (def == NULL) {
    PyErr_Format(PyExc_TypeError, "'%.100s' objects have no PyMethodDef to tag",
                 Py_TYPE(callable)->tp_name);
    return -1;
  }
  if (PyNativeCallable_CheckTable(table, def->ml_name) < 0) return -1;
  PyObject *owner = PyTypedMethod_Internal_OwnerOf(callable, def);
  const int taken = PyTypedMethod_Internal_TagDef(interface, def, owner, table, destroy, kept);
  Py_DECREF(owner);
  return taken;
}

/// Publishes `table` for the def of another module's callable. The owner is the module of a
/// function, or the class of a method (`list.append`, `[].append`, `dict.fromkeys`). Any other
/// function is its own owner. The results are those of PyTypedMethod_TagDef. Raises TypeError for
/// objects without a PyMethodDef. GIL: held.
static inline int PyTypedMethod_TagCallable(const PyTypedcall_Interface *interface,
                                            PyObject *callable, const PyNativeCallableTable *table,
                                            void (*destroy)(const void *value)) {
  return PyTypedMethod_Internal_TagCallable(interface, callable, table, destroy, NULL);
}

#endif  // PYPY_VERSION

#if TYPEDCALL_INTERNAL_IS_DECLARED  // defined in typedcall/separate.cc
#define PyTypedMethod_Internal_AddTags TYPEDCALL_INTERNAL_EXTERNAL(PyTypedMethod_Internal_AddTags)
TYPEDCALL_HIDDEN int PyTypedMethod_Internal_AddTags(PyObject *owner, const PyMethodDef *defs,
                                                    const PyTypedMethodMetadata *const *typed,
                                                    int is_required);
#else

// Implements PyTypedMethod_AddTags and PyTypedMethod_AddRequiredTags.
static inline TYPEDCALL_COLD int PyTypedMethod_Internal_AddTags(
    PyObject *owner, const PyMethodDef *defs, const PyTypedMethodMetadata *const *typed,
    int is_required) {
#ifdef PYPY_VERSION
  (void)owner, (void)is_required;
#else
  const PyTypedcall_Interface *interface = NULL;  // imported when needed
  int is_imported = 0;
#endif
  for (; *typed != NULL; ++typed) {
    const PyTypedMethodMetadata *metadata = *typed;
    const PyMethodDef *def = defs;
    while (def->ml_name != NULL && def->ml_name != metadata->pypy.ml_name) ++def;
    if (def->ml_name == NULL) {
      PyErr_Format(PyExc_SystemError, "no def of the method table uses the metadata of '%.99s'",
                   metadata->pypy.ml_name);
      return -1;
    }
    if (!TYPEDCALL_IS_SUPPORTED) continue;  // there is no table
    if (PyNativeCallable_CheckTable(metadata->table, def->ml_name) < 0) return -1;
    if (PyTypedMethod_Internal_CheckPyPy(metadata) < 0) return -1;
    if (PyTypedMethod_Table(def) == metadata->table) continue;
#ifdef PYPY_VERSION
    PyErr_Format(PyExc_SystemError, "%.99s: on PyPy a typed def needs its flag bits", def->ml_name);
    return -1;
#else
    if (!is_imported) {
      interface = is_required ? PyTypedcall_Import() : PyTypedcall_ImportForTags(owner);
      if (PyTypedcall_Internal_HasFailed(interface)) return -1;
      is_imported = 1;
    }
    if (PyTypedMethod_Internal_TagDef(interface, def, owner, metadata->table, NULL, NULL) < 0)
      return -1;
#endif
  }
  return 0;
}
#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

/// Tags the elements of `defs` whose metadata are in `typed`. `typed` ends with NULL. `owner` is
/// the module or type of the defs. Call this once for each module or type object, when it is
/// executed or created. Defs with flag bits are only checked. Without a usable interface, the other
/// defs are only checked, too: see PyTypedcall_ImportForTags.
///
/// Returns 0, or -1 with an exception from PyTypedMethod_TagDef or PyTypedcall_ImportForTags.
/// Raises SystemError if a metadata struct has no def. GIL: held.
static inline int PyTypedMethod_AddTags(PyObject *owner, const PyMethodDef *defs,
                                        const PyTypedMethodMetadata *const *typed) {
  return PyTypedMethod_Internal_AddTags(owner, defs, typed, 0);
}

/// Like PyTypedMethod_AddTags, for a module whose purpose is typed calls. If a tag needs the
/// interface and there is no usable one, returns -1 with the ImportError of PyTypedcall_Import.
static inline int PyTypedMethod_AddRequiredTags(PyObject *owner, const PyMethodDef *defs,
                                                const PyTypedMethodMetadata *const *typed) {
  return PyTypedMethod_Internal_AddTags(owner, defs, typed, 1);
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_H_
