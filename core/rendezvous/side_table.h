// The side table, in which readers find rows by address without a lock.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_
#define TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_

#include "core/interface.h"

#include <string.h>

// One cell of a generation. Its key changes only when the array is reused. A writer stores the key
// before the value. A reader checks both twice, so that it never gets another key's value.
typedef struct PyTC_Cell {
  const void *key;
  const void *value;
  // For writers only: the live row, if `value` is not NULL, and then the key's retracted rows.
  struct PyTC_Row *row;
} PyTC_Cell;

// An array with open addressing and linear probing. When it fills up, the next generation takes
// over the rows. Readers may still use old arrays, so they are kept until the interpreter ends.
typedef struct PyTC_Generation {
  struct PyTC_Generation *older;
  size_t mask;  // length - 1; the length is a power of two
  size_t used;  // cells with a key, even without a row; at most three quarters of the length
  PyTC_Cell cells[1];
} PyTC_Generation;

// A row, as writers see it. Its cell and each PyTC_Reference have a reference to it.
typedef struct PyTC_Row {
  size_t references;
  int space;
  int is_in_table;  // true for the live row of its key
  const void *key;
  const void *value;
  void (*destroy)(const void *value);
  PyObject *keeper;  // holds publish()'s `kept`, or NULL; see core/rendezvous/row_keeper.h
  struct PyTC_Ownership *owned_by, **owned_by_end;
  size_t left;             // number of owners that have left the row
  struct PyTC_Row *older;  // the next of the key's retracted rows in the same cell
  struct PyTC_Row *next;   // the next in a list of rows without a cell
} PyTC_Row;

// The rows of one space.
typedef struct PyTC_SideTable {
  PyTC_Generation *current;
  size_t number;  // the current generation's number, stored after `current`
  size_t live;
} PyTC_SideTable;

// Indexes a pointer, because with some options compilers assume that `cells` has only one element.
static inline PyTC_Cell *PyTC_CellAt(PyTC_Generation *generation, size_t at) {
  PyTC_Cell *cells = generation->cells;
  return cells + at;
}

static inline size_t PyTC_Hash(const void *key) {
  // Addresses are multiples of 8 or 16. Multiplying spreads the other bits over the high half.
  uint64_t bits = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(bits >> 32);
}

// Returns the cell of `key`, or the free cell where it belongs. There always is one.
static inline PyTC_Cell *PyTC_Probe(PyTC_Generation *generation, const void *key) {
  for (size_t i = PyTC_Hash(key);; ++i) {
    PyTC_Cell *cell = PyTC_CellAt(generation, i & generation->mask);
    const void *found = PyTypedcall_LOAD_ACQUIRE(&cell->key);
    if (found == key || found == NULL) return cell;
  }
}

// Returns the value in a generation, or NULL if there is none or a writer is emptying the array.
static inline const void *PyTC_FindIn(PyTC_Generation *generation, const void *key) {
  PyTC_Cell *cell = PyTC_Probe(generation, key);
  const void *value = PyTypedcall_LOAD_ACQUIRE(&cell->value);
  for (;;) {
    if (PyTypedcall_LOAD_ACQUIRE(&cell->key) != key) return NULL;
    // A different value means that the row was replaced, or that the first value was another key's.
    const void *again = PyTypedcall_LOAD_ACQUIRE(&cell->value);
    if (PyTypedcall_LIKELY(again == value)) return value;
    value = again;
  }
}

// Looks again if a writer may have emptied the array for reuse.
static inline TYPEDCALL_COLD const void *PyTC_FindAgain(PyTC_SideTable *table, const void *key) {
  for (;;) {
    const size_t number = PyTypedcall_LOAD_ACQUIRE(&table->number);
    const void *value = PyTC_FindIn(PyTypedcall_LOAD_ACQUIRE(&table->current), key);
    if (value != NULL || PyTypedcall_LOAD_ACQUIRE(&table->number) == number) return value;
  }
}

// Returns the live row's value, or NULL. GIL: none; any thread. A NULL key leads to a free cell.
static inline const void *PyTC_TableFind(PyTC_SideTable *table, const void *key) {
  const size_t number = PyTypedcall_LOAD_ACQUIRE(&table->number);
  PyTC_Generation *generation = PyTypedcall_LOAD_ACQUIRE(&table->current);
  if (generation == NULL) return NULL;
  const void *value = PyTC_FindIn(generation, key);
  const int is_final = value != NULL || PyTypedcall_LOAD_ACQUIRE(&table->number) == number;
  return PyTypedcall_LIKELY(is_final) ? value : PyTC_FindAgain(table, key);
}

