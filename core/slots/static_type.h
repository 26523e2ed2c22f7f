// Implements PyExtensibleType_Ready. Source: SEP 200, "Provider API" and "Subclassing".
#ifndef TYPEDCALL_CORE_SLOTS_STATIC_TYPE_H_
#define TYPEDCALL_CORE_SLOTS_STATIC_TYPE_H_

#include "core/slots/slot_table.h"

// A static type that was made ready. When its interpreter ends, it becomes a plain type again.
typedef struct PyTC_StaticType {
  struct PyTC_StaticType *next;
  PyTypeObject *type;
  PyExtensibleTypeData *data;
  Py_ssize_t own_count;      // number of slots before the bases' slots were prepended
  int has_module, has_mark;  // positive if we put this attribute into the type's dictionary
} PyTC_StaticType;

// True if CPython may free names at the interpreter's end even if a static type refers to them.
// From 3.14 on it does. In 3.13 only debug builds do, but they also load modules of other builds.
#if PY_VERSION_HEX < 0x030B0000
#define PyTC_FREES_NAMES 0
#else
#define PyTC_FREES_NAMES (Py_Version >= 0x030D0000)
#endif

#ifdef Py_TARGET_ABI3T
// Returns the offset of ob_type in an object, or -1 with an exception set. abi3t has no
// Py_SET_TYPE, because objects have a different layout in free-threaded builds. In both layouts
// ob_type is the last field. The check uses `type`, which is its own type.
static inline Py_ssize_t PyTC_TypeField(void) {
  static Py_ssize_t known;  // constant for the life of the process
  if (known > 0) return known;
  const Py_ssize_t size = PyTC_BasicSize(&PyBaseObject_Type);
  if (size < 0) return -1;
  const Py_ssize_t field = size - (Py_ssize_t)sizeof(PyTypeObject *);
  if (field > 0 && field % (Py_ssize_t)sizeof(PyTypeObject *) == 0 &&
      *(PyTypeObject **)(void *)((char *)&PyType_Type + field) == &PyType_Type) {
    known = field;
    return field;
  }
  PyErr_SetString(PyExc_SystemError, "typedcall: objects of this CPython have an unknown layout");
  return -1;
}
#endif

static inline void PyTC_SetType(PyTypeObject *type, PyTypeObject *to) {
#ifdef Py_TARGET_ABI3T
  *(PyTypeObject **)(void *)((char *)type + PyTC_TypeField()) = to;  // cannot fail now
#else
  Py_SET_TYPE((PyObject *)type, to);
#endif
}

// Removes our attributes, whose names CPython may free at the interpreter's end, from the type.
static inline void PyTC_UnsetStatic(const PyTC_StaticType *item) {
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *dict = PyTC_StaticDict(item->type);
  if (dict != NULL && item->has_module > 0) (void)PyDict_DelItemString(dict, "__module__");
  if (dict != NULL && item->has_mark > 0) {
    (void)PyDict_DelItemString(dict, PyExtensibleType_READY_MARK);
  }
  Py_XDECREF(dict);
  PyTypedcall_RestoreError(saved);
}

// Replaces the metaclass `from` with `to` in static types that inherited it from `type`.
static inline TYPEDCALL_COLD void PyTC_Retype(PyTypeObject *type, PyTypeObject *from,
                                              PyTypeObject *to) {
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  // Call `type`'s own method, because a metaclass may override it.
  PyObject *derived = PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", type);
  for (Py_ssize_t i = 0; derived != NULL && i < PyList_Size(derived); ++i) {
    PyTypeObject *subtype = (PyTypeObject *)PyList_GetItem(derived, i);
    if (PyTC_IsHeapType(subtype) || Py_TYPE((PyObject *)subtype) != from) continue;
    PyTC_SetType(subtype, to);
    PyTC_Retype(subtype, from, to);
  }
  Py_XDECREF(derived);
  PyTypedcall_RestoreError(saved);
}

