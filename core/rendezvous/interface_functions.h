// Implements PyTypedcall_Interface. Functions that change the state lock it first.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_INTERFACE_FUNCTIONS_H_
#define TYPEDCALL_CORE_RENDEZVOUS_INTERFACE_FUNCTIONS_H_

#include "core/rendezvous/published_rows.h"
#include "core/types/combined_metaclass.h"

static inline PyTypeObject *PyTC_DoMetaclass(void *opaque) {
  return ((PyTC_State *)opaque)->metaclass;
}

static inline TYPEDCALL_COLD int PyTC_DoResolve(void *opaque, PyTypeObject *type,
                                                const PyCustomSlot *own, Py_ssize_t own_count) {
  PyTC_State *state = (PyTC_State *)opaque;
  if (PyTC_IsEnding(state)) return -1;
  return PyTC_Resolve(state->metaclass, type, own, own_count);
}

// The number of slot IDs that can be allocated at run time: all IDs of one registrar.
#define PyTC_RUNTIME_IDS ((Py_ssize_t)1 << 23)

// Returns the ID of a name, or 0 with an exception set. `names` maps names to IDs.
static inline uintptr_t PyTC_IDByName(PyObject *names, PyObject *name) {
  PyObject *id = PyTC_GetItem(names, name);
  if (id == NULL && !PyErr_Occurred()) {
    const Py_ssize_t next = PyDict_Size(names);
    if (next >= PyTC_RUNTIME_IDS) {
      PyErr_SetString(PyExc_ValueError, "typedcall: all custom slot IDs are taken");
      return 0;
    }
    // No Python code runs here, so no other call can take this ID.
    PyObject *fresh =
        PyLong_FromSize_t(PyCustomSlot_ID(PyCustomSlot_REGISTRAR_RUNTIME, next >> 7, next & 0x7f));
    id = fresh != NULL ? PyTC_SetDefaultOfOurs(names, name, fresh) : NULL;
    Py_XDECREF(fresh);
  }
  const uintptr_t found = id != NULL ? PyLong_AsSize_t(id) : 0;
  Py_XDECREF(id);
  return found;
}

static inline TYPEDCALL_COLD uintptr_t PyTC_DoSlotId(void *opaque, const char *name) {
  PyTC_State *state = (PyTC_State *)opaque;
  if (PyTC_IsEnding(state)) return 0;
  if (name == NULL || name[0] == '\0') {
    PyErr_SetString(PyExc_ValueError, "typedcall: a custom slot ID needs a name");
    return 0;
  }
  PyObject *key = PyUnicode_FromString(name);
  if (key == NULL) return 0;
  uintptr_t id;
  PyTypedcall_BEGIN_EXCLUSIVE(state->metaclass);
  id = PyTC_IDByName(state->slot_names, key);
  PyTypedcall_END_EXCLUSIVE();
  Py_DECREF(key);
  return id;
}

static inline TYPEDCALL_COLD int PyTC_DoReadyStatic(void *opaque, PyTypeObject *type,
                                                    Py_ssize_t slot_table_size) {
  PyTC_State *state = (PyTC_State *)opaque;
  if (PyTC_IsEnding(state)) return -1;
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(state->metaclass);
  result = PyTC_ReadyStatic(state->metaclass, &state->static_types, type, slot_table_size);
  PyTypedcall_END_EXCLUSIVE();
  return result;
}

static inline TYPEDCALL_COLD PyTypeObject *PyTC_DoCombined(void *opaque, PyObject *metaclasses) {
  PyTC_State *state = (PyTC_State *)opaque;
  if (PyTC_IsEnding(state)) return NULL;
  PyTypeObject *combined;
  PyTypedcall_BEGIN_EXCLUSIVE(state->metaclass);
  combined = PyTC_Combine(state->metaclass, state->combined, metaclasses);
  PyTypedcall_END_EXCLUSIVE();
  return combined;
}

static inline TYPEDCALL_COLD int PyTC_DoPublish(
    void *opaque, int space, const void *key, PyObject *object, const void *value,
    int (*equal)(const void *existing, const void *offered), void (*destroy)(const void *value),
    PyObject *kept) {
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTC_LockOf((PyTC_State *)opaque));
  result = PyTC_Publish(opaque, space, key, object, value, equal, destroy, kept);
  PyTypedcall_END_EXCLUSIVE();
  return result;
}

static inline TYPEDCALL_COLD int PyTC_DoExchange(void *opaque, int space, const void *key,
                                                 PyObject *object, const void *expected,
                                                 const void *value,
                                                 void (*destroy)(const void *value)) {
  int result;
  PyTypedcall_BEGIN_EXCLUSIVE(PyTC_LockOf((PyTC_State *)opaque));
  result = PyTC_Exchange(opaque, space, key, object, expected, value, destroy);
  PyTypedcall_END_EXCLUSIVE();
  return result;
}

static inline const void *PyTC_DoSibling(void *opaque, const PyMethodDef *def,
                                         const void *(*read)(const PyMethodDef *)) {
  return PyTC_AskOnce(&((PyTC_State *)opaque)->defs, def, read);
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_INTERFACE_FUNCTIONS_H_
