// Defines the entry of a native function and the table of entries. All other headers store, find or
// use such tables. Source: SEP 201, and docs/ABI.md, section 3, for the flag bits.
#include "core/version.h"

#ifndef TYPEDCALL_NATIVE_CALLABLE_H_
#define TYPEDCALL_NATIVE_CALLABLE_H_

#include "core/slot_id.h"
#include "typedcall/signature/native_type.h"

#ifndef PYPY_VERSION  // PyPy has no custom slots
#include "core/custom_slots.h"
#include "core/type_access.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// An entry for one native function. Published entries never change.
typedef struct PyNativeCallableEntry {
  const char *signature;  ///< canonical (typedcall/signature.h) and NUL-terminated
  uintptr_t flags;        ///< PyNativeCallable_* below; bits above the 32nd must be zero
  void *funcptr;          ///< its C type follows from the signature and the flags
} PyNativeCallableEntry;

/// A list of entries. Several entries are overloads, which are tried in this order.
typedef struct PyNativeCallableTable {
  Py_ssize_t count;
  PyNativeCallableEntry entries[1];  ///< has `count` elements
} PyNativeCallableTable;

/// Bits 31-24 are the ABI version. Entries with a version other than 0 are ignored.
#define PyNativeCallable_ABI_MASK ((uintptr_t)0xff000000u)

// These bits are mandatory. A consumer that cannot handle one of them must not use the entry.

/// The caller must have an attached thread state (the GIL, if there is one).
#define PyNativeCallable_NEEDS_THREAD ((uintptr_t)0x0001)
/// The function takes the GIL itself, so the caller must be able to release the GIL.
#define PyNativeCallable_ACQUIRES_GIL ((uintptr_t)0x0002)
/// If the function sets an exception, it returns the error value. The error value is -1 for signed
/// integers, all ones for unsigned integers, -1.0 for floating types, and NULL for pointers and
/// objects. If no exception is set, the error value is an ordinary result. Requires NEEDS_THREAD.
#define PyNativeCallable_MAY_RAISE ((uintptr_t)0x0004)
/// The error value is -0.0. Requires MAY_RAISE and a double result. Only functions in PyPy's layout
/// have this flag.
#define PyNativeCallable_ERROR_IS_NEG_ZERO ((uintptr_t)0x0008)
/// The C result is an int, which is nonzero if an exception is set. The value is stored through the
/// last argument, which is a pointer in the signature. Requires NEEDS_THREAD.
#define PyNativeCallable_RETURNS_STATUS ((uintptr_t)0x0010)
/// The first C argument is `PyObject *self`, which is not part of the signature. The caller must
/// check the type of self.
#define PyNativeCallable_TAKES_SELF ((uintptr_t)0x0020)
/// errno is part of the result.
#define PyNativeCallable_SETS_ERRNO ((uintptr_t)0x0040)
/// For some arguments, the function and the Python callable have different results. For example,
/// libm returns nan where `math` raises. Only consumers that accept such differences may use the
/// entry.
#define PyNativeCallable_DIFFERS ((uintptr_t)0x0080)
/// The C result is an int. If it is 0, the value was stored through the last argument, as with
/// RETURNS_STATUS. If it is nonzero, the function had no effect and set no exception. The caller
/// must then ignore the value, and call the Python callable with the same arguments. Excludes
/// MAY_RAISE and RETURNS_STATUS.
#define PyNativeCallable_FALLS_BACK ((uintptr_t)0x0100)

/// All mandatory bits.
#define PyNativeCallable_MANDATORY_MASK ((uintptr_t)0xffff)

// The following bits are hints and may be ignored.

/// The function may run in several threads at once.
#define PyNativeCallable_THREAD_SAFE ((uintptr_t)0x010000)
/// The same arguments always give the same result, without side effects.
#define PyNativeCallable_PURE ((uintptr_t)0x020000)
/// The function does not block.
#define PyNativeCallable_SHORT ((uintptr_t)0x040000)