// Makes the types plain again, so that they do not refer to objects of a dead interpreter.
static inline void PyTC_ForgetStatic(PyTC_StaticType *types) {
  while (types != NULL) {
    PyTC_StaticType *item = types;
    PyTypedcall_STORE_RELEASE(&item->data->magic, (uint64_t)0);
    const Py_ssize_t inherited = item->data->count - item->own_count;
    if (inherited > 0) {
      PyCustomSlot *table = item->data->table;
      memmove(table, table + inherited, (size_t)item->own_count * sizeof(*table));
      memset(table + item->own_count, 0, (size_t)inherited * sizeof(*table));
      item->data->count = item->own_count;
    }
    // Do not release the metaclass. Static types that inherited it have no reference of their own.
    PyTypeObject *metaclass = Py_TYPE((PyObject *)item->type);
    PyTC_SetType(item->type, &PyType_Type);
    PyTC_Retype(item->type, metaclass, &PyType_Type);
    // Else keep them: on 3.12 the next interpreter cannot enlarge this one's dictionary.
    if (PyTC_FREES_NAMES) PyTC_UnsetStatic(item);
    // Drop the type's version tag, because the next interpreter reuses tags for other types.
    PyType_Modified(item->type);
    types = item->next;
    PyTypedcall_RAW_FREE(item);
  }
}

// Checks count, table and capacity. Returns 0, or -1 with ValueError.
static inline int PyTC_CheckStatic(PyTypeObject *type, const PyExtensibleTypeData *data,
                                   Py_ssize_t capacity) {
  if (data->count < 0 || capacity < data->count || (capacity > 0 && data->table == NULL)) {
    return PyTC_Refuse(type, PyExc_ValueError,
                       "static type '%s': the slot table is missing or has less room than slots");
  }
  for (Py_ssize_t i = data->count; i < capacity; ++i) {
    if (data->table[i].id == PyCustomSlot_ID_EMPTY) continue;
    return PyTC_Refuse(
        type, PyExc_ValueError,
        "static type '%s': there are more slots in the table than etp_custom_slot_count");
  }
  return PyTC_ValidateOwn(type, data->table, data->count);
}

// Prepends the inherited slots of `type`, except those whose IDs it already has. Returns 0, or -1
// with MemoryError, or with ValueError if there is no room. On failure nothing changes.
static inline TYPEDCALL_COLD int PyTC_PrependInherited(PyTypeObject *metaclass, PyTypeObject *type,
                                                       PyExtensibleTypeData *data,
                                                       Py_ssize_t capacity) {
  PyObject *mro = PyTC_Mro(type);
  const Py_ssize_t own_count = data->count;
  Py_ssize_t most = 0, unused = 0;
  if (mro != NULL) (void)PyTC_FirstWithSlots(metaclass, mro, &most, &unused);
  void *room = PyMem_Calloc((size_t)most + 1, sizeof(PyCustomSlot));
  PyTC_Merge merge = {(PyCustomSlot *)room, 0, {NULL, 0, 0}};
  int result = -1;
  if (merge.slots == NULL || mro == NULL) {
    PyErr_NoMemory();
  } else {
    result = PyTC_IndexReserve(&merge.ids, own_count);
  }
  for (Py_ssize_t i = 0; result == 0 && i < own_count; ++i) {
    (void)PyTC_IndexAdd(&merge.ids, data->table[i].id, i);
  }
  for (Py_ssize_t i = 0; result == 0 && i < PyTuple_Size(mro); ++i) {
    PyObject *base = PyTuple_GetItem(mro, i);
    const PyExtensibleTypeData *from = PyTC_Settled(metaclass, base);
    if (from == NULL || base == (PyObject *)type) continue;
    result = PyTC_MergeSlots(&merge, from->table, from->count);
  }
  if (result == 0 && merge.count > capacity - own_count) {
    char name[PyTC_NAME_SIZE];
    PyErr_Format(PyExc_ValueError,
                 "static type '%s': %zd slots of its own and %zd inherited ones do not fit into a "
                 "table for %zd",
                 PyTC_Name(type, name), own_count, merge.count, capacity);
    result = -1;
  } else if (result == 0 && merge.count > 0) {
    memmove(data->table + merge.count, data->table, (size_t)own_count * sizeof(*merge.slots));
    memcpy(data->table, merge.slots, (size_t)merge.count * sizeof(*merge.slots));
    data->count += merge.count;
  }
  PyMem_Free(merge.ids.cells);
  PyMem_Free(merge.slots);
  Py_XDECREF(mro);
  return result;
}

