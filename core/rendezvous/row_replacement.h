// Replaces a row's value: readers without a lock find the old value or the new one, never nothing.
// Used by core/rendezvous.h.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_ROW_REPLACEMENT_H_
#define TYPEDCALL_CORE_RENDEZVOUS_ROW_REPLACEMENT_H_

#include "core/rendezvous/published_rows.h"

TYPEDCALL_BEGIN_C

// Puts `fresh` into the cell of `old`, which stays there as a retracted row.
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
  PyTypedcall_Internal_Owner *owner = PyTypedcall_Internal_GetOwner(state, object, 0, &held);
  if (owner == NULL) return -1;
  PyTypedcall_Internal_Row *old = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  int result = 1;
  if (old == NULL || old->value != expected) {
    result = 0;
  } else if (value != expected) {
    PyTypedcall_Internal_Row *fresh = PyTypedcall_Internal_NewRow(space, key, value, destroy);
    if (fresh == NULL || PyTypedcall_Internal_Own(owner, fresh) < 0) {
      if (fresh != NULL) {
        fresh->destroy = NULL;  // not taken
        PyTypedcall_Internal_ReleaseRow(fresh);
      }
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

TYPEDCALL_END_C
#endif  // TYPEDCALL_CORE_RENDEZVOUS_ROW_REPLACEMENT_H_
