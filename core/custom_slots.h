// The consumer's side of SEP 200: which custom slots does the type of an object offer?
// No initialisation call, no GIL, no tp_flags bit; safe for every object.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_CUSTOM_SLOTS_H_
#define TYPEDCALL_CORE_CUSTOM_SLOTS_H_

#include "core/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The data that the metaclass adds to every type it makes. Constant once `magic` is set.
typedef struct PyExtensibleTypeData {
  Py_ssize_t count;
  PyCustomSlot *table;
  uint64_t magic;  ///< 0: not resolved yet; PyExtensibleType_MAGIC: count and table are final
} PyExtensibleTypeData;

#define PyExtensibleType_MAGIC UINT64_C(0xd1a0c5b3e7f42961)

/// What heap types have. Their metaclass's size is where this ends.
typedef struct PyExtensibleHeapTypeData {
  PyExtensibleTypeData shared;
  /// PyExtensibleType_KEY of the ID at position 0, constant once it is set, after count and table.
  /// 0: it says nothing.
  uint64_t key;
} PyExtensibleHeapTypeData;

/// Of two facts one word: that it was written by us, and which ID is there.
#define PyExtensibleType_KEY(id) ((uint64_t)(id) ^ PyExtensibleType_MAGIC)

// alignof(max_align_t) for C99 and C++ alike.
typedef struct PyExtensibleType_Internal_Alignment {
  char first;
  union {
    long double floating;
    long long integer;
    void *pointer;
    void (*function)(void);
  } most_aligned;
} PyExtensibleType_Internal_Alignment;
#define PyExtensibleType_ALIGNMENT offsetof(PyExtensibleType_Internal_Alignment, most_aligned)

/// Bytes from the start of a type object to its PyExtensibleTypeData: where PEP 697 puts the data
/// of a metaclass derived from `type`. It depends on the CPython minor version compiled for.
#define PyExtensibleType_DATA_OFFSET                                                          \
  ((sizeof(PyHeapTypeObject) + PyExtensibleType_ALIGNMENT - 1) / PyExtensibleType_ALIGNMENT * \
   PyExtensibleType_ALIGNMENT)

#if !TYPEDCALL_IS_SUPPORTED
// No type has slots there.
static inline const PyExtensibleTypeData *PyExtensibleType_Internal_Data(PyTypeObject *type) {
  (void)type;
  return NULL;
}
static inline int PyCustomSlots_Check(PyObject *obj) {
  (void)obj;
  return 0;
}
static inline Py_ssize_t PyCustomSlots_Count(PyObject *obj) {
  (void)obj;
  return 0;
}
static inline PyCustomSlot *PyCustomSlots_Table(PyObject *obj) {
  (void)obj;
  return NULL;
}
static inline PyCustomSlot *PyCustomSlots_Find(PyObject *obj, uintptr_t id,
                                               Py_ssize_t expected_pos) {
  (void)obj, (void)id, (void)expected_pos;
  return NULL;
}
#elif !defined(Py_LIMITED_API)  // for which core/custom_slots_limited.h has the functions

// The metaclass resolves each type that it makes. A type that bypasses it (type.__new__, a look-up
// inside __init_subclass__, a derived metaclass that does not call super().__init__) is resolved
// here. That needs the GIL: without it another thread may change the MRO meanwhile.
//
// Out of line: inlined, it slows down loops that never call it. Still `inline`, so that a program
// that never calls it links without libpython.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
static inline __attribute__((noinline, cold)) int PyExtensibleType_Internal_ResolveNow(
    PyTypeObject *type, const PyExtensibleTypeData *data) {
#ifndef Py_GIL_DISABLED  // there, another thread may be about to settle it: wait for that
  if (PyTypedcall_LOAD_RELAXED(&data->magic) != 0) return 0;
#endif
  if (!PyTypedcall_IsAttached()) return 0;
  const PyTypedcall_Interface *interface = PyTypedcall_Peek();
  if (interface == NULL) return 0;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (metaclass == NULL || !PyType_IsSubtype(Py_TYPE(type), metaclass)) return 0;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  // Reading the class body's slots can run code that lets go of the type.
  Py_INCREF((PyObject *)type);
  const int failed = interface->resolve(interface->state, type, NULL, 0);
  if (failed) PyTypedcall_Internal_PostponeInterrupt();
  const int found = !failed && PyTypedcall_LOAD_ACQUIRE(&data->magic) == PyExtensibleType_MAGIC &&
                    Py_REFCNT((PyObject *)type) > 1;
  Py_DECREF((PyObject *)type);
  PyTypedcall_RestoreError(saved);
  return found;
}
#pragma GCC diagnostic pop

