// The struct that separately compiled modules of one interpreter share, and how to look for it.
// Installing it is core/rendezvous.h's work. Source: docs/ABI.md, section 5.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_INTERFACE_H_
#define TYPEDCALL_CORE_INTERFACE_H_

#include "core/slot_id.h"

#ifdef PYPY_VERSION
#error "typedcall: on PyPy there are providers only: no slots on types, no C or C++ consumers"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PyTypedcall_MODULE "_extensibletype"
/// Until the first release it changes with each field that moves or goes, and so does
/// PyTypedcall_AWAITED_NAME, whose struct holds this one: a stale build must not take it for its
/// own.
#define PyTypedcall_CAPSULE "typedcall_v2"
#define PyTypedcall_CAPSULE_NAME PyTypedcall_MODULE "." PyTypedcall_CAPSULE
#define PyTypedcall_ABI_MAJOR 1
#define PyTypedcall_ABI_MINOR 0
/// Bytes of version 1.0's PyTypedcall_Interface, whatever later versions append to it.
#define PyTypedcall_INTERFACE_SIZE_1_0 120

/// In the `__dict__` of a tagged object: what its tag keeps, of a type of the interface's. While
/// the object has no other tag, what takes it away takes the tag away, too.
#define PyTypedcall_KEPT_NAME "__typedcall_kept__"

/// What a row of the side table is keyed by, and what its value then is.
enum PyTypedcall_Space {
  PyTypedcall_BY_TYPE = 0,    ///< a type that cannot take our metaclass: PyForeignSlots_Table *
  PyTypedcall_BY_DEF = 1,     ///< a PyMethodDef: const PyNativeCallableTable *
  PyTypedcall_BY_OBJECT = 2,  ///< one object: const PyNativeCallableTable *
  PyTypedcall_MERGED_BY_TYPE = 3,  ///< a type's BY_TYPE rows and those of its bases, merged
  PyTypedcall_SPACES = 4
};

/// Totals since the interface was installed, over all spaces.
typedef struct PyTypedcall_Counters {
  uint64_t rows_added;
  uint64_t rows_removed;  ///< by untagging, or because the last owner died
  uint64_t conflicts;     ///< a second, different value offered for a key
  uint64_t generations;   ///< arrays made; each is kept until the interpreter ends
} PyTypedcall_Counters;

