// The slot tables that the metaclass puts on heap types: what they are made of, who shares them,
// and how a type's own slots and those of its bases are merged. Used by core/types/metaclass.h.
#ifndef TYPEDCALL_CORE_SLOTS_SLOT_TABLE_H_
#define TYPEDCALL_CORE_SLOTS_SLOT_TABLE_H_

#include "core/custom_slots.h"
#include "core/slots/slot_index.h"
#include "core/type_access.h"

#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// A slot table made by `resolve`. Subclasses that add nothing share their base's; it is freed with
// the last of them, because a base can go before its subclass when `__bases__` is assigned.
typedef struct PyExtensibleType_Internal_Table {
  Py_ssize_t references;
  PyTypeObject *owner;   // the type it was made for, NULL once that is dead; only compared
  Py_ssize_t own_count;  // how many slots the owner brought itself
  Py_ssize_t own_at;     // where they stand: at 0 if that is all, else behind the resolved ones
  PyObject **kept;  // the capsules whose pointers stand in the slots, by whichever class; or NULL
  Py_ssize_t kept_count;
  PyCustomSlot slots[1];  // the resolved slots, then, if they are others, the owner's own
} PyExtensibleType_Internal_Table;

// What the metaclass really adds: the part that readers know, then what only `resolve` uses. Static
// types end with the shared part: the rest is there on heap types only. Every word counts here: it
// is there for each class.
typedef struct PyExtensibleType_Internal_TypeData {
  PyExtensibleTypeData shared;
  PyExtensibleType_Internal_Table *table;
} PyExtensibleType_Internal_TypeData;

// A type's own slots on their way into its table.
typedef struct PyExtensibleType_Internal_Own {
  const PyCustomSlot *slots;
  Py_ssize_t count;
  PyObject **kept;  // the capsules that the slots' pointers come from, one reference each
  Py_ssize_t kept_count;
} PyExtensibleType_Internal_Own;

// `metaclass` is our own one; `type` one of its instances.
static inline PyExtensibleType_Internal_TypeData *PyExtensibleType_Internal_DataOf(
    PyTypeObject *metaclass, PyTypeObject *type) {
#ifdef Py_LIMITED_API
  return (PyExtensibleType_Internal_TypeData *)PyObject_GetTypeData((PyObject *)type, metaclass);
#else
  (void)metaclass;
  return (PyExtensibleType_Internal_TypeData *)(void *)((char *)type +
                                                        PyExtensibleType_DATA_OFFSET);
#endif
}

static inline void PyExtensibleType_Internal_ReleaseKept(PyObject **kept, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) Py_DECREF(kept[i]);
  PyMem_Free(kept);
}

// Nothing at the address of `type` is the table's owner from now on.
static inline void PyExtensibleType_Internal_LeaveTable(PyExtensibleType_Internal_Table *table,
                                                        const PyTypeObject *type) {
  if (PyTypedcall_LOAD_RELAXED(&table->owner) == type) {
    __atomic_store_n(&table->owner, (PyTypeObject *)NULL, __ATOMIC_RELAXED);
  }
}

// One type fewer needs the table, which may be NULL.
static inline void PyExtensibleType_Internal_ReleaseTable(PyExtensibleType_Internal_Table *table) {
  if (table == NULL) return;
  // Types die without the lock under which tables are shared.
  if (__atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  PyExtensibleType_Internal_ReleaseKept(table->kept, table->kept_count);
  PyMem_Free(table);
}

// The slots that a type brought itself, as opposed to those it inherited. A static type's all count
// as its own: nothing says which it inherited.
static inline const PyCustomSlot *PyExtensibleType_Internal_OwnSlots(PyTypeObject *metaclass,
                                                                     PyTypeObject *type,
                                                                     Py_ssize_t *count) {
  const PyExtensibleType_Internal_TypeData *data =
      PyExtensibleType_Internal_DataOf(metaclass, type);
  if (!PyTypedcall_Internal_IsHeapType(type)) {
    *count = data->shared.count;
    return data->shared.table;
  }
  const PyExtensibleType_Internal_Table *table = data->table;
  *count = table != NULL && PyTypedcall_LOAD_RELAXED(&table->owner) == type ? table->own_count : 0;
  return table != NULL ? table->slots + table->own_at : NULL;
}

// Is the slot with this ID among the first `count`? Returns its position, or -1.
static inline Py_ssize_t PyExtensibleType_Internal_Position(const PyCustomSlot *slots,
                                                            Py_ssize_t count, uintptr_t id) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id == id) return i;
  }
  return -1;
}