// Returns an empty array of `length` cells, or NULL if memory runs out. Reuses one if possible.
static inline PyTC_Generation *PyTC_EmptyGeneration(PyTC_SideTable *table, size_t length,
                                                    int *is_new) {
  PyTC_Generation *found = NULL, *current = table->current;
  PyTC_Generation **from = current != NULL ? &current->older : NULL;
  while (from != NULL && *from != NULL && (*from)->mask + 1 != length) from = &(*from)->older;
  *is_new = from == NULL || *from == NULL;
  if (*is_new) {
    const size_t bytes = offsetof(PyTC_Generation, cells) + length * sizeof(PyTC_Cell);
    found = (PyTC_Generation *)PyTypedcall_RAW_CALLOC(1, bytes);
    if (found == NULL) return NULL;
    found->mask = length - 1;
    return found;
  }
  found = *from;
  *from = found->older;
  found->used = 0;
  for (size_t i = 0; i < length; ++i) {
    PyTC_Cell *cell = PyTC_CellAt(found, i);
    PyTypedcall_STORE_RELEASE(&cell->value, (const void *)NULL);
    PyTypedcall_STORE_RELEASE(&cell->key, (const void *)NULL);
    cell->row = NULL;
  }
  return found;
}

// Puts a row and the retracted rows that follow it into the cell of its key.
static inline void PyTC_FillCell(PyTC_Generation *generation, PyTC_Row *row, const void *value) {
  PyTC_Cell *cell = PyTC_Probe(generation, row->key);
  if (cell->key == NULL) {
    ++generation->used;
    PyTypedcall_STORE_RELEASE(&cell->key, row->key);
  }
  cell->row = row;
  PyTypedcall_STORE_RELEASE(&cell->value, value);
}

// Makes room for one more row. Returns 1 if it made an array, 0 if not, or -1 if memory runs out.
static inline int PyTC_TableReserve(PyTC_SideTable *table) {
  PyTC_Generation *old = table->current;
  if (old != NULL && (old->used + 1) * 4 <= (old->mask + 1) * 3) return 0;
  size_t length = 16, with_rows = 0;
  for (size_t i = 0; old != NULL && i <= old->mask; ++i) {
    with_rows += PyTC_CellAt(old, i)->row != NULL;
  }
  while ((with_rows + 1) * 2 > length) length *= 2;
  int is_new;
  PyTC_Generation *fresh = PyTC_EmptyGeneration(table, length, &is_new);
  if (fresh == NULL) return -1;
  fresh->older = old;
  for (size_t i = 0; old != NULL && i <= old->mask; ++i) {
    const PyTC_Cell *cell = PyTC_CellAt(old, i);
    if (cell->row != NULL) PyTC_FillCell(fresh, cell->row, cell->value);
  }
  PyTypedcall_STORE_RELEASE(&table->current, fresh);
  PyTypedcall_STORE_RELEASE(&table->number, table->number + 1);
  return is_new;
}

// Inserts a row whose key has no live row. Call PyTC_TableReserve first.
static inline void PyTC_TableInsert(PyTC_SideTable *table, PyTC_Row *row) {
  row->older = PyTC_Probe(table->current, row->key)->row;
  PyTC_FillCell(table->current, row, row->value);
  ++table->live;
}

// Returns the live row of `key`, or NULL.
static inline PyTC_Row *PyTC_TableRow(PyTC_SideTable *table, const void *key) {
  if (table->current == NULL || key == NULL) return NULL;
  PyTC_Cell *cell = PyTC_Probe(table->current, key);
  return cell->value != NULL ? cell->row : NULL;
}

// Hides the live row of `key` from readers, but leaves it in its cell.
static inline void PyTC_TableRetract(PyTC_SideTable *table, const void *key) {
  PyTC_Cell *cell = PyTC_Probe(table->current, key);
  PyTypedcall_STORE_RELEASE(&cell->value, (const void *)NULL);
  --table->live;
}

// Takes a retracted row out of its cell.
static inline void PyTC_TableForget(PyTC_SideTable *table, PyTC_Row *row) {
  PyTC_Row **from = &PyTC_Probe(table->current, row->key)->row;
  while (*from != row) from = &(*from)->older;
  *from = row->older;
  row->older = NULL;
}

// Returns all rows of a key, or NULL: the live row, if any, then the retracted rows, latest first.
static inline PyTC_Row *PyTC_TableRows(PyTC_SideTable *table, const void *key) {
  if (table->current == NULL || key == NULL) return NULL;
  PyTC_Cell *cell = PyTC_Probe(table->current, key);
  return cell->key == key ? cell->row : NULL;
}

static inline void PyTC_TableFree(PyTC_SideTable *table) {
  PyTC_Generation *generation = table->current;
  table->current = NULL;
  while (generation != NULL) {
    PyTC_Generation *older = generation->older;
    PyTypedcall_RAW_FREE(generation);
    generation = older;
  }
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_SIDE_TABLE_H_