// True if our metaclass derives from the metaclasses of all bases of `type`.
static inline int PyTC_MetaclassFits(PyTypeObject *metaclass, PyTypeObject *type) {
  PyObject *mro = PyTC_Mro(type);
  int fits = mro != NULL;
  for (Py_ssize_t i = 0; fits && i < PyTuple_Size(mro); ++i) {
    fits = PyType_IsSubtype(metaclass, Py_TYPE(PyTuple_GetItem(mro, i)));
  }
  Py_XDECREF(mro);
  return fits;
}

// Adds an attribute to the dictionary of a static type. Steals `value` (NULL if an exception is
// set). Returns 1, 0 if the attribute exists, or -1 with an exception set.
static inline int PyTC_SetStatic(PyTypeObject *type, const char *name, PyObject *value) {
  PyObject *existing = value != NULL ? PyTC_OwnAttribute(type, name) : NULL;
  int result = existing != NULL ? 0 : -1;
  if (existing == NULL && !PyErr_Occurred()) {
    PyObject *dict = PyTC_StaticDict(type);
    if (dict != NULL && PyDict_SetItemString(dict, name, value) == 0) result = 1;
    Py_XDECREF(dict);
  }
  Py_XDECREF(existing);
  Py_XDECREF(value);
  return result;
}

// Adds the attributes that an extensible static type needs. Returns 0, or -1 with an exception set.
static inline int PyTC_SetAttributes(PyTC_StaticType *item) {
  // If the type had no `__module__` of its own, pickle would look for it in our module.
  item->has_module =
      PyTC_SetStatic(item->type, "__module__", PyTC_TypeAttribute(item->type, "__module__"));
  if (item->has_module < 0) return -1;
  item->has_mark = PyTC_SetStatic(item->type, PyExtensibleType_READY_MARK,
                                  PyCapsule_New(item->type, PyExtensibleType_READY_NAME, NULL));
  if (item->has_mark < 0) return -1;
  // The type may have cached attributes that were found under the old metaclass.
  PyType_Modified(item->type);
  return 0;
}

// True if a type that derives from `type` was made ready first, and so did not inherit its slots.
static inline int PyTC_IsLate(const PyTC_StaticType *types, PyTypeObject *type) {
  while (types != NULL && !PyType_IsSubtype(types->type, type)) types = types->next;
  return types != NULL;
}

// Moves the buffer functions into the type itself, where PyTC_HasData expects them. The limited API
// hides the places, but in a heap type's head tp_as_buffer is the highest pointer into the head.
static inline void PyTC_OwnBuffer(PyTypeObject *type, PyTypeObject *heap, size_t head) {
  void **words = (void **)(void *)heap, **field = NULL;
  size_t highest = 0;
  for (size_t i = 0; i < head / sizeof(*words); ++i) {
    const size_t offset = (size_t)((uintptr_t)words[i] - (uintptr_t)heap);
    if (offset >= head || offset <= highest) continue;
    highest = offset;
    field = (void **)(void *)type + i;
  }
  void *own = (char *)type + highest;
  if (field == NULL || *field == own) return;
  if (*field != NULL) memcpy(own, *field, 2 * sizeof(void *));
  *field = own;
}

