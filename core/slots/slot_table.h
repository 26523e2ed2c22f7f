// The slot tables of heap types, and how a type's slots are merged with those of its bases.
#ifndef TYPEDCALL_CORE_SLOTS_SLOT_TABLE_H_
#define TYPEDCALL_CORE_SLOTS_SLOT_TABLE_H_

#include "core/custom_slots.h"
#include "core/slots/slot_index.h"
#include "core/type_access.h"

#include <string.h>

// A slot table made by `resolve`. A subclass that adds no slots shares its base's table. References
// are counted, because a base can die before its subclass if `__bases__` is assigned.
typedef struct PyTC_Table {
  Py_ssize_t references;
  PyTypeObject *owner;   // the type that the table was made for; NULL after its death
  Py_ssize_t own_count;  // number of the owner's own slots
  Py_ssize_t own_at;     // index of the own slots: 0, or after the resolved slots if these differ
  PyObject **kept;       // the capsules of all pointers in the slots, or NULL
  Py_ssize_t kept_count;
  PyCustomSlot slots[1];  // the resolved slots, then the owner's own slots if these differ
} PyTC_Table;

// A type's own slots before they are merged into its table.
typedef struct PyTC_Own {
  const PyCustomSlot *slots;
  Py_ssize_t count;
  PyObject **kept;  // the capsules of the slots' pointers, one reference each
  Py_ssize_t kept_count;
} PyTC_Own;

// Returns the data of `type`, an instance of our metaclass. Static types have only the shared part.
static inline PyExtensibleHeapTypeData *PyTC_DataOf(PyTypeObject *metaclass, PyTypeObject *type) {
#ifdef Py_LIMITED_API
  return (PyExtensibleHeapTypeData *)PyObject_GetTypeData((PyObject *)type, metaclass);
#else
  (void)metaclass;
  return (PyExtensibleHeapTypeData *)(void *)((char *)type + PyExtensibleType_DATA_OFFSET);
#endif
}

static inline void PyTC_ReleaseKept(PyObject **kept, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) Py_DECREF(kept[i]);
  PyMem_Free(kept);
}

// Returns the table that a heap type owns or shares, or NULL if it uses a static type's slots.
static inline PyTC_Table *PyTC_TableOf(PyTypeObject *metaclass, PyTypeObject *type) {
  if (!PyTC_IsHeapType(type)) return NULL;
  const PyExtensibleHeapTypeData *data = PyTC_DataOf(metaclass, type);
  if (PyTypedcall_LOAD_RELAXED(&data->key) == 0) return NULL;
  return (PyTC_Table *)(void *)((char *)data->shared.table - offsetof(PyTC_Table, slots));
}

// Sets a heap type's slots to `table` or, if that is NULL, to the `slots` of a static type.
static inline void PyTC_SetTable(PyTypeObject *metaclass, PyTypeObject *type, PyTC_Table *table,
                                 PyCustomSlot *slots, Py_ssize_t count) {
  PyExtensibleHeapTypeData *data = PyTC_DataOf(metaclass, type);
  data->shared.count = count;
  data->shared.table = table != NULL ? table->slots : slots;
  if (table == NULL) return;
#ifndef Py_LIMITED_API
  // CPython leaves tp_members NULL if there are no members, but PyTC_EndsAsOurs needs it.
  if (type->tp_members == NULL) {
    struct PyMemberDef *members =
        (struct PyMemberDef *)(void *)((char *)type + Py_TYPE((PyObject *)type)->tp_basicsize);
    __atomic_store_n(&type->tp_members, members, __ATOMIC_RELAXED);
  }
#endif
  // The key is never 0, because no ID equals the magic.
  PyTypedcall_STORE_RELEASE(&data->key, PyExtensibleType_KEY(table->slots[0].id));
}

