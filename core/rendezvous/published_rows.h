// Publishes, replaces, holds and retracts rows.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_PUBLISHED_ROWS_H_
#define TYPEDCALL_CORE_RENDEZVOUS_PUBLISHED_ROWS_H_

#include "core/rendezvous/row_owner.h"

// Returns a new row with one reference, or NULL with no exception set if memory runs out.
static inline PyTC_Row *PyTC_NewRow(int space, const void *key, const void *value,
                                    void (*destroy)(const void *value)) {
  PyTC_Row *row = (PyTC_Row *)PyTypedcall_RAW_CALLOC(1, sizeof(*row));
  if (row == NULL) return NULL;
  row->references = 1;
  row->space = space;
  row->key = key;
  row->value = value;
  row->destroy = destroy;
  return row;
}

// Inserts a row, for which there must be room. Steals the caller's reference.
static inline void PyTC_AddRow(PyTC_State *state, PyTC_Row *row) {
  row->is_in_table = 1;
  PyTC_TableInsert(&state->tables[row->space], row);
  // Count after the insertion. Otherwise a reader could cache the absence of the row.
  PyTC_Count(&state->counters.rows_added, 1);
}

// Releases an offered row that was not inserted, but does not destroy its value.
static inline void PyTC_RejectRow(PyTC_Row *row) {
  row->destroy = NULL;
  PyTC_LeaveHost(row);
  PyTC_LetRowGo(row);
}

// True if a row's value means the same as the offered one.
static inline int PyTC_IsEqual(const PyTC_Row *row, const PyTC_Row *offered,
                               int (*equal)(const void *, const void *)) {
  return row->value == offered->value || (equal != NULL && equal(row->value, offered->value));
}

// Revives an equal retracted row that has no owner other than `owner`. Returns it, or NULL.
static inline PyTC_Row *PyTC_ReviveRow(PyTC_State *state, const PyTC_Owner *owner,
                                       const PyTC_Row *offered,
                                       int (*equal)(const void *, const void *)) {
  PyTC_SideTable *table = &state->tables[offered->space];
  PyTC_Row *row = PyTC_TableRows(table, offered->key);
  for (; row != NULL; row = row->older) {
    const PyTC_Ownership *first = row->owned_by;
    if (first != NULL && (first->owner != owner || first->next_of_row != NULL)) continue;
    if (!PyTC_IsEqual(row, offered, equal)) continue;
    PyTC_TableForget(table, row);
    PyTC_AddRow(state, row);
    return row;
  }
  return NULL;
}

// Publishes for an owner whose record exists. Runs no Python code. Sets `*offered` or `*keeper` to
// NULL if it takes ownership of it. Returns the same as `publish`, but sets no exception.
static inline int PyTC_PublishFor(PyTC_State *state, PyTC_Owner *owner, PyTC_Row **offered,
                                  int (*equal)(const void *, const void *), PyObject *kept,
                                  PyObject **keeper, const PyObject *object) {
  PyTC_Row *fresh = *offered, *revived = NULL;
  PyTC_SideTable *table = &state->tables[fresh->space];
  PyTC_Row *row = PyTC_TableRow(table, fresh->key);
  if (row != NULL) {
    if (!PyTC_IsEqual(row, fresh, equal)) return PyTypedcall_CONFLICT;
  } else {
    row = revived = PyTC_ReviveRow(state, owner, fresh, equal);
  }
  if (row == NULL) {
    const int reserved = PyTC_TableReserve(table);
    if (reserved < 0) return -1;
    PyTC_Count(&state->counters.generations, (uint64_t)reserved);
    row = fresh;
  }
  // Steps that can fail come before the insertion.
  int failed = 0;
  if (kept != NULL) {
    if (row->keeper == NULL) {
      const PyTC_Row *hosted = PyTC_HostedRow(table, row->key);
      row->keeper = hosted != NULL ? hosted->keeper : *keeper;
      if (hosted == NULL) *keeper = NULL;
    }
    failed = PyTC_Keep(row->keeper, kept, object) < 0;
  }
  if (failed || PyTC_AddOwner(owner, row) < 0) {
    if (revived != NULL) PyTC_RetractRow(state, revived);
    if (row == fresh) PyTC_LeaveHost(row);  // only rows in the table may have this keeper
    return -1;
  }
  if (row == fresh) {
    PyTC_AddRow(state, row);
    *offered = NULL;
  }
  if (row->value == fresh->value) return 1;
  return revived != NULL ? PyTypedcall_REPUBLISHED : 0;
}

