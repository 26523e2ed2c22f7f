// The installer's functions behind PyTypedcall_Interface. Those that write lock the interpreter's
// state first, also without the GIL. Used by core/rendezvous.h.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_INTERFACE_FUNCTIONS_H_
#define TYPEDCALL_CORE_RENDEZVOUS_INTERFACE_FUNCTIONS_H_

#include "core/rendezvous/published_rows.h"
#include "core/slots/slot_names.h"
#include "core/types/combined_metaclass.h"

TYPEDCALL_BEGIN_C

static inline PyTypeObject *PyTypedcall_Internal_Metaclass(void *opaque) {
  return ((PyTypedcall_Internal_State *)opaque)->metaclass;
}

// True if the interpreter has released its state. Then sets RuntimeError.
static inline int PyTypedcall_Internal_IsEnding(const PyTypedcall_Internal_State *state) {
  if (state->metaclass != NULL) return 0;
  PyErr_SetString(PyExc_RuntimeError, "typedcall: the interpreter is ending");
  return 1;
}

// PyTypedcall_Interface documents each of these.

static inline TYPEDCALL_COLD int PyTypedcall_Internal_Resolve(void *opaque, PyTypeObject *type,
                                                              const PyCustomSlot *own,
                                                              Py_ssize_t own_count) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (PyTypedcall_Internal_IsEnding(state)) return -1;
  return PyExtensibleType_Internal_Resolve(state->metaclass, type, own, own_count);
}

static inline TYPEDCALL_COLD uintptr_t PyTypedcall_Internal_SlotId(void *opaque, const char *name) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (PyTypedcall_Internal_IsEnding(state)) return 0;
  uintptr_t id;
  PyTypedcall_BEGIN_EXCLUSIVE(state->metaclass);
  id = PyCustomSlot_Internal_IDByName(state->slot_names, name);
  PyTypedcall_END_EXCLUSIVE();
  return id;
}

static inline TYPEDCALL_COLD int PyTypedcall_Internal_ReadyStatic(void *opaque, PyTypeObject *type,
                                                                  Py_ssize_t slot_table_size) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (PyTypedcall_Internal_IsEnding(state)) return -1;
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(state->metaclass);
  result = PyExtensibleType_Internal_ReadyStatic(state->metaclass, &state->static_types, type,
                                                 slot_table_size);
  PyTypedcall_END_EXCLUSIVE();
  return result;
}

static inline TYPEDCALL_COLD PyTypeObject *PyTypedcall_Internal_CombinedMetaclass(
    void *opaque, PyObject *metaclasses) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (PyTypedcall_Internal_IsEnding(state)) return NULL;
  PyTypeObject *combined;
  PyTypedcall_BEGIN_EXCLUSIVE(state->metaclass);
  combined = PyExtensibleType_Internal_Combine(state->metaclass, state->combined, metaclasses);
  PyTypedcall_END_EXCLUSIVE();
  return combined;
}

static inline TYPEDCALL_COLD int PyTypedcall_Internal_LockAndPublish(
    void *opaque, int space, const void *key, PyObject *object, const void *value,
    int (*equal)(const void *existing, const void *offered), void (*destroy)(const void *value),
    PyObject *kept) {
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTypedcall_Internal_LockOf((PyTypedcall_Internal_State *)opaque));
  result = PyTypedcall_Internal_Publish(opaque, space, key, object, value, equal, destroy, kept);
  PyTypedcall_END_EXCLUSIVE();
  return result;
}

static inline TYPEDCALL_COLD int PyTypedcall_Internal_LockAndExchange(
    void *opaque, int space, const void *key, PyObject *object, const void *expected,
    const void *value, void (*destroy)(const void *value)) {
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTypedcall_Internal_LockOf((PyTypedcall_Internal_State *)opaque));
  result = PyTypedcall_Internal_Exchange(opaque, space, key, object, expected, value, destroy);
  PyTypedcall_END_EXCLUSIVE();
  return result;
}

static inline const void *PyTypedcall_Internal_Sibling(void *opaque, const PyMethodDef *def,
                                                       const void *(*read)(const PyMethodDef *)) {
  return PyTypedcall_Internal_AskOnce(&((PyTypedcall_Internal_State *)opaque)->defs, def, read);
}

TYPEDCALL_END_C
#endif  // TYPEDCALL_CORE_RENDEZVOUS_INTERFACE_FUNCTIONS_H_