/// One per interpreter, append-only from the first release on: a newer minor version adds functions
/// behind the last one and raises `size`. Every function but `find` needs the GIL; all take `state`
/// as their first argument.
typedef struct PyTypedcall_Interface {
  uint16_t abi_major, abi_minor;
  uint32_t size;  ///< bytes of this struct as its installer knows it
  void *state;

  /// The interpreter's one metaclass. Borrowed; NULL, without an exception, once the interpreter
  /// has let go of its own dictionary, which is near its very end.
  PyTypeObject *(*metaclass)(void *state);

  /// Gives `type`, an instance of the metaclass, its slots: `own_count` of its own, and those of
  /// its bases by MRO order. With own_count 0 they are those of the class body, `__customslots__`.
  /// Once per type: on a resolved type with own_count 0 it does nothing.
  /// Returns 0, or -1 with ValueError (an ID that is invalid or occurs twice), TypeError (not an
  /// instance of the metaclass, static and not ready, a malformed `__customslots__`), SystemError
  /// (own slots for a resolved type, no table or a negative count), MemoryError, or what a
  /// `__customslots__` other than a dict, list or tuple raised.
  int (*resolve)(void *state, PyTypeObject *type, const PyCustomSlot *own, Py_ssize_t own_count);

  /// The value published for `key`, or NULL. Takes no lock and no reference, needs no GIL, sets no
  /// exception. The value stays valid while an owner of the row lives; whoever does not know that
  /// one does, or runs Python code before the last use of the value, asks `hold`.
  const void *(*find)(void *state, int space, const void *key);

  /// What is published for `key`, in `*value`, and a new reference to an object that keeps it valid
  /// until it dies: the row, what was given to keep with it, one of its owners, and `callable`
  /// (may be NULL), behind which the caller has found the key. The garbage collector sees owner and
  /// callable there. NULL and a NULL `*value`, without an exception, when nothing is published or
  /// its last owner is dying; with MemoryError where there is none. May collect garbage.
  PyObject *(*hold)(void *state, int space, const void *key, PyObject *callable,
                    const void **value);

  /// Publishes `value` for `key` while `owner` lives. `equal` (may be NULL: only the same address
  /// is equal) says whether an existing value says the same as the offered one; it must not use the
  /// interface nor run Python code. `kept` (may be NULL) is kept as long as the row's value is
  /// needed, also when an equal value is there; of an exact tuple, its items. The owner itself is
  /// not kept: the row would never go. Returns
  ///  - 1: `value` is there now; or it was there already and has one owner more, and was not taken
  ///    again;
  ///  - 0: another one that is equal is there and has one owner more; `value` was not taken;
  ///  - PyTypedcall_CAME_BACK: nothing was there, an equal one that this owner had and that was
  ///    retracted is there again; `value` was not taken;
  ///  - PyTypedcall_CONFLICT, without an exception: another one that is not equal is there, and
  ///    nothing has changed (what only has owners that are dying is no conflict: it goes now);
  ///  - -1 with TypeError when `owner` cannot be weakly referenced (only a row BY_OBJECT whose
  ///    `key` is its owner then keeps it alive until retracted), ValueError for an unknown space or
  ///    a NULL, RuntimeError while the interpreter ends, or MemoryError.
  /// `destroy` (may be NULL) is called once for each time that a value was taken: when its row's
  /// last owner has died, retracted or not, or at the interpreter's end when the row has an owner
  /// or never had one that dies, and the last reference of `hold` has gone; it must not use the
  /// interface. A value without one must be valid for as long.
  int (*publish)(void *state, int space, const void *key, PyObject *owner, const void *value,
                 int (*equal)(const void *existing, const void *offered),
                 void (*destroy)(const void *value), PyObject *kept);

  /// Publishes `value` for `key` while `owner` lives, in place of `expected`, which is not NULL, if
  /// that is there, whoever owns it: readers find the one or the other. The old value is kept while
  /// an owner of its own lives. Not for BY_OBJECT. Returns 1; 0 when something else or nothing is
  /// there, and `value` was not taken; or -1 with an exception as `publish`; `destroy` is as there.
  /// With `expected` itself as `value` nothing changes.
  int (*exchange)(void *state, int space, const void *key, PyObject *owner, const void *expected,
                  const void *value, void (*destroy)(const void *value));

  /// Removes the row for `key`, whoever owns it. Returns 1, or 0 when there is none. Never fails.
  int (*retract)(void *state, int space, const void *key);

  /// What the sibling symbol of `def` offers: what `read` says of it, remembered. Looking for a
  /// symbol takes microseconds, and most defs have none. `read` is the caller's own: it calls no
  /// Python code, and what it returns is valid as long as the shared object that has the def. Sets
  /// no exception.
  const void *(*sibling)(void *state, const PyMethodDef *def,
                         const void *(*read)(const PyMethodDef *def));

  /// Fills the first `size` bytes of a PyTypedcall_Counters, as many as the installer has.
  void (*counters)(void *state, PyTypedcall_Counters *out, size_t size);

  /// The totals themselves, which change while one looks: for who asks each time whether any row
  /// has come or gone. To be read with atomic loads, the field, too (it changes when an awaited
  /// interface is installed: core/await.h); by any thread, without the GIL.
  const PyTypedcall_Counters *live_counters;

  /// The slot ID that belongs to `name` in this interpreter, given out now if nobody has asked
  /// before. 0 with ValueError (no name, or all 2^23 IDs are taken), UnicodeDecodeError (the name
  /// is not UTF-8), RuntimeError while the interpreter ends, or MemoryError.
  uintptr_t (*slot_id)(void *state, const char *name);

  /// See PyExtensibleType_Ready. `type` is followed by its PyExtensibleTypeData.
  int (*ready_static)(void *state, PyTypeObject *type, Py_ssize_t slot_table_size);

  /// See PyExtensibleType_CombinedMetaclass. `metaclasses` is a tuple.
  PyTypeObject *(*combined_metaclass)(void *state, PyObject *metaclasses);
} PyTypedcall_Interface;