// The same, where it is expected (any value is safe) first.
static inline Py_ssize_t PyExtensibleType_Internal_PositionNear(const PyCustomSlot *slots,
                                                                Py_ssize_t count, uintptr_t id,
                                                                Py_ssize_t expected) {
  if (PyTypedcall_LIKELY((size_t)expected < (size_t)count && slots[expected].id == id)) {
    return expected;
  }
  return PyExtensibleType_Internal_Position(slots, count, id);
}

// Returns 0, or -1 with ValueError for an ID that is invalid or stands twice, or MemoryError.
static inline int PyExtensibleType_Internal_ValidateOwn(PyTypeObject *type, const PyCustomSlot *own,
                                                        Py_ssize_t own_count) {
  PyExtensibleType_Internal_Index ids;
  PyExtensibleType_Internal_IndexInit(&ids);
  int result = PyExtensibleType_Internal_IndexReserve(&ids, own_count);
  for (Py_ssize_t i = 0; result == 0 && i < own_count; ++i) {
    if (own[i].id == PyCustomSlot_ID_SKIP) continue;
    const int valid = PyCustomSlot_IsValidID(own[i].id);
    if (valid && PyExtensibleType_Internal_IndexAdd(&ids, own[i].id, i)) continue;
    char id[2 + 2 * sizeof(uintptr_t) + 1];  // before 3.12 PyErr_Format has no %llx
    char name[PyTypedcall_Internal_NAME_SIZE];
    PyOS_snprintf(id, sizeof(id), "0x%llx", (unsigned long long)own[i].id);
    PyErr_Format(PyExc_ValueError,
                 valid ? "type '%s': custom slot %zd has ID %s, which stands there already"
                       : "type '%s': custom slot %zd has the invalid ID %s",
                 PyTypedcall_Internal_Name(type, name), i, id);
    result = -1;
  }
  PyExtensibleType_Internal_IndexFree(&ids);
  return result;
}

// The merge under way: inherited positions first, so that slots stay where consumers expect them.
typedef struct PyExtensibleType_Internal_Merge {
  PyExtensibleType_Internal_Table *table;
  unsigned char *decided;  // per slot: a type earlier in the MRO has given its value
  Py_ssize_t count;
  PyExtensibleType_Internal_Index ids;   // where they stand in the table
  PyExtensibleType_Internal_Index kept;  // the addresses of the table's capsules
} PyExtensibleType_Internal_Merge;

// Each of these returns 0, or -1 with MemoryError. None runs Python code.

// Starts with these slots, positions to skip included.
static inline int PyExtensibleType_Internal_MergeFirst(PyExtensibleType_Internal_Merge *merge,
                                                       const PyCustomSlot *slots,
                                                       Py_ssize_t count) {
  if (PyExtensibleType_Internal_IndexReserve(&merge->ids, count) < 0) return -1;
  if (count > 0) memcpy(merge->table->slots, slots, (size_t)count * sizeof(PyCustomSlot));
  merge->count = count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id <= PyCustomSlot_ID_SKIP) continue;
    (void)PyExtensibleType_Internal_IndexAdd(&merge->ids, slots[i].id, i);
  }
  return 0;
}

static inline int PyExtensibleType_Internal_MergeSlots(PyExtensibleType_Internal_Merge *merge,
                                                       const PyCustomSlot *slots,
                                                       Py_ssize_t count) {
  if (PyExtensibleType_Internal_IndexReserve(&merge->ids, count) < 0) return -1;
  PyCustomSlot *merged = merge->table->slots;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id <= PyCustomSlot_ID_SKIP) continue;
    Py_ssize_t at = merge->count;
    if (PyExtensibleType_Internal_IndexAdd(&merge->ids, slots[i].id, at)) {
      ++merge->count;
    } else {
      at = PyExtensibleType_Internal_IndexFind(&merge->ids, slots[i].id)->at;
    }
    if (merge->decided[at]) continue;
    merged[at] = slots[i];
    merge->decided[at] = 1;
  }
  return 0;
}

static inline int PyExtensibleType_Internal_MergeKept(PyExtensibleType_Internal_Merge *merge,
                                                      PyObject *const *kept, Py_ssize_t count) {
  if (count == 0) return 0;
  if (PyExtensibleType_Internal_IndexReserve(&merge->kept, count) < 0) return -1;
  PyExtensibleType_Internal_Table *table = merge->table;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!PyExtensibleType_Internal_IndexAdd(&merge->kept, (uintptr_t)kept[i], i)) continue;
    Py_INCREF(kept[i]);
    table->kept[table->kept_count++] = kept[i];
  }
  return 0;
}

