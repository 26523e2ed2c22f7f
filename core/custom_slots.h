// The consumer's side of SEP 200: looks up the custom slots of an object's type. Needs no
// initialisation call, no GIL and no tp_flags bit; safe for every object.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_CUSTOM_SLOTS_H_
#define TYPEDCALL_CORE_CUSTOM_SLOTS_H_

#include "core/interface.h"
#include "core/type_access.h"

/// The data that the metaclass adds to every type it makes. Constant once `magic` is set.
typedef struct PyExtensibleTypeData {
  Py_ssize_t count;
  PyCustomSlot *table;
  uint64_t magic;  ///< 0: not resolved yet; PyExtensibleType_MAGIC: count and table are final
} PyExtensibleTypeData;

#define PyExtensibleType_MAGIC UINT64_C(0xd1a0c5b3e7f42961)

/// The data of heap types. It ends where the instances of their metaclass do.
typedef struct PyExtensibleHeapTypeData {
  PyExtensibleTypeData shared;
  /// PyExtensibleType_KEY of the ID at position 0; set after count and table, then constant; or 0.
  uint64_t key;
} PyExtensibleHeapTypeData;

/// One word encodes two facts: the data are ours, and slot 0 has this ID.
#define PyExtensibleType_KEY(id) ((uint64_t)(id) ^ PyExtensibleType_MAGIC)

// alignof(max_align_t) for C99 and C++ alike.
typedef struct PyTC_Alignment {
  char first;
  union {
    long double floating;
    long long integer;
  } most_aligned;
} PyTC_Alignment;
#define PyExtensibleType_ALIGNMENT offsetof(PyTC_Alignment, most_aligned)

/// The offset of a type's PyExtensibleTypeData, where PEP 697 puts the data of a metaclass derived
/// from `type`. Depends on the CPython minor version compiled for.
#define PyExtensibleType_DATA_OFFSET                                                          \
  ((sizeof(PyHeapTypeObject) + PyExtensibleType_ALIGNMENT - 1) / PyExtensibleType_ALIGNMENT * \
   PyExtensibleType_ALIGNMENT)

// Returns the slot with this ID in resolved data (may be NULL); NULL for the special IDs.
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
// No type has slots there.
static inline const PyExtensibleTypeData *PyTC_Data(PyTypeObject *type) {
  (void)type;
  return NULL;
}
#else

// Resolves a type that bypassed the metaclass, which resolves each type it makes: type.__new__, a
// look-up inside __init_subclass__, a derived metaclass that does not call super().__init__. Needs
// the GIL, because another thread may otherwise change the MRO. True if the type has slots now.
static inline TYPEDCALL_COLD int PyTC_ResolveHeld(const PyTypedcall_Interface *interface,
                                                  PyTypeObject *type,
                                                  const PyExtensibleTypeData *data) {
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  // Reading the class body's slots can run code that releases the type.
  Py_INCREF((PyObject *)type);
  const int failed = interface->resolve(interface->state, type, NULL, 0);
  if (failed) PyTC_PostponeInterrupt();
  const int found = !failed && PyTypedcall_LOAD_ACQUIRE(&data->magic) == PyExtensibleType_MAGIC &&
                    !PyTC_IsUnshared(type);
  Py_DECREF((PyObject *)type);
  PyTypedcall_RestoreError(saved);
  return found;
}

#ifndef Py_LIMITED_API  // core/custom_slots_limited.h has the functions for it

// Out of line, because inlining it slows down loops that never call it. Still `inline`, so that a
// program that never calls it links without libpython.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
static inline TYPEDCALL_RARE int PyTC_ResolveNow(PyTypeObject *type,
                                                 const PyExtensibleTypeData *data) {
#ifndef Py_GIL_DISABLED  // there, wait for another thread that is about to settle it
  if (PyTypedcall_LOAD_RELAXED(&data->magic) != 0) return 0;
#endif
  if (!PyTypedcall_IsAttached()) return 0;
  const PyTypedcall_Interface *interface = PyTypedcall_Peek();
  if (interface == NULL) return 0;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (metaclass == NULL || !PyType_IsSubtype(Py_TYPE(type), metaclass)) return 0;
  return PyTC_ResolveHeld(interface, type, data);
}
#pragma GCC diagnostic pop

