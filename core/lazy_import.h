// How consumers get the interface without installing it. They use a placeholder until a provider
// installs the interface. Source: docs/ABI.md, section 5.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_LAZY_IMPORT_H_
#define TYPEDCALL_CORE_LAZY_IMPORT_H_

#include "core/interface.h"
#include "core/rendezvous/def_memory.h"
#include "core/type_access.h"

#include <string.h>

#define PyTypedcall_PLACEHOLDER_NAME PyTypedcall_MODULE ".typedcall_placeholder_v2"

/// The struct in the capsule PyTypedcall_PLACEHOLDER_NAME in the interpreter's own dictionary. Made
/// by the first consumer that finds no interface. Never freed. Only the last field may grow.
typedef struct PyTypedcall_Placeholder {
  const PyTypedcall_Interface *installed;  ///< NULL before an installation; accessed atomically
  PyInterpreterState *interpreter;         ///< the owner
  Py_ssize_t searched_length;              ///< length of the owner's dictionary at the last search
  /// The placeholder. All functions except `sibling` forward to `installed`. If that is NULL,
  /// functions that read find nothing, and functions that write set RuntimeError.
  PyTypedcall_Interface interface;
} PyTypedcall_Placeholder;

// Initialises an interface with the functions PyTC_<kind>Metaclass, PyTC_<kind>Resolve and so on.
#define PyTC_INTERFACE(kind, state, counters)                                                     \
  {                                                                                               \
    PyTypedcall_ABI_MAJOR, PyTypedcall_ABI_MINOR, (uint32_t)sizeof(PyTypedcall_Interface), state, \
        PyTC_##kind##Metaclass, PyTC_##kind##Resolve, PyTC_##kind##Find, PyTC_##kind##Hold,       \
        PyTC_##kind##Publish, PyTC_##kind##Exchange, PyTC_##kind##Retract, PyTC_##kind##Sibling,  \
        PyTC_##kind##Counters, counters, PyTC_##kind##SlotId, PyTC_##kind##ReadyStatic,           \
        PyTC_##kind##Combined                                                                     \
  }

#if TYPEDCALL_INTERNAL_IS_DECLARED  // typedcall/separate.cc defines these
TYPEDCALL_BEGIN_C
#define PyTC_Arrived TYPEDCALL_INTERNAL_EXTERNAL(PyTC_Arrived)
TYPEDCALL_HIDDEN const PyTypedcall_Interface *PyTC_Arrived(void *state);
#ifndef Py_LIMITED_API
#define PyTypedcall_ImportLazily TYPEDCALL_INTERNAL_EXTERNAL(PyTypedcall_ImportLazily)
TYPEDCALL_HIDDEN const PyTypedcall_Interface *PyTypedcall_ImportLazily(void);
#endif
TYPEDCALL_END_C
#endif

#if !TYPEDCALL_IS_SUPPORTED
static inline const PyTypedcall_Interface *PyTC_Arrived(void *state) {
  (void)state;
  return NULL;
}
#elif !TYPEDCALL_INTERNAL_IS_DECLARED

