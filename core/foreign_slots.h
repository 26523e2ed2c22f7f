// Custom slots for types that cannot have our metaclass, such as builtins and numpy.ndarray.
// PyCustomSlots_FindAny finds these slots. Source: docs/ABI.md, sections 1 and 5.
#ifndef TYPEDCALL_CORE_FOREIGN_SLOTS_H_
#define TYPEDCALL_CORE_FOREIGN_SLOTS_H_

#include "core/custom_slots.h"

#if !TYPEDCALL_IS_SUPPORTED
static inline int PyForeignSlots_Register(const PyTypedcall_Interface *interface,
                                          PyTypeObject *type, const PyCustomSlot *slots,
                                          Py_ssize_t count) {
  (void)interface, (void)type, (void)slots, (void)count;
  return 0;
}
static inline int PyForeignSlots_Unregister(const PyTypedcall_Interface *interface,
                                            PyTypeObject *type, uintptr_t id) {
  (void)interface, (void)type, (void)id;
  return 0;
}
static inline const PyCustomSlot *PyForeignSlots_Find(const PyTypedcall_Interface *interface,
                                                      PyObject *obj, uintptr_t id,
                                                      Py_ssize_t expected_pos) {
  (void)interface, (void)obj, (void)id, (void)expected_pos;
  return NULL;
}
#else

#include "core/slots/foreign_table.h"
#include "core/slots/slot_table.h"

static inline const PyForeignSlots_Table *PyTC_ForeignRow(const PyTypedcall_Interface *interface,
                                                          int space, PyTypeObject *type) {
  return (const PyForeignSlots_Table *)interface->find(interface->state, space, type);
}

// Merges the slots registered for the types in the MRO of `type`. If several types have the same
// ID, the first one wins. Returns a new table with `*used` slots. Returns NULL with MemoryError, or
// with no exception set if there is no MRO yet. Runs no Python code.
static inline PyForeignSlots_Table *PyTC_ForeignMerge(const PyTypedcall_Interface *interface,
                                                      PyTypeObject *type, Py_ssize_t before,
                                                      Py_ssize_t *used) {
  PyObject *mro = PyTC_Mro(type);
  if (mro == NULL) return NULL;
  Py_ssize_t most = 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    most += PyTC_ForeignUsed(
        PyTC_ForeignRow(interface, PyTypedcall_BY_TYPE, (PyTypeObject *)PyTuple_GetItem(mro, i)));
  }
  const Py_ssize_t capacity = PyTC_ForeignLonger(before, most);
  PyForeignSlots_Table *merged = PyTC_ForeignNew(capacity);
  PyTC_Merge merge = {merged != NULL ? merged->slots : NULL, 0, {NULL, 0, 0}};
  int failed = merged == NULL;
  for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(mro); ++i) {
    const PyForeignSlots_Table *row =
        PyTC_ForeignRow(interface, PyTypedcall_BY_TYPE, (PyTypeObject *)PyTuple_GetItem(mro, i));
    Py_ssize_t count = PyTC_ForeignUsed(row);
    // Without the GIL, the row may be longer now. Then its writer will refresh this type again.
    if (count > capacity - merge.count) count = capacity - merge.count;
    if (count > 0) failed = PyTC_MergeSlots(&merge, row->slots, count) < 0;
  }
  PyMem_Free(merge.ids.cells);
  Py_DECREF(mro);
  if (failed) {
    PyTC_ForeignDestroy(merged);
    PyErr_NoMemory();
    return NULL;
  }
  *used = merge.count;
  return merged;
}

// Replaces `existing` (may be NULL) with `table`. Takes ownership of `table`. Returns 0, or -1 with
// an exception set. Keeps a table that other code has published meanwhile, so callers look again.
static inline int PyTC_ForeignPut(const PyTypedcall_Interface *interface, int space,
                                  PyTypeObject *type, const PyForeignSlots_Table *existing,
                                  PyForeignSlots_Table *table) {
  PyObject *owner = (PyObject *)type;
  const int result = existing != NULL ? interface->exchange(interface->state, space, type, owner,
                                                            existing, table, PyTC_ForeignDestroy)
                                      : interface->publish(interface->state, space, type, owner,
                                                           table, NULL, PyTC_ForeignDestroy, NULL);
  if (result == 1) return 0;
  PyTC_ForeignDestroy(table);
  return result == -1 ? -1 : 0;
}