// Removes the row of `key` if all its owners are dying. Their weak references are cleared, but
// their callbacks have not run yet. Returns 1 if the row is gone, else 0. May run Python code.
static inline int PyTC_RetireDying(PyTC_State *state, int space, const void *key) {
  PyTC_Row *row = PyTC_TableRow(&state->tables[space], key);
  if (row == NULL) return 1;
  PyTC_ShareRow(row);
  PyObject *owner = PyTC_LiveOwner(row);
  const int is_dying = owner == NULL && row->is_in_table;
  if (is_dying) {
    PyTC_DisownRow(row);
    PyTC_TakeOut(state, row);
  }
  const int is_gone = !row->is_in_table;
  if (is_dying) PyTC_LetRowGo(row);
  PyTC_ReleaseRow(row);
  Py_XDECREF(owner);
  return is_gone;
}

// See PyTypedcall_Interface.publish. The caller has locked the state.
static inline TYPEDCALL_COLD int PyTC_Publish(void *opaque, int space, const void *key,
                                              PyObject *object, const void *value,
                                              int (*equal)(const void *existing,
                                                           const void *offered),
                                              void (*destroy)(const void *value), PyObject *kept) {
  PyTC_State *state = (PyTC_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES || key == NULL || value == NULL || object == NULL) {
    PyErr_SetString(PyExc_ValueError,
                    "typedcall: a row needs a space, a key, an owner and a value");
    return -1;
  }
  const int may_be_kept = space == PyTypedcall_BY_OBJECT && key == (const void *)object;
  PyObject *keeper = NULL, *held;  // `keeper` is ours until a row takes it
  if (kept != NULL && (keeper = PyTC_NewKeeper(state)) == NULL) return -1;
  PyTC_Row *offered = PyTC_NewRow(space, key, value, destroy);
  PyTC_Owner *owner;
  int result = -1;
  // Anything that can run Python code (and so another publish) comes before the table is read.
  while (offered != NULL && (owner = PyTC_OwnerFor(state, object, may_be_kept, &held)) != NULL) {
    result = PyTC_PublishFor(state, owner, &offered, equal, kept, &keeper, object);
    PyTC_DropIdleOwner(state, owner);
    Py_DECREF(held);
    if (result != PyTypedcall_CONFLICT || !PyTC_RetireDying(state, space, key)) break;
    result = -1;
  }
  if (offered != NULL) PyTC_RejectRow(offered);
  Py_XDECREF(keeper);
  if (kept != NULL && may_be_kept && result >= 0) PyTC_Host(state, object);
  if (result == PyTypedcall_CONFLICT) PyTC_Count(&state->counters.conflicts, 1);
  if (result == -1 && !PyErr_Occurred()) PyErr_NoMemory();
  return result;
}

// See PyTypedcall_Interface.hold.
static inline PyObject *PyTC_DoHold(void *opaque, int space, const void *key, PyObject *callable,
                                    const void **value) {
  PyTC_State *state = (PyTC_State *)opaque;
  *value = NULL;
  if (space < 0 || space >= PyTypedcall_SPACES || state->reference_type == NULL) return NULL;
  PyTypeObject *type = state->reference_type;
  const allocfunc allocate = PyTC_SLOT(allocfunc, type, tp_alloc);
  // Allocate first, because that may run the garbage collector, and so any code.
  PyObject *object = allocate(type, 0);
  if (object == NULL) return NULL;
  PyTC_Reference *made = PyTC_AsReference(object);
  PyTypedcall_BEGIN_EXCLUSIVE(PyTC_LockOf(state));
  PyTC_Row *row = PyTC_TableRow(&state->tables[space], key);
  if (row != NULL) {
    made->row = PyTC_ShareRow(row);
    made->keeper = row->keeper;
    Py_XINCREF(made->keeper);
    made->owner = PyTC_LiveOwner(row);
    // Reading weak references may have let other threads in.
    if (made->owner != NULL && row->is_in_table) *value = row->value;
  }
  PyTypedcall_END_EXCLUSIVE();
  if (*value == NULL) {
    Py_DECREF(object);
    return NULL;
  }
  Py_XINCREF(callable);
  made->callable = callable;
  return object;
}