// Records that the interface is installed. Changes a counter, so that cached look-ups are repeated.
static inline void PyTC_Arrive(PyTypedcall_Placeholder *placeholder,
                               const PyTypedcall_Interface *installed) {
  const PyTypedcall_Interface *before =
      __atomic_exchange_n(&placeholder->installed, installed, __ATOMIC_ACQ_REL);
  if (before == NULL) {
    PyTypedcall_Counters *own = (PyTypedcall_Counters *)placeholder->interface.live_counters;
    __atomic_fetch_add(&own->rows_added, 1, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&placeholder->interface.live_counters, installed->live_counters,
                   __ATOMIC_RELEASE);
}

// Installers call this to update the placeholder. `kept` is the interpreter's own dictionary.
static inline void PyTC_TellWaiting(PyObject *kept, const PyTypedcall_Interface *installed) {
  PyObject *capsule = PyTC_Look(kept, PyTypedcall_PLACEHOLDER_NAME);
  if (capsule != NULL && PyCapsule_IsValid(capsule, PyTypedcall_PLACEHOLDER_NAME)) {
    PyTC_Arrive(
        (PyTypedcall_Placeholder *)PyCapsule_GetPointer(capsule, PyTypedcall_PLACEHOLDER_NAME),
        installed);
  }
  Py_XDECREF(capsule);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"  // a header needs noinline functions to be `inline`
// Returns the installed interface, or NULL. Searches again if the dictionary's length has changed,
// because Python code may have removed the placeholder's capsule.
static inline TYPEDCALL_RARE const PyTypedcall_Interface *PyTC_Arrived(void *state) {
  PyTypedcall_Placeholder *placeholder = (PyTypedcall_Placeholder *)state;
  const PyTypedcall_Interface *installed = PyTypedcall_LOAD_ACQUIRE(&placeholder->installed);
  // The calling interpreter may be a different one, which has its own interface.
  if (installed != NULL || placeholder->interpreter != PyInterpreterState_Get()) return installed;
  PyObject *kept = PyInterpreterState_GetDict(placeholder->interpreter);
  const Py_ssize_t length = kept != NULL && PyDict_Check(kept) ? PyDict_Size(kept) : 0;
  if (length == __atomic_load_n(&placeholder->searched_length, __ATOMIC_RELAXED)) return NULL;
  installed = PyTypedcall_Peek();
  if (installed != NULL) {
    PyTC_Arrive(placeholder, installed);
  } else {
    __atomic_store_n(&placeholder->searched_length, length, __ATOMIC_RELAXED);
  }
  return installed;
}
#pragma GCC diagnostic pop

#endif

// True if `interface` is a placeholder.
static inline int PyTC_IsAwaited(const PyTypedcall_Interface *interface) {
  return (const char *)interface->state + offsetof(PyTypedcall_Placeholder, interface) ==
         (const char *)interface;
}

/// If `interface` is a placeholder, returns the installed interface or NULL, else `interface`,
/// which may be NULL. GIL: held. Keeps a pending exception.
static inline const PyTypedcall_Interface *PyTypedcall_Installed(
    const PyTypedcall_Interface *interface) {
  if (!TYPEDCALL_IS_SUPPORTED) return NULL;
  if (interface == NULL || PyTypedcall_LIKELY(!PyTC_IsAwaited(interface))) return interface;
  return PyTC_Arrived(interface->state);
}

#if TYPEDCALL_IS_SUPPORTED && !TYPEDCALL_INTERNAL_IS_DECLARED
// Returns the interface in the capsule, or NULL with ImportError.
static inline TYPEDCALL_COLD const PyTypedcall_Interface *PyTC_Usable(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, PyTypedcall_CAPSULE_NAME)) {
    PyTC_Refuse(Py_TYPE(capsule), PyExc_ImportError,
                PyTypedcall_CAPSULE_NAME " is a '%s' instead of typedcall's interface");
    return NULL;
  }
  const PyTypedcall_Interface *interface =
      (const PyTypedcall_Interface *)PyCapsule_GetPointer(capsule, PyTypedcall_CAPSULE_NAME);
  if (PyTypedcall_IsUsable(interface)) return interface;
  PyErr_Format(PyExc_ImportError, "%s has ABI version %d.%d and %u bytes; %d.0 and %d are needed",
               PyTypedcall_CAPSULE_NAME, (int)interface->abi_major, (int)interface->abi_minor,
               (unsigned)interface->size, PyTypedcall_ABI_MAJOR, PyTypedcall_INTERFACE_SIZE_1_0);
  return NULL;
}
#endif

// Limited API modules cannot tell whether a thread is attached, so they install the interface.
#if !TYPEDCALL_IS_SUPPORTED || !(TYPEDCALL_INTERNAL_IS_DECLARED || defined(Py_LIMITED_API))

// Private state behind the public placeholder.
typedef struct PyTC_Awaiting {
  PyTypedcall_Placeholder shown;
  PyTypedcall_Counters counters;
  PyTC_DefMemory defs;
} PyTC_Awaiting;

static inline TYPEDCALL_COLD const PyTypedcall_Interface *PyTC_ToWriteTo(void *state) {
  const PyTypedcall_Interface *installed = PyTC_Arrived(state);
  if (installed == NULL) {
    PyErr_SetString(
        PyExc_RuntimeError,
        TYPEDCALL_IS_SUPPORTED
            ? "typedcall: no module has installed the interface (core/rendezvous.h)"
            : "typedcall has neither tags nor slots on this platform (TYPEDCALL_IS_SUPPORTED)");
  }
  return installed;
}