/// The flags in the order of their bits, as X(NAME, WORDS). WORDS describes a mandatory flag that
/// is set, or a hint that is not set.
#define PyNativeCallable_FLAG_LIST(X)            \
  X(NEEDS_THREAD, "needs the GIL")               \
  X(ACQUIRES_GIL, "takes the GIL")               \
  X(MAY_RAISE, "may raise")                      \
  X(ERROR_IS_NEG_ZERO, "error is -0.0")          \
  X(RETURNS_STATUS, "returns a status")          \
  X(TAKES_SELF, "takes self")                    \
  X(SETS_ERRNO, "sets errno")                    \
  X(DIFFERS, "differs from the Python callable") \
  X(FALLS_BACK, "may fall back")                 \
  X(THREAD_SAFE, "is not thread-safe")           \
  X(PURE, "is not pure")                         \
  X(SHORT, "may block")

/// The mandatory bits that are defined so far.
#define PyNativeCallable_KNOWN_MASK                                          \
  (((uintptr_t)0 PyNativeCallable_FLAG_LIST(PyNativeCallable_Internal_OR)) & \
   PyNativeCallable_MANDATORY_MASK)
#define PyNativeCallable_Internal_OR(NAME, WORDS) | PyNativeCallable_##NAME

/// The ID of the custom slot for the table of an instance. `objoffset` is the offset of a
/// `PyNativeCallableTable *` in the instance. Source: SEP 201.
#define PYCUSTOMSLOT_NATIVECALLABLE_ID PyCustomSlot_ID_NATIVECALLABLE
#define PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS 0

// The flags of functions whose C result is a status, and the flags that say how a C function
// reports the outcome.
#define PyNativeCallable_Internal_STATUS_MASK \
  (PyNativeCallable_RETURNS_STATUS | PyNativeCallable_FALLS_BACK)
#define PyNativeCallable_Internal_OUTCOME_MASK                       \
  (PyNativeCallable_MAY_RAISE | PyNativeCallable_ERROR_IS_NEG_ZERO | \
   PyNativeCallable_Internal_STATUS_MASK)

/// True if an entry with these flags is usable with some result type. False if a version or
/// mandatory bit is unknown, if a bit above the 32nd is set, or if the flags contradict each other.
/// May be called from any thread and interpreter without the GIL. Calls no Python function.
PyNative_INLINE int PyNativeCallable_FlagsAreUsable(uintptr_t flags) {
  const uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_RETURNS_STATUS;
  const uintptr_t fails = raises | PyNativeCallable_ERROR_IS_NEG_ZERO;
  if (flags > UINT32_MAX || (flags & PyNativeCallable_ABI_MASK) != 0) return 0;
  if ((flags & PyNativeCallable_MANDATORY_MASK & ~PyNativeCallable_KNOWN_MASK) != 0) return 0;
  if ((flags & PyNativeCallable_Internal_OUTCOME_MASK) == 0) return 1;
  if ((flags & PyNativeCallable_FALLS_BACK) != 0) return (flags & fails) == 0;
  if ((flags & PyNativeCallable_ERROR_IS_NEG_ZERO) != 0 &&
      (flags & raises) != PyNativeCallable_MAY_RAISE) {
    return 0;
  }
  return (flags & PyNativeCallable_NEEDS_THREAD) != 0;
}

/// True if an entry with these flags and this result type is usable. The result of a function that
/// returns a status or falls back must be an int. The result of a function that may raise must have
/// an error value. May be called from any thread and interpreter without the GIL. Calls no Python
/// function. Source: docs/ABI.md, 3.
PyNative_INLINE int PyNativeCallable_IsWellFormed(uintptr_t flags, PyNativeType result) {
  const PyNativeType status = {PyNativeType_INT, 0};
  if (!PyNativeCallable_FlagsAreUsable(flags)) return 0;
  if ((flags & PyNativeCallable_Internal_STATUS_MASK) != 0) {
    return PyNativeType_Equivalent(result, status);
  }
  if ((flags & PyNativeCallable_ERROR_IS_NEG_ZERO) != 0) {
    return result.code == PyNativeType_DOUBLE && !result.pointer_flags;
  }
  return (flags & PyNativeCallable_MAY_RAISE) == 0 ||
         PyNativeKind_HasErrorValue(PyNativeType_Kind(result));
}