// Adds the new slots of `table` to `existing` (may be NULL), or replaces `existing`. Steals
// `table`. Returns 1 if it added them, 0 if the caller must look again, or -1 with an exception
// set.
static inline int PyTC_ForeignExtend(const PyTypedcall_Interface *interface, int space,
                                     PyTypeObject *type, const PyForeignSlots_Table *existing,
                                     Py_ssize_t before, PyForeignSlots_Table *table,
                                     Py_ssize_t used) {
  int is_extended = 0, has_changed = 0;
  PyTypedcall_BEGIN_EXCLUSIVE((PyObject *)type);
  if (PyTC_ForeignRow(interface, space, type) != existing || PyTC_ForeignUsed(existing) != before) {
    has_changed = 1;
  } else if (existing != NULL) {
    const Py_ssize_t capacity = PyTC_ForeignFree(existing);
    const int begins = used >= before && memcmp(existing->slots, table->slots,
                                                (size_t)before * sizeof(PyCustomSlot)) == 0;
    if (begins &&
        (used == before || (used - before <= capacity && existing->count - capacity == before))) {
      PyTC_ForeignAppend(existing, PyTC_ForeignAt(table, before), used - before);
      is_extended = 1;
    } else {
      PyTC_ForeignClose(existing);
    }
  }
  PyTypedcall_END_EXCLUSIVE();
  if (!is_extended && !has_changed) return PyTC_ForeignPut(interface, space, type, existing, table);
  PyTC_ForeignDestroy(table);
  return is_extended;
}

// Updates and returns the merged row of `type`, or NULL, raised unless the type has no MRO yet.
static inline const PyForeignSlots_Table *PyTC_ForeignRefresh(
    const PyTypedcall_Interface *interface, PyTypeObject *type) {
  for (;;) {
    // Read the version before the MRO, because without the GIL another thread may change both.
    const uint64_t version = PyTC_NewVersionOf(type);
    // Read the merged row before its sources, to notice changes by other threads.
    const PyForeignSlots_Table *existing =
        PyTC_ForeignRow(interface, PyTypedcall_MERGED_BY_TYPE, type);
    const Py_ssize_t before = PyTC_ForeignUsed(existing);
    Py_ssize_t used;
    PyForeignSlots_Table *merged = PyTC_ForeignMerge(interface, type, before, &used);
    if (merged == NULL) return NULL;
    const int extended = PyTC_ForeignExtend(interface, PyTypedcall_MERGED_BY_TYPE, type, existing,
                                            before, merged, used);
    if (extended < 0) return NULL;
    // Another thread may have removed a slot that was just added, so check again.
    if (extended == 0 || used != before) continue;
    if (version != PyTC_NO_VERSION) {
      PyTypedcall_STORE_RELEASE(&PyTC_ForeignOf(existing)->version, version);
    }
    return existing;
  }
}

// Refreshes the merged rows of `type` and its subclasses. Returns 0, or -1 with an exception set.
static inline int PyTC_ForeignRefreshAll(const PyTypedcall_Interface *interface,
                                         PyTypeObject *type) {
  if (PyTC_ForeignRefresh(interface, type) == NULL) return PyErr_Occurred() ? -1 : 0;
  PyTC_Index seen = {NULL, 0, 0};
  PyObject *types = PyList_New(0);
  int result = types != NULL ? PyList_Append(types, (PyObject *)type) : -1;
  for (Py_ssize_t i = 0; result == 0 && i < PyList_Size(types); ++i) {
    // Call `type`'s own method, because a metaclass may override it.
    PyObject *derived = PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O",
                                            PyList_GetItem(types, i));
    if (derived == NULL) result = -1;
    for (Py_ssize_t j = 0; result == 0 && j < PyList_Size(derived); ++j) {
      PyTypeObject *subtype = (PyTypeObject *)PyList_GetItem(derived, j);
      result = PyTC_IndexReserve(&seen, 1);
      if (result < 0 || !PyTC_IndexAdd(&seen, (uintptr_t)subtype, 0)) continue;
      result = PyList_Append(types, (PyObject *)subtype);
      if (result == 0 && PyTC_ForeignRow(interface, PyTypedcall_MERGED_BY_TYPE, subtype) &&
          PyTC_ForeignRefresh(interface, subtype) == NULL && PyErr_Occurred()) {
        result = -1;
      }
    }
    Py_XDECREF(derived);
  }
  Py_XDECREF(types);
  PyMem_Free(seen.cells);
  return result;
}