// See PyExtensibleType_Ready. `types` is the interpreter's list.
static inline TYPEDCALL_COLD int PyTC_ReadyStatic(PyTypeObject *metaclass, PyTC_StaticType **types,
                                                  PyTypeObject *type, Py_ssize_t capacity) {
#ifdef Py_LIMITED_API
  // PyObject_GetTypeData needs a type that already has the metaclass.
  const Py_ssize_t offset = PyTC_TypeDataOffset(metaclass);
  if (offset < 0) return -1;
  PyExtensibleTypeData *data = (PyExtensibleTypeData *)(void *)((char *)type + offset);
#else
  PyExtensibleTypeData *data = &PyTC_DataOf(metaclass, type)->shared;
#endif
  PyTypeObject *before = Py_TYPE((PyObject *)type);
  if (PyTC_IsHeapType(type)) {
    return PyTC_Refuse(type, PyExc_TypeError,
                       "type '%s' is not a static type: use PyExtensibleType_FromSpec");
  }
  // Other interpreters would share the static type's MRO, dictionary and slots.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    return PyTC_Refuse(type, PyExc_ImportError,
                       "static type '%s' can be made ready in the main interpreter only: use "
                       "PyExtensibleType_FromSpec");
  }
  if (before == metaclass && data->magic == PyExtensibleType_MAGIC) return 0;
  if (before != NULL && before != metaclass && !PyType_IsSubtype(metaclass, before)) {
    return PyTC_Refuse(type, PyExc_TypeError, "static type '%s' already has another metaclass");
  }
  if (PyTC_IsLate(*types, type)) {
    return PyTC_Refuse(type, PyExc_TypeError,
                       "static type '%s' must be made ready before the types that derive from it");
  }
#ifdef Py_TARGET_ABI3T
  if (PyTC_TypeField() < 0) return -1;
#endif
  const Py_ssize_t head = PyTC_BasicSize(&PyType_Type);
  if (head < 0 || PyTC_CheckStatic(type, data, capacity) < 0) return -1;
  PyTC_StaticType *item = (PyTC_StaticType *)PyTypedcall_RAW_CALLOC(1, sizeof(*item));
  if (item == NULL) return PyTC_NoMemory();
  item->type = type;
  item->data = data;
  item->own_count = data->count;
  PyTC_OwnBuffer(type, metaclass, (size_t)head);
  // Clear the magic, so that code that PyType_Ready runs sees an unresolved type.
  data->magic = 0;
  Py_INCREF((PyObject *)metaclass);
  PyTC_SetType(type, metaclass);
  int result = PyType_Ready(type);
  if (result == 0 && !PyTC_MetaclassFits(metaclass, type)) {
    result =
        PyTC_Refuse(type, PyExc_TypeError,
                    "static type '%s': a base has a metaclass that cannot be combined with ours");
  }
  if (result == 0) result = PyTC_SetAttributes(item);
  if (result == 0) result = PyTC_PrependInherited(metaclass, type, data, capacity);
  if (result < 0) {
    PyTypedcall_SavedError saved = PyTypedcall_SaveError();
    PyTC_UnsetStatic(item);
    PyTypedcall_RAW_FREE(item);
    PyType_Modified(type);
    // The type's bases now list it as a subclass, so it needs a metaclass.
    PyTC_SetType(type, before != NULL ? before : &PyType_Type);
    Py_DECREF((PyObject *)metaclass);
    PyTypedcall_RestoreError(saved);
    return -1;
  }
  item->next = *types;
  *types = item;
  // Derived static types lost our metaclass when an earlier interpreter ended.
  PyTC_Retype(type, &PyType_Type, metaclass);
  PyTypedcall_STORE_RELEASE(&data->magic, PyExtensibleType_MAGIC);
  return 0;
}

#endif  // TYPEDCALL_CORE_SLOTS_STATIC_TYPE_H_
