// Keepers, which hold the objects that tags keep alive.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_ROW_KEEPER_H_
#define TYPEDCALL_CORE_RENDEZVOUS_ROW_KEEPER_H_

#include "core/rendezvous/ownership.h"

// The tagged object's `__dict__`, if it has one, holds the keeper, because kept objects may refer
// to the tagged object. If the table held the keeper, such a cycle would never be collected. The
// object's rows share the keeper, and end when it dies.
typedef struct PyTC_Keeper {
  PyTC_HEAD
  PyTC_State *state;
  const void *hosted_by;  // the tagged object that has this keeper, or NULL
  PyObject **kept;        // cells, at most half of them full
  size_t count, capacity;
} PyTC_Keeper;

static inline PyTC_Keeper *PyTC_AsKeeper(PyObject *object) {
  return (PyTC_Keeper *)PyTC_FIELDS(object);
}

// All references have the same type, which has no subclasses.
static inline int PyTC_IsReference(PyObject *object) {
  return PyTC_SLOT(destructor, Py_TYPE(object), tp_dealloc) == PyTC_FreeReference;
}

// Kept objects form a set. Two references are equal if they keep the same objects.
static inline int PyTC_IsSameKept(PyObject *one, PyObject *other) {
  if (one == other) return 1;
  if (!PyTC_IsReference(one) || !PyTC_IsReference(other)) return 0;
  const PyTC_Reference *a = PyTC_AsReference(one);
  const PyTC_Reference *b = PyTC_AsReference(other);
  return a->row == b->row && a->owner == b->owner && a->callable == b->callable;
}

// Returns the cell of `object`, or the free cell where it belongs. There always is one.
static inline TYPEDCALL_COLD PyObject **PyTC_KeptCell(PyObject **cells, size_t capacity,
                                                      PyObject *object) {
  size_t hash = PyTC_Hash(object);
  if (PyTC_IsReference(object)) {
    // One row may be kept with many callables, because each look-up makes a new bound method.
    const PyTC_Reference *kept = PyTC_AsReference(object);
    hash = PyTC_Hash(kept->row) + 3 * PyTC_Hash(kept->owner) + 5 * PyTC_Hash(kept->callable);
  }
  for (size_t i = hash;; ++i) {
    PyObject **cell = cells + (i & (capacity - 1));
    if (*cell == NULL || PyTC_IsSameKept(*cell, object)) return cell;
  }
}

// Keeps `object` once. The caller has locked the state. Returns -1 if memory runs out.
static inline TYPEDCALL_COLD int PyTC_KeepOne(PyTC_Keeper *keeper, PyObject *object) {
  if (keeper->capacity > 0 && *PyTC_KeptCell(keeper->kept, keeper->capacity, object) != NULL) {
    return 0;
  }
  if ((keeper->count + 1) * 2 > keeper->capacity) {
    const size_t capacity = keeper->capacity > 0 ? keeper->capacity * 2 : 4;
    PyObject **cells = (PyObject **)PyTypedcall_RAW_CALLOC(capacity, sizeof(*cells));
    if (cells == NULL) return -1;
    for (size_t i = 0; i < keeper->capacity; ++i) {
      PyObject *each = keeper->kept[i];
      if (each != NULL) *PyTC_KeptCell(cells, capacity, each) = each;
    }
    PyTypedcall_RAW_FREE(keeper->kept);
    keeper->kept = cells;
    keeper->capacity = capacity;
  }
  Py_INCREF(object);
  *PyTC_KeptCell(keeper->kept, keeper->capacity, object) = object;
  ++keeper->count;
  return 0;
}

// Keeps `object` or, if it is a tuple, its items, because repeating a tag makes a new tuple.
// Ignores NULL and `owner`. Returns the same as PyTC_KeepOne.
static inline TYPEDCALL_COLD int PyTC_Keep(PyObject *in, PyObject *object, const PyObject *owner) {
  // Also ignores the keeper itself, which Python code can find.
  if (object == NULL || object == owner || object == in) return 0;
  PyTC_Keeper *keeper = PyTC_AsKeeper(in);
  if (!PyTuple_CheckExact(object)) return PyTC_KeepOne(keeper, object);
  for (Py_ssize_t i = 0; i < PyTuple_Size(object); ++i) {
    PyObject *item = PyTuple_GetItem(object, i);
    if (item != owner && item != in && PyTC_KeepOne(keeper, item) < 0) return -1;
  }
  return 0;
}

