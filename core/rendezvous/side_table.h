// The side table: rows found by address, without lock or reference, and removed when their owners
// die. Used by core/rendezvous/published_rows.h; modules use it through PyTypedcall_Interface.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_
#define TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_

#include "core/interface.h"

#include <string.h>

// One cell of a generation. Its key changes only when the array is reused for a later generation. A
// writer stores the key first, then the value, and a reader checks both again, so it never sees
// another key's value. A removed row leaves its key behind.
typedef struct PyTypedcall_Internal_Cell {
  const void *key;
  const void *value;
  // For writers only: the row, and behind it the key's retracted rows; these alone if the value is
  // NULL.
  struct PyTypedcall_Internal_Row *row;
} PyTypedcall_Internal_Cell;

// An open-addressed array with linear probing. When it fills up, the next generation takes over the
// rows, in the last but one array if that has the right length. Readers may still be in any of
// them, so all are kept until the interpreter ends.
typedef struct PyTypedcall_Internal_Generation {
  struct PyTypedcall_Internal_Generation *older;
  size_t mask;  // length - 1; the length is a power of two
  size_t used;  // cells with a key, with a row or not; at most three quarters of the length
  PyTypedcall_Internal_Cell cells[1];
} PyTypedcall_Internal_Generation;

// A cell's data for writers. Its cell, in which it is live or retracted, and each consumer that
// holds it (core/rendezvous/row_reference.h) have a reference.
typedef struct PyTypedcall_Internal_Row {
  size_t references;
  int space;
  int is_in_table;  // its key's live row
  const void *key;
  const void *value;
  void (*destroy)(const void *value);
  PyObject *keeper;  // of publish()'s `kept`, or NULL: core/rendezvous/row_keeper.h
  struct PyTypedcall_Internal_Ownership *owned_by, **owned_by_end;
  size_t left;                             // number of owners that have left it
  struct PyTypedcall_Internal_Row *older;  // the next of the key's retracted rows, in its cell
  struct PyTypedcall_Internal_Row *next;   // in a chain of rows without a cell
} PyTypedcall_Internal_Row;

// One space.
typedef struct PyTypedcall_Internal_SideTable {
  PyTypedcall_Internal_Generation *current;
  size_t number;  // of the current generation, changed after it
  size_t live;
} PyTypedcall_Internal_SideTable;

// By pointer: with some compilers' options an array of one, indexed directly, has one element.
static inline PyTypedcall_Internal_Cell *PyTypedcall_Internal_CellAt(
    PyTypedcall_Internal_Generation *generation, size_t at) {
  PyTypedcall_Internal_Cell *cells = generation->cells;
  return cells + at;
}

static inline size_t PyTypedcall_Internal_Hash(const void *key) {
  // Addresses are multiples of 8 or 16; the multiplication spreads the rest over the high half.
  uint64_t bits = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(bits >> 32);
}

// Returns the cell of `key`, or the free one where it belongs. The array always has a free cell.
static inline PyTypedcall_Internal_Cell *PyTypedcall_Internal_Probe(
    PyTypedcall_Internal_Generation *generation, const void *key) {
  for (size_t i = PyTypedcall_Internal_Hash(key);; ++i) {
    PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_CellAt(generation, i & generation->mask);
    const void *found = PyTypedcall_LOAD_ACQUIRE(&cell->key);
    if (found == key || found == NULL) return cell;
  }
}

// Returns the value in a generation; NULL also while a writer empties it.
static inline const void *PyTypedcall_Internal_FindIn(PyTypedcall_Internal_Generation *generation,
                                                      const void *key) {
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(generation, key);
  for (;;) {
    const void *value = PyTypedcall_LOAD_ACQUIRE(&cell->value);
    if (PyTypedcall_LOAD_ACQUIRE(&cell->key) != key) return NULL;
    // A different one means that the row was replaced, or that the value was another key's.
    if (PyTypedcall_LOAD_ACQUIRE(&cell->value) == value) return value;
  }
}

// Returns the live row's value, or NULL. GIL: none; any thread.
static inline const void *PyTypedcall_Internal_TableFind(PyTypedcall_Internal_SideTable *table,
                                                         const void *key) {
  if (key == NULL) return NULL;
  for (;;) {
    const size_t number = PyTypedcall_LOAD_ACQUIRE(&table->number);
    PyTypedcall_Internal_Generation *generation = PyTypedcall_LOAD_ACQUIRE(&table->current);
    if (generation == NULL) return NULL;
    const void *value = PyTypedcall_Internal_FindIn(generation, key);
    // A writer may have emptied the array meanwhile, for a later generation: look again.
    if (value != NULL || PyTypedcall_LOAD_ACQUIRE(&table->number) == number) return value;
  }
}

