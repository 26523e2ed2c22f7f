// Rows and their owners: publishing, retracting, and what happens when an owner dies. These are the
// functions behind PyTypedcall_Interface; core/rendezvous.h puts them into it.
#ifndef TYPEDCALL_CORE_PUBLISHED_ROWS_H_
#define TYPEDCALL_CORE_PUBLISHED_ROWS_H_

#include "core/interpreter_state.h"

#ifdef __cplusplus
extern "C" {
#endif

// Something whose life bounds the life of rows.
typedef struct PyTypedcall_Internal_Owner {
  PyTypedcall_Internal_State *state;
  PyObject *key;        // its address, in `owners`: removing it must not need memory
  PyObject *reference;  // a weak reference, or the owner itself where it has no weak references
  int is_kept;          // the latter: then there is one row, BY_OBJECT, for the owner itself
  size_t count, capacity;
  PyTypedcall_Internal_Row **rows;
} PyTypedcall_Internal_Owner;

#define PyTypedcall_Internal_OWNER_NAME PyTypedcall_MODULE ".owner"

static inline void PyTypedcall_Internal_FreeRow(PyTypedcall_Internal_Row *row) {
  if (row->destroy != NULL) row->destroy(row->value);
  PyTypedcall_RAW_FREE(row);
}

static inline void PyTypedcall_Internal_FreeOwner(PyObject *capsule) {
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(capsule, PyTypedcall_Internal_OWNER_NAME);
  Py_XDECREF(owner->reference);
  Py_XDECREF(owner->key);
  PyTypedcall_RAW_FREE(owner->rows);
  PyTypedcall_RAW_FREE(owner);
}

// A record and its weak reference keep each other alive by way of the callback; this parts them.
static inline void PyTypedcall_Internal_ForgetReference(PyTypedcall_Internal_Owner *owner) {
  PyObject *reference = owner->reference;
  owner->reference = NULL;
  Py_XDECREF(reference);
}

// Removes the rows of an owner that is dead. `destroy` may run anything, this function as well:
// each row is taken off the list before. Returns 0, or -1 with an exception.
static inline int PyTypedcall_Internal_RemoveRowsOf(PyTypedcall_Internal_Owner *owner) {
  PyTypedcall_Internal_State *state = owner->state;
  // Python code can find weak references of an object and call, or outlive us with, their callback.
  if (owner->reference == NULL || !PyTypedcall_Internal_IsDead(owner->reference)) return 0;
  for (size_t i = 0; i < owner->count; ++i) {
    PyTypedcall_Internal_Row *row = owner->rows[i];
    owner->rows[i] = NULL;
    if (row == NULL) continue;
    if (--row->owners > 0 || row->retracted) continue;
    PyTypedcall_Internal_TableRemove(&state->tables[row->space], row->key);
    PyTypedcall_Internal_Count(&state->counters.rows_removed, 1);
    PyTypedcall_Internal_FreeRow(row);
  }
  owner->count = 0;
  if (owner->reference == NULL) return 0;  // somebody else has come to the end meanwhile
  // The garbage collector, unlike the end of the last reference, leaves the callback in place.
  PyTypedcall_Internal_ForgetReference(owner);
  // This may let go of the owner record: the callback object that runs keeps it.
  return state->owners != NULL ? PyDict_DelItem(state->owners, owner->key) : 0;
}

// The weak reference's callback: `self` is the owner's capsule.
static inline PyObject *PyTypedcall_Internal_OwnerDied(PyObject *self, PyObject *reference) {
  (void)reference;
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(self, PyTypedcall_Internal_OWNER_NAME);
  if (owner == NULL) return NULL;
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTypedcall_Internal_LockOf(owner->state));
  result = PyTypedcall_Internal_RemoveRowsOf(owner);
  PyTypedcall_END_EXCLUSIVE();
  if (result < 0) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef PyTypedcall_Internal_OwnerDiedDef = {
    "_typedcall_owner_died", PyTypedcall_Internal_OwnerDied, METH_O, NULL};

// A record for an object that has none, not yet in the state: a new reference to its capsule, or
// NULL with an exception.
static inline PyObject *PyTypedcall_Internal_NewOwner(PyTypedcall_Internal_State *state,
                                                      PyObject *object, PyObject *key,
                                                      int may_be_kept) {
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyTypedcall_RAW_CALLOC(1, sizeof(*owner));
  if (owner == NULL) return PyErr_NoMemory();
  PyObject *capsule =
      PyCapsule_New(owner, PyTypedcall_Internal_OWNER_NAME, PyTypedcall_Internal_FreeOwner);
  if (capsule == NULL) {
    PyTypedcall_RAW_FREE(owner);
    return NULL;
  }
  owner->state = state;
  Py_INCREF(key);
  owner->key = key;
  PyObject *callback = PyCFunction_New(&PyTypedcall_Internal_OwnerDiedDef, capsule);
  if (callback != NULL) {
    owner->reference = PyWeakref_NewRef(object, callback);
    Py_DECREF(callback);
    if (owner->reference == NULL && may_be_kept && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      Py_INCREF(object);
      owner->reference = object;
      owner->is_kept = 1;
    }
  }
  if (owner->reference != NULL) return capsule;
  Py_DECREF(capsule);
  return NULL;
}

// The record of an owner, made when it has none yet; NULL with an exception. Borrowed from the
// state.
static inline PyTypedcall_Internal_Owner *PyTypedcall_Internal_GetOwner(
    PyTypedcall_Internal_State *state, PyObject *object, int may_be_kept) {
  if (state->owners == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "typedcall: the interpreter is ending");
    return NULL;
  }
  PyObject *key = PyLong_FromVoidPtr(object);
  if (key == NULL) return NULL;
  PyObject *standing = PyTypedcall_Internal_GetItem(state->owners, key);
  if (standing == NULL && !PyErr_Occurred()) {
    PyObject *fresh = PyTypedcall_Internal_NewOwner(state, object, key, may_be_kept);
    if (fresh != NULL) {
      // Making it may have collected garbage and thereby run anything: what stands now counts.
      standing = PyTypedcall_Internal_SetDefault(state->owners, key, fresh);
      PyTypedcall_Internal_Hide(state->owners);
      if (standing != fresh) {
        PyTypedcall_Internal_ForgetReference((PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(
            fresh, PyTypedcall_Internal_OWNER_NAME));
      }
      Py_DECREF(fresh);
    }
  }
  Py_DECREF(key);
  if (standing == NULL) return NULL;
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(standing, PyTypedcall_Internal_OWNER_NAME);
  Py_DECREF(standing);
  if (owner->is_kept && !may_be_kept) {
    // Kept for its own row alone: nobody would see it die.
    char kind[PyTypedcall_Internal_NAME_SIZE];
    PyErr_Format(PyExc_TypeError, "cannot create weak reference to '%s' object",
                 PyTypedcall_Internal_Name(Py_TYPE(object), kind));
    return NULL;
  }
  return owner;
}

// Removes the record of an object that in the end owns nothing, so that nobody keeps the object.
static inline void PyTypedcall_Internal_DropIdleOwner(PyTypedcall_Internal_State *state,
                                                      PyTypedcall_Internal_Owner *owner) {
  if (owner->count > 0) return;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *key = owner->key;
  Py_INCREF(key);
  PyTypedcall_Internal_ForgetReference(owner);
  (void)PyDict_DelItem(state->owners, key);
  Py_DECREF(key);
  PyTypedcall_RestoreError(saved);
}

static inline int PyTypedcall_Internal_Owns(const PyTypedcall_Internal_Owner *owner,
                                            const PyTypedcall_Internal_Row *row) {
  for (size_t i = 0; i < owner->count; ++i) {
    if (owner->rows[i] == row) return 1;
  }
  return 0;
}

// Room for one more row in the owner's list. -1 when there is no memory (no exception set).
static inline int PyTypedcall_Internal_OwnerReserve(PyTypedcall_Internal_Owner *owner) {
  if (owner->count < owner->capacity) return 0;
  const size_t capacity = owner->capacity == 0 ? 4 : owner->capacity * 2;
  void *grown = PyTypedcall_RAW_REALLOC(owner->rows, capacity * sizeof(*owner->rows));
  if (grown == NULL) return -1;
  owner->rows = (PyTypedcall_Internal_Row **)grown;
  owner->capacity = capacity;
  return 0;
}

// A new row in the table, without owners yet. NULL when there is no memory (no exception set).
static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_AddRow(
    PyTypedcall_Internal_State *state, int space, const void *key, const void *value,
    void (*destroy)(const void *value)) {
  PyTypedcall_Internal_Row *row =
      (PyTypedcall_Internal_Row *)PyTypedcall_RAW_CALLOC(1, sizeof(*row));
  const int reserved = row != NULL ? PyTypedcall_Internal_TableReserve(&state->tables[space]) : -1;
  if (reserved < 0) {
    PyTypedcall_RAW_FREE(row);
    return NULL;
  }
  PyTypedcall_Internal_Count(&state->counters.generations, (uint64_t)reserved);
  row->space = space;
  row->key = key;
  row->value = value;
  row->destroy = destroy;
  PyTypedcall_Internal_TableInsert(&state->tables[space], row);
  // Behind it: whoever finds nothing must not remember that with the new count.
  PyTypedcall_Internal_Count(&state->counters.rows_added, 1);
  return row;
}

static inline const void *PyTypedcall_Internal_Publish(
    void *opaque, int space, const void *key, PyObject *object, const void *value,
    int (*equal)(const void *standing, const void *offered), void (*destroy)(const void *value)) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES || key == NULL || value == NULL || object == NULL) {
    PyErr_SetString(PyExc_ValueError,
                    "typedcall: a row needs a space, a key, an owner and a value");
    return NULL;
  }
  const int may_be_kept = space == PyTypedcall_BY_OBJECT && key == (const void *)object;
  // Whatever can run Python code (and thereby another publish) comes before the table is looked at.
  PyTypedcall_Internal_Owner *owner = PyTypedcall_Internal_GetOwner(state, object, may_be_kept);
  if (owner == NULL) return NULL;
  PyTypedcall_Internal_SideTable *table = &state->tables[space];
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(table, key);
  if (row != NULL && row->value != value && (equal == NULL || !equal(row->value, value))) {
    PyTypedcall_Internal_Count(&state->counters.conflicts, 1);
    PyTypedcall_Internal_DropIdleOwner(state, owner);
    return row->value;
  }
  if (row != NULL && PyTypedcall_Internal_Owns(owner, row)) return row->value;
  if (PyTypedcall_Internal_OwnerReserve(owner) < 0 ||
      (row == NULL &&
       (row = PyTypedcall_Internal_AddRow(state, space, key, value, destroy)) == NULL)) {
    PyTypedcall_Internal_DropIdleOwner(state, owner);
    PyErr_NoMemory();
    return NULL;
  }
  owner->rows[owner->count++] = row;
  ++row->owners;
  if (owner->is_kept) row->keeper = owner;
  return row->value;
}

