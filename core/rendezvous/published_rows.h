// Publishes, replaces, holds and retracts rows, and removes them when their owners die: the
// functions behind PyTypedcall_Interface, where core/rendezvous.h puts them.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_PUBLISHED_ROWS_H_
#define TYPEDCALL_CORE_RENDEZVOUS_PUBLISHED_ROWS_H_

#include "core/rendezvous/row_keeper.h"

// Removes a dead owner's rows. Returns 0, or -1 with an exception.
static inline int PyTypedcall_Internal_RemoveRowsOf(PyTypedcall_Internal_Owner *owner) {
  PyTypedcall_Internal_State *state = owner->state;
  // Python code can find an object's weak references, call this callback itself, or keep it longer
  // than the object.
  if (owner->reference == NULL) return 0;
  PyObject *object;
  const int is_dead = PyTypedcall_Internal_GetReferent(owner->reference, &object) == 0;
  Py_XDECREF(object);
  if (!is_dead) return 0;
  PyTypedcall_Internal_Row *gone = NULL;
  while (owner->owned != NULL) {
    PyTypedcall_Internal_Row *row = owner->owned->row;
    PyTypedcall_Internal_Disown(owner->owned);
    if (row->owned_by == NULL) {
      PyTypedcall_Internal_TakeOut(state, row);
      row->next = gone;
      gone = row;
    }
  }
  const int result = PyTypedcall_Internal_ForgetOwner(state, owner);
  // All are out of the table: releasing can run any code, this function included.
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyTypedcall_Internal_LetRowsGo(gone);
  PyTypedcall_RestoreError(saved);
  return result;
}

// The weak reference's callback: `self` is the owner's capsule.
static inline TYPEDCALL_COLD PyObject *PyTypedcall_Internal_OwnerDied(PyObject *self,
                                                                      PyObject *reference) {
  (void)reference;
  PyTypedcall_Internal_Owner *owner = PyTypedcall_Internal_OwnerIn(self);
  if (owner == NULL) return NULL;
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTypedcall_Internal_LockOf(owner->state));
  result = PyTypedcall_Internal_RemoveRowsOf(owner);
  PyTypedcall_END_EXCLUSIVE();
  if (result < 0) return NULL;
  Py_RETURN_NONE;
}

// Returns a new row with one reference, not in the table yet. NULL without memory (no exception
// set).
static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_NewRow(
    int space, const void *key, const void *value, void (*destroy)(const void *value)) {
  PyTypedcall_Internal_Row *row =
      (PyTypedcall_Internal_Row *)PyTypedcall_RAW_CALLOC(1, sizeof(*row));
  if (row == NULL) return NULL;
  row->references = 1;
  row->space = space;
  row->key = key;
  row->value = value;
  row->destroy = destroy;
  return row;
}

// Inserts a row, for which there is room; the table takes over its reference.
static inline void PyTypedcall_Internal_AddRow(PyTypedcall_Internal_State *state,
                                               PyTypedcall_Internal_Row *row) {
  row->is_in_table = 1;
  PyTypedcall_Internal_TableInsert(&state->tables[row->space], row);
  // After it: a reader that finds nothing must not cache that with the new count.
  PyTypedcall_Internal_Count(&state->counters.rows_added, 1);
}

// Releases a row that was offered and did not get into the table: its value is not taken.
static inline void PyTypedcall_Internal_RejectRow(PyTypedcall_Internal_Row *row) {
  row->destroy = NULL;
  PyTypedcall_Internal_LeaveHost(row);
  PyTypedcall_Internal_LetRowGo(row);
}

// True if a row's value says the same as the offered one.
static inline int PyTypedcall_Internal_IsEqual(const PyTypedcall_Internal_Row *row,
                                               const PyTypedcall_Internal_Row *offered,
                                               int (*equal)(const void *, const void *)) {
  return row->value == offered->value || (equal != NULL && equal(row->value, offered->value));
}

// Puts a retracted row back into the table if this owner alone has it and it equals the offered
// one. Returns it, or NULL.
static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_ReviveRow(
    PyTypedcall_Internal_State *state, const PyTypedcall_Internal_Owner *owner,
    const PyTypedcall_Internal_Row *offered, int (*equal)(const void *, const void *)) {
  PyTypedcall_Internal_SideTable *table = &state->tables[offered->space];
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRows(table, offered->key);
  for (; row != NULL; row = row->older) {
    const PyTypedcall_Internal_Ownership *first = row->owned_by;
    if (first != NULL && (first->owner != owner || first->next_of_row != NULL)) continue;
    if (!PyTypedcall_Internal_IsEqual(row, offered, equal)) continue;
    PyTypedcall_Internal_TableForget(table, row);
    PyTypedcall_Internal_AddRow(state, row);
    return row;
  }
  return NULL;
}