#define PyExtensibleType_READY_MARK "__extensible_type_ready__"
#define PyExtensibleType_READY_NAME PyTypedcall_MODULE ".ready"

#ifdef Py_LIMITED_API
// As in core/custom_slots.h. The limited API does not see tp_as_buffer, but what ready_static has
// put into the type's dictionary. GIL: held; keeps a pending exception.
static inline int PyExtensibleType_Internal_HasData(PyTypeObject *type) {
  if (PyTypedcall_Internal_IsHeapType(type)) return 1;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *mark = PyTypedcall_Internal_OwnAttribute(type, PyExtensibleType_READY_MARK);
  const int has_data = mark != NULL && PyCapsule_IsValid(mark, PyExtensibleType_READY_NAME) &&
                       PyCapsule_GetPointer(mark, PyExtensibleType_READY_NAME) == (void *)type;
  Py_XDECREF(mark);
  PyTypedcall_RestoreError(saved);
  return has_data;
}
#endif

// Is `base` a type whose slots `resolve` has settled?
static inline int PyExtensibleType_Internal_IsResolved(PyTypeObject *metaclass, PyObject *base) {
  return PyType_IsSubtype(Py_TYPE(base), metaclass) &&
         PyExtensibleType_Internal_HasData((PyTypeObject *)base) &&
         PyExtensibleType_Internal_DataOf(metaclass, (PyTypeObject *)base)->shared.magic ==
             PyExtensibleType_MAGIC;
}

// The first type in the MRO that has slots, or NULL. From the first entry on: a derived metaclass's
// mro() can leave the type itself out, and where it is in, it is passed over as not resolved yet.
static inline PyTypeObject *PyExtensibleType_Internal_FirstWithSlots(PyTypeObject *metaclass,
                                                                     PyObject *mro) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyObject *base = PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, base)) continue;
    if (PyExtensibleType_Internal_DataOf(metaclass, (PyTypeObject *)base)->shared.count > 0) {
      return (PyTypeObject *)base;
    }
  }
  return NULL;
}

static inline void PyExtensibleType_Internal_EndMerge(PyExtensibleType_Internal_Merge *merge) {
  PyMem_Free(merge->decided);
  PyExtensibleType_Internal_IndexFree(&merge->ids);
  PyExtensibleType_Internal_IndexFree(&merge->kept);
}

// Room for a merge along `mro`: fills `merge` in. Returns 0, or -1 with MemoryError.
static inline int PyExtensibleType_Internal_BeginMerge(PyExtensibleType_Internal_Merge *merge,
                                                       PyTypeObject *metaclass, PyObject *mro,
                                                       const PyExtensibleType_Internal_Own *own) {
  Py_ssize_t most = own->count, most_kept = own->kept_count;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, (PyObject *)base)) continue;
    const PyExtensibleType_Internal_TypeData *data =
        PyExtensibleType_Internal_DataOf(metaclass, base);
    most += data->shared.count;
    if (PyTypedcall_Internal_IsHeapType(base) && data->table != NULL) {
      most_kept += data->table->kept_count;
    }
  }
  const size_t bytes = offsetof(PyExtensibleType_Internal_Table, slots) +
                       (size_t)(most + own->count) * sizeof(PyCustomSlot);
  merge->count = 0;
  PyExtensibleType_Internal_IndexInit(&merge->ids);
  PyExtensibleType_Internal_IndexInit(&merge->kept);
  merge->table = (PyExtensibleType_Internal_Table *)PyMem_Calloc(1, bytes);
  merge->decided = (unsigned char *)PyMem_Calloc((size_t)most, 1);
  PyObject **kept =
      most_kept > 0 ? (PyObject **)PyMem_Calloc((size_t)most_kept, sizeof(*kept)) : NULL;
  if (merge->table == NULL || merge->decided == NULL || (most_kept > 0 && kept == NULL)) {
    PyMem_Free(merge->table);
    PyMem_Free(kept);
    PyExtensibleType_Internal_EndMerge(merge);
    PyErr_NoMemory();
    return -1;
  }
  merge->table->references = 1;
  merge->table->kept = kept;
  return 0;
}

