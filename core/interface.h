// The struct that separately compiled modules of one interpreter share, and how to find it.
// core/rendezvous.h installs it. Source: docs/ABI.md, section 5.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_INTERFACE_H_
#define TYPEDCALL_CORE_INTERFACE_H_

#include "core/slot_id.h"

#ifdef PYPY_VERSION
#error "typedcall: on PyPy there are providers only: no slots on types, no C or C++ consumers"
#endif

#define PyTypedcall_MODULE "_extensibletype"
/// Until the first release this name changes whenever a field moves or is removed, so that no stale
/// build uses the interface. So does PyTypedcall_AWAITED_NAME, whose struct contains the interface.
#define PyTypedcall_CAPSULE "typedcall_v2"
#define PyTypedcall_CAPSULE_NAME PyTypedcall_MODULE "." PyTypedcall_CAPSULE
#define PyTypedcall_ABI_MAJOR 1
#define PyTypedcall_ABI_MINOR 0
/// The size in bytes of PyTypedcall_Interface 1.0; later versions append to the struct.
#define PyTypedcall_INTERFACE_SIZE_1_0 120

/// The key in a tagged object's `__dict__` for its keeper, which holds what the tag keeps alive.
/// Removing the keeper removes the tag, unless the object has another tag.
#define PyTypedcall_KEPT_NAME "__typedcall_kept__"

/// The kinds of keys in the side table, each with the type of its values.
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
  uint64_t rows_removed;  ///< rows that were retracted or replaced, or whose last owner died
  uint64_t conflicts;     ///< offers of a different value for a published key
  uint64_t generations;   ///< arrays allocated; all are kept until the interpreter ends
} PyTypedcall_Counters;

/// Each interpreter has one. From the first release on it is append-only: a newer minor version
/// adds functions at the end and increases `size`. Every function but `find` needs the GIL. The
/// first argument of every function is `state`.
typedef struct PyTypedcall_Interface {
  uint16_t abi_major, abi_minor;
  uint32_t size;  ///< bytes of the installer's version of this struct
  void *state;

  /// Returns the interpreter's only metaclass (borrowed), or NULL with no exception set once the
  /// interpreter, at its very end, has released its own dictionary.
  PyTypeObject *(*metaclass)(void *state);

  /// Gives `type`, an instance of the metaclass, `own_count` slots of its own and those of its
  /// bases in MRO order. If own_count is 0, the type's own slots are those in `__customslots__` of
  /// its class body. For a type that is already resolved, a call with own_count 0 does nothing.
  /// Returns 0, or -1 with ValueError (an ID that is invalid or occurs twice), TypeError (a type
  /// that is not an instance of the metaclass or is static and not ready, or a malformed
  /// `__customslots__`), SystemError (own slots for a resolved type, no table, or a negative
  /// count), MemoryError, or what a `__customslots__` that is not a dict, list or tuple raises.
  int (*resolve)(void *state, PyTypeObject *type, const PyCustomSlot *own, Py_ssize_t own_count);

  /// Returns the value published for `key`, or NULL. Takes no lock and no reference, needs no GIL,
  /// and sets no exception. The value is valid while an owner of the row lives. Call `hold` instead
  /// unless you know that an owner lives and run no Python code before the last use of the value.
  const void *(*find)(void *state, int space, const void *key);

  /// Stores the value published for `key` in `*value`, and returns a new reference to an object
  /// that keeps the value valid. This object holds the row, what was given to keep with it, an
  /// owner, and `callable` (may be NULL), through which the caller found the key; the garbage
  /// collector sees the last two in it. Returns NULL and sets `*value` to NULL: with no exception
  /// if nothing is published or the last owner is dying, or with MemoryError. May collect garbage.
  PyObject *(*hold)(void *state, int space, const void *key, PyObject *callable,
                    const void **value);

  /// Publishes `value` for `key` while `owner` lives. `equal` returns true if an existing value
  /// means the same as the offered one; it must not use the interface or run Python code. If it is
  /// NULL, values are equal only if their addresses are. `kept` (may be NULL; for an exact tuple,
  /// its items) is kept as long as the row's value is needed, even if an equal value exists. The
  /// owner itself is not kept, because the row would then never be removed. Returns
  ///  - 1 if `value` is published; if it already was, it has one more owner and was not taken
  ///  again;
  ///  - 0 if an equal value is published, which has one more owner now; `value` was not taken;
  ///  - PyTypedcall_CAME_BACK if nothing was published, and an equal value of this owner that was
  ///    retracted is published again; `value` was not taken;
  ///  - PyTypedcall_CONFLICT, with no exception set, if a different value is published; nothing has
  ///    changed (a value whose owners are all dying does not conflict, but is removed now);
  ///  - -1 with TypeError if `owner` cannot be weakly referenced (but a row BY_OBJECT whose `key`
  ///  is
  ///    its owner then keeps the owner alive until retracted), ValueError for an unknown space or a
  /// NULL argument, RuntimeError while the interpreter ends, or MemoryError. `destroy` (may be
  /// NULL) is called once for each value taken, after the last reference from `hold` is gone and
  /// either the row's last owner has died, even if the row was retracted before, or the interpreter
  /// ends. It must not use the interface. A value without `destroy` must stay valid until then.
  int (*publish)(void *state, int space, const void *key, PyObject *owner, const void *value,
                 int (*equal)(const void *existing, const void *offered),
                 void (*destroy)(const void *value), PyObject *kept);

  /// If `expected` (not NULL) is published for `key`, by any owner, publishes `value` in its place
  /// while `owner` lives. Readers find one or the other. The old value is kept while one of its own
  /// owners lives. Does not support BY_OBJECT. Returns 1 if `value` is published; 0, without taking
  /// `value`, if `expected` was not published; or -1 with an exception set, as `publish` does.
  /// `destroy` works as in `publish`. If `value` is `expected`, nothing changes.
  int (*exchange)(void *state, int space, const void *key, PyObject *owner, const void *expected,
                  const void *value, void (*destroy)(const void *value));

  /// Removes the row for `key`, whatever its owner. Returns 1, or 0 if there is none. Cannot fail.
  int (*retract)(void *state, int space, const void *key);

  /// Returns `read(def)` and caches it. `read` looks for the sibling symbol of `def`, which takes
  /// microseconds, and most defs have none. The caller's `read` must not run Python code, and its
  /// result must be valid as long as the shared object that contains `def`. Sets no exception.
  const void *(*sibling)(void *state, const PyMethodDef *def,
                         const void *(*read)(const PyMethodDef *def));

  /// Fills the first `size` bytes of `out`, or as many as the installer's PyTypedcall_Counters has.
  void (*counters)(void *state, PyTypedcall_Counters *out, size_t size);

  /// The live totals, for callers that often check whether any row was added or removed. Load them,
  /// and this field, atomically, because the field changes when an awaited interface is installed
  /// (core/await.h). Any thread may read them without the GIL.
  const PyTypedcall_Counters *live_counters;

  /// Returns the slot ID of `name` in this interpreter, allocated at the first call. Returns 0 with
  /// ValueError (no name, or all 2^23 IDs are taken), UnicodeDecodeError (the name is not UTF-8),
  /// RuntimeError while the interpreter ends, or MemoryError.
  uintptr_t (*slot_id)(void *state, const char *name);

  /// See PyExtensibleType_Ready. `type` is followed by its PyExtensibleTypeData.
  int (*ready_static)(void *state, PyTypeObject *type, Py_ssize_t slot_table_size);

  /// See PyExtensibleType_CombinedMetaclass. `metaclasses` is a tuple.
  PyTypeObject *(*combined_metaclass)(void *state, PyObject *metaclasses);
} PyTypedcall_Interface;