// Publish with the owner's record at hand; runs no Python code. Sets `*offered` to NULL if it takes
// that row, and `*keeper` if it takes that because the row has none and `kept` is not NULL. Returns
// 0 and above or PyTypedcall_CONFLICT as publish, or -1 without an exception if memory runs out.
static inline int PyTypedcall_Internal_PublishFor(PyTypedcall_Internal_State *state,
                                                  PyTypedcall_Internal_Owner *owner,
                                                  PyTypedcall_Internal_Row **offered,
                                                  int (*equal)(const void *, const void *),
                                                  PyObject *kept, PyObject **keeper,
                                                  const PyObject *object) {
  PyTypedcall_Internal_Row *fresh = *offered, *revived = NULL;
  PyTypedcall_Internal_SideTable *table = &state->tables[fresh->space];
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(table, fresh->key);
  if (row != NULL) {
    if (!PyTypedcall_Internal_IsEqual(row, fresh, equal)) return PyTypedcall_CONFLICT;
  } else {
    row = revived = PyTypedcall_Internal_ReviveRow(state, owner, fresh, equal);
  }
  if (row == NULL) {
    const int reserved = PyTypedcall_Internal_TableReserve(table);
    if (reserved < 0) return -1;
    PyTypedcall_Internal_Count(&state->counters.generations, (uint64_t)reserved);
    row = fresh;
  }
  // Steps that can fail come first: an owner without its row does no harm.
  int failed = 0;
  if (kept != NULL) {
    if (row->keeper == NULL) PyTypedcall_Internal_GiveKeeper(state, row, keeper);
    failed = PyTypedcall_Internal_Keep(row->keeper, kept, object) < 0;
  }
  if (failed || PyTypedcall_Internal_Own(owner, row) < 0) {
    if (revived != NULL) PyTypedcall_Internal_RetractRow(state, revived);
    return -1;
  }
  if (row == fresh) {
    PyTypedcall_Internal_AddRow(state, row);
    *offered = NULL;
  }
  if (row->value == fresh->value) return 1;
  return revived != NULL ? PyTypedcall_CAME_BACK : 0;
}

// Removes the row of `key` if all its owners are dying: their weak references are cleared, but the
// callback that removes the row has not run yet, because another one is running. Returns 1 if the
// row is gone, 0 if it is there. May run Python code.
static inline int PyTypedcall_Internal_RetireDying(PyTypedcall_Internal_State *state, int space,
                                                   const void *key) {
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  if (row == NULL) return 1;
  PyTypedcall_Internal_ShareRow(row);
  PyObject *owner = PyTypedcall_Internal_LiveOwner(row);
  const int is_dying = owner == NULL && row->is_in_table;
  if (is_dying) {
    PyTypedcall_Internal_DisownRow(row);
    PyTypedcall_Internal_TakeOut(state, row);
  }
  const int is_gone = !row->is_in_table;
  if (is_dying) PyTypedcall_Internal_LetRowGo(row);
  PyTypedcall_Internal_ReleaseRow(row);
  Py_XDECREF(owner);
  return is_gone;
}

// See PyTypedcall_Interface.publish. The caller has the state for itself.
static inline TYPEDCALL_COLD int PyTypedcall_Internal_Publish(
    void *opaque, int space, const void *key, PyObject *object, const void *value,
    int (*equal)(const void *existing, const void *offered), void (*destroy)(const void *value),
    PyObject *kept) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES || key == NULL || value == NULL || object == NULL) {
    PyErr_SetString(PyExc_ValueError,
                    "typedcall: a row needs a space, a key, an owner and a value");
    return -1;
  }
  const int may_be_kept = space == PyTypedcall_BY_OBJECT && key == (const void *)object;
  PyObject *keeper = NULL, *held;  // the keeper: until a row takes it
  if (kept != NULL && (keeper = PyTypedcall_Internal_NewKeeper(state)) == NULL) return -1;
  PyTypedcall_Internal_Row *offered = PyTypedcall_Internal_NewRow(space, key, value, destroy);
  PyTypedcall_Internal_Owner *owner;
  int result = -1;
  // Anything that can run Python code (and so another publish) comes before the look at the table.
  while (offered != NULL &&
         (owner = PyTypedcall_Internal_OwnerFor(state, object, may_be_kept, &held)) != NULL) {
    result = PyTypedcall_Internal_PublishFor(state, owner, &offered, equal, kept, &keeper, object);
    PyTypedcall_Internal_DropIdleOwner(state, owner);
    Py_DECREF(held);
    if (result != PyTypedcall_CONFLICT) break;
    if (!PyTypedcall_Internal_RetireDying(state, space, key)) break;
    result = -1;
  }
  if (offered != NULL) PyTypedcall_Internal_RejectRow(offered);
  Py_XDECREF(keeper);
  if (kept != NULL && may_be_kept && result >= 0) PyTypedcall_Internal_Host(state, object);
  if (result == PyTypedcall_CONFLICT) PyTypedcall_Internal_Count(&state->counters.conflicts, 1);
  if (result == -1 && !PyErr_Occurred()) PyErr_NoMemory();
  return result;
}

