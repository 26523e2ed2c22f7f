// The consumer's side of SEP 200: looks up the custom slots of an object's type. Works for any
// object, without initialisation and without the GIL.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_CUSTOM_SLOTS_H_
#define TYPEDCALL_CORE_CUSTOM_SLOTS_H_

#include "core/interface.h"
#include "core/type_access.h"

/// The data of every extensible type. Constant once `magic` is set.
typedef struct PyExtensibleTypeData {
  Py_ssize_t count;
  PyCustomSlot *table;
  uint64_t magic;  ///< 0 until resolved; PyExtensibleType_MAGIC once count and table are final
} PyExtensibleTypeData;

#define PyExtensibleType_MAGIC UINT64_C(0xd1a0c5b3e7f42961)

/// The data that the metaclass adds to each heap type.
typedef struct PyExtensibleHeapTypeData {
  PyExtensibleTypeData shared;
  /// 0, or PyExtensibleType_KEY of the first slot's ID. Set once, after count and table.
  uint64_t key;
} PyExtensibleHeapTypeData;

/// Combines the magic with an ID, so that one comparison checks both.
#define PyExtensibleType_KEY(id) ((uint64_t)(id) ^ PyExtensibleType_MAGIC)

// alignof(max_align_t), which C99 lacks.
typedef struct PyTC_Alignment {
  char first;
  union {
    long double floating;
    long long integer;
  } most_aligned;
} PyTC_Alignment;
#define PyExtensibleType_ALIGNMENT offsetof(PyTC_Alignment, most_aligned)

/// The offset of PyExtensibleTypeData in a type, where PEP 697 puts it. Each 3.x has its own.
#define PyExtensibleType_DATA_OFFSET                                                          \
  ((sizeof(PyHeapTypeObject) + PyExtensibleType_ALIGNMENT - 1) / PyExtensibleType_ALIGNMENT * \
   PyExtensibleType_ALIGNMENT)

// Returns the slot with this ID, or NULL. `data` must be resolved or NULL.
static inline PyCustomSlot *PyTC_Among(const PyExtensibleTypeData *data, uintptr_t id,
                                       Py_ssize_t expected_pos) {
  if (data == NULL || id <= PyCustomSlot_ID_SKIP) return NULL;
  PyCustomSlot *table = data->table;
  const size_t count = (size_t)data->count;
  if (PyTypedcall_LIKELY((size_t)expected_pos < count && table[expected_pos].id == id)) {
    return &table[expected_pos];
  }
#if TYPEDCALL_IS_SUPPORTED
#pragma GCC unroll 8
#endif
  for (size_t i = 0; i < count; ++i) {
    if (table[i].id == id) return &table[i];
  }
  return NULL;
}

#if !TYPEDCALL_IS_SUPPORTED
static inline const PyExtensibleTypeData *PyTC_Data(PyTypeObject *type) {
  (void)type;
  return NULL;
}
#else

// Resolves a type for which the metaclass's __init__ has not run. Returns true on success. Needs
// the GIL, because another thread may change the MRO.
static inline TYPEDCALL_COLD int PyTC_ResolveHeld(PyTypeObject *type,
                                                  const PyExtensibleTypeData *data) {
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  // Finding the interface and reading the class body's slots can run code that releases the type.
  Py_INCREF((PyObject *)type);
  const PyTypedcall_Interface *interface = PyTypedcall_Peek();
  PyTypeObject *metaclass = interface != NULL ? interface->metaclass(interface->state) : NULL;
  const int is_ours = metaclass != NULL && PyType_IsSubtype(Py_TYPE((PyObject *)type), metaclass);
  const int failed = !is_ours || interface->resolve(interface->state, type, NULL, 0) != 0;
  if (failed) PyTC_PostponeInterrupt();
  const int found = !failed && PyTypedcall_LOAD_ACQUIRE(&data->magic) == PyExtensibleType_MAGIC &&
                    !PyTC_IsUnshared(type);
  Py_DECREF((PyObject *)type);
  PyTypedcall_RestoreError(saved);
  return found;
}

#ifndef Py_LIMITED_API  // core/custom_slots_limited.h is for the limited API

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"  // a header needs noinline functions to be `inline`
static inline TYPEDCALL_RARE int PyTC_ResolveNow(PyTypeObject *type,
                                                 const PyExtensibleTypeData *data) {
#ifndef Py_GIL_DISABLED  // free-threaded builds wait for the thread that resolves the type
  if (PyTypedcall_LOAD_RELAXED(&data->magic) != 0) return 0;
#endif
  return PyTypedcall_IsAttached() && PyTC_ResolveHeld(type, data);
}
#pragma GCC diagnostic pop

// True if a type with our metaclass has our data. A static type inherits our metaclass from an
// extensible base, but not the data. tp_as_buffer points into the type itself only in heap types
// and in static types that PyExtensibleType_Ready made ready.
static inline int PyTC_HasData(const PyTypeObject *type) {
  return PyTypedcall_LIKELY((const char *)type->tp_as_buffer ==
                            (const char *)type + offsetof(PyHeapTypeObject, as_buffer)) ||
         (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

// True if the type's members begin where our data would end. CPython puts a heap type's members
// after the metaclass's data, so such a type has room for our data. (A static type's members may be
// at that address by chance. The bytes before them are then readable, but not ours.)
static inline int PyTC_EndsAsOurs(const PyTypeObject *type) {
  return (const char *)type->tp_members ==
         (const char *)type + PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleHeapTypeData);
}

// True if the type has room for our data. Before PyType_Ready, a type may itself have no type.
static inline int PyTC_IsLargeEnough(PyTypeObject *type) {
  const PyTypeObject *metaclass = Py_TYPE(type);
  if (PyTypedcall_LIKELY(metaclass == &PyType_Type)) return 0;
  const size_t needed = PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleTypeData);
  return PyTC_HasData(type) && metaclass != NULL && metaclass->tp_basicsize >= (Py_ssize_t)needed;
}