// Hides a row from readers, but leaves it in its cell.
static inline TYPEDCALL_COLD void PyTC_RetractRow(PyTC_State *state, PyTC_Row *row) {
  PyTC_TableRetract(&state->tables[row->space], row->key);
  PyTC_Count(&state->counters.rows_removed, 1);
  row->is_in_table = 0;
}

// True if the tagged object, not the row, owns the row's keeper. Only for rows in the table.
static inline int PyTC_IsHosted(const PyTC_Row *row) {
  return row->keeper != NULL && PyTC_AsKeeper(row->keeper)->hosted_by != NULL;
}

// Forgets a keeper that the tagged object holds, because it may die before the row.
static inline void PyTC_LeaveHost(PyTC_Row *row) {
  if (PyTC_IsHosted(row)) row->keeper = NULL;
}

// Takes a row out of its cell. The caller gets the table's reference.
static inline TYPEDCALL_COLD void PyTC_TakeOut(PyTC_State *state, PyTC_Row *row) {
  PyTC_LeaveHost(row);
  if (row->is_in_table) PyTC_RetractRow(state, row);
  PyTC_TableForget(&state->tables[row->space], row);
}

// Releases the table's reference to a row, and the row's reference to its keeper. May run any code.
static inline TYPEDCALL_COLD void PyTC_LetRowGo(PyTC_Row *row) {
  PyObject *keeper = row->keeper;
  row->keeper = NULL;
  PyTC_ReleaseRow(row);
  Py_XDECREF(keeper);
}

// Calls PyTC_LetRowGo for each row. This can run any code, so all rows must have left the table.
static inline TYPEDCALL_COLD void PyTC_LetRowsGo(PyTC_Row *rows) {
  while (rows != NULL) {
    PyTC_Row *next = rows->next;
    PyTC_LetRowGo(rows);
    rows = next;
  }
}

static inline int PyTC_TraverseKeeper(PyObject *self, visitproc visit, void *arg) {
  const PyTC_Keeper *keeper = PyTC_AsKeeper(self);
  Py_VISIT(Py_TYPE(self));
  for (size_t i = 0; i < keeper->capacity; ++i) Py_VISIT(keeper->kept[i]);
  return 0;
}

// Takes the rows of a dying keeper out of the table. Returns the rows, with the table's references.
static inline TYPEDCALL_COLD PyTC_Row *PyTC_TakeHosted(const PyTC_Keeper *keeper,
                                                       const PyObject *self) {
  PyTC_SideTable *table = &keeper->state->tables[PyTypedcall_BY_OBJECT];
  PyTC_Row *row = PyTC_TableRows(table, keeper->hosted_by);
  PyTC_Row *gone = NULL;
  while (row != NULL) {
    PyTC_Row *older = row->older;
    if (row->keeper == self) {
      row->keeper = NULL;
      PyTC_DisownRow(row);
      PyTC_TakeOut(keeper->state, row);
      row->next = gone;
      gone = row;
    }
    row = older;
  }
  return gone;
}

// Ends the hosted rows. The kept objects may be tuples, and so lead back without a tp_clear.
static inline TYPEDCALL_COLD int PyTC_ClearKeeper(PyObject *self) {
  PyTC_Keeper *keeper = PyTC_AsKeeper(self);
  PyObject **kept = keeper->kept;
  const size_t capacity = keeper->capacity;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyTC_Row *gone = keeper->hosted_by != NULL ? PyTC_TakeHosted(keeper, self) : NULL;
  keeper->hosted_by = NULL;
  keeper->kept = NULL;
  keeper->count = keeper->capacity = 0;
  PyTC_LetRowsGo(gone);
  for (size_t i = 0; i < capacity; ++i) Py_XDECREF(kept[i]);
  PyTypedcall_RAW_FREE(kept);
  PyTypedcall_RestoreError(saved);
  return 0;
}

static inline TYPEDCALL_COLD void PyTC_FreeKeeper(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  (void)PyTC_ClearKeeper(self);
  PyObject_GC_Del(self);
  Py_DECREF((PyObject *)type);
}

// Copying and pickling turn a keeper into None, because a copy of the object has no tag.
static inline PyObject *PyTC_ReduceKeeper(PyObject *self, PyObject *ignored) {
  (void)self, (void)ignored;
  return Py_BuildValue("(O())", (PyObject *)Py_TYPE(Py_None));
}

static PyMethodDef PyTC_KeeperMethods[] = {{"__reduce__", PyTC_ReduceKeeper, METH_NOARGS, NULL},
                                           {NULL, NULL, 0, NULL}};

