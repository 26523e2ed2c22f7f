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
  uint64_t magic;  ///< 0 until resolved; PyExtensibleType_MAGIC once count and table are final
} PyExtensibleTypeData;

#define PyExtensibleType_MAGIC UINT64_C(0xd1a0c5b3e7f42961)

/// The data of heap types, at the end of each instance of our metaclass.
typedef struct PyExtensibleHeapTypeData {
  PyExtensibleTypeData shared;
  /// 0, or PyExtensibleType_KEY of the ID at position 0; set once, after count and table.
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
/// from `type`. Depends on the minor version of CPython that the module is compiled for.
#define PyExtensibleType_DATA_OFFSET                                                          \
  ((sizeof(PyHeapTypeObject) + PyExtensibleType_ALIGNMENT - 1) / PyExtensibleType_ALIGNMENT * \
   PyExtensibleType_ALIGNMENT)

// Returns the slot with this ID in resolved data, which may be NULL; returns NULL for special IDs.
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

// Resolves a type that the metaclass has not resolved: one made by type.__new__, looked up inside
// __init_subclass__, or made by a derived metaclass that does not call super().__init__. Needs the
// GIL, because another thread could otherwise change the MRO. True if the type has slots now.
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

#ifndef Py_LIMITED_API  // core/custom_slots_limited.h is for the limited API

// Not inlined, because inlining would slow down loops that never call it. Still declared `inline`,
// so that a program that never calls it links without libpython.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
static inline TYPEDCALL_RARE int PyTC_ResolveNow(PyTypeObject *type,
                                                 const PyExtensibleTypeData *data) {
#ifndef Py_GIL_DISABLED  // free-threaded builds wait for the thread that resolves the type
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

// True if a type whose metaclass is ours ends with our data. An ordinary static type with an
// extensible base also has our metaclass, because CPython passes it on. But tp_as_buffer points to
// the struct behind the type only in heap types, where CPython puts it, and in static types that
// PyExtensibleType_Ready made ready; others have their own struct or inherit the pointer.
static inline int PyTC_HasData(const PyTypeObject *type) {
  return PyTypedcall_LIKELY((const char *)type->tp_as_buffer ==
                            (const char *)type + offsetof(PyHeapTypeObject, as_buffer)) ||
         (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

// True if the type's members begin where our data would end. CPython puts a heap type's members
// behind its metaclass's data, so this comparison shows that the type has room for ours. (A static
// type's members can be anywhere. If they happen to begin there, the bytes in between, less than a
// page, are readable but not ours.)
static inline int PyTC_EndsAsOurs(const PyTypeObject *type) {
  return (const char *)type->tp_members ==
         (const char *)type + PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleHeapTypeData);
}

// The general check, for types without members, static types and types with larger metaclasses.
static inline int PyTC_IsLargeEnough(PyTypeObject *type) {
  // The metaclass's size shows whether the bytes exist, and the magic whether they are ours.
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

// Returns the data of a type that passed a check above; NULL if the type is not extensible.
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

// Returns the slot at position 0 if it has this ID; NULL if it has another ID or only the full
// look-up can tell. PyTC_EndsAsOurs(type) must be true and the ID valid.
static inline PyCustomSlot *PyTC_First(const PyTypeObject *type, uintptr_t id) {
  const PyExtensibleHeapTypeData *data = PyTC_Bytes(type);
  if (!PyTC_EqualsAcquire(&data->key, PyExtensibleType_KEY(id))) return NULL;
  if (data->shared.table == NULL) __builtin_unreachable();  // callers need no NULL check
  return data->shared.table;
}

// PyTC_First for any position of a resolved type; GCC inlines the search and does not need this.
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

/// The functions below take any object `obj` to which the caller has a reference. They need no GIL
/// and set no exception. But a thread without the GIL must also have a reference to the type, or
/// know that no thread assigns to the object's `__class__` meanwhile, because the object may be all
/// that keeps its old class alive. A thread without an attached thread state finds nothing on a
/// type that is not resolved yet. Results are valid while the type lives. The slots are fixed when
/// the type is made; assigning to its `__bases__` changes none. Source: SEP 200, "Consumer API".

/// Returns 1 if the type of `obj` can have custom slots, even if it has none, else 0.
static inline int PyCustomSlots_Check(PyObject *obj) { return PyTC_Data(Py_TYPE(obj)) != NULL; }

/// Returns the length of the slot table, including skipped positions; 0 if the type has no table.
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
// Resolves a type that has our data, and searches its slots.
static inline PyTypedcall_RARE_PART PyCustomSlot *PyTC_Search(PyTypeObject *type, uintptr_t id,
                                                              Py_ssize_t expected_pos) {
  return PyTC_Among(PyTC_Resolved(type), id, expected_pos);
}

/// Returns the slot with this ID, or NULL; never a slot with one of the special IDs 0 and 1. Looks
/// at `expected_pos` (any value is safe) before it searches the table.
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