// See PyTypedcall_Interface.retract.
static inline TYPEDCALL_COLD int PyTC_DoRetract(void *opaque, int space, const void *key) {
  PyTC_State *state = (PyTC_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return 0;
  int was_there;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTC_LockOf(state));
  PyTC_Row *row = PyTC_TableRow(&state->tables[space], key);
  was_there = row != NULL;
  if (was_there) {
    PyTC_RetractRow(state, row);
    // The row stays until its last owner dies, because callers may use the value without a
    // reference. An owner that cannot be weakly referenced is kept only for its row, so release it.
    PyTC_Owner *owner = row->owned_by != NULL ? row->owned_by->owner : NULL;
    if (owner != NULL && owner->is_kept) {
      PyTC_DisownAll(owner);
      PyTC_DropIdleOwner(state, owner);
    }
  }
  PyTypedcall_END_EXCLUSIVE();
  return was_there;
}

static inline const void *PyTC_DoFind(void *opaque, int space, const void *key) {
  PyTC_State *state = (PyTC_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return NULL;
  return PyTC_TableFind(&state->tables[space], key);
}

// Puts `fresh` into the cell of `old`, which becomes a retracted row. Readers find either.
static inline void PyTC_SwapRows(PyTC_State *state, PyTC_Row *old, PyTC_Row *fresh) {
  PyTC_SideTable *table = &state->tables[old->space];
  PyTC_Cell *cell = PyTC_Probe(table->current, old->key);
  cell->row = fresh;
  fresh->older = old;
  PyTypedcall_STORE_RELEASE(&cell->value, fresh->value);
  PyTC_Count(&state->counters.rows_added, 1);
  PyTC_Count(&state->counters.rows_removed, 1);
  fresh->is_in_table = 1;
  old->is_in_table = 0;
}

// See PyTypedcall_Interface.exchange.
static inline TYPEDCALL_COLD int PyTC_Exchange(void *opaque, int space, const void *key,
                                               PyObject *object, const void *expected,
                                               const void *value,
                                               void (*destroy)(const void *value)) {
  PyTC_State *state = (PyTC_State *)opaque;
  // Exchanging a row BY_OBJECT is not supported, because it may keep its owner alive.
  if (space < 0 || space >= PyTypedcall_SPACES || space == PyTypedcall_BY_OBJECT || key == NULL ||
      expected == NULL || value == NULL || object == NULL) {
    PyErr_SetString(PyExc_ValueError,
                    "typedcall: a row to exchange needs a space, a key, an owner, the present "
                    "value and a new one");
    return -1;
  }
  // Anything that can run Python code (and so another publish) comes before the table is read.
  PyObject *held;
  PyTC_Owner *owner = PyTC_OwnerFor(state, object, 0, &held);
  if (owner == NULL) return -1;
  PyTC_Row *old = PyTC_TableRow(&state->tables[space], key);
  int result = 1;
  if (old == NULL || old->value != expected) {
    result = 0;
  } else if (value != expected) {
    PyTC_Row *fresh = PyTC_NewRow(space, key, value, destroy);
    if (fresh == NULL || PyTC_AddOwner(owner, fresh) < 0) {
      if (fresh != NULL) PyTC_RejectRow(fresh);
      result = -1;
    } else {
      PyTC_SwapRows(state, old, fresh);
    }
  }
  PyTC_DropIdleOwner(state, owner);
  Py_DECREF(held);
  if (result < 0) PyErr_NoMemory();
  return result;
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_PUBLISHED_ROWS_H_
