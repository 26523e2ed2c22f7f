// Slot tables for core/foreign_slots.h. Old tables are kept, because readers do not hold the GIL.
#ifndef TYPEDCALL_CORE_SLOTS_FOREIGN_TABLE_H_
#define TYPEDCALL_CORE_SLOTS_FOREIGN_TABLE_H_

#include "core/slot_id.h"

/// The value of a row BY_TYPE or MERGED_BY_TYPE. Once published, it changes only when slots are
/// added, in order, in free places at its end, which have ID 0. The data are set before the ID.
typedef struct PyForeignSlots_Table {
  Py_ssize_t count;
  PyCustomSlot slots[1];  ///< `count` of them
} PyForeignSlots_Table;

// A table made here. `version` is for merged rows: the type's version tag, or PyTC_NO_VERSION.
// CPython drops the tag when the MRO of the type changes.
typedef struct PyTC_ForeignOurs {
  uint64_t version;
  PyForeignSlots_Table table;
} PyTC_ForeignOurs;
#define PyTC_NO_VERSION UINT64_MAX

static inline PyTC_ForeignOurs *PyTC_ForeignOf(const void *table) {
  return (PyTC_ForeignOurs *)((uintptr_t)table - offsetof(PyTC_ForeignOurs, table));
}

static inline PyForeignSlots_Table *PyTC_ForeignNew(Py_ssize_t room) {
  PyTC_ForeignOurs *ours = (PyTC_ForeignOurs *)PyTypedcall_RAW_CALLOC(
      1, offsetof(PyTC_ForeignOurs, table.slots) + (size_t)room * sizeof(PyCustomSlot));
  if (ours == NULL) return NULL;
  ours->version = PyTC_NO_VERSION;
  ours->table.count = room;
  return &ours->table;
}

static inline void PyTC_ForeignDestroy(const void *table) {
  PyTypedcall_RAW_FREE(table != NULL ? PyTC_ForeignOf(table) : NULL);
}

// Returns the version tag of `type`, or 0 if it has none now. GIL: none.
static inline uint64_t PyTC_VersionOf(const PyTypeObject *type) {
#ifdef Py_LIMITED_API
  return 0 * (uintptr_t)type;
#elif PY_VERSION_HEX < 0x030A0000  // newer versions set a dropped tag to 0
  return (type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0 ? type->tp_version_tag : 0;
#else
  return PyTypedcall_LOAD_RELAXED(&type->tp_version_tag);
#endif
}

// Like PyTC_VersionOf, but assigns a tag, as the first look-up of an attribute does, and returns
// PyTC_NO_VERSION if there is none. GIL: held. Clears a pending exception.
static inline uint64_t PyTC_NewVersionOf(PyTypeObject *type) {
#if PY_VERSION_HEX < 0x030C0000
  PyObject *name = type->tp_mro != NULL ? PyUnicode_InternFromString("__bases__") : NULL;
  if (name != NULL) (void)_PyType_Lookup(type, name);
  Py_XDECREF(name);
  PyErr_Clear();
#elif !defined(Py_LIMITED_API)
  (void)PyUnstable_Type_AssignVersionTag(type);
#endif
  const uint64_t version = PyTC_VersionOf(type);
  return version != 0 ? version : PyTC_NO_VERSION;
}

// Indexes a pointer for the reason given in core/rendezvous/side_table.h.
static inline const PyCustomSlot *PyTC_ForeignAt(const PyForeignSlots_Table *table, Py_ssize_t at) {
  const PyCustomSlot *slots = table->slots;
  return slots + at;
}

// Returns the number of slots in a table (may be NULL), without empty places at its end.
static inline Py_ssize_t PyTC_ForeignUsed(const PyForeignSlots_Table *table) {
  Py_ssize_t used = table != NULL ? table->count : 0;
  while (used > 0 &&
         PyTypedcall_LOAD_ACQUIRE(&PyTC_ForeignAt(table, used - 1)->id) <= PyCustomSlot_ID_SKIP) {
    --used;
  }
  return used;
}

// Returns the number of free places at the end of `table` (may be NULL).
static inline Py_ssize_t PyTC_ForeignFree(const PyForeignSlots_Table *table) {
  Py_ssize_t room = 0;
  while (table != NULL && room < table->count &&
         PyTC_ForeignAt(table, table->count - 1 - room)->id == PyCustomSlot_ID_EMPTY) {
    ++room;
  }
  return room;
}

// Adds slots in free places, of which there must be enough. The caller has locked the type.
static inline void PyTC_ForeignAppend(const PyForeignSlots_Table *table, const PyCustomSlot *slots,
                                      Py_ssize_t count) {
  PyCustomSlot *to = ((PyForeignSlots_Table *)(uintptr_t)table)->slots;
  to += table->count - PyTC_ForeignFree(table);
  for (Py_ssize_t i = 0; i < count; ++i, ++to) {
    to->data = slots[i].data;
    PyTypedcall_STORE_RELEASE(&to->id, slots[i].id);
  }
}

// Marks the free places of `table` (may be NULL) as taken. Otherwise another thread might add slots
// after the table was copied. The caller has locked the type.
static inline void PyTC_ForeignClose(const PyForeignSlots_Table *table) {
  for (Py_ssize_t room = PyTC_ForeignFree(table); room > 0; --room) {
    PyCustomSlot *slots = ((PyForeignSlots_Table *)(uintptr_t)table)->slots;
    PyTypedcall_STORE_RELEASE(&slots[table->count - room].id, (uintptr_t)PyCustomSlot_ID_SKIP);
  }
}

// Returns the length of a new table: at least `needed`, and at least twice `before`.
static inline Py_ssize_t PyTC_ForeignLonger(Py_ssize_t before, Py_ssize_t needed) {
  return before > 0 && before * 2 > needed ? before * 2 : needed;
}

#endif  // TYPEDCALL_CORE_SLOTS_FOREIGN_TABLE_H_