// Returns the type's data. The type must have passed one of the checks above.
static inline const PyExtensibleHeapTypeData *PyTC_Bytes(const PyTypeObject *type) {
  return (const PyExtensibleHeapTypeData *)(const void *)((const char *)type +
                                                          PyExtensibleType_DATA_OFFSET);
}

// Like PyTC_Bytes, but resolves the type. Returns NULL if the type is not extensible.
static inline const PyExtensibleTypeData *PyTC_Resolved(PyTypeObject *type) {
  const PyExtensibleTypeData *data = &PyTC_Bytes(type)->shared;
  if (PyTypedcall_LIKELY(PyTypedcall_LOAD_ACQUIRE(&data->magic) == PyExtensibleType_MAGIC)) {
    return data;
  }
  return PyTC_ResolveNow(type, data) ? data : NULL;
}

// Returns the data of any type, or NULL if it is not extensible.
static inline const PyExtensibleTypeData *PyTC_Data(PyTypeObject *type) {
  if (!PyTC_EndsAsOurs(type) && !PyTC_IsLargeEnough(type)) return NULL;
  return PyTC_Resolved(type);
}

// Returns the first slot if it has this ID. NULL means that a full look-up is needed.
// PyTC_EndsAsOurs(type) must be true, and the ID must be valid.
static inline PyCustomSlot *PyTC_First(const PyTypeObject *type, uintptr_t id) {
  const PyExtensibleHeapTypeData *data = PyTC_Bytes(type);
  if (!PyTC_EqualsAcquire(&data->key, PyExtensibleType_KEY(id))) return NULL;
  if (data->shared.table == NULL) __builtin_unreachable();  // callers need no NULL check
  return data->shared.table;
}

// Like PyTC_First, for any position. GCC does not need this, because it inlines the search.
static inline PyCustomSlot *PyTC_Expected(const PyTypeObject *type, uintptr_t id,
                                          Py_ssize_t expected_pos) {
  const PyExtensibleTypeData *data = &PyTC_Bytes(type)->shared;
  if (PyTypedcall_LOAD_ACQUIRE(&data->magic) != PyExtensibleType_MAGIC) return NULL;
  if (id <= PyCustomSlot_ID_SKIP || (size_t)expected_pos >= (size_t)data->count) return NULL;
  return data->table[expected_pos].id == id ? &data->table[expected_pos] : NULL;
}

#endif  // Py_LIMITED_API
#endif  // TYPEDCALL_IS_SUPPORTED

#if !TYPEDCALL_IS_SUPPORTED || !defined(Py_LIMITED_API)

/// The functions below take any object to which the caller has a reference. They need no GIL and
/// set no exception. Without the GIL, the caller must also have a reference to the type, unless no
/// thread can assign to the object's `__class__`. A detached thread finds nothing on a type that is
/// not resolved yet. Results are valid while the type lives. Assigning to `__bases__` does not
/// change a type's slots. Source: SEP 200, "Consumer API".

/// Returns 1 if the type of `obj` is extensible, else 0. An extensible type may have no slots.
static inline int PyCustomSlots_Check(PyObject *obj) { return PyTC_Data(Py_TYPE(obj)) != NULL; }

/// Returns the length of the slot table, including skipped positions, or 0 if there is no table.
static inline Py_ssize_t PyCustomSlots_Count(PyObject *obj) {
  const PyExtensibleTypeData *data = PyTC_Data(Py_TYPE(obj));
  return data != NULL ? data->count : 0;
}

/// Returns the slot table, or NULL if the type is not extensible or its table is empty.
static inline PyCustomSlot *PyCustomSlots_Table(PyObject *obj) {
  const PyExtensibleTypeData *data = PyTC_Data(Py_TYPE(obj));
  return data != NULL ? data->table : NULL;
}

#if !TYPEDCALL_IS_SUPPORTED
static inline PyCustomSlot *PyCustomSlots_Find(PyObject *obj, uintptr_t id,
                                               Py_ssize_t expected_pos) {
  (void)obj, (void)id, (void)expected_pos;
  return NULL;
}
#else
static inline PyTypedcall_RARE_PART PyCustomSlot *PyTC_Search(PyTypeObject *type, uintptr_t id,
                                                              Py_ssize_t expected_pos) {
  return PyTC_Among(PyTC_Resolved(type), id, expected_pos);
}

/// Returns the slot with this ID, or NULL (always for 0 and 1). `expected_pos` is tried first.
static inline PyTypedcall_QUICK_PART PyCustomSlot *PyCustomSlots_Find(PyObject *obj, uintptr_t id,
                                                                      Py_ssize_t expected_pos) {
  PyTypeObject *type = Py_TYPE(obj);
  if (PyTypedcall_RATHER(PyTC_EndsAsOurs(type))) {
    PyCustomSlot *there = PyTypedcall_IS_CUT && expected_pos != 0
                              ? PyTC_Expected(type, id, expected_pos)
                          : expected_pos == 0 && PyCustomSlot_IsValidID(id) ? PyTC_First(type, id)
                                                                            : NULL;
    if (PyTypedcall_LIKELY(there != NULL)) return there;
  } else if (!PyTC_IsLargeEnough(type)) {
    return NULL;
  }
  return PyTC_Search(type, id, expected_pos);
}
#endif

#endif
#endif  // TYPEDCALL_CORE_CUSTOM_SLOTS_H_