// See PyTypedcall_Interface.hold.
static inline PyObject *PyTypedcall_Internal_Hold(void *opaque, int space, const void *key,
                                                  PyObject *callable, const void **value) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  *value = NULL;
  if (space < 0 || space >= PyTypedcall_SPACES || state->reference_type == NULL) return NULL;
  PyTypeObject *type = state->reference_type;
  const allocfunc allocate = PyTypedcall_Internal_SLOT(allocfunc, type, tp_alloc);
  // First, because it may collect garbage and so run anything.
  PyObject *object = allocate(type, 0);
  if (object == NULL) return NULL;
  PyTypedcall_Internal_Reference *made = PyTypedcall_Internal_AsReference(object);
  PyTypedcall_BEGIN_EXCLUSIVE(PyTypedcall_Internal_LockOf(state));
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  if (row != NULL) {
    made->row = PyTypedcall_Internal_ShareRow(row);
    made->keeper = row->keeper;
    Py_XINCREF(made->keeper);
    made->owner = PyTypedcall_Internal_LiveOwner(row);
    // Asking weak references may have let other threads in.
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
static inline TYPEDCALL_COLD int PyTypedcall_Internal_Retract(void *opaque, int space,
                                                              const void *key) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return 0;
  int was_there;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTypedcall_Internal_LockOf(state));
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  was_there = row != NULL;
  if (was_there) {
    PyTypedcall_Internal_RetractRow(state, row);
    // Callers may be using the value without a reference, so the row stays until its last owner
    // dies.
    PyTypedcall_Internal_LetKeptOwnerGo(state, row);
  }
  PyTypedcall_END_EXCLUSIVE();
  return was_there;
}

static inline const void *PyTypedcall_Internal_Find(void *opaque, int space, const void *key) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return NULL;
  return PyTypedcall_Internal_TableFind(&state->tables[space], key);
}

// Puts `fresh` into the cell of `old`, which stays there as a retracted row: readers without a lock
// find the old value or the new one, never nothing.
static inline void PyTypedcall_Internal_SwapRows(PyTypedcall_Internal_State *state,
                                                 PyTypedcall_Internal_Row *old,
                                                 PyTypedcall_Internal_Row *fresh) {
  PyTypedcall_Internal_SideTable *table = &state->tables[old->space];
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, old->key);
  cell->row = fresh;
  fresh->older = old;
  PyTypedcall_STORE_RELEASE(&cell->value, fresh->value);
  PyTypedcall_Internal_Count(&state->counters.rows_added, 1);
  PyTypedcall_Internal_Count(&state->counters.rows_removed, 1);
  fresh->is_in_table = 1;
  old->is_in_table = 0;
}

// See PyTypedcall_Interface.exchange.
static inline TYPEDCALL_COLD int PyTypedcall_Internal_Exchange(void *opaque, int space,
                                                               const void *key, PyObject *object,
                                                               const void *expected,
                                                               const void *value,
                                                               void (*destroy)(const void *value)) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  // A row BY_OBJECT may keep its owner alive; changing the owner with the row is not supported.
  if (space < 0 || space >= PyTypedcall_SPACES || space == PyTypedcall_BY_OBJECT || key == NULL ||
      expected == NULL || value == NULL || object == NULL) {
    PyErr_SetString(PyExc_ValueError,
                    "typedcall: a row to exchange needs a space, a key, an owner, the present "
                    "value and a new one");
    return -1;
  }
  // Anything that can run Python code (and so another publish) comes before the look at the table.
  PyObject *held;
  PyTypedcall_Internal_Owner *owner = PyTypedcall_Internal_OwnerFor(state, object, 0, &held);
  if (owner == NULL) return -1;
  PyTypedcall_Internal_Row *old = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  int result = 1;
  if (old == NULL || old->value != expected) {
    result = 0;
  } else if (value != expected) {
    PyTypedcall_Internal_Row *fresh = PyTypedcall_Internal_NewRow(space, key, value, destroy);
    if (fresh == NULL || PyTypedcall_Internal_Own(owner, fresh) < 0) {
      if (fresh != NULL) PyTypedcall_Internal_RejectRow(fresh);
      result = -1;
    } else {
      PyTypedcall_Internal_SwapRows(state, old, fresh);
    }
  }
  PyTypedcall_Internal_DropIdleOwner(state, owner);
  Py_DECREF(held);
  if (result < 0) PyErr_NoMemory();
  return result;
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_PUBLISHED_ROWS_H_