// Clears the table's owner if that is `type`, which is dying.
static inline void PyTC_LeaveTable(PyTC_Table *table, const PyTypeObject *type) {
  if (PyTypedcall_LOAD_RELAXED(&table->owner) == type) {
    __atomic_store_n(&table->owner, (PyTypeObject *)NULL, __ATOMIC_RELAXED);
  }
}

// Releases a type's reference to the table, which may be NULL.
static inline void PyTC_ReleaseTable(PyTC_Table *table) {
  if (table == NULL) return;
  // The count is atomic, because a type can die while the lock is not held.
  if (__atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  PyTC_ReleaseKept(table->kept, table->kept_count);
  PyMem_Free(table);
}

// Returns a type's own slots. For a static type, these include the inherited slots.
static inline const PyCustomSlot *PyTC_OwnSlots(PyTypeObject *metaclass, PyTypeObject *type,
                                                Py_ssize_t *count) {
  if (!PyTC_IsHeapType(type)) {
    const PyExtensibleTypeData *data = &PyTC_DataOf(metaclass, type)->shared;
    *count = data->count;
    return data->table;
  }
  const PyTC_Table *table = PyTC_TableOf(metaclass, type);
  *count = table != NULL && PyTypedcall_LOAD_RELAXED(&table->owner) == type ? table->own_count : 0;
  return table != NULL ? table->slots + table->own_at : NULL;
}

// Checks the IDs. Returns 0, or -1 with ValueError (an invalid or repeated ID) or MemoryError.
static inline int PyTC_ValidateOwn(PyTypeObject *type, const PyCustomSlot *own,
                                   Py_ssize_t own_count) {
  PyTC_Index ids = {NULL, 0, 0};
  int result = PyTC_IndexReserve(&ids, own_count);
  for (Py_ssize_t i = 0; result == 0 && i < own_count; ++i) {
    if (own[i].id == PyCustomSlot_ID_SKIP) continue;
    const int valid = PyCustomSlot_IsValidID(own[i].id);
    if (valid && PyTC_IndexAdd(&ids, own[i].id, i)) continue;
    char id[2 + 2 * sizeof(uintptr_t) + 1];  // before 3.12 PyErr_Format has no %llx
    char name[PyTC_NAME_SIZE];
    PyOS_snprintf(id, sizeof(id), "0x%llx", (unsigned long long)own[i].id);
    PyErr_Format(PyExc_ValueError,
                 valid ? "type '%s': custom slot %zd has ID %s, which occurs twice"
                       : "type '%s': custom slot %zd has the invalid ID %s",
                 PyTC_Name(type, name), i, id);
    result = -1;
  }
  PyMem_Free(ids.cells);
  return result;
}

// Slots that are being merged. The first table decides the positions, so that slots stay where
// consumers expect them. Source: docs/ABI.md, 1.14 and 1.15.
typedef struct PyTC_Merge {
  PyCustomSlot *slots;  // room for all merged slots
  Py_ssize_t count;
  PyTC_Index ids;  // positions, or ~position while the value can be replaced
} PyTC_Merge;

// The next three functions return 0, or -1 with MemoryError, and run no Python code.

// Adds the slots whose IDs are new. Skipped positions come from the first type only.
static inline int PyTC_MergeSlots(PyTC_Merge *merge, const PyCustomSlot *slots, Py_ssize_t count) {
  if (PyTC_IndexReserve(&merge->ids, count) < 0) return -1;
  const int is_first = merge->count == 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id <= PyCustomSlot_ID_SKIP
            ? is_first
            : PyTC_IndexAdd(&merge->ids, slots[i].id, merge->count)) {
      merge->slots[merge->count++] = slots[i];
    } else if (slots[i].id > PyCustomSlot_ID_SKIP) {
      Py_ssize_t *at = &PyTC_IndexFind(&merge->ids, slots[i].id)->at;
      if (*at >= 0) continue;
      *at = ~*at;
      merge->slots[*at] = slots[i];
    }
  }
  return 0;
}