// Does the type end with our data, if its metaclass is ours? An ordinary static type whose base is
// extensible has our metaclass, too, for CPython gives it that. But tp_as_buffer points to the
// struct behind the type in heap types, where CPython puts it, and in static ones that
// PyExtensibleType_Ready has seen; other static types have their own, or inherit the pointer.
static inline int PyExtensibleType_Internal_HasData(const PyTypeObject *type) {
  return PyTypedcall_LIKELY((const char *)type->tp_as_buffer ==
                            (const char *)type + offsetof(PyHeapTypeObject, as_buffer)) ||
         (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

// Does the metaclass's data end where that of ours does? CPython puts the members of a heap type
// there, so one look at the type tells that it has the data itself and that all of it is there.
// (The members of a static type stand anywhere. If they happen to be here, less than a page
// behind the type, what lies in between can be read, and is neither magic nor key.)
static inline int PyExtensibleType_Internal_EndsAsOurs(const PyTypeObject *type) {
  return (const char *)type->tp_members ==
         (const char *)type + PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleHeapTypeData);
}

// The same for all others: types that have no members, static types, types of larger metaclasses.
// Most types that come to this have no slots.
static inline int PyExtensibleType_Internal_IsLargeEnough(PyTypeObject *type) {
  // The metaclass's size says whether the bytes are there at all, the magic whether they are ours.
  return !PyTypedcall_LIKELY(
             Py_TYPE(type)->tp_basicsize <
             (Py_ssize_t)(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleTypeData))) &&
         PyExtensibleType_Internal_HasData(type);
}

// Where the data of a type is that has as many bytes.
static inline const PyExtensibleHeapTypeData *PyExtensibleType_Internal_Bytes(
    const PyTypeObject *type) {
  return (const PyExtensibleHeapTypeData *)(const void *)((const char *)type +
                                                          PyExtensibleType_DATA_OFFSET);
}

// What such a type offers, or NULL when it is not extensible.
static inline const PyExtensibleTypeData *PyExtensibleType_Internal_Resolved(PyTypeObject *type) {
  const PyExtensibleTypeData *data = &PyExtensibleType_Internal_Bytes(type)->shared;
  if (PyTypedcall_LIKELY(PyTypedcall_LOAD_ACQUIRE(&data->magic) == PyExtensibleType_MAGIC)) {
    return data;
  }
  return PyExtensibleType_Internal_ResolveNow(type, data) ? data : NULL;
}

// What `type` offers, or NULL when it is not extensible.
static inline const PyExtensibleTypeData *PyExtensibleType_Internal_Data(PyTypeObject *type) {
  if (!PyExtensibleType_Internal_EndsAsOurs(type) &&
      !PyExtensibleType_Internal_IsLargeEnough(type)) {
    return NULL;
  }
  return PyExtensibleType_Internal_Resolved(type);
}

// The slot at position 0 of a type that ends as ours, if it has that ID, which is a valid one.
// NULL: it has not, or only the rest of the look-up can tell.
static inline PyCustomSlot *PyExtensibleType_Internal_First(const PyTypeObject *type,
                                                            uintptr_t id) {
  const PyExtensibleHeapTypeData *data = PyExtensibleType_Internal_Bytes(type);
  if (!PyTypedcall_Internal_EqualsAcquire(&data->key, PyExtensibleType_KEY(id))) return NULL;
  if (data->shared.table == NULL) __builtin_unreachable();  // callers need not ask
  return data->shared.table;
}

