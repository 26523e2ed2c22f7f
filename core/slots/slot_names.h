// Slot IDs allocated at run time: a name has the same ID in every module of an interpreter. Used by
// core/rendezvous.h. Source: SEP 200, "Allocated IDs".
#ifndef TYPEDCALL_CORE_SLOTS_SLOT_NAMES_H_
#define TYPEDCALL_CORE_SLOTS_SLOT_NAMES_H_

#include "core/slot_id.h"
#include "core/type_access.h"

TYPEDCALL_BEGIN_C

// The number of IDs of one registrar.
#define PyCustomSlot_Internal_RUNTIME_IDS ((Py_ssize_t)1 << 23)

// See PyTypedcall_Interface.slot_id. `names` is the interpreter's dictionary: name -> ID.
static inline uintptr_t PyCustomSlot_Internal_IDByName(PyObject *names, const char *name) {
  if (name == NULL || name[0] == '\0') {
    PyErr_SetString(PyExc_ValueError, "typedcall: a custom slot ID needs a name");
    return 0;
  }
  PyObject *key = PyUnicode_FromString(name);
  if (key == NULL) return 0;
  uintptr_t id = 0;
  PyObject *existing = PyTypedcall_Internal_GetItem(names, key);
  if (existing == NULL && !PyErr_Occurred()) {
    const Py_ssize_t next = PyDict_Size(names);
    if (next >= PyCustomSlot_Internal_RUNTIME_IDS) {
      PyErr_SetString(PyExc_ValueError, "typedcall: all custom slot IDs are taken");
    } else {
      // No Python code runs here, so no other call takes this ID.
      PyObject *fresh = PyLong_FromSize_t(
          PyCustomSlot_ID(PyCustomSlot_REGISTRAR_RUNTIME, next >> 7, next & 0x7f));
      existing = fresh != NULL ? PyTypedcall_Internal_SetDefaultOfOurs(names, key, fresh) : NULL;
      Py_XDECREF(fresh);
    }
  }
  if (existing != NULL) id = PyLong_AsSize_t(existing);
  Py_XDECREF(existing);
  Py_DECREF(key);
  return id;
}

TYPEDCALL_END_C
#endif  // TYPEDCALL_CORE_SLOTS_SLOT_NAMES_H_
