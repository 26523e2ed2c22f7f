// Keepers: objects that hold what tags keep, visible to the garbage collector behind each reference
// to the row and behind the tagged object. Used by core/rendezvous/published_rows.h.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_ROW_KEEPER_H_
#define TYPEDCALL_CORE_RENDEZVOUS_ROW_KEEPER_H_

#include "core/rendezvous/row_owner.h"

// A row and each reference to it have a reference to its keeper. Like those, it needs no tp_clear.
// Kept objects may lead back to the tagged object: if the table had the keeper, both would stay
// until the interpreter ends. So the tagged object's `__dict__` has it, if there is one; then the
// object's rows share the keeper and go when it does.
typedef struct PyTypedcall_Internal_Keeper {
  PyTypedcall_Internal_HEAD
  PyTypedcall_Internal_State *state;
  const void *hosted_by;  // the object, or NULL
  PyObject **kept;        // cells, at most half of them full
  size_t count, capacity;
} PyTypedcall_Internal_Keeper;

static inline PyTypedcall_Internal_Keeper *PyTypedcall_Internal_AsKeeper(PyObject *object) {
  return (PyTypedcall_Internal_Keeper *)PyTypedcall_Internal_FIELDS(object);
}

static inline int PyTypedcall_Internal_IsReference(PyObject *object) {
  return PyTypedcall_Internal_SLOT(destructor, Py_TYPE(object), tp_dealloc) ==
         PyTypedcall_Internal_FreeReference;
}

// Kept objects form a set. Two references to rows are equal if they keep the same, because each
// look-up makes a new one.
static inline int PyTypedcall_Internal_IsSameKept(PyObject *one, PyObject *other) {
  if (one == other) return 1;
  if (!PyTypedcall_Internal_IsReference(one) || !PyTypedcall_Internal_IsReference(other)) return 0;
  const PyTypedcall_Internal_Reference *a = PyTypedcall_Internal_AsReference(one);
  const PyTypedcall_Internal_Reference *b = PyTypedcall_Internal_AsReference(other);
  return a->row == b->row && a->owner == b->owner && a->callable == b->callable;
}

// Returns the cell of `object` among `capacity`, or the free one where it belongs. There is one.
static inline TYPEDCALL_COLD PyObject **PyTypedcall_Internal_KeptCell(PyObject **cells,
                                                                      size_t capacity,
                                                                      PyObject *object) {
  size_t hash = PyTypedcall_Internal_Hash(object);
  if (PyTypedcall_Internal_IsReference(object)) {
    // One row may be kept with many callables: each access makes a bound method.
    const PyTypedcall_Internal_Reference *kept = PyTypedcall_Internal_AsReference(object);
    hash = PyTypedcall_Internal_Hash(kept->row) + 3 * PyTypedcall_Internal_Hash(kept->owner) +
           5 * PyTypedcall_Internal_Hash(kept->callable);
  }
  for (size_t i = hash;; ++i) {
    PyObject **cell = cells + (i & (capacity - 1));
    if (*cell == NULL || PyTypedcall_Internal_IsSameKept(*cell, object)) return cell;
  }
}

// Keeps `object`, once. -1 without memory (no exception set). The caller has the state for itself.
static inline TYPEDCALL_COLD int PyTypedcall_Internal_KeepOne(PyTypedcall_Internal_Keeper *keeper,
                                                              PyObject *object) {
  if (keeper->capacity > 0 &&
      *PyTypedcall_Internal_KeptCell(keeper->kept, keeper->capacity, object) != NULL) {
    return 0;
  }
  if ((keeper->count + 1) * 2 > keeper->capacity) {
    const size_t capacity = keeper->capacity > 0 ? keeper->capacity * 2 : 4;
    PyObject **cells = (PyObject **)PyTypedcall_RAW_CALLOC(capacity, sizeof(*cells));
    if (cells == NULL) return -1;
    for (size_t i = 0; i < keeper->capacity; ++i) {
      PyObject *each = keeper->kept[i];
      if (each != NULL) *PyTypedcall_Internal_KeptCell(cells, capacity, each) = each;
    }
    PyTypedcall_RAW_FREE(keeper->kept);
    keeper->kept = cells;
    keeper->capacity = capacity;
  }
  Py_INCREF(object);
  *PyTypedcall_Internal_KeptCell(keeper->kept, keeper->capacity, object) = object;
  ++keeper->count;
  return 0;
}