// The same at another position, if the type is resolved. GCC does without: it inlines the search.
static inline PyCustomSlot *PyExtensibleType_Internal_Expected(const PyTypeObject *type,
                                                               uintptr_t id,
                                                               Py_ssize_t expected_pos) {
  const PyExtensibleTypeData *data = &PyExtensibleType_Internal_Bytes(type)->shared;
  if (PyTypedcall_LOAD_ACQUIRE(&data->magic) != PyExtensibleType_MAGIC) return NULL;
  if (id <= PyCustomSlot_ID_SKIP || (size_t)expected_pos >= (size_t)data->count) return NULL;
  return data->table[expected_pos].id == id ? &data->table[expected_pos] : NULL;
}

/// For all functions below: `obj` is any object; the caller has a reference to it. They need no GIL
/// and set no exception. But a thread without the GIL must have a reference to the type as well, or
/// know that nobody assigns to the object's `__class__` meanwhile: the object may be all that keeps
/// the old class alive. A thread without an attached thread state finds nothing on a type that
/// nobody has resolved yet. Results are valid while the type lives. The slots are those of the
/// type's creation: assigning to its `__bases__` afterwards changes none of them.
/// Source: SEP 200, "Consumer API".

/// 1 when the type of `obj` can have custom slots (perhaps it has none), else 0.
static inline int PyCustomSlots_Check(PyObject *obj) {
  return PyExtensibleType_Internal_Data(Py_TYPE(obj)) != NULL;
}

/// The length of the slot table, skipped positions included; 0 when the type is not extensible.
static inline Py_ssize_t PyCustomSlots_Count(PyObject *obj) {
  const PyExtensibleTypeData *data = PyExtensibleType_Internal_Data(Py_TYPE(obj));
  return data != NULL ? data->count : 0;
}

/// The slot table; NULL when the type is not extensible or its table is empty.
static inline PyCustomSlot *PyCustomSlots_Table(PyObject *obj) {
  const PyExtensibleTypeData *data = PyExtensibleType_Internal_Data(Py_TYPE(obj));
  return data != NULL ? data->table : NULL;
}

// The look-up in a type that has the data, if that is resolved.
static inline PyTypedcall_RARE_PART PyCustomSlot *PyExtensibleType_Internal_Search(
    PyTypeObject *type, uintptr_t id, Py_ssize_t expected_pos) {
  const PyExtensibleTypeData *data = PyExtensibleType_Internal_Resolved(type);
  if (data == NULL || id <= PyCustomSlot_ID_SKIP) return NULL;
  PyCustomSlot *table = data->table;
  const size_t count = (size_t)data->count;
  if (PyTypedcall_LIKELY((size_t)expected_pos < count && table[expected_pos].id == id)) {
    return &table[expected_pos];
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < count; ++i) {
    if (table[i].id == id) return &table[i];
  }
  return NULL;
}

/// The slot with that ID, or NULL; never one with the special IDs 0 and 1. The position where it is
/// expected (any value is safe) is looked at first, the rest of the table only after that.
static inline PyTypedcall_QUICK_PART PyCustomSlot *PyCustomSlots_Find(PyObject *obj, uintptr_t id,
                                                                      Py_ssize_t expected_pos) {
  PyTypeObject *type = Py_TYPE(obj);
  if (PyTypedcall_RATHER(PyExtensibleType_Internal_EndsAsOurs(type))) {
    PyCustomSlot *there = PyTypedcall_IS_CUT && expected_pos != 0
                              ? PyExtensibleType_Internal_Expected(type, id, expected_pos)
                          : expected_pos == 0 && PyCustomSlot_IsValidID(id)
                              ? PyExtensibleType_Internal_First(type, id)
                              : NULL;
    if (PyTypedcall_LIKELY(there != NULL)) return there;
  } else if (!PyExtensibleType_Internal_IsLargeEnough(type)) {
    return NULL;
  }
  return PyExtensibleType_Internal_Search(type, id, expected_pos);
}

#endif

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_CUSTOM_SLOTS_H_