// Returns a new table with `*used` slots: those of `existing` (may be NULL), then new ones. Returns
// NULL with an exception set, or with no exception set if no slot is new.
static inline PyForeignSlots_Table *PyTC_ForeignAdd(PyTypeObject *type,
                                                    const PyForeignSlots_Table *existing,
                                                    Py_ssize_t before, const PyCustomSlot *slots,
                                                    Py_ssize_t count, Py_ssize_t *used) {
  // Only the first registration can skip positions.
  if (existing != NULL && existing->count > 0) {
    while (count > 0 && slots->id == PyCustomSlot_ID_SKIP) ++slots, --count;
  }
  const Py_ssize_t capacity = PyTC_ForeignLonger(before, before + count);
  PyForeignSlots_Table *table = PyTC_ForeignNew(capacity);
  PyTC_Merge merge = {table != NULL ? table->slots : NULL, 0, {NULL, 0, 0}};
  const int failed = table == NULL ||
                     (before > 0 && PyTC_MergeSlots(&merge, existing->slots, before) < 0) ||
                     PyTC_MergeSlots(&merge, slots, count) < 0;
  if (failed) PyErr_NoMemory();
  *used = failed ? before : merge.count;
  for (Py_ssize_t i = 0; !failed && i < count; ++i) {
    if (slots[i].id == PyCustomSlot_ID_SKIP) continue;
    const Py_ssize_t at = PyTC_IndexFind(&merge.ids, slots[i].id)->at;
    if (table->slots[at].data.flags == slots[i].data.flags) continue;
    char name[PyTC_NAME_SIZE], id[2 + 2 * sizeof(uintptr_t) + 1];
    PyOS_snprintf(id, sizeof(id), "0x%llx", (unsigned long long)slots[i].id);
    PyErr_Format(PyExc_ValueError, "type '%s' already has custom slot %s, with other data",
                 PyTC_Name(type, name), id);
    *used = before;
    break;
  }
  PyMem_Free(merge.ids.cells);
  if (*used > before) return table;
  PyTC_ForeignDestroy(table);
  return NULL;
}

/// Registers `count` custom slots for `type`, which must not be extensible. The slots are copied,
/// and are removed when the type dies. Subclasses inherit them in MRO order. Several modules can
/// register slots for one type. Registering a slot again does nothing. The slots' pointers must
/// outlive the type and all subclasses that it ever had. A subclass that was looked up before gets
/// them only if `type.__subclasses__()` leads to it.
///
/// Returns 0, or -1 with ValueError (no slots, or an ID that is invalid, repeated, or registered
/// with different data), TypeError (an extensible type, or one that cannot be weakly referenced),
/// RuntimeError if the interpreter is ending, MemoryError, or what PyType_Ready raises. GIL: held.
/// `interface` and so the slots are the calling interpreter's. ValueError changes nothing.
static inline int PyForeignSlots_Register(const PyTypedcall_Interface *interface,
                                          PyTypeObject *type, const PyCustomSlot *slots,
                                          Py_ssize_t count) {
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (Py_TYPE((PyObject *)type) == NULL && PyType_Ready(type) < 0) return -1;
  if (metaclass != NULL && PyType_IsSubtype(Py_TYPE((PyObject *)type), metaclass)) {
    return PyTC_Refuse(type, PyExc_TypeError,
                       "type '%s' is extensible: it has custom slots of its own");
  }
  if (slots == NULL || count <= 0) {
    return PyTC_Refuse(type, PyExc_ValueError, "type '%s' was given no custom slots");
  }
  if (PyTC_ValidateOwn(type, slots, count) < 0) return -1;
  for (;;) {
    const PyForeignSlots_Table *existing = PyTC_ForeignRow(interface, PyTypedcall_BY_TYPE, type);
    const Py_ssize_t before = PyTC_ForeignUsed(existing);
    Py_ssize_t used;
    PyForeignSlots_Table *table = PyTC_ForeignAdd(type, existing, before, slots, count, &used);
    if (table == NULL) break;
    const int extended =
        PyTC_ForeignExtend(interface, PyTypedcall_BY_TYPE, type, existing, before, table, used);
    if (extended < 0) return -1;
    if (extended > 0) break;
  }
  return PyErr_Occurred() ? -1 : PyTC_ForeignRefreshAll(interface, type);
}