// True if the type ends with our data, given that its metaclass is ours. An ordinary static type
// with an extensible base has our metaclass, too, because CPython passes it on. But tp_as_buffer
// points to the struct behind the type only in heap types, where CPython puts it, and in static
// types made ready by PyExtensibleType_Ready; others have their own struct or inherit the pointer.
static inline int PyTC_HasData(const PyTypeObject *type) {
  return PyTypedcall_LIKELY((const char *)type->tp_as_buffer ==
                            (const char *)type + offsetof(PyHeapTypeObject, as_buffer)) ||
         (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

// True if the metaclass's data end where ours would. CPython puts a heap type's members there, so
// one look at the type shows that it has all of the data. (A static type's members can be anywhere.
// If they happen to be here, the bytes in between, less than a page, are readable, and not ours.)
static inline int PyTC_EndsAsOurs(const PyTypeObject *type) {
  return (const char *)type->tp_members ==
         (const char *)type + PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleHeapTypeData);
}

// The general check: types without members, static types, larger metaclasses. Most have no slots.
static inline int PyTC_IsLargeEnough(PyTypeObject *type) {
  // The metaclass's size shows whether the bytes exist, the magic whether they are ours.
  return !PyTypedcall_LIKELY(
             Py_TYPE(type)->tp_basicsize <
             (Py_ssize_t)(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleTypeData))) &&
         PyTC_HasData(type);
}

// Returns the type's data; the caller has checked its size.
static inline const PyExtensibleHeapTypeData *PyTC_Bytes(const PyTypeObject *type) {
  return (const PyExtensibleHeapTypeData *)(const void *)((const char *)type +
                                                          PyExtensibleType_DATA_OFFSET);
}

// Returns such a type's data; NULL if it is not extensible.
static inline const PyExtensibleTypeData *PyTC_Resolved(PyTypeObject *type) {
  const PyExtensibleTypeData *data = &PyTC_Bytes(type)->shared;
  if (PyTypedcall_LIKELY(PyTypedcall_LOAD_ACQUIRE(&data->magic) == PyExtensibleType_MAGIC)) {
    return data;
  }
  return PyTC_ResolveNow(type, data) ? data : NULL;
}

// Returns the data of any type; NULL if it is not extensible.
static inline const PyExtensibleTypeData *PyTC_Data(PyTypeObject *type) {
  if (!PyTC_EndsAsOurs(type) && !PyTC_IsLargeEnough(type)) return NULL;
  return PyTC_Resolved(type);
}

// Returns the slot at position 0 of a type that ends as ours, if it has this valid ID. NULL if it
// has not, or only the full look-up can tell.
static inline PyCustomSlot *PyTC_First(const PyTypeObject *type, uintptr_t id) {
  const PyExtensibleHeapTypeData *data = PyTC_Bytes(type);
  if (!PyTC_EqualsAcquire(&data->key, PyExtensibleType_KEY(id))) return NULL;
  if (data->shared.table == NULL) __builtin_unreachable();  // spares callers the check
  return data->shared.table;
}

// The same for another position of a resolved type. GCC does not need it: it inlines the search.
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

/// For all functions below: `obj` is any object; the caller has a reference to it. They need no GIL
/// and set no exception. But a thread without the GIL must also have a reference to the type, or
/// know that no thread assigns to the object's `__class__` meanwhile: only the object may be
/// keeping the old class alive. A thread without an attached thread state finds nothing on a type
/// that is not resolved yet. Results are valid while the type lives. The slots are fixed when the
/// type is made: assigning to its `__bases__` changes none. Source: SEP 200, "Consumer API".

/// Returns 1 if the type of `obj` can have custom slots, even if it has none, else 0.
static inline int PyCustomSlots_Check(PyObject *obj) { return PyTC_Data(Py_TYPE(obj)) != NULL; }

/// Returns the length of the slot table with its skipped positions; 0 if the type has none.
static inline Py_ssize_t PyCustomSlots_Count(PyObject *obj) {
  const PyExtensibleTypeData *data = PyTC_Data(Py_TYPE(obj));
  return data != NULL ? data->count : 0;
}

/// Returns the slot table; NULL if the type is not extensible or its table is empty.
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
// Resolves a type that has the data, and searches it.
static inline PyTypedcall_RARE_PART PyCustomSlot *PyTC_Search(PyTypeObject *type, uintptr_t id,
                                                              Py_ssize_t expected_pos) {
  return PyTC_Among(PyTC_Resolved(type), id, expected_pos);
}

/// Returns the slot with that ID, or NULL; never one with the special IDs 0 and 1. Tries
/// `expected_pos` (any value is safe) before it searches the table.
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
