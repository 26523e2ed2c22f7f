// The struct that the modules of one interpreter share, and how to find it. core/rendezvous.h
// installs it. Source: docs/ABI.md, section 5.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_INTERFACE_H_
#define TYPEDCALL_CORE_INTERFACE_H_

#include "core/slot_id.h"

#ifdef PYPY_VERSION
#error "typedcall: on PyPy there are providers only: no slots on types, no C or C++ consumers"
#endif

#define PyTypedcall_MODULE "_extensibletype"
/// Until the first release, change this name and PyTypedcall_PLACEHOLDER_NAME whenever a field of
/// the interface moves or is removed. A stale build then finds nothing.
#define PyTypedcall_CAPSULE "typedcall_v2"
#define PyTypedcall_CAPSULE_NAME PyTypedcall_MODULE "." PyTypedcall_CAPSULE
#define PyTypedcall_ABI_MAJOR 1
#define PyTypedcall_ABI_MINOR 0
/// The size in bytes of PyTypedcall_Interface 1.0; later versions append to the struct.
#define PyTypedcall_INTERFACE_SIZE_1_0 120

/// The key of the keeper in a tagged object's `__dict__`. The keeper holds the objects that the tag
/// keeps alive. Removing the keeper removes the tag, unless the object has another tag.
#define PyTypedcall_KEEPER_NAME "__typedcall_keeper__"

/// The kinds of keys in the side table, with the types of their values.
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

/// Each interpreter has one interface. From the first release on, newer minor versions only add
/// functions at the end. All functions except `find` need the GIL. Each takes `state` first.
typedef struct PyTypedcall_Interface {
  uint16_t abi_major, abi_minor;
  uint32_t size;  ///< bytes of the installer's version of this struct
  void *state;

  /// Returns the metaclass (borrowed), or NULL with no exception set at the interpreter's very end.
  PyTypeObject *(*metaclass)(void *state);

  /// Gives `type`, an instance of the metaclass, `own_count` slots of its own and the slots of its
  /// bases (docs/ABI.md, 1.11 to 1.17). If the type is already resolved, a call with own_count 0
  /// does nothing. Returns 0, or -1 with an exception set (docs/ABI.md, section 5).
  int (*resolve)(void *state, PyTypeObject *type, const PyCustomSlot *own, Py_ssize_t own_count);

  /// Returns the value published for `key`, or NULL. Takes no lock and no reference, needs no GIL,
  /// and sets no exception. Valid as docs/ABI.md, 5.6, says; else call `hold`.
  const void *(*find)(void *state, int space, const void *key);

  /// Stores the value published for `key` in `*value`, and returns a new reference to an object
  /// that keeps the value and `callable` (may be NULL) alive. NULL, perhaps with MemoryError: 5.7.
  PyObject *(*hold)(void *state, int space, const void *key, PyObject *callable,
                    const void **value);

  /// Publishes `value` for `key` while `owner` lives, and keeps `kept` (NULL, an object or a tuple
  /// of objects) alive while the value is needed, even if an equal value exists. Returns 1, 0 if an
  /// equal value is published, PyTypedcall_REPUBLISHED or PyTypedcall_CONFLICT with no exception
  /// set, or -1 with an exception set: docs/ABI.md, 5.12 and 5.13. The table takes `value` only if
  /// the result is 1 and `value` was not published before. `destroy` (may be NULL) is called once
  /// for each value taken, when no reference from `hold` is left and the row's last owner has died
  /// or the interpreter ends. A value without `destroy` must stay valid until then. Neither `equal`
  /// nor `destroy` may use the interface.
  int (*publish)(void *state, int space, const void *key, PyObject *owner, const void *value,
                 int (*equal)(const void *existing, const void *offered),
                 void (*destroy)(const void *value), PyObject *kept);

  /// Publishes `value` instead of `expected`. Returns 1, 0 if `expected` is not published, or -1
  /// with an exception set: docs/ABI.md, 5.15. `destroy` works as in `publish`.
  int (*exchange)(void *state, int space, const void *key, PyObject *owner, const void *expected,
                  const void *value, void (*destroy)(const void *value));

  /// Removes the row for `key`, whatever its owner. Returns 1, or 0 if there is none. Cannot fail.
  int (*retract)(void *state, int space, const void *key);

  /// Returns `read(def)`, and caches it. `read` looks for the sibling symbol of `def`, must not run
  /// Python code, and its result must be valid as long as `def`'s shared object. No exception.
  const void *(*sibling)(void *state, const PyMethodDef *def,
                         const void *(*read)(const PyMethodDef *def));

  /// Copies at most `size` bytes of the counters to `out`.
  void (*counters)(void *state, PyTypedcall_Counters *out, size_t size);

  /// The live counters. Any thread may read them without the GIL. Load them, and this field,
  /// atomically, because the field changes when an interface is installed (core/lazy_import.h).
  const PyTypedcall_Counters *live_counters;

  /// See PyCustomSlot_IDByName.
  uintptr_t (*slot_id)(void *state, const char *name);

  /// See PyExtensibleType_Ready. `type` is followed by its PyExtensibleTypeData.
  int (*ready_static)(void *state, PyTypeObject *type, Py_ssize_t slot_table_size);

  /// See PyExtensibleType_CombinedMetaclass. `metaclasses` is a tuple.
  PyTypeObject *(*combined_metaclass)(void *state, PyObject *metaclasses);
} PyTypedcall_Interface;

/// See PyTypedcall_Interface.publish.
#define PyTypedcall_CONFLICT (-2)
#define PyTypedcall_REPUBLISHED 2

/// True if this version of the header can use the interface. GIL: none.
static inline int PyTypedcall_IsUsable(const PyTypedcall_Interface *interface) {
  return interface != NULL && interface->abi_major == PyTypedcall_ABI_MAJOR &&
         interface->size >= PyTypedcall_INTERFACE_SIZE_1_0;
}

// Returns a new reference to `dict[name]`, or NULL. `dict` may be any object or NULL. Sets no
// exception; postpones a KeyboardInterrupt. PyDict_GetItemString would call sys.unraisablehook.
static inline TYPEDCALL_COLD PyObject *PyTC_Look(PyObject *dict, const char *name) {
  if (dict == NULL || !PyDict_Check(dict)) return NULL;
  // Comparing keys can run Python code, which can release the dictionary.
  Py_INCREF(dict);
  PyObject *key = PyUnicode_FromString(name);
  PyObject *value = key != NULL ? PyTC_GetItem(dict, key) : NULL;
  PyTC_PostponeInterrupt();
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
  // Look in the interpreter's own dictionary first, because Python code has no name for it.
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

/// Returns the calling interpreter's interface, or NULL if none is installed or it has another
/// major version. Sets and clears no exception. GIL: held. Valid until the interpreter ends.
static inline TYPEDCALL_COLD const PyTypedcall_Interface *PyTypedcall_Peek(void) {
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

#endif  // TYPEDCALL_CORE_INTERFACE_H_
