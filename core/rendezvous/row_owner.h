// Owners: objects that keep rows published while they live.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_ROW_OWNER_H_
#define TYPEDCALL_CORE_RENDEZVOUS_ROW_OWNER_H_

#include "core/rendezvous/row_keeper.h"

#define PyTC_OWNER_NAME PyTypedcall_MODULE ".owner"

static inline PyTC_Owner *PyTC_OwnerIn(PyObject *capsule) {
  return (PyTC_Owner *)PyCapsule_GetPointer(capsule, PyTC_OWNER_NAME);
}

static inline void PyTC_FreeOwner(PyObject *capsule) {
  PyTC_Owner *owner = PyTC_OwnerIn(capsule);
  Py_XDECREF(owner->reference);
  Py_XDECREF(owner->key);
  PyTypedcall_RAW_FREE(owner);
}

// Breaks the cycle between a record and its weak reference, whose callback refers to the record.
static inline void PyTC_ForgetReference(PyTC_Owner *owner) {
  PyObject *reference = owner->reference;
  owner->reference = NULL;
  Py_XDECREF(reference);
}

// Removes a record without rows from the state, which may free the record. A reference to its
// capsule keeps the record alive. Returns 0, or -1 with an exception set. May run Python code.
static inline int PyTC_ForgetOwner(PyTC_State *state, PyTC_Owner *owner) {
  PyObject *key = owner->key, *owners = state->owners;
  if (owner->reference == NULL || owners == NULL) return 0;  // another call has removed the record
  Py_INCREF(key);
  Py_INCREF(owners);
  PyObject *reference = owner->reference;
  owner->reference = NULL;
  const int result = PyDict_DelItem(owners, key);
  Py_DECREF(reference);
  Py_DECREF(owners);
  Py_DECREF(key);
  return result;
}

// Removes a record if it owns no row, because the record may keep its object alive.
static inline void PyTC_DropIdleOwner(PyTC_State *state, PyTC_Owner *owner) {
  if (owner->owned != NULL) return;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  (void)PyTC_ForgetOwner(state, owner);
  PyTypedcall_RestoreError(saved);
}

// Removes a dead owner's rows. Returns 0, or -1 with an exception set.
static inline int PyTC_RemoveRowsOf(PyTC_Owner *owner) {
  PyTC_State *state = owner->state;
  // Python code can find the weak reference, and call this callback at any time.
  if (owner->reference == NULL) return 0;
  PyObject *object;
  const int is_dead = PyTC_GetReferent(owner->reference, &object) == 0;
  Py_XDECREF(object);
  if (!is_dead) return 0;
  PyTC_Row *gone = NULL;
  while (owner->owned != NULL) {
    PyTC_Row *row = owner->owned->row;
    PyTC_Disown(owner->owned);
    if (row->owned_by == NULL) {
      PyTC_TakeOut(state, row);
      row->next = gone;
      gone = row;
    }
  }
  const int result = PyTC_ForgetOwner(state, owner);
  // All rows must have left the table before one is released, because that can run any code.
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyTC_LetRowsGo(gone);
  PyTypedcall_RestoreError(saved);
  return result;
}

// The callback of the weak reference; `self` is the owner's capsule.
static inline TYPEDCALL_COLD PyObject *PyTC_OwnerDied(PyObject *self, PyObject *reference) {
  (void)reference;
  PyTC_Owner *owner = PyTC_OwnerIn(self);
  if (owner == NULL) return NULL;
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTC_LockOf(owner->state));
  result = PyTC_RemoveRowsOf(owner);
  PyTypedcall_END_EXCLUSIVE();
  if (result < 0) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef PyTC_OwnerDiedDef = {"_typedcall_owner_died", PyTC_OwnerDied, METH_O, NULL};

// Makes a record, and returns its capsule, or NULL with an exception set.
static inline PyObject *PyTC_NewOwner(PyTC_State *state, PyObject *object, PyObject *key,
                                      int may_be_kept) {
  PyTC_Owner *owner = (PyTC_Owner *)PyTypedcall_RAW_CALLOC(1, sizeof(*owner));
  if (owner == NULL) return PyErr_NoMemory();
  PyObject *capsule = PyCapsule_New(owner, PyTC_OWNER_NAME, PyTC_FreeOwner);
  if (capsule == NULL) {
    PyTypedcall_RAW_FREE(owner);
    return NULL;
  }
  owner->state = state;
  Py_INCREF(key);
  owner->key = key;
  PyObject *callback = PyCFunction_New(&PyTC_OwnerDiedDef, capsule);
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

// Returns a new reference to the capsule of an object's record, or NULL with an exception set.
static inline PyObject *PyTC_OwnerCapsule(PyTC_State *state, PyObject *object, PyObject *key,
                                          int may_be_kept) {
  if (PyTC_IsEnding(state)) return NULL;
  PyObject *owners = state->owners;
  Py_INCREF(owners);
  PyObject *existing = PyTC_GetItem(owners, key);
  if (existing == NULL && !PyErr_Occurred()) {
    PyObject *fresh = PyTC_NewOwner(state, object, key, may_be_kept);
    // Making the record may have run any code. A record that was made meanwhile wins.
    if (fresh != NULL && !PyTC_IsEnding(state)) {
      existing = PyTC_SetDefaultOfOurs(owners, key, fresh);
      PyTC_Hide(owners);
    }
    if (fresh != NULL && existing != fresh) PyTC_ForgetReference(PyTC_OwnerIn(fresh));
    Py_XDECREF(fresh);
  }
  Py_DECREF(owners);
  return existing;
}

// Returns an owner's record, or NULL with an exception set. Makes the record if necessary. Stores a
// reference to the record's capsule in `*held`. The caller has locked the state.
static inline TYPEDCALL_COLD PyTC_Owner *PyTC_OwnerFor(PyTC_State *state, PyObject *object,
                                                       int may_be_kept, PyObject **held) {
  PyObject *key = PyLong_FromVoidPtr(object);
  if (key == NULL) return NULL;
  PyTC_Owner *owner = NULL;
  *held = NULL;
  do {
    // Without the GIL, another thread may drop an idle record while this thread waits. This thread
    // does not wait between the last check and the use of the record.
    Py_XDECREF(*held);
    *held = PyTC_OwnerCapsule(state, object, key, may_be_kept);
    owner = *held != NULL ? PyTC_OwnerIn(*held) : NULL;
  } while (owner != NULL && owner->reference == NULL);
  Py_DECREF(key);
  if (owner != NULL && owner->is_kept && !may_be_kept) {
    // The record keeps the object alive for its own row only. A second row would never die.
    PyTC_Refuse(Py_TYPE(object), PyExc_TypeError, "this '%s' object can own no other row");
    Py_CLEAR(*held);
    return NULL;
  }
  return owner;
}

// Returns a new reference to a live owner of the row, or NULL. Other threads may run meanwhile, so
// the caller must have a reference to the row and check it again.
static inline PyObject *PyTC_LiveOwner(const PyTC_Row *row) {
  const PyTC_Ownership *each = row->owned_by;
  while (each != NULL) {
    PyObject *reference = each->owner->reference, *object = NULL;
    const size_t left = row->left;
    if (reference != NULL) {
      Py_INCREF(reference);
      if (each->owner->is_kept) return reference;
      (void)PyTC_GetReferent(reference, &object);
      Py_DECREF(reference);
    }
    if (object != NULL) return object;
    // If an owner has left meanwhile, `each` may point to reused memory, so start again.
    each = row->left == left ? each->next_of_row : row->owned_by;
  }
  return NULL;
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_ROW_OWNER_H_
