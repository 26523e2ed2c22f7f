// The consumer's side of SEP 200 for the limited API (3.12 or later). The slots' offset is not a
// constant there, so it is looked up once.
#ifndef TYPEDCALL_CORE_CUSTOM_SLOTS_LIMITED_H_
#define TYPEDCALL_CORE_CUSTOM_SLOTS_LIMITED_H_

#include "core/custom_slots.h"
#include "core/rendezvous.h"
#if TYPEDCALL_IS_SUPPORTED
#include "core/slots/slot_table.h"
#endif

#if !defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030C0000
#error "core/custom_slots_limited.h needs CPython 3.12 (PEP 697); core/custom_slots.h does not"
#endif

/// The data that the functions below need. Keep it in the module's state, never in a C static.
typedef struct PyCustomSlots_Limited {
  const PyTypedcall_Interface *interface;  ///< for functions that take one
  PyTypeObject *metaclass;                 ///< borrowed; lives as long as the interpreter
  Py_ssize_t offset;  ///< bytes from the start of a type to its PyExtensibleTypeData
} PyCustomSlots_Limited;

/// Fills `out`. Call this on import. Returns 0, or -1 with an exception set. GIL: held.
static inline int PyCustomSlots_LimitedImport(PyCustomSlots_Limited *out) {
  out->interface = PyTypedcall_Import();
  if (out->interface == NULL) return -1;
  out->metaclass = out->interface->metaclass(out->interface->state);
  out->offset = TYPEDCALL_IS_SUPPORTED ? PyTC_TypeDataOffset(out->metaclass) : 0;
  return out->offset < 0 ? -1 : 0;
}

// Returns the data of `type`, or NULL if it is not extensible. A metaclass's MRO cannot be walked
// without the GIL, because another thread may change it.
static inline const PyExtensibleTypeData *PyTC_LimitedData(const PyCustomSlots_Limited *api,
                                                           PyTypeObject *type, int attached) {
#if TYPEDCALL_IS_SUPPORTED
  PyTypeObject *metaclass = Py_TYPE((PyObject *)type);
  if (metaclass != api->metaclass &&
      (!attached || metaclass == NULL || !PyType_IsSubtype(metaclass, api->metaclass))) {
    return NULL;
  }
  // A static type's dictionary shows whether it has the data.
  if (!PyTC_IsHeapType(type) && (!attached || !PyTC_HasData(type))) return NULL;
  const PyExtensibleTypeData *data =
      (const PyExtensibleTypeData *)(const void *)((const char *)type + api->offset);
  if (PyTypedcall_LIKELY(PyTypedcall_LOAD_ACQUIRE(&data->magic) == PyExtensibleType_MAGIC)) {
    return data;
  }
  if (attached && PyTC_ResolveHeld(type, data)) return data;
#else
  (void)api, (void)type, (void)attached;
#endif
  return NULL;
}

/// Like the functions in core/custom_slots.h, but these need the GIL. `api` must be from the
/// calling interpreter. They set no exception and keep a pending one. Source: SEP 200.

static inline int PyCustomSlots_LimitedCheck(const PyCustomSlots_Limited *api, PyObject *obj) {
  return PyTC_LimitedData(api, Py_TYPE(obj), 1) != NULL;
}

static inline Py_ssize_t PyCustomSlots_LimitedCount(const PyCustomSlots_Limited *api,
                                                    PyObject *obj) {
  const PyExtensibleTypeData *data = PyTC_LimitedData(api, Py_TYPE(obj), 1);
  return data != NULL ? data->count : 0;
}

static inline PyCustomSlot *PyCustomSlots_LimitedTable(const PyCustomSlots_Limited *api,
                                                       PyObject *obj) {
  const PyExtensibleTypeData *data = PyTC_LimitedData(api, Py_TYPE(obj), 1);
  return data != NULL ? data->table : NULL;
}

static inline PyCustomSlot *PyCustomSlots_LimitedFind(const PyCustomSlots_Limited *api,
                                                      PyObject *obj, uintptr_t id,
                                                      Py_ssize_t expected_pos) {
  return PyTC_Among(PyTC_LimitedData(api, Py_TYPE(obj), 1), id, expected_pos);
}

/// Like PyCustomSlots_LimitedFind, without the GIL. Only resolved heap types of just our metaclass.
static inline PyCustomSlot *PyCustomSlots_LimitedFindDetached(const PyCustomSlots_Limited *api,
                                                              PyObject *obj, uintptr_t id,
                                                              Py_ssize_t expected_pos) {
  return PyTC_Among(PyTC_LimitedData(api, Py_TYPE(obj), 0), id, expected_pos);
}

#endif  // TYPEDCALL_CORE_CUSTOM_SLOTS_LIMITED_H_