// Keeps `object`, or the items of a tuple, because tagging the same again makes a new tuple.
// Ignores NULL and `owner`, with which the row goes. Returns as KeepOne.
static inline TYPEDCALL_COLD int PyTypedcall_Internal_Keep(PyObject *in, PyObject *object,
                                                           const PyObject *owner) {
  // Nor the keeper itself, which Python code can find.
  if (object == NULL || object == owner || object == in) return 0;
  PyTypedcall_Internal_Keeper *keeper = PyTypedcall_Internal_AsKeeper(in);
  if (!PyTuple_CheckExact(object)) {
    return PyTypedcall_Internal_KeepOne(keeper, object);
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(object); ++i) {
    PyObject *item = PyTuple_GetItem(object, i);
    if (item != owner && item != in && PyTypedcall_Internal_KeepOne(keeper, item) < 0) return -1;
  }
  return 0;
}

// Hides a row from readers. It stays in its cell.
static inline TYPEDCALL_COLD void PyTypedcall_Internal_RetractRow(PyTypedcall_Internal_State *state,
                                                                  PyTypedcall_Internal_Row *row) {
  PyTypedcall_Internal_TableRetract(&state->tables[row->space], row->key);
  PyTypedcall_Internal_Count(&state->counters.rows_removed, 1);
  row->is_in_table = 0;
}

// True if the object has the keeper instead of the row. For rows in the table.
static inline int PyTypedcall_Internal_IsHosted(const PyTypedcall_Internal_Row *row) {
  return row->keeper != NULL && PyTypedcall_Internal_AsKeeper(row->keeper)->hosted_by != NULL;
}

// A row that leaves the table leaves a keeper that its object has: such a keeper finds its rows
// only in the table, and may die before they do.
static inline void PyTypedcall_Internal_LeaveHost(PyTypedcall_Internal_Row *row) {
  if (PyTypedcall_Internal_IsHosted(row)) row->keeper = NULL;
}

// Takes a row out of its cell, live or retracted. The caller takes over its reference.
static inline TYPEDCALL_COLD void PyTypedcall_Internal_TakeOut(PyTypedcall_Internal_State *state,
                                                               PyTypedcall_Internal_Row *row) {
  PyTypedcall_Internal_LeaveHost(row);
  if (row->is_in_table) PyTypedcall_Internal_RetractRow(state, row);
  PyTypedcall_Internal_TableForget(&state->tables[row->space], row);
}

// Releases the table's reference to a row that is out of it, and the row's own keeper, which
// references to the row may still hold. May run anything.
static inline TYPEDCALL_COLD void PyTypedcall_Internal_LetRowGo(PyTypedcall_Internal_Row *row) {
  PyObject *keeper = row->keeper;
  row->keeper = NULL;
  PyTypedcall_Internal_ReleaseRow(row);
  Py_XDECREF(keeper);
}

// The same for each row of a chain. They are out of the table, so code run meanwhile finds none.
static inline TYPEDCALL_COLD void PyTypedcall_Internal_LetRowsGo(PyTypedcall_Internal_Row *rows) {
  while (rows != NULL) {
    PyTypedcall_Internal_Row *next = rows->next;
    PyTypedcall_Internal_LetRowGo(rows);
    rows = next;
  }
}

static inline int PyTypedcall_Internal_TraverseKeeper(PyObject *self, visitproc visit, void *arg) {
  const PyTypedcall_Internal_Keeper *keeper = PyTypedcall_Internal_AsKeeper(self);
  Py_VISIT(Py_TYPE(self));
  for (size_t i = 0; i < keeper->capacity; ++i) Py_VISIT(keeper->kept[i]);
  return 0;
}

// Takes out the rows that `keeper` is hosted for: its object is dying, or Python code has changed
// the object's `__dict__`. Returns a chain with the table's references.
static inline TYPEDCALL_COLD PyTypedcall_Internal_Row *PyTypedcall_Internal_TakeHosted(
    const PyTypedcall_Internal_Keeper *keeper, const PyObject *self) {
  PyTypedcall_Internal_SideTable *table = &keeper->state->tables[PyTypedcall_BY_OBJECT];
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRows(table, keeper->hosted_by);
  PyTypedcall_Internal_Row *gone = NULL;
  while (row != NULL) {
    PyTypedcall_Internal_Row *older = row->older;
    if (row->keeper == self) {
      row->keeper = NULL;
      PyTypedcall_Internal_DisownRow(row);
      PyTypedcall_Internal_TakeOut(keeper->state, row);
      row->next = gone;
      gone = row;
    }
    row = older;
  }
  return gone;
}

static inline TYPEDCALL_COLD void PyTypedcall_Internal_FreeKeeper(PyObject *self) {
  const PyTypedcall_Internal_Keeper keeper = *PyTypedcall_Internal_AsKeeper(self);
  PyTypeObject *type = Py_TYPE(self);
  PyTypedcall_Internal_Row *gone = NULL;
  PyObject_GC_UnTrack(self);
  if (keeper.hosted_by != NULL) gone = PyTypedcall_Internal_TakeHosted(&keeper, self);
  PyObject_GC_Del(self);
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyTypedcall_Internal_LetRowsGo(gone);
  for (size_t i = 0; i < keeper.capacity; ++i) Py_XDECREF(keeper.kept[i]);
  PyTypedcall_RAW_FREE(keeper.kept);
  Py_DECREF((PyObject *)type);
  PyTypedcall_RestoreError(saved);
}