// Reserves the positions of these slots. Slots that are merged later replace their data.
static inline int PyTC_MergePositions(PyTC_Merge *merge, const PyCustomSlot *slots,
                                      Py_ssize_t count) {
  if (PyTC_MergeSlots(merge, slots, count) < 0) return -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id <= PyCustomSlot_ID_SKIP) continue;
    Py_ssize_t *at = &PyTC_IndexFind(&merge->ids, slots[i].id)->at;
    if (*at >= 0) *at = ~*at;
  }
  return 0;
}

// Adds the capsules that `table` does not have yet.
static inline int PyTC_MergeKept(PyTC_Table *table, PyTC_Index *known, PyObject *const *kept,
                                 Py_ssize_t count) {
  if (count == 0) return 0;
  if (PyTC_IndexReserve(known, count) < 0) return -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!PyTC_IndexAdd(known, (uintptr_t)kept[i], i)) continue;
    Py_INCREF(kept[i]);
    table->kept[table->kept_count++] = kept[i];
  }
  return 0;
}

#define PyExtensibleType_READY_MARK "__extensible_type_ready__"
#define PyExtensibleType_READY_NAME PyTypedcall_MODULE ".ready"

#ifdef Py_LIMITED_API
// PyTC_HasData for the limited API, which hides tp_as_buffer. Looks for the mark that ready_static
// puts into the type's dictionary. GIL: held. Keeps a pending exception.
static inline int PyTC_HasData(PyTypeObject *type) {
  if (PyTC_IsHeapType(type)) return 1;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *mark = PyTC_OwnAttribute(type, PyExtensibleType_READY_MARK);
  const int has_data = mark != NULL && PyCapsule_IsValid(mark, PyExtensibleType_READY_NAME) &&
                       PyCapsule_GetPointer(mark, PyExtensibleType_READY_NAME) == (void *)type;
  Py_XDECREF(mark);
  PyTypedcall_RestoreError(saved);
  return has_data;
}
#endif

// Returns the resolved data of `base`, or NULL.
static inline const PyExtensibleTypeData *PyTC_Settled(PyTypeObject *metaclass, PyObject *base) {
  if (!PyType_IsSubtype(Py_TYPE(base), metaclass) || !PyTC_HasData((PyTypeObject *)base)) {
    return NULL;
  }
  const PyExtensibleTypeData *data = &PyTC_DataOf(metaclass, (PyTypeObject *)base)->shared;
  return data->magic == PyExtensibleType_MAGIC ? data : NULL;
}

// Returns the first type in the MRO that has slots, or NULL. Adds the number of all slots to
// `capacity`, and the number of all capsules to `kept`. The MRO may lack the type itself.
static inline PyTypeObject *PyTC_FirstWithSlots(PyTypeObject *metaclass, PyObject *mro,
                                                Py_ssize_t *capacity, Py_ssize_t *kept) {
  PyTypeObject *first = NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyObject *base = PyTuple_GetItem(mro, i);
    const PyExtensibleTypeData *data = PyTC_Settled(metaclass, base);
    if (data == NULL) continue;
    const PyTC_Table *table = PyTC_TableOf(metaclass, (PyTypeObject *)base);
    if (first == NULL && data->count > 0) first = (PyTypeObject *)base;
    if (table != NULL) *kept += table->kept_count;
    *capacity += data->count;
  }
  return first;
}