static inline TYPEDCALL_COLD PyTypeObject *PyTC_AwaitMetaclass(void *state) {
  const PyTypedcall_Interface *installed = PyTC_Arrived(state);
  return installed != NULL ? installed->metaclass(installed->state) : NULL;
}

static inline TYPEDCALL_COLD int PyTC_AwaitResolve(void *state, PyTypeObject *type,
                                                   const PyCustomSlot *own, Py_ssize_t own_count) {
  const PyTypedcall_Interface *installed = PyTC_ToWriteTo(state);
  return installed != NULL ? installed->resolve(installed->state, type, own, own_count) : -1;
}

static inline const void *PyTC_AwaitFind(void *state, int space, const void *key) {
#if TYPEDCALL_IS_SUPPORTED
  PyTypedcall_Placeholder *placeholder = (PyTypedcall_Placeholder *)state;
  const PyTypedcall_Interface *installed = PyTypedcall_LOAD_ACQUIRE(&placeholder->installed);
  if (installed == NULL && PyTypedcall_IsAttached()) installed = PyTC_Arrived(state);
  return installed != NULL ? installed->find(installed->state, space, key) : NULL;
#else
  (void)state, (void)space, (void)key;
  return NULL;
#endif
}

static inline TYPEDCALL_COLD int PyTC_AwaitRetract(void *state, int space, const void *key) {
  const PyTypedcall_Interface *installed = PyTC_Arrived(state);
  return installed != NULL ? installed->retract(installed->state, space, key) : 0;
}

static inline TYPEDCALL_COLD void PyTC_AwaitCounters(void *state, PyTypedcall_Counters *out,
                                                     size_t size) {
  const PyTypedcall_Interface *installed = PyTC_Arrived(state);
  memset(out, 0, size < sizeof(*out) ? size : sizeof(*out));
  if (installed != NULL) installed->counters(installed->state, out, size);
}

static inline TYPEDCALL_COLD uintptr_t PyTC_AwaitSlotId(void *state, const char *name) {
  const PyTypedcall_Interface *installed = PyTC_ToWriteTo(state);
  return installed != NULL ? installed->slot_id(installed->state, name) : 0;
}

static inline TYPEDCALL_COLD int PyTC_AwaitReadyStatic(void *state, PyTypeObject *type,
                                                       Py_ssize_t slot_table_size) {
  const PyTypedcall_Interface *installed = PyTC_ToWriteTo(state);
  return installed != NULL ? installed->ready_static(installed->state, type, slot_table_size) : -1;
}

static inline TYPEDCALL_COLD PyTypeObject *PyTC_AwaitCombined(void *state, PyObject *metaclasses) {
  const PyTypedcall_Interface *installed = PyTC_ToWriteTo(state);
  return installed != NULL ? installed->combined_metaclass(installed->state, metaclasses) : NULL;
}

static inline TYPEDCALL_COLD int PyTC_AwaitExchange(void *state, int space, const void *key,
                                                    PyObject *owner, const void *expected,
                                                    const void *value,
                                                    void (*destroy)(const void *value)) {
  const PyTypedcall_Interface *installed = PyTC_ToWriteTo(state);
  if (installed == NULL) return -1;
  return installed->exchange(installed->state, space, key, owner, expected, value, destroy);
}

static inline TYPEDCALL_COLD PyObject *PyTC_AwaitHold(void *state, int space, const void *key,
                                                      PyObject *callable, const void **value) {
  const PyTypedcall_Interface *installed = PyTC_Arrived(state);
  *value = NULL;
  return installed != NULL ? installed->hold(installed->state, space, key, callable, value) : NULL;
}

static inline TYPEDCALL_COLD int PyTC_AwaitPublish(
    void *state, int space, const void *key, PyObject *owner, const void *value,
    int (*equal)(const void *existing, const void *offered), void (*destroy)(const void *value),
    PyObject *kept) {
  if (!TYPEDCALL_IS_SUPPORTED) return 0;  // without tags this does nothing
  const PyTypedcall_Interface *installed = PyTC_ToWriteTo(state);
  if (installed == NULL) return -1;
  return installed->publish(installed->state, space, key, owner, value, equal, destroy, kept);
}

static inline const void *PyTC_AwaitSibling(void *state, const PyMethodDef *def,
                                            const void *(*read)(const PyMethodDef *def)) {
  if (!TYPEDCALL_IS_SUPPORTED) return NULL;
  return PyTC_AskOnce(&((PyTC_Awaiting *)state)->defs, def, read);
}

