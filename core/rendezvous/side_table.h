// The side table: rows found by address, without lock or reference, and removed when their owners
// die. Used by core/rendezvous/published_rows.h; modules reach it through PyTypedcall_Interface.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_
#define TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_

#include "core/interface.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// One cell of a generation. A key, once written, never changes, so a reader cannot see a value that
// belongs to another key; a removed row leaves its key behind with a NULL value.
typedef struct PyTypedcall_Internal_Cell {
  const void *key;
  const void *value;
  struct PyTypedcall_Internal_Row *row;  // for writers only
} PyTypedcall_Internal_Cell;

// An open-addressed array with linear probing. When it fills up, the next generation takes the live
// rows over; readers may still be in the old one, which is kept until the interpreter ends.
typedef struct PyTypedcall_Internal_Generation {
  struct PyTypedcall_Internal_Generation *older;
  size_t mask;  // length - 1; the length is a power of two
  size_t used;  // cells with a key, live or not; at most three quarters of the length
  PyTypedcall_Internal_Cell cells[1];
} PyTypedcall_Internal_Generation;

// What writers know about a cell. It lives as long as someone has a reference: the table or the
// list of retracted rows, each owner, and each consumer that holds it
// (core/rendezvous/row_reference.h).
typedef struct PyTypedcall_Internal_Row {
  size_t references;
  int space;
  int is_in_table;
  const void *key;
  const void *value;
  void (*destroy)(const void *value);
  PyObject **kept;  // a set of what publish_kept() was given: its cells, at most half of them full
  size_t kept_count, kept_capacity;
  struct PyTypedcall_Internal_Ownership *owned_by, **owned_by_end;
  size_t left;                            // how often an owner has left it
  struct PyTypedcall_Internal_Row *next;  // among those that were taken out of the table
} PyTypedcall_Internal_Row;

// One space.
typedef struct PyTypedcall_Internal_SideTable {
  PyTypedcall_Internal_Generation *current;
  size_t live;
} PyTypedcall_Internal_SideTable;

// By pointer: what is indexed as an array of one has one element for some compilers' options.
static inline PyTypedcall_Internal_Cell *PyTypedcall_Internal_CellAt(
    PyTypedcall_Internal_Generation *generation, size_t at) {
  PyTypedcall_Internal_Cell *cells = generation->cells;
  return cells + at;
}

static inline size_t PyTypedcall_Internal_Hash(const void *key) {
  // Addresses are multiples of 8 or 16; the multiplication spreads what is left over the high half.
  uint64_t bits = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(bits >> 32);
}

// The cell with `key`, or the free one where it belongs. The array always has a free cell.
static inline PyTypedcall_Internal_Cell *PyTypedcall_Internal_Probe(
    PyTypedcall_Internal_Generation *generation, const void *key) {
  for (size_t i = PyTypedcall_Internal_Hash(key);; ++i) {
    PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_CellAt(generation, i & generation->mask);
    const void *found = PyTypedcall_LOAD_ACQUIRE(&cell->key);
    if (found == key || found == NULL) return cell;
  }
}

// GIL: none; any thread. NULL when there is no live row.
static inline const void *PyTypedcall_Internal_TableFind(PyTypedcall_Internal_SideTable *table,
                                                         const void *key) {
  PyTypedcall_Internal_Generation *generation = PyTypedcall_LOAD_ACQUIRE(&table->current);
  if (generation == NULL || key == NULL) return NULL;
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(generation, key);
  // A free cell may be taken for another key by now, and has its value before it has its key.
  if (PyTypedcall_LOAD_RELAXED(&cell->key) != key) return NULL;
  return PyTypedcall_LOAD_ACQUIRE(&cell->value);
}

// Makes sure that one more row fits. 1: a new generation was published, 0: not needed, -1: no
// memory (no exception set).
static inline int PyTypedcall_Internal_TableReserve(PyTypedcall_Internal_SideTable *table) {
  PyTypedcall_Internal_Generation *old = table->current;
  if (old != NULL && (old->used + 1) * 4 <= (old->mask + 1) * 3) return 0;
  size_t length = 16;
  while ((table->live + 1) * 2 > length) length *= 2;
  const size_t bytes =
      offsetof(PyTypedcall_Internal_Generation, cells) + length * sizeof(PyTypedcall_Internal_Cell);
  PyTypedcall_Internal_Generation *fresh =
      (PyTypedcall_Internal_Generation *)PyTypedcall_RAW_CALLOC(1, bytes);
  if (fresh == NULL) return -1;
  fresh->older = old;
  fresh->mask = length - 1;
  for (size_t i = 0; old != NULL && i <= old->mask; ++i) {
    const PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_CellAt(old, i);
    if (cell->value == NULL) continue;
    *PyTypedcall_Internal_Probe(fresh, cell->key) = *cell;
    ++fresh->used;
  }
  PyTypedcall_STORE_RELEASE(&table->current, fresh);
  return 1;
}

// Puts in a row whose key has no live one; TableReserve came before.
static inline void PyTypedcall_Internal_TableInsert(PyTypedcall_Internal_SideTable *table,
                                                    PyTypedcall_Internal_Row *row) {
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, row->key);
  cell->row = row;
  PyTypedcall_STORE_RELEASE(&cell->value, row->value);
  if (cell->key == NULL) {
    ++table->current->used;
    PyTypedcall_STORE_RELEASE(&cell->key, row->key);
  }
  ++table->live;
}

// The live row of `key`, or NULL.
static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_TableRow(
    PyTypedcall_Internal_SideTable *table, const void *key) {
  if (table->current == NULL || key == NULL) return NULL;
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, key);
  return cell->value != NULL ? cell->row : NULL;
}

static inline void PyTypedcall_Internal_TableRemove(PyTypedcall_Internal_SideTable *table,
                                                    const void *key) {
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, key);
  PyTypedcall_STORE_RELEASE(&cell->value, (const void *)NULL);
  --table->live;
}

static inline void PyTypedcall_Internal_TableFree(PyTypedcall_Internal_SideTable *table) {
  PyTypedcall_Internal_Generation *generation = table->current;
  table->current = NULL;
  while (generation != NULL) {
    PyTypedcall_Internal_Generation *older = generation->older;
    PyTypedcall_RAW_FREE(generation);
    generation = older;
  }
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_