/// See PyTypedcall_Interface.publish.
#define PyTypedcall_CONFLICT (-2)
#define PyTypedcall_CAME_BACK 2

/// True if this version of the header can use the interface. GIL: none.
static inline int PyTypedcall_IsUsable(const PyTypedcall_Interface *interface) {
  return interface != NULL && interface->abi_major == PyTypedcall_ABI_MAJOR &&
         interface->size >= PyTypedcall_INTERFACE_SIZE_1_0;
}

#if TYPEDCALL_IS_SUPPORTED
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"  // a header needs noinline functions to be `inline`
#endif

// Returns a new reference to the value of `name` in `dict`, or NULL; `dict` may be any object or
// NULL. Sets no exception and, unlike PyDict_GetItemString, reports none to sys.unraisablehook.
// Raises a KeyboardInterrupt later.
static inline TYPEDCALL_RARE PyObject *PyTC_Look(PyObject *dict, const char *name) {
  if (dict == NULL || !PyDict_Check(dict)) return NULL;
  // Comparing keys can run Python code, which can release the dictionary.
  Py_INCREF(dict);
  PyObject *key = PyUnicode_FromString(name);
  PyObject *value = key != NULL ? PyTC_GetItem(dict, key) : NULL;
  if (PyErr_Occurred()) PyTC_PostponeInterrupt();
  PyErr_Clear();
  Py_XDECREF(key);
  Py_DECREF(dict);
  return value;
}

// Returns the interpreter's own dictionary, borrowed, or NULL with an exception set.
static inline PyObject *PyTC_OwnDict(void) {
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (kept == NULL && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_ImportError, "typedcall: this interpreter has no dictionary");
  }
  return kept;
}

// Returns a new reference to the object stored as the interface, or NULL with no exception set.
static inline PyObject *PyTC_Existing(void) {
  // Look in the interpreter's own dictionary first, because Python assignments do not reach it.
  PyObject *capsule =
      PyTC_Look(PyInterpreterState_GetDict(PyInterpreterState_Get()), PyTypedcall_CAPSULE_NAME);
  if (capsule == NULL) {
    PyObject *module = PyTC_Look(PySys_GetObject("modules"), PyTypedcall_MODULE);
    if (module != NULL && PyModule_Check(module)) {
      capsule = PyTC_Look(PyModule_GetDict(module), PyTypedcall_CAPSULE);
    }
    Py_XDECREF(module);
  }
  return capsule;
}

/// Returns the calling interpreter's interface if a module has installed it and it has our major
/// version, else NULL. Installs nothing, sets no exception, and keeps a pending one. GIL: held.
/// Borrowed; valid until the interpreter ends.
static inline TYPEDCALL_RARE const PyTypedcall_Interface *PyTypedcall_Peek(void) {
  if (!TYPEDCALL_IS_SUPPORTED) return NULL;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  const PyTypedcall_Interface *interface = NULL;
  PyObject *capsule = PyTC_Existing();
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
#endif  // TYPEDCALL_CORE_INTERFACE_H_