// Fills `table`, first as `layout` (may be NULL). Returns its length, or -1 with MemoryError.
static inline Py_ssize_t PyTC_FillTable(PyTC_Table *table, PyTypeObject *metaclass,
                                        PyTypeObject *layout, PyObject *mro, const PyTC_Own *own) {
  PyTC_Merge merge = {table->slots, 0, {NULL, 0, 0}};
  PyTC_Index kept = {NULL, 0, 0};
  int result = 0;
  if (layout != NULL) {
    const PyExtensibleTypeData *first = &PyTC_DataOf(metaclass, layout)->shared;
    result = PyTC_MergePositions(&merge, first->table, first->count);
  }
  if (result == 0) result = PyTC_MergeSlots(&merge, own->slots, own->count);
  if (result == 0) result = PyTC_MergeKept(table, &kept, own->kept, own->kept_count);
  // Slots that a base has kept from former bases come after the own slots of all bases.
  for (int is_inherited = 0; is_inherited <= 1; ++is_inherited) {
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_Size(mro); ++i) {
      PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
      const PyExtensibleTypeData *data = PyTC_Settled(metaclass, (PyObject *)base);
      if (data == NULL) continue;
      Py_ssize_t count = data->count;
      const PyCustomSlot *slots =
          is_inherited ? data->table : PyTC_OwnSlots(metaclass, base, &count);
      result = PyTC_MergeSlots(&merge, slots, count);
      const PyTC_Table *of_base = PyTC_TableOf(metaclass, base);
      if (result < 0 || is_inherited || of_base == NULL) continue;
      result = PyTC_MergeKept(table, &kept, of_base->kept, of_base->kept_count);
    }
  }
  PyMem_Free(merge.ids.cells);
  PyMem_Free(kept.cells);
  return result < 0 ? -1 : merge.count;
}

// Makes the table of `type`, or shares the table of its first base with slots if both are equal.
// Runs no Python code. Returns 0, or -1 with MemoryError.
static inline int PyTC_BuildTable(PyTypeObject *metaclass, PyTypeObject *type, PyObject *mro,
                                  const PyTC_Own *own) {
  Py_ssize_t capacity = own->count, kept = own->kept_count;
  PyTypeObject *layout = PyTC_FirstWithSlots(metaclass, mro, &capacity, &kept);
  if (layout == NULL && own->count == 0) return 0;
  PyTC_Table *table = (PyTC_Table *)PyMem_Calloc(
      1, offsetof(PyTC_Table, slots) + (size_t)(capacity + own->count) * sizeof(PyCustomSlot));
  if (table != NULL && kept > 0) {
    table->kept = (PyObject **)PyMem_Calloc((size_t)kept, sizeof(*table->kept));
  }
  if (table == NULL || (kept > 0 && table->kept == NULL)) {
    PyMem_Free(table);
    return PyTC_NoMemory();
  }
  table->references = 1;
  const Py_ssize_t count = PyTC_FillTable(table, metaclass, layout, mro, own);
  if (count < 0) {
    PyTC_ReleaseTable(table);
    return -1;
  }

  const PyExtensibleTypeData *first =
      layout != NULL ? &PyTC_DataOf(metaclass, layout)->shared : NULL;
  if (own->count == 0 && first != NULL && first->count == count &&
      memcmp(first->table, table->slots, (size_t)count * sizeof(PyCustomSlot)) == 0) {
    PyTC_ReleaseTable(table);
    PyTC_Table *shared = PyTC_TableOf(metaclass, layout);
    if (shared != NULL) __atomic_add_fetch(&shared->references, 1, __ATOMIC_RELAXED);
    PyTC_SetTable(metaclass, type, shared, first->table, count);
    return 0;
  }
  table->own_at = layout == NULL && count == own->count ? 0 : count;
  if (table->own_at > 0 && own->count > 0) {
    memcpy(table->slots + count, own->slots, (size_t)own->count * sizeof(PyCustomSlot));
  } else {
    // Shrink the table in place. If that fails, some bytes are wasted.
    void *shrunk =
        PyMem_Realloc(table, offsetof(PyTC_Table, slots) + (size_t)count * sizeof(PyCustomSlot));
    if (shrunk != NULL) table = (PyTC_Table *)shrunk;
  }
  table->owner = type;
  table->own_count = own->count;
  PyTC_SetTable(metaclass, type, table, NULL, count);
  return 0;
}

#endif  // TYPEDCALL_CORE_SLOTS_SLOT_TABLE_H_