#if TYPEDCALL_IS_SUPPORTED

static inline void PyTC_AwaitedEnds(PyObject *capsule) {
  // Modules keep pointers to the struct, so it is never freed.
  PyTC_CloseDefMemory(
      &((PyTC_Awaiting *)PyCapsule_GetPointer(capsule, PyTypedcall_PLACEHOLDER_NAME))->defs);
}

// Returns a capsule with a new placeholder, or NULL with an exception set.
static inline TYPEDCALL_COLD PyObject *PyTC_NewAwaited(void) {
  PyTC_Awaiting *made = (PyTC_Awaiting *)PyTypedcall_RAW_CALLOC(1, sizeof(*made));
  if (made == NULL) return PyErr_NoMemory();
  const PyTypedcall_Interface interface = PyTC_INTERFACE(Await, made, &made->counters);
  made->shown.interface = interface;
  made->shown.interpreter = PyInterpreterState_Get();
  made->shown.searched_length = -1;
  PyObject *capsule = PyCapsule_New(made, PyTypedcall_PLACEHOLDER_NAME, PyTC_AwaitedEnds);
  if (capsule == NULL) PyTypedcall_RAW_FREE(made);
  return capsule;
}

// Returns this interpreter's placeholder (borrowed), or NULL with an exception set.
static inline TYPEDCALL_COLD const PyTypedcall_Interface *PyTC_Waiting(void) {
  PyObject *kept = PyTC_OwnDict();
  if (kept == NULL) return NULL;
  PyObject *existing = PyTC_Look(kept, PyTypedcall_PLACEHOLDER_NAME);
  if (existing == NULL) {
    PyObject *fresh = PyTC_NewAwaited();
    if (fresh == NULL) return NULL;
    void *made = PyCapsule_GetPointer(fresh, PyTypedcall_PLACEHOLDER_NAME);
    existing = PyTC_Settle(PyTC_SetDefaultOfOurs, kept, PyTypedcall_PLACEHOLDER_NAME, fresh);
    Py_DECREF(fresh);
    // Free ours only if another module's placeholder won. After an error, other code may use ours.
    if (existing != NULL && existing != fresh) PyTypedcall_RAW_FREE(made);
  }
  if (existing == NULL) return NULL;
  PyTypedcall_Placeholder *found = NULL;
  if (PyCapsule_IsValid(existing, PyTypedcall_PLACEHOLDER_NAME)) {
    found = (PyTypedcall_Placeholder *)PyCapsule_GetPointer(existing, PyTypedcall_PLACEHOLDER_NAME);
  } else {
    PyErr_Format(PyExc_ImportError, "%s is not typedcall's capsule", PyTypedcall_PLACEHOLDER_NAME);
  }
  Py_DECREF(existing);
  return found != NULL ? &found->interface : NULL;
}

/// Returns the calling interpreter's interface, or a placeholder if none is installed yet. Call
/// this function once, when the module is executed. Keep the pointer in the module's state, never
/// in a C static. It is valid until the interpreter ends. Returns NULL with ImportError if our
/// names are taken or the interface is incompatible, or with MemoryError. GIL: held.
static inline const PyTypedcall_Interface *PyTypedcall_ImportLazily(void) {
  PyObject *existing = PyTC_Existing();
  if (existing == NULL) return PyTC_Waiting();
  const PyTypedcall_Interface *interface = PyTC_Usable(existing);
  Py_DECREF(existing);
  return interface;
}

#else

/// Never returns NULL. Readers find nothing, and providers' functions are not tagged.
static inline const PyTypedcall_Interface *PyTypedcall_ImportLazily(void) {
  static const PyTypedcall_Counters none = {0, 0, 0, 0};
  static const PyTypedcall_Interface empty = PyTC_INTERFACE(Await, NULL, &none);
  return &empty;
}

#endif  // TYPEDCALL_IS_SUPPORTED
#endif

#if !TYPEDCALL_IS_SUPPORTED || !(defined(Py_LIMITED_API) || defined(TYPEDCALL_CORE_RENDEZVOUS_H_))
/// Without core/rendezvous.h, a module never installs the interface.
#define PyTypedcall_Import PyTypedcall_ImportLazily
#endif
#endif  // TYPEDCALL_CORE_LAZY_IMPORT_H_
