// A hash table that maps slot IDs or addresses to positions.
#ifndef TYPEDCALL_CORE_SLOTS_SLOT_INDEX_H_
#define TYPEDCALL_CORE_SLOTS_SLOT_INDEX_H_

#include "core/platform.h"

#include <string.h>

typedef struct PyTC_IndexCell {
  uintptr_t key;  // 0 if the cell is free
  Py_ssize_t at;
} PyTC_IndexCell;

// The table is at most half full. Initialise it with {NULL, 0, 0}, and free `cells` at the end.
typedef struct PyTC_Index {
  PyTC_IndexCell *cells;  // NULL if nothing is reserved
  size_t mask, used;
} PyTC_Index;

// Returns the cell of `key` (not 0), or the free cell where it belongs. There always is one.
static inline PyTC_IndexCell *PyTC_IndexProbe(const PyTC_Index *index, uintptr_t key) {
  // The table's address is part of the hash, so callers cannot choose IDs that share a cell.
  uint64_t bits = (uint64_t)key ^ (uint64_t)(uintptr_t)index->cells;
  bits = (bits ^ (bits >> 32)) * UINT64_C(0xd6e8feb86659fd93);
  bits = (bits ^ (bits >> 32)) * UINT64_C(0xd6e8feb86659fd93);
  for (size_t i = (size_t)(bits ^ (bits >> 32));; ++i) {
    PyTC_IndexCell *cell = index->cells + (i & index->mask);
    if (cell->key == key || cell->key == 0) return cell;
  }
}

// Returns the cell of `key`, or NULL if the key was not added.
static inline PyTC_IndexCell *PyTC_IndexFind(const PyTC_Index *index, uintptr_t key) {
  if (index->cells == NULL) return NULL;
  PyTC_IndexCell *cell = PyTC_IndexProbe(index, key);
  return cell->key != 0 ? cell : NULL;
}

// Makes room for `more` keys. Returns 0, or -1 with MemoryError. GIL: held; runs no Python code.
static inline int PyTC_IndexReserve(PyTC_Index *index, Py_ssize_t more) {
  const size_t wanted = index->used + (size_t)more;
  const size_t old_length = index->cells != NULL ? index->mask + 1 : 0;
  if (wanted * 2 <= old_length) return 0;
  size_t length = 8;
  while (length < wanted * 2 && length <= SIZE_MAX / 4) length *= 2;
  // PyMem_Calloc fails if the size overflows.
  PyTC_IndexCell *const old = index->cells;
  void *cells = PyMem_Calloc(length, sizeof(*old));
  if (cells == NULL) return PyTC_NoMemory();
  index->cells = (PyTC_IndexCell *)cells;
  index->mask = length - 1;
  for (size_t i = 0; i < old_length; ++i) {
    if (old[i].key != 0) *PyTC_IndexProbe(index, old[i].key) = old[i];
  }
  PyMem_Free(old);
  return 0;
}

// Adds a key, for which there must be room. Returns 1, or 0 if the key was already there.
static inline int PyTC_IndexAdd(PyTC_Index *index, uintptr_t key, Py_ssize_t at) {
  PyTC_IndexCell *cell = PyTC_IndexProbe(index, key);
  if (cell->key != 0) return 0;
  cell->key = key;
  cell->at = at;
  ++index->used;
  return 1;
}

#endif  // TYPEDCALL_CORE_SLOTS_SLOT_INDEX_H_