/// See PyTypedcall_Interface.publish.
#define PyTypedcall_CONFLICT (-2)
#define PyTypedcall_CAME_BACK 2

/// Is this interface one that this header's version can use? GIL: none.
static inline int PyTypedcall_IsUsable(const PyTypedcall_Interface *interface) {
  return interface != NULL && interface->abi_major == PyTypedcall_ABI_MAJOR &&
         interface->size >= PyTypedcall_INTERFACE_SIZE_1_0;
}

#if TYPEDCALL_IS_SUPPORTED
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"  // inline only because it is in a header
#endif

// What is under `name` in `dict`, which may be NULL or no dictionary: a new reference, or NULL.
// Sets no exception and, unlike PyDict_GetItemString, reports none to sys.unraisablehook; a
// KeyboardInterrupt comes again.
static inline TYPEDCALL_RARE PyObject *PyTypedcall_Internal_Look(PyObject *dict, const char *name) {
  if (dict == NULL || !PyDict_Check(dict)) return NULL;
  // Comparing keys can run Python code, and that can let go of the dictionary.
  Py_INCREF(dict);
  PyObject *key = PyUnicode_FromString(name);
  PyObject *value = key != NULL ? PyTypedcall_Internal_GetItem(dict, key) : NULL;
  if (PyErr_Occurred()) PyTypedcall_Internal_PostponeInterrupt();
  PyErr_Clear();
  Py_XDECREF(key);
  Py_DECREF(dict);
  return value;
}

// What is where the interface is looked for: a new reference, or NULL without an exception.
static inline PyObject *PyTypedcall_Internal_Existing(void) {
  // The interpreter's own dictionary first: assignments in Python do not reach it.
  PyObject *capsule = PyTypedcall_Internal_Look(
      PyInterpreterState_GetDict(PyInterpreterState_Get()), PyTypedcall_CAPSULE_NAME);
  if (capsule == NULL) {
    PyObject *module = PyTypedcall_Internal_Look(PySys_GetObject("modules"), PyTypedcall_MODULE);
    if (module != NULL && PyModule_Check(module)) {
      capsule = PyTypedcall_Internal_Look(PyModule_GetDict(module), PyTypedcall_CAPSULE);
    }
    Py_XDECREF(module);
  }
  return capsule;
}

/// The interface of the calling interpreter if some module has installed it and it is of our major
/// version, else NULL. Installs nothing, sets no exception, keeps a pending one. GIL: held.
/// Borrowed; valid until the interpreter ends.
static inline TYPEDCALL_RARE const PyTypedcall_Interface *PyTypedcall_Peek(void) {
  if (!TYPEDCALL_IS_SUPPORTED) return NULL;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  const PyTypedcall_Interface *interface = NULL;
  PyObject *capsule = PyTypedcall_Internal_Existing();
  if (capsule != NULL && PyCapsule_IsValid(capsule, PyTypedcall_CAPSULE_NAME)) {
    interface =
        (const PyTypedcall_Interface *)PyCapsule_GetPointer(capsule, PyTypedcall_CAPSULE_NAME);
  }
  Py_XDECREF(capsule);
  PyTypedcall_RestoreError(saved);
  return PyTypedcall_IsUsable(interface) ? interface : NULL;
}

#if TYPEDCALL_IS_SUPPORTED
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_INTERFACE_H_