// An object without weak references is kept alive by its record, and let go with its row.
static inline void PyTypedcall_Internal_ReleaseKept(PyTypedcall_Internal_State *state,
                                                    PyTypedcall_Internal_Row *row) {
  PyTypedcall_Internal_Owner *keeper = row->keeper;
  if (keeper == NULL || state->owners == NULL) return;
  row->keeper = NULL;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *key = keeper->key;
  Py_INCREF(key);
  (void)PyDict_DelItem(state->owners, key);
  Py_DECREF(key);
  PyTypedcall_RestoreError(saved);
}

static inline int PyTypedcall_Internal_Retract(void *opaque, int space, const void *key) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return 0;
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  if (row == NULL) return 0;
  PyTypedcall_Internal_TableRemove(&state->tables[space], key);
  PyTypedcall_Internal_Count(&state->counters.rows_removed, 1);
  // Somebody may be using the value without a lock, so it is kept, and so is the row for its
  // owners.
  row->retracted = 1;
  row->next = state->retracted;
  state->retracted = row;
  PyTypedcall_Internal_ReleaseKept(state, row);
  return 1;
}

static inline const void *PyTypedcall_Internal_Find(void *opaque, int space, const void *key) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return NULL;
  return PyTypedcall_Internal_TableFind(&state->tables[space], key);
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_PUBLISHED_ROWS_H_