// Returns an empty array with `length` cells, a reused older one if there is one; NULL without
// memory.
static inline PyTypedcall_Internal_Generation *PyTypedcall_Internal_EmptyGeneration(
    PyTypedcall_Internal_SideTable *table, size_t length, int *is_new) {
  PyTypedcall_Internal_Generation *found = NULL, *current = table->current;
  PyTypedcall_Internal_Generation **from = current != NULL ? &current->older : NULL;
  while (from != NULL && *from != NULL && (*from)->mask + 1 != length) from = &(*from)->older;
  *is_new = from == NULL || *from == NULL;
  if (*is_new) {
    const size_t bytes = offsetof(PyTypedcall_Internal_Generation, cells) +
                         length * sizeof(PyTypedcall_Internal_Cell);
    found = (PyTypedcall_Internal_Generation *)PyTypedcall_RAW_CALLOC(1, bytes);
    if (found == NULL) return NULL;
    found->mask = length - 1;
    return found;
  }
  found = *from;
  *from = found->older;
  found->used = 0;
  for (size_t i = 0; i < length; ++i) {
    PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_CellAt(found, i);
    PyTypedcall_STORE_RELEASE(&cell->value, (const void *)NULL);
    PyTypedcall_STORE_RELEASE(&cell->key, (const void *)NULL);
    cell->row = NULL;
  }
  return found;
}

// Puts a row and the retracted ones behind it into its key's cell or a free one.
static inline void PyTypedcall_Internal_FillCell(PyTypedcall_Internal_Generation *generation,
                                                 PyTypedcall_Internal_Row *row, const void *value) {
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(generation, row->key);
  if (cell->key == NULL) {
    ++generation->used;
    PyTypedcall_STORE_RELEASE(&cell->key, row->key);
  }
  cell->row = row;
  PyTypedcall_STORE_RELEASE(&cell->value, value);
}

// Makes room for one more row. Returns 1 if that took a new array, 0 if not, -1 without memory (no
// exception set).
static inline int PyTypedcall_Internal_TableReserve(PyTypedcall_Internal_SideTable *table) {
  PyTypedcall_Internal_Generation *old = table->current;
  if (old != NULL && (old->used + 1) * 4 <= (old->mask + 1) * 3) return 0;
  size_t length = 16, with_rows = 0;
  for (size_t i = 0; old != NULL && i <= old->mask; ++i) {
    with_rows += PyTypedcall_Internal_CellAt(old, i)->row != NULL;
  }
  while ((with_rows + 1) * 2 > length) length *= 2;
  int is_new;
  PyTypedcall_Internal_Generation *fresh =
      PyTypedcall_Internal_EmptyGeneration(table, length, &is_new);
  if (fresh == NULL) return -1;
  fresh->older = old;
  for (size_t i = 0; old != NULL && i <= old->mask; ++i) {
    const PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_CellAt(old, i);
    if (cell->row != NULL) PyTypedcall_Internal_FillCell(fresh, cell->row, cell->value);
  }
  PyTypedcall_STORE_RELEASE(&table->current, fresh);
  PyTypedcall_STORE_RELEASE(&table->number, table->number + 1);
  return is_new;
}

// Inserts a row whose key has no live one, after TableReserve.
static inline void PyTypedcall_Internal_TableInsert(PyTypedcall_Internal_SideTable *table,
                                                    PyTypedcall_Internal_Row *row) {
  row->older = PyTypedcall_Internal_Probe(table->current, row->key)->row;
  PyTypedcall_Internal_FillCell(table->current, row, row->value);
  ++table->live;
}

// Returns the live row of `key`, or NULL.
static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_TableRow(
    PyTypedcall_Internal_SideTable *table, const void *key) {
  if (table->current == NULL || key == NULL) return NULL;
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, key);
  return cell->value != NULL ? cell->row : NULL;
}

// Hides the live row of `key` from readers. It stays in its cell.
static inline void PyTypedcall_Internal_TableRetract(PyTypedcall_Internal_SideTable *table,
                                                     const void *key) {
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, key);
  PyTypedcall_STORE_RELEASE(&cell->value, (const void *)NULL);
  --table->live;
}

// Takes a retracted row out of its cell.
static inline void PyTypedcall_Internal_TableForget(PyTypedcall_Internal_SideTable *table,
                                                    PyTypedcall_Internal_Row *row) {
  PyTypedcall_Internal_Row **from = &PyTypedcall_Internal_Probe(table->current, row->key)->row;
  while (*from != row) from = &(*from)->older;
  *from = row->older;
  row->older = NULL;
}

// Returns all rows of a key: the live one, if any, and behind it the retracted ones, latest first;
// or NULL.
static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_TableRows(
    PyTypedcall_Internal_SideTable *table, const void *key) {
  if (table->current == NULL || key == NULL) return NULL;
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, key);
  return cell->key == key ? cell->row : NULL;
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

#endif  // TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_
