// Finds slots by ID, and other things by address, in constant time: a hash table for the length of
// one function call. Used by core/slots/slot_table.h and others.
#ifndef TYPEDCALL_CORE_SLOTS_SLOT_INDEX_H_
#define TYPEDCALL_CORE_SLOTS_SLOT_INDEX_H_

#include "core/platform.h"

#include <string.h>

typedef struct PyExtensibleType_Internal_IndexCell {
  uintptr_t key;  // 0: a free cell
  Py_ssize_t at;
} PyExtensibleType_Internal_IndexCell;

// Open addressing, at most half full. Begins as {NULL, 0, 0}; the caller frees the cells with
// PyMem_Free.
typedef struct PyExtensibleType_Internal_Index {
  PyExtensibleType_Internal_IndexCell *cells;  // NULL: nothing reserved
  size_t mask, used;
} PyExtensibleType_Internal_Index;

// Returns the cell of `key`, which is not 0, or the free one where it belongs. There is one.
static inline PyExtensibleType_Internal_IndexCell *PyExtensibleType_Internal_IndexProbe(
    const PyExtensibleType_Internal_Index *index, uintptr_t key) {
  // The table's address decides the order, so that no caller can choose IDs that share a cell.
  uint64_t bits = (uint64_t)key ^ (uint64_t)(uintptr_t)index->cells;
  bits = (bits ^ (bits >> 32)) * UINT64_C(0xd6e8feb86659fd93);
  bits = (bits ^ (bits >> 32)) * UINT64_C(0xd6e8feb86659fd93);
  for (size_t i = (size_t)(bits ^ (bits >> 32));; ++i) {
    PyExtensibleType_Internal_IndexCell *cell = index->cells + (i & index->mask);
    if (cell->key == key || cell->key == 0) return cell;
  }
}

// Returns the cell added for `key`, or NULL.
static inline PyExtensibleType_Internal_IndexCell *PyExtensibleType_Internal_IndexFind(
    const PyExtensibleType_Internal_Index *index, uintptr_t key) {
  if (index->cells == NULL) return NULL;
  PyExtensibleType_Internal_IndexCell *cell = PyExtensibleType_Internal_IndexProbe(index, key);
  return cell->key != 0 ? cell : NULL;
}

// Makes room for `more` keys. Returns 0, or -1 with MemoryError. GIL: held; runs no Python code.
static inline int PyExtensibleType_Internal_IndexReserve(PyExtensibleType_Internal_Index *index,
                                                         Py_ssize_t more) {
  const size_t wanted = index->used + (size_t)more;
  const size_t old_length = index->cells != NULL ? index->mask + 1 : 0;
  if (wanted * 2 <= old_length) return 0;
  size_t length = 8;
  while (length < wanted * 2 && length <= SIZE_MAX / 4) length *= 2;
  // PyMem_Calloc refuses a size that no size_t holds.
  PyExtensibleType_Internal_IndexCell *const old = index->cells;
  void *cells = PyMem_Calloc(length, sizeof(*old));
  if (cells == NULL) return PyTypedcall_Internal_NoMemory();
  index->cells = (PyExtensibleType_Internal_IndexCell *)cells;
  index->mask = length - 1;
  for (size_t i = 0; i < old_length; ++i) {
    if (old[i].key != 0) *PyExtensibleType_Internal_IndexProbe(index, old[i].key) = old[i];
  }
  PyMem_Free(old);
  return 0;
}

// Adds a key for which there is room. Returns 1, or 0 and changes nothing if it is there already.
static inline int PyExtensibleType_Internal_IndexAdd(PyExtensibleType_Internal_Index *index,
                                                     uintptr_t key, Py_ssize_t at) {
  PyExtensibleType_Internal_IndexCell *cell = PyExtensibleType_Internal_IndexProbe(index, key);
  if (cell->key != 0) return 0;
  cell->key = key;
  cell->at = at;
  ++index->used;
  return 1;
}

#endif  // TYPEDCALL_CORE_SLOTS_SLOT_INDEX_H_
