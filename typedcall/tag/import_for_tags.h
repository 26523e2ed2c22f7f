// Finds the interface for a module that works without its tags. A tag never stops an import, unless
// the module requires its tags. Every front that tags uses this header.
#ifndef TYPEDCALL_TAG_IMPORT_FOR_TAGS_H_
#define TYPEDCALL_TAG_IMPORT_FOR_TAGS_H_

#include "core/rendezvous.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns 1 if this interpreter has no record of `text` yet, and records it. Sets no exception.
// Returns 1 as well if nothing can be recorded.
static inline int PyTypedcall_Internal_IsNew(PyObject *text) {
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  const char *key = kept != NULL ? PyUnicode_AsUTF8(text) : NULL;
  PyObject *found = key != NULL ? PyTC_Look(kept, key) : NULL;
  if (found == NULL && key != NULL) {
    PyObject *recorded = PyTC_Settle(PyTC_SetDefaultOfOurs, kept, key, Py_None);
    Py_XDECREF(recorded);
  }
  PyTC_PostponeInterrupt();
  PyErr_Clear();
  Py_XDECREF(found);
  return found == NULL;
}

// Issues a RuntimeWarning that the module of `owner` (a module, type, function, or the module's
// name) has no tags, and `why` (an exception or its text). The record above limits it to one per
// module and interpreter: the module is what its user can replace, and it may have many tables. A
// warning that is an error goes to sys.unraisablehook. Returns 0, or -1 with an exception that no
// import may hide: MemoryError, or one that is no Exception, such as KeyboardInterrupt.
static inline TYPEDCALL_COLD int PyTypedcall_Internal_WarnUntagged(PyObject *owner, PyObject *why) {
  if (owner == NULL) owner = Py_None;
  PyObject *name = owner;
  if (PyUnicode_Check(owner)) {
    Py_INCREF(name);
  } else {
    name = PyObject_GetAttrString(owner, PyModule_Check(owner) ? "__name__" : "__module__");
    if (name == NULL && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  }
  PyObject *text = NULL, *where = NULL;
  if (!PyErr_Occurred()) {
    text = PyUnicode_FromFormat(
        "typedcall: module %R has no tags, so its functions are called boxed: %S",
        name != NULL ? name : Py_None, why);
  }
  if (text != NULL && PyTypedcall_Internal_IsNew(text)) {
    // PyErr_WarnEx would blame importlib and, without memory for a frame object, crash.
    where = PyUnicode_FromString("<typedcall>");
    if (where != NULL) {
      PyObject *module = name != NULL && PyUnicode_Check(name) ? name : NULL;  // for filters
      (void)PyErr_WarnExplicitObject(PyExc_RuntimeWarning, text, where, 1, module, NULL);
    }
  }
  Py_XDECREF(where);
  Py_XDECREF(text);
  Py_XDECREF(name);
  if (!PyErr_Occurred()) return 0;
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
    return -1;
  }
  PyErr_WriteUnraisable(owner);
  return 0;
}

/// Like PyTypedcall_Import, for a module that also works without its tags. `owner` is the module,
/// a type or function of it, or NULL. If the interface cannot be used, because another major
/// version is installed or our names are taken, issues one RuntimeWarning for the module, and
/// returns NULL with no exception set. The functions that tag then check their arguments, tag
/// nothing and return 0. The functions are called boxed. If the warning is an error,
/// sys.unraisablehook gets it.
///
/// Returns NULL with an exception set for all other failures of PyTypedcall_Import. A module whose
/// purpose is typed calls calls PyTypedcall_Import instead, which raises ImportError. GIL: held.
static inline TYPEDCALL_COLD const PyTypedcall_Interface *PyTypedcall_ImportForTags(
    PyObject *owner) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface != NULL || !PyErr_ExceptionMatches(PyExc_ImportError)) return interface;
  PyTypedcall_SavedError error = PyTypedcall_SaveError();
#if PY_VERSION_HEX >= 0x030C0000
  PyObject *why = error.raised;
#else
  PyObject *why = error.value;
  Py_XDECREF(error.type);
  Py_XDECREF(error.traceback);
#endif
  (void)PyTypedcall_Internal_WarnUntagged(owner, why != NULL ? why : PyExc_ImportError);
  Py_XDECREF(why);
  return NULL;
}

// True if `interface` is from a call that has failed with an exception.
static inline int PyTypedcall_Internal_HasFailed(const PyTypedcall_Interface *interface) {
  return interface == NULL && PyErr_Occurred() != NULL;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_IMPORT_FOR_TAGS_H_