/// Removes the slot `id` of `type`, whichever module registered it. A slot that was found before
/// stays readable while the type lives. Returns 1, 0 (none), or -1 with MemoryError. GIL: held.
static inline int PyForeignSlots_Unregister(const PyTypedcall_Interface *interface,
                                            PyTypeObject *type, uintptr_t id) {
  for (int was_there = 0;; was_there = 1) {
    const PyForeignSlots_Table *existing = PyTC_ForeignRow(interface, PyTypedcall_BY_TYPE, type);
    Py_ssize_t at = existing != NULL && id > PyCustomSlot_ID_SKIP ? existing->count - 1 : -1;
    while (at >= 0 && PyTC_ForeignAt(existing, at)->id != id) --at;
    if (at < 0) {
      if (!was_there) return 0;
      return PyTC_ForeignRefreshAll(interface, type) < 0 ? -1 : 1;
    }
    PyTypedcall_BEGIN_EXCLUSIVE((PyObject *)type);
    PyTC_ForeignClose(existing);
    PyTypedcall_END_EXCLUSIVE();
    const Py_ssize_t used = PyTC_ForeignUsed(existing);
    PyForeignSlots_Table *table = PyTC_ForeignNew(used);
    if (table == NULL) return PyTC_NoMemory();
    memcpy(table->slots, existing->slots, (size_t)table->count * sizeof(PyCustomSlot));
    table->slots[at].id = PyCustomSlot_ID_SKIP;  // other slots keep their positions
    while (table->count > 0 && table->slots[table->count - 1].id == PyCustomSlot_ID_SKIP) {
      --table->count;
    }
    if (PyTC_ForeignPut(interface, PyTypedcall_BY_TYPE, type, existing, table) < 0) return -1;
  }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"  // a header needs noinline functions to be `inline`
// Merges the inherited slots, for the first time or again. `table` is the row so far, or NULL.
static inline TYPEDCALL_RARE const PyForeignSlots_Table *PyTC_ForeignLookAgain(
    const PyTypedcall_Interface *interface, PyTypeObject *type, const PyForeignSlots_Table *table) {
#ifndef Py_LIMITED_API
  if (!PyTypedcall_IsAttached()) return table;
#endif
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  // Making a type's first row can run code that releases the type.
  Py_INCREF((PyObject *)type);
  table = PyTC_ForeignRefresh(interface, type);
  if (PyTC_IsUnshared(type)) table = NULL;
  Py_DECREF((PyObject *)type);
  PyTypedcall_RestoreError(saved);
  return table;
}
#pragma GCC diagnostic pop

/// Returns the slot with this ID that is registered for the type of `obj` or one of its bases, or
/// NULL. Ignores what PyCustomSlots_Find finds. Valid while the type lives. `interface`: as above.
///
/// Takes no lock, sets no exception and keeps a pending one. GIL: needed only in limited API
/// modules. Without the GIL, the caller must also have a reference to the type, as for
/// PyCustomSlots_Find. A detached thread finds what the last attached look-up of the class has
/// merged. Up to 3.11 the main thread counts as detached in a subinterpreter.
///
/// The first look-up of a class, and the next after any assignment to it or to its bases, merge the
/// slots. In limited API modules, where a type's version is hidden, every look-up does so, in about
/// 2 us. If memory runs out, this look-up finds nothing.
static inline const PyCustomSlot *PyForeignSlots_Find(const PyTypedcall_Interface *interface,
                                                      PyObject *obj, uintptr_t id,
                                                      Py_ssize_t expected_pos) {
  if (id <= PyCustomSlot_ID_SKIP) return NULL;
  PyTypeObject *type = Py_TYPE(obj);
  const PyForeignSlots_Table *table = PyTC_ForeignRow(interface, PyTypedcall_MERGED_BY_TYPE, type);
  if (!PyTypedcall_LIKELY(table != NULL && PyTC_EqualsAcquire(&PyTC_ForeignOf(table)->version,
                                                              PyTC_VersionOf(type)))) {
    table = PyTC_ForeignLookAgain(interface, type, table);
    if (table == NULL) return NULL;
  }
  const PyCustomSlot *slots = table->slots;
  if ((size_t)expected_pos < (size_t)table->count &&
      PyTypedcall_LOAD_ACQUIRE(&slots[expected_pos].id) == id) {
    return slots + expected_pos;
  }
  for (Py_ssize_t i = 0; i < table->count; ++i) {
    if (PyTypedcall_LOAD_ACQUIRE(&slots[i].id) == id) return slots + i;
  }
  return NULL;
}

#endif  // TYPEDCALL_IS_SUPPORTED

#if !TYPEDCALL_IS_SUPPORTED || !defined(Py_LIMITED_API)
/// Like PyForeignSlots_Find, also for threads, but asks PyCustomSlots_Find first.
static inline const PyCustomSlot *PyCustomSlots_FindAny(const PyTypedcall_Interface *interface,
                                                        PyObject *obj, uintptr_t id,
                                                        Py_ssize_t expected_pos) {
  const PyCustomSlot *own = PyCustomSlots_Find(obj, id, expected_pos);
  return own != NULL ? own : PyForeignSlots_Find(interface, obj, id, expected_pos);
}
#endif
#endif  // TYPEDCALL_CORE_FOREIGN_SLOTS_H_
