// Reads `__customslots__`, the slots in a class body. SEP 200 leaves their form open.
#ifndef TYPEDCALL_CORE_SLOTS_OWN_SLOTS_H_
#define TYPEDCALL_CORE_SLOTS_OWN_SLOTS_H_

#include "core/slots/slot_table.h"

#define PyExtensibleType_OWN_SLOTS "__customslots__"

// Sets an exception that names the class and the position of a faulty entry. Always returns -1.
static inline int PyTC_Fault(PyTypeObject *type, Py_ssize_t at, PyObject *exception,
                             const char *fault, PyObject *culprit) {
  char name[PyTC_NAME_SIZE], kind[PyTC_NAME_SIZE];
  PyErr_Format(exception, "type '%s': " PyExtensibleType_OWN_SLOTS " entry %zd: %s (a '%s')",
               PyTC_Name(type, name), at, fault, PyTC_Name(Py_TYPE(culprit), kind));
  return -1;
}

// Returns a capsule's pointer, whatever its name. Keeps the capsule in `own->kept`, which has room.
static inline void *PyTC_Pointer(PyObject *capsule, PyTC_Own *own) {
  Py_INCREF(capsule);
  own->kept[own->kept_count++] = capsule;
  return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
}

// Converts an int, which may be negative if `is_signed`. Returns 0, or -1 with ValueError.
static inline int PyTC_Word(PyTypeObject *type, Py_ssize_t at, PyObject *value, int is_signed,
                            const char *fault, uintptr_t *out) {
  *out = (uintptr_t)PyLong_AsSize_t(value);
  if (*out == (uintptr_t)-1 && PyErr_Occurred() && is_signed) {
    PyErr_Clear();
    *out = (uintptr_t)PyLong_AsSsize_t(value);
  }
  if (*out != (uintptr_t)-1 || !PyErr_Occurred()) return 0;
  PyErr_Clear();
  return PyTC_Fault(type, at, PyExc_ValueError, fault, value);
}

// Converts one pair (id, value) into `slot`. Returns 0, or -1 with TypeError or ValueError.
static inline int PyTC_ReadEntry(PyTypeObject *type, Py_ssize_t at, PyObject *id, PyObject *value,
                                 PyCustomSlot *slot, PyTC_Own *own) {
  if (PyCapsule_CheckExact(id)) {
    slot->id = (uintptr_t)PyTC_Pointer(id, own);
  } else if (!PyLong_Check(id)) {
    return PyTC_Fault(type, at, PyExc_TypeError,
                      "the ID must be an int, or a capsule for its address", id);
  } else if (PyTC_Word(type, at, id, 0, "the ID is out of range", &slot->id) < 0) {
    return -1;
  }
  if (!PyCustomSlot_IsValidID(slot->id)) {
    return PyTC_Fault(type, at, PyExc_ValueError, "this is not a valid slot ID", id);
  }
  if (slot->id == PyCustomSlot_ID_NATIVECALLABLE) {
    // This is the only known ID whose readers follow a pointer inside the instance.
    return PyTC_Fault(
        type, at, PyExc_ValueError,
        "SEP 201's slot is an offset into the instance, which only C code can vouch for", value);
  }
  if (PyCapsule_CheckExact(value)) {
    slot->data.pointer = PyTC_Pointer(value, own);
    return 0;
  }
  if (!PyLong_Check(value)) {
    return PyTC_Fault(
        type, at, PyExc_TypeError,
        "the value must be a capsule (for a pointer) or an int (for flags or an offset)", value);
  }
  return PyTC_Word(type, at, value, 1, "the value does not fit a machine word", &slot->data.flags);
}

// Returns the entries as a new tuple, or NULL with an exception set. May run Python code.
static inline PyObject *PyTC_Entries(PyTypeObject *type, PyObject *given) {
  if (PyList_Check(given) || PyTuple_Check(given)) return PySequence_Tuple(given);
  PyObject *items = NULL;
  if (PyDict_CheckExact(given)) {
    items = PyDict_Items(given);
  } else {
    // PyMapping_Check is also true for sequences, so look for items().
    PyObject *method = PyMapping_Check(given) && !PyType_Check(given)
                           ? PyObject_GetAttrString(given, "items")
                           : NULL;
    if (method != NULL) items = PyObject_CallObject(method, NULL);
    const int is_mapping =
        method != NULL || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError));
    Py_XDECREF(method);
    if (!is_mapping) {
      char name[PyTC_NAME_SIZE], kind[PyTC_NAME_SIZE];
      PyErr_Format(PyExc_TypeError,
                   "type '%s': " PyExtensibleType_OWN_SLOTS
                   " must be a mapping or a list of (id, value), not '%s'",
                   PyTC_Name(type, name), PyTC_Name(Py_TYPE(given), kind));
    }
  }
  PyObject *entries = items != NULL ? PySequence_Tuple(items) : NULL;
  Py_XDECREF(items);
  return entries;
}

static inline void PyTC_DropOwn(PyTC_Own *own) {
  PyTC_ReleaseKept(own->kept, own->kept_count);
  PyMem_Free((void *)(uintptr_t)own->slots);
  memset(own, 0, sizeof(*own));
}

// Reads the class body's `__customslots__`, if any, into `own`, which PyTC_DropOwn frees. Returns
// 0, or -1 with an exception set. May run Python code.
static inline int PyTC_ReadOwn(PyTypeObject *type, PyTC_Own *own) {
  memset(own, 0, sizeof(*own));
  PyObject *given = PyTC_OwnAttribute(type, PyExtensibleType_OWN_SLOTS);
  if (given == NULL) return PyErr_Occurred() ? -1 : 0;
  PyObject *entries = PyTC_Entries(type, given);
  Py_DECREF(given);
  if (entries == NULL) return -1;
  const Py_ssize_t count = PyTuple_Size(entries);
  PyCustomSlot *slots = (PyCustomSlot *)PyMem_Calloc((size_t)count, sizeof(*slots));
  own->slots = slots;
  own->kept = (PyObject **)PyMem_Calloc((size_t)count, 2 * sizeof(*own->kept));
  own->count = count;
  int failed = slots == NULL || own->kept == NULL;
  if (failed) PyErr_NoMemory();
  for (Py_ssize_t i = 0; !failed && i < count; ++i) {
    PyObject *entry = PyTuple_GetItem(entries, i);
    PyObject *pair = PyTuple_Check(entry) || PyList_Check(entry) ? PySequence_Tuple(entry) : NULL;
    failed = pair == NULL || PyTuple_Size(pair) != 2 ||
             PyTC_ReadEntry(type, i, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), &slots[i],
                            own) < 0;
    if (failed && !PyErr_Occurred()) {
      PyTC_Fault(type, i, PyExc_TypeError, "must be a pair (id, value)", entry);
    }
    Py_XDECREF(pair);
    // Let signals interrupt the loop, because millions of entries take seconds.
    if (!failed && i % 4096 == 4095) failed = PyErr_CheckSignals() < 0;
  }
  Py_DECREF(entries);
  if (!failed) failed = PyTC_ValidateOwn(type, slots, count) < 0;
  if (failed) {
    PyTypedcall_SavedError saved = PyTypedcall_SaveError();
    PyTC_DropOwn(own);
    PyTypedcall_RestoreError(saved);
    return -1;
  }
  return 0;
}

#endif  // TYPEDCALL_CORE_SLOTS_OWN_SLOTS_H_
