// The state of the interface between modules, one per interpreter. core/rendezvous.h makes and
// empties it; the functions behind the interface work on it.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_INTERPRETER_STATE_H_
#define TYPEDCALL_CORE_RENDEZVOUS_INTERPRETER_STATE_H_

#include "core/rendezvous/def_memory.h"
#include "core/rendezvous/side_table.h"
#include "core/slots/static_type.h"

// Its capsule is in `_extensibletype` and, so that modules torn down after that one can still call
// us, in the interpreter's own dictionary.
typedef struct PyTC_State {
  PyTypedcall_Interface interface;
  PyTypeObject *metaclass;
  PyTC_SideTable tables[PyTypedcall_SPACES];
  PyTypeObject *reference_type;  // of hold()'s results
  PyTypeObject *keeper_type;     // of the keepers of publish()'s `kept`
  PyObject *owners;              // dict: address of an owner -> capsule of its PyTC_Owner
  PyTypedcall_Counters counters;
  PyObject *slot_names;  // dict: name -> ID
  PyObject *combined;    // dict: metaclasses -> weak reference, see core/types/combined_metaclass.h
  PyTC_StaticTypes static_types;
  PyTC_DefMemory defs;
  int is_installed, is_coming_back;  // see core/rendezvous.h
} PyTC_State;

// Adds to a counter. The caller has the state for itself, but readers may be looking.
static inline void PyTC_Count(uint64_t *counter, uint64_t more) {
  __atomic_store_n(counter, *counter + more, __ATOMIC_RELEASE);
}

// Returns the object to lock before writing to the state: the metaclass, whose own functions lock
// it, too. At the interpreter's end there is one thread only.
static inline PyObject *PyTC_LockOf(const PyTC_State *state) {
  return state->metaclass != NULL ? (PyObject *)state->metaclass : Py_None;
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_INTERPRETER_STATE_H_