// A copy of an object has no tag and keeps nothing: copying and pickling turn this into None.
static inline PyObject *PyTypedcall_Internal_ReduceKeeper(PyObject *self, PyObject *ignored) {
  (void)self;
  (void)ignored;
  return Py_BuildValue("(O())", (PyObject *)Py_TYPE(Py_None));
}

static PyMethodDef PyTypedcall_Internal_KeeperMethods[] = {
    {"__reduce__", PyTypedcall_Internal_ReduceKeeper, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static inline PyTypeObject *PyTypedcall_Internal_NewKeeperType(void) {
  return PyTypedcall_Internal_NewType(
      PyTypedcall_MODULE ".kept", "Keeps alive what this object's tag needs.",
      sizeof(PyTypedcall_Internal_Keeper), PyTypedcall_Internal_TraverseKeeper,
      PyTypedcall_Internal_FreeKeeper, PyTypedcall_Internal_KeeperMethods);
}

// Returns the row of `key` whose keeper is in the object, or NULL.
static inline TYPEDCALL_COLD PyTypedcall_Internal_Row *PyTypedcall_Internal_HostedRow(
    PyTypedcall_Internal_SideTable *table, const void *key) {
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRows(table, key);
  while (row != NULL && !PyTypedcall_Internal_IsHosted(row)) row = row->older;
  return row;
}

// Gives a row whose cell exists a keeper: the one in the object for another of its rows, or
// `*fresh`.
static inline TYPEDCALL_COLD void PyTypedcall_Internal_GiveKeeper(PyTypedcall_Internal_State *state,
                                                                  PyTypedcall_Internal_Row *row,
                                                                  PyObject **fresh) {
  PyTypedcall_Internal_SideTable *table = &state->tables[row->space];
  const PyTypedcall_Internal_Row *other = PyTypedcall_Internal_HostedRow(table, row->key);
  row->keeper = other != NULL ? other->keeper : *fresh;
  if (other == NULL) *fresh = NULL;
}

// Returns an empty keeper, or NULL with an exception. May collect garbage.
static inline TYPEDCALL_COLD PyObject *PyTypedcall_Internal_NewKeeper(
    PyTypedcall_Internal_State *state) {
  PyTypeObject *type = state->keeper_type;
  if (type == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "typedcall: the interpreter is ending");
    return NULL;
  }
  const allocfunc allocate = PyTypedcall_Internal_SLOT(allocfunc, type, tp_alloc);
  PyObject *made = allocate(type, 0);
  if (made != NULL) PyTypedcall_Internal_AsKeeper(made)->state = state;
  return made;
}

// Returns the dictionary in which an object may have a keeper: a new reference, or NULL without an
// exception. Types and modules have code's names there. Without the GIL the table keeps the keeper,
// because a reader could find one that another thread is freeing.
static inline TYPEDCALL_COLD PyObject *PyTypedcall_Internal_HostingDict(PyObject *object) {
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

// Moves the keeper of the object's row from the table to `object`; also again, after Python code
// has removed it. An object has one keeper: if it has another row's, this one stays the table's, as
// it does if this fails; but if the keeper had been removed before, it then lives only as long as
// its other references, and the tag with it. May run Python code.
static inline TYPEDCALL_COLD void PyTypedcall_Internal_Host(PyTypedcall_Internal_State *state,
                                                            PyObject *object) {
  PyObject *dict = PyTypedcall_Internal_HostingDict(object);
  PyTypedcall_Internal_SideTable *table = &state->tables[PyTypedcall_BY_OBJECT];
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(table, object);
  PyObject *keeper = row != NULL ? row->keeper : NULL;
  if (dict != NULL && keeper != NULL &&
      (PyTypedcall_Internal_IsHosted(row) ||
       PyTypedcall_Internal_HostedRow(table, object) == NULL)) {
    Py_INCREF(keeper);
    PyTypedcall_SavedError saved = PyTypedcall_SaveError();
    const int is_there = PyDict_SetItemString(dict, PyTypedcall_KEPT_NAME, keeper) == 0;
    PyTypedcall_RestoreError(saved);
    PyTypedcall_Internal_Keeper *hosted = PyTypedcall_Internal_AsKeeper(keeper);
    row = PyTypedcall_Internal_TableRow(table, object);  // the assignment may have removed it
    if (is_there && hosted->hosted_by == NULL && row != NULL && row->keeper == keeper) {
      hosted->hosted_by = object;
      Py_DECREF(keeper);
    }
    Py_DECREF(keeper);
  }
  Py_XDECREF(dict);
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_ROW_KEEPER_H_