// The merge itself, into a table that begins with the slots of `layout` or, if that is NULL, with
// the own ones.
static inline int PyExtensibleType_Internal_MergeAll(PyExtensibleType_Internal_Merge *merge,
                                                     PyTypeObject *metaclass, PyTypeObject *layout,
                                                     PyObject *mro,
                                                     const PyExtensibleType_Internal_Own *own) {
  int result;
  if (layout != NULL) {
    const PyExtensibleTypeData *first =
        &PyExtensibleType_Internal_DataOf(metaclass, layout)->shared;
    result = PyExtensibleType_Internal_MergeFirst(merge, first->table, first->count);
    if (result == 0) result = PyExtensibleType_Internal_MergeSlots(merge, own->slots, own->count);
  } else {
    // Nothing inherited: the type's own table is taken as it is, skipped positions included.
    result = PyExtensibleType_Internal_MergeFirst(merge, own->slots, own->count);
    memset(merge->decided, 1, (size_t)own->count);
  }
  if (result == 0) result = PyExtensibleType_Internal_MergeKept(merge, own->kept, own->kept_count);
  for (Py_ssize_t i = 0; result == 0 && i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, (PyObject *)base)) continue;
    Py_ssize_t count;
    const PyCustomSlot *slots = PyExtensibleType_Internal_OwnSlots(metaclass, base, &count);
    result = PyExtensibleType_Internal_MergeSlots(merge, slots, count);
    const PyExtensibleType_Internal_TypeData *data =
        PyExtensibleType_Internal_DataOf(metaclass, base);
    if (result == 0 && PyTypedcall_Internal_IsHeapType(base) && data->table != NULL) {
      result =
          PyExtensibleType_Internal_MergeKept(merge, data->table->kept, data->table->kept_count);
    }
  }
  // What a base has from bases that it has no longer is still its own to hand down.
  for (Py_ssize_t i = 0; result == 0 && i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, (PyObject *)base)) continue;
    const PyExtensibleTypeData *shared = &PyExtensibleType_Internal_DataOf(metaclass, base)->shared;
    result = PyExtensibleType_Internal_MergeSlots(merge, shared->table, shared->count);
  }
  return result;
}

// Merges into freshly allocated memory, which the type then owns. `layout` is the first type in the
// MRO that has slots, or NULL: its positions are kept, the values are decided by MRO order. Runs no
// Python code. Returns 0, or -1 with MemoryError.
static inline int PyExtensibleType_Internal_BuildTable(PyTypeObject *metaclass, PyTypeObject *type,
                                                       PyObject *mro,
                                                       const PyExtensibleType_Internal_Own *own) {
  PyTypeObject *layout = PyExtensibleType_Internal_FirstWithSlots(metaclass, mro);
  if (layout == NULL && own->count == 0) return 0;
  PyExtensibleType_Internal_Merge merge;
  if (PyExtensibleType_Internal_BeginMerge(&merge, metaclass, mro, own) < 0) return -1;
  PyExtensibleType_Internal_Table *table = merge.table;
  const int failed = PyExtensibleType_Internal_MergeAll(&merge, metaclass, layout, mro, own) < 0;
  PyExtensibleType_Internal_EndMerge(&merge);
  if (failed) {
    PyExtensibleType_Internal_ReleaseTable(table);
    return -1;
  }

  const PyExtensibleType_Internal_TypeData *base_data =
      layout != NULL ? PyExtensibleType_Internal_DataOf(metaclass, layout) : NULL;
  PyExtensibleType_Internal_TypeData *data = PyExtensibleType_Internal_DataOf(metaclass, type);
  if (own->count == 0 && base_data->shared.count == merge.count &&
      memcmp(base_data->shared.table, table->slots, (size_t)merge.count * sizeof(PyCustomSlot)) ==
          0) {
    PyExtensibleType_Internal_ReleaseTable(table);
    data->shared.count = base_data->shared.count;
    data->shared.table = base_data->shared.table;
    // A table that came from a static type is nobody's to free.
    table = PyTypedcall_Internal_IsHeapType(layout) ? base_data->table : NULL;
    if (table != NULL) __atomic_add_fetch(&table->references, 1, __ATOMIC_RELAXED);
    data->table = table;
    return 0;
  }
  table->own_at = layout == NULL && merge.count == own->count ? 0 : merge.count;
  if (table->own_at > 0 && own->count > 0) {
    memcpy(table->slots + merge.count, own->slots, (size_t)own->count * sizeof(PyCustomSlot));
  } else {
    // Shrinking in place; if it fails, some bytes are wasted.
    const size_t bytes = offsetof(PyExtensibleType_Internal_Table, slots) +
                         (size_t)merge.count * sizeof(PyCustomSlot);
    void *shrunk = PyMem_Realloc(table, bytes);
    if (shrunk != NULL) table = (PyExtensibleType_Internal_Table *)shrunk;
  }
  table->owner = type;
  table->own_count = own->count;
  data->table = table;
  data->shared.count = merge.count;
  data->shared.table = table->slots;
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_SLOTS_SLOT_TABLE_H_