#ifndef Py_LIMITED_API
// Returns a new reference to the attribute that `type` has or inherits, unbound. Returns NULL with
// MemoryError set, or with no exception set if there is no such attribute. Holds the type and its
// bases, because a key of a namespace may have an `__eq__` that releases them. A static type that
// was never made ready has no MRO; the look-up makes it ready. The functions Py_IncRef and
// Py_DecRef keep every consumer smaller than the macros would. GIL: held.
static inline TYPEDCALL_COLD PyObject *PyNativeCallable_Internal_Inherited(PyTypeObject *type,
                                                                           const char *name) {
  PyObject *key = PyUnicode_FromString(name), *found = NULL;
  if (key == NULL) return NULL;
  Py_IncRef((PyObject *)type);
#ifdef PYPY_VERSION  // its look-up holds the bases
  found = _PyType_Lookup(type, key);
  Py_IncRef(found);
#else
  PyObject *mro = PyTC_Mro(type);
  if (mro != NULL || PyErr_Occurred() == NULL) {
#ifdef Py_GIL_DISABLED
    found = _PyType_LookupRef(type, key);
#else
    found = _PyType_Lookup(type, key);
    Py_IncRef(found);
#endif
  }
  Py_DecRef(mro);
#endif
  Py_DecRef((PyObject *)type);
  Py_DecRef(key);
  return found;
}
#endif

// With the limited API, core/custom_slots_limited.h finds the slot.
#if !defined(Py_LIMITED_API) && !defined(PYPY_VERSION)
/// Returns the table of an instance whose type has the native-callable slot, or NULL. The table is
/// valid while the instance lives, because code that replaces a table must keep the old one for
/// readers (see typedcall/native_callable_slot.h). GIL: not needed, but the caller must hold a
/// reference to `object`. Sets no exception. Source: SEP 201.
static inline const PyNativeCallableTable *PyNativeCallable_InstanceTable(PyObject *object) {
  const PyCustomSlot *slot = PyCustomSlots_Find(object, PYCUSTOMSLOT_NATIVECALLABLE_ID,
                                                PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS);
  if (slot == NULL) return NULL;
  const PyNativeCallableTable *const *where =
      (const PyNativeCallableTable *const *)(const void *)((const char *)object +
                                                           slot->data.objoffset);
  return PyTypedcall_LOAD_ACQUIRE(where);
}

#if TYPEDCALL_IS_SUPPORTED
// True if `type` has the `__call__` of the slot's owner, the last type in the MRO with the slot.
// The `__call__` attributes are compared, because all classes with a `__call__` in Python have the
// same tp_call. Also false if a type in between has its own slot and `__call__`, which only costs
// speed. Holds the type: the look-ups may run Python code that releases it.
static inline TYPEDCALL_COLD int PyNativeCallable_Internal_SlotIsCalled(PyTypeObject *type) {
  int is_called = 0;
  const PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  Py_IncRef((PyObject *)type);
  PyObject *mro = PyTC_Mro(type);
  if (mro != NULL) {
    PyTypeObject *owner = type;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
      const PyExtensibleTypeData *data = PyTC_Data(base);
      for (Py_ssize_t at = 0; data != NULL && at < data->count; ++at) {
        if (data->table[at].id == PYCUSTOMSLOT_NATIVECALLABLE_ID) owner = base;
      }
    }
    is_called = owner == type && type->tp_call != NULL;
    if (owner != type) {
      PyObject *own = PyNativeCallable_Internal_Inherited(owner, "__call__");
      PyObject *found = own != NULL ? PyNativeCallable_Internal_Inherited(type, "__call__") : NULL;
      is_called = own != NULL && own == found && owner->tp_call == type->tp_call;
      Py_DecRef(own);
      Py_DecRef(found);
    }
    Py_DecRef(mro);
  }
  Py_DecRef((PyObject *)type);
  PyTypedcall_RestoreError(saved);
  return is_called;
}
#else
static inline int PyNativeCallable_Internal_SlotIsCalled(PyTypeObject *type) {
  (void)type;
  return 0;
}
#endif

/// Returns the instance's table, or NULL if there is none or a subclass overrides `__call__`. GIL:
/// held. Keeps a pending exception and sets none. Source: docs/ABI.md, section 1.
static inline const PyNativeCallableTable *PyNativeCallable_CallTable(PyObject *object) {
  const PyNativeCallableTable *table = PyNativeCallable_InstanceTable(object);
  return table != NULL && PyNativeCallable_Internal_SlotIsCalled(Py_TYPE(object)) ? table : NULL;
}
#endif

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_NATIVE_CALLABLE_H_