static inline PyTypeObject *PyTC_NewKeeperType(void) {
  return PyTC_NewType(PyTypedcall_MODULE ".kept", "Keeps alive what this object's tag needs.",
                      sizeof(PyTC_Keeper), PyTC_TraverseKeeper, PyTC_ClearKeeper, PyTC_FreeKeeper,
                      PyTC_KeeperMethods);
}

// Returns the row of `key` whose keeper the tagged object holds, or NULL.
static inline TYPEDCALL_COLD PyTC_Row *PyTC_HostedRow(PyTC_SideTable *table, const void *key) {
  PyTC_Row *row = PyTC_TableRows(table, key);
  while (row != NULL && !PyTC_IsHosted(row)) row = row->older;
  return row;
}

// Returns an empty keeper, or NULL with an exception set. May run the garbage collector.
static inline TYPEDCALL_COLD PyObject *PyTC_NewKeeper(PyTC_State *state) {
  if (PyTC_IsEnding(state)) return NULL;
  PyTypeObject *type = state->keeper_type;
  const allocfunc allocate = PyTC_SLOT(allocfunc, type, tp_alloc);
  PyObject *made = allocate(type, 0);
  if (made != NULL) PyTC_AsKeeper(made)->state = state;
  return made;
}

// Returns a new reference to the dictionary that may hold an object's keeper, or NULL with no
// exception set. The dictionaries of types and modules are not used, because code looks up names in
// them. Free-threaded builds use no dictionary, because another thread may free the keeper.
static inline TYPEDCALL_COLD PyObject *PyTC_HostingDict(PyObject *object) {
#ifndef Py_GIL_DISABLED
  if (PyType_Check(object) || PyModule_Check(object)) return NULL;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *dict = PyObject_GenericGetDict(object, NULL);
  if (dict != NULL && !PyDict_CheckExact(dict)) Py_CLEAR(dict);
  PyTypedcall_RestoreError(saved);
  return dict;
#else
  (void)object;
  return NULL;
#endif
}

// True if `found`, which `dict` has under the keepers' name, is the keeper of another tagged object
// with the same `__dict__`. A copy of a dictionary may also have it.
static inline int PyTC_IsOfAnother(PyTC_State *state, PyObject *object, const PyObject *dict,
                                   PyObject *found) {
  if (found == NULL || Py_TYPE(found) != state->keeper_type) return 0;
  const void *host = PyTC_AsKeeper(found)->hosted_by;
  const PyTC_Row *row = PyTC_HostedRow(&state->tables[PyTypedcall_BY_OBJECT], host);
  if (host == object || row == NULL || row->keeper != found) return 0;
  PyObject *theirs = PyTC_HostingDict((PyObject *)(uintptr_t)host);  // lives as long as its row
  Py_XDECREF(theirs);
  return theirs == dict;
}

// Moves the keeper of the object's row from the table to `object`, or puts it back if Python code
// has removed it. A removed keeper and its tag live only while other code refers to them. If this
// fails, or `object` has another keeper or another object's `__dict__`, the keeper stays where it
// is. May run Python code.
static inline TYPEDCALL_COLD void PyTC_Host(PyTC_State *state, PyObject *object) {
  PyObject *dict = PyTC_HostingDict(object);
  PyObject *found = PyTC_Look(dict, PyTypedcall_KEEPER_NAME);
  PyTC_SideTable *table = &state->tables[PyTypedcall_BY_OBJECT];
  PyTC_Row *row = PyTC_TableRow(table, object);
  PyObject *keeper = row != NULL ? row->keeper : NULL;
  if (dict != NULL && keeper != NULL && !PyTC_IsOfAnother(state, object, dict, found) &&
      (PyTC_IsHosted(row) || PyTC_HostedRow(table, object) == NULL)) {
    Py_INCREF(keeper);
    PyTypedcall_SavedError saved = PyTypedcall_SaveError();
    const int is_there = PyDict_SetItemString(dict, PyTypedcall_KEEPER_NAME, keeper) == 0;
    PyTypedcall_RestoreError(saved);
    PyTC_Keeper *hosted = PyTC_AsKeeper(keeper);
    row = PyTC_TableRow(table, object);  // the assignment may have removed the row
    if (is_there && hosted->hosted_by == NULL && row != NULL && row->keeper == keeper) {
      hosted->hosted_by = object;
      Py_DECREF(keeper);
    }
    Py_DECREF(keeper);
  }
  Py_XDECREF(found);
  Py_XDECREF(dict);
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_ROW_KEEPER_H_
