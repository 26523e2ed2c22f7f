// Test data, not to be changed: the headers of interface version 1.0, for modules compiled with them.
// Made from commit f1de027e0d by its tools/amalgamate.py, with core/foreign_slots.h and typedcall/call_site.h among ROOTS.
// typedcall for providers, in one file: offer the C functions behind a Python module's
// functions, and slots on its types, to whoever asks. C99, C11, C++11 to C++20; needs
// Python.h only. Generated: change the headers and run tools/amalgamate.py.
//
// ABI version 1.0. SHA-256 of the headers: 3b6947db69568b63d366ea38d5a0b88a
//
// MIT License
//
// Copyright (c) 2026 the typedcall authors
//
// Permission is hereby granted, free of charge, to any person obtaining a copy
// of this software and associated documentation files (the "Software"), to deal
// in the Software without restriction, including without limitation the rights
// to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
// copies of the Software, and to permit persons to whom the Software is
// furnished to do so, subject to the following conditions:
//
// The above copyright notice and this permission notice shall be included in all
// copies or substantial portions of the Software.
//
// THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
// IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
// FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
// AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
// LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
// OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
// SOFTWARE.
#ifndef TYPEDCALL_PROVIDER_SINGLE_FILE_H_
#define TYPEDCALL_PROVIDER_SINGLE_FILE_H_

#include <Python.h>

// ---- core/extensible_type.h
// The provider's side of SEP 200: making types that offer custom slots.
// Consumers need only core/custom_slots.h.
#ifndef TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
#define TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_

// ---- core/rendezvous.h
// Where separately compiled modules of one interpreter meet: the first one in installs the
// metaclass and the side table in module `_extensibletype`, every later one finds them there.
// Source: SEP 200, "Implementation and lack of runtime dependency"; docs/ABI.md, section 5.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_H_
#define TYPEDCALL_CORE_RENDEZVOUS_H_

// ---- core/combined_metaclass.h
// Metaclasses that are ours and somebody else's at once (ABCMeta, EnumMeta), so that a class can
// derive from both kinds: one for each set of metaclasses, whoever asks and in whatever order.
#ifndef TYPEDCALL_CORE_COMBINED_METACLASS_H_
#define TYPEDCALL_CORE_COMBINED_METACLASS_H_

// ---- core/metaclass.h
// The metaclass that puts custom slots on types: the one-time resolution of a type's slots along
// the MRO, what the metaclass does at a type's birth and death, its creation. Used by
// core/rendezvous.h, which makes one per interpreter.
#ifndef TYPEDCALL_CORE_METACLASS_H_
#define TYPEDCALL_CORE_METACLASS_H_

// ---- core/own_slots.h
// `__customslots__`: the slots that a class brings in its body, as Python code writes them.
// Used by core/metaclass.h. Source: SEP 200, "Subclassing", which leaves the form open.
#ifndef TYPEDCALL_CORE_OWN_SLOTS_H_
#define TYPEDCALL_CORE_OWN_SLOTS_H_

// ---- core/slot_table.h
// The slot tables that the metaclass puts on heap types: what they are made of, who shares them,
// and how a type's own slots and those of its bases are merged. Used by core/metaclass.h.
#ifndef TYPEDCALL_CORE_SLOT_TABLE_H_
#define TYPEDCALL_CORE_SLOT_TABLE_H_

// ---- core/custom_slots.h
// The consumer's side of SEP 200: which custom slots does the type of an object offer?
// No initialisation call, no GIL, no tp_flags bit; safe for every object.
#ifndef TYPEDCALL_CORE_CUSTOM_SLOTS_H_
#define TYPEDCALL_CORE_CUSTOM_SLOTS_H_

// ---- core/interface.h
// The struct that separately compiled modules of one interpreter share, and how to look for it.
// Installing it is core/rendezvous.h's work. Source: docs/ABI.md, section 5.
#ifndef TYPEDCALL_CORE_INTERFACE_H_
#define TYPEDCALL_CORE_INTERFACE_H_

// ---- core/slot_id.h
// What a custom slot is: the (id, data) pair of SEP 200 and how its 32-bit IDs are made up.
// Source: SEP 200, sections "The custom slot table" and "The custom slot ID space".
#ifndef TYPEDCALL_CORE_SLOT_ID_H_
#define TYPEDCALL_CORE_SLOT_ID_H_

// ---- core/platform.h
// What the ABI layer asks of compiler, platform and Python version, refused here by name, and the
// few shims that differ between them. The C99 layer includes nothing but Python.h below this file.
#ifndef TYPEDCALL_CORE_PLATFORM_H_
#define TYPEDCALL_CORE_PLATFORM_H_

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef PYPY_VERSION
#error "typedcall: PyPy's cpyext has no room for data on a metaclass; PyPy is not supported yet"
#endif
#if PY_VERSION_HEX < 0x03090000
#error "typedcall: needs CPython 3.9 or later"
#endif
#if defined(Py_LIMITED_API) && Py_LIMITED_API + 0 < 0x030C0000
#error "typedcall: the limited API is supported from 3.12 on (PEP 697): Py_LIMITED_API=0x030C0000"
#endif
#if defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030C0000
#error "typedcall: the limited API of 3.12 needs the headers of CPython 3.12 or later"
#endif
#ifdef Py_GIL_DISABLED
#error "typedcall: free-threaded builds are not supported yet"
#endif

#if defined(_WIN32)
#error "typedcall: Windows is not supported (tags need address constants from other modules)"
#elif defined(__wasm__) || defined(__EMSCRIPTEN__)
#error "typedcall: WebAssembly is not supported (a function's address is an index there)"
#elif UINTPTR_MAX != UINT64_MAX
#error "typedcall: 32-bit platforms are not supported (the ABI is asserted for 64 bits only)"
#endif
// Platforms nobody has run this on can be tried at one's own risk with this macro.
#ifndef TYPEDCALL_ALLOW_UNTESTED_PLATFORM
#if defined(__APPLE__)
#error "typedcall: macOS has not been tried; define TYPEDCALL_ALLOW_UNTESTED_PLATFORM to go on"
#elif !defined(__linux__)
#error "typedcall: this platform has not been tried; see TYPEDCALL_ALLOW_UNTESTED_PLATFORM"
#endif
#endif
#if !defined(__GNUC__)
#error "typedcall: needs the __atomic builtins of GCC or Clang"
#endif

// C99 has no atomics and C++'s cannot be laid over a C struct, so both languages use the builtins.
#define PyTypedcall_LOAD_RELAXED(address) __atomic_load_n((address), __ATOMIC_RELAXED)
#define PyTypedcall_LOAD_ACQUIRE(address) __atomic_load_n((address), __ATOMIC_ACQUIRE)
#define PyTypedcall_STORE_RELEASE(address, value) \
  __atomic_store_n((address), (value), __ATOMIC_RELEASE)

#define PyTypedcall_LIKELY(condition) __builtin_expect(!!(condition), 1)

#ifdef __cplusplus
#define PyTypedcall_STATIC_ASSERT(condition, words) static_assert(condition, #words)
#else
#define PyTypedcall_JOIN_(a, b) a##b
#define PyTypedcall_JOIN(a, b) PyTypedcall_JOIN_(a, b)
// `words` must be an identifier: it becomes part of the array type's name in the error message.
#define PyTypedcall_STATIC_ASSERT(condition, words) \
  typedef char PyTypedcall_JOIN(words##_, __LINE__)[(condition) ? 1 : -1] __attribute__((unused))
#endif

// Memory that outlives an interpreter or is freed without the GIL. Each module frees only what it
// has allocated itself, so it does not matter that the limited API knows only C's own.
#ifdef Py_LIMITED_API
#define PyTypedcall_RAW_CALLOC(count, size) calloc((count), (size))
#define PyTypedcall_RAW_REALLOC(memory, size) realloc((memory), (size))
#define PyTypedcall_RAW_FREE(memory) free(memory)
#else
#define PyTypedcall_RAW_CALLOC(count, size) PyMem_RawCalloc((count), (size))
#define PyTypedcall_RAW_REALLOC(memory, size) PyMem_RawRealloc((memory), (size))
#define PyTypedcall_RAW_FREE(memory) PyMem_RawFree(memory)
#endif

#ifndef Py_LIMITED_API
/// Does this thread have an attached thread state (hold the GIL)? Needs neither the GIL nor an
/// interpreter and sets no exception.
///
/// Up to 3.11 the "current" thread state is a process-wide variable that belongs to whichever
/// thread holds the GIL, so it only counts when it is also this thread's own. A thread that runs a
/// subinterpreter with a second thread state is then taken for detached, which is the safe side.
static inline int PyTypedcall_IsAttached(void) {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked() != NULL;
#elif PY_VERSION_HEX >= 0x030C0000
  return _PyThreadState_UncheckedGet() != NULL;
#else
  PyThreadState *current = _PyThreadState_UncheckedGet();
  return current != NULL && current == PyGILState_GetThisThreadState();
#endif
}
#endif  // Py_LIMITED_API: it has no function that says so

/// A pending exception put aside, so that look-ups inside an error path neither see nor lose it.
typedef struct {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject *raised;
#else
  PyObject *type, *value, *traceback;
#endif
} PyTypedcall_SavedError;

/// Takes the pending exception, if any, away from the thread. GIL: held.
static inline PyTypedcall_SavedError PyTypedcall_SaveError(void) {
  PyTypedcall_SavedError saved;
#if PY_VERSION_HEX >= 0x030C0000
  saved.raised = PyErr_GetRaisedException();
#else
  PyErr_Fetch(&saved.type, &saved.value, &saved.traceback);
#endif
  return saved;
}

/// Puts it back, dropping whatever has been set in between. GIL: held.
static inline void PyTypedcall_RestoreError(PyTypedcall_SavedError saved) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(saved.raised);
#else
  PyErr_Restore(saved.type, saved.value, saved.traceback);
#endif
}

#endif  // TYPEDCALL_CORE_PLATFORM_H_
// ---- core/slot_id.h, continued

#ifdef __cplusplus
extern "C" {
#endif

/// One custom slot. What `data` means is defined by whoever defined the ID.
typedef struct PyCustomSlot {
  uintptr_t
      id;  ///< odd: an allocated ID, see below; even: the address of something both sides know
  union {
    void *pointer;
    Py_ssize_t objoffset;  ///< bytes from the start of the instance
    uintptr_t flags;
  } data;
} PyCustomSlot;

/// IDs that no slot can have: a position left empty behind the last slot of an over-allocated
/// table, and a position skipped so that the next slot stands where its consumers expect it.
#define PyCustomSlot_ID_EMPTY ((uintptr_t)0x0)
#define PyCustomSlot_ID_SKIP ((uintptr_t)0x1)

/// Registrars (bits 31-24). 0x05 and up are for whoever asks.
#define PyCustomSlot_REGISTRAR_RESERVED 0x00
#define PyCustomSlot_REGISTRAR_PRIVATE 0x01  ///< never in released libraries
#define PyCustomSlot_REGISTRAR_CYTHON 0x02
#define PyCustomSlot_REGISTRAR_NUMPY 0x03
#define PyCustomSlot_REGISTRAR_NUMFOCUS 0x04
#define PyCustomSlot_REGISTRAR_RUNTIME 0xff  ///< PyCustomSlot_IDByName gives these out

/// The allocated ID for a registrar (0-0xff), an idea (0-0xffff) and the idea's
/// backwards-incompatible version (0-0x7f), as a constant expression. Bits that do not fit are cut
/// off.
#define PyCustomSlot_ID(registrar, idea, version)                                \
  ((((uintptr_t)(registrar)&0xffu) << 24) | (((uintptr_t)(idea)&0xffffu) << 8) | \
   (((uintptr_t)(version)&0x7fu) << 1) | 1u)

/// The ID that is the address of something which provider and consumer both know, for instance an
/// object that stands for an interface; the address must be even and not NULL. It names a slot for
/// as long as nothing else can take that address.
#define PyCustomSlot_POINTER_ID(address) ((uintptr_t)(const void *)(address))

/// SEP 201's native-callable slot: where in the instance its table of native functions stands.
#define PyCustomSlot_ID_NATIVECALLABLE PyCustomSlot_ID(PyCustomSlot_REGISTRAR_NUMFOCUS, 0, 0)

#define PyCustomSlot_ID_REGISTRAR(id) ((unsigned)(((id) >> 24) & 0xffu))
#define PyCustomSlot_ID_IDEA(id) ((unsigned)(((id) >> 8) & 0xffffu))
#define PyCustomSlot_ID_VERSION(id) ((unsigned)(((id) >> 1) & 0x7fu))

/// Can `id` name a slot? Not the two special IDs, and no allocated ID with bits above the 32nd.
/// GIL: none; any thread; any interpreter.
static inline int PyCustomSlot_IsValidID(uintptr_t id) {
  if (id == PyCustomSlot_ID_EMPTY || id == PyCustomSlot_ID_SKIP) return 0;
  return (id & 1u) == 0 || id <= UINT32_MAX;
}

/// Is `id` an allocated ID, as opposed to an address and to the two special IDs? GIL: none.
static inline int PyCustomSlot_IsAllocatedID(uintptr_t id) {
  return (id & 1u) != 0 && PyCustomSlot_IsValidID(id);
}

#ifdef __cplusplus
}

#if __cplusplus >= 201402L
namespace typedcall {

/// PyCustomSlot_ID, but a part that does not fit does not compile.
template <unsigned registrar, unsigned idea, unsigned version = 0>
constexpr uintptr_t custom_slot_id() {
  static_assert(registrar <= 0xff, "a registrar is 0 to 0xff");
  static_assert(idea <= 0xffff, "an idea is 0 to 0xffff");
  static_assert(version <= 0x7f, "an idea's version is 0 to 0x7f");
  static_assert(registrar != 0 || idea != 0 || version != 0, "0x1 is the ID of a skipped slot");
  static_assert(registrar != PyCustomSlot_REGISTRAR_RUNTIME,
                "these IDs are given out at run time: PyCustomSlot_IDByName");
  return PyCustomSlot_ID(registrar, idea, version);
}

/// The parts of an allocated ID.
constexpr unsigned custom_slot_registrar(uintptr_t id) { return PyCustomSlot_ID_REGISTRAR(id); }
constexpr unsigned custom_slot_idea(uintptr_t id) { return PyCustomSlot_ID_IDEA(id); }
constexpr unsigned custom_slot_version(uintptr_t id) { return PyCustomSlot_ID_VERSION(id); }

}  // namespace typedcall
#endif
#endif
#endif  // TYPEDCALL_CORE_SLOT_ID_H_
// ---- core/interface.h, continued

#ifdef __cplusplus
extern "C" {
#endif

#define PyTypedcall_MODULE "_extensibletype"
#define PyTypedcall_CAPSULE "typedcall_v1"
#define PyTypedcall_CAPSULE_NAME PyTypedcall_MODULE "." PyTypedcall_CAPSULE
#define PyTypedcall_ABI_MAJOR 1
#define PyTypedcall_ABI_MINOR 0
/// Bytes of version 1.0's PyTypedcall_Interface, whatever later versions append to it.
#define PyTypedcall_INTERFACE_SIZE_1_0 96

/// What a row of the side table is keyed by, and what its value then is.
enum PyTypedcall_Space {
  PyTypedcall_BY_TYPE = 0,    ///< a type that cannot take our metaclass: PyForeignSlots_Table *
  PyTypedcall_BY_DEF = 1,     ///< a PyMethodDef without flag bits: const PyNativeCallableTable *
  PyTypedcall_BY_OBJECT = 2,  ///< one object: const PyNativeCallableTable *
  PyTypedcall_MERGED_BY_TYPE = 3,  ///< a type's BY_TYPE rows and those of its bases, merged
  PyTypedcall_SPACES = 4
};

/// Totals since the interface was installed, over all spaces.
typedef struct PyTypedcall_Counters {
  uint64_t rows_added;
  uint64_t rows_removed;  ///< by untagging, or because the last owner died
  uint64_t conflicts;     ///< a second, different value offered for a key
  uint64_t generations;   ///< arrays published; each is kept until the interpreter ends
} PyTypedcall_Counters;

/// One per interpreter, append-only: a newer minor version adds functions behind the last one and
/// raises `size`. Every function but `find` needs the GIL; all take `state` as their first
/// argument.
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
  /// Returns 0, or -1 with ValueError (an ID that is invalid or stands twice), TypeError (not an
  /// instance of the metaclass, static and not ready, a malformed `__customslots__`), SystemError
  /// (own slots for a resolved type, no table or a negative count), MemoryError, or what a
  /// `__customslots__` other than a dict, list or tuple raised.
  int (*resolve)(void *state, PyTypeObject *type, const PyCustomSlot *own, Py_ssize_t own_count);

  /// The value published for `key`, or NULL. Takes no lock and no reference, needs no GIL, sets no
  /// exception. The value stays valid while an owner of the row lives and nobody retracts it.
  const void *(*find)(void *state, int space, const void *key);

  /// Publishes `value` for `key` while `owner` lives. `equal` (may be NULL: only the same address
  /// is equal) says whether a standing value says the same as the offered one; it must not use the
  /// interface nor run Python code. Returns the value that stands afterwards:
  ///  - `value`: it is new, or stood already and has one owner more;
  ///  - another one that is equal: it has one owner more, and `value` was not taken;
  ///  - another one that is not: a conflict; nothing has changed;
  ///  - NULL with an exception set: TypeError when `owner` cannot be weakly referenced (only a row
  ///    BY_OBJECT whose `key` is its owner then keeps it alive until retracted), ValueError for an
  ///    unknown space or a NULL, RuntimeError while the interpreter ends, MemoryError.
  /// `destroy` (may be NULL) is called once for each time that a value was taken: when its row's
  /// last owner has died, or at the interpreter's end when the row was retracted or is still there;
  /// there it must not use the interface. What was retracted is therefore not to be published
  /// again with a `destroy`.
  const void *(*publish)(void *state, int space, const void *key, PyObject *owner,
                         const void *value, int (*equal)(const void *standing, const void *offered),
                         void (*destroy)(const void *value));

  /// Removes the row for `key`, whoever owns it. Returns 1, or 0 when there is none. Never fails.
  int (*retract)(void *state, int space, const void *key);

  /// Fills the first `size` bytes of a PyTypedcall_Counters, as many as the installer has.
  void (*counters)(void *state, PyTypedcall_Counters *out, size_t size);

  /// The slot ID that belongs to `name` in this interpreter, given out now if nobody has asked
  /// before. 0 with ValueError (no name, or all 2^23 IDs are taken), UnicodeDecodeError (the name
  /// is not UTF-8), RuntimeError while the interpreter ends, or MemoryError.
  uintptr_t (*slot_id)(void *state, const char *name);

  /// See PyExtensibleType_Ready. `type` is followed by its PyExtensibleTypeData.
  int (*ready_static)(void *state, PyTypeObject *type, Py_ssize_t slot_table_size);

  /// See PyExtensibleType_CombinedMetaclass. `metaclasses` is a tuple.
  PyTypeObject *(*combined_metaclass)(void *state, PyObject *metaclasses);

  /// Publishes `value` for `key` while `owner` lives, in place of what stands there, whoever owns
  /// that: readers find the one or the other. The old value is kept until the interpreter ends. Not
  /// for BY_OBJECT. Returns 0, or -1 as `publish` returns NULL; `destroy` is as there.
  int (*replace)(void *state, int space, const void *key, PyObject *owner, const void *value,
                 void (*destroy)(const void *value));
} PyTypedcall_Interface;

/// Is this interface one that this header's version can use? GIL: none.
static inline int PyTypedcall_IsUsable(const PyTypedcall_Interface *interface) {
  return interface != NULL && interface->abi_major == PyTypedcall_ABI_MAJOR &&
         interface->size >= PyTypedcall_INTERFACE_SIZE_1_0;
}

// What stands under `name` in `dict`, which may be NULL or no dictionary: a new reference, or NULL.
// Sets no exception and, unlike PyDict_GetItemString, reports none to sys.unraisablehook.
static inline PyObject *PyTypedcall_Internal_Look(PyObject *dict, const char *name) {
  if (dict == NULL || !PyDict_Check(dict)) return NULL;
  // Comparing keys can run Python code, and that can let go of the dictionary.
  Py_INCREF(dict);
  PyObject *key = PyUnicode_FromString(name);
  PyObject *value = key != NULL ? PyDict_GetItemWithError(dict, key) : NULL;
  Py_XINCREF(value);
  PyErr_Clear();
  Py_XDECREF(key);
  Py_DECREF(dict);
  return value;
}

/// The interface of the calling interpreter if some module has installed it and it is of our major
/// version, else NULL. Installs nothing, sets no exception, keeps a pending one. GIL: held.
/// Borrowed; valid until the interpreter ends.
static inline const PyTypedcall_Interface *PyTypedcall_Peek(void) {
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  const PyTypedcall_Interface *interface = NULL;
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
  if (capsule != NULL && PyCapsule_IsValid(capsule, PyTypedcall_CAPSULE_NAME)) {
    interface =
        (const PyTypedcall_Interface *)PyCapsule_GetPointer(capsule, PyTypedcall_CAPSULE_NAME);
  }
  Py_XDECREF(capsule);
  PyTypedcall_RestoreError(saved);
  return PyTypedcall_IsUsable(interface) ? interface : NULL;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_INTERFACE_H_
// ---- core/custom_slots.h, continued

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

#ifndef Py_LIMITED_API  // core/custom_slots_limited.h has the functions for the limited API

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

// The metaclass resolves a type when it has made it. A type that came past that (type.__new__, a
// look-up inside __init_subclass__, a derived metaclass that forgot super().__init__) is resolved
// here, which needs the GIL: the MRO of a type may change under whoever reads it without.
//
// Out of line, because inlined it moves the loops of callers about that never come here. `inline`
// all the same: then a program that never asks needs no libpython to link with.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
static inline __attribute__((noinline, cold)) int PyExtensibleType_Internal_ResolveNow(
    PyTypeObject *type, const PyExtensibleTypeData *data) {
  if (PyTypedcall_LOAD_RELAXED(&data->magic) != 0 || !PyTypedcall_IsAttached()) return 0;
  const PyTypedcall_Interface *interface = PyTypedcall_Peek();
  if (interface == NULL) return 0;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (metaclass == NULL || !PyType_IsSubtype(Py_TYPE(type), metaclass)) return 0;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  // Reading the class body's slots can run code that lets go of the type.
  Py_INCREF((PyObject *)type);
  const int failed = interface->resolve(interface->state, type, NULL, 0);
  const int found =
      !failed && data->magic == PyExtensibleType_MAGIC && Py_REFCNT((PyObject *)type) > 1;
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

// What `type` offers, or NULL when it is not extensible.
static inline const PyExtensibleTypeData *PyExtensibleType_Internal_Data(PyTypeObject *type) {
  // The metaclass's size says whether the bytes are there at all, the magic whether they are ours.
  if (Py_TYPE(type)->tp_basicsize <
      (Py_ssize_t)(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleTypeData))) {
    return NULL;
  }
  if (!PyExtensibleType_Internal_HasData(type)) return NULL;
  const PyExtensibleTypeData *data =
      (const PyExtensibleTypeData *)(const void *)((const char *)type +
                                                   PyExtensibleType_DATA_OFFSET);
  if (PyTypedcall_LIKELY(PyTypedcall_LOAD_ACQUIRE(&data->magic) == PyExtensibleType_MAGIC)) {
    return data;
  }
  return PyExtensibleType_Internal_ResolveNow(type, data) ? data : NULL;
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

/// The slot with that ID, or NULL; never one with the special IDs 0 and 1. The position where it is
/// expected (any value is safe) is looked at first, the rest of the table only after that.
static inline PyCustomSlot *PyCustomSlots_Find(PyObject *obj, uintptr_t id,
                                               Py_ssize_t expected_pos) {
  const PyExtensibleTypeData *data = PyExtensibleType_Internal_Data(Py_TYPE(obj));
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

#endif  // Py_LIMITED_API

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_CUSTOM_SLOTS_H_
// ---- core/slot_table.h, continued
// ---- core/type_access.h
// What the core needs to know of a type, asked of the full API and of the limited one (3.12+)
// alike. None of it runs Python code, whatever the type or its metaclass defines.
#ifndef TYPEDCALL_CORE_TYPE_ACCESS_H_
#define TYPEDCALL_CORE_TYPE_ACCESS_H_

#ifdef __cplusplus
extern "C" {
#endif

static inline int PyTypedcall_Internal_IsHeapType(PyTypeObject *type) {
  return (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) != 0;
}

// A slot of `type`, cast to its C type: PyTypedcall_Internal_SLOT(initproc, type, tp_init).
#ifdef Py_LIMITED_API
#define PyTypedcall_Internal_SLOT(ctype, type, slot) ((ctype)PyType_GetSlot(type, Py_##slot))
#else
#define PyTypedcall_Internal_SLOT(ctype, type, slot) ((ctype)(type)->slot)
#endif

#ifdef Py_LIMITED_API

// What `type.__dict__[name].__get__(type)` yields: `type`'s own attribute, past any metaclass that
// defines one of the same name. New reference, or NULL with an exception.
static inline PyObject *PyTypedcall_Internal_TypeAttribute(PyTypeObject *type, const char *name) {
  PyObject *attributes = PyObject_GetAttrString((PyObject *)&PyType_Type, "__dict__");
  PyObject *descriptor = attributes != NULL ? PyMapping_GetItemString(attributes, name) : NULL;
  PyObject *value = NULL;
  if (descriptor != NULL) {
    descrgetfunc get = (descrgetfunc)PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_get);
    value = get(descriptor, (PyObject *)type, (PyObject *)Py_TYPE((PyObject *)type));
  }
  Py_XDECREF(descriptor);
  Py_XDECREF(attributes);
  return value;
}

#endif  // Py_LIMITED_API

#if PY_VERSION_HEX >= 0x030C0000

// Bytes from the start of a type to the data that `metaclass` adds to it (PEP 697); -1 with an
// exception. Not by PyObject_GetTypeData, which wants a type that has this metaclass already:
// CPython's debug builds abort for any other.
static inline Py_ssize_t PyTypedcall_Internal_TypeDataOffset(PyTypeObject *metaclass) {
#ifdef Py_LIMITED_API
  PyObject *basicsize = PyTypedcall_Internal_TypeAttribute(metaclass, "__basicsize__");
  if (basicsize == NULL) return -1;
  const Py_ssize_t size = PyLong_AsSsize_t(basicsize);
  Py_DECREF(basicsize);
  if (size < 0) return -1;
#else
  const Py_ssize_t size = metaclass->tp_basicsize;
#endif
  const Py_ssize_t added = PyType_GetTypeDataSize(metaclass);
  return added < 0 ? -1 : size - added;
}

#endif

// The MRO of `type`: a new reference to a tuple; NULL without an exception when it has none yet,
// and with MemoryError when the limited API could not get at it. Keeps a pending exception.
static inline PyObject *PyTypedcall_Internal_Mro(PyTypeObject *type) {
#ifdef Py_LIMITED_API
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *mro = PyTypedcall_Internal_TypeAttribute(type, "__mro__");
  if (mro == NULL && saved.raised == NULL) return NULL;
  PyTypedcall_RestoreError(saved);
  if (mro == NULL || PyTuple_Check(mro)) return mro;
  Py_DECREF(mro);
  return NULL;
#else
  Py_XINCREF(type->tp_mro);
  return type->tp_mro;
#endif
}

// What the class body itself has under `name`. New reference; NULL without an exception when there
// is nothing, else with one.
static inline PyObject *PyTypedcall_Internal_OwnAttribute(PyTypeObject *type, const char *name) {
#ifdef Py_LIMITED_API
  PyObject *dict = PyTypedcall_Internal_TypeAttribute(type, "__dict__");
  if (dict == NULL) return NULL;
  PyObject *value = PyMapping_GetItemString(dict, name);
  Py_DECREF(dict);
  if (value == NULL && PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_Clear();
  return value;
#else
  PyObject *key = type->tp_dict != NULL ? PyUnicode_FromString(name) : NULL;
  if (key == NULL) return NULL;
  PyObject *value = PyDict_GetItemWithError(type->tp_dict, key);
  Py_XINCREF(value);
  Py_DECREF(key);
  return value;
#endif
}

// Does a weak reference refer to nothing any more? Keeps a pending exception.
static inline int PyTypedcall_Internal_IsDead(PyObject *reference) {
#ifdef Py_LIMITED_API
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *object = PyObject_CallObject(reference, NULL);
  const int dead = object == Py_None;
  Py_XDECREF(object);
  PyTypedcall_RestoreError(saved);
  return dead;
#else
  return ((PyWeakReference *)reference)->wr_object == Py_None;
#endif
}

// What stands in `dict` under `key`, `value` if nothing did. Borrowed, or NULL with an exception.
static inline PyObject *PyTypedcall_Internal_SetDefault(PyObject *dict, PyObject *key,
                                                        PyObject *value) {
#ifdef Py_LIMITED_API
  PyObject *standing = PyDict_GetItemWithError(dict, key);
  if (standing != NULL || PyErr_Occurred()) return standing;
  return PyDict_SetItem(dict, key, value) == 0 ? value : NULL;
#else
  return PyDict_SetDefault(dict, key, value);
#endif
}

// Does nobody but the caller have a reference to `type`?
static inline int PyTypedcall_Internal_IsUnshared(PyTypeObject *type) {
#ifdef Py_LIMITED_API
  // The headers of 3.12 read 64 bits of the object; from 3.14 on the count is the lower half.
  return (uint32_t)Py_REFCNT((PyObject *)type) == 1;
#else
  return Py_REFCNT((PyObject *)type) == 1;
#endif
}

// Takes a dictionary of ours out of gc.get_objects(), where it is after each insertion: Python code
// must not change it, and nothing in it is part of a cycle.
static inline void PyTypedcall_Internal_Hide(PyObject *dict) { PyObject_GC_UnTrack(dict); }

#define PyTypedcall_Internal_NAME_SIZE 128

// The name of `type` for an error message, cut to the buffer. Keeps a pending exception.
static inline const char *PyTypedcall_Internal_Name(PyTypeObject *type,
                                                    char buffer[PyTypedcall_Internal_NAME_SIZE]) {
#ifdef Py_LIMITED_API
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *name = PyType_GetName(type);
  const char *text = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  PyOS_snprintf(buffer, PyTypedcall_Internal_NAME_SIZE, "%.100s", text != NULL ? text : "?");
  Py_XDECREF(name);
  PyTypedcall_RestoreError(saved);
#else
  PyOS_snprintf(buffer, PyTypedcall_Internal_NAME_SIZE, "%.100s", type->tp_name);
#endif
  return buffer;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_TYPE_ACCESS_H_
// ---- core/slot_table.h, continued

#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// A slot table made by `resolve`. Subclasses that add nothing share their base's; it is freed with
// the last of them, because a base can go before its subclass when `__bases__` is assigned.
typedef struct PyExtensibleType_Internal_Table {
  Py_ssize_t references;
  PyTypeObject *owner;   // the type it was made for, NULL once that is dead; only compared
  Py_ssize_t own_count;  // how many slots the owner brought itself
  Py_ssize_t own_at;     // where they stand: at 0 if that is all, else behind the resolved ones
  PyObject **kept;  // the capsules whose pointers stand in the slots, by whichever class; or NULL
  Py_ssize_t kept_count;
  PyCustomSlot slots[1];  // the resolved slots, then, if they are others, the owner's own
} PyExtensibleType_Internal_Table;

// What the metaclass really adds: the part that readers know, then what only `resolve` uses. Static
// types end with the shared part: the rest is there on heap types only. Every word counts here: it
// is there for each class.
typedef struct PyExtensibleType_Internal_TypeData {
  PyExtensibleTypeData shared;
  PyExtensibleType_Internal_Table *table;
} PyExtensibleType_Internal_TypeData;

// A type's own slots on their way into its table.
typedef struct PyExtensibleType_Internal_Own {
  const PyCustomSlot *slots;
  Py_ssize_t count;
  PyObject **kept;  // the capsules that the slots' pointers come from, one reference each
  Py_ssize_t kept_count;
} PyExtensibleType_Internal_Own;

// `metaclass` is our own one; `type` one of its instances.
static inline PyExtensibleType_Internal_TypeData *PyExtensibleType_Internal_DataOf(
    PyTypeObject *metaclass, PyTypeObject *type) {
#ifdef Py_LIMITED_API
  return (PyExtensibleType_Internal_TypeData *)PyObject_GetTypeData((PyObject *)type, metaclass);
#else
  (void)metaclass;
  return (PyExtensibleType_Internal_TypeData *)(void *)((char *)type +
                                                        PyExtensibleType_DATA_OFFSET);
#endif
}

static inline void PyExtensibleType_Internal_ReleaseKept(PyObject **kept, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) Py_DECREF(kept[i]);
  PyMem_Free(kept);
}

// `type` (may be NULL) no longer needs the table.
static inline void PyExtensibleType_Internal_ReleaseTable(PyExtensibleType_Internal_Table *table,
                                                          const PyTypeObject *type) {
  if (table == NULL) return;
  if (table->owner == type) table->owner = NULL;
  if (--table->references > 0) return;
  PyExtensibleType_Internal_ReleaseKept(table->kept, table->kept_count);
  PyMem_Free(table);
}

// The slots that a type brought itself, as opposed to those it inherited. A static type's all count
// as its own: nothing says which it inherited.
static inline const PyCustomSlot *PyExtensibleType_Internal_OwnSlots(PyTypeObject *metaclass,
                                                                     PyTypeObject *type,
                                                                     Py_ssize_t *count) {
  const PyExtensibleType_Internal_TypeData *data =
      PyExtensibleType_Internal_DataOf(metaclass, type);
  if (!PyTypedcall_Internal_IsHeapType(type)) {
    *count = data->shared.count;
    return data->shared.table;
  }
  const PyExtensibleType_Internal_Table *table = data->table;
  *count = table != NULL && table->owner == type ? table->own_count : 0;
  return table != NULL ? table->slots + table->own_at : NULL;
}

// Is the slot with this ID among the first `count`? Returns its position, or -1.
static inline Py_ssize_t PyExtensibleType_Internal_Position(const PyCustomSlot *slots,
                                                            Py_ssize_t count, uintptr_t id) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id == id) return i;
  }
  return -1;
}

// Returns 0, or -1 with ValueError for an ID that is invalid or stands twice.
static inline int PyExtensibleType_Internal_ValidateOwn(PyTypeObject *type, const PyCustomSlot *own,
                                                        Py_ssize_t own_count) {
  for (Py_ssize_t i = 0; i < own_count; ++i) {
    if (own[i].id == PyCustomSlot_ID_SKIP) continue;
    const int valid = PyCustomSlot_IsValidID(own[i].id);
    if (valid && PyExtensibleType_Internal_Position(own, i, own[i].id) < 0) continue;
    char id[2 + 2 * sizeof(uintptr_t) + 1];  // before 3.12 PyErr_Format has no %llx
    char name[PyTypedcall_Internal_NAME_SIZE];
    PyOS_snprintf(id, sizeof(id), "0x%llx", (unsigned long long)own[i].id);
    PyErr_Format(PyExc_ValueError,
                 valid ? "type '%s': custom slot %zd has ID %s, which stands there already"
                       : "type '%s': custom slot %zd has the invalid ID %s",
                 PyTypedcall_Internal_Name(type, name), i, id);
    return -1;
  }
  return 0;
}

// The merge under way: inherited positions first, so that slots stay where consumers expect them.
typedef struct PyExtensibleType_Internal_Merge {
  PyExtensibleType_Internal_Table *table;
  unsigned char *decided;  // per slot: a type earlier in the MRO has given its value
  Py_ssize_t count;
} PyExtensibleType_Internal_Merge;

static inline void PyExtensibleType_Internal_MergeSlots(PyExtensibleType_Internal_Merge *merge,
                                                        const PyCustomSlot *slots,
                                                        Py_ssize_t count) {
  PyCustomSlot *merged = merge->table->slots;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (slots[i].id == PyCustomSlot_ID_SKIP) continue;
    Py_ssize_t at = PyExtensibleType_Internal_Position(merged, merge->count, slots[i].id);
    if (at < 0) at = merge->count++;
    if (merge->decided[at]) continue;
    merged[at] = slots[i];
    merge->decided[at] = 1;
  }
}

static inline void PyExtensibleType_Internal_MergeKept(PyExtensibleType_Internal_Table *table,
                                                       PyObject *const *kept, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_ssize_t at = 0;
    while (at < table->kept_count && table->kept[at] != kept[i]) ++at;
    if (at < table->kept_count) continue;
    Py_INCREF(kept[i]);
    table->kept[table->kept_count++] = kept[i];
  }
}

#define PyExtensibleType_READY_MARK "__extensible_type_ready__"
#define PyExtensibleType_READY_NAME PyTypedcall_MODULE ".ready"

#ifdef Py_LIMITED_API
// As in core/custom_slots.h. The limited API does not see tp_as_buffer, but what ready_static has
// put into the type's dictionary. GIL: held; keeps a pending exception.
static inline int PyExtensibleType_Internal_HasData(PyTypeObject *type) {
  if (PyTypedcall_Internal_IsHeapType(type)) return 1;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *mark = PyTypedcall_Internal_OwnAttribute(type, PyExtensibleType_READY_MARK);
  const int has_data = mark != NULL && PyCapsule_IsValid(mark, PyExtensibleType_READY_NAME) &&
                       PyCapsule_GetPointer(mark, PyExtensibleType_READY_NAME) == (void *)type;
  Py_XDECREF(mark);
  PyTypedcall_RestoreError(saved);
  return has_data;
}
#endif

// Is `base` a type whose slots `resolve` has settled?
static inline int PyExtensibleType_Internal_IsResolved(PyTypeObject *metaclass, PyObject *base) {
  return PyType_IsSubtype(Py_TYPE(base), metaclass) &&
         PyExtensibleType_Internal_HasData((PyTypeObject *)base) &&
         PyExtensibleType_Internal_DataOf(metaclass, (PyTypeObject *)base)->shared.magic ==
             PyExtensibleType_MAGIC;
}

// The first type in the MRO that has slots, or NULL. From the first entry on: a derived metaclass's
// mro() can leave the type itself out, and where it is in, it is passed over as not resolved yet.
static inline PyTypeObject *PyExtensibleType_Internal_FirstWithSlots(PyTypeObject *metaclass,
                                                                     PyObject *mro) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyObject *base = PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, base)) continue;
    if (PyExtensibleType_Internal_DataOf(metaclass, (PyTypeObject *)base)->shared.count > 0) {
      return (PyTypeObject *)base;
    }
  }
  return NULL;
}

// Room for a merge along `mro`: fills `merge` in, or returns -1 without an exception.
static inline int PyExtensibleType_Internal_BeginMerge(PyExtensibleType_Internal_Merge *merge,
                                                       PyTypeObject *metaclass, PyObject *mro,
                                                       const PyExtensibleType_Internal_Own *own) {
  Py_ssize_t most = own->count, most_kept = own->kept_count;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, (PyObject *)base)) continue;
    const PyExtensibleType_Internal_TypeData *data =
        PyExtensibleType_Internal_DataOf(metaclass, base);
    most += data->shared.count;
    if (PyTypedcall_Internal_IsHeapType(base) && data->table != NULL) {
      most_kept += data->table->kept_count;
    }
  }
  const size_t bytes = offsetof(PyExtensibleType_Internal_Table, slots) +
                       (size_t)(most + own->count) * sizeof(PyCustomSlot);
  merge->count = 0;
  merge->table = (PyExtensibleType_Internal_Table *)PyMem_Calloc(1, bytes);
  merge->decided = (unsigned char *)PyMem_Calloc((size_t)most, 1);
  PyObject **kept =
      most_kept > 0 ? (PyObject **)PyMem_Calloc((size_t)most_kept, sizeof(*kept)) : NULL;
  if (merge->table == NULL || merge->decided == NULL || (most_kept > 0 && kept == NULL)) {
    PyMem_Free(merge->table);
    PyMem_Free(merge->decided);
    PyMem_Free(kept);
    return -1;
  }
  merge->table->references = 1;
  merge->table->kept = kept;
  return 0;
}

// Merges into freshly allocated memory, which the type then owns. `layout` is the first type in the
// MRO that has slots, or NULL: its positions are kept, the values are decided by MRO order. Runs no
// Python code. Returns 0, or -1 with MemoryError.
static inline int PyExtensibleType_Internal_BuildTable(PyTypeObject *metaclass, PyTypeObject *type,
                                                       PyObject *mro,
                                                       const PyExtensibleType_Internal_Own *own) {
  PyTypeObject *layout = PyExtensibleType_Internal_FirstWithSlots(metaclass, mro);
  if (layout == NULL && own->count == 0) return 0;
  PyExtensibleType_Internal_Merge merge;
  if (PyExtensibleType_Internal_BeginMerge(&merge, metaclass, mro, own) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  PyExtensibleType_Internal_Table *table = merge.table;
  const PyExtensibleType_Internal_TypeData *base_data = NULL;
  if (layout != NULL) {
    base_data = PyExtensibleType_Internal_DataOf(metaclass, layout);
    merge.count = base_data->shared.count;
    memcpy(table->slots, base_data->shared.table, (size_t)merge.count * sizeof(PyCustomSlot));
    PyExtensibleType_Internal_MergeSlots(&merge, own->slots, own->count);
  } else {
    // Nothing inherited: the type's own table is taken as it is, skipped positions included.
    merge.count = own->count;
    memcpy(table->slots, own->slots, (size_t)own->count * sizeof(PyCustomSlot));
    memset(merge.decided, 1, (size_t)own->count);
  }
  PyExtensibleType_Internal_MergeKept(table, own->kept, own->kept_count);
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, (PyObject *)base)) continue;
    Py_ssize_t count;
    const PyCustomSlot *slots = PyExtensibleType_Internal_OwnSlots(metaclass, base, &count);
    PyExtensibleType_Internal_MergeSlots(&merge, slots, count);
    const PyExtensibleType_Internal_TypeData *data =
        PyExtensibleType_Internal_DataOf(metaclass, base);
    if (PyTypedcall_Internal_IsHeapType(base) && data->table != NULL) {
      PyExtensibleType_Internal_MergeKept(table, data->table->kept, data->table->kept_count);
    }
  }
  // What a base has from bases that it has no longer is still its own to hand down.
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, (PyObject *)base)) continue;
    const PyExtensibleTypeData *shared = &PyExtensibleType_Internal_DataOf(metaclass, base)->shared;
    PyExtensibleType_Internal_MergeSlots(&merge, shared->table, shared->count);
  }
  PyMem_Free(merge.decided);

  PyExtensibleType_Internal_TypeData *data = PyExtensibleType_Internal_DataOf(metaclass, type);
  if (own->count == 0 && base_data->shared.count == merge.count &&
      memcmp(base_data->shared.table, table->slots, (size_t)merge.count * sizeof(PyCustomSlot)) ==
          0) {
    PyExtensibleType_Internal_ReleaseTable(table, NULL);
    data->shared.count = base_data->shared.count;
    data->shared.table = base_data->shared.table;
    // A table that came from a static type is nobody's to free.
    table = PyTypedcall_Internal_IsHeapType(layout) ? base_data->table : NULL;
    if (table != NULL) ++table->references;
    data->table = table;
    return 0;
  }
  table->own_at = layout == NULL && merge.count == own->count ? 0 : merge.count;
  if (table->own_at > 0 && own->count > 0) {
    memcpy(table->slots + merge.count, own->slots, (size_t)own->count * sizeof(PyCustomSlot));
  } else {
    // Shrinking in place; if it fails, some bytes are wasted.
    const size_t bytes = offsetof(PyExtensibleType_Internal_Table, slots) +
                         (size_t)merge.count * sizeof(PyCustomSlot);
    void *shrunk = PyMem_Realloc(table, bytes);
    if (shrunk != NULL) table = (PyExtensibleType_Internal_Table *)shrunk;
  }
  table->owner = type;
  table->own_count = own->count;
  data->table = table;
  data->shared.count = merge.count;
  data->shared.table = table->slots;
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_SLOT_TABLE_H_
// ---- core/own_slots.h, continued

#ifdef __cplusplus
extern "C" {
#endif

#define PyExtensibleType_OWN_SLOTS "__customslots__"

// Says what is wrong with one entry, naming class and position. Always returns -1.
static inline int PyExtensibleType_Internal_Fault(PyTypeObject *type, Py_ssize_t at,
                                                  PyObject *exception, const char *fault,
                                                  PyObject *culprit) {
  char name[PyTypedcall_Internal_NAME_SIZE], kind[PyTypedcall_Internal_NAME_SIZE];
  PyErr_Format(exception, "type '%s': " PyExtensibleType_OWN_SLOTS " entry %zd: %s (a '%s')",
               PyTypedcall_Internal_Name(type, name), at, fault,
               PyTypedcall_Internal_Name(Py_TYPE(culprit), kind));
  return -1;
}

// A capsule's pointer, whatever its name: the slot's ID says what it is.
static inline void *PyExtensibleType_Internal_Pointer(PyObject *capsule) {
  return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
}

// An int that fits a word; negative ones too if `is_signed` allows. Returns 0 or -1; OverflowError
// becomes ValueError with `fault`.
static inline int PyExtensibleType_Internal_Word(PyTypeObject *type, Py_ssize_t at, PyObject *value,
                                                 int is_signed, const char *fault, uintptr_t *out) {
  *out = (uintptr_t)PyLong_AsSize_t(value);
  if (*out == (uintptr_t)-1 && PyErr_Occurred() && is_signed) {
    PyErr_Clear();
    *out = (uintptr_t)PyLong_AsSsize_t(value);
  }
  if (*out != (uintptr_t)-1 || !PyErr_Occurred()) return 0;
  PyErr_Clear();
  return PyExtensibleType_Internal_Fault(type, at, PyExc_ValueError, fault, value);
}

// Converts one (id, value) into `slot`. Capsules are added to `own->kept`, where there is room for
// two. Returns 0, or -1 with TypeError or ValueError.
static inline int PyExtensibleType_Internal_ReadEntry(PyTypeObject *type, Py_ssize_t at,
                                                      PyObject *id, PyObject *value,
                                                      PyCustomSlot *slot,
                                                      PyExtensibleType_Internal_Own *own) {
  uintptr_t word;
  if (PyCapsule_CheckExact(id)) {
    slot->id = (uintptr_t)PyExtensibleType_Internal_Pointer(id);
    Py_INCREF(id);
    own->kept[own->kept_count++] = id;
  } else if (!PyLong_Check(id)) {
    return PyExtensibleType_Internal_Fault(
        type, at, PyExc_TypeError, "the ID must be an int, or a capsule for its address", id);
  } else if (PyExtensibleType_Internal_Word(type, at, id, 0, "the ID is out of range", &word) < 0) {
    return -1;
  } else {
    slot->id = word;
  }
  if (!PyCustomSlot_IsValidID(slot->id)) {
    return PyExtensibleType_Internal_Fault(type, at, PyExc_ValueError, "no slot can have this ID",
                                           id);
  }
  if (slot->id == PyCustomSlot_ID_NATIVECALLABLE) {
    // The one ID of which we know that it makes readers follow a pointer inside the instance.
    return PyExtensibleType_Internal_Fault(
        type, at, PyExc_ValueError,
        "SEP 201's slot is an offset into the instance, which only C code can vouch for", value);
  }
  if (PyCapsule_CheckExact(value)) {
    slot->data.pointer = PyExtensibleType_Internal_Pointer(value);
    Py_INCREF(value);
    own->kept[own->kept_count++] = value;
    return 0;
  }
  if (!PyLong_Check(value)) {
    return PyExtensibleType_Internal_Fault(
        type, at, PyExc_TypeError,
        "the value must be a capsule (for a pointer) or an int (for flags or an offset)", value);
  }
  return PyExtensibleType_Internal_Word(type, at, value, 1, "the value does not fit a machine word",
                                        &slot->data.flags);
}

static inline void PyExtensibleType_Internal_RefuseKind(PyTypeObject *type, PyObject *given) {
  char name[PyTypedcall_Internal_NAME_SIZE], kind[PyTypedcall_Internal_NAME_SIZE];
  PyErr_Format(PyExc_TypeError,
               "type '%s': " PyExtensibleType_OWN_SLOTS
               " must be a mapping or a list of (id, value), not '%s'",
               PyTypedcall_Internal_Name(type, name),
               PyTypedcall_Internal_Name(Py_TYPE(given), kind));
}

// The entries of a mapping, list or tuple as a tuple of its own: a new reference, or NULL with an
// exception. May run Python code if the object is not exactly a dict, list or tuple.
static inline PyObject *PyExtensibleType_Internal_Entries(PyTypeObject *type, PyObject *given) {
  if (PyList_Check(given) || PyTuple_Check(given)) return PySequence_Tuple(given);
  PyObject *items = NULL;
  if (PyDict_CheckExact(given)) {
    items = PyDict_Items(given);
  } else {
    // Sequences pass for mappings in C: what has items() is one.
    PyObject *method = PyMapping_Check(given) && !PyType_Check(given)
                           ? PyObject_GetAttrString(given, "items")
                           : NULL;
    if (method != NULL) items = PyObject_CallObject(method, NULL);
    const int is_mapping =
        method != NULL || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError));
    Py_XDECREF(method);
    if (!is_mapping) {
      PyErr_Clear();
      PyExtensibleType_Internal_RefuseKind(type, given);
    }
  }
  PyObject *entries = items != NULL ? PySequence_Tuple(items) : NULL;
  Py_XDECREF(items);
  return entries;
}

static inline void PyExtensibleType_Internal_DropOwn(PyExtensibleType_Internal_Own *own) {
  PyExtensibleType_Internal_ReleaseKept(own->kept, own->kept_count);
  PyMem_Free((void *)(uintptr_t)own->slots);
  memset(own, 0, sizeof(*own));
}

// Reads the class body's `__customslots__`, if it has any, into `own`, which DropOwn frees. Returns
// 0, or -1 with TypeError or ValueError (which entry, and why), MemoryError, or what the mapping
// raised. May run Python code.
static inline int PyExtensibleType_Internal_ReadOwn(PyTypeObject *type,
                                                    PyExtensibleType_Internal_Own *own) {
  memset(own, 0, sizeof(*own));
  PyObject *given = PyTypedcall_Internal_OwnAttribute(type, PyExtensibleType_OWN_SLOTS);
  if (given == NULL) return PyErr_Occurred() ? -1 : 0;
  PyObject *entries = PyExtensibleType_Internal_Entries(type, given);
  Py_DECREF(given);
  if (entries == NULL) return -1;
  const Py_ssize_t count = PyTuple_Size(entries);
  PyCustomSlot *slots = (PyCustomSlot *)PyMem_Calloc((size_t)count, sizeof(*slots));
  own->slots = slots;
  own->kept = (PyObject **)PyMem_Calloc((size_t)count, 2 * sizeof(*own->kept));
  own->count = count;
  int failed = slots == NULL || own->kept == NULL;
  if (failed) PyErr_NoMemory();
  for (Py_ssize_t i = 0; !failed && i < count; ++i) {
    PyObject *entry = PyTuple_GetItem(entries, i);
    PyObject *pair = PyTuple_Check(entry) || PyList_Check(entry) ? PySequence_Tuple(entry) : NULL;
    if (pair != NULL && PyTuple_Size(pair) == 2) {
      failed = PyExtensibleType_Internal_ReadEntry(type, i, PyTuple_GetItem(pair, 0),
                                                   PyTuple_GetItem(pair, 1), &slots[i], own) < 0;
    } else {
      failed = 1;
      if (!PyErr_Occurred()) {
        PyExtensibleType_Internal_Fault(type, i, PyExc_TypeError, "must be a pair (id, value)",
                                        entry);
      }
    }
    Py_XDECREF(pair);
  }
  Py_DECREF(entries);
  if (!failed) failed = PyExtensibleType_Internal_ValidateOwn(type, slots, count) < 0;
  if (failed) {
    PyTypedcall_SavedError saved = PyTypedcall_SaveError();
    PyExtensibleType_Internal_DropOwn(own);
    PyTypedcall_RestoreError(saved);
    return -1;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_OWN_SLOTS_H_
// ---- core/metaclass.h, continued

#ifdef __cplusplus
extern "C" {
#endif

#define PyExtensibleType_ATTRIBUTE "extensibletype_v2"

// The last step of `resolve`. No Python code runs in here, so with the GIL held nobody sees a type
// half resolved.
static inline int PyExtensibleType_Internal_Commit(PyTypeObject *metaclass, PyTypeObject *type,
                                                   PyObject *mro,
                                                   const PyExtensibleType_Internal_Own *own) {
  PyExtensibleType_Internal_TypeData *data = PyExtensibleType_Internal_DataOf(metaclass, type);
  if (PyExtensibleType_Internal_BuildTable(metaclass, type, mro, own) < 0) return -1;
  PyTypedcall_STORE_RELEASE(&data->shared.magic, PyExtensibleType_MAGIC);
  return 0;
}

// Always -1. `format` has one %s, for the type's name.
static inline int PyExtensibleType_Internal_Refuse(PyTypeObject *type, PyObject *exception,
                                                   const char *format) {
  char name[PyTypedcall_Internal_NAME_SIZE];
  PyErr_Format(exception, format, PyTypedcall_Internal_Name(type, name));
  return -1;
}

// The magic of a type whose bases are being resolved.
#define PyExtensibleType_Internal_ON_THE_WAY ((uint64_t)1)

static inline int PyExtensibleType_Internal_Resolve(PyTypeObject *metaclass, PyTypeObject *type,
                                                    const PyCustomSlot *slots, Py_ssize_t count);

// Resolves those bases that came past the metaclass's __init__ and that nobody has looked at yet:
// what `type` inherits must not depend on who looked first. Returns 0, or -1 with the exception
// that a base's declaration causes. May run Python code.
static inline int PyExtensibleType_Internal_ResolveBases(PyTypeObject *metaclass,
                                                         PyTypeObject *type) {
  PyObject *mro = PyTypedcall_Internal_Mro(type);
  int result = mro == NULL && PyErr_Occurred() ? -1 : 0;
  uint64_t *magic = &PyExtensibleType_Internal_DataOf(metaclass, type)->shared.magic;
  // The last ones first: they are bases of the others, and the recursion stays flat.
  for (Py_ssize_t i = mro != NULL ? PyTuple_Size(mro) - 1 : -1; result == 0 && i >= 0; --i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (base == type || !PyTypedcall_Internal_IsHeapType(base) ||
        !PyType_IsSubtype(Py_TYPE((PyObject *)base), metaclass) ||
        PyExtensibleType_Internal_DataOf(metaclass, base)->shared.magic != 0) {
      continue;
    }
    // Metaclasses' mro() can put classes into the MRO of each other: who is on the way is passed
    // over, offers nothing meanwhile, and those below it are not settled before it is.
    if (*magic == 0) *magic = PyExtensibleType_Internal_ON_THE_WAY;
    if (Py_EnterRecursiveCall(" while custom slots are inherited") != 0) {
      result = -1;
    } else {
      result = PyExtensibleType_Internal_Resolve(metaclass, base, NULL, 0);
      Py_LeaveRecursiveCall();
    }
  }
  if (*magic == PyExtensibleType_Internal_ON_THE_WAY) *magic = 0;
  Py_XDECREF(mro);
  return result;
}

// Is one of the bases being resolved, by somebody whose Python code has led here or by another
// thread? What `type` would inherit now lacks what that base is about to have. Runs no Python code.
static inline int PyExtensibleType_Internal_BaseIsOnTheWay(PyTypeObject *metaclass,
                                                           PyTypeObject *type, PyObject *mro) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GetItem(mro, i);
    if (base == type || !PyTypedcall_Internal_IsHeapType(base) ||
        !PyType_IsSubtype(Py_TYPE((PyObject *)base), metaclass)) {
      continue;
    }
    if (PyExtensibleType_Internal_DataOf(metaclass, base)->shared.magic ==
        PyExtensibleType_Internal_ON_THE_WAY) {
      return 1;
    }
  }
  return 0;
}

// Resolves with the slots of the class body, or with `given` ones. Reading the body's can run
// Python code, and with it another thread or a look-up on this very type: whoever comes first to
// the end has resolved it.
static inline int PyExtensibleType_Internal_ResolveWith(
    PyTypeObject *metaclass, PyTypeObject *type, const PyExtensibleType_Internal_Own *given) {
  PyExtensibleType_Internal_Own body = {NULL, 0, NULL, 0};
  PyObject *mro = NULL;
  int result = given == NULL ? PyExtensibleType_Internal_ReadOwn(type, &body) : 0;
  if (result == 0) result = PyExtensibleType_Internal_ResolveBases(metaclass, type);
  if (result == 0) {
    mro = PyTypedcall_Internal_Mro(type);
    if (mro == NULL && PyErr_Occurred()) result = -1;
  }
  if (mro != NULL && PyExtensibleType_Internal_BaseIsOnTheWay(metaclass, type, mro)) {
    // The next look-up settles it. Given slots would be lost till then.
    if (given != NULL) {
      result = PyExtensibleType_Internal_Refuse(
          type, PyExc_RuntimeError, "the custom slots of a base of type '%s' are being settled");
    }
  } else if (mro != NULL && PyExtensibleType_Internal_DataOf(metaclass, type)->shared.magic == 0) {
    result = PyExtensibleType_Internal_Commit(metaclass, type, mro, given != NULL ? given : &body);
  } else if (result == 0 && given != NULL) {
    result = PyExtensibleType_Internal_Refuse(
        type, PyExc_SystemError, "somebody else has settled the custom slots of type '%s'");
  }
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  Py_XDECREF(mro);
  PyExtensibleType_Internal_DropOwn(&body);  // the table has references of its own to the capsules
  PyTypedcall_RestoreError(saved);
  return result;
}

// See PyTypedcall_Interface.resolve.
static inline int PyExtensibleType_Internal_Resolve(PyTypeObject *metaclass, PyTypeObject *type,
                                                    const PyCustomSlot *slots, Py_ssize_t count) {
  if (!PyType_IsSubtype(Py_TYPE((PyObject *)type), metaclass)) {
    return PyExtensibleType_Internal_Refuse(type, PyExc_TypeError,
                                            "type '%s' is not an extensible type");
  }
  if (!PyExtensibleType_Internal_HasData(type)) {
    return PyExtensibleType_Internal_Refuse(
        type, PyExc_TypeError, "the slots of the static type '%s' have not been made ready");
  }
  if (PyExtensibleType_Internal_DataOf(metaclass, type)->shared.magic == PyExtensibleType_MAGIC) {
    if (count == 0) return 0;
    return PyExtensibleType_Internal_Refuse(type, PyExc_SystemError,
                                            "the custom slots of type '%s' are final already");
  }
  if (PyExtensibleType_Internal_DataOf(metaclass, type)->shared.magic != 0 && count == 0) return 0;
  if (!PyTypedcall_Internal_IsHeapType(type)) {
    return PyExtensibleType_Internal_Refuse(
        type, PyExc_TypeError, "the slots of the static type '%s' have not been made ready");
  }
  if (count < 0 || (slots == NULL && count > 0)) {
    return PyExtensibleType_Internal_Refuse(
        type, PyExc_SystemError,
        "type '%s' was given a negative number of custom slots, or no table of them");
  }
  PyObject *mro = PyTypedcall_Internal_Mro(type);
  // Without one it is still being made: there is nothing to inherit from yet.
  if (mro == NULL) return PyErr_Occurred() ? -1 : 0;
  Py_DECREF(mro);
  if (count == 0) return PyExtensibleType_Internal_ResolveWith(metaclass, type, NULL);
  if (PyExtensibleType_Internal_ValidateOwn(type, slots, count) < 0) return -1;
  const PyExtensibleType_Internal_Own own = {slots, count, NULL, 0};
  return PyExtensibleType_Internal_ResolveWith(metaclass, type, &own);
}

static inline void PyExtensibleType_Internal_Dealloc(PyObject *self);

// Our metaclass among the ancestors of a type's metaclass: the one that has our tp_dealloc, which
// Python code cannot give to another one. It is always on the way, because no other base of it adds
// data. (On 3.9 it is mutable, and its own `__bases__` can be assigned.)
static inline PyTypeObject *PyExtensibleType_Internal_MetaclassOf(PyTypeObject *type) {
  PyTypeObject *metaclass = Py_TYPE((PyObject *)type);
  for (;;) {
    PyTypeObject *base = PyTypedcall_Internal_SLOT(PyTypeObject *, metaclass, tp_base);
    if (base == NULL || base == &PyType_Type ||
        PyTypedcall_Internal_SLOT(destructor, metaclass, tp_dealloc) ==
            PyExtensibleType_Internal_Dealloc) {
      return metaclass;
    }
    metaclass = base;
  }
}

static inline int PyExtensibleType_Internal_Init(PyObject *self, PyObject *args, PyObject *kwargs) {
  const initproc init = PyTypedcall_Internal_SLOT(initproc, &PyType_Type, tp_init);
  if (init(self, args, kwargs) < 0) return -1;
  PyTypeObject *type = (PyTypeObject *)self;
  return PyExtensibleType_Internal_Resolve(PyExtensibleType_Internal_MetaclassOf(type), type, NULL,
                                           0);
}

static inline void PyExtensibleType_Internal_Dealloc(PyObject *self) {
  PyTypeObject *metaclass = Py_TYPE(self);
  PyTypeObject *type = (PyTypeObject *)self;
  PyExtensibleType_Internal_Table *table =
      PyExtensibleType_Internal_DataOf(PyExtensibleType_Internal_MetaclassOf(type), type)->table;
  PyTypedcall_Internal_SLOT(destructor, &PyType_Type, tp_dealloc)(self);
  PyExtensibleType_Internal_ReleaseTable(table, type);
  Py_DECREF(metaclass);
}

static inline int PyExtensibleType_Internal_Traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return PyTypedcall_Internal_SLOT(traverseproc, &PyType_Type, tp_traverse)(self, visit, arg);
}

// A new metaclass for this interpreter. New reference, or NULL with an exception: SystemError when
// the running CPython lays out types differently from the one compiled for. GIL: held.
static inline PyTypeObject *PyExtensibleType_Internal_NewMetaclass(void) {
  static const char doc[] =
      "Metaclass of types with custom slots (SEP 200).\n\n"
      "Subclasses of an extensible type inherit its slots; nothing needs to be called. A class "
      "body "
      "may add or override slots: __customslots__ is a mapping or a list of (id, value), where a "
      "value is a capsule for a pointer, or an int for flags or an offset. Like a ctypes "
      "prototype, "
      "it is a promise: consumers follow the pointers. Assigning to __customslots__ or __bases__ "
      "afterwards changes no slots.";
  PyType_Slot slots[] = {
      {Py_tp_doc, (void *)(uintptr_t)doc},
      {Py_tp_init, (void *)PyExtensibleType_Internal_Init},
      {Py_tp_dealloc, (void *)PyExtensibleType_Internal_Dealloc},
      {Py_tp_traverse, (void *)PyExtensibleType_Internal_Traverse},
      {Py_tp_clear, (void *)PyTypedcall_Internal_SLOT(inquiry, &PyType_Type, tp_clear)},
      {0, NULL},
  };
  PyType_Spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.name = PyTypedcall_MODULE "." PyExtensibleType_ATTRIBUTE;
#if defined(Py_LIMITED_API) || PY_VERSION_HEX >= 0x030C0000
  spec.basicsize = -(int)sizeof(PyExtensibleType_Internal_TypeData);  // PEP 697
#else
  spec.basicsize = (int)(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleType_Internal_TypeData));
#endif
  spec.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
#ifdef Py_TPFLAGS_IMMUTABLETYPE
  spec.flags |= Py_TPFLAGS_IMMUTABLETYPE;
#endif
  spec.slots = slots;
  PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyType_Type);
  if (bases == NULL) return NULL;
  PyTypeObject *metaclass = (PyTypeObject *)PyType_FromSpecWithBases(&spec, bases);
  Py_DECREF(bases);
  if (metaclass == NULL) {
    if (!PyErr_Occurred()) PyErr_NoMemory();  // CPython forgets to, for its copy of the name
    return NULL;
  }
#ifdef Py_LIMITED_API
  // Nothing is compiled in: PyObject_GetTypeData says where the data is.
#elif PY_VERSION_HEX >= 0x030C0000
  const Py_ssize_t where = metaclass->tp_basicsize - PyType_GetTypeDataSize(metaclass);
  if (where != (Py_ssize_t)PyExtensibleType_DATA_OFFSET) {
    PyErr_Format(PyExc_SystemError,
                 "compiled for a CPython with type data at %zu, but this one has it at %zd",
                 PyExtensibleType_DATA_OFFSET, where);
    Py_DECREF(metaclass);
    return NULL;
  }
#else
  if (PyType_Type.tp_basicsize != (Py_ssize_t)sizeof(PyHeapTypeObject)) {
    PyErr_Format(PyExc_SystemError, "compiled for heap types of %zu bytes, but they have %zd",
                 sizeof(PyHeapTypeObject), PyType_Type.tp_basicsize);
    Py_DECREF(metaclass);
    return NULL;
  }
#endif
  return metaclass;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_METACLASS_H_
// ---- core/combined_metaclass.h, continued

#ifdef __cplusplus
extern "C" {
#endif

// `__init__` of a combined metaclass: what the others have, then ours, even if one of the others
// forgets super().__init__, so that a faulty `__customslots__` is reported.
static inline PyObject *PyExtensibleType_Internal_CombinedInit(PyObject *self,
                                                               PyTypeObject *defining_class,
                                                               PyObject *const *args,
                                                               Py_ssize_t nargs,
                                                               PyObject *kwnames) {
  PyObject *super = PyObject_CallFunctionObjArgs((PyObject *)&PySuper_Type,
                                                 (PyObject *)defining_class, self, NULL);
  PyObject *init = super != NULL ? PyObject_GetAttrString(super, "__init__") : NULL;
  PyObject *result = init != NULL ? PyObject_Vectorcall(init, args, (size_t)nargs, kwnames) : NULL;
  Py_XDECREF(init);
  Py_XDECREF(super);
  PyTypeObject *type = (PyTypeObject *)self;
  if (result != NULL && PyExtensibleType_Internal_Resolve(
                            PyExtensibleType_Internal_MetaclassOf(type), type, NULL, 0) < 0) {
    Py_CLEAR(result);
  }
  return result;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-function-type"
#endif
static PyMethodDef PyExtensibleType_Internal_CombinedInitDef = {
    "__init__", (PyCFunction)(void (*)(void))PyExtensibleType_Internal_CombinedInit,
    METH_METHOD | METH_FASTCALL | METH_KEYWORDS, NULL};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

// Is another one of the first `count` in `all` the same or derived from `all[at]`? Of two that are
// the same the first remains.
static inline int PyExtensibleType_Internal_IsImplied(PyObject *all, Py_ssize_t at) {
  PyTypeObject *metaclass = (PyTypeObject *)PyList_GetItem(all, at);
  for (Py_ssize_t i = 0; i < PyList_Size(all); ++i) {
    PyTypeObject *other = (PyTypeObject *)PyList_GetItem(all, i);
    if (i != at && PyType_IsSubtype(other, metaclass) && (other != metaclass || i < at)) return 1;
  }
  return 0;
}

// Where a metaclass belongs among the bases: those with our data last, because the others' __init__
// and __new__ expect to come first; else by name; of one name, by address, so that it does not
// matter who asks first.
static inline int PyExtensibleType_Internal_ComesBefore(PyTypeObject *ours, PyObject *left,
                                                        PyObject *right) {
  char left_name[PyTypedcall_Internal_NAME_SIZE], right_name[PyTypedcall_Internal_NAME_SIZE];
  const int left_last = PyType_IsSubtype((PyTypeObject *)left, ours);
  const int right_last = PyType_IsSubtype((PyTypeObject *)right, ours);
  if (left_last != right_last) return right_last;
  const int names = strcmp(PyTypedcall_Internal_Name((PyTypeObject *)left, left_name),
                           PyTypedcall_Internal_Name((PyTypeObject *)right, right_name));
  return names != 0 ? names < 0 : (uintptr_t)left < (uintptr_t)right;
}

// Puts a metaclass where it belongs in `bases` from `start` on. 0, or -1 with MemoryError.
static inline int PyExtensibleType_Internal_InsertBase(PyTypeObject *ours, PyObject *bases,
                                                       Py_ssize_t start, PyObject *metaclass) {
  Py_ssize_t at = start;
  while (at < PyList_Size(bases) &&
         !PyExtensibleType_Internal_ComesBefore(ours, metaclass, PyList_GetItem(bases, at))) {
    ++at;
  }
  return PyList_Insert(bases, at, metaclass);
}

// What a weak reference still refers to: a new reference; NULL without an exception if it is dead.
static inline PyObject *PyExtensibleType_Internal_Dereference(PyObject *reference) {
  PyObject *object = PyObject_CallObject(reference, NULL);
  if (object != Py_None) return object;
  Py_DECREF(object);
  return NULL;
}

// The living ones among the combined metaclasses of this interpreter: a new list, or NULL.
static inline PyObject *PyExtensibleType_Internal_AllCombined(PyObject *cache) {
  PyObject *references = PyDict_Values(cache);
  PyObject *all = references != NULL ? PyList_New(0) : NULL;
  for (Py_ssize_t i = 0; all != NULL && i < PyList_Size(references); ++i) {
    PyObject *alive = PyExtensibleType_Internal_Dereference(PyList_GetItem(references, i));
    if (alive == NULL ? PyErr_Occurred() != NULL : PyList_Append(all, alive) < 0) Py_CLEAR(all);
    Py_XDECREF(alive);
  }
  Py_XDECREF(references);
  return all;
}

static inline int PyExtensibleType_Internal_IsCombined(PyObject *all_combined,
                                                       PyObject *metaclass) {
  for (Py_ssize_t i = 0; i < PyList_Size(all_combined); ++i) {
    PyObject *combined = PyList_GetItem(all_combined, i);
    if (PyType_IsSubtype((PyTypeObject *)metaclass, (PyTypeObject *)combined)) return 1;
  }
  return 0;
}

static inline int PyExtensibleType_Internal_AppendOnce(PyObject *list, PyObject *item) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    if (PyList_GetItem(list, i) == item) return 0;
  }
  return PyList_Append(list, item);
}

// Appends what `metaclass`, which derives from combined ones, was combined from. 0, or -1.
static inline int PyExtensibleType_Internal_AppendComponents(PyObject *all_combined,
                                                             PyObject *metaclass,
                                                             PyObject *components) {
  for (Py_ssize_t i = 0; i < PyList_Size(all_combined); ++i) {
    PyTypeObject *combined = (PyTypeObject *)PyList_GetItem(all_combined, i);
    if (!PyType_IsSubtype((PyTypeObject *)metaclass, combined)) continue;
    PyObject *bases = PyTypedcall_Internal_SLOT(PyObject *, combined, tp_bases);
    Py_XINCREF(bases);
    int failed = 0;
    for (Py_ssize_t at = 0; !failed && bases != NULL && at < PyTuple_Size(bases); ++at) {
      PyObject *base = PyTuple_GetItem(bases, at);
      if (PyExtensibleType_Internal_IsCombined(all_combined, base)) continue;
      failed = PyExtensibleType_Internal_AppendOnce(components, base) < 0;
    }
    Py_XDECREF(bases);
    if (failed) return -1;
  }
  return 0;
}

// Those of `all` that no other one derives from: a new list, or NULL.
static inline PyObject *PyExtensibleType_Internal_NotImplied(PyObject *all) {
  PyObject *rest = PyList_New(0);
  for (Py_ssize_t i = 0; rest != NULL && i < PyList_Size(all); ++i) {
    if (PyExtensibleType_Internal_IsImplied(all, i)) continue;
    if (PyList_Append(rest, PyList_GetItem(all, i)) < 0) Py_CLEAR(rest);
  }
  return rest;
}

// The bases for `wanted`, none of which implies another: combined ones first, then everything that
// they and the others consist of, although that is implied. So all combined metaclasses agree about
// the order of any two others, and can themselves be combined. A new list, or NULL.
static inline PyObject *PyExtensibleType_Internal_OrderedBases(PyTypeObject *ours, PyObject *cache,
                                                               PyObject *wanted) {
  PyObject *all_combined = PyExtensibleType_Internal_AllCombined(cache);
  PyObject *components = all_combined != NULL ? PyList_New(0) : NULL;
  PyObject *bases = components != NULL ? PyList_New(0) : NULL, *rest = NULL;
  int failed = bases == NULL;
  for (Py_ssize_t i = 0; !failed && i < PyList_Size(wanted); ++i) {
    PyObject *metaclass = PyList_GetItem(wanted, i);
    if (PyExtensibleType_Internal_IsCombined(all_combined, metaclass)) {
      failed = PyExtensibleType_Internal_InsertBase(ours, bases, 0, metaclass) < 0 ||
               PyExtensibleType_Internal_AppendComponents(all_combined, metaclass, components) < 0;
    } else {
      failed = PyExtensibleType_Internal_AppendOnce(components, metaclass) < 0;
    }
  }
  if (!failed) {
    rest = PyExtensibleType_Internal_NotImplied(components);
    failed = rest == NULL;
  }
  const Py_ssize_t start = failed ? 0 : PyList_Size(bases);
  for (Py_ssize_t i = 0; !failed && i < PyList_Size(rest); ++i) {
    failed = PyExtensibleType_Internal_InsertBase(ours, bases, start, PyList_GetItem(rest, i)) < 0;
  }
  Py_XDECREF(rest);
  Py_XDECREF(components);
  Py_XDECREF(all_combined);
  if (failed) Py_CLEAR(bases);
  return bases;
}

// The bases of the combined metaclass, in their order: a new list, or NULL with an exception.
static inline PyObject *PyExtensibleType_Internal_CombinedBases(PyTypeObject *ours, PyObject *cache,
                                                                PyObject *metaclasses) {
  PyObject *all = PySequence_List(metaclasses);
  if (all == NULL || PyList_Append(all, (PyObject *)ours) < 0) {
    Py_XDECREF(all);
    return NULL;
  }
  for (Py_ssize_t i = 0; i < PyList_Size(all); ++i) {
    PyObject *metaclass = PyList_GetItem(all, i);
    if (PyType_Check(metaclass) && PyType_IsSubtype((PyTypeObject *)metaclass, &PyType_Type)) {
      continue;
    }
    PyErr_Format(PyExc_TypeError, "%R is not a metaclass: it does not derive from type", metaclass);
    Py_DECREF(all);
    return NULL;
  }
  PyObject *bases = PyExtensibleType_Internal_NotImplied(all);
  Py_DECREF(all);
  if (bases != NULL && PyList_Size(bases) > 1) {
    PyObject *ordered = PyExtensibleType_Internal_OrderedBases(ours, cache, bases);
    Py_DECREF(bases);
    bases = ordered;
  }
  return bases;
}

// A frozenset of addresses. One can be used again if somebody assigns to the `__bases__` of what
// was made: what is found is therefore looked at again.
static inline PyObject *PyExtensibleType_Internal_CombinedKey(PyObject *bases) {
  PyObject *addresses = PyList_New(0);
  for (Py_ssize_t i = 0; addresses != NULL && i < PyList_Size(bases); ++i) {
    PyObject *address = PyLong_FromVoidPtr(PyList_GetItem(bases, i));
    if (address == NULL || PyList_Append(addresses, address) < 0) Py_CLEAR(addresses);
    Py_XDECREF(address);
  }
  PyObject *key = addresses != NULL ? PyFrozenSet_New(addresses) : NULL;
  Py_XDECREF(addresses);
  return key;
}

// Drops what is dead from the cache, so that metaclasses made in a loop do not fill it up.
static inline int PyExtensibleType_Internal_PurgeCombined(PyObject *cache) {
  PyObject *items = PyDict_Items(cache);
  int failed = items == NULL;
  for (Py_ssize_t i = 0; !failed && i < PyList_Size(items); ++i) {
    PyObject *item = PyList_GetItem(items, i);
    PyObject *alive = PyExtensibleType_Internal_Dereference(PyTuple_GetItem(item, 1));
    if (alive == NULL) {
      failed = PyErr_Occurred() != NULL || PyDict_DelItem(cache, PyTuple_GetItem(item, 0)) < 0;
    }
    Py_XDECREF(alive);
  }
  Py_XDECREF(items);
  return failed ? -1 : 0;
}

// Is `object` a type that has the layout of ours, and that derives from all `bases`?
static inline int PyExtensibleType_Internal_DerivesFrom(PyTypeObject *ours, PyObject *object,
                                                        PyObject *bases) {
  if (!PyType_Check(object)) return 0;
  for (Py_ssize_t i = 0; i < PyList_Size(bases); ++i) {
    PyTypeObject *base = (PyTypeObject *)PyList_GetItem(bases, i);
    if (!PyType_IsSubtype((PyTypeObject *)object, base)) return 0;
  }
  PyTypeObject *type = (PyTypeObject *)object;
  while (type != NULL && type != ours) {
    type = PyTypedcall_Internal_SLOT(PyTypeObject *, type, tp_base);
  }
  return type == ours;
}

// A new metaclass with these bases. New reference, or NULL with an exception.
static inline PyObject *PyExtensibleType_Internal_NewCombined(PyTypeObject *ours, PyObject *bases) {
  char name[PyTypedcall_Internal_NAME_SIZE];
  PyObject *full_name = PyUnicode_FromString("");
  for (Py_ssize_t i = 0; full_name != NULL && i < PyList_Size(bases); ++i) {
    if (PyExtensibleType_Internal_IsImplied(bases, i)) continue;  // in the name of another one
    PyTypedcall_Internal_Name((PyTypeObject *)PyList_GetItem(bases, i), name);
    const char *dot = strrchr(name, '.');
    PyObject *longer =
        PyUnicode_FromFormat("%U%s%s", full_name, i > 0 ? "_" : "", dot != NULL ? dot + 1 : name);
    Py_DECREF(full_name);
    full_name = longer;
  }
  PyObject *tuple = full_name != NULL ? PyList_AsTuple(bases) : NULL;
  PyObject *combined = NULL;
  if (tuple != NULL) {
    combined =
        PyObject_CallFunction((PyObject *)&PyType_Type, "OO{s:s,s:s}", full_name, tuple,
                              "__module__", PyTypedcall_MODULE, "__doc__",
                              "Metaclass of types with custom slots (SEP 200), combined with "
                              "another metaclass.");
  }
  Py_XDECREF(tuple);
  Py_XDECREF(full_name);
  if (combined == NULL) return NULL;
  // The metaclass of one of the bases decides what comes out of that call.
  if (!PyExtensibleType_Internal_DerivesFrom(ours, combined, bases)) {
    PyErr_Format(PyExc_TypeError, "%R: a metaclass's own metaclass made something else of it",
                 combined);
    Py_DECREF(combined);
    return NULL;
  }
  PyObject *init =
      PyDescr_NewMethod((PyTypeObject *)combined, &PyExtensibleType_Internal_CombinedInitDef);
  if (init == NULL || PyObject_SetAttrString(combined, "__init__", init) < 0) Py_CLEAR(combined);
  Py_XDECREF(init);
  return combined;
}

// See PyExtensibleType_CombinedMetaclass. `cache` is the interpreter's dictionary for them.
static inline PyTypeObject *PyExtensibleType_Internal_Combine(PyTypeObject *ours, PyObject *cache,
                                                              PyObject *metaclasses) {
  PyObject *bases = PyExtensibleType_Internal_CombinedBases(ours, cache, metaclasses);
  if (bases == NULL) return NULL;
  PyObject *combined = NULL, *key = NULL, *reference = NULL, *standing = NULL;
  if (PyList_Size(bases) == 1) {
    combined = PyList_GetItem(bases, 0);
    Py_INCREF(combined);
  } else if ((key = PyExtensibleType_Internal_CombinedKey(bases)) != NULL) {
    standing = PyDict_GetItemWithError(cache, key);
    if (standing != NULL) combined = PyExtensibleType_Internal_Dereference(standing);
    if (combined != NULL && !PyExtensibleType_Internal_DerivesFrom(ours, combined, bases)) {
      // Somebody has assigned to its `__bases__`.
      Py_CLEAR(combined);
      if (PyDict_DelItem(cache, key) < 0) PyErr_Clear();
    }
    if (combined == NULL && !PyErr_Occurred() &&
        PyExtensibleType_Internal_PurgeCombined(cache) == 0 &&
        (combined = PyExtensibleType_Internal_NewCombined(ours, bases)) != NULL) {
      // Making it may have run code that asked for the same: what stands now counts.
      reference = PyWeakref_NewRef(combined, NULL);
      standing = reference != NULL ? PyTypedcall_Internal_SetDefault(cache, key, reference) : NULL;
      PyTypedcall_Internal_Hide(cache);
      if (standing != reference || standing == NULL) {
        Py_CLEAR(combined);
        if (standing != NULL) combined = PyExtensibleType_Internal_Dereference(standing);
      }
    }
  }
  Py_XDECREF(reference);
  Py_XDECREF(key);
  Py_DECREF(bases);
  if (combined == NULL && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_RuntimeError,
                    "typedcall: another thread dropped the metaclass just made");
  }
  return (PyTypeObject *)combined;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_COMBINED_METACLASS_H_
// ---- core/rendezvous.h, continued
// ---- core/row_replacement.h
// A row whose value changes: readers without a lock find the old value or the new one, never
// nothing. Used by core/rendezvous.h.
#ifndef TYPEDCALL_CORE_ROW_REPLACEMENT_H_
#define TYPEDCALL_CORE_ROW_REPLACEMENT_H_

// ---- core/published_rows.h
// Rows and their owners: publishing, retracting, and what happens when an owner dies. These are the
// functions behind PyTypedcall_Interface; core/rendezvous.h puts them into it.
#ifndef TYPEDCALL_CORE_PUBLISHED_ROWS_H_
#define TYPEDCALL_CORE_PUBLISHED_ROWS_H_

// ---- core/interpreter_state.h
// All that the interface between modules holds for one interpreter.
// core/rendezvous.h makes and empties it; the functions behind the interface work on it.
#ifndef TYPEDCALL_CORE_INTERPRETER_STATE_H_
#define TYPEDCALL_CORE_INTERPRETER_STATE_H_

// ---- core/side_table.h
// The side table: rows found by address, without lock or reference, and removed when their owners
// die. Used by core/published_rows.h; modules reach it through PyTypedcall_Interface.
#ifndef TYPEDCALL_CORE_SIDE_TABLE_H_
#define TYPEDCALL_CORE_SIDE_TABLE_H_

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// One cell of a generation. A key, once written, never changes, so a reader cannot see a value that
// belongs to another key; a removed row leaves its key behind with a NULL value.
typedef struct PyTypedcall_Internal_Cell {
  const void *key;
  const void *value;
  struct PyTypedcall_Internal_Row *row;  // for writers only
} PyTypedcall_Internal_Cell;

// An open-addressed array with linear probing. When it fills up, the next generation takes the live
// rows over; readers may still be in the old one, which is kept until the interpreter ends.
typedef struct PyTypedcall_Internal_Generation {
  struct PyTypedcall_Internal_Generation *older;
  size_t mask;  // length - 1; the length is a power of two
  size_t used;  // cells with a key, live or not; at most three quarters of the length
  PyTypedcall_Internal_Cell cells[1];
} PyTypedcall_Internal_Generation;

// What writers know about a cell.
typedef struct PyTypedcall_Internal_Row {
  int space;
  const void *key;
  const void *value;
  void (*destroy)(const void *value);
  size_t owners;
  struct PyTypedcall_Internal_Owner *keeper;  // the owner that is kept alive for this row, or NULL
  int retracted;                              // no longer in the table
  struct PyTypedcall_Internal_Row *next;      // among the retracted ones
} PyTypedcall_Internal_Row;

// One space.
typedef struct PyTypedcall_Internal_SideTable {
  PyTypedcall_Internal_Generation *current;
  size_t live;
} PyTypedcall_Internal_SideTable;

static inline size_t PyTypedcall_Internal_Hash(const void *key) {
  // Addresses are multiples of 8 or 16; the multiplication spreads what is left over the high half.
  uint64_t bits = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(bits >> 32);
}

// The cell with `key`, or the free one where it belongs. The array always has a free cell.
static inline PyTypedcall_Internal_Cell *PyTypedcall_Internal_Probe(
    PyTypedcall_Internal_Generation *generation, const void *key) {
  for (size_t i = PyTypedcall_Internal_Hash(key);; ++i) {
    PyTypedcall_Internal_Cell *cell = &generation->cells[i & generation->mask];
    const void *found = PyTypedcall_LOAD_ACQUIRE(&cell->key);
    if (found == key || found == NULL) return cell;
  }
}

// GIL: none; any thread. NULL when there is no live row.
static inline const void *PyTypedcall_Internal_TableFind(PyTypedcall_Internal_SideTable *table,
                                                         const void *key) {
  PyTypedcall_Internal_Generation *generation = PyTypedcall_LOAD_ACQUIRE(&table->current);
  if (generation == NULL || key == NULL) return NULL;
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(generation, key);
  // A free cell may be taken for another key by now, and has its value before it has its key.
  if (PyTypedcall_LOAD_RELAXED(&cell->key) != key) return NULL;
  return PyTypedcall_LOAD_ACQUIRE(&cell->value);
}

// Makes sure that one more row fits. 1: a new generation was published, 0: not needed, -1: no
// memory (no exception set).
static inline int PyTypedcall_Internal_TableReserve(PyTypedcall_Internal_SideTable *table) {
  PyTypedcall_Internal_Generation *old = table->current;
  if (old != NULL && (old->used + 1) * 4 <= (old->mask + 1) * 3) return 0;
  size_t length = 16;
  while ((table->live + 1) * 2 > length) length *= 2;
  const size_t bytes =
      offsetof(PyTypedcall_Internal_Generation, cells) + length * sizeof(PyTypedcall_Internal_Cell);
  PyTypedcall_Internal_Generation *fresh =
      (PyTypedcall_Internal_Generation *)PyTypedcall_RAW_CALLOC(1, bytes);
  if (fresh == NULL) return -1;
  fresh->older = old;
  fresh->mask = length - 1;
  for (size_t i = 0; old != NULL && i <= old->mask; ++i) {
    const PyTypedcall_Internal_Cell *cell = &old->cells[i];
    if (cell->value == NULL) continue;
    *PyTypedcall_Internal_Probe(fresh, cell->key) = *cell;
    ++fresh->used;
  }
  PyTypedcall_STORE_RELEASE(&table->current, fresh);
  return 1;
}

// Puts in a row whose key has no live one; TableReserve came before.
static inline void PyTypedcall_Internal_TableInsert(PyTypedcall_Internal_SideTable *table,
                                                    PyTypedcall_Internal_Row *row) {
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, row->key);
  cell->row = row;
  PyTypedcall_STORE_RELEASE(&cell->value, row->value);
  if (cell->key == NULL) {
    ++table->current->used;
    PyTypedcall_STORE_RELEASE(&cell->key, row->key);
  }
  ++table->live;
}

// The live row of `key`, or NULL.
static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_TableRow(
    PyTypedcall_Internal_SideTable *table, const void *key) {
  if (table->current == NULL || key == NULL) return NULL;
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, key);
  return cell->value != NULL ? cell->row : NULL;
}

static inline void PyTypedcall_Internal_TableRemove(PyTypedcall_Internal_SideTable *table,
                                                    const void *key) {
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, key);
  PyTypedcall_STORE_RELEASE(&cell->value, (const void *)NULL);
  --table->live;
}

static inline void PyTypedcall_Internal_TableFree(PyTypedcall_Internal_SideTable *table) {
  PyTypedcall_Internal_Generation *generation = table->current;
  table->current = NULL;
  while (generation != NULL) {
    PyTypedcall_Internal_Generation *older = generation->older;
    PyTypedcall_RAW_FREE(generation);
    generation = older;
  }
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_SIDE_TABLE_H_
// ---- core/interpreter_state.h, continued
// ---- core/static_type.h
// Extensible types that a C module defines statically: what PyExtensibleType_Ready does, and what
// happens to them when their interpreter ends. Source: SEP 200, "Provider API" and "Subclassing".
#ifndef TYPEDCALL_CORE_STATIC_TYPE_H_
#define TYPEDCALL_CORE_STATIC_TYPE_H_

#ifdef __cplusplus
extern "C" {
#endif

// The static types that have been made ready, so that they can be put back: they outlive their
// interpreter, and with it the metaclass.
typedef struct PyExtensibleType_Internal_StaticType {
  PyTypeObject *type;
  PyExtensibleTypeData *data;
  Py_ssize_t own_count;  // of the slots that were there before those of the bases were prepended
} PyExtensibleType_Internal_StaticType;

typedef struct PyExtensibleType_Internal_StaticTypes {
  PyExtensibleType_Internal_StaticType *items;
  Py_ssize_t count, capacity;
} PyExtensibleType_Internal_StaticTypes;

// Room for one more. Returns 0, or -1 with MemoryError.
static inline int PyExtensibleType_Internal_ReserveStatic(
    PyExtensibleType_Internal_StaticTypes *types) {
  if (types->count < types->capacity) return 0;
  const Py_ssize_t capacity = types->capacity == 0 ? 4 : types->capacity * 2;
  void *grown = PyTypedcall_RAW_REALLOC(types->items, (size_t)capacity * sizeof(*types->items));
  if (grown == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  types->items = (PyExtensibleType_Internal_StaticType *)grown;
  types->capacity = capacity;
  return 0;
}

// Makes the types plain again, as they were before, so that nothing refers to a dead metaclass and
// the next interpreter can make them ready.
static inline void PyExtensibleType_Internal_ForgetStatic(
    PyExtensibleType_Internal_StaticTypes *types) {
  for (Py_ssize_t i = 0; i < types->count; ++i) {
    const PyExtensibleType_Internal_StaticType *item = &types->items[i];
    PyTypedcall_STORE_RELEASE(&item->data->magic, (uint64_t)0);
    const Py_ssize_t inherited = item->data->count - item->own_count;
    if (inherited > 0) {
      PyCustomSlot *table = item->data->table;
      memmove(table, table + inherited, (size_t)item->own_count * sizeof(*table));
      memset(table + item->own_count, 0, (size_t)inherited * sizeof(*table));
      item->data->count = item->own_count;
    }
    // Its reference to the metaclass is never given back: ordinary static types that derive from it
    // have the same metaclass without a reference, and nobody lists them.
    Py_SET_TYPE((PyObject *)item->type, &PyType_Type);
  }
  PyTypedcall_RAW_FREE(types->items);
  memset(types, 0, sizeof(*types));
}

// Always -1. `fault` follows the type's name and a colon.
static inline int PyExtensibleType_Internal_RefuseStatic(PyTypeObject *type, PyObject *exception,
                                                         const char *fault) {
  char name[PyTypedcall_Internal_NAME_SIZE];
  PyErr_Format(exception, "static type '%s': %s", PyTypedcall_Internal_Name(type, name), fault);
  return -1;
}

// Checks count, table and room. Returns 0, or -1 with ValueError.
static inline int PyExtensibleType_Internal_CheckStatic(PyTypeObject *type,
                                                        const PyExtensibleTypeData *data,
                                                        Py_ssize_t room) {
  if (data->count < 0 || room < data->count || (room > 0 && data->table == NULL)) {
    return PyExtensibleType_Internal_RefuseStatic(
        type, PyExc_ValueError, "the slot table is missing or has less room than slots");
  }
  for (Py_ssize_t i = data->count; i < room; ++i) {
    if (data->table[i].id == PyCustomSlot_ID_EMPTY) continue;
    return PyExtensibleType_Internal_RefuseStatic(
        type, PyExc_ValueError, "there are more slots in the table than etp_custom_slot_count");
  }
  return PyExtensibleType_Internal_ValidateOwn(type, data->table, data->count);
}

// Collects what `type` inherits, in its MRO's order, skipped positions of the first base included:
// into `inherited` if that is not NULL. Returns how many slots.
static inline Py_ssize_t PyExtensibleType_Internal_InheritStatic(PyTypeObject *metaclass,
                                                                 PyTypeObject *type, PyObject *mro,
                                                                 const PyExtensibleTypeData *data,
                                                                 PyCustomSlot *inherited) {
  Py_ssize_t count = 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    PyObject *base = PyTuple_GetItem(mro, i);
    if (base == (PyObject *)type || !PyExtensibleType_Internal_IsResolved(metaclass, base))
      continue;
    const PyExtensibleTypeData *from =
        &PyExtensibleType_Internal_DataOf(metaclass, (PyTypeObject *)base)->shared;
    const int is_first = count == 0;
    for (Py_ssize_t j = 0; j < from->count; ++j) {
      const PyCustomSlot *slot = &from->table[j];
      if (slot->id == PyCustomSlot_ID_SKIP
              ? !is_first
              : PyExtensibleType_Internal_Position(data->table, data->count, slot->id) >= 0 ||
                    PyExtensibleType_Internal_Position(inherited, count, slot->id) >= 0) {
        continue;
      }
      inherited[count++] = *slot;
    }
  }
  return count;
}

// Prepends what `type` inherits to its table. Returns 0, or -1 with MemoryError, or with ValueError
// when there is no room, and then nothing has changed.
static inline int PyExtensibleType_Internal_PrependInherited(PyTypeObject *metaclass,
                                                             PyTypeObject *type,
                                                             PyExtensibleTypeData *data,
                                                             Py_ssize_t room) {
  PyObject *mro = PyTypedcall_Internal_Mro(type);
  Py_ssize_t most = 1;
  for (Py_ssize_t i = 0; mro != NULL && i < PyTuple_Size(mro); ++i) {
    PyObject *base = PyTuple_GetItem(mro, i);
    if (!PyExtensibleType_Internal_IsResolved(metaclass, base)) continue;
    most += PyExtensibleType_Internal_DataOf(metaclass, (PyTypeObject *)base)->shared.count;
  }
  PyCustomSlot *inherited = (PyCustomSlot *)PyMem_Calloc((size_t)most, sizeof(*inherited));
  int result = -1;
  if (inherited == NULL || mro == NULL) {
    PyErr_NoMemory();
  } else {
    const Py_ssize_t count =
        PyExtensibleType_Internal_InheritStatic(metaclass, type, mro, data, inherited);
    if (count > room - data->count) {
      char name[PyTypedcall_Internal_NAME_SIZE];
      PyErr_Format(
          PyExc_ValueError,
          "static type '%s': %zd slots of its own and %zd inherited ones do not fit into a "
          "table for %zd",
          PyTypedcall_Internal_Name(type, name), data->count, count, room);
    } else {
      if (count > 0) {
        memmove(data->table + count, data->table, (size_t)data->count * sizeof(*inherited));
        memcpy(data->table, inherited, (size_t)count * sizeof(*inherited));
        data->count += count;
      }
      result = 0;
    }
  }
  PyMem_Free(inherited);
  Py_XDECREF(mro);
  return result;
}

// Could `type` have our metaclass, seeing those of its bases?
static inline int PyExtensibleType_Internal_MetaclassFits(PyTypeObject *metaclass,
                                                          PyTypeObject *type) {
  PyObject *mro = PyTypedcall_Internal_Mro(type);
  int fits = mro != NULL;
  for (Py_ssize_t i = 0; fits && i < PyTuple_Size(mro); ++i) {
    fits = PyType_IsSubtype(metaclass, Py_TYPE(PyTuple_GetItem(mro, i)));
  }
  Py_XDECREF(mro);
  return fits;
}

// Puts an attribute straight into the dictionary of a static type, which refuses assignments,
// unless it has it. Nobody has seen the type yet. Steals `value`, which may be NULL with an
// exception. Returns 0, or -1 with an exception.
static inline int PyExtensibleType_Internal_SetStatic(PyTypeObject *type, const char *name,
                                                      PyObject *value) {
  PyObject *standing = value != NULL ? PyTypedcall_Internal_OwnAttribute(type, name) : NULL;
  int result = standing != NULL ? 0 : -1;
  if (standing == NULL && !PyErr_Occurred()) {
    PyObject *key = PyUnicode_FromString(name);
    result = key != NULL ? PyObject_GenericSetAttr((PyObject *)type, key, value) : -1;
    if (result == 0) PyType_Modified(type);
    Py_XDECREF(key);
  }
  Py_XDECREF(standing);
  Py_XDECREF(value);
  return result;
}

// What `type`'s own getter says of `__module__`. The metaclass has one of ours, which would be
// found first: pickle would look for the type in our module. New reference, or NULL with an
// exception.
static inline PyObject *PyExtensibleType_Internal_StaticModule(PyTypeObject *type) {
  PyObject *attributes = PyObject_GetAttrString((PyObject *)&PyType_Type, "__dict__");
  PyObject *getter = attributes != NULL ? PyMapping_GetItemString(attributes, "__module__") : NULL;
  PyObject *module = getter != NULL ? PyObject_CallMethod(getter, "__get__", "O", type) : NULL;
  Py_XDECREF(getter);
  Py_XDECREF(attributes);
  return module;
}

// Has a type been made ready before one of its bases, and so missed the base's slots?
static inline int PyExtensibleType_Internal_IsLate(
    const PyExtensibleType_Internal_StaticTypes *types, PyTypeObject *type) {
  for (Py_ssize_t i = 0; i < types->count; ++i) {
    if (PyType_IsSubtype(types->items[i].type, type)) return 1;
  }
  return 0;
}

// See PyExtensibleType_Ready. `types` are those of the interpreter.
static inline int PyExtensibleType_Internal_ReadyStatic(
    PyTypeObject *metaclass, PyExtensibleType_Internal_StaticTypes *types, PyTypeObject *type,
    Py_ssize_t room) {
#ifdef Py_LIMITED_API
  // PyObject_GetTypeData would want a type that has the metaclass already.
  const Py_ssize_t offset = PyTypedcall_Internal_TypeDataOffset(metaclass);
  if (offset < 0) return -1;
  PyExtensibleTypeData *data = (PyExtensibleTypeData *)(void *)((char *)type + offset);
#else
  PyExtensibleTypeData *data = &PyExtensibleType_Internal_DataOf(metaclass, type)->shared;
#endif
  PyTypeObject *before = Py_TYPE((PyObject *)type);
  if (PyTypedcall_Internal_IsHeapType(type)) {
    return PyExtensibleType_Internal_RefuseStatic(type, PyExc_TypeError, "is a heap type");
  }
  // The MRO, the dictionary and the slots of a static type would be shared with other interpreters.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    return PyExtensibleType_Internal_RefuseStatic(
        type, PyExc_ImportError,
        "can be made ready in the main interpreter only; PyExtensibleType_FromSpec makes types for "
        "any interpreter");
  }
  if (before == metaclass && data->magic == PyExtensibleType_MAGIC) return 0;
  if (before != NULL && before != metaclass && !PyType_IsSubtype(metaclass, before)) {
    return PyExtensibleType_Internal_RefuseStatic(type, PyExc_TypeError,
                                                  "has another metaclass already");
  }
  if (PyExtensibleType_Internal_IsLate(types, type)) {
    return PyExtensibleType_Internal_RefuseStatic(
        type, PyExc_TypeError, "must be made ready before the types that derive from it");
  }
  if (PyExtensibleType_Internal_CheckStatic(type, data, room) < 0 ||
      PyExtensibleType_Internal_ReserveStatic(types) < 0) {
    return -1;
  }
  // Without the magic nobody takes it for resolved, whatever PyType_Ready may run.
  data->magic = 0;
  Py_INCREF((PyObject *)metaclass);
  Py_SET_TYPE((PyObject *)type, metaclass);
  const Py_ssize_t own_count = data->count;
  int result = PyType_Ready(type);
  if (result == 0 && !PyExtensibleType_Internal_MetaclassFits(metaclass, type)) {
    result = PyExtensibleType_Internal_RefuseStatic(
        type, PyExc_TypeError, "a base has a metaclass that cannot be combined with ours");
  }
  if (result == 0) {
    result = PyExtensibleType_Internal_SetStatic(type, "__module__",
                                                 PyExtensibleType_Internal_StaticModule(type));
  }
  if (result == 0) {
    result = PyExtensibleType_Internal_SetStatic(
        type, PyExtensibleType_READY_MARK, PyCapsule_New(type, PyExtensibleType_READY_NAME, NULL));
  }
  if (result == 0) {
    result = PyExtensibleType_Internal_PrependInherited(metaclass, type, data, room);
  }
  // PyType_Ready may have run code that made another static type ready.
  if (result == 0) result = PyExtensibleType_Internal_ReserveStatic(types);
  if (result < 0) {
    PyTypedcall_SavedError saved = PyTypedcall_SaveError();
    // Bases list it as a subclass by now, so it needs a type.
    Py_SET_TYPE((PyObject *)type, before != NULL ? before : &PyType_Type);
    Py_DECREF((PyObject *)metaclass);
    PyTypedcall_RestoreError(saved);
    return -1;
  }
  PyExtensibleType_Internal_StaticType *item = &types->items[types->count++];
  item->type = type;
  item->data = data;
  item->own_count = own_count;
  PyTypedcall_STORE_RELEASE(&data->magic, PyExtensibleType_MAGIC);
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_STATIC_TYPE_H_
// ---- core/interpreter_state.h, continued

#ifdef __cplusplus
extern "C" {
#endif

// All that belongs to one interpreter. Its capsule stands in `_extensibletype` and, so that modules
// torn down after that one can still call us, in the interpreter's own dictionary.
typedef struct PyTypedcall_Internal_State {
  PyTypedcall_Interface interface;
  PyTypeObject *metaclass;
  PyTypedcall_Internal_SideTable tables[PyTypedcall_SPACES];
  PyObject *owners;  // dict: address of an owner -> capsule of its PyTypedcall_Internal_Owner
  PyTypedcall_Internal_Row *retracted;
  PyTypedcall_Counters counters;
  PyObject *slot_names;  // dict: name -> ID, see core/slot_names.h
  PyObject *combined;    // dict: metaclasses -> weak reference, see core/combined_metaclass.h
  PyExtensibleType_Internal_StaticTypes static_types;
} PyTypedcall_Internal_State;

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_INTERPRETER_STATE_H_
// ---- core/published_rows.h, continued

#ifdef __cplusplus
extern "C" {
#endif

// Something whose life bounds the life of rows.
typedef struct PyTypedcall_Internal_Owner {
  PyTypedcall_Internal_State *state;
  PyObject *key;        // its address, in `owners`: removing it must not need memory
  PyObject *reference;  // a weak reference, or the owner itself where it has no weak references
  int is_kept;          // the latter: then there is one row, BY_OBJECT, for the owner itself
  size_t count, capacity;
  PyTypedcall_Internal_Row **rows;
} PyTypedcall_Internal_Owner;

#define PyTypedcall_Internal_OWNER_NAME PyTypedcall_MODULE ".owner"

static inline void PyTypedcall_Internal_FreeRow(PyTypedcall_Internal_Row *row) {
  if (row->destroy != NULL) row->destroy(row->value);
  PyTypedcall_RAW_FREE(row);
}

static inline void PyTypedcall_Internal_FreeOwner(PyObject *capsule) {
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(capsule, PyTypedcall_Internal_OWNER_NAME);
  Py_XDECREF(owner->reference);
  Py_XDECREF(owner->key);
  PyTypedcall_RAW_FREE(owner->rows);
  PyTypedcall_RAW_FREE(owner);
}

// A record and its weak reference keep each other alive by way of the callback; this parts them.
static inline void PyTypedcall_Internal_ForgetReference(PyTypedcall_Internal_Owner *owner) {
  PyObject *reference = owner->reference;
  owner->reference = NULL;
  Py_XDECREF(reference);
}

// The weak reference's callback: `self` is the owner's capsule. `destroy` may run anything, so the
// list is looked at anew for every row.
static inline PyObject *PyTypedcall_Internal_OwnerDied(PyObject *self, PyObject *reference) {
  (void)reference;
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(self, PyTypedcall_Internal_OWNER_NAME);
  if (owner == NULL) return NULL;
  PyTypedcall_Internal_State *state = owner->state;
  // Python code can find weak references of an object and call, or outlive us with, their callback.
  if (owner->reference == NULL || !PyTypedcall_Internal_IsDead(owner->reference)) {
    Py_RETURN_NONE;
  }
  for (size_t i = 0; i < owner->count; ++i) {
    PyTypedcall_Internal_Row *row = owner->rows[i];
    if (--row->owners > 0 || row->retracted) continue;
    PyTypedcall_Internal_TableRemove(&state->tables[row->space], row->key);
    ++state->counters.rows_removed;
    PyTypedcall_Internal_FreeRow(row);
  }
  owner->count = 0;
  // The garbage collector, unlike the end of the last reference, leaves the callback in place.
  PyTypedcall_Internal_ForgetReference(owner);
  // This may free the owner record: `self` is kept alive by the callback object that runs.
  if (state->owners != NULL && PyDict_DelItem(state->owners, owner->key) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef PyTypedcall_Internal_OwnerDiedDef = {
    "_typedcall_owner_died", PyTypedcall_Internal_OwnerDied, METH_O, NULL};

// A record for an object that has none, not yet in the state: a new reference to its capsule, or
// NULL with an exception.
static inline PyObject *PyTypedcall_Internal_NewOwner(PyTypedcall_Internal_State *state,
                                                      PyObject *object, PyObject *key,
                                                      int may_be_kept) {
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyTypedcall_RAW_CALLOC(1, sizeof(*owner));
  if (owner == NULL) return PyErr_NoMemory();
  PyObject *capsule =
      PyCapsule_New(owner, PyTypedcall_Internal_OWNER_NAME, PyTypedcall_Internal_FreeOwner);
  if (capsule == NULL) {
    PyTypedcall_RAW_FREE(owner);
    return NULL;
  }
  owner->state = state;
  Py_INCREF(key);
  owner->key = key;
  PyObject *callback = PyCFunction_New(&PyTypedcall_Internal_OwnerDiedDef, capsule);
  if (callback != NULL) {
    owner->reference = PyWeakref_NewRef(object, callback);
    Py_DECREF(callback);
    if (owner->reference == NULL && may_be_kept && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      Py_INCREF(object);
      owner->reference = object;
      owner->is_kept = 1;
    }
  }
  if (owner->reference != NULL) return capsule;
  Py_DECREF(capsule);
  return NULL;
}

// The record of an owner, made when it has none yet; NULL with an exception. Borrowed from the
// state.
static inline PyTypedcall_Internal_Owner *PyTypedcall_Internal_GetOwner(
    PyTypedcall_Internal_State *state, PyObject *object, int may_be_kept) {
  if (state->owners == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "typedcall: the interpreter is ending");
    return NULL;
  }
  PyObject *key = PyLong_FromVoidPtr(object);
  if (key == NULL) return NULL;
  PyObject *standing = PyDict_GetItemWithError(state->owners, key);
  if (standing == NULL && !PyErr_Occurred()) {
    PyObject *fresh = PyTypedcall_Internal_NewOwner(state, object, key, may_be_kept);
    if (fresh != NULL) {
      // Making it may have collected garbage and thereby run anything: what stands now counts.
      standing = PyTypedcall_Internal_SetDefault(state->owners, key, fresh);
      PyTypedcall_Internal_Hide(state->owners);
      if (standing != fresh) {
        PyTypedcall_Internal_ForgetReference((PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(
            fresh, PyTypedcall_Internal_OWNER_NAME));
      }
      Py_DECREF(fresh);
    }
  }
  Py_DECREF(key);
  if (standing == NULL) return NULL;
  PyTypedcall_Internal_Owner *owner =
      (PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(standing, PyTypedcall_Internal_OWNER_NAME);
  if (owner->is_kept && !may_be_kept) {
    // Kept for its own row alone: nobody would see it die.
    char kind[PyTypedcall_Internal_NAME_SIZE];
    PyErr_Format(PyExc_TypeError, "cannot create weak reference to '%s' object",
                 PyTypedcall_Internal_Name(Py_TYPE(object), kind));
    return NULL;
  }
  return owner;
}

// Removes the record of an object that in the end owns nothing, so that nobody keeps the object.
static inline void PyTypedcall_Internal_DropIdleOwner(PyTypedcall_Internal_State *state,
                                                      PyTypedcall_Internal_Owner *owner) {
  if (owner->count > 0) return;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *key = owner->key;
  Py_INCREF(key);
  PyTypedcall_Internal_ForgetReference(owner);
  (void)PyDict_DelItem(state->owners, key);
  Py_DECREF(key);
  PyTypedcall_RestoreError(saved);
}

static inline int PyTypedcall_Internal_Owns(const PyTypedcall_Internal_Owner *owner,
                                            const PyTypedcall_Internal_Row *row) {
  for (size_t i = 0; i < owner->count; ++i) {
    if (owner->rows[i] == row) return 1;
  }
  return 0;
}

// Room for one more row in the owner's list. -1 when there is no memory (no exception set).
static inline int PyTypedcall_Internal_OwnerReserve(PyTypedcall_Internal_Owner *owner) {
  if (owner->count < owner->capacity) return 0;
  const size_t capacity = owner->capacity == 0 ? 4 : owner->capacity * 2;
  void *grown = PyTypedcall_RAW_REALLOC(owner->rows, capacity * sizeof(*owner->rows));
  if (grown == NULL) return -1;
  owner->rows = (PyTypedcall_Internal_Row **)grown;
  owner->capacity = capacity;
  return 0;
}

// A new row in the table, without owners yet. NULL when there is no memory (no exception set).
static inline PyTypedcall_Internal_Row *PyTypedcall_Internal_AddRow(
    PyTypedcall_Internal_State *state, int space, const void *key, const void *value,
    void (*destroy)(const void *value)) {
  PyTypedcall_Internal_Row *row =
      (PyTypedcall_Internal_Row *)PyTypedcall_RAW_CALLOC(1, sizeof(*row));
  const int reserved = row != NULL ? PyTypedcall_Internal_TableReserve(&state->tables[space]) : -1;
  if (reserved < 0) {
    PyTypedcall_RAW_FREE(row);
    return NULL;
  }
  state->counters.generations += (uint64_t)reserved;
  ++state->counters.rows_added;
  row->space = space;
  row->key = key;
  row->value = value;
  row->destroy = destroy;
  PyTypedcall_Internal_TableInsert(&state->tables[space], row);
  return row;
}

static inline const void *PyTypedcall_Internal_Publish(
    void *opaque, int space, const void *key, PyObject *object, const void *value,
    int (*equal)(const void *standing, const void *offered), void (*destroy)(const void *value)) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES || key == NULL || value == NULL || object == NULL) {
    PyErr_SetString(PyExc_ValueError,
                    "typedcall: a row needs a space, a key, an owner and a value");
    return NULL;
  }
  const int may_be_kept = space == PyTypedcall_BY_OBJECT && key == (const void *)object;
  // Whatever can run Python code (and thereby another publish) comes before the table is looked at.
  PyTypedcall_Internal_Owner *owner = PyTypedcall_Internal_GetOwner(state, object, may_be_kept);
  if (owner == NULL) return NULL;
  PyTypedcall_Internal_SideTable *table = &state->tables[space];
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(table, key);
  if (row != NULL && row->value != value && (equal == NULL || !equal(row->value, value))) {
    ++state->counters.conflicts;
    PyTypedcall_Internal_DropIdleOwner(state, owner);
    return row->value;
  }
  if (row != NULL && PyTypedcall_Internal_Owns(owner, row)) return row->value;
  if (PyTypedcall_Internal_OwnerReserve(owner) < 0 ||
      (row == NULL &&
       (row = PyTypedcall_Internal_AddRow(state, space, key, value, destroy)) == NULL)) {
    PyTypedcall_Internal_DropIdleOwner(state, owner);
    PyErr_NoMemory();
    return NULL;
  }
  owner->rows[owner->count++] = row;
  ++row->owners;
  if (owner->is_kept) row->keeper = owner;
  return row->value;
}

// An object without weak references is kept alive by its record, and let go with its row.
static inline void PyTypedcall_Internal_ReleaseKept(PyTypedcall_Internal_State *state,
                                                    PyTypedcall_Internal_Row *row) {
  PyTypedcall_Internal_Owner *keeper = row->keeper;
  if (keeper == NULL || state->owners == NULL) return;
  row->keeper = NULL;
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  PyObject *key = keeper->key;
  Py_INCREF(key);
  (void)PyDict_DelItem(state->owners, key);
  Py_DECREF(key);
  PyTypedcall_RestoreError(saved);
}

static inline int PyTypedcall_Internal_Retract(void *opaque, int space, const void *key) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return 0;
  PyTypedcall_Internal_Row *row = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  if (row == NULL) return 0;
  PyTypedcall_Internal_TableRemove(&state->tables[space], key);
  ++state->counters.rows_removed;
  // Somebody may be using the value without a lock, so it is kept, and so is the row for its
  // owners.
  row->retracted = 1;
  row->next = state->retracted;
  state->retracted = row;
  PyTypedcall_Internal_ReleaseKept(state, row);
  return 1;
}

static inline const void *PyTypedcall_Internal_Find(void *opaque, int space, const void *key) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (space < 0 || space >= PyTypedcall_SPACES) return NULL;
  return PyTypedcall_Internal_TableFind(&state->tables[space], key);
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_PUBLISHED_ROWS_H_
// ---- core/row_replacement.h, continued

#ifdef __cplusplus
extern "C" {
#endif

// Puts `fresh` into the cell of `old`, which is kept like a retracted row.
static inline void PyTypedcall_Internal_SwapRows(PyTypedcall_Internal_State *state,
                                                 PyTypedcall_Internal_Row *old,
                                                 PyTypedcall_Internal_Row *fresh) {
  PyTypedcall_Internal_SideTable *table = &state->tables[old->space];
  PyTypedcall_Internal_Cell *cell = PyTypedcall_Internal_Probe(table->current, old->key);
  cell->row = fresh;
  PyTypedcall_STORE_RELEASE(&cell->value, fresh->value);
  ++state->counters.rows_added;
  ++state->counters.rows_removed;
  old->retracted = 1;
  old->next = state->retracted;
  state->retracted = old;
}

// See PyTypedcall_Interface.replace.
static inline int PyTypedcall_Internal_Replace(void *opaque, int space, const void *key,
                                               PyObject *object, const void *value,
                                               void (*destroy)(const void *value)) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  // A row BY_OBJECT may keep its owner alive, which changes hands with the row: not supported.
  if (space < 0 || space >= PyTypedcall_SPACES || space == PyTypedcall_BY_OBJECT || key == NULL ||
      value == NULL || object == NULL) {
    PyErr_SetString(PyExc_ValueError,
                    "typedcall: a row to replace needs a space, a key, an owner and a value");
    return -1;
  }
  // Whatever can run Python code (and thereby another publish) comes before the table is looked at.
  PyTypedcall_Internal_Owner *owner = PyTypedcall_Internal_GetOwner(state, object, 0);
  if (owner == NULL) return -1;
  PyTypedcall_Internal_Row *old = PyTypedcall_Internal_TableRow(&state->tables[space], key);
  if (old != NULL && old->value == value) {
    PyTypedcall_Internal_DropIdleOwner(state, owner);
    return 0;
  }
  PyTypedcall_Internal_Row *fresh = NULL;
  if (PyTypedcall_Internal_OwnerReserve(owner) == 0) {
    if (old == NULL) {
      fresh = PyTypedcall_Internal_AddRow(state, space, key, value, destroy);
    } else {
      fresh = (PyTypedcall_Internal_Row *)PyTypedcall_RAW_CALLOC(1, sizeof(*fresh));
    }
  }
  if (fresh == NULL) {
    PyTypedcall_Internal_DropIdleOwner(state, owner);
    PyErr_NoMemory();
    return -1;
  }
  if (old != NULL) {
    fresh->space = space;
    fresh->key = key;
    fresh->value = value;
    fresh->destroy = destroy;
    PyTypedcall_Internal_SwapRows(state, old, fresh);
  }
  fresh->owners = 1;
  owner->rows[owner->count++] = fresh;
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_ROW_REPLACEMENT_H_
// ---- core/rendezvous.h, continued
// ---- core/slot_names.h
// Slot IDs that are given out at run time: the same name has the same ID in every module of an
// interpreter. Used by core/rendezvous.h. Source: SEP 200, "Allocated IDs".
#ifndef TYPEDCALL_CORE_SLOT_NAMES_H_
#define TYPEDCALL_CORE_SLOT_NAMES_H_

#ifdef __cplusplus
extern "C" {
#endif

// How many IDs one registrar has.
#define PyCustomSlot_Internal_RUNTIME_IDS ((Py_ssize_t)1 << 23)

// See PyTypedcall_Interface.slot_id. `names` is the interpreter's dictionary: name -> ID.
static inline uintptr_t PyCustomSlot_Internal_IDByName(PyObject *names, const char *name) {
  if (name == NULL || name[0] == '\0') {
    PyErr_SetString(PyExc_ValueError, "typedcall: a custom slot ID needs a name");
    return 0;
  }
  PyObject *key = PyUnicode_FromString(name);
  if (key == NULL) return 0;
  uintptr_t id = 0;
  PyObject *standing = PyDict_GetItemWithError(names, key);
  if (standing == NULL && !PyErr_Occurred()) {
    const Py_ssize_t next = PyDict_Size(names);
    if (next >= PyCustomSlot_Internal_RUNTIME_IDS) {
      PyErr_SetString(PyExc_ValueError, "typedcall: all custom slot IDs have been given out");
    } else {
      // No Python code runs in here, so nobody takes this ID in between.
      PyObject *fresh = PyLong_FromSize_t(
          PyCustomSlot_ID(PyCustomSlot_REGISTRAR_RUNTIME, next >> 7, next & 0x7f));
      standing = fresh != NULL ? PyTypedcall_Internal_SetDefault(names, key, fresh) : NULL;
      Py_XDECREF(fresh);
    }
  }
  if (standing != NULL) id = PyLong_AsSize_t(standing);
  Py_DECREF(key);
  return id;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_SLOT_NAMES_H_
// ---- core/rendezvous.h, continued

#ifdef __cplusplus
extern "C" {
#endif

static inline PyTypeObject *PyTypedcall_Internal_Metaclass(void *opaque) {
  return ((PyTypedcall_Internal_State *)opaque)->metaclass;
}

// Has the interpreter let go of its state? Then RuntimeError is set.
static inline int PyTypedcall_Internal_IsEnding(const PyTypedcall_Internal_State *state) {
  if (state->metaclass != NULL) return 0;
  PyErr_SetString(PyExc_RuntimeError, "typedcall: the interpreter is ending");
  return 1;
}

static inline int PyTypedcall_Internal_Resolve(void *opaque, PyTypeObject *type,
                                               const PyCustomSlot *own, Py_ssize_t own_count) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (PyTypedcall_Internal_IsEnding(state)) return -1;
  return PyExtensibleType_Internal_Resolve(state->metaclass, type, own, own_count);
}

static inline uintptr_t PyTypedcall_Internal_SlotId(void *opaque, const char *name) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (PyTypedcall_Internal_IsEnding(state)) return 0;
  return PyCustomSlot_Internal_IDByName(state->slot_names, name);
}

static inline int PyTypedcall_Internal_ReadyStatic(void *opaque, PyTypeObject *type,
                                                   Py_ssize_t slot_table_size) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (PyTypedcall_Internal_IsEnding(state)) return -1;
  return PyExtensibleType_Internal_ReadyStatic(state->metaclass, &state->static_types, type,
                                               slot_table_size);
}

static inline PyTypeObject *PyTypedcall_Internal_CombinedMetaclass(void *opaque,
                                                                   PyObject *metaclasses) {
  PyTypedcall_Internal_State *state = (PyTypedcall_Internal_State *)opaque;
  if (PyTypedcall_Internal_IsEnding(state)) return NULL;
  return PyExtensibleType_Internal_Combine(state->metaclass, state->combined, metaclasses);
}

// `_extensibletype.combined_metaclass`, for Python code.
static inline PyObject *PyTypedcall_Internal_CombinedFromPython(PyObject *self,
                                                                PyObject *metaclasses) {
  (void)self;
  const PyTypedcall_Interface *interface = PyTypedcall_Peek();
  if (interface != NULL) {
    return (PyObject *)interface->combined_metaclass(interface->state, metaclasses);
  }
  PyErr_SetString(PyExc_RuntimeError, "typedcall: the interpreter is ending");
  return NULL;
}

static PyMethodDef PyTypedcall_Internal_CombinedDef = {
    "combined_metaclass", PyTypedcall_Internal_CombinedFromPython, METH_VARARGS,
    PyDoc_STR("combined_metaclass($module, /, *metaclasses)\n--\n\n"
              "The metaclass of classes that derive from extensible types and from classes with\n"
              "these metaclasses: class C(Extensible, abc.ABC, metaclass=combined_metaclass("
              "abc.ABCMeta)).\n"
              "The same metaclasses give the same result, in whatever order.")};

static inline void PyTypedcall_Internal_ReadCounters(void *opaque, PyTypedcall_Counters *out,
                                                     size_t size) {
  const PyTypedcall_Internal_State *state = (const PyTypedcall_Internal_State *)opaque;
  // What call sites ask for each time they see a callable again: a copy without a call.
  if (size == 2 * sizeof(uint64_t)) {
    memcpy(out, &state->counters, 2 * sizeof(uint64_t));
    return;
  }
  memcpy(out, &state->counters, size < sizeof(*out) ? size : sizeof(*out));
}

// Lets go of everything but the struct itself.
static inline void PyTypedcall_Internal_EmptyState(PyTypedcall_Internal_State *state) {
  // Letting things go can run anything, so from here on nobody can ask for anything.
  PyTypeObject *metaclass = state->metaclass;
  state->metaclass = NULL;
  PyObject *owners = state->owners;
  state->owners = NULL;
  PyObject *capsule;
  for (Py_ssize_t at = 0; owners != NULL && PyDict_Next(owners, &at, NULL, &capsule);) {
    PyTypedcall_Internal_ForgetReference((PyTypedcall_Internal_Owner *)PyCapsule_GetPointer(
        capsule, PyTypedcall_Internal_OWNER_NAME));
  }
  // Who remembers what it found compares counters, and must not take these rows for alive.
  for (int space = 0; space < PyTypedcall_SPACES; ++space) {
    state->counters.rows_removed += state->tables[space].live;
  }
  Py_XDECREF(owners);
  for (int space = 0; space < PyTypedcall_SPACES; ++space) {
    PyTypedcall_Internal_Generation *generation = state->tables[space].current;
    for (size_t i = 0; generation != NULL && i <= generation->mask; ++i) {
      if (generation->cells[i].value != NULL) {
        PyTypedcall_Internal_FreeRow(generation->cells[i].row);
      }
    }
    PyTypedcall_Internal_TableFree(&state->tables[space]);
  }
  while (state->retracted != NULL) {
    PyTypedcall_Internal_Row *next = state->retracted->next;
    PyTypedcall_Internal_FreeRow(state->retracted);
    state->retracted = next;
  }
  PyExtensibleType_Internal_ForgetStatic(&state->static_types);
  Py_CLEAR(state->slot_names);
  Py_CLEAR(state->combined);
  Py_XDECREF((PyObject *)metaclass);
}

static inline void PyTypedcall_Internal_CapsuleDied(PyObject *capsule) {
  void *interface = PyCapsule_GetPointer(capsule, PyTypedcall_CAPSULE_NAME);
  // The struct stays, some two hundred bytes an interpreter: CPython runs Python code after the
  // interpreter's dictionary has gone, and that code may call modules that hold the interface.
  PyTypedcall_Internal_EmptyState(
      (PyTypedcall_Internal_State *)((PyTypedcall_Interface *)interface)->state);
}

// A capsule with a new interface, not yet shown to anybody. New reference, or NULL with an
// exception.
static inline PyObject *PyTypedcall_Internal_NewCapsule(void) {
  PyTypedcall_Internal_State *state =
      (PyTypedcall_Internal_State *)PyTypedcall_RAW_CALLOC(1, sizeof(*state));
  if (state == NULL) return PyErr_NoMemory();
  PyTypedcall_Interface *interface = &state->interface;
  interface->abi_major = PyTypedcall_ABI_MAJOR;
  interface->abi_minor = PyTypedcall_ABI_MINOR;
  interface->size = (uint32_t)sizeof(*interface);
  interface->state = state;
  interface->metaclass = PyTypedcall_Internal_Metaclass;
  interface->resolve = PyTypedcall_Internal_Resolve;
  interface->find = PyTypedcall_Internal_Find;
  interface->publish = PyTypedcall_Internal_Publish;
  interface->retract = PyTypedcall_Internal_Retract;
  interface->counters = PyTypedcall_Internal_ReadCounters;
  interface->slot_id = PyTypedcall_Internal_SlotId;
  interface->ready_static = PyTypedcall_Internal_ReadyStatic;
  interface->combined_metaclass = PyTypedcall_Internal_CombinedMetaclass;
  interface->replace = PyTypedcall_Internal_Replace;
  PyObject *capsule = NULL;
  state->metaclass = PyExtensibleType_Internal_NewMetaclass();
  if (state->metaclass != NULL) state->owners = PyDict_New();
  if (state->owners != NULL) state->slot_names = PyDict_New();
  if (state->slot_names != NULL) state->combined = PyDict_New();
  if (state->combined != NULL) {
    capsule = PyCapsule_New(interface, PyTypedcall_CAPSULE_NAME, PyTypedcall_Internal_CapsuleDied);
  }
  if (capsule == NULL) {
    PyTypedcall_Internal_EmptyState(state);
    PyTypedcall_RAW_FREE(state);
  }
  return capsule;
}

// What stands in `dict` under `name`, `value` if nothing did: a new reference, because comparing
// keys can run Python code; or NULL with an exception.
static inline PyObject *PyTypedcall_Internal_Settle(PyObject *dict, const char *name,
                                                    PyObject *value) {
  PyObject *key = PyUnicode_FromString(name);
  PyObject *standing = key != NULL ? PyTypedcall_Internal_SetDefault(dict, key, value) : NULL;
  Py_XINCREF(standing);
  Py_XDECREF(key);
  return standing;
}

// Puts the metaclass and what Python code can call into the module's dictionary. Returns 0, or -1
// with ImportError when another metaclass stands there.
static inline int PyTypedcall_Internal_ShowMetaclass(PyObject *dict, PyObject *metaclass) {
  char kind[PyTypedcall_Internal_NAME_SIZE];
  PyObject *standing = PyTypedcall_Internal_Settle(dict, PyExtensibleType_ATTRIBUTE, metaclass);
  if (standing == NULL) return -1;
  const int is_other = standing != metaclass;
  if (is_other) {
    PyErr_Format(PyExc_ImportError, "%s.%s is not typedcall's metaclass but a '%s'",
                 PyTypedcall_MODULE, PyExtensibleType_ATTRIBUTE,
                 PyTypedcall_Internal_Name(Py_TYPE(standing), kind));
  }
  Py_DECREF(standing);
  if (is_other) return -1;
  standing = PyTypedcall_Internal_Look(dict, PyTypedcall_Internal_CombinedDef.ml_name);
  if (standing == NULL) {
    PyObject *function = PyCFunction_NewEx(&PyTypedcall_Internal_CombinedDef, NULL, NULL);
    if (function == NULL) return -1;
    standing =
        PyTypedcall_Internal_Settle(dict, PyTypedcall_Internal_CombinedDef.ml_name, function);
    Py_DECREF(function);
  }
  Py_XDECREF(standing);
  return standing != NULL ? 0 : -1;
}

// Is what stands in the module one that we can use? ImportError that says what is wrong if not.
static inline const PyTypedcall_Interface *PyTypedcall_Internal_Accept(PyObject *dict,
                                                                       PyObject *capsule) {
  char kind[PyTypedcall_Internal_NAME_SIZE];
  if (!PyCapsule_IsValid(capsule, PyTypedcall_CAPSULE_NAME)) {
    PyErr_Format(PyExc_ImportError, "%s is not typedcall's interface but a '%s'",
                 PyTypedcall_CAPSULE_NAME, PyTypedcall_Internal_Name(Py_TYPE(capsule), kind));
    return NULL;
  }
  const PyTypedcall_Interface *interface =
      (const PyTypedcall_Interface *)PyCapsule_GetPointer(capsule, PyTypedcall_CAPSULE_NAME);
  if (!PyTypedcall_IsUsable(interface)) {
    PyErr_Format(PyExc_ImportError,
                 "%s has ABI version %d.%d and %u bytes; %d.%d and %zu are needed",
                 PyTypedcall_CAPSULE_NAME, (int)interface->abi_major, (int)interface->abi_minor,
                 (unsigned)interface->size, PyTypedcall_ABI_MAJOR, PyTypedcall_ABI_MINOR,
                 sizeof(PyTypedcall_Interface));
    return NULL;
  }
  PyObject *metaclass = (PyObject *)interface->metaclass(interface->state);
  if (metaclass == NULL) {
    PyErr_SetString(PyExc_ImportError, "typedcall: the interpreter is ending");
    return NULL;
  }
  Py_INCREF(metaclass);
  const int shown = PyTypedcall_Internal_ShowMetaclass(dict, metaclass);
  Py_DECREF(metaclass);
  return shown == 0 ? interface : NULL;
}

// The dictionary of module `_extensibletype`, which is made when it is not there yet: a new
// reference, or NULL with an exception.
static inline PyObject *PyTypedcall_Internal_MakeModule(void) {
  PyObject *modules = PySys_GetObject("modules"), *dict = NULL;
  if (modules == NULL || !PyDict_Check(modules)) {
    PyErr_SetString(PyExc_ImportError, "typedcall: sys.modules is not there");
    return NULL;
  }
  Py_INCREF(modules);
  PyObject *module = PyTypedcall_Internal_Look(modules, PyTypedcall_MODULE);
  if (module == NULL) {
    PyObject *fresh = PyModule_New(PyTypedcall_MODULE);
    if (fresh != NULL) module = PyTypedcall_Internal_Settle(modules, PyTypedcall_MODULE, fresh);
    Py_XDECREF(fresh);
  }
  Py_DECREF(modules);
  if (module == NULL) return NULL;
  if (PyModule_Check(module)) dict = PyModule_GetDict(module);
  if (dict == NULL) {
    char kind[PyTypedcall_Internal_NAME_SIZE];
    PyErr_Format(PyExc_ImportError, "sys.modules['%s'] is not a module but a '%s'",
                 PyTypedcall_MODULE, PyTypedcall_Internal_Name(Py_TYPE(module), kind));
  }
  Py_XINCREF(dict);
  Py_DECREF(module);
  return dict;
}

// The capsule that stands, ours if there was none: a new reference, or NULL with an exception.
// `dict` is the module's, `kept` the interpreter's own.
static inline PyObject *PyTypedcall_Internal_StandingCapsule(PyObject *dict, PyObject *kept) {
  PyObject *standing = PyTypedcall_Internal_Look(dict, PyTypedcall_CAPSULE);
  if (standing != NULL) return standing;
  // Whoever empties sys.modules takes the module away, but not the interface that others use.
  PyObject *ours = PyTypedcall_Internal_Look(kept, PyTypedcall_CAPSULE_NAME);
  if (ours == NULL) {
    // Making it may run other code: what stands now counts, not what we made.
    PyObject *fresh = PyTypedcall_Internal_NewCapsule();
    if (fresh == NULL) return NULL;
    standing = PyTypedcall_Internal_Look(dict, PyTypedcall_CAPSULE);
    ours = standing != NULL ? standing
                            : PyTypedcall_Internal_Settle(kept, PyTypedcall_CAPSULE_NAME, fresh);
    Py_DECREF(fresh);
    if (standing != NULL || ours == NULL) return ours;
  }
  standing = PyTypedcall_Internal_Settle(dict, PyTypedcall_CAPSULE, ours);
  Py_DECREF(ours);
  return standing;
}

// Puts our capsule where it is missing, and takes what stands there if it is usable. Borrowed, or
// NULL with an exception.
static inline const PyTypedcall_Interface *PyTypedcall_Internal_Meet(PyObject *dict,
                                                                     PyObject *kept) {
  PyObject *standing = PyTypedcall_Internal_StandingCapsule(dict, kept);
  if (standing == NULL) return NULL;
  const PyTypedcall_Interface *interface = PyTypedcall_Internal_Accept(dict, standing);
  if (interface != NULL) {
    PyObject *first = PyTypedcall_Internal_Settle(kept, PyTypedcall_CAPSULE_NAME, standing);
    if (first != NULL && first != standing) {
      PyErr_Format(PyExc_ImportError, "%s has been replaced: this interpreter has another one",
                   PyTypedcall_CAPSULE_NAME);
    }
    if (first != standing) interface = NULL;
    Py_XDECREF(first);
  }
  Py_DECREF(standing);
  return interface;
}

/// The interface of the calling interpreter, installed now if no module has done so before. Call it
/// once, when a module is executed, and keep the pointer in the module's state, never in a C
/// static: interpreters do not share it. Borrowed; valid until the interpreter ends, whatever
/// becomes of `sys.modules`.
///
/// Returns NULL with ImportError when something else stands under our names or another major
/// version was first, MemoryError, or SystemError (a CPython other than the one compiled for). GIL:
/// held.
static inline const PyTypedcall_Interface *PyTypedcall_Import(void) {
  PyObject *dict = PyTypedcall_Internal_MakeModule();
  if (dict == NULL) return NULL;
  const PyTypedcall_Interface *interface = NULL;
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (kept != NULL) {
    interface = PyTypedcall_Internal_Meet(dict, kept);
  } else if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_ImportError, "typedcall: this interpreter has no dictionary");
  }
  Py_DECREF(dict);
  return interface;
}

/// The slot ID that belongs to `name` (UTF-8) in the calling interpreter: the same for every
/// module, whoever asks first. It is for ideas that nobody has registered: prefix the name with the
/// project's own, as in "scikit-foo.kernel". IDs are given out in the order in which they are asked
/// for: never keep one in a C static, in a file or in another interpreter.
///
/// Returns 0 with ValueError (no name, or all 2^23 IDs are taken), UnicodeDecodeError, RuntimeError
/// while the interpreter ends, or MemoryError. GIL: held. `interface` is the calling interpreter's.
/// Source: SEP 200, "Allocated IDs".
static inline uintptr_t PyCustomSlot_IDByName(const PyTypedcall_Interface *interface,
                                              const char *name) {
  return interface->slot_id(interface->state, name);
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_RENDEZVOUS_H_
// ---- core/extensible_type.h, continued
// ---- core/type_from_metaclass.h
// Makes a heap type with a given metaclass from a PyType_Spec, on every CPython since 3.9.
// CPython has one since 3.12; before that core/type_from_metaclass_backport.h does the work.
#ifndef TYPEDCALL_CORE_TYPE_FROM_METACLASS_H_
#define TYPEDCALL_CORE_TYPE_FROM_METACLASS_H_

#include <string.h>

#if PY_VERSION_HEX < 0x030C0000
// ---- core/type_from_metaclass_backport.h
// PyType_FromMetaclass for the CPythons that do not have it, 3.9 to 3.11.
// Used by core/type_from_metaclass.h, which says what it does.
#ifndef TYPEDCALL_CORE_TYPE_FROM_METACLASS_BACKPORT_H_
#define TYPEDCALL_CORE_TYPE_FROM_METACLASS_BACKPORT_H_

#if PY_VERSION_HEX >= 0x030C0000
#error "this CPython has PyType_FromMetaclass: include core/type_from_metaclass.h"
#endif

#include <stddef.h>
#include <string.h>
#include <structmember.h>  // PyMemberDef, which Python.h has only since 3.12

#ifdef __cplusplus
extern "C" {
#endif

// The slots of a spec that are more than a pointer to copy; all borrowed from the spec.
typedef struct {
  const char *doc;
  const PyMemberDef *members;  // NULL when there are none
  Py_ssize_t member_count;
  Py_ssize_t weaklist_offset, dict_offset, vectorcall_offset;
  PyTypeObject *base;  // Py_tp_base
  PyObject *bases;     // Py_tp_bases
} PyExtensibleType_Internal_Special;

// clang-format off
// All slots of a spec that are simply a pointer to copy: not bases, members or doc.
#define PyExtensibleType_Internal_SLOTS(T, A, N, M, S, B) \
  T(tp_alloc) T(tp_call) T(tp_clear) T(tp_dealloc) T(tp_del) T(tp_descr_get) T(tp_descr_set) \
  T(tp_finalize) T(tp_free) T(tp_getattr) T(tp_getattro) T(tp_getset) T(tp_hash) T(tp_init) \
  T(tp_is_gc) T(tp_iter) T(tp_iternext) T(tp_methods) T(tp_new) T(tp_repr) T(tp_richcompare) \
  T(tp_setattr) T(tp_setattro) T(tp_str) T(tp_traverse) A(am_aiter) A(am_anext) A(am_await) \
  N(nb_absolute) N(nb_add) N(nb_and) N(nb_bool) N(nb_divmod) N(nb_float) N(nb_floor_divide) \
  N(nb_index) N(nb_inplace_add) N(nb_inplace_and) N(nb_inplace_floor_divide) \
  N(nb_inplace_lshift) N(nb_inplace_matrix_multiply) N(nb_inplace_multiply) N(nb_inplace_or) \
  N(nb_inplace_power) N(nb_inplace_remainder) N(nb_inplace_rshift) N(nb_inplace_subtract) \
  N(nb_inplace_true_divide) N(nb_inplace_xor) N(nb_int) N(nb_invert) N(nb_lshift) \
  N(nb_matrix_multiply) N(nb_multiply) N(nb_negative) N(nb_or) N(nb_positive) N(nb_power) \
  N(nb_remainder) N(nb_rshift) N(nb_subtract) N(nb_true_divide) N(nb_xor) M(mp_ass_subscript) \
  M(mp_length) M(mp_subscript) S(sq_ass_item) S(sq_concat) S(sq_contains) S(sq_inplace_concat) \
  S(sq_inplace_repeat) S(sq_item) S(sq_length) S(sq_repeat) B(bf_getbuffer) B(bf_releasebuffer) \
  PyExtensibleType_Internal_SEND(A)
#if PY_VERSION_HEX >= 0x030A0000
#define PyExtensibleType_Internal_SEND(A) A(am_send)
#else
#define PyExtensibleType_Internal_SEND(A)
#endif
#define PyExtensibleType_Internal_SLOT(part, Struct, f) \
  {Py_##f, offsetof(PyHeapTypeObject, part) + offsetof(Struct, f)},
#define PyExtensibleType_Internal_T(f) \
  PyExtensibleType_Internal_SLOT(ht_type, PyTypeObject, f)
#define PyExtensibleType_Internal_A(f) \
  PyExtensibleType_Internal_SLOT(as_async, PyAsyncMethods, f)
#define PyExtensibleType_Internal_N(f) \
  PyExtensibleType_Internal_SLOT(as_number, PyNumberMethods, f)
#define PyExtensibleType_Internal_M(f) \
  PyExtensibleType_Internal_SLOT(as_mapping, PyMappingMethods, f)
#define PyExtensibleType_Internal_S(f) \
  PyExtensibleType_Internal_SLOT(as_sequence, PySequenceMethods, f)
#define PyExtensibleType_Internal_B(f) \
  PyExtensibleType_Internal_SLOT(as_buffer, PyBufferProcs, f)

// The offset of a slot's pointer in PyHeapTypeObject; 0, where there is none, for any other ID.
static inline size_t PyExtensibleType_Internal_FindSlot(int id) {
  static const struct {
    int id;
    size_t offset;
  } table[] = {
    PyExtensibleType_Internal_SLOTS(PyExtensibleType_Internal_T, PyExtensibleType_Internal_A,
                                    PyExtensibleType_Internal_N, PyExtensibleType_Internal_M,
                                    PyExtensibleType_Internal_S, PyExtensibleType_Internal_B)
  };
// clang-format on
#undef PyExtensibleType_Internal_SLOTS
#undef PyExtensibleType_Internal_SEND
#undef PyExtensibleType_Internal_SLOT
#undef PyExtensibleType_Internal_T
#undef PyExtensibleType_Internal_A
#undef PyExtensibleType_Internal_N
#undef PyExtensibleType_Internal_M
#undef PyExtensibleType_Internal_S
#undef PyExtensibleType_Internal_B
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    if (table[i].id == id) return table[i].offset;
  }
  return 0;
}

// Checks the spec and collects its special slots. Returns 0, or -1 with an exception.
static inline int PyExtensibleType_Internal_ReadSpec(const PyType_Spec *spec,
                                                     PyExtensibleType_Internal_Special *special) {
  memset(special, 0, sizeof(*special));
  if (spec->name == NULL) {
    PyErr_SetString(PyExc_SystemError, "Type spec does not define the name field.");
    return -1;
  }
  if (spec->basicsize < 0) {
    PyErr_Format(PyExc_SystemError, "type '%.100s': a negative basicsize needs Python 3.12",
                 spec->name);
    return -1;
  }
  for (const PyType_Slot *slot = spec->slots; slot->slot != 0; ++slot) {
    if ((slot->slot == Py_tp_doc && special->doc != NULL) ||
        (slot->slot == Py_tp_members && special->members != NULL)) {
      // Two would leak the first, or write behind the room reserved for members.
      PyErr_Format(PyExc_SystemError, "Multiple Py_tp_%s slots are not supported.",
                   slot->slot == Py_tp_doc ? "doc" : "members");
      return -1;
    }
    if (slot->slot == Py_tp_doc) {
      special->doc = (const char *)slot->pfunc;
    } else if (slot->slot == Py_tp_members) {
      special->members = (const PyMemberDef *)slot->pfunc;
    } else if (slot->slot == Py_tp_base) {
      special->base = (PyTypeObject *)slot->pfunc;
    } else if (slot->slot == Py_tp_bases) {
      special->bases = (PyObject *)slot->pfunc;
    } else if (PyExtensibleType_Internal_FindSlot(slot->slot) == 0) {
      PyErr_SetString(PyExc_RuntimeError, "invalid slot offset");
      return -1;
    }
  }
  for (const PyMemberDef *m = special->members; m != NULL && m->name != NULL; ++m) {
    ++special->member_count;
    if (strcmp(m->name, "__weaklistoffset__") == 0) special->weaklist_offset = m->offset;
    if (strcmp(m->name, "__dictoffset__") == 0) special->dict_offset = m->offset;
    if (strcmp(m->name, "__vectorcalloffset__") == 0) special->vectorcall_offset = m->offset;
  }
  return 0;
}

// The bases as a tuple: a new reference, or NULL with an exception.
static inline PyObject *PyExtensibleType_Internal_Bases(
    PyObject *bases, const PyExtensibleType_Internal_Special *special) {
  if (bases == NULL && special->bases != NULL) {
    bases = special->bases;
    if (!PyTuple_Check(bases)) {
      PyErr_SetString(PyExc_SystemError, "Py_tp_bases is not a tuple");
      return NULL;
    }
  }
  if (bases == NULL) {
    bases = (PyObject *)(special->base != NULL ? special->base : &PyBaseObject_Type);
  }
  if (!PyTuple_Check(bases)) return PyTuple_Pack(1, bases);
  if (PyTuple_GET_SIZE(bases) == 0) {
    PyErr_SetString(PyExc_TypeError, "a type needs at least one base");
    return NULL;
  }
  Py_INCREF(bases);
  return bases;
}

// The most derived of `metaclass` and the bases' metaclasses, borrowed, or NULL with an exception.
static inline PyTypeObject *PyExtensibleType_Internal_Winner(PyTypeObject *metaclass,
                                                             PyObject *bases) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    PyTypeObject *other = Py_TYPE(PyTuple_GET_ITEM(bases, i));
    if (PyType_IsSubtype(metaclass, other)) continue;
    if (!PyType_IsSubtype(other, metaclass)) {
      PyErr_SetString(PyExc_TypeError,
                      "metaclass conflict: the metaclass of a derived class must be a (non-strict) "
                      "subclass of the metaclasses of all its bases");
      return NULL;
    }
    metaclass = other;
  }
  // Nobody calls tp_new here, so one that does something of its own would be skipped silently.
  if (metaclass->tp_new != NULL && metaclass->tp_new != PyType_Type.tp_new) {
    PyErr_SetString(PyExc_TypeError, "Metaclasses with custom tp_new are not supported.");
    return NULL;
  }
  return metaclass;
}

// Which of `bases` determines the layout (borrowed), and the tp_dealloc of types without their own;
// NULL with CPython's own exception when these bases do not fit together.
//
// CPython has no call for either, and its rules for layouts differ between versions, so this makes
// an empty plain type and looks at it. Empty, because then nothing refers to it but its own MRO:
// tp_clear, which is how the garbage collector ends a type, cuts that, the type dies here, and no
// base lists it as a subclass any more. Methods or members would hold it too.
static inline PyTypeObject *PyExtensibleType_Internal_BestBase(PyObject *bases,
                                                               destructor *dealloc) {
  PyType_Slot slots[] = {{0, NULL}};
  PyType_Spec spec = {"typedcall.probe", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  PyTypeObject *probe = (PyTypeObject *)PyType_FromSpecWithBases(&spec, bases);
  if (probe == NULL) {
    if (!PyErr_Occurred()) PyErr_NoMemory();  // 3.11 forgets to, for its copy of the name
    return NULL;
  }
  PyTypeObject *base = probe->tp_base;
  *dealloc = probe->tp_dealloc;
  // Another thread can have found it in base.__subclasses__(): then it stays whole.
  if (Py_REFCNT((PyObject *)probe) == 2) (void)PyType_Type.tp_clear((PyObject *)probe);
  Py_DECREF((PyObject *)probe);
  return base;
}

// Copies a string with the allocator that frees it later; NULL with MemoryError.
static inline char *PyExtensibleType_Internal_Copy(const char *text, void *(*allocate)(size_t)) {
  const size_t size = strlen(text) + 1;
  char *copy = (char *)allocate(size);
  if (copy == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  return (char *)memcpy(copy, text, size);
}

// Fills a zeroed type in. Only what the spec names is set: PyType_Ready takes any other slot for
// the type's own, gives it a dict entry, and subclasses would prefer it to their other bases'.
static inline void PyExtensibleType_Internal_Fill(PyHeapTypeObject *heap, const PyType_Spec *spec,
                                                  const PyExtensibleType_Internal_Special *special,
                                                  destructor dealloc) {
  PyTypeObject *type = &heap->ht_type;
  type->tp_as_async = &heap->as_async;
  type->tp_as_number = &heap->as_number;
  type->tp_as_sequence = &heap->as_sequence;
  type->tp_as_mapping = &heap->as_mapping;
  type->tp_as_buffer = &heap->as_buffer;
  // PyType_Ready inherits sizes too, but if the metaclass is not `type` it compares layouts first.
  const PyTypeObject *base = type->tp_base;
  type->tp_basicsize = spec->basicsize != 0 ? spec->basicsize : base->tp_basicsize;
  type->tp_itemsize = spec->itemsize != 0 ? spec->itemsize : base->tp_itemsize;
  for (const PyType_Slot *slot = spec->slots; slot->slot != 0; ++slot) {
    const size_t offset = PyExtensibleType_Internal_FindSlot(slot->slot);
    if (offset != 0) memcpy((char *)heap + offset, &slot->pfunc, sizeof(slot->pfunc));
  }
  if (type->tp_dealloc == NULL) type->tp_dealloc = dealloc;
  if (special->members != NULL) {
    // CPython looks for them behind the metaclass's data, to traverse and clear object members.
    type->tp_members =
        (PyMemberDef *)(void *)((char *)type + Py_TYPE((PyObject *)type)->tp_basicsize);
    memcpy(type->tp_members, special->members, (size_t)special->member_count * sizeof(PyMemberDef));
  }
  type->tp_weaklistoffset = special->weaklist_offset;
  type->tp_dictoffset = special->dict_offset;
  type->tp_vectorcall_offset = special->vectorcall_offset;
}

// Refuses sizes that would let instances be written out of bounds, as CPython does since 3.12.
static inline int PyExtensibleType_Internal_CheckSizes(
    const PyType_Spec *spec, const PyExtensibleType_Internal_Special *special,
    const PyTypeObject *base) {
  const Py_ssize_t size = spec->basicsize != 0 ? spec->basicsize : base->tp_basicsize;
  const Py_ssize_t last = size - (Py_ssize_t)sizeof(PyObject *);
  if (size < base->tp_basicsize) {
    PyErr_Format(PyExc_TypeError,
                 "tp_basicsize for type '%s' (%zd) is too small for base '%s' (%zd)", spec->name,
                 size, base->tp_name, base->tp_basicsize);
    return -1;
  }
  allocfunc allocate = base->tp_alloc;
  for (const PyType_Slot *slot = spec->slots; slot->slot != 0; ++slot) {
    if (slot->slot == Py_tp_alloc) memcpy(&allocate, &slot->pfunc, sizeof(allocate));
  }
  if (allocate != PyType_GenericAlloc) return 0;  // it may give instances more than tp_basicsize
  if (special->weaklist_offset > last || special->dict_offset > last ||
      special->vectorcall_offset > last) {
    PyErr_Format(PyExc_TypeError,
                 "weaklist, dict or vectorcall offset is out of bounds for type '%s' "
                 "(tp_basicsize = %zd)",
                 spec->name, size);
    return -1;
  }
  return 0;
}

// Sets __module__ from the spec's name, unless the spec has a member of that name.
static inline int PyExtensibleType_Internal_SetModule(PyTypeObject *type, const char *name) {
  const char *dot = strrchr(name, '.');
  PyObject *key = PyUnicode_InternFromString("__module__");
  if (key == NULL) return -1;
  int result = PyDict_Contains(type->tp_dict, key);
  if (result == 0 && dot != NULL) {
    PyObject *module = PyUnicode_FromStringAndSize(name, dot - name);
    result = module != NULL ? PyDict_SetItem(type->tp_dict, key, module) : -1;
    Py_XDECREF(module);
  } else if (result == 0) {
    result = PyErr_WarnFormat(PyExc_DeprecationWarning, 1,
                              "builtin type %.200s has no __module__ attribute", name);
  }
  Py_DECREF(key);
  return result < 0 ? -1 : 0;
}

// Makes a filled type usable. Returns 0, or -1 with an exception.
static inline int PyExtensibleType_Internal_Finish(
    PyTypeObject *type, const char *name, const PyExtensibleType_Internal_Special *special) {
  if (PyType_Ready(type) < 0) return -1;
  if (special->weaklist_offset != 0 &&
      PyDict_DelItemString(type->tp_dict, "__weaklistoffset__") < 0) {
    return -1;
  }
  if (special->dict_offset != 0 && PyDict_DelItemString(type->tp_dict, "__dictoffset__") < 0) {
    return -1;
  }
  if (PyExtensibleType_Internal_SetModule(type, name) < 0) return -1;
  PyType_Modified(type);  // a metaclass's mro() can have looked names up already
  return 0;
}

// The implementation before 3.12; the contract is below.
static inline PyObject *PyExtensibleType_Internal_Make(PyTypeObject *metaclass, PyObject *module,
                                                       const PyType_Spec *spec, PyObject *bases) {
  PyExtensibleType_Internal_Special special;
  if (PyExtensibleType_Internal_ReadSpec(spec, &special) < 0) return NULL;
  bases = PyExtensibleType_Internal_Bases(bases, &special);
  if (bases == NULL) return NULL;

  // Everything that can fail or run other code comes before the type exists, because the garbage
  // collector sees it from its allocation on.
  destructor dealloc = NULL;
  PyTypeObject *base = PyExtensibleType_Internal_BestBase(bases, &dealloc);
  if (metaclass == NULL) metaclass = &PyType_Type;
  if (base != NULL) metaclass = PyExtensibleType_Internal_Winner(metaclass, bases);
  const char *dot = strrchr(spec->name, '.');
  PyObject *name = NULL;
  char *doc = NULL, *full_name = NULL;
  int ok = base != NULL && metaclass != NULL &&
           PyExtensibleType_Internal_CheckSizes(spec, &special, base) == 0;
  ok = ok && (name = PyUnicode_FromString(dot != NULL ? dot + 1 : spec->name)) != NULL;
  ok = ok && (special.doc == NULL ||
              (doc = PyExtensibleType_Internal_Copy(special.doc, PyObject_Malloc)) != NULL);
#if PY_VERSION_HEX >= 0x030B0000
  ok = ok && (full_name = PyExtensibleType_Internal_Copy(spec->name, PyMem_Malloc)) != NULL;
#endif
  PyHeapTypeObject *heap = NULL;
  if (ok) heap = (PyHeapTypeObject *)(void *)metaclass->tp_alloc(metaclass, special.member_count);
  if (heap == NULL) {
    Py_DECREF(bases);
    Py_XDECREF(name);
    PyObject_Free(doc);
    PyMem_Free(full_name);
    return NULL;
  }

  PyTypeObject *type = &heap->ht_type;
  type->tp_flags = spec->flags | Py_TPFLAGS_HEAPTYPE;
  Py_INCREF((PyObject *)base);
  type->tp_base = base;
  type->tp_bases = bases;
  type->tp_doc = doc;  // with the signature, for __text_signature__; __doc__ goes without
  type->tp_name = spec->name;
#if PY_VERSION_HEX >= 0x030B0000
  type->tp_name = heap->_ht_tpname = full_name;  // before 3.11 nobody would free a copy
#endif
  Py_INCREF(name);
  heap->ht_name = name;
  heap->ht_qualname = name;
  Py_XINCREF(module);
  heap->ht_module = module;
  PyExtensibleType_Internal_Fill(heap, spec, &special, dealloc);
  if (PyExtensibleType_Internal_Finish(type, spec->name, &special) < 0) {
    Py_DECREF((PyObject *)type);
    return NULL;
  }
  return (PyObject *)type;
}

#ifdef __cplusplus
}
#endif

#endif  // TYPEDCALL_CORE_TYPE_FROM_METACLASS_BACKPORT_H_
// ---- core/type_from_metaclass.h, continued
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef Py_LIMITED_API
// All versions copy the offset of any base that has a `__dict__`, although only the base that
// determines the layout is in the instances: attributes would be stored in somebody's data.
static inline void PyExtensibleType_Internal_PlaceDict(PyTypeObject *type,
                                                       const PyType_Spec *spec) {
#ifdef Py_TPFLAGS_MANAGED_DICT
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) return;
#endif
  for (const PyType_Slot *slot = spec->slots; slot->slot != 0; ++slot) {
    if (slot->slot != Py_tp_members) continue;
    for (const PyMemberDef *m = (const PyMemberDef *)slot->pfunc; m->name != NULL; ++m) {
      if (strcmp(m->name, "__dictoffset__") == 0) return;
    }
  }
  type->tp_dictoffset = type->tp_base->tp_dictoffset;
}
#endif

/// Makes a heap type from `spec` whose type is `metaclass`: the contract of PyType_FromMetaclass
/// (CPython 3.12's C API documentation, "Type Objects"), which it is on 3.12 and later.
///
/// `metaclass` may be NULL: then, and when a base's metaclass is more derived, the bases' metaclass
/// is taken. `module` is the defining module or NULL. `bases` is a type, a non-empty tuple of
/// types, or NULL for the spec's Py_tp_base(s) slots, by default `object`. The memory that the
/// metaclass adds to its types is zero. Neither the metaclass's tp_new and tp_init nor
/// __init_subclass__ is called. Before 3.11 `spec->name` must outlive the type, as for CPython's
/// own functions.
///
/// A new reference; or NULL with TypeError (a metaclass with a tp_new of its own, a metaclass
/// conflict, bases or sizes that do not fit), SystemError (no name, a doubled slot, before 3.12 a
/// negative basicsize (PEP 697)), RuntimeError (an unknown slot), MemoryError, or what Python
/// code raised (a metaclass's mro(), warnings turned into errors). Threads: the GIL is held (an
/// attached thread). The type belongs to the calling interpreter.
static inline PyObject *PyExtensibleType_FromMetaclass(PyTypeObject *metaclass, PyObject *module,
                                                       PyType_Spec *spec, PyObject *bases) {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject *type = PyType_FromMetaclass(metaclass, module, spec, bases);
  if (type == NULL && !PyErr_Occurred()) {
    // CPython 3.12 and 3.13 forget to say so here.
    if (bases != NULL && PyTuple_Check(bases) && PyTuple_Size(bases) == 0) {
      PyErr_SetString(PyExc_TypeError, "a type needs at least one base");
    } else {
      PyErr_NoMemory();
    }
  }
#else
  PyObject *type = PyExtensibleType_Internal_Make(metaclass, module, spec, bases);
#endif
#ifndef Py_LIMITED_API
  if (type != NULL) PyExtensibleType_Internal_PlaceDict((PyTypeObject *)type, spec);
#endif
  return type;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_TYPE_FROM_METACLASS_H_
// ---- core/extensible_type.h, continued

#ifdef __cplusplus
extern "C" {
#endif

// How classes come by their slots, when nobody gives them any from C:
//
// - Class statements, `type(Base)(name, bases, ns)`, types.new_class, dataclasses, C code that
//   calls the metaclass: a class inherits the slots of all its bases by MRO order, wherever the
//   extensible ones stand, and has those of its own `__customslots__` (core/own_slots.h). With
//   nothing extensible among the bases, `Meta("X", (object,), {})` has none.
// - C code that makes a subclass with PyType_FromSpec and its kin: the same from 3.12 on. Before,
//   CPython gives such a type the metaclass `type`, and with it no slots; a class below it that has
//   our metaclass inherits them again.
// - Past the metaclass's __init__ (type.__new__, a derived metaclass whose __init__ forgets super,
//   Enum("X", ...)), and before it (__init_subclass__, __set_name__): the same, settled by the
//   first look-up in an attached thread; a thread that is not attached finds nothing until then.
//   A faulty `__customslots__` is reported by __init__ only: past it, such a class offers nothing,
//   and classes that derive from it cannot be made: the fault is reported there.
// - Inside a metaclass's mro(): nothing, as there are no bases yet.
// - `__class__` assignment: an instance has the slots of the class that it has now.
// - `__bases__` assignment: the slots stay those that the class has; classes derived afterwards
//   inherit by the new MRO, and what their bases have kept. What slots point to must therefore
//   outlive every subclass, also those that have left: pointers from C are static or kept by the
//   module; capsules are kept by the tables.
// - A Protocol that is runtime_checkable: `__customslots__` in its body counts as a member that
//   isinstance() asks for, as CPython counts every name it does not know; give such slots from C.
// - A metaclass other than ours among the bases: CPython's "metaclass conflict", unless the class
//   statement names the combined one, see PyExtensibleType_CombinedMetaclass.

#ifndef Py_LIMITED_API  // which does not say how large a type is

/// A statically allocated extensible type: SEP 200's struct, with the SEP's field names, and the
/// magic behind it. The SEP's positional initialiser compiles; the magic is set when the type is
/// made ready.
typedef struct PyHeapExtensibleTypeObject {
  PyHeapTypeObject etp_heaptype;
  Py_ssize_t etp_custom_slot_count __attribute__((aligned(PyExtensibleType_ALIGNMENT)));
  PyCustomSlot *etp_custom_slot_table;
  uint64_t etp_magic;
} PyHeapExtensibleTypeObject;

#endif  // Py_LIMITED_API

/// The interpreter's metaclass, installed now if nobody has done so before. New reference, or NULL
/// with the exceptions of PyTypedcall_Import. GIL: held.
/// Source: SEP 200, "Provider API".
static inline PyTypeObject *PyExtensibleType_Import(void) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (metaclass == NULL) PyErr_SetString(PyExc_ImportError, "typedcall: the interpreter is ending");
  Py_XINCREF((PyObject *)metaclass);
  return metaclass;
}

#ifndef Py_LIMITED_API

/// Makes a statically allocated extensible type usable: PyType_Ready, but its metaclass becomes
/// ours, and its slots are settled. Fill in count and table first; `slot_table_size` is how many
/// slots the table has room for. What it inherits is put in front of its own slots, so leave room
/// behind them: slots with the ID 0. A base's slot whose ID the type has itself is not inherited
/// (unlike in heap types, the own one does not take its position). The table must live as long as
/// the type, and is written to here only.
///
/// Bases come first: a type cannot be made ready after one that derives from it. tp_as_buffer is
/// pointed to the struct behind the type, whose contents stay.
///
/// Python code can subclass the type if it has Py_TPFLAGS_BASETYPE. Its slots cannot be changed
/// afterwards. Called again it does nothing; in a new main interpreter after Py_FinalizeEx it must
/// be called again, as the interpreter's end makes the type a plain one.
///
/// Returns 0, or -1: ValueError when the slots do not fit, an ID is invalid or stands twice, or a
/// slot stands behind the last one counted; TypeError for a heap type, another metaclass, or a base
/// with a metaclass that cannot be combined with ours; ImportError outside the main interpreter,
/// because static types are shared and metaclasses are not (use PyExtensibleType_FromSpec there);
/// else what PyType_Ready or PyTypedcall_Import raise. The slot table is unchanged then.
/// GIL: held.
/// Source: SEP 200, "Provider API" and "Subclassing".
static inline int PyExtensibleType_Ready(PyHeapExtensibleTypeObject *type,
                                         Py_ssize_t slot_table_size) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  PyTypeObject *made = &type->etp_heaptype.ht_type;
  if (made->tp_basicsize == 0 && made->tp_base != NULL) {
    // PyType_Ready inherits sizes too, but if the metaclass is not `type` it compares layouts
    // first.
    made->tp_basicsize = made->tp_base->tp_basicsize;
    if (made->tp_itemsize == 0) made->tp_itemsize = made->tp_base->tp_itemsize;
  }
  // The mark of types made ready, see custom_slots.h: no subtype inherits it.
  if (made->tp_as_buffer != NULL && made->tp_as_buffer != &type->etp_heaptype.as_buffer) {
    type->etp_heaptype.as_buffer = *made->tp_as_buffer;
  }
  made->tp_as_buffer = &type->etp_heaptype.as_buffer;
  return interface->ready_static(interface->state, made, slot_table_size);
}

#endif  // Py_LIMITED_API

/// A metaclass for classes that derive from extensible types and from classes with the metaclasses
/// in the tuple `metaclasses` (ABCMeta, EnumMeta, ...), which CPython otherwise refuses with
/// "metaclass conflict". The same set gives the same metaclass, in whatever order; combined ones
/// can be combined further; if one of them derives from ours and from all others already, it is
/// that one. Python code finds this function as `_extensibletype.combined_metaclass(*metaclasses)`.
///
/// Their __new__ and __init__ run as they would alone, in the order of their names (of one name: in
/// an order that is the same for the life of the process); a metaclass's
/// __init__ that forgets super().__init__ does no harm.
///
/// New reference, or NULL: TypeError when one is no metaclass, or has C fields of its own that
/// leave no room for ours; else what making a class raises. GIL: held; for the calling interpreter.
static inline PyTypeObject *PyExtensibleType_CombinedMetaclass(PyObject *metaclasses) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  return interface != NULL ? interface->combined_metaclass(interface->state, metaclasses) : NULL;
}

/// A new heap type as PyType_FromModuleAndSpec makes it, with `count` custom slots of its own,
/// which are copied, and those of its bases.
///
/// `module` may be NULL; `bases` is NULL, a type or a tuple of types. Inherited slots keep their
/// positions and come first, those of the first base in the MRO that has any; an own slot with the
/// ID of an inherited one takes its place; behind the own ones stands what other bases bring; with
/// nothing inherited the own table is taken as it stands, skipped positions included. Python
/// subclasses inherit the slots; in classes with several bases the first in MRO order that brings
/// an ID wins.
///
/// New reference, or NULL: ValueError for an ID that is invalid or stands twice; TypeError when a
/// base has a metaclass that cannot be combined with ours; else what PyType_FromModuleAndSpec or
/// PyTypedcall_Import raise. GIL: held; the type belongs to the calling interpreter.
static inline PyObject *PyExtensibleType_FromSpec(PyObject *module, PyType_Spec *spec,
                                                  PyObject *bases, const PyCustomSlot *slots,
                                                  Py_ssize_t count) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return NULL;
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  PyObject *type = PyExtensibleType_FromMetaclass(metaclass, module, spec, bases);
  if (type == NULL) return NULL;
  if (interface->resolve(interface->state, (PyTypeObject *)type, slots, count) < 0) {
    Py_DECREF(type);
    return NULL;
  }
  return type;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_EXTENSIBLE_TYPE_H_
// ---- typedcall/native_callable_slot.h
// The provider's side of SEP 201's slot: what an instance holds so that its table of native
// functions can be replaced while others read it. Readers need typedcall/native_callable.h only.
#ifndef TYPEDCALL_NATIVE_CALLABLE_SLOT_H_
#define TYPEDCALL_NATIVE_CALLABLE_SLOT_H_

// ---- typedcall/native_callable.h
// The one record: a native way to call something (signature, flags, address), and the table of
// overloads that an instance of an extensible type carries. Everything else is a place to find it.
// Source: SEP 201; the flag bits are ours, see docs/ABI.md, section 3.
#ifndef TYPEDCALL_NATIVE_CALLABLE_H_
#define TYPEDCALL_NATIVE_CALLABLE_H_

#ifdef __cplusplus
extern "C" {
#endif

/// One native way to call: three words for ever.
typedef struct PyNativeCallableEntry {
  const char *signature;  ///< canonical (typedcall/signature.h), NUL-terminated, read no further
  uintptr_t flags;        ///< PyNativeCallable_* below; bits above the 32nd are zero
  void *funcptr;          ///< of the C type that the signature and the flags spell
} PyNativeCallableEntry;

/// Several entries are overloads, in the order in which they are tried.
typedef struct PyNativeCallableTable {
  Py_ssize_t count;
  PyNativeCallableEntry entries[1];  ///< `count` of them
} PyNativeCallableTable;

/// Bits 31-24: the ABI version. An entry with any other than 0 is ignored.
#define PyNativeCallable_ABI_MASK ((uintptr_t)0xff000000u)

// Bits that must be understood: a consumer that cannot honour one of these does not use the entry.

/// The caller holds an attached thread state (the GIL, where there is one).
#define PyNativeCallable_NEEDS_THREAD ((uintptr_t)0x0001)
/// The function takes the GIL itself: the caller must be able to lose it.
#define PyNativeCallable_ACQUIRES_GIL ((uintptr_t)0x0002)
/// An exception may be set on return, and then the result is the error value of its class: -1 for
/// signed, all ones for unsigned, -1.0 for floating, NULL for pointers and objects. The error value
/// without an exception is a result like any other. Goes with NEEDS_THREAD.
#define PyNativeCallable_MAY_RAISE ((uintptr_t)0x0004)
/// With MAY_RAISE: the error value of a double is -0.0. Only functions in PyPy's layout have it.
#define PyNativeCallable_ERROR_IS_NEG_ZERO ((uintptr_t)0x0008)
/// The C result is an int, nonzero when an exception is set; the value goes through a last pointer
/// argument, which the signature shows. Goes with NEEDS_THREAD.
#define PyNativeCallable_RETURNS_STATUS ((uintptr_t)0x0010)
/// The C function takes `PyObject *self` first, which the signature does not show. Whoever calls it
/// checks the type of self, as CPython's method descriptors do.
#define PyNativeCallable_TAKES_SELF ((uintptr_t)0x0020)
/// errno is part of the result.
#define PyNativeCallable_SETS_ERRNO ((uintptr_t)0x0040)
/// On some inputs the result differs from what the Python callable gives (libm returns nan where
/// `math` raises). Only for consumers that ask for it.
#define PyNativeCallable_DIFFERS ((uintptr_t)0x0080)

/// All bits that must be understood, and those that have a meaning so far.
#define PyNativeCallable_MANDATORY_MASK ((uintptr_t)0xffff)
#define PyNativeCallable_KNOWN_MASK ((uintptr_t)0x00ff)

// Hints, which may be ignored.

/// May run in several threads at once.
#define PyNativeCallable_THREAD_SAFE ((uintptr_t)0x010000)
/// Same arguments, same result, no effects.
#define PyNativeCallable_PURE ((uintptr_t)0x020000)
/// Does not block.
#define PyNativeCallable_SHORT ((uintptr_t)0x040000)

/// The custom slot of an instance's table: `objoffset` locates a `PyNativeCallableTable *` inside
/// the instance, so that each instance has its own and can replace it. Source: SEP 201.
#define PYCUSTOMSLOT_NATIVECALLABLE_ID PyCustomSlot_ID_NATIVECALLABLE
#define PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS 0

/// Can anybody use an entry with these flags? Not if the ABI version, a bit that must be understood
/// or a bit above the 32nd is unknown, nor if they contradict each other (an entry that may set an
/// exception needs the thread to set it in).
/// GIL: none; any thread; any interpreter; no Python function is called.
static inline int PyNativeCallable_FlagsAreUsable(uintptr_t flags) {
  const uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_RETURNS_STATUS;
  if (flags > UINT32_MAX || (flags & PyNativeCallable_ABI_MASK) != 0) return 0;
  if ((flags & PyNativeCallable_MANDATORY_MASK & ~PyNativeCallable_KNOWN_MASK) != 0) return 0;
  return (flags & raises) == 0 || (flags & PyNativeCallable_NEEDS_THREAD) != 0;
}

#ifndef Py_LIMITED_API  // core/custom_slots_limited.h finds the slot there
/// The table of an instance whose type has the native-callable slot, or NULL.
/// Valid while the instance lives; whoever replaces a table keeps the old one for its readers, as
/// typedcall/native_callable_slot.h does.
/// GIL: none, as for PyCustomSlots_Find; the caller has a reference to `object`; sets no exception.
/// Source: SEP 201.
static inline const PyNativeCallableTable *PyNativeCallable_InstanceTable(PyObject *object) {
  const PyCustomSlot *slot = PyCustomSlots_Find(object, PYCUSTOMSLOT_NATIVECALLABLE_ID,
                                                PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS);
  if (slot == NULL) return NULL;
  const PyNativeCallableTable *const *where =
      (const PyNativeCallableTable *const *)(const void *)((const char *)object +
                                                           slot->data.objoffset);
  return PyTypedcall_LOAD_ACQUIRE(where);
}
#endif

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_NATIVE_CALLABLE_H_
// ---- typedcall/native_callable_slot.h, continued
// ---- typedcall/signature.h
// Signature strings of native functions: parse, print and compare them, in C or at compile time.
// Needs no Python.h; C99, C11 and C++11 to C++20 (constexpr from C++14), no allocation, no stdio.
//
// The grammar (EBNF). NumPy's form, PEP 3118's letters:
//
//     signature = { type } , "->" , result ;       at most 127 arguments
//     result    = type | "v" ;
//     type      = [ "&" ] , code ;
//     code      = "?"                              bool
//               | "b" | "h" | "i" | "l" | "q"      signed char, short, int, long, long long
//               | "B" | "H" | "I" | "L" | "Q"      the same, unsigned
//               | "n" | "N"                        Py_ssize_t, size_t
//               | "f" | "d" | "g"                  float, double, long double
//               | "Zf" | "Zd" | "Zg"               complex of these
//               | "P" | "s" | "O" ;                void *, const char *, PyObject *
//
// "&d" is `double *`. A pointer to a pointer made with "&" is refused; write "P". Nothing else may
// stand in the text, so every signature has exactly one spelling: what parses is canonical.

#ifndef TYPEDCALL_SIGNATURE_H_
#define TYPEDCALL_SIGNATURE_H_

#include <stddef.h>

// ---- typedcall/type_codes.h
// The one list of native type codes, and what follows from it: enum, letters, sizes, kinds.
// Needs no Python.h; C99, C11 and C++11 to C++20.

#ifndef TYPEDCALL_TYPE_CODES_H_
#define TYPEDCALL_TYPE_CODES_H_

#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

/// `static inline`, and `constexpr` as well where the language lets a constexpr function loop
/// (C++14), so that C++ can check a signature while it compiles.
#if defined(__cpp_constexpr) && __cpp_constexpr >= 201304L
#define PyNative_INLINE static inline constexpr
#else
#define PyNative_INLINE static inline
#endif

/// PyObject's own tag, so that a pointer to one has a type here without Python.h.
struct _object;

/// The complex types as C passes them. C++ gets C's types as well, not `std::complex`: same
/// layout, but x86-64 returns a `long double _Complex` in registers and a class in memory.
#if defined(_MSC_VER) && !defined(__clang__)
typedef struct {
  float real, imag;
} PyNativeType_ComplexFloat;
typedef struct {
  double real, imag;
} PyNativeType_ComplexDouble;
typedef struct {
  long double real, imag;
} PyNativeType_ComplexLongDouble;
#else
__extension__ typedef float _Complex PyNativeType_ComplexFloat;
__extension__ typedef double _Complex PyNativeType_ComplexDouble;
__extension__ typedef long double _Complex PyNativeType_ComplexLongDouble;
#endif

/// Every code that stands for a value: X(ENUM_NAME, "letters", C type, KIND).
/// `intptr_t` is Py_ssize_t's width on every platform CPython has. The order is free to change:
/// between modules signatures travel as text, never as numbers.
/// Source: PEP 3118; SEP 201; `n`, `N`, `s` as in PyArg_ParseTuple and struct.
#define PyNativeType_VALUE_LIST(X)                              \
  X(BOOL, "?", bool, BOOL)                                      \
  X(SCHAR, "b", signed char, SIGNED)                            \
  X(UCHAR, "B", unsigned char, UNSIGNED)                        \
  X(SHORT, "h", short, SIGNED)                                  \
  X(USHORT, "H", unsigned short, UNSIGNED)                      \
  X(INT, "i", int, SIGNED)                                      \
  X(UINT, "I", unsigned int, UNSIGNED)                          \
  X(LONG, "l", long, SIGNED)                                    \
  X(ULONG, "L", unsigned long, UNSIGNED)                        \
  X(LONGLONG, "q", long long, SIGNED)                           \
  X(ULONGLONG, "Q", unsigned long long, UNSIGNED)               \
  X(SSIZE, "n", intptr_t, SIGNED)                               \
  X(SIZE, "N", size_t, UNSIGNED)                                \
  X(FLOAT, "f", float, FLOATING)                                \
  X(DOUBLE, "d", double, FLOATING)                              \
  X(LONGDOUBLE, "g", long double, FLOATING)                     \
  X(CFLOAT, "Zf", PyNativeType_ComplexFloat, COMPLEX)           \
  X(CDOUBLE, "Zd", PyNativeType_ComplexDouble, COMPLEX)         \
  X(CLONGDOUBLE, "Zg", PyNativeType_ComplexLongDouble, COMPLEX) \
  X(POINTER, "P", void *, POINTER)                              \
  X(STRING, "s", const char *, STRING)                          \
  X(OBJECT, "O", struct _object *, OBJECT)

/// Every code. `v` stands apart because `sizeof(void)` is no C, and first so that zeroed memory
/// says "nothing" and not "bool".
///
/// A table with a column of its own, in code order, is one macro:
///
///     #define ROW(NAME, LETTERS, TYPE, KIND) my_column_##NAME,
///     static const my_column table[] = {PyNativeType_LIST(ROW)};
///     #undef ROW
///
/// so a code without an entry there does not compile.
#define PyNativeType_LIST(X) \
  X(VOID, "v", void, VOID)   \
  PyNativeType_VALUE_LIST(X)

/// What a code is called in C: PyNativeType_VOID, PyNativeType_BOOL, ..., dense from 0.
/// Source: PyNativeType_LIST.
#define PyNativeType_ROW_(NAME, LETTERS, TYPE, KIND) PyNativeType_##NAME,
enum PyNativeType_Code { PyNativeType_LIST(PyNativeType_ROW_) PyNativeType_COUNT };
#undef PyNativeType_ROW_

/// The class of a code: what decides registers, conversions and error values.
/// Source: docs/ABI.md, section 3 (error values by class; equality by width, signedness and class).
enum PyNativeKind {
  PyNativeKind_VOID,
  PyNativeKind_BOOL,
  PyNativeKind_SIGNED,
  PyNativeKind_UNSIGNED,
  PyNativeKind_FLOATING,
  PyNativeKind_COMPLEX,
  PyNativeKind_POINTER,
  PyNativeKind_STRING,
  PyNativeKind_OBJECT
};

// C99 has no alignof, and __alignof__ is the preferred alignment, which i386 makes larger.
#if defined(__cplusplus)
#define PyNativeType_ALIGNOF_(TYPE) alignof(TYPE)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define PyNativeType_ALIGNOF_(TYPE) _Alignof(TYPE)
#else
#define PyNativeType_ALIGNOF_(TYPE) \
  offsetof(                         \
      struct {                      \
        char before;                \
        TYPE value;                 \
      },                            \
      value)
#endif

/// The size of a value of `code`, in bytes. 0 for `v` and for what is no code.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the C compiler's own layout; PyNativeType_LIST.
PyNative_INLINE size_t PyNativeCode_Size(int code) {
  switch (code) {
#define PyNativeType_ROW_(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                          \
    return sizeof(TYPE);
    PyNativeType_VALUE_LIST(PyNativeType_ROW_)
#undef PyNativeType_ROW_
        default : return 0;
  }
}

/// The alignment of a value of `code`, in bytes. 1 for `v` and for what is no code, so that
/// rounding up by it stays defined.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the C compiler's own layout; PyNativeType_LIST.
PyNative_INLINE size_t PyNativeCode_Alignment(int code) {
  switch (code) {
#define PyNativeType_ROW_(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                          \
    return PyNativeType_ALIGNOF_(TYPE);
    PyNativeType_VALUE_LIST(PyNativeType_ROW_)
#undef PyNativeType_ROW_
        default : return 1;
  }
}

/// The kind of `code`. PyNativeKind_VOID for `v` and for what is no code.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE enum PyNativeKind PyNativeCode_Kind(int code) {
  switch (code) {
#define PyNativeType_ROW_(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                          \
    return PyNativeKind_##KIND;
    PyNativeType_LIST(PyNativeType_ROW_)
#undef PyNativeType_ROW_
        default : return PyNativeKind_VOID;
  }
}

/// The letters of `code` in a signature, static text: "d", "Zd". "" for what is no code.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE const char *PyNativeCode_Letters(int code) {
  switch (code) {
#define PyNativeType_ROW_(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                          \
    return LETTERS;
    PyNativeType_LIST(PyNativeType_ROW_)
#undef PyNativeType_ROW_
        default : return "";
  }
}

/// The code of one or two letters; `second` is '\0' where there is one only. -1 if there is no
/// such code.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE int PyNativeCode_FromLetters(char first, char second) {
#define PyNativeType_ROW_(NAME, LETTERS, TYPE, KIND) \
  if (LETTERS[0] == first && LETTERS[1] == second) { \
    return PyNativeType_##NAME;                      \
  }
  PyNativeType_LIST(PyNativeType_ROW_)
#undef PyNativeType_ROW_
      return -1;
}

#endif  // TYPEDCALL_TYPE_CODES_H_
// ---- typedcall/signature.h, continued

/// One argument or result: an `enum PyNativeType_Code`, and 1 if it is a pointer to that.
/// Source: the grammar above.
typedef struct {
  unsigned char code;
  unsigned char is_pointer;
} PyNativeType;

/// The largest number of arguments; C guarantees 127 parameters (C99, 5.2.4.1).
#define PyNativeSignature_MAX_ARGS 127

/// The longest signature in bytes, without a NUL: 127 times "&Zd", "->" and "&Zd".
#define PyNativeSignature_MAX_LENGTH (PyNativeSignature_MAX_ARGS * 3 + 2 + 3)

/// A parsed signature. Only the first `nargs` of `args` mean anything.
/// Source: the grammar above.
typedef struct {
  int nargs;
  PyNativeType result;
  PyNativeType args[PyNativeSignature_MAX_ARGS];
} PyNativeSignature;

/// Why a text is no signature: the offset in bytes of the first byte that no signature with the
/// same beginning has there (the text's length if it ends too early), and static text in plain
/// words.
typedef struct {
  size_t position;
  const char *reason;
} PyNativeSignature_Fault;

// What to say of a byte that fits nowhere, or of `otherwise` if it is an innocent one.
PyNative_INLINE const char *PyNativeSignature_Unexpected_(char byte, const char *otherwise) {
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
    return "spaces are not allowed";
  }
  return byte == '\0' ? "a NUL byte is not allowed" : otherwise;
}

// Reads one type, or "v", and moves *position behind it. Returns a null pointer, or the reason
// with *position at the byte at fault.
PyNative_INLINE const char *PyNativeSignature_ReadType_(const char *text, size_t length,
                                                        size_t *position, PyNativeType *type) {
  size_t at = *position;
  int is_pointer = 0;
  int code = -1;
  if (at < length && text[at] == '&') {
    is_pointer = 1;
    ++at;
  }
  *position = at;
  if (at >= length) {
    return "unexpected end";
  }
  if (is_pointer && text[at] == '&') {
    return "'&' cannot point to '&'; write 'P'";
  }
  if (is_pointer && text[at] == 'v') {
    return "'&' cannot point to 'v'";
  }
  if (text[at] == 'Z') {
    *position = ++at;
    if (at >= length) {
      return "unexpected end";
    }
    code = PyNativeCode_FromLetters('Z', text[at]);
    if (code < 0) {
      return PyNativeSignature_Unexpected_(text[at], "'Z' must be followed by f, d or g");
    }
  } else {
    code = PyNativeCode_FromLetters(text[at], '\0');
    if (code < 0) {
      return PyNativeSignature_Unexpected_(text[at], "unknown type code");
    }
  }
  *position = at + 1;
  type->code = (unsigned char)code;
  type->is_pointer = (unsigned char)is_pointer;
  return NULL;
}

// Reads the whole text. Returns a null pointer, or the reason with *position at the fault.
PyNative_INLINE const char *PyNativeSignature_Read_(const char *text, size_t length,
                                                    PyNativeSignature *out, size_t *position) {
  PyNativeType type = {0, 0};
  const char *reason = NULL;
  const char *arrow = "->";
  int nargs = 0;
  while (*position < length && text[*position] != '-' && text[*position] != '>') {
    const size_t start = *position;
    reason = PyNativeSignature_ReadType_(text, length, position, &type);
    if (nargs == PyNativeSignature_MAX_ARGS && *position > start) {
      reason = "more than 127 arguments";
      *position = start;
    } else if (!reason && type.code == PyNativeType_VOID) {
      reason = "'v' is only a result";
      *position = start;
    }
    if (reason) {
      return reason;
    }
    if (out) {
      out->args[nargs] = type;
    }
    ++nargs;
  }
  for (; *arrow != '\0'; ++arrow, ++*position) {
    if (*position >= length || text[*position] != *arrow) {
      return "expected '->'";
    }
  }
  reason = PyNativeSignature_ReadType_(text, length, position, &type);
  if (reason) {
    return reason;
  }
  if (*position < length) {
    return PyNativeSignature_Unexpected_(text[*position], "text after the result");
  }
  if (out) {
    out->nargs = nargs;
    out->result = type;
  }
  return NULL;
}

/// Parses the `length` bytes at `text`; reads none behind them, and of a text that is too long
/// only as much as shows it. `out` may be NULL to check only, `fault` may be NULL.
/// Returns 0. Returns -1 if the text is no signature: then `*fault` says where and why, and
/// `*out` takes no arguments and returns nothing. Without a fault `*fault` stays as it was, and so
/// do the elements of `out->args` from `nargs` on. Sets no Python error.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the grammar above; DESIGN.md, "Signatures".
PyNative_INLINE int PyNativeSignature_Parse(const char *text, size_t length, PyNativeSignature *out,
                                            PyNativeSignature_Fault *fault) {
  size_t position = 0;
  const char *reason = PyNativeSignature_Read_(text, length, out, &position);
  if (!reason) {
    return 0;
  }
  if (out) {
    out->nargs = 0;
    out->result.code = PyNativeType_VOID;
    out->result.is_pointer = 0;
  }
  if (fault) {
    fault->position = position;
    fault->reason = reason;
  }
  return -1;
}

/// PyNativeSignature_Parse for NUL-terminated text; NULL counts as "". Reads up to the NUL, but at
/// most PyNativeSignature_MAX_LENGTH + 1 bytes, so text without a NUL is a fault and no overrun as
/// long as that much is readable.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the grammar above.
PyNative_INLINE int PyNativeSignature_ParseString(const char *text, PyNativeSignature *out,
                                                  PyNativeSignature_Fault *fault) {
  // No signature is longer than MAX_LENGTH, and none can still be incomplete there: one byte more
  // is enough for the parser to find the same fault at the same place as in the whole text.
  size_t length = 0;
  while (text && length <= PyNativeSignature_MAX_LENGTH && text[length] != '\0') {
    ++length;
  }
  return PyNativeSignature_Parse(text, length, out, fault);
}

// Puts `byte` where the buffer still has room for it and a NUL; returns the next offset.
PyNative_INLINE size_t PyNativeSignature_Put_(char *buffer, size_t size, size_t at, char byte) {
  if (at + 1 < size) {
    buffer[at] = byte;
  }
  return at + 1;
}

PyNative_INLINE size_t PyNativeSignature_PutType_(char *buffer, size_t size, size_t at,
                                                  PyNativeType type) {
  const char *letters = PyNativeCode_Letters(type.code);
  if (type.is_pointer) {
    at = PyNativeSignature_Put_(buffer, size, at, '&');
  }
  for (; *letters != '\0'; ++letters) {
    at = PyNativeSignature_Put_(buffer, size, at, *letters);
  }
  return at;
}

// Can the grammar say this type as an argument?
PyNative_INLINE int PyNativeType_IsValue_(PyNativeType type) {
  return type.code != PyNativeType_VOID && type.code < PyNativeType_COUNT;
}

/// Writes the canonical text of `signature` and a NUL to `buffer`, which holds `size` bytes;
/// cuts it off if it does not fit. `buffer` may be NULL if `size` is 0.
/// Returns the length in bytes that the whole text has, without the NUL, like snprintf: it was cut
/// off if that is >= `size`. PyNativeSignature_MAX_LENGTH + 1 bytes always suffice. Returns 0 and
/// writes "" if the grammar cannot say it (`nargs` out of range, no such code, "v" where a value
/// must stand).
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the grammar above.
PyNative_INLINE size_t PyNativeSignature_Print(const PyNativeSignature *signature, char *buffer,
                                               size_t size) {
  const int is_void =
      signature->result.code == PyNativeType_VOID && signature->result.is_pointer == 0;
  int valid = signature->nargs >= 0 && signature->nargs <= PyNativeSignature_MAX_ARGS &&
              (is_void || PyNativeType_IsValue_(signature->result));
  size_t at = 0;
  int i = 0;
  for (i = 0; valid && i < signature->nargs; ++i) {
    valid = PyNativeType_IsValue_(signature->args[i]);
  }
  if (valid) {
    for (i = 0; i < signature->nargs; ++i) {
      at = PyNativeSignature_PutType_(buffer, size, at, signature->args[i]);
    }
    at = PyNativeSignature_Put_(buffer, size, at, '-');
    at = PyNativeSignature_Put_(buffer, size, at, '>');
    at = PyNativeSignature_PutType_(buffer, size, at, signature->result);
  }
  if (size > 0) {
    buffer[at < size ? at : size - 1] = '\0';
  }
  return at;
}

/// The size of an argument or result of this type, in bytes; a pointer's own for "&". 0 for "v".
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE size_t PyNativeType_Size(PyNativeType type) {
  return type.is_pointer ? sizeof(void *) : PyNativeCode_Size(type.code);
}

/// The alignment of an argument or result of this type, in bytes; a pointer's own for "&". 1 for
/// "v".
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE size_t PyNativeType_Alignment(PyNativeType type) {
  return PyNativeCode_Alignment(type.is_pointer ? (int)PyNativeType_POINTER : (int)type.code);
}

/// The kind of an argument or result of this type; PyNativeKind_POINTER for "&".
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: PyNativeType_LIST.
PyNative_INLINE enum PyNativeKind PyNativeType_Kind(PyNativeType type) {
  return type.is_pointer ? PyNativeKind_POINTER : PyNativeCode_Kind(type.code);
}

/// 1 if the two are the same to whoever makes the call, else 0: equal codes; integers of the same
/// width and signedness ("l", "q" and "n" on LP64, "i" and "l" on Windows); pointers to such.
/// Everything else only with itself: bool is no integer, "d" is never "g" even where they have one
/// width, and "P" is not "&d", since it says nothing about what it points to.
/// A code outside the list is equivalent to nothing.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeType_Equivalent(PyNativeType a, PyNativeType b) {
  const enum PyNativeKind kind = PyNativeCode_Kind(a.code);
  if (a.code >= PyNativeType_COUNT || !a.is_pointer != !b.is_pointer) {
    return 0;
  }
  if (a.code == b.code) {
    return 1;
  }
  return (kind == PyNativeKind_SIGNED || kind == PyNativeKind_UNSIGNED) &&
         PyNativeCode_Kind(b.code) == kind &&
         PyNativeCode_Size(a.code) == PyNativeCode_Size(b.code);
}

/// 1 if the two parsed signatures have as many arguments and their types are pairwise equivalent,
/// the results' too; else 0. Both must come from a successful parse.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_EquivalentParsed(const PyNativeSignature *a,
                                                       const PyNativeSignature *b) {
  int same = a->nargs == b->nargs && PyNativeType_Equivalent(a->result, b->result);
  int i = 0;
  for (i = 0; same && i < a->nargs; ++i) {
    same = PyNativeType_Equivalent(a->args[i], b->args[i]);
  }
  return same;
}

/// 1 if the two NUL-terminated texts are signatures and equivalent, else 0. A text that is no
/// signature is equivalent to nothing, not even to itself: a caller can act on 1 without asking
/// whether it may. Equal bytes skip the comparison, not that check; whoever knows that one side is
/// a signature need only compare bytes first.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeSignature_Equivalent(const char *a, const char *b) {
  size_t i = 0;
  if (!a || !b) {
    return 0;
  }
  while (i <= PyNativeSignature_MAX_LENGTH && a[i] == b[i] && a[i] != '\0') {
    ++i;
  }
  if (i > PyNativeSignature_MAX_LENGTH || a[i] == b[i]) {
    return PyNativeSignature_Parse(a, i, NULL, NULL) == 0;
  }
  PyNativeSignature parsed_a = {0, {0, 0}, {{0, 0}}};
  PyNativeSignature parsed_b = {0, {0, 0}, {{0, 0}}};
  return PyNativeSignature_ParseString(a, &parsed_a, NULL) == 0 &&
         PyNativeSignature_ParseString(b, &parsed_b, NULL) == 0 &&
         PyNativeSignature_EquivalentParsed(&parsed_a, &parsed_b);
}

#endif  // TYPEDCALL_SIGNATURE_H_
// ---- typedcall/native_callable_slot.h, continued

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// How a type gets it:
//
//     typedef struct {
//       PyObject_HEAD
//       PyNativeCallableTables native;
//       double factor;
//     } Scale;
//
//     static double scale_d_d(PyObject *self, double x) { return ((Scale *)self)->factor * x; }
//
//     static PyObject *scale_new(PyTypeObject *type, PyObject *args, PyObject *kwds) {
//       const PyNativeCallableEntry entry = {
//           "d->d", PyNativeCallable_TAKES_SELF | PyNativeCallable_THREAD_SAFE, (void *)scale_d_d};
//       Scale *self = (Scale *)type->tp_alloc(type, 0);
//       ... PyNativeCallableTables_Set(&self->native, &entry, 1) ...
//     }
//     static void scale_dealloc(PyObject *self) {
//       PyNativeCallableTables_Release(&((Scale *)self)->native);
//       ...
//     }
//
//     const PyCustomSlot slots[] = {PyNativeCallableTables_SLOT(Scale, native)};
//     PyObject *type = PyExtensibleType_FromSpec(module, &spec, NULL, slots, 1);
//
// The type needs a tp_call (or vectorcall) that does the same as its entries: the slot only says
// how to do it faster. Consumers do not use the table of a class that overrides `__call__`. Python
// classes can be derived from the type, beside others too: an instance's C fields stay where they
// are.
//
// TAKES_SELF: the function gets the instance that the table was found on, as its first argument.
// The slot's type has vouched for it, so there is nothing else to check. Such a function reads
// fields of the instance, perhaps in several threads at once without the GIL: either they never
// change while the table offers it, or it says NEEDS_THREAD.

// A published table and the text of its signatures, in one block of memory.
typedef struct PyNativeCallableTables_Internal_Block {
  struct PyNativeCallableTables_Internal_Block *next;
  // PyNativeCallableTable, and behind its entries their signatures
} PyNativeCallableTables_Internal_Block;

/// The part of an instance that the slot locates. All zero, as tp_alloc makes it, is right at the
/// beginning: nothing is offered. Source: SEP 201, "Description of custom slot".
typedef struct PyNativeCallableTables {
  const PyNativeCallableTable *table;             ///< NULL: nothing is offered; for readers
  PyNativeCallableTables_Internal_Block *blocks;  ///< every table ever published, newest first
} PyNativeCallableTables;

/// The slot for the PyNativeCallableTables that stand `objoffset` bytes behind the start of an
/// instance. It belongs at the first position of a type's own slots, where consumers expect it.
/// GIL: none.
static inline PyCustomSlot PyNativeCallableTables_SlotAt(Py_ssize_t objoffset) {
  PyCustomSlot slot;
  slot.id = PYCUSTOMSLOT_NATIVECALLABLE_ID;
  slot.data.objoffset = objoffset;
  return slot;
}

/// The same as an initialiser, from the struct of the instances and the name of its field; in C a
/// constant one, for static tables.
#ifdef __cplusplus
#define PyNativeCallableTables_SLOT(Instance, field) \
  PyNativeCallableTables_SlotAt((Py_ssize_t)offsetof(Instance, field))
#else
#define PyNativeCallableTables_SLOT(Instance, field)                                       \
  {                                                                                        \
    PYCUSTOMSLOT_NATIVECALLABLE_ID, { .objoffset = (Py_ssize_t)offsetof(Instance, field) } \
  }
#endif

// What a table is to say: `count` entries, and one more unless that is NULL.
typedef struct PyNativeCallableTables_Internal_Content {
  const PyNativeCallableEntry *entries;
  Py_ssize_t count;
  const PyNativeCallableEntry *one_more;
} PyNativeCallableTables_Internal_Content;

static inline Py_ssize_t PyNativeCallableTables_Internal_Count(
    const PyNativeCallableTables_Internal_Content *content) {
  return content->count + (content->one_more != NULL);
}

static inline const PyNativeCallableEntry *PyNativeCallableTables_Internal_At(
    const PyNativeCallableTables_Internal_Content *content, Py_ssize_t i) {
  return i < content->count ? &content->entries[i] : content->one_more;
}

static inline PyNativeCallableTable *PyNativeCallableTables_Internal_TableOf(
    PyNativeCallableTables_Internal_Block *block) {
  return (PyNativeCallableTable *)(void *)(block + 1);
}

static inline int PyNativeCallableTables_Internal_SameEntry(const PyNativeCallableEntry *a,
                                                            const PyNativeCallableEntry *b) {
  return a->flags == b->flags && a->funcptr == b->funcptr &&
         strcmp(a->signature, b->signature) == 0;
}

static inline int PyNativeCallableTables_Internal_Says(
    const PyNativeCallableTable *table, const PyNativeCallableTables_Internal_Content *content) {
  if (table->count != PyNativeCallableTables_Internal_Count(content)) return 0;
  for (Py_ssize_t i = 0; i < table->count; ++i) {
    const PyNativeCallableEntry *entry = PyNativeCallableTables_Internal_At(content, i);
    if (!PyNativeCallableTables_Internal_SameEntry(&table->entries[i], entry)) return 0;
  }
  return 1;
}

// A table of its own, or NULL when there is no memory. The raw allocator: needs no GIL, so that the
// part that readers see can be tested, and used, without an interpreter.
static inline PyNativeCallableTables_Internal_Block *PyNativeCallableTables_Internal_Copy(
    const PyNativeCallableTables_Internal_Content *content) {
  const Py_ssize_t count = PyNativeCallableTables_Internal_Count(content);
  const size_t table_size =
      offsetof(PyNativeCallableTable, entries) + (size_t)count * sizeof(PyNativeCallableEntry);
  size_t text_size = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    text_size += strlen(PyNativeCallableTables_Internal_At(content, i)->signature) + 1;
  }
  PyNativeCallableTables_Internal_Block *block =
      (PyNativeCallableTables_Internal_Block *)PyMem_RawMalloc(sizeof(*block) + table_size +
                                                               text_size);
  if (block == NULL) return NULL;
  PyNativeCallableTable *table = PyNativeCallableTables_Internal_TableOf(block);
  char *text = (char *)table + table_size;
  table->count = count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const PyNativeCallableEntry *entry = PyNativeCallableTables_Internal_At(content, i);
    const size_t length = strlen(entry->signature) + 1;
    table->entries[i] = *entry;
    table->entries[i].signature = (const char *)memcpy(text, entry->signature, length);
    text += length;
  }
  return block;
}

// Publishes a table that says this: one that was published before if there is one. Returns 0, or -1
// without an exception when there is no memory, and then nothing has changed.
static inline int PyNativeCallableTables_Internal_Publish(
    PyNativeCallableTables *tables, const PyNativeCallableTables_Internal_Content *content) {
  PyNativeCallableTables_Internal_Block *block = tables->blocks;
  while (block != NULL && !PyNativeCallableTables_Internal_Says(
                              PyNativeCallableTables_Internal_TableOf(block), content)) {
    block = block->next;
  }
  if (block == NULL) {
    block = PyNativeCallableTables_Internal_Copy(content);
    if (block == NULL) return -1;
    block->next = tables->blocks;
    tables->blocks = block;
  }
  const PyNativeCallableTable *table = PyNativeCallableTables_Internal_TableOf(block);
  PyTypedcall_STORE_RELEASE(&tables->table, table);
  return 0;
}

// Can this be entry number `i`? Returns 0, or -1 with ValueError.
static inline int PyNativeCallableTables_Internal_Check(const PyNativeCallableEntry *entry,
                                                        Py_ssize_t i) {
  PyNativeSignature_Fault fault;
  if (entry->signature == NULL) {
    PyErr_Format(PyExc_ValueError, "native callable: entry %zd has no signature", i);
  } else if (PyNativeSignature_ParseString(entry->signature, NULL, &fault) < 0) {
    PyErr_Format(PyExc_ValueError,
                 "native callable: entry %zd: signature '%.200s' at position %zu: %s", i,
                 entry->signature, fault.position, fault.reason);
  } else if (entry->funcptr == NULL) {
    PyErr_Format(PyExc_ValueError, "native callable: entry %zd, '%.200s', has no function", i,
                 entry->signature);
  } else if (!PyNativeCallable_FlagsAreUsable(entry->flags)) {
    const int needs_thread =
        PyNativeCallable_FlagsAreUsable(entry->flags | PyNativeCallable_NEEDS_THREAD);
    PyErr_Format(PyExc_ValueError, "native callable: entry %zd, '%.200s', has flags %p, %s", i,
                 entry->signature, (void *)entry->flags,
                 needs_thread ? "which may set an exception without NEEDS_THREAD"
                              : "of which some bits have no meaning");
  } else {
    return 0;
  }
  return -1;
}

/// Starts with no table, where tp_alloc has not done so. Once for every instance, before anything
/// else: in tp_new, not in tp_init, which Python code can call again. GIL: none.
static inline void PyNativeCallableTables_Init(PyNativeCallableTables *tables) {
  tables->table = NULL;
  tables->blocks = NULL;
}

/// Stops offering anything. Never fails. Whoever has read the table before can go on using it, as
/// with PyNativeCallableTables_Set; GIL: as there.
static inline void PyNativeCallableTables_Withdraw(PyNativeCallableTables *tables) {
  PyTypedcall_STORE_RELEASE(&tables->table, (const PyNativeCallableTable *)NULL);
}

/// Offers these entries, in this order, and nothing else; with `count` 0 as
/// PyNativeCallableTables_Withdraw. Entries and signatures are copied; they may come from a table
/// of this or of another instance.
///
/// Others may be reading, without the GIL and without a lock: each look finds the whole old or the
/// whole new table. Readers have a reference to the instance and nothing else, so a table that was
/// once offered, and the functions in it, stay valid until the instance dies; what is replaced is
/// kept for that long. A table that says what one has said before is not made again, it is looked
/// for: switching between a few costs no memory, a new set of entries costs its size, and a call
/// takes longer the more there have been. Offer the overloads that are known at the beginning
/// together.
///
/// Returns 0, or -1 and nothing has changed: ValueError, which names the entry and what is wrong
/// with it (a signature that is no canonical one, no function, flags that nobody can use), for a
/// negative `count` and for no entries at all where some are counted; MemoryError. GIL: held; so
/// writers of one instance take turns. Runs no Python code when it succeeds.
/// Source: SEP 201, "Description of custom slot".
static inline int PyNativeCallableTables_Set(PyNativeCallableTables *tables,
                                             const PyNativeCallableEntry *entries,
                                             Py_ssize_t count) {
  if (count < 0 || (count > 0 && entries == NULL)) {
    PyErr_Format(PyExc_ValueError, "native callable: %zd entries%s", count,
                 count < 0 ? "" : ", but no array");
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyNativeCallableTables_Internal_Check(&entries[i], i) < 0) return -1;
  }
  if (count == 0) {
    PyNativeCallableTables_Withdraw(tables);
    return 0;
  }
  const PyNativeCallableTables_Internal_Content content = {entries, count, NULL};
  if (PyNativeCallableTables_Internal_Publish(tables, &content) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}

/// Offers one overload more, behind those that are offered now. An entry that is offered already,
/// with the same signature, flags and function, is not offered twice. Otherwise, and for what it
/// returns and needs, as PyNativeCallableTables_Set.
static inline int PyNativeCallableTables_Append(PyNativeCallableTables *tables,
                                                const PyNativeCallableEntry *entry) {
  const PyNativeCallableTable *table = tables->table;
  PyNativeCallableTables_Internal_Content content = {NULL, 0, entry};
  if (entry == NULL) {
    PyErr_SetString(PyExc_ValueError, "native callable: no entry");
    return -1;
  }
  if (table != NULL) {
    content.entries = table->entries;
    content.count = table->count;
  }
  if (PyNativeCallableTables_Internal_Check(entry, content.count) < 0) return -1;
  for (Py_ssize_t i = 0; i < content.count; ++i) {
    if (PyNativeCallableTables_Internal_SameEntry(&content.entries[i], entry)) return 0;
  }
  if (PyNativeCallableTables_Internal_Publish(tables, &content) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}

/// Frees every table. For tp_dealloc, when nobody has a reference any more, and nowhere else:
/// tp_finalize and tp_clear have readers. Never fails; can be called twice. GIL: none.
static inline void PyNativeCallableTables_Release(PyNativeCallableTables *tables) {
  PyNativeCallableTables_Internal_Block *block = tables->blocks;
  PyNativeCallableTables_Init(tables);
  while (block != NULL) {
    PyNativeCallableTables_Internal_Block *next = block->next;
    PyMem_RawFree(block);
    block = next;
  }
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_NATIVE_CALLABLE_SLOT_H_
// ---- typedcall/tag_array.h
// Tagging a method array of one's own that exists already, in place: a row's name becomes the one
// in front of which its metadata stands. For arrays that nobody has made functions from yet; for
// those of others there is typedcall/tag.h, which writes to none. Source: docs/ABI.md, section 4.
#ifndef TYPEDCALL_TAG_ARRAY_H_
#define TYPEDCALL_TAG_ARRAY_H_

// ---- typedcall/tag.h
// Tagging: telling an interpreter's side table what the C function behind a PyMethodDef or an
// object is. For one's own rows at module execution, and for somebody else's, into which nothing is
// written. Source: docs/ABI.md, section 5.
#ifndef TYPEDCALL_TAG_H_
#define TYPEDCALL_TAG_H_

#ifdef Py_LIMITED_API
#error "typedcall/tag.h needs the full API: it looks into builtin functions and method descriptors"
#endif

// ---- typedcall/typed_method.h
// METH_TYPED: metadata that stands in memory in front of a PyMethodDef's `ml_name`. Its structs,
// its readers, which call no Python function, and C macros that write a tagged row. Source: M.
// Bernstein, "Type information for faster Python C extensions"; PyPy's branch
// py3.10-mb-typed-sig-experiments; docs/ABI.md, section 4.
#ifndef TYPEDCALL_TYPED_METHOD_H_
#define TYPEDCALL_TYPED_METHOD_H_

#ifdef __cplusplus
extern "C" {
#endif

/// In `ml_flags`: `ml_name` points into a PyPyTypedMethodMetadata.
#define METH_TYPED 0x1000
/// With METH_TYPED: that one is the last field of a PyTypedMethodMetadata.
#define METH_TYPED_EXT 0x2000

/// PyPy's struct, unchanged.
typedef struct PyPyTypedMethodMetadata {
  int *arg_types;         ///< T_* codes below, then -1
  int ret_type;           ///< a T_* code; negated: may raise
  void *underlying_func;  ///< does not take `self`
  const char ml_name[100];
} PyPyTypedMethodMetadata;

/// PyPy's type codes, and in brackets the error values of functions that may raise.
#ifndef T_C_LONG
#define T_C_LONG 1     // (-1)
#define T_C_DOUBLE 2   // (-0.0)
#define T_PY_OBJECT 3  // (NULL)
#endif
/// First in `arg_types` when PyPy's codes cannot say what the function takes: readers that know
/// only PyPy's struct then leave the typed path alone.
#define PyTypedMethod_NOT_FOR_PYPY 0x100

/// Our header in front of PyPy's struct. It is read downwards from `ml_name`, so that a newer minor
/// version puts its fields in front, and `size` grows.
typedef struct PyTypedMethodMetadata {
  const void *details;                 ///< NULL so far
  const PyNativeCallableTable *table;  ///< the overloads; NULL: only what `pypy` says
  uint32_t size;                       ///< bytes from the first field to `ml_name`
  uint16_t abi_major, abi_minor;       ///< 1, 0
  uint64_t magic;                      ///< PyTypedMethod_MAGIC
  PyPyTypedMethodMetadata pypy;
} PyTypedMethodMetadata;

#define PyTypedMethod_MAGIC UINT64_C(0x5059545950454431)
#define PyTypedMethod_ABI_MAJOR 1
#define PyTypedMethod_ABI_MINOR 0
/// `size` of version 1.0, whatever later versions put in front; a smaller one is none of ours.
#define PyTypedMethod_SIZE_1_0 56
/// `size` of this header's version.
#define PyTypedMethod_SIZE \
  ((uint32_t)(offsetof(PyTypedMethodMetadata, pypy) + offsetof(PyPyTypedMethodMetadata, ml_name)))

/// The metadata with one argument that Bernstein's post describes first. Nothing in memory tells it
/// from PyPy's struct, so only a consumer that knows its provider may read it.
typedef struct PyTypedMethod_OneArgMetadata {
  int arg_type;
  int ret_type;
  void *underlying_func;
  const char ml_name[100];
} PyTypedMethod_OneArgMetadata;

// --- Readers -----------------------------------------------------------------------------------
//
// For all of them: `def` may be any PyMethodDef, or NULL. GIL: none; any thread; any interpreter;
// no Python function is called and no exception is set. Memory in front of `ml_name` is read only
// as far as the flag bits, and then the header's own size, declare it.

/// Our header in front of the def's name; NULL when the bits do not announce one, or when what
/// stands there has another magic, another major version or a size below version 1.0's.
static inline const PyTypedMethodMetadata *PyTypedMethod_Metadata(const PyMethodDef *def) {
  const int bits = METH_TYPED | METH_TYPED_EXT;
  if (def == NULL || def->ml_name == NULL || (def->ml_flags & bits) != bits) return NULL;
  const char *start = def->ml_name - PyTypedMethod_SIZE;
  if ((uintptr_t)start % sizeof(void *) != 0) return NULL;
  const PyTypedMethodMetadata *metadata = (const PyTypedMethodMetadata *)(const void *)start;
  if (metadata->magic != PyTypedMethod_MAGIC) return NULL;
  if (metadata->abi_major != PyTypedMethod_ABI_MAJOR) return NULL;
  return metadata->size >= PyTypedMethod_SIZE_1_0 ? metadata : NULL;
}

/// The overloads of a def with our header, or NULL. Valid while the def lives.
static inline const PyNativeCallableTable *PyTypedMethod_Table(const PyMethodDef *def) {
  const PyTypedMethodMetadata *metadata = PyTypedMethod_Metadata(def);
  return metadata != NULL ? metadata->table : NULL;
}

/// Longest signature that PyPy's codes spell, with its NUL.
#define PyTypedMethod_PYPY_LENGTH (PyNativeSignature_MAX_ARGS + 4)

// PyPy looks at two calling conventions only, METH_O and METH_FASTCALL without keywords. Returns
// that one, or 0 for any other, or for a mixture that no interpreter would call.
static inline int PyTypedMethod_Internal_Convention(const PyMethodDef *def) {
  const int conventions =
      METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | METH_METHOD;
  const int convention = def->ml_flags & conventions;
  return convention == METH_O || convention == METH_FASTCALL ? convention : 0;
}

static inline char PyTypedMethod_Internal_Letter(int code) {
  return code == T_C_LONG ? 'l' : code == T_C_DOUBLE ? 'd' : code == T_PY_OBJECT ? 'O' : '\0';
}

// Spells `arg_types` (at most `most` of them) and `ret_type`. 1, or 0 when a code is unknown, there
// are more arguments, or the function is missing.
static inline int PyTypedMethod_Internal_Spell(const int *arg_types, int most, int ret_type,
                                               void *function, PyNativeCallableEntry *entry,
                                               char signature[PyTypedMethod_PYPY_LENGTH]) {
  int nargs = 0;
  if (function == NULL || arg_types == NULL) return 0;
  for (; arg_types[nargs] != -1; ++nargs) {
    if (nargs == most) return 0;
    signature[nargs] = PyTypedMethod_Internal_Letter(arg_types[nargs]);
    if (signature[nargs] == '\0') return 0;
  }
  // INT_MIN has no positive counterpart; no code is anywhere near it.
  const int raises = ret_type < 0 && ret_type > -PyTypedMethod_NOT_FOR_PYPY;
  const char result = PyTypedMethod_Internal_Letter(raises ? -ret_type : ret_type);
  if (result == '\0') return 0;
  signature[nargs] = '-';
  signature[nargs + 1] = '>';
  signature[nargs + 2] = result;
  signature[nargs + 3] = '\0';
  entry->signature = signature;
  entry->funcptr = function;
  // PyPy keeps the GIL around the call, so the function may count on it.
  entry->flags = PyNativeCallable_NEEDS_THREAD;
  if (raises) entry->flags |= PyNativeCallable_MAY_RAISE;
  if (raises && result == 'd') entry->flags |= PyNativeCallable_ERROR_IS_NEG_ZERO;
  return 1;
}

/// Reads PyPy's struct: with METH_TYPED alone, or behind a valid header of ours. Fills `entry`,
/// whose signature is written to `signature` and lives as long as that. Returns 1, or 0 when the
/// def is not tagged so or its codes are unknown; it is then called boxed.
static inline int PyTypedMethod_ReadPyPy(const PyMethodDef *def, PyNativeCallableEntry *entry,
                                         char signature[PyTypedMethod_PYPY_LENGTH]) {
  if (def == NULL || def->ml_name == NULL || (def->ml_flags & METH_TYPED) == 0) return 0;
  if ((def->ml_flags & METH_TYPED_EXT) != 0 && PyTypedMethod_Metadata(def) == NULL) return 0;
  const char *start = def->ml_name - offsetof(PyPyTypedMethodMetadata, ml_name);
  if ((uintptr_t)start % sizeof(void *) != 0) return 0;
  const PyPyTypedMethodMetadata *metadata = (const PyPyTypedMethodMetadata *)(const void *)start;
  const int convention = PyTypedMethod_Internal_Convention(def);
  if (convention == 0 || metadata->arg_types == NULL) return 0;
  if (convention == METH_O) {
    if (metadata->arg_types[0] == -1 || metadata->arg_types[1] != -1) return 0;
  }
  return PyTypedMethod_Internal_Spell(metadata->arg_types, PyNativeSignature_MAX_ARGS,
                                      metadata->ret_type, metadata->underlying_func, entry,
                                      signature);
}

/// Reads the layout with one argument, for a consumer that knows that `def` has it: METH_TYPED
/// alone on a METH_O def. Otherwise as PyTypedMethod_ReadPyPy.
static inline int PyTypedMethod_ReadOneArg(const PyMethodDef *def, PyNativeCallableEntry *entry,
                                           char signature[PyTypedMethod_PYPY_LENGTH]) {
  const int bits = METH_TYPED | METH_TYPED_EXT;
  if (def == NULL || def->ml_name == NULL || (def->ml_flags & bits) != METH_TYPED) return 0;
  if (PyTypedMethod_Internal_Convention(def) != METH_O) return 0;
  const char *start = def->ml_name - offsetof(PyTypedMethod_OneArgMetadata, ml_name);
  if ((uintptr_t)start % sizeof(void *) != 0) return 0;
  const PyTypedMethod_OneArgMetadata *metadata =
      (const PyTypedMethod_OneArgMetadata *)(const void *)start;
  const int arg_types[2] = {metadata->arg_type, -1};
  if (metadata->arg_type == -1) return 0;
  return PyTypedMethod_Internal_Spell(arg_types, 1, metadata->ret_type, metadata->underlying_func,
                                      entry, signature);
}

// --- Writing a row by hand -----------------------------------------------------------------------
//
//   static long inc_impl(long x) { return x + 1; }
//   static PyObject *inc(PyObject *module, PyObject *x);   // the boxed wrapper, by hand
//   PyTypedMethod_DEFINE(inc_typed, "inc", {"l->l", 0, (void *)inc_impl});
//   static PyMethodDef methods[] = {
//       PyTypedMethod_ROW(inc_typed, inc, METH_O, "Add one."), {NULL, NULL, 0, NULL}};
//   static const PyTypedMethodMetadata *const typed[] = {&inc_typed, NULL};
//   // in the module's Py_mod_exec function (typedcall/tag.h):
//   return PyTypedMethod_AddTags(module, methods, typed);
//
// The same for an array in Py_tp_methods, with the type instead of the module once it is made.
// Class and static methods and all calling conventions are written as usual.
// typedcall/typed_entry.h has entries whose function the compiler checks, typedcall/tag_array.h
// tags rows that exist already.

/// The flag bits that rows get. CPython from 3.11 on compares `ml_flags` for equality where it
/// specialises calls, so a bit that it does not know costs every call up to a third: rows have none
/// there and are found in the side table. Define it as 0x3000 before the first include to have the
/// bits all the same, or as 0.
#ifndef PyTypedMethod_FLAGS
#if PY_VERSION_HEX >= 0x030B0000
#define PyTypedMethod_FLAGS 0
#else
#define PyTypedMethod_FLAGS (METH_TYPED | METH_TYPED_EXT)
#endif
#endif

/// Defines the static metadata `variable` for a row called `name` (a literal of at most 99 bytes; a
/// longer one does not compile) with the given PyNativeCallableEntry initialisers as overloads.
#define PyTypedMethod_DEFINE(variable, name, ...)                                            \
  PyTypedMethod_DEFINE_PYPY(variable, name, PyTypedMethod_CODES(PyTypedMethod_NOT_FOR_PYPY), \
                            PyTypedMethod_NOT_FOR_PYPY, NULL, __VA_ARGS__)

/// PyPy's codes of the arguments, at least one; for a function without any, {-1} does the same.
#define PyTypedMethod_CODES(...) \
  { __VA_ARGS__, -1 }

/// The same with PyPy's own fields: `arg_codes` is PyTypedMethod_CODES(T_C_LONG, ...), `ret_code` a
/// T_* code, negated if the function may raise; `function` is called by PyPy.
#define PyTypedMethod_DEFINE_PYPY(variable, name, arg_codes, ret_code, function, ...)              \
  PyTypedcall_STATIC_ASSERT(sizeof(name) <= sizeof(((PyPyTypedMethodMetadata *)0)->ml_name),       \
                            the_name_of_##variable##_has_at_most_99_bytes);                        \
  static const PyNativeCallableEntry variable##_entries[] __attribute__((unused)) = {__VA_ARGS__}; \
  static const struct {                                                                            \
    Py_ssize_t count;                                                                              \
    PyNativeCallableEntry entries[sizeof(variable##_entries) / sizeof(PyNativeCallableEntry)];     \
  } variable##_table = {sizeof(variable##_entries) / sizeof(PyNativeCallableEntry),                \
                        {__VA_ARGS__}};                                                            \
  static int variable##_arg_codes[] = arg_codes;                                                   \
  static const PyTypedMethodMetadata variable                                                      \
      __attribute__((unused)) = {NULL,                                                             \
                                 (const PyNativeCallableTable *)(const void *)&variable##_table,   \
                                 PyTypedMethod_SIZE,                                               \
                                 PyTypedMethod_ABI_MAJOR,                                          \
                                 PyTypedMethod_ABI_MINOR,                                          \
                                 PyTypedMethod_MAGIC,                                              \
                                 {variable##_arg_codes, ret_code, (void *)(function), name}}

/// A PyMethodDef initialiser whose name is the metadata's; `flags` are the ordinary METH_* ones.
#define PyTypedMethod_ROW(variable, wrapper, flags, doc)             \
  {                                                                  \
    (variable).pypy.ml_name, (PyCFunction)(void (*)(void))(wrapper), \
        (flags) | PyTypedMethod_FLAGS, doc                           \
  }

// --- Sibling symbols -----------------------------------------------------------------------------

/// What a sibling symbol `_PyPyTyped_<name>` is: whose table it is, and the table. It needs neither
/// flag bits nor the side table, and readers compare the address of the def, so that a symbol is
/// never taken for another function's. typedcall/sibling_symbol.h reads it.
typedef struct PyTypedMethod_Sibling {
  const PyMethodDef *def;
  const PyNativeCallableTable *table;
} PyTypedMethod_Sibling;

#ifdef __cplusplus
#define PyTypedMethod_Internal_SYMBOL extern "C"
#else
#define PyTypedMethod_Internal_SYMBOL extern
#endif

/// Defines the sibling symbol of `row`, an element of a static array that is called `name` (no
/// quotes), with the table of the metadata `variable`: PyTypedMethod_SIBLING(inc, methods[0],
/// inc_typed). To stand at file scope, behind the array, outside of C++ namespaces. It is exported
/// whatever -fvisibility says, but not past a linker's version script. One name a shared object:
/// two types of a module cannot both have it.
#define PyTypedMethod_SIBLING(name, row, variable)                        \
  PyTypedMethod_Internal_SYMBOL __attribute__((visibility("default")))    \
  const PyTypedMethod_Sibling _PyPyTyped_##name;                          \
  const PyTypedMethod_Sibling _PyPyTyped_##name __attribute__((used)) = { \
      &(row), (const PyNativeCallableTable *)(const void *)&variable##_table}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TYPED_METHOD_H_
// ---- typedcall/tag.h, continued

#ifdef __cplusplus
extern "C" {
#endif

// A tag is a promise, like a ctypes prototype: if the address is not a function of that signature,
// calls through it crash. Everything else about a tag is checked here.

// Has the class of a result an error value? docs/ABI.md, section 3, MAY_RAISE.
static inline int PyNativeCallable_Internal_HasErrorValue(PyNativeType result) {
  const enum PyNativeKind kind = PyNativeType_Kind(result);
  return kind != PyNativeKind_VOID && kind != PyNativeKind_BOOL && kind != PyNativeKind_COMPLEX;
}

/// Is this a table that may be offered? Returns 0, or -1 with ValueError that says what is wrong
/// (for a signature: where) in the table of the callable called `name`. GIL: held.
static inline int PyNativeCallable_CheckTable(const PyNativeCallableTable *table,
                                              const char *name) {
  if (table == NULL || table->count < 1) {
    PyErr_Format(PyExc_ValueError, "%.100s: a tag needs at least one entry", name);
    return -1;
  }
  // By pointer: what is indexed as an array of one has one element for some compilers' options.
  const PyNativeCallableEntry *entry = table->entries;
  for (Py_ssize_t i = 0; i < table->count; ++i, ++entry) {
    PyNativeSignature parsed;
    PyNativeSignature_Fault fault;
    if (entry->signature == NULL || entry->funcptr == NULL) {
      PyErr_Format(PyExc_ValueError, "%.100s: entry %zd has no signature or no function", name, i);
      return -1;
    }
    if (PyNativeSignature_ParseString(entry->signature, &parsed, &fault) < 0) {
      PyErr_Format(PyExc_ValueError, "%.100s: signature '%.200s' at position %zu: %s", name,
                   entry->signature, fault.position, fault.reason);
      return -1;
    }
    if (!PyNativeCallable_FlagsAreUsable(entry->flags)) {
      PyErr_Format(PyExc_ValueError, "%.100s: entry '%.200s' has unusable flags %p", name,
                   entry->signature, (void *)entry->flags);
      return -1;
    }
    if ((entry->flags & PyNativeCallable_MAY_RAISE) != 0 &&
        (entry->flags & PyNativeCallable_RETURNS_STATUS) == 0 &&
        !PyNativeCallable_Internal_HasErrorValue(parsed.result)) {
      PyErr_Format(PyExc_ValueError,
                   "%.100s: entry '%.200s' may raise, but its result cannot say so; "
                   "report errors by status (RETURNS_STATUS)",
                   name, entry->signature);
      return -1;
    }
  }
  return 0;
}

/// Do two tables say the same: signatures, flags and addresses, in the same order? GIL: none.
static inline int PyNativeCallable_TablesAreEqual(const PyNativeCallableTable *a,
                                                  const PyNativeCallableTable *b) {
  if (a->count != b->count) return 0;
  const PyNativeCallableEntry *x = a->entries, *y = b->entries;
  for (Py_ssize_t i = 0; i < a->count; ++i, ++x, ++y) {
    if (x->flags != y->flags || x->funcptr != y->funcptr) return 0;
    if (strcmp(x->signature, y->signature) != 0) return 0;
  }
  return 1;
}

static inline void PyNativeCallable_Internal_SetConflict(const char *name,
                                                         const PyNativeCallableTable *other,
                                                         const PyNativeCallableTable *table) {
  PyErr_Format(PyExc_ValueError,
               "%.100s is tagged already: '%.100s' (%zd overloads, first at %p) stands, "
               "'%.100s' (%zd overloads, first at %p) was offered",
               name, other->entries[0].signature, other->count, other->entries[0].funcptr,
               table->entries[0].signature, table->count, table->entries[0].funcptr);
}

static inline int PyNativeCallable_Internal_AreEqual(const void *a, const void *b) {
  return PyNativeCallable_TablesAreEqual((const PyNativeCallableTable *)a,
                                         (const PyNativeCallableTable *)b);
}

// 1 when the table was taken, 0 when an equal one stands already, -1 with ValueError for a conflict
// or what the interface's publish raises.
static inline int PyNativeCallable_Internal_Publish(const PyTypedcall_Interface *interface,
                                                    int space, const void *key, PyObject *owner,
                                                    const char *name,
                                                    const PyNativeCallableTable *table,
                                                    void (*destroy)(const void *value)) {
  if (PyNativeCallable_CheckTable(table, name) < 0) return -1;
  const void *standing = interface->publish(interface->state, space, key, owner, table,
                                            PyNativeCallable_Internal_AreEqual, destroy);
  if (standing == NULL) return -1;
  if (standing == table) return 1;
  const PyNativeCallableTable *other = (const PyNativeCallableTable *)standing;
  if (PyNativeCallable_TablesAreEqual(other, table)) return 0;
  PyNativeCallable_Internal_SetConflict(name, other, table);
  return -1;
}

/// Publishes `table` for `def` while `owner` lives: the module or type whose array holds the def,
/// or the function object when the def was allocated for it alone. Nothing is written to the def.
/// `table` must outlive the owner; `destroy` (may be NULL) is called when it is no longer needed. A
/// table that was untagged is not to be tagged again with a `destroy`: it would be called twice.
///
/// Returns 1: taken. 0: an equal tag stands already (it now lives as long as this owner, too); the
/// caller keeps `table`. -1: ValueError for a NULL def or name, a faulty table, or a different tag
/// standing (both are named); TypeError when `owner` has no weak references; MemoryError. GIL:
/// held.
static inline int PyTypedMethod_TagDef(const PyTypedcall_Interface *interface,
                                       const PyMethodDef *def, PyObject *owner,
                                       const PyNativeCallableTable *table,
                                       void (*destroy)(const void *value)) {
  if (def == NULL || def->ml_name == NULL) {
    PyErr_SetString(PyExc_ValueError, "typedcall: a def without a name cannot be tagged");
    return -1;
  }
  const PyNativeCallableTable *behind_name = PyTypedMethod_Table(def);
  if (behind_name != NULL) {
    if (PyNativeCallable_CheckTable(table, def->ml_name) < 0) return -1;
    if (PyNativeCallable_TablesAreEqual(behind_name, table)) return 0;
    PyNativeCallable_Internal_SetConflict(def->ml_name, behind_name, table);
    return -1;
  }
  return PyNativeCallable_Internal_Publish(interface, PyTypedcall_BY_DEF, def, owner, def->ml_name,
                                           table, destroy);
}

/// Publishes `table` for one object, for callables without a PyMethodDef. An object without weak
/// references is kept alive until it is untagged. Otherwise as PyTypedMethod_TagDef. GIL: held.
static inline int PyNativeCallable_TagObject(const PyTypedcall_Interface *interface,
                                             PyObject *object, const PyNativeCallableTable *table,
                                             void (*destroy)(const void *value)) {
  return PyNativeCallable_Internal_Publish(interface, PyTypedcall_BY_OBJECT, object, object,
                                           Py_TYPE(object)->tp_name, table, destroy);
}

/// Takes the tag of a def away, whoever owns it. 1, or 0 when there is none. Never fails; the table
/// is kept until the interpreter ends, because somebody may be reading it. GIL: held.
static inline int PyTypedMethod_UntagDef(const PyTypedcall_Interface *interface,
                                         const PyMethodDef *def) {
  return interface->retract(interface->state, PyTypedcall_BY_DEF, def);
}

/// The same for an object, which is let go if its tag kept it alive. GIL: held.
static inline int PyNativeCallable_UntagObject(const PyTypedcall_Interface *interface,
                                               PyObject *object) {
  return interface->retract(interface->state, PyTypedcall_BY_OBJECT, object);
}

/// The def of a builtin function, bound or not, or of a method or class method as its type has it
/// (`list.append`, `dict.__dict__['fromkeys']`), borrowed; NULL without an exception for anything
/// else. GIL: held.
static inline PyMethodDef *PyTypedMethod_DefOf(PyObject *callable) {
  // Exactly these types: PyPy's look-alikes have no def where CPython's have one.
  const PyTypeObject *type = Py_TYPE(callable);
  if (type == &PyCFunction_Type || type == &PyCMethod_Type) {
    return ((PyCFunctionObject *)callable)->m_ml;
  }
  if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type) {
    return ((PyMethodDescrObject *)callable)->d_method;
  }
  return NULL;
}

// The class that `type` has the row `def` from, by its name; NULL without an exception if that name
// leads elsewhere. Borrowed; runs no Python code.
static inline PyObject *PyTypedMethod_Internal_ClassOf(PyTypeObject *type, const PyMethodDef *def) {
  PyObject *name = PyUnicode_FromString(def->ml_name);
  PyObject *found = name != NULL ? _PyType_Lookup(type, name) : NULL;
  Py_XDECREF(name);
  PyErr_Clear();
  if (found == NULL) return NULL;
  if (Py_TYPE(found) == &PyMethodDescr_Type || Py_TYPE(found) == &PyClassMethodDescr_Type) {
    const PyMethodDescrObject *descriptor = (PyMethodDescrObject *)found;
    return descriptor->d_method == def ? (PyObject *)PyDescr_TYPE(descriptor) : NULL;
  }
  return NULL;
}

// Whose death means that the def of a builtin function is gone, as far as one can know.
static inline PyObject *PyTypedMethod_Internal_OwnerOf(PyObject *function, const PyMethodDef *def) {
  PyObject *self = ((PyCFunctionObject *)function)->m_self, *owner = NULL;
  if (self == NULL) return function;
  if (PyModule_Check(self)) return self;
  if (PyType_Check(self)) {
    // A static method's self is the class that has the row.
    owner = (def->ml_flags & METH_STATIC) != 0
                ? self
                : PyTypedMethod_Internal_ClassOf((PyTypeObject *)self, def);
  }
  if (owner == NULL) owner = PyTypedMethod_Internal_ClassOf(Py_TYPE(self), def);
  return owner != NULL ? owner : function;
}

/// Publishes `table` for the def that PyTypedMethod_DefOf finds, from outside. The
/// tag's owner is the module of a module's function, and the class of a method, bound or not
/// (`list.append`, `[].append`, `dict.fromkeys`); a function that neither can be found for is its
/// own owner. Returns as PyTypedMethod_TagDef; TypeError for any other kind of object. GIL: held.
static inline int PyTypedMethod_TagCallable(const PyTypedcall_Interface *interface,
                                            PyObject *callable, const PyNativeCallableTable *table,
                                            void (*destroy)(const void *value)) {
  PyMethodDef *def = PyTypedMethod_DefOf(callable);
  if (def == NULL) {
    PyErr_Format(PyExc_TypeError, "'%.100s' objects have no PyMethodDef to tag",
                 Py_TYPE(callable)->tp_name);
    return -1;
  }
  const int is_function =
      Py_TYPE(callable) == &PyCFunction_Type || Py_TYPE(callable) == &PyCMethod_Type;
  PyObject *owner = is_function ? PyTypedMethod_Internal_OwnerOf(callable, def)
                                : (PyObject *)((PyDescrObject *)callable)->d_type;
  return PyTypedMethod_TagDef(interface, def, owner, table, destroy);
}

// Do PyPy's fields, when they are filled in, say what one of the entries says? How the function
// reports an exception and whether it takes self must be the same, too: PyPy calls it either way.
static inline int PyTypedMethod_Internal_CheckPyPy(const PyTypedMethodMetadata *metadata) {
  PyNativeCallableEntry entry;
  char signature[PyTypedMethod_PYPY_LENGTH];
  const uintptr_t protocol = PyNativeCallable_MAY_RAISE | PyNativeCallable_ERROR_IS_NEG_ZERO |
                             PyNativeCallable_RETURNS_STATUS | PyNativeCallable_TAKES_SELF;
  const PyPyTypedMethodMetadata *pypy = &metadata->pypy;
  if (pypy->arg_types == NULL || pypy->arg_types[0] == PyTypedMethod_NOT_FOR_PYPY) return 0;
  if (PyTypedMethod_Internal_Spell(pypy->arg_types, PyNativeSignature_MAX_ARGS, pypy->ret_type,
                                   pypy->underlying_func, &entry, signature)) {
    const PyNativeCallableEntry *offered = metadata->table->entries;
    for (Py_ssize_t i = 0; i < metadata->table->count; ++i, ++offered) {
      if (offered->funcptr == entry.funcptr && strcmp(offered->signature, signature) == 0 &&
          ((offered->flags ^ entry.flags) & protocol) == 0) {
        return 0;
      }
    }
  }
  PyErr_Format(PyExc_ValueError, "%.100s: PyPy's type codes contradict the entries", pypy->ml_name);
  return -1;
}

/// Tags the rows of `defs` that were written with PyTypedMethod_ROW, or changed by
/// typedcall/tag_array.h; `typed` lists their metadata and ends with NULL. To be called when
/// `owner`, a module or a type, is executed or made; calling it for every module or type object
/// made from the same array is right. Rows with flag bits need no side table and are only checked.
///
/// Returns 0, or -1: ValueError as PyTypedMethod_TagDef, SystemError when no row has the name that
/// a metadata struct holds, ImportError as PyTypedcall_Import. GIL: held.
static inline int PyTypedMethod_AddTags(PyObject *owner, const PyMethodDef *defs,
                                        const PyTypedMethodMetadata *const *typed) {
  const PyTypedcall_Interface *interface = NULL;  // until a row wants it
  for (; *typed != NULL; ++typed) {
    const PyTypedMethodMetadata *metadata = *typed;
    const PyMethodDef *def = defs;
    while (def->ml_name != NULL && def->ml_name != metadata->pypy.ml_name) ++def;
    if (def->ml_name == NULL) {
      PyErr_Format(PyExc_SystemError, "no row of the method table uses the metadata of '%.99s'",
                   metadata->pypy.ml_name);
      return -1;
    }
    if (PyNativeCallable_CheckTable(metadata->table, def->ml_name) < 0) return -1;
    if (PyTypedMethod_Internal_CheckPyPy(metadata) < 0) return -1;
    if (PyTypedMethod_Table(def) == metadata->table) continue;
    if (interface == NULL && (interface = PyTypedcall_Import()) == NULL) return -1;
    if (PyTypedMethod_TagDef(interface, def, owner, metadata->table, NULL) < 0) return -1;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_H_
// ---- typedcall/tag_array.h, continued

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// For code that is generated, or that is not to be touched line by line:
//
//   static PyMethodDef methods[] = {{"inc", inc, METH_O, "Add one."}, {NULL, NULL, 0, NULL}};
//
//   PyTypedMethod_DEFINE(inc_typed, "inc", {"l->l", 0, (void *)inc_impl});
//   static const PyTypedMethodMetadata *const typed[] = {&inc_typed, NULL};
//
//   PyMODINIT_FUNC PyInit_example(void) {
//     if (PyTypedMethod_TagRows(methods, typed) < 0) return NULL;
//     return PyModuleDef_Init(&definition);  // its Py_mod_exec calls PyTypedMethod_AddTags
//   }

// Is this metadata as PyTypedMethod_DEFINE makes it? Returns 0, or -1 with ValueError.
static inline int PyTypedMethod_Internal_CheckMetadata(const PyTypedMethodMetadata *metadata) {
  if (metadata == NULL || metadata->magic != PyTypedMethod_MAGIC ||
      metadata->abi_major != PyTypedMethod_ABI_MAJOR || metadata->size < PyTypedMethod_SIZE_1_0) {
    PyErr_SetString(PyExc_ValueError, "typedcall: these metadata are not of version 1");
    return -1;
  }
  // In C a literal of 100 bytes fits into the field without its NUL.
  const char *name = metadata->pypy.ml_name;
  if (memchr(name, '\0', sizeof(metadata->pypy.ml_name)) == NULL) {
    PyErr_Format(PyExc_ValueError, "%.99s...: the name in metadata has more than 99 bytes", name);
    return -1;
  }
  if (PyNativeCallable_CheckTable(metadata->table, name) < 0) return -1;
  return PyTypedMethod_Internal_CheckPyPy(metadata);
}

// Can `row` have these metadata? Returns 1, 0 when it has them or equal ones, or -1 with an
// exception.
static inline int PyTypedMethod_Internal_CheckRow(const PyMethodDef *row,
                                                  const PyTypedMethodMetadata *metadata) {
  if (row == NULL || row->ml_name == NULL) {
    PyErr_SetString(PyExc_ValueError, "typedcall: a def without a name cannot be tagged");
    return -1;
  }
  if (PyTypedMethod_Internal_CheckMetadata(metadata) < 0) return -1;
  const char *name = metadata->pypy.ml_name;
  if (row->ml_name != name && strcmp(row->ml_name, name) != 0) {
    PyErr_Format(PyExc_ValueError, "row '%.100s' cannot have the metadata of '%.99s'", row->ml_name,
                 name);
    return -1;
  }
  if (row->ml_name == name) return (row->ml_flags | PyTypedMethod_FLAGS) != row->ml_flags;
  const PyNativeCallableTable *standing = PyTypedMethod_Table(row);
  if (standing != NULL) {
    if (PyNativeCallable_TablesAreEqual(standing, metadata->table)) return 0;
    PyNativeCallable_Internal_SetConflict(name, standing, metadata->table);
    return -1;
  }
  if ((row->ml_flags & METH_TYPED) != 0) {
    PyErr_Format(PyExc_ValueError, "%.99s is tagged already, in a layout that is not ours", name);
    return -1;
  }
  return 1;
}

// After CheckRow. What is there already is not written again: another interpreter may be reading.
static inline void PyTypedMethod_Internal_ChangeRow(PyMethodDef *row,
                                                    const PyTypedMethodMetadata *metadata) {
  // The name first: whoever sees the bits looks in front of it.
  if (row->ml_name != metadata->pypy.ml_name) row->ml_name = metadata->pypy.ml_name;
  const int flags = row->ml_flags | PyTypedMethod_FLAGS;
  if (row->ml_flags != flags) PyTypedcall_STORE_RELEASE(&row->ml_flags, flags);
}

/// Makes `row`, an element of the caller's own array, one that carries `metadata`, as
/// PyTypedMethod_ROW would have written it: the name is replaced by the equal one in the metadata,
/// and the flag bits are added where rows have them (PyTypedMethod_FLAGS). To be called before the
/// functions are made, so in PyInit_* or in front of PyType_FromSpec; doing it again changes
/// nothing. `metadata` must live as long as the row. Where rows have no flag bits,
/// PyTypedMethod_AddTags is to follow, as for any row.
///
/// Returns 0, or -1 with ValueError, and then nothing has changed: a NULL row or name, metadata
/// that are not of version 1 or whose name has more than 99 bytes, a row of another name, a faulty
/// table, or other metadata that the row carries already. GIL: held.
static inline int PyTypedMethod_TagRow(PyMethodDef *row, const PyTypedMethodMetadata *metadata) {
  const int wanted = PyTypedMethod_Internal_CheckRow(row, metadata);
  if (wanted > 0) PyTypedMethod_Internal_ChangeRow(row, metadata);
  return wanted < 0 ? -1 : 0;
}

// The row of `rows` that is to have the metadata; NULL with an exception when none can.
static inline PyMethodDef *PyTypedMethod_Internal_RowFor(PyMethodDef *rows,
                                                         const PyTypedMethodMetadata *metadata) {
  if (PyTypedMethod_Internal_CheckMetadata(metadata) < 0) return NULL;
  PyMethodDef *row = rows;
  while (row->ml_name != NULL && strcmp(row->ml_name, metadata->pypy.ml_name) != 0) ++row;
  if (row->ml_name == NULL) {
    PyErr_Format(PyExc_SystemError, "no row of the method table is called '%.99s'",
                 metadata->pypy.ml_name);
    return NULL;
  }
  return PyTypedMethod_Internal_CheckRow(row, metadata) < 0 ? NULL : row;
}

/// The same for every element of `typed`, which ends with NULL: each goes to the first row of its
/// name in `rows`, an array that ends with a NULL name. All rows are changed, or none.
///
/// Returns 0, or -1: as PyTypedMethod_TagRow, SystemError when no row has the name, and ValueError
/// when two of `typed` want the same row. GIL: held.
static inline int PyTypedMethod_TagRows(PyMethodDef *rows,
                                        const PyTypedMethodMetadata *const *typed) {
  for (Py_ssize_t i = 0; typed[i] != NULL; ++i) {
    if (PyTypedMethod_Internal_RowFor(rows, typed[i]) == NULL) return -1;
    for (Py_ssize_t before = 0; before < i; ++before) {
      if (strcmp(typed[before]->pypy.ml_name, typed[i]->pypy.ml_name) != 0) continue;
      PyErr_Format(PyExc_ValueError, "row '%.99s' is named by two metadata",
                   typed[i]->pypy.ml_name);
      return -1;
    }
  }
  for (; *typed != NULL; ++typed) {
    PyMethodDef *row = PyTypedMethod_Internal_RowFor(rows, *typed);
    if (row == NULL || PyTypedMethod_TagRow(row, *typed) < 0) return -1;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_ARRAY_H_
// ---- typedcall/typed_entry.h
// PyTypedMethod_ENTRY: a table entry whose C function the compiler checks. The signature's text is
// made from the names of codes, and so is the type that the function must have, in C and in C++.
#ifndef TYPEDCALL_TYPED_ENTRY_H_
#define TYPEDCALL_TYPED_ENTRY_H_

// {"dl->d", 0, (void *)f} is a promise that no compiler can check. This one does not compile when
// `f` is anything else than `double f(double, long)`:
//
//   PyTypedMethod_DEFINE(f_typed, "f", PyTypedMethod_ENTRY(0, f_impl, DOUBLE, DOUBLE, LONG));
//
// The names are those of typedcall/type_codes.h, result first, as in C:
//
//   VOID BOOL SCHAR UCHAR SHORT USHORT INT UINT LONG ULONG LONGLONG ULONGLONG SSIZE SIZE
//   FLOAT DOUBLE LONGDOUBLE CFLOAT CDOUBLE CLONGDOUBLE POINTER STRING OBJECT
//
// TO(DOUBLE) is `double *` and TO_CONST(DOUBLE) `const double *`, both "&d" in the text. OBJECT is
// `PyObject *`, POINTER `void *`, STRING `const char *`, SSIZE `Py_ssize_t`.

/// An initialiser for a PyNativeCallableEntry: flags, function, result, and up to 12 arguments. For
/// more of them write the entry without a check.
#define PyTypedMethod_ENTRY(flags, function, ...) \
  PyTypedMethod_Internal_ENTRY(                   \
      flags, function, PyTypedMethod_Internal_FUNCTION(PARAMETERS_, __VA_ARGS__), __VA_ARGS__)

/// The same for a function that takes `PyObject *self` first, which the names do not show: the flag
/// TAKES_SELF is added.
#define PyTypedMethod_ENTRY_WITH_SELF(flags, function, ...)                             \
  PyTypedMethod_Internal_ENTRY((flags) | PyNativeCallable_TAKES_SELF, function,         \
                               PyTypedMethod_Internal_FUNCTION(SELF_AND_, __VA_ARGS__), \
                               __VA_ARGS__)

// The text of each code again, because the preprocessor can join literals only, and only what a
// macro of that name stands for; a test holds it against the list.
#define PyTypedMethod_Internal_TEXT_VOID "v"
#define PyTypedMethod_Internal_TEXT_BOOL "?"
#define PyTypedMethod_Internal_TEXT_SCHAR "b"
#define PyTypedMethod_Internal_TEXT_UCHAR "B"
#define PyTypedMethod_Internal_TEXT_SHORT "h"
#define PyTypedMethod_Internal_TEXT_USHORT "H"
#define PyTypedMethod_Internal_TEXT_INT "i"
#define PyTypedMethod_Internal_TEXT_UINT "I"
#define PyTypedMethod_Internal_TEXT_LONG "l"
#define PyTypedMethod_Internal_TEXT_ULONG "L"
#define PyTypedMethod_Internal_TEXT_LONGLONG "q"
#define PyTypedMethod_Internal_TEXT_ULONGLONG "Q"
#define PyTypedMethod_Internal_TEXT_SSIZE "n"
#define PyTypedMethod_Internal_TEXT_SIZE "N"
#define PyTypedMethod_Internal_TEXT_FLOAT "f"
#define PyTypedMethod_Internal_TEXT_DOUBLE "d"
#define PyTypedMethod_Internal_TEXT_LONGDOUBLE "g"
#define PyTypedMethod_Internal_TEXT_CFLOAT "Zf"
#define PyTypedMethod_Internal_TEXT_CDOUBLE "Zd"
#define PyTypedMethod_Internal_TEXT_CLONGDOUBLE "Zg"
#define PyTypedMethod_Internal_TEXT_POINTER "P"
#define PyTypedMethod_Internal_TEXT_STRING "s"
#define PyTypedMethod_Internal_TEXT_OBJECT "O"
#define PyTypedMethod_Internal_TEXT_TO(NAME) "&" PyTypedMethod_Internal_TEXT_##NAME
#define PyTypedMethod_Internal_TEXT_TO_CONST(NAME) "&" PyTypedMethod_Internal_TEXT_##NAME

// The C type of each code.
#define PyTypedMethod_Internal_ROW(NAME, LETTERS, TYPE, KIND) \
  typedef TYPE PyTypedMethod_Internal_TYPE_##NAME;
PyNativeType_LIST(PyTypedMethod_Internal_ROW)
#undef PyTypedMethod_Internal_ROW
#define PyTypedMethod_Internal_TYPE_TO(NAME) PyTypedMethod_Internal_TYPE_##NAME *
#define PyTypedMethod_Internal_TYPE_TO_CONST(NAME) const PyTypedMethod_Internal_TYPE_##NAME *

#ifdef __cplusplus
#define PyTypedMethod_Internal_ENTRY(flags, function, type, ...)                    \
  {                                                                                 \
    PyTypedMethod_Internal_TEXT(__VA_ARGS__), (uintptr_t)(flags),                   \
        reinterpret_cast<void *>(static_cast<type>(function)) /* checks the type */ \
  }
#else
// A field of negative width does not compile, and its name is in the message.
#define PyTypedMethod_Internal_ENTRY(flags, function, type, ...)                                  \
  {                                                                                               \
    PyTypedMethod_Internal_TEXT(__VA_ARGS__),                                                     \
        (uintptr_t)(flags) + 0 * sizeof(struct {                                                  \
                               int the_function_has_not_the_type_that_its_codes_say               \
                                   : __builtin_types_compatible_p(__typeof__(&*(function)), type) \
                                     ? 1                                                          \
                                     : -1;                                                        \
                             }),                                                                  \
        (void *)(function)                                                                        \
  }
#endif

// How many codes there are, without the result: 0 to 12.
#define PyTypedMethod_Internal_COUNT(...) \
  PyTypedMethod_Internal_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, _)
#define PyTypedMethod_Internal_COUNT_(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, \
                                      count, ...)                                            \
  count
#define PyTypedMethod_Internal_FIRST(...) PyTypedMethod_Internal_FIRST_(__VA_ARGS__, _)
#define PyTypedMethod_Internal_FIRST_(first, ...) first
#define PyTypedMethod_Internal_JOIN(a, b) PyTypedMethod_Internal_JOIN_(a, b)
#define PyTypedMethod_Internal_JOIN_(a, b) a##b
#define PyTypedMethod_Internal_LETTERS(name) PyTypedMethod_Internal_TEXT_##name
#define PyTypedMethod_Internal_TYPE(name) PyTypedMethod_Internal_TYPE_##name
#define PyTypedMethod_Internal_TEXT(...)                     \
  PyTypedMethod_Internal_JOIN(PyTypedMethod_Internal_SPELL_, \
                              PyTypedMethod_Internal_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define PyTypedMethod_Internal_FUNCTION(shape, ...)                            \
  PyTypedMethod_Internal_TYPE_(PyTypedMethod_Internal_FIRST(__VA_ARGS__)) (*)( \
      PyTypedMethod_Internal_JOIN(PyTypedMethod_Internal_##shape,              \
                                  PyTypedMethod_Internal_COUNT(__VA_ARGS__))(__VA_ARGS__))
#define PyTypedMethod_Internal_TYPE_(name) PyTypedMethod_Internal_TYPE(name)

// The text of a signature with so many arguments; `r` is the result.
#define PyTypedMethod_Internal_SPELL_0(r) "->" PyTypedMethod_Internal_LETTERS(r)
#define PyTypedMethod_Internal_SPELL_1(r, a) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_0(r)
#define PyTypedMethod_Internal_SPELL_2(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_1(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_3(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_2(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_4(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_3(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_5(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_4(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_6(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_5(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_7(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_6(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_8(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_7(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_9(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_8(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_10(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_9(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_11(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_10(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_12(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_11(r, __VA_ARGS__)

// The parameters of its function.
#define PyTypedMethod_Internal_PARAMETERS_0(r) void
#define PyTypedMethod_Internal_PARAMETERS_1(r, a) PyTypedMethod_Internal_TYPE(a)
#define PyTypedMethod_Internal_PARAMETERS_2(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_1(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_3(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_2(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_4(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_3(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_5(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_4(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_6(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_5(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_7(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_6(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_8(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_7(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_9(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_8(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_10(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_9(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_11(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_10(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_12(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_11(r, __VA_ARGS__)

// The same behind self.
#define PyTypedMethod_Internal_SELF_AND_0(r) PyObject *
#define PyTypedMethod_Internal_SELF_AND_1(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_1(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_2(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_2(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_3(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_3(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_4(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_4(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_5(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_5(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_6(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_6(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_7(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_7(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_8(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_8(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_9(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_9(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_10(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_10(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_11(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_11(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_12(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_12(__VA_ARGS__)

#endif  // TYPEDCALL_TYPED_ENTRY_H_
// ---- core/foreign_slots.h
// Custom slots of types that cannot have our metaclass: builtins, numpy.ndarray, types of other
// binding libraries. Their tables stand in the interpreter's side table; PyCustomSlots_Find knows
// nothing of them, PyCustomSlots_FindAny does. Source: docs/ABI.md, sections 1 and 5.
#ifndef TYPEDCALL_CORE_FOREIGN_SLOTS_H_
#define TYPEDCALL_CORE_FOREIGN_SLOTS_H_

#ifdef __cplusplus
extern "C" {
#endif

/// The value of a row BY_TYPE, which has what was registered for that type, and of a row
/// MERGED_BY_TYPE, which has that and what the type inherits. Never changes.
typedef struct PyForeignSlots_Table {
  Py_ssize_t count;
  PyCustomSlot slots[1];  ///< `count` of them
} PyForeignSlots_Table;

static inline PyForeignSlots_Table *PyForeignSlots_Internal_New(Py_ssize_t room) {
  return (PyForeignSlots_Table *)PyTypedcall_RAW_CALLOC(
      1, offsetof(PyForeignSlots_Table, slots) + (size_t)room * sizeof(PyCustomSlot));
}

static inline void PyForeignSlots_Internal_Destroy(const void *table) {
  PyTypedcall_RAW_FREE((void *)(uintptr_t)table);
}

static inline const PyForeignSlots_Table *PyForeignSlots_Internal_Row(
    const PyTypedcall_Interface *interface, int space, PyTypeObject *type) {
  return (const PyForeignSlots_Table *)interface->find(interface->state, space, type);
}

static inline int PyForeignSlots_Internal_Equal(const PyForeignSlots_Table *left,
                                                const PyForeignSlots_Table *right) {
  return left != NULL && right != NULL && left->count == right->count &&
         memcmp(left->slots, right->slots, (size_t)left->count * sizeof(PyCustomSlot)) == 0;
}

// What `type` offers, seeing its MRO: the first type there that brings an ID wins, and the first
// with slots keeps its positions. A new table, empty when there is nothing; NULL without an
// exception when there is no memory or no MRO yet. Runs no Python code.
static inline PyForeignSlots_Table *PyForeignSlots_Internal_Merge(
    const PyTypedcall_Interface *interface, PyTypeObject *type) {
  PyObject *mro = PyTypedcall_Internal_Mro(type);
  if (mro == NULL) return NULL;
  Py_ssize_t most = 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(mro); ++i) {
    const PyForeignSlots_Table *row = PyForeignSlots_Internal_Row(
        interface, PyTypedcall_BY_TYPE, (PyTypeObject *)PyTuple_GetItem(mro, i));
    if (row != NULL) most += row->count;
  }
  PyForeignSlots_Table *merged = PyForeignSlots_Internal_New(most);
  for (Py_ssize_t i = 0; merged != NULL && i < PyTuple_Size(mro); ++i) {
    const PyForeignSlots_Table *row = PyForeignSlots_Internal_Row(
        interface, PyTypedcall_BY_TYPE, (PyTypeObject *)PyTuple_GetItem(mro, i));
    const int is_first = merged->count == 0;
    for (Py_ssize_t j = 0; row != NULL && j < row->count; ++j) {
      const uintptr_t id = row->slots[j].id;
      if (!is_first && (id == PyCustomSlot_ID_SKIP || PyExtensibleType_Internal_Position(
                                                          merged->slots, merged->count, id) >= 0)) {
        continue;
      }
      merged->slots[merged->count++] = row->slots[j];
    }
  }
  Py_DECREF(mro);
  return merged;
}

// Puts `table` where `standing` (may be NULL) was found. Returns 0, or -1 with an exception; it
// takes the table in any case. Callers look again afterwards: the first row of a type can run
// Python code, and with it whatever publishes another one, which then stands; later rows run none.
static inline int PyForeignSlots_Internal_Put(const PyTypedcall_Interface *interface, int space,
                                              PyTypeObject *type,
                                              const PyForeignSlots_Table *standing,
                                              PyForeignSlots_Table *table) {
  PyObject *owner = (PyObject *)type;
  int result;
  if (standing != NULL) {
    result = interface->replace(interface->state, space, type, owner, table,
                                PyForeignSlots_Internal_Destroy);
    if (result == 0) return 0;
  } else {
    const void *stands = interface->publish(interface->state, space, type, owner, table, NULL,
                                            PyForeignSlots_Internal_Destroy);
    if (stands == table) return 0;
    result = stands != NULL ? 0 : -1;
  }
  PyForeignSlots_Internal_Destroy(table);
  return result;
}

// Makes the merged row of `type` say what its MRO says now. Returns it, or NULL with an exception
// (without one if the type has no MRO yet). Valid while the type lives.
static inline const PyForeignSlots_Table *PyForeignSlots_Internal_Refresh(
    const PyTypedcall_Interface *interface, PyTypeObject *type) {
  for (;;) {
    PyForeignSlots_Table *merged = PyForeignSlots_Internal_Merge(interface, type);
    if (merged == NULL) {
      PyObject *mro = PyTypedcall_Internal_Mro(type);
      if (mro != NULL) PyErr_NoMemory();
      Py_XDECREF(mro);
      return NULL;
    }
    const PyForeignSlots_Table *standing =
        PyForeignSlots_Internal_Row(interface, PyTypedcall_MERGED_BY_TYPE, type);
    if (PyForeignSlots_Internal_Equal(standing, merged)) {
      PyForeignSlots_Internal_Destroy(merged);
      return standing;
    }
    if (PyForeignSlots_Internal_Put(interface, PyTypedcall_MERGED_BY_TYPE, type, standing, merged) <
        0) {
      return NULL;
    }
  }
}

// Refreshes the merged rows of `type` and of all classes derived from it; classes that nobody has
// looked at have none yet. Returns 0, or -1 with an exception.
static inline int PyForeignSlots_Internal_RefreshAll(const PyTypedcall_Interface *interface,
                                                     PyTypeObject *type) {
  if (PyForeignSlots_Internal_Refresh(interface, type) == NULL) return PyErr_Occurred() ? -1 : 0;
  PyObject *seen = PySet_New(NULL);  // addresses
  PyObject *types = seen != NULL ? PyList_New(0) : NULL;
  int result = types != NULL ? PyList_Append(types, (PyObject *)type) : -1;
  for (Py_ssize_t i = 0; result == 0 && i < PyList_Size(types); ++i) {
    // `type`'s own method: a metaclass may define another one.
    PyObject *derived = PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O",
                                            PyList_GetItem(types, i));
    if (derived == NULL) result = -1;
    for (Py_ssize_t j = 0; result == 0 && j < PyList_Size(derived); ++j) {
      PyTypeObject *subtype = (PyTypeObject *)PyList_GetItem(derived, j);
      PyObject *address = PyLong_FromVoidPtr(subtype);
      const int known = address != NULL ? PySet_Contains(seen, address) : -1;
      if (known < 0 || (known == 0 && (PySet_Add(seen, address) < 0 ||
                                       PyList_Append(types, (PyObject *)subtype) < 0))) {
        result = -1;
      } else if (known == 0 &&
                 PyForeignSlots_Internal_Row(interface, PyTypedcall_MERGED_BY_TYPE, subtype) &&
                 PyForeignSlots_Internal_Refresh(interface, subtype) == NULL) {
        result = PyErr_Occurred() ? -1 : 0;
      }
      Py_XDECREF(address);
    }
    Py_XDECREF(derived);
  }
  Py_XDECREF(types);
  Py_XDECREF(seen);
  return result;
}

// `standing` (may be NULL) and those of the new slots that it does not have: a new table, or NULL;
// then an exception is set if there is a conflict or no memory, and none if there is nothing new.
static inline PyForeignSlots_Table *PyForeignSlots_Internal_Add(
    PyTypeObject *type, const PyForeignSlots_Table *standing, const PyCustomSlot *slots,
    Py_ssize_t count) {
  const Py_ssize_t before = standing != NULL ? standing->count : 0;
  PyForeignSlots_Table *table = PyForeignSlots_Internal_New(before + count);
  if (table == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  table->count = before;
  if (before > 0) memcpy(table->slots, standing->slots, (size_t)before * sizeof(PyCustomSlot));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Py_ssize_t at = PyExtensibleType_Internal_Position(table->slots, before, slots[i].id);
    if (slots[i].id == PyCustomSlot_ID_SKIP) {
      // Positions are for the first who registers.
      if (before == 0) table->slots[table->count++] = slots[i];
    } else if (at < 0) {
      table->slots[table->count++] = slots[i];
    } else if (table->slots[at].data.flags != slots[i].data.flags) {
      char name[PyTypedcall_Internal_NAME_SIZE], id[2 + 2 * sizeof(uintptr_t) + 1];
      PyOS_snprintf(id, sizeof(id), "0x%llx", (unsigned long long)slots[i].id);
      PyErr_Format(PyExc_ValueError,
                   "type '%s' has the custom slot %s already, and it says something else",
                   PyTypedcall_Internal_Name(type, name), id);
      table->count = before;
      break;
    }
  }
  if (table->count > before) return table;
  PyForeignSlots_Internal_Destroy(table);
  return NULL;
}

/// Gives `type`, which is not extensible itself, `count` custom slots for PyCustomSlots_FindAny.
/// They are copied; subclasses inherit them by MRO order; they go when the type dies. Several
/// modules can register slots for one type; the same slot twice is one slot. Subclasses that have
/// been looked at before are brought up to date, as far as `type.__subclasses__()` leads to them.
/// What slots point to must outlive the type and its subclasses, also those that have left it. A
/// class that the garbage collector has found dead, and that a finalizer brings back to life, has
/// lost them.
///
/// Returns 0, or -1 with ValueError (an ID is invalid, stands twice, or stands there already with
/// other data: then nothing has changed; no slots), TypeError (an extensible type, or one that has
/// no weak references), RuntimeError while the interpreter ends, or MemoryError. GIL: held;
/// `interface` is the calling interpreter's, and for that one alone the slots are registered, even
/// if the type is shared.
static inline int PyForeignSlots_Register(const PyTypedcall_Interface *interface,
                                          PyTypeObject *type, const PyCustomSlot *slots,
                                          Py_ssize_t count) {
  char name[PyTypedcall_Internal_NAME_SIZE];
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  if (metaclass != NULL && PyType_IsSubtype(Py_TYPE((PyObject *)type), metaclass)) {
    PyErr_Format(PyExc_TypeError, "type '%s' is extensible: it has custom slots of its own",
                 PyTypedcall_Internal_Name(type, name));
    return -1;
  }
  if (slots == NULL || count <= 0) {
    PyErr_Format(PyExc_ValueError, "type '%s' was given no custom slots",
                 PyTypedcall_Internal_Name(type, name));
    return -1;
  }
  if (PyExtensibleType_Internal_ValidateOwn(type, slots, count) < 0) return -1;
  for (;;) {
    const PyForeignSlots_Table *standing =
        PyForeignSlots_Internal_Row(interface, PyTypedcall_BY_TYPE, type);
    PyForeignSlots_Table *table = PyForeignSlots_Internal_Add(type, standing, slots, count);
    if (table == NULL) break;
    if (PyForeignSlots_Internal_Put(interface, PyTypedcall_BY_TYPE, type, standing, table) < 0) {
      return -1;
    }
  }
  return PyErr_Occurred() ? -1 : PyForeignSlots_Internal_RefreshAll(interface, type);
}

/// Takes the slot `id` away from what was registered for `type`, whoever registered it. Slots that
/// have been found stay readable until the interpreter ends. Returns 1, 0 when it was not there, or
/// -1 with MemoryError. GIL: held, as for PyForeignSlots_Register.
static inline int PyForeignSlots_Unregister(const PyTypedcall_Interface *interface,
                                            PyTypeObject *type, uintptr_t id) {
  const PyForeignSlots_Table *standing =
      PyForeignSlots_Internal_Row(interface, PyTypedcall_BY_TYPE, type);
  const Py_ssize_t at =
      standing != NULL && id > PyCustomSlot_ID_SKIP
          ? PyExtensibleType_Internal_Position(standing->slots, standing->count, id)
          : -1;
  if (at < 0) return 0;
  PyForeignSlots_Table *table = PyForeignSlots_Internal_New(standing->count);
  if (table == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  table->count = standing->count;
  memcpy(table->slots, standing->slots, (size_t)table->count * sizeof(PyCustomSlot));
  table->slots[at].id = PyCustomSlot_ID_SKIP;  // the others keep their positions
  while (table->count > 0 && table->slots[table->count - 1].id == PyCustomSlot_ID_SKIP) {
    --table->count;
  }
  if (PyForeignSlots_Internal_Put(interface, PyTypedcall_BY_TYPE, type, standing, table) < 0 ||
      PyForeignSlots_Internal_RefreshAll(interface, type) < 0) {
    return -1;
  }
  return 1;
}

// The first look at a type: merges what it inherits. Out of line, because it happens once a type;
// `inline` for the reason given in core/custom_slots.h.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
static inline __attribute__((noinline, cold)) const PyForeignSlots_Table *
PyForeignSlots_Internal_FirstLook(const PyTypedcall_Interface *interface, PyTypeObject *type) {
#ifndef Py_LIMITED_API
  if (!PyTypedcall_IsAttached()) return NULL;
#endif
  PyTypedcall_SavedError saved = PyTypedcall_SaveError();
  // Making the first row of a type can run code that lets go of it.
  Py_INCREF((PyObject *)type);
  const PyForeignSlots_Table *table = PyForeignSlots_Internal_Refresh(interface, type);
  if (Py_REFCNT((PyObject *)type) == 1) table = NULL;
  Py_DECREF((PyObject *)type);
  PyTypedcall_RestoreError(saved);
  return table;
}
#pragma GCC diagnostic pop

/// The slot with that ID that was registered for the type of `obj` or for one of its bases; NULL
/// when there is none, and for the special IDs. Slots that the type has itself are not looked at.
/// `interface` is the one of the calling interpreter, from PyTypedcall_Import.
///
/// Takes no lock, sets no exception and keeps a pending one. Needs no GIL (without it the caller
/// has a reference to the type, too, as for PyCustomSlots_Find), but a thread without an attached
/// thread state finds inherited slots only once anybody has looked at that class with one; compiled
/// for the limited API, which cannot tell, it needs the GIL. On CPython 3.9 to 3.11 a
/// subinterpreter that runs on the main thread counts as not attached.
///
/// What a class inherits is settled by the first look, and again, by the MRO of that time, whenever
/// slots are registered for one of its bases or taken away from one; assigning to `__bases__` alone
/// changes nothing. Without memory for the first look nothing is found, and the next look tries
/// again. Every class looked at costs some 50 bytes, which come back when the interpreter ends.
/// Valid while the type lives.
static inline const PyCustomSlot *PyForeignSlots_Find(const PyTypedcall_Interface *interface,
                                                      PyObject *obj, uintptr_t id,
                                                      Py_ssize_t expected_pos) {
  if (id <= PyCustomSlot_ID_SKIP) return NULL;
  const PyForeignSlots_Table *table =
      PyForeignSlots_Internal_Row(interface, PyTypedcall_MERGED_BY_TYPE, Py_TYPE(obj));
  if (table == NULL) table = PyForeignSlots_Internal_FirstLook(interface, Py_TYPE(obj));
  if (table == NULL) return NULL;
  const size_t count = (size_t)table->count;
  if (PyTypedcall_LIKELY((size_t)expected_pos < count && table->slots[expected_pos].id == id)) {
    return &table->slots[expected_pos];
  }
  for (size_t i = 0; i < count; ++i) {
    if (table->slots[i].id == id) return &table->slots[i];
  }
  return NULL;
}

#ifndef Py_LIMITED_API
/// The slot with that ID that the type of `obj` offers (PyCustomSlots_Find), or else the one that
/// was registered for it (PyForeignSlots_Find, whose rules hold here).
static inline const PyCustomSlot *PyCustomSlots_FindAny(const PyTypedcall_Interface *interface,
                                                        PyObject *obj, uintptr_t id,
                                                        Py_ssize_t expected_pos) {
  const PyCustomSlot *own = PyCustomSlots_Find(obj, id, expected_pos);
  return own != NULL ? own : PyForeignSlots_Find(interface, obj, id, expected_pos);
}
#endif

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_CORE_FOREIGN_SLOTS_H_
// ---- typedcall/call_site.h
// A place in a consumer's code that sees the same callables again: call_site<double(double)> finds
// in a few nanoseconds what find() found before, and never what a callable that is gone had.
#ifndef TYPEDCALL_CALL_SITE_H_
#define TYPEDCALL_CALL_SITE_H_

// ---- typedcall/resolve.h
// The resolver: does this Python object offer a native function of that signature? Looks in every
// place where a table can be (places.h), picks the entry that answers a request best (request.h),
// or says what is offered instead (refusals.h).
#ifndef TYPEDCALL_RESOLVE_H_
#define TYPEDCALL_RESOLVE_H_

#ifdef Py_LIMITED_API
#error \
    "typedcall/resolve.h needs the full API: it looks into builtin functions and method descriptors"
#endif

// ---- typedcall/places.h
// Where the table of a Python callable can be: in an instance, behind the name of a PyMethodDef, in
// the interpreter's side table, in a symbol beside the def. And what a callable is bound to.
#ifndef TYPEDCALL_PLACES_H_
#define TYPEDCALL_PLACES_H_

#ifdef Py_LIMITED_API
#error \
    "typedcall/places.h needs the full API: it looks into builtin functions and method descriptors"
#endif

// ---- typedcall/sibling_symbol.h
// Reading sibling symbols: the table of a PyMethodDef that stands in a static array, found by a
// symbol of the same shared object. PyTypedMethod_SIBLING (typedcall/typed_method.h) writes them.
// Source: M. Bernstein, "Type information for faster Python C extensions"; docs/ABI.md, section 4.
#ifndef TYPEDCALL_SIBLING_SYMBOL_H_
#define TYPEDCALL_SIBLING_SYMBOL_H_

#ifdef __ELF__
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#if defined(__GLIBC__) && !defined(__USE_GNU)
#error "typedcall/sibling_symbol.h: Python.h must be included before all standard headers"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __ELF__

// Parts of one shared object that it has mapped, readable. Linkers make three or four of them; what
// stands in others is not looked at.
#define PyTypedMethod_Internal_MOST_SEGMENTS 12

typedef struct PyTypedMethod_Internal_Object {
  const void *address;  // something in it: what was searched for
  const char *name;     // as the dynamic linker knows it; NULL for the program itself
  int objects_seen, segments;
  struct {
    uintptr_t start, end;
  } segment[PyTypedMethod_Internal_MOST_SEGMENTS];
} PyTypedMethod_Internal_Object;

// How many bytes from `address` on are part of the object: 0 when it is elsewhere.
static inline size_t PyTypedMethod_Internal_Room(const PyTypedMethod_Internal_Object *object,
                                                 const void *address) {
  const uintptr_t at = (uintptr_t)address;
  for (int i = 0; i < object->segments; ++i) {
    if (at >= object->segment[i].start && at < object->segment[i].end) {
      return object->segment[i].end - at;
    }
  }
  return 0;
}

// Is there a struct of `size` bytes at `address`, aligned for pointers, all of it in the object?
static inline int PyTypedMethod_Internal_Holds(const PyTypedMethod_Internal_Object *object,
                                               const void *address, size_t size) {
  return (uintptr_t)address % sizeof(void *) == 0 &&
         PyTypedMethod_Internal_Room(object, address) >= size;
}

// The length of a text, or `limit` when it does not end inside the object before that.
static inline size_t PyTypedMethod_Internal_Length(const PyTypedMethod_Internal_Object *object,
                                                   const char *text, size_t limit) {
  const size_t room = PyTypedMethod_Internal_Room(object, text);
  const void *end = room > 0 ? memchr(text, '\0', room < limit ? room : limit) : NULL;
  return end != NULL ? (size_t)((const char *)end - text) : limit;
}

// For dl_iterate_phdr: stops at the object that `address` is in, with its segments noted.
static inline int PyTypedMethod_Internal_Note(struct dl_phdr_info *info, size_t size,
                                              void *opaque) {
  PyTypedMethod_Internal_Object *object = (PyTypedMethod_Internal_Object *)opaque;
  (void)size;
  object->segments = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD || (header->p_flags & PF_R) == 0) continue;
    if (object->segments == PyTypedMethod_Internal_MOST_SEGMENTS) break;
    const uintptr_t start = (uintptr_t)(info->dlpi_addr + header->p_vaddr);
    object->segment[object->segments].start = start;
    object->segment[object->segments].end = start + (uintptr_t)header->p_memsz;
    ++object->segments;
  }
  // The program itself comes first.
  object->name = object->objects_seen++ > 0 ? info->dlpi_name : NULL;
  return PyTypedMethod_Internal_Room(object, object->address) > 0;
}

// Does the symbol table say that an object of this size stands exactly there? musl cannot tell.
static inline int PyTypedMethod_Internal_IsSymbol(const void *address, size_t size) {
#ifdef __GLIBC__
  Dl_info info;
  void *extra = NULL;
  if (dladdr1(address, &info, &extra, RTLD_DL_SYMENT) == 0 || extra == NULL) return 0;
  const ElfW(Sym) *symbol = (const ElfW(Sym) *)extra;
  return info.dli_saddr == address && symbol->st_size == size &&
         (symbol->st_info & 0xf) == STT_OBJECT;
#else
  (void)address;
  (void)size;
  return 1;
#endif
}

// `_PyPyTyped_<name>` as the object's own dynamic symbol table has it, or NULL.
static inline const PyTypedMethod_Sibling *PyTypedMethod_Internal_Symbol(
    const PyTypedMethod_Internal_Object *object, const char *name, size_t length) {
  static const char prefix[] = "_PyPyTyped_";
  char symbol[sizeof(prefix) + sizeof(((PyPyTypedMethodMetadata *)0)->ml_name)];
  memcpy(symbol, prefix, sizeof(prefix) - 1);
  memcpy(symbol + sizeof(prefix) - 1, name, length + 1);
  // Loads nothing: it is there. The name of a library that is gone is not found.
  void *handle = dlopen(object->name, RTLD_LAZY | RTLD_NOLOAD);
  void *address = handle != NULL ? dlsym(handle, symbol) : NULL;
  if (handle == NULL || address == NULL) dlerror();  // nobody else's next dlerror() is to say it
  if (handle != NULL) dlclose(handle);
  // Libraries that this one was linked with are searched, too; their symbols are not about it.
  if (!PyTypedMethod_Internal_Holds(object, address, sizeof(PyTypedMethod_Sibling))) return NULL;
  if (!PyTypedMethod_Internal_IsSymbol(address, sizeof(PyTypedMethod_Sibling))) return NULL;
  return (const PyTypedMethod_Sibling *)address;
}

// Is it a table with signatures and functions? Flags are for whoever picks an entry.
static inline int PyTypedMethod_Internal_IsTable(const PyTypedMethod_Internal_Object *object,
                                                 const PyNativeCallableTable *table) {
  const size_t header = offsetof(PyNativeCallableTable, entries);
  const size_t limit = PyNativeSignature_MAX_LENGTH + 1;
  if (!PyTypedMethod_Internal_Holds(object, table, header)) return 0;
  const size_t room = PyTypedMethod_Internal_Room(object, table) - header;
  if (table->count < 1 || (size_t)table->count > room / sizeof(PyNativeCallableEntry)) return 0;
  const PyNativeCallableEntry *entry =
      (const PyNativeCallableEntry *)(const void *)((const char *)table + header);
  for (Py_ssize_t i = 0; i < table->count; ++i, ++entry) {
    const size_t length = PyTypedMethod_Internal_Length(object, entry->signature, limit);
    if (length == limit || entry->funcptr == NULL) return 0;
    if (PyNativeSignature_Parse(entry->signature, length, NULL, NULL) < 0) return 0;
  }
  return 1;
}

#endif  // __ELF__

/// The table that a sibling symbol `_PyPyTyped_<ml_name>` offers for `def`, or NULL. It is used
/// only when it is of the shared object that holds the def, names this very def, and everything
/// that it points to, except for functions, is in the same object and is a table of signatures.
/// NULL for defs on the heap, whose name is no C identifier or has more than 99 bytes, and on
/// systems without ELF.
///
/// `def` may be any address, also a stale one: nothing that is not part of a loaded object is read.
/// GIL: none; any thread; any interpreter; no Python function is called, no exception is set. It
/// takes the dynamic linker's lock and costs a few microseconds, more with every loaded object: the
/// last place to look at, and a result to keep. That stays valid while the object is loaded, and
/// CPython unloads none. Where the linker reports errors, dlerror() is clear afterwards.
static inline const PyNativeCallableTable *PyTypedMethod_SiblingTable(const PyMethodDef *def) {
#ifdef __ELF__
  const size_t limit = sizeof(((PyPyTypedMethodMetadata *)0)->ml_name);
  PyTypedMethod_Internal_Object object;
  object.address = def;
  object.objects_seen = 0;
  if (def == NULL || dl_iterate_phdr(PyTypedMethod_Internal_Note, &object) == 0) return NULL;
  if (!PyTypedMethod_Internal_Holds(&object, def, sizeof(*def))) return NULL;
  const char *name = def->ml_name;
  const size_t length = PyTypedMethod_Internal_Length(&object, name, limit);
  if (length == 0 || length == limit || (name[0] >= '0' && name[0] <= '9')) return NULL;
  for (size_t i = 0; i < length; ++i) {
    const char c = name[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) {
      return NULL;
    }
  }
  const PyTypedMethod_Sibling *sibling = PyTypedMethod_Internal_Symbol(&object, name, length);
  if (sibling == NULL || sibling->def != def) return NULL;
  return PyTypedMethod_Internal_IsTable(&object, sibling->table) ? sibling->table : NULL;
#else
  (void)def;
  return NULL;
#endif
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_SIBLING_SYMBOL_H_
// ---- typedcall/places.h, continued
// The C headers come first: they want Python.h ahead of all standard headers.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace typedcall {

/// Where an entry was found, in the order in which the places are looked at.
enum class place : unsigned char {
  instance_slot,      ///< the native-callable slot of an extensible type (SEP 201)
  method_def,         ///< behind `ml_name`, with our header (METH_TYPED | METH_TYPED_EXT)
  pypy_method_def,    ///< behind `ml_name`, PyPy's struct alone (METH_TYPED)
  side_table_def,     ///< the interpreter's side table, by PyMethodDef
  side_table_object,  ///< the interpreter's side table, by object
  sibling_symbol,     ///< a symbol `_PyPyTyped_<name>` of the shared object that has the def
};

/// A place in plain words, static text.
inline const char *describe(place where) {
  switch (where) {
    case place::instance_slot:
      return "native-callable slot";
    case place::method_def:
      return "METH_TYPED with header";
    case place::pypy_method_def:
      return "METH_TYPED, PyPy's layout";
    case place::side_table_def:
      return "side table, by PyMethodDef";
    case place::side_table_object:
      return "side table, by object";
    case place::sibling_symbol:
      return "sibling symbol";
  }
  return "";
}

namespace internal {

/// A function, or a bound method, made from a PyMethodDef. Exactly these types: a function of the
/// second, which METH_METHOD makes, knows its defining class as well.
inline bool is_builtin(PyObject *callable) {
  return Py_TYPE(callable) == &PyCFunction_Type || Py_TYPE(callable) == &PyCMethod_Type;
}

/// `Type.method` of a type that has it from a PyMethodDef, or its class method as the type's
/// dictionary has it.
inline bool is_unbound(PyObject *callable) {
  return Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyClassMethodDescr_Type;
}

/// The def of a builtin function or unbound method; null for anything else.
inline const PyMethodDef *def_of(PyObject *callable) {
  if (is_builtin(callable)) return reinterpret_cast<PyCFunctionObject *>(callable)->m_ml;
  if (is_unbound(callable)) return reinterpret_cast<PyMethodDescrObject *>(callable)->d_method;
  return nullptr;
}

}  // namespace internal

/// What an entry with TAKES_SELF is given first when `callable` is called: for builtin functions
/// and bound methods what CPython passes to their C function (the module, the instance, the class;
/// null for static methods and functions without self), null for unbound methods, whose callers
/// bring it, and for everything else, such as an instance with a table, the callable itself.
/// Borrowed from `callable`. GIL: held; sets no exception.
inline PyObject *self_of(PyObject *callable) {
  if (internal::is_builtin(callable)) return PyCFunction_GET_SELF(callable);
  return internal::is_unbound(callable) ? nullptr : callable;
}

/// The class that a METH_METHOD function was defined by; null for anything else. Borrowed from
/// `callable`. GIL: held; sets no exception.
inline PyTypeObject *defining_class_of(PyObject *callable) {
  return internal::is_builtin(callable) ? PyCFunction_GET_CLASS(callable) : nullptr;
}

/// May `self` be the first argument of `unbound`, a method descriptor or class method descriptor?
/// False with the TypeError that CPython raises for the call, or one for another kind of object.
/// GIL: held.
inline bool check_self(PyObject *unbound, PyObject *self) {
  if (!internal::is_unbound(unbound)) {
    PyErr_Format(PyExc_TypeError, "'%.100s' objects are not unbound methods",
                 Py_TYPE(unbound)->tp_name);
    return false;
  }
  if (self == nullptr) {
    PyErr_SetString(PyExc_SystemError, "typedcall: self is NULL");
    return false;
  }
  PyTypeObject *type = PyDescr_TYPE(unbound);
  PyObject *name = PyDescr_NAME(unbound);
  if (Py_TYPE(unbound) == &PyMethodDescr_Type) {
    if (PyObject_TypeCheck(self, type)) return true;
    PyErr_Format(PyExc_TypeError,
                 "descriptor '%V' for '%.100s' objects doesn't apply to a '%.100s' object", name,
                 "?", type->tp_name, Py_TYPE(self)->tp_name);
    return false;
  }
  if (!PyType_Check(self)) {
    PyErr_Format(PyExc_TypeError,
                 "descriptor '%V' for type '%.100s' needs a type, not a '%.100s' as arg 2", name,
                 "?", type->tp_name, Py_TYPE(self)->tp_name);
    return false;
  }
  auto *given = reinterpret_cast<PyTypeObject *>(self);
  if (PyType_IsSubtype(given, type)) return true;
  PyErr_Format(PyExc_TypeError,
               "descriptor '%V' requires a subtype of '%.100s' but received '%.100s'", name, "?",
               type->tp_name, given->tp_name);
  return false;
}

namespace internal {

/// Results of PyTypedMethod_SiblingTable, which takes a microsecond; what is not there is kept,
/// too. They belong to shared objects, not to an interpreter, so interpreters share them.
class __attribute__((visibility("hidden"))) sibling_cache {
 public:
  static const PyNativeCallableTable *table_of(const PyMethodDef *def) {
    static sibling_cache cache;
    const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(def);
    known *const home =
        &cache.slots_[(bits * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (kSlots / 2) * 2];
    {
      const std::lock_guard<std::mutex> lock(cache.mutex_);
      if (home[1].is_of(def)) std::swap(home[0], home[1]);
      if (home[0].is_of(def)) return home[0].table;
    }
    // Not with the mutex held: another thread may be in dlopen(), and in there come to here.
    const PyNativeCallableTable *table = PyTypedMethod_SiblingTable(def);
    const std::lock_guard<std::mutex> lock(cache.mutex_);
    home[1] = home[0];
    home[0] = {def, def->ml_name, def->ml_meth, table};
    return table;
  }

 private:
  static constexpr std::size_t kSlots = 4096;
  struct known {
    // A def that has been freed may have another's address. What has a symbol is never freed, and
    // what was on the heap is not found there either way; that it is still the same function, as
    // far as can be seen, makes sure of memory that was given back and became a shared object's.
    bool is_of(const PyMethodDef *other) const {
      return def == other && name == other->ml_name && function == other->ml_meth;
    }
    const PyMethodDef *def;
    const char *name;
    PyCFunction function;
    const PyNativeCallableTable *table;
  };
  std::mutex mutex_;
  known slots_[kSlots] = {};
};

/// Is what Python calls on this instance what the slot's type brought? A subclass that overrides
/// `__call__` inherits the slot, and must not be called past its override. `__call__` is compared
/// with that of the last type in the MRO that has the slot; a type in between that brings its own
/// pair is refused too, which costs speed only. GIL: held.
inline bool slot_is_what_python_calls(PyTypeObject *type) {
  PyTypeObject *provider = type;
  PyObject *mro = type->tp_mro;
  for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
    auto *base = reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(mro, i));
    const PyExtensibleTypeData *data = PyExtensibleType_Internal_Data(base);
    for (Py_ssize_t at = 0; data != nullptr && at < data->count; ++at) {
      if (data->table[at].id == PYCUSTOMSLOT_NATIVECALLABLE_ID) provider = base;
    }
  }
  return provider->tp_call == type->tp_call;
}

inline const PyNativeCallableTable *row_of(const PyTypedcall_Interface *interface, int space,
                                           const void *key) {
  return static_cast<const PyNativeCallableTable *>(interface->find(interface->state, space, key));
}

/// Shows each table of `callable` to `visit(table, place)` until that returns true. A table from
/// PyPy's struct lasts for that call only. `interface` may be null: then only what needs no side
/// table is looked at. Runs no Python code, but for a class with slots that nobody has looked at.
template <class Visitor>
bool visit_tables(const PyTypedcall_Interface *interface, PyObject *callable, Visitor &&visit) {
  const PyMethodDef *def = def_of(callable);
  if (def == nullptr) {
    const auto *table = PyNativeCallable_InstanceTable(callable);
    if (table != nullptr && slot_is_what_python_calls(Py_TYPE(callable)) &&
        visit(*table, place::instance_slot)) {
      return true;
    }
  } else {
    if (const auto *table = PyTypedMethod_Table(def)) {
      if (visit(*table, place::method_def)) return true;
    } else if ((def->ml_flags & METH_TYPED) != 0) {
      PyNativeCallableTable single = {1, {}};
      char signature[PyTypedMethod_PYPY_LENGTH];
      if (PyTypedMethod_ReadPyPy(def, &single.entries[0], signature)) {
        if (visit(single, place::pypy_method_def)) return true;
      }
    }
    if (interface != nullptr) {
      const auto *table = row_of(interface, PyTypedcall_BY_DEF, def);
      if (table != nullptr && visit(*table, place::side_table_def)) return true;
    }
  }
  if (interface != nullptr) {
    const auto *table = row_of(interface, PyTypedcall_BY_OBJECT, callable);
    if (table != nullptr && visit(*table, place::side_table_object)) return true;
  }
  if (def != nullptr) {
    const auto *table = sibling_cache::table_of(def);
    if (table != nullptr && visit(*table, place::sibling_symbol)) return true;
  }
  return false;
}

}  // namespace internal
}  // namespace typedcall

#endif  // TYPEDCALL_PLACES_H_
// ---- typedcall/resolve.h, continued
// The C headers come first: they want Python.h ahead of all standard headers.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

// ---- typedcall/function.h
// typedcall::function<double(double, double)>: a C function pointer found behind a Python callable,
// and the reference that keeps it valid. Calling it is calling the pointer. Beside it the same for
// functions that take self first, bound to one or not.
#ifndef TYPEDCALL_FUNCTION_H_
#define TYPEDCALL_FUNCTION_H_

// places.h comes first, because of Python.h.
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

// ---- typedcall/error_value.h
// How a native function says "an exception is set" by its result: one error value per class of
// types. Source: docs/ABI.md, section 3, MAY_RAISE.
#ifndef TYPEDCALL_ERROR_VALUE_H_
#define TYPEDCALL_ERROR_VALUE_H_

#include <type_traits>

namespace typedcall {

/// Does the class of `T` have an error value? bool, void and complex have none: a function with
/// such a result reports errors by status, or cannot raise.
template <class T>
constexpr bool has_error_value =
    (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || std::is_pointer_v<T>;

/// -1 for signed, all ones for unsigned, -1.0 for floating types, null for pointers and objects.
template <class T>
constexpr T error_value() {
  static_assert(has_error_value<T>);
  if constexpr (std::is_pointer_v<T>) {
    return nullptr;
  } else {
    return static_cast<T>(-1);
  }
}

/// Might `result` say that an exception is set? If so, PyErr_Occurred() decides.
template <class T>
bool is_error_value(T result) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wfloat-equal"
  return result == error_value<T>();
#pragma GCC diagnostic pop
}

}  // namespace typedcall

#endif  // TYPEDCALL_ERROR_VALUE_H_
// ---- typedcall/function.h, continued
// ---- typedcall/object_ref.h
// An owned reference to a Python object, so that nobody forgets to give one back.
// Made only by steal() and borrow(), which say where the reference comes from.
#ifndef TYPEDCALL_OBJECT_REF_H_
#define TYPEDCALL_OBJECT_REF_H_

#include <Python.h>

#include <cassert>
#include <utility>

namespace typedcall {

/// GIL: held wherever a non-empty one is copied, assigned or destroyed.
class object_ref {
 public:
  object_ref() = default;
  object_ref(const object_ref &other) : object_(other.object_) { Py_XINCREF(object_); }
  object_ref(object_ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  object_ref &operator=(object_ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~object_ref() {
    assert(object_ == nullptr || PyGILState_Check());
    Py_XDECREF(object_);
  }

  /// Takes over a new reference; NULL is allowed.
  static object_ref steal(PyObject *object) { return object_ref(object); }
  /// Adds a reference of its own; NULL is allowed.
  static object_ref borrow(PyObject *object) {
    Py_XINCREF(object);
    return object_ref(object);
  }

  PyObject *get() const { return object_; }
  PyObject *release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit object_ref(PyObject *object) : object_(object) {}
  PyObject *object_ = nullptr;
};

}  // namespace typedcall

#endif  // TYPEDCALL_OBJECT_REF_H_
// ---- typedcall/function.h, continued
// ---- typedcall/signature_of.h
// From C++ types to signatures, at compile time: native_type<long>() and
// signature_of<double(double, long)>, whose text is "dl->d".
#ifndef TYPEDCALL_SIGNATURE_OF_H_
#define TYPEDCALL_SIGNATURE_OF_H_

#include <cstddef>
#include <type_traits>

namespace typedcall {
namespace internal {

/// The code of a type that stands in the list of codes, or -1. Where two codes are one C++ type
/// (`l` and `n` on LP64), the first in the list stands for both: requests match by width anyway.
template <class T>
constexpr int code_of() {
#define TYPEDCALL_ROW(NAME, LETTERS, TYPE, KIND) \
  if (std::is_same_v<T, TYPE>) return PyNativeType_##NAME;
  PyNativeType_LIST(TYPEDCALL_ROW)
#undef TYPEDCALL_ROW
      return -1;
}

template <class T>
constexpr bool has_code = code_of<T>() >= 0;

}  // namespace internal

/// The code of `T` and whether it stands behind `&`. `const` is dropped: signatures do not show it.
template <class T>
constexpr PyNativeType native_type() {
  using value = std::remove_cv_t<T>;
  using pointee = std::remove_cv_t<std::remove_pointer_t<value>>;
  if constexpr (internal::has_code<value>) {
    return {static_cast<unsigned char>(internal::code_of<value>()), 0};
  } else if constexpr (std::is_pointer_v<value> && std::is_void_v<pointee>) {
    return {PyNativeType_POINTER, 0};
  } else if constexpr (std::is_pointer_v<value> && internal::has_code<pointee>) {
    return {static_cast<unsigned char>(internal::code_of<pointee>()), 1};
  } else {
    static_assert(
        internal::has_code<value>,
        "typedcall: this type has no signature code. There are codes for bool, the signed "
        "and unsigned integers (not plain char), float, double, long double, C's complex types, "
        "pointers to these, void *, const char * and PyObject *");
    return {PyNativeType_VOID, 0};
  }
}

/// The canonical signature of a C++ function type, as a constant of its own.
template <class Function>
struct __attribute__((visibility("hidden"))) signature_of;

template <class R, class... A>
struct signature_of<R(A...)> {
  static_assert(sizeof...(A) <= PyNativeSignature_MAX_ARGS, "typedcall: more than 127 arguments");

  static constexpr PyNativeSignature parsed() {
    PyNativeSignature signature{};
    const PyNativeType args[] = {native_type<A>()..., {PyNativeType_VOID, 0}};
    signature.nargs = static_cast<int>(sizeof...(A));
    signature.result = native_type<R>();
    for (std::size_t i = 0; i < sizeof...(A); ++i) signature.args[i] = args[i];
    return signature;
  }

 private:
  struct storage {
    char text[3 * sizeof...(A) + 6];
  };
  static constexpr storage print() {
    storage printed{};
    const PyNativeSignature signature = parsed();
    PyNativeSignature_Print(&signature, printed.text, sizeof(printed.text));
    return printed;
  }
  static constexpr storage printed = print();

 public:
  /// NUL-terminated, for the life of the module.
  static constexpr const char *text = printed.text;
};

template <class R, class... A>
struct signature_of<R(A...) noexcept> : signature_of<R(A...)> {};

}  // namespace typedcall

#endif  // TYPEDCALL_SIGNATURE_OF_H_
// ---- typedcall/function.h, continued
// ---- typedcall/stats.h
// Counters that prove which path a call took: the C function itself, a thunk, a register image,
// libffi, or boxes; and where its entry was found. Off, and then free, unless TYPEDCALL_STATS is 1.
#ifndef TYPEDCALL_STATS_H_
#define TYPEDCALL_STATS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

/// 1 to count. As with NDEBUG, the same value in all files of a program or shared object: the
/// counters are those of that object alone, whatever else the process has loaded.
#ifndef TYPEDCALL_STATS
#define TYPEDCALL_STATS 0
#endif

namespace typedcall {

/// What is counted.
enum class event : unsigned {
  direct,  ///< a call through function, bound_function or unbound_function: the pointer itself
  thunk,   ///< the ways of an invoker
  image,
  ffi,
  boxed,                    ///< a call of the Python callable
  cache_hit,                ///< a call site remembered what the callable offers
  cache_miss,               ///< it had to look, and
  cache_bypassed,           ///< read the callable's own memory, which is as fast as remembering
  found_instance_slot,      ///< found there by find(), resolve() or a call site that had to look;
  found_method_def,         ///< in the order of typedcall::place
  found_pypy_method_def,    //
  found_side_table_def,     //
  found_side_table_object,  //
  found_sibling_symbol,     //
  found_nothing,
  events  // how many there are
};

/// The counters of this program or shared object. Any thread; no GIL; nothing is ordered by them.
class __attribute__((visibility("hidden"))) stats {
 public:
  static constexpr bool enabled = TYPEDCALL_STATS != 0;

  /// How often since the start or the last reset(); 0 where counting is off.
  static std::uint64_t count(event what) {
    return counters[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }

  /// All to 0. What other threads count at the same time may or may not be lost.
  static void reset() {
    for (auto &counter : counters) counter.store(0, std::memory_order_relaxed);
  }

  /// One more, where counting is on. For those who call in ways of their own, too.
  static void add([[maybe_unused]] event what) {
    if constexpr (enabled) {
      counters[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  static inline std::atomic<std::uint64_t> counters[static_cast<std::size_t>(event::events)] = {};
};

}  // namespace typedcall

#endif  // TYPEDCALL_STATS_H_
// ---- typedcall/function.h, continued

namespace typedcall {
namespace internal {

/// An address, its flags, and what a result of it means.
template <class R, class... A>
class native_pointer {
 public:
  using pointer = R (*)(A...);

  explicit operator bool() const { return pointer_ != nullptr; }
  pointer get() const { return pointer_; }
  /// PyNativeCallable_* bits.
  std::uintptr_t flags() const { return flags_; }

  /// After a call of a function that may raise: is an exception set? GIL: held.
  bool raised() const {
    const std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_RETURNS_STATUS;
    return (flags_ & raises) != 0 && PyErr_Occurred() != nullptr;
  }
  /// The same, but asks CPython only when `result` is the error value, which without an exception
  /// is a result like any other. GIL: held.
  template <class Result>
  bool raised(Result result) const {
    static_assert(std::is_same_v<Result, R>, "typedcall: pass what the call returned");
    if constexpr (std::is_same_v<R, int>) {
      if ((flags_ & PyNativeCallable_RETURNS_STATUS) != 0) return result != 0 && raised();
    }
    if constexpr (std::is_floating_point_v<R>) {
      if ((flags_ & PyNativeCallable_ERROR_IS_NEG_ZERO) != 0) {
        return std::fpclassify(result) == FP_ZERO && std::signbit(result) && raised();
      }
    }
    if constexpr (has_error_value<R>) {
      if (!is_error_value(result)) return false;
    }
    return raised();
  }

 protected:
  native_pointer() = default;
  native_pointer(pointer address, std::uintptr_t flags) : pointer_(address), flags_(flags) {}

  R call(A... args) const {
    stats::add(event::direct);
    return pointer_(args...);
  }

 private:
  pointer pointer_ = nullptr;
  std::uintptr_t flags_ = 0;
};

}  // namespace internal

template <class Signature>
class function_view;

/// Empty, or an entry of signature R(A...), without a reference: valid while the caller has one to
/// the callable that it was found behind. Copying it costs nothing and needs no GIL.
template <class R, class... A>
class function_view<R(A...)> : public internal::native_pointer<R, A...> {
 public:
  function_view() = default;
  function_view(R (*address)(A...), std::uintptr_t flags)
      : internal::native_pointer<R, A...>(address, flags) {}

  /// Undefined when empty.
  R operator()(A... args) const { return this->call(args...); }
};

template <class Signature>
class function;

/// Empty, or an entry of signature R(A...). Copying and destroying a non-empty one needs the GIL;
/// calling it needs what its flags say and nothing else.
template <class R, class... A>
class function<R(A...)> : public internal::native_pointer<R, A...> {
 public:
  using pointer = R (*)(A...);

  function() = default;
  /// `keep_alive` is what the pointer's validity depends on; it may be empty.
  function(pointer address, std::uintptr_t flags, object_ref keep_alive)
      : internal::native_pointer<R, A...>(address, flags), keep_alive_(std::move(keep_alive)) {}

  /// Undefined when empty.
  R operator()(A... args) const { return this->call(args...); }

 private:
  object_ref keep_alive_;
};

template <class Signature>
class bound_function;

/// Empty, or an entry R(A...) that takes self first, and that self: the instance or class of a
/// bound method, the module of a module's function, an instance with a table of its own.
/// GIL: as for function.
template <class R, class... A>
class bound_function<R(A...)> : public internal::native_pointer<R, PyObject *, A...> {
 public:
  using pointer = R (*)(PyObject *, A...);

  bound_function() = default;
  /// `self` must be of the type that the function expects; `keep_alive` as for function.
  bound_function(pointer address, std::uintptr_t flags, object_ref self, object_ref keep_alive)
      : internal::native_pointer<R, PyObject *, A...>(address, flags),
        self_(std::move(self)),
        keep_alive_(std::move(keep_alive)) {}

  /// Undefined when empty.
  R operator()(A... args) const { return this->call(self_.get(), args...); }

  /// Borrowed; null when empty.
  PyObject *self() const { return self_.get(); }

 private:
  object_ref self_, keep_alive_;
};

template <class Signature>
class unbound_function;

/// Empty, or an entry R(A...) that takes self first, of a method that is not bound (`Type.method`).
/// GIL: as for function.
template <class R, class... A>
class unbound_function<R(A...)> : public internal::native_pointer<R, PyObject *, A...> {
 public:
  using pointer = R (*)(PyObject *, A...);

  unbound_function() = default;
  /// `descriptor` is what the entry was found behind.
  unbound_function(pointer address, std::uintptr_t flags, object_ref descriptor)
      : internal::native_pointer<R, PyObject *, A...>(address, flags),
        descriptor_(std::move(descriptor)) {}

  /// May `self` be passed? False with the TypeError that Python's own call raises. Of a non-empty
  /// one. GIL: held.
  bool check(PyObject *self) const { return check_self(descriptor_.get(), self); }

  /// Undefined when empty, or when check(self) is not true.
  R operator()(PyObject *self, A... args) const { return this->call(self, args...); }

  /// Bound to `self`, or empty with the exception of check(). GIL: held.
  bound_function<R(A...)> bind(PyObject *self) const {
    if (!check(self)) return {};
    return {this->get(), this->flags(), object_ref::borrow(self), descriptor_};
  }

 private:
  object_ref descriptor_;
};

}  // namespace typedcall

#endif  // TYPEDCALL_FUNCTION_H_
// ---- typedcall/resolve.h, continued
// ---- typedcall/refusals.h
// Why the resolver finds nothing, in words: what is offered instead and what stands in its way,
// and, for callables that cannot have a table, what kind they are and what to do.
#ifndef TYPEDCALL_REFUSALS_H_
#define TYPEDCALL_REFUSALS_H_

// places.h comes first, because of Python.h.
#include <cstring>
#include <string>
#include <utility>

// ---- typedcall/request.h
// What a consumer asks for: a signature, the effects that it can honour, and which conversions it
// is ready to make; and which entry of a table answers that best. Reads tables only: no Python.
#ifndef TYPEDCALL_REQUEST_H_
#define TYPEDCALL_REQUEST_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace typedcall {

/// What a consumer can honour beyond calling: the sum of PyNativeCallable_* bits that must be
/// understood and that it does understand. An entry that asks for more is not offered to it.
using honours = std::uintptr_t;

/// For a consumer that calls with the GIL held and asks function::raised() after each call.
inline constexpr honours holds_gil = PyNativeCallable_NEEDS_THREAD;
inline constexpr honours checks_errors =
    PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE | PyNativeCallable_ERROR_IS_NEG_ZERO;
/// For a consumer that takes what the C function does on inputs where the Python callable differs.
inline constexpr honours accepts_differences = PyNativeCallable_DIFFERS;
/// For a consumer that passes `resolution::self` in front of the arguments.
inline constexpr honours passes_self = PyNativeCallable_TAKES_SELF;

/// Which signatures answer a request, in the order of preference.
enum class casting : unsigned char {
  exact,       ///< the very text
  equivalent,  ///< the same widths, signedness and classes: the same machine code calls it
  safe         ///< another one that loses nothing, if the consumer converts (typedcall/casting.h)
};

/// What a consumer wants.
struct request {
  const char *signature = nullptr;  ///< canonical text
  honours honoured = 0;
  /// `exact` refuses even `q` for `l`.
  casting allowed = casting::equivalent;
  /// Bits that an entry must have: PyNativeCallable_TAKES_SELF, or PyNativeCallable_THREAD_SAFE.
  std::uintptr_t required = 0;
  /// Unbound methods (`Type.method`) are only offered to a consumer that says so: it checks every
  /// self with check_self() before it passes it, or calls without it.
  bool unbound = false;
};

namespace internal {

/// For each letter the letter that stands for its width and signedness; itself for all but
/// integers.
constexpr std::array<char, 128> width_classes() {
  std::array<char, 128> classes{};
  for (std::size_t letter = 0; letter < classes.size(); ++letter) {
    const char self = static_cast<char>(letter);
    classes[letter] = self;
    const int code = letter == 0 ? -1 : PyNativeCode_FromLetters(self, '\0');
    if (code < 0) continue;
    for (int other = 0; other < PyNativeType_COUNT; ++other) {
      const PyNativeType a = {static_cast<unsigned char>(code), 0};
      const PyNativeType b = {static_cast<unsigned char>(other), 0};
      if (!PyNativeType_Equivalent(a, b)) continue;
      classes[letter] = PyNativeCode_Letters(other)[0];
      break;
    }
  }
  return classes;
}

/// Are the widths and classes those of `signature`, which is canonical text? The other text may be
/// anything: putting one integer's letter for another's keeps canonical text canonical, so what
/// passes is a signature. The same answer as PyNativeSignature_Equivalent's, without parsing.
inline bool has_widths_of(const char *signature, const char *text) {
  static constexpr std::array<char, 128> classes = width_classes();
  for (;; ++signature, ++text) {
    const auto a = static_cast<unsigned char>(*signature), b = static_cast<unsigned char>(*text);
    if (a != b && (a >= classes.size() || b >= classes.size() || classes[a] != classes[b])) {
      return false;
    }
    if (a == '\0') return true;
  }
}

/// For short texts, inline.
inline bool is_same_text(const char *a, const char *b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

/// bool, unsigned, signed, floating, complex: each can hold what comes before it, width permitting.
constexpr int rank_of(PyNativeType type) {
  if (type.is_pointer) return -1;
  switch (PyNativeCode_Kind(type.code)) {
    case PyNativeKind_BOOL:
      return 0;
    case PyNativeKind_UNSIGNED:
      return 1;
    case PyNativeKind_SIGNED:
      return 2;
    case PyNativeKind_FLOATING:
      return 3;
    case PyNativeKind_COMPLEX:
      return 4;
    default:
      return -1;
  }
}

/// Bits of an integer's magnitude, or of the numbers that a floating type (one part of a complex
/// one) holds without gaps.
constexpr int precision_of(PyNativeType type) {
  const int bits = static_cast<int>(8 * PyNativeCode_Size(type.code));
  switch (type.code) {
    case PyNativeType_BOOL:
      return 1;
    case PyNativeType_FLOAT:
    case PyNativeType_CFLOAT:
      return __FLT_MANT_DIG__;
    case PyNativeType_DOUBLE:
    case PyNativeType_CDOUBLE:
      return __DBL_MANT_DIG__;
    case PyNativeType_LONGDOUBLE:
    case PyNativeType_CLONGDOUBLE:
      return __LDBL_MANT_DIG__;
    default:
      return PyNativeCode_Kind(type.code) == PyNativeKind_SIGNED ? bits - 1 : bits;
  }
}

/// Bytes of a number, or of one part of a complex one.
constexpr std::size_t width_of(PyNativeType type) {
  const std::size_t size = PyNativeCode_Size(type.code);
  return PyNativeCode_Kind(type.code) == PyNativeKind_COMPLEX ? size / 2 : size;
}

/// How far apart two types are: 0 when they are equivalent, -1 when some value of `from` is none of
/// `to`. A change of class (8 for each step of rank) costs more than any widening of it. Pointers,
/// strings and objects are only themselves.
constexpr int conversion_cost(PyNativeType from, PyNativeType to) {
  if (PyNativeType_Equivalent(from, to)) return 0;
  const int low = rank_of(from), high = rank_of(to);
  if (low < 0 || high < low || precision_of(from) > precision_of(to)) return -1;
  int doublings = 0;
  for (std::size_t size = width_of(from); size * 2 <= width_of(to); size *= 2) ++doublings;
  return 8 * (high - low) + doublings;
}

/// The cost of answering `asked` with `offered`: arguments are converted to what is offered, the
/// result to what was asked for. -1: not without loss.
inline int casting_cost(const PyNativeSignature &asked, const PyNativeSignature &offered) {
  if (asked.nargs != offered.nargs) return -1;
  int sum = conversion_cost(offered.result, asked.result);
  for (int i = 0; sum >= 0 && i < asked.nargs; ++i) {
    const int cost = conversion_cost(asked.args[i], offered.args[i]);
    sum = cost < 0 ? -1 : sum + cost;
  }
  return sum;
}

inline bool can_honour(const PyNativeCallableEntry &entry, honours honoured) {
  return PyNativeCallable_FlagsAreUsable(entry.flags) &&
         (entry.flags & PyNativeCallable_MANDATORY_MASK & ~honoured) == 0;
}

/// May the consumer use this entry, whatever its signature?
inline bool is_open(const PyNativeCallableEntry &entry, const request &asked) {
  return entry.funcptr != nullptr && can_honour(entry, asked.honoured) &&
         (asked.required & ~entry.flags) == 0;
}

/// The first entry with the very text, else, if that is allowed, the first of the same widths and
/// classes, else null.
inline const PyNativeCallableEntry *select(const PyNativeCallableTable &table,
                                           const request &asked) {
  for (Py_ssize_t i = 0; i < table.count; ++i) {
    const PyNativeCallableEntry &entry = table.entries[i];
    if (entry.signature == nullptr || !is_same_text(entry.signature, asked.signature)) continue;
    if (is_open(entry, asked)) return &entry;
  }
  if (asked.allowed == casting::exact) return nullptr;
  for (Py_ssize_t i = 0; i < table.count; ++i) {
    const PyNativeCallableEntry &entry = table.entries[i];
    if (entry.signature == nullptr || !has_widths_of(asked.signature, entry.signature)) continue;
    if (is_open(entry, asked)) return &entry;
  }
  return nullptr;
}

/// The entry with the lowest cost below `*best`, which becomes that, or null; the first of several.
inline const PyNativeCallableEntry *select_cheapest(const PyNativeCallableTable &table,
                                                    const request &asked,
                                                    const PyNativeSignature &parsed, int *best) {
  const PyNativeCallableEntry *cheapest = nullptr;
  for (Py_ssize_t i = 0; i < table.count; ++i) {
    const PyNativeCallableEntry &entry = table.entries[i];
    PyNativeSignature offered;
    if (entry.signature == nullptr || !is_open(entry, asked)) continue;
    if (PyNativeSignature_ParseString(entry.signature, &offered, nullptr) < 0) continue;
    const int cost = casting_cost(parsed, offered);
    if (cost < 0 || cost >= *best) continue;
    *best = cost;
    cheapest = &entry;
  }
  return cheapest;
}

}  // namespace internal
}  // namespace typedcall

#endif  // TYPEDCALL_REQUEST_H_
// ---- typedcall/refusals.h, continued

namespace typedcall::internal {

/// The name for messages: `__qualname__` if there is one, else the type's. GIL: held; clears the
/// pending exception.
inline std::string name_of(PyObject *callable) {
  const object_ref name = object_ref::steal(PyObject_GetAttrString(callable, "__qualname__"));
  const char *text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  if (text != nullptr) return text;
  return std::string("'") + Py_TYPE(callable)->tp_name + "' object";
}

/// What stands in the way of an entry, in brackets; empty when it only has another signature.
inline std::string obstacles(const PyNativeCallableEntry &entry, const request &asked,
                             PyObject *callable) {
  if (entry.funcptr == nullptr) return " (no function)";
  if (!PyNativeCallable_FlagsAreUsable(entry.flags)) return " (flags not understood)";
  const std::pair<std::uintptr_t, const char *> words[] = {
      {PyNativeCallable_NEEDS_THREAD, "needs the GIL"},
      {PyNativeCallable_ACQUIRES_GIL, "takes the GIL"},
      {PyNativeCallable_MAY_RAISE, "may raise"},
      {PyNativeCallable_ERROR_IS_NEG_ZERO, "error is -0.0"},
      {PyNativeCallable_RETURNS_STATUS, "returns a status"},
      {PyNativeCallable_TAKES_SELF, "takes self"},
      {PyNativeCallable_SETS_ERRNO, "sets errno"},
      {PyNativeCallable_DIFFERS, "differs from the Python callable"},
      {PyNativeCallable_THREAD_SAFE, "is not thread-safe"},
      {PyNativeCallable_PURE, "is not pure"},
      {PyNativeCallable_SHORT, "may block"},
  };
  std::string text;
  const auto add = [&text](const char *word) {
    text += text.empty() ? " (" : ", ";
    text += word;
  };
  for (const auto &[bit, word] : words) {
    const bool is_mandatory = (bit & PyNativeCallable_MANDATORY_MASK) != 0;
    const bool is_missing = (asked.required & ~entry.flags & bit) != 0;
    if (is_mandatory && (entry.flags & ~asked.honoured & bit) != 0) add(word);
    if (is_mandatory && is_missing) {
      add(bit == PyNativeCallable_TAKES_SELF ? "does not take self"
                                             : ("not: " + std::string(word)).c_str());
    }
    if (!is_mandatory && is_missing) add(word);
  }
  const bool wants_self = (entry.flags & asked.honoured & PyNativeCallable_TAKES_SELF) != 0;
  if (wants_self && !is_unbound(callable) && self_of(callable) == nullptr) {
    add("takes self, which this function has none of");
  }
  return text.empty() ? text : text + ")";
}

/// What a callable without any table is, and what to do instead.
inline std::string advice(const PyTypedcall_Interface *interface, PyObject *callable) {
  PyTypeObject *type = Py_TYPE(callable);
  if (type == &PyFunction_Type) {
    return "it is a Python function, which has no C function behind it; call it boxed";
  }
  if (type == &PyMethod_Type) {
    return "it is a bound method of Python; resolve its __func__ and pass its __self__ first";
  }
  if (std::strcmp(type->tp_name, "functools.partial") == 0) {
    return "it is a functools.partial; resolve its func and pass its arguments along";
  }
  if (PyType_Check(callable)) {
    return "it is a type, which makes instances; resolve a function that makes them, or call it "
           "boxed";
  }
  // The second one's type object is not among what 3.13 shows.
  if (type == &PyWrapperDescr_Type || std::strcmp(type->tp_name, "method-wrapper") == 0) {
    return "it wraps a slot of a type and has no PyMethodDef; call it boxed";
  }
  if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type) {
    return std::string("it is a ") + type->tp_name + " object; resolve what a class gives for it";
  }
  if (def_of(callable) != nullptr) {
    return interface != nullptr ? "nobody has tagged it (typedcall/tag.h)"
                                : "only its flag bits and symbol were looked at, without an "
                                  "interface";
  }
  if (PyCustomSlots_Find(callable, PYCUSTOMSLOT_NATIVECALLABLE_ID,
                         PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS) != nullptr) {
    return slot_is_what_python_calls(type)
               ? "its native-callable slot (SEP 201) has nothing in it now"
               : std::string("'") + type->tp_name +
                     "' overrides __call__, of which its native-callable slot (SEP 201) is not";
  }
  return std::string("'") + type->tp_name +
         "' objects are no builtin functions, and this one has " +
         (interface != nullptr ? "neither a native-callable slot (SEP 201) nor a tag"
                               : "no native-callable slot (SEP 201)");
}

/// Sets the TypeError for a request that nothing of what `callable` has answers. GIL: held.
inline void set_refusal(const PyTypedcall_Interface *interface, PyObject *callable,
                        const request &asked) {
  // Attributes are not looked up while an exception is pending; ours replaces it anyway.
  PyErr_Clear();
  const std::string name = name_of(callable);
  // Of a class method, only what the dictionary of its class has is not callable by itself.
  if (!PyCallable_Check(callable) && !is_unbound(callable)) {
    PyErr_Format(PyExc_TypeError, "%s is not callable", name.c_str());
    return;
  }
  std::string offered;
  visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place) {
    for (Py_ssize_t i = 0; i < table.count; ++i) {
      const PyNativeCallableEntry &entry = table.entries[i];
      if (entry.signature == nullptr) continue;
      offered += (offered.empty() ? "'" : ", '") + std::string(entry.signature) + "'" +
                 obstacles(entry, asked, callable);
    }
    return false;
  });
  if (offered.empty()) {
    PyErr_Format(PyExc_TypeError, "%s offers no native signature; '%s' was asked for: %s",
                 name.c_str(), asked.signature, advice(interface, callable).c_str());
  } else if (is_unbound(callable) && !asked.unbound) {
    PyErr_Format(
        PyExc_TypeError,
        "%s is an unbound method, whose first argument is %s '%.100s'; bind it, or ask for "
        "an unbound function; it offers %s",
        name.c_str(), Py_TYPE(callable) == &PyMethodDescr_Type ? "a" : "a subclass of",
        PyDescr_TYPE(callable)->tp_name, offered.c_str());
  } else {
    PyErr_Format(PyExc_TypeError, "%s does not offer '%s'; it offers %s", name.c_str(),
                 asked.signature, offered.c_str());
  }
}

}  // namespace typedcall::internal

#endif  // TYPEDCALL_REFUSALS_H_
// ---- typedcall/resolve.h, continued

namespace typedcall {

/// An entry that was found, with its own copy of the signature.
struct resolution {
  std::string signature;  ///< as the provider spells it, not as it was asked for
  std::uintptr_t flags = 0;
  void *funcptr = nullptr;
  place where = place::instance_slot;
  /// The callable. As long as it lives, `funcptr` and `self` are valid: it has references to the
  /// module, instance or class that it is bound to, or to the type that it is a method of, and with
  /// them to whatever owns its PyMethodDef. What is untagged stays callable, too.
  object_ref keep_alive;
  /// safe: the consumer converts from and to what it asked for (typedcall/casting.h).
  casting how = casting::exact;
  /// With TAKES_SELF, the first argument: see self_of(). Null for an unbound method, where the
  /// consumer checks a self of its own with check_self(). Borrowed from `keep_alive`.
  PyObject *self = nullptr;
  /// Of a METH_METHOD function: the class that its Python wrapper is given. Native functions are
  /// not; one that wants it asks self's type for its module. Borrowed from `keep_alive`.
  PyTypeObject *defining_class = nullptr;
};

namespace internal {

inline event found_in(place where) {
  return static_cast<event>(static_cast<unsigned>(event::found_instance_slot) +
                            static_cast<unsigned>(where));
}

/// The cheapest entry that the consumer could convert for. As find_entry().
template <class Found>
bool find_safe_entry(const PyTypedcall_Interface *interface, PyObject *callable,
                     const request &asked, const Found &found) {
  PyNativeSignature parsed;
  if (PyNativeSignature_ParseString(asked.signature, &parsed, nullptr) < 0) return false;
  int best = std::numeric_limits<int>::max();
  visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place) {
    select_cheapest(table, asked, parsed, &best);
    return false;
  });
  // A table may last for the visit only, so the entry is looked for once more.
  int below = best == std::numeric_limits<int>::max() ? 0 : best + 1;
  return visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place where) {
    const auto *entry = select_cheapest(table, asked, parsed, &below);
    if (entry == nullptr) return false;
    found(*entry, where, casting::safe);
    return true;
  });
}

/// Calls found(entry, place, casting) with the best entry, which may last for that call only.
/// False if there is none. Sets no exception. GIL: held.
template <class Found>
bool find_entry(const PyTypedcall_Interface *interface, PyObject *callable, const request &asked,
                const Found &found) {
  if (asked.signature == nullptr) return false;
  if (is_unbound(callable)) {
    if (!asked.unbound) return false;
  } else if ((asked.honoured & PyNativeCallable_TAKES_SELF) != 0 && self_of(callable) == nullptr) {
    request without_self = asked;
    without_self.honoured &= ~PyNativeCallable_TAKES_SELF;
    return find_entry(interface, callable, without_self, found);
  }
  const bool is_found =
      visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place where) {
        const auto *entry = select(table, asked);
        if (entry == nullptr) return false;
        const bool is_exact = is_same_text(entry->signature, asked.signature);
        found(*entry, where, is_exact ? casting::exact : casting::equivalent);
        return true;
      });
  if (is_found || asked.allowed != casting::safe) return is_found;
  return find_safe_entry(interface, callable, asked, found);
}

/// Counts what find_entry() has found.
inline void count_found(bool is_found, place where) {
  stats::add(is_found ? found_in(where) : event::found_nothing);
}

}  // namespace internal

/// The entry of `callable` that answers `asked` best. Place by place, in the order of
/// typedcall::place: the very text, else the first of the same widths and classes. If no place has
/// one and that is asked for, the entry of them all with the cheapest safe conversions, the first
/// of several. Nothing, without an exception, when there is none. `interface` comes from
/// PyTypedcall_Import(); null: only what needs no side table is looked at. The object may be
/// anything. GIL: held.
inline std::optional<resolution> find(const PyTypedcall_Interface *interface, PyObject *callable,
                                      const request &asked) {
  std::optional<resolution> made;
  internal::find_entry(interface, callable, asked,
                       [&](const PyNativeCallableEntry &entry, place where, casting how) {
                         made.emplace();
                         made->signature = entry.signature;
                         made->flags = entry.flags;
                         made->funcptr = entry.funcptr;
                         made->where = where;
                         made->keep_alive = object_ref::borrow(callable);
                         made->how = how;
                         made->self = self_of(callable);
                         made->defining_class = defining_class_of(callable);
                       });
  internal::count_found(made.has_value(), made ? made->where : place());
  return made;
}

/// The same for a signature (canonical text) and what the consumer can honour. With TAKES_SELF
/// among that it passes `resolution::self`. GIL: held.
inline std::optional<resolution> find(const PyTypedcall_Interface *interface, PyObject *callable,
                                      const char *signature, honours honoured = 0) {
  request asked;
  asked.signature = signature;
  asked.honoured = honoured;
  return find(interface, callable, asked);
}

/// Every entry of `callable`, usable or not: visit(entry, place) is called for each. GIL: held.
template <class Visitor>
void for_each_entry(const PyTypedcall_Interface *interface, PyObject *callable, Visitor &&visit) {
  internal::visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place where) {
    for (Py_ssize_t i = 0; i < table.count; ++i) {
      if (table.entries[i].signature != nullptr) visit(table.entries[i], where);
    }
    return false;
  });
}

/// As find(), but says why not: nothing is returned with ValueError for a faulty signature (its
/// position is named) and TypeError, which lists what is offered or says what kind of callable this
/// is and what to do instead, for everything else. These replace a pending exception; success keeps
/// it, and with a null `interface` it is the answer. GIL: held.
inline std::optional<resolution> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                                         const request &asked) {
  // A failed PyTypedcall_Import() may be passed on as it is: its exception says more than ours.
  if (interface == nullptr && PyErr_Occurred()) return std::nullopt;
  PyNativeSignature_Fault fault;
  if (PyNativeSignature_ParseString(asked.signature, nullptr, &fault) < 0) {
    PyErr_Format(PyExc_ValueError, "signature '%.200s' at position %zu: %s",
                 asked.signature != nullptr ? asked.signature : "", fault.position, fault.reason);
    return std::nullopt;
  }
  auto found = find(interface, callable, asked);
  if (!found) internal::set_refusal(interface, callable, asked);
  return found;
}

inline std::optional<resolution> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                                         const char *signature, honours honoured = 0) {
  request asked;
  asked.signature = signature;
  asked.honoured = honoured;
  return resolve(interface, callable, asked);
}

namespace internal {

/// The request for a function that is called with its arguments alone.
template <class Signature>
request plain_request(honours honoured) {
  request asked;
  asked.signature = signature_of<Signature>::text;
  asked.honoured = honoured & ~PyNativeCallable_TAKES_SELF;
  return asked;
}

/// The request for one that is called with self first.
template <class Signature>
request self_request(honours honoured, bool unbound) {
  request asked = plain_request<Signature>(honoured);
  asked.honoured |= PyNativeCallable_TAKES_SELF;
  asked.required = PyNativeCallable_TAKES_SELF;
  asked.unbound = unbound;
  return asked;
}

/// The function that answers a request, made by `make(address, flags)`, or an empty one. The text
/// needs no check: it comes from a C++ type.
template <class Made, class Make>
Made find_typed(const PyTypedcall_Interface *interface, PyObject *callable, const request &asked,
                bool explain, const Make &make) {
  // See resolve().
  if (explain && interface == nullptr && PyErr_Occurred()) return {};
  void *funcptr = nullptr;
  std::uintptr_t flags = 0;
  place found_at = place();
  find_entry(interface, callable, asked,
             [&](const PyNativeCallableEntry &entry, place where, casting) {
               funcptr = entry.funcptr;
               flags = entry.flags;
               found_at = where;
             });
  count_found(funcptr != nullptr, found_at);
  if (funcptr != nullptr) return make(reinterpret_cast<typename Made::pointer>(funcptr), flags);
  if (explain) set_refusal(interface, callable, asked);
  return {};
}

template <class Signature>
function<Signature> find_function(const PyTypedcall_Interface *interface, PyObject *callable,
                                  honours honoured, bool explain) {
  using made = function<Signature>;
  return find_typed<made>(interface, callable, plain_request<Signature>(honoured), explain,
                          [&](typename made::pointer address, std::uintptr_t flags) {
                            return made(address, flags, object_ref::borrow(callable));
                          });
}

template <class Signature>
bound_function<Signature> find_bound(const PyTypedcall_Interface *interface, PyObject *callable,
                                     honours honoured, bool explain) {
  using made = bound_function<Signature>;
  return find_typed<made>(interface, callable, self_request<Signature>(honoured, false), explain,
                          [&](typename made::pointer address, std::uintptr_t flags) {
                            return made(address, flags, object_ref::borrow(self_of(callable)),
                                        object_ref::borrow(callable));
                          });
}

template <class Signature>
unbound_function<Signature> find_unbound(const PyTypedcall_Interface *interface, PyObject *callable,
                                         honours honoured, bool explain) {
  using made = unbound_function<Signature>;
  return find_typed<made>(interface, callable, self_request<Signature>(honoured, true), explain,
                          [&](typename made::pointer address, std::uintptr_t flags) {
                            return made(address, flags, object_ref::borrow(callable));
                          });
}

/// Sets the TypeError that a callable which is no unbound method gets where one is wanted.
inline bool expect_unbound(const PyTypedcall_Interface *interface, PyObject *callable) {
  if (is_unbound(callable) || (interface == nullptr && PyErr_Occurred())) return true;
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "%s is not an unbound method of a type; ask for a bound function",
               name_of(callable).c_str());
  return false;
}

}  // namespace internal

/// find<double(double)>(interface, callable): the typed function, or an empty one without an
/// exception. Entries that take self are never among what is found, whatever `honoured` says: they
/// have another C type. GIL: held.
template <class Signature>
function<Signature> find(const PyTypedcall_Interface *interface, PyObject *callable,
                         honours honoured = 0) {
  return internal::find_function<Signature>(interface, callable, honoured, false);
}

/// As find<Signature>(), but an empty function comes with the exception of resolve(). GIL: held.
template <class Signature>
function<Signature> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                            honours honoured = 0) {
  return internal::find_function<Signature>(interface, callable, honoured, true);
}

/// Of a bound method, a module's function or an instance with a table: the entry that takes self,
/// and that self; `Signature` does not show it. Empty, without an exception, when there is no such
/// entry. GIL: held.
template <class Signature>
bound_function<Signature> find_bound(const PyTypedcall_Interface *interface, PyObject *callable,
                                     honours honoured = 0) {
  return internal::find_bound<Signature>(interface, callable, honoured, false);
}

/// As find_bound(), with the exception of resolve(). GIL: held.
template <class Signature>
bound_function<Signature> resolve_bound(const PyTypedcall_Interface *interface, PyObject *callable,
                                        honours honoured = 0) {
  return internal::find_bound<Signature>(interface, callable, honoured, true);
}

/// Of an unbound method (`Type.method`, or a class method in its type's dictionary): the entry that
/// takes self. Empty, without an exception, when there is none. GIL: held.
template <class Signature>
unbound_function<Signature> find_unbound(const PyTypedcall_Interface *interface, PyObject *callable,
                                         honours honoured = 0) {
  if (!internal::is_unbound(callable)) return {};
  return internal::find_unbound<Signature>(interface, callable, honoured, false);
}

/// As find_unbound(), with the exception of resolve(), or a TypeError for what is no unbound
/// method. GIL: held.
template <class Signature>
unbound_function<Signature> resolve_unbound(const PyTypedcall_Interface *interface,
                                            PyObject *callable, honours honoured = 0) {
  if (!internal::expect_unbound(interface, callable)) return {};
  return internal::find_unbound<Signature>(interface, callable, honoured, true);
}

}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_H_
// ---- typedcall/call_site.h, continued
// resolve.h comes first, because of Python.h.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

// ---- typedcall/site_memory.h
// What a call site remembers of the callables that it has seen, and when that still holds.
// Used by typedcall/call_site.h.
#ifndef TYPEDCALL_SITE_MEMORY_H_
#define TYPEDCALL_SITE_MEMORY_H_

// places.h comes first, because of Python.h.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace typedcall::internal {

// What makes a memory hold, without ever looking at something that may be gone:
//  - The callable is at the remembered address now, and the caller has a reference to it. Others
//    may have been there in between, so its PyMethodDef must be the remembered one as well.
//  - The def may be another one at the address of a freed one, or say something else by now. What
//    rows of the side table and sibling symbols say is remembered with a stamp: a row is removed
//    before its def or object is freed, every row that comes or goes changes the interpreter's
//    counters, which make the stamp, and a def that has a symbol is never freed.
//  - What stands behind `ml_name` is remembered with that name's address, and only if def, name,
//    table and text are static data of one shared object, which is never freed.
//  - All other tables, in instances and on the heap, say nothing when they change or are freed, and
//    are read anew each time.

/// What is remembered: everything is a copy, so nothing that was freed is looked at.
struct remembered {
  const PyObject *callable;  // an address, nothing more
  std::uintptr_t identity;   // of what was there: see identity_of
  std::uint64_t evidence;    // that it still holds: a stamp, or the address of a name
  void *funcptr;             // null: nothing is offered, or it is to be read anew
  std::uint32_t flags : 24;  // usable entries have none above
  std::uint32_t where : 4;
  std::uint32_t how : 4;
  std::uint32_t spelling;
};

/// The def of a function or of an unbound method, or the type of anything else, and which of these.
inline std::uintptr_t identity_of(PyObject *callable) {
  if (is_builtin(callable)) return reinterpret_cast<std::uintptr_t>(def_of(callable));
  const PyMethodDef *def = def_of(callable);
  if (def != nullptr) return reinterpret_cast<std::uintptr_t>(def) | 1;
  return reinterpret_cast<std::uintptr_t>(Py_TYPE(callable)) | 2;
}

inline std::uint64_t address_of_name(const PyMethodDef *def) {
  return reinterpret_cast<std::uintptr_t>(def->ml_name);
}

/// Are def, name, entry and text part of one shared object or of the program, for as long as it
/// lasts? About a microsecond.
inline bool is_static(const PyMethodDef *def, const PyNativeCallableEntry *entry) {
#ifdef __ELF__
  PyTypedMethod_Internal_Object object;
  object.address = def;
  object.objects_seen = 0;
  return dl_iterate_phdr(PyTypedMethod_Internal_Note, &object) != 0 &&
         PyTypedMethod_Internal_Holds(&object, def, sizeof(*def)) &&
         PyTypedMethod_Internal_Room(&object, def->ml_name) != 0 &&
         PyTypedMethod_Internal_Holds(&object, entry, sizeof(*entry)) &&
         PyTypedMethod_Internal_Room(&object, entry->signature) != 0;
#else
  return def == nullptr && entry == nullptr;
#endif
}

/// GIL: held for everything; of the interpreter whose interface is passed.
class site_memory {
 public:
  site_memory() = default;
  site_memory(const site_memory &) = delete;
  site_memory &operator=(const site_memory &) = delete;

  /// Changes with every row of the interpreter's side table that comes or goes.
  static std::uint64_t stamp(const PyTypedcall_Interface *interface) {
    if (interface == nullptr) return 0;
    PyTypedcall_Counters counters;
    // The first two only, which is quicker.
    interface->counters(interface->state, &counters, 2 * sizeof(counters.rows_added));
    return counters.rows_added + counters.rows_removed;
  }

  /// What holds for `callable`, or null.
  const remembered *recall(const PyTypedcall_Interface *interface, PyObject *callable) const {
    const remembered *slot = look_up(callable);
    if (slot == nullptr) return nullptr;
    if (slot->where == static_cast<unsigned>(place::method_def)) {
      const PyMethodDef *def = def_of(callable);
      const bool holds = slot->funcptr != nullptr && slot->evidence == address_of_name(def) &&
                         (def->ml_flags & METH_TYPED) != 0;
      return holds ? slot : nullptr;
    }
    if (slot->evidence != stamp(interface)) return nullptr;
    // That nothing is offered is remembered of functions only, and holds until they get flag bits.
    if (slot->funcptr == nullptr && (def_of(callable)->ml_flags & METH_TYPED) != 0) return nullptr;
    return slot;
  }

  /// May an entry, or null for none, be remembered that was found there, and with which evidence?
  /// `before` is the stamp from before the search: what has changed since has not been seen.
  bool may_remember(PyObject *callable, const PyNativeCallableEntry *entry, place where,
                    std::uint64_t before, std::uint64_t *evidence) {
    const PyMethodDef *def = is_builtin(callable) ? def_of(callable) : nullptr;
    *evidence = before;
    if (entry == nullptr) return def != nullptr && (def->ml_flags & METH_TYPED) == 0;
    if (where == place::method_def && def != nullptr) {
      *evidence = address_of_name(def);
      if (is_read_anew(callable)) return false;
      if (is_static(def, entry)) return true;
      remember(callable, *evidence, nullptr, 0, where, casting::exact, 0);
      return false;
    }
    return where == place::side_table_def || where == place::side_table_object ||
           where == place::sibling_symbol;
  }

  /// Has this function been looked at, and found to be on the heap with all that it offers?
  bool is_read_anew(PyObject *callable) const {
    const remembered *slot = look_up(callable);
    return slot != nullptr && slot->where == static_cast<unsigned>(place::method_def) &&
           slot->funcptr == nullptr && slot->evidence == address_of_name(def_of(callable));
  }

  /// Remembers it. Does nothing when there is no memory.
  void remember(PyObject *callable, std::uint64_t evidence, void *funcptr, std::uintptr_t flags,
                place where, casting how, std::uint32_t spelling) {
    const remembered found = {callable,
                              identity_of(callable),
                              evidence,
                              funcptr,
                              static_cast<std::uint32_t>(flags) & 0xffffff,
                              static_cast<std::uint32_t>(where) & 0xf,
                              static_cast<std::uint32_t>(how) & 0xf,
                              spelling};
    if (where != place::method_def) latest_ = evidence;
    if (used_ * 4 >= capacity_ && capacity_ < kLargest) make_room();
    if (capacity_ != 0) *slot_for(found) = found;
  }

  /// A number for the text, which is kept as long as this. Throws std::bad_alloc.
  std::uint32_t spell(const char *signature) {
    for (std::size_t i = 0; i < spellings_.size(); ++i) {
      if (*spellings_[i] == signature) return static_cast<std::uint32_t>(i);
    }
    spellings_.push_back(std::make_unique<std::string>(signature));
    return static_cast<std::uint32_t>(spellings_.size() - 1);
  }
  const char *spelling(std::uint32_t number) const { return spellings_[number]->c_str(); }

 private:
  static constexpr std::size_t kProbes = 4;
  static constexpr std::size_t kSmallest = 64, kLargest = 8192;
  static constexpr remembered kNothing[2] = {};  // what the highest bit finds

  std::size_t home_of(const PyObject *callable) const {
    // Allocators put objects at regular distances, some of which one multiplication would not
    // spread.
    std::uint64_t bits = reinterpret_cast<std::uintptr_t>(callable);
    bits *= UINT64_C(0x9e3779b97f4a7c15);
    bits ^= bits >> 32;
    return static_cast<std::size_t>(bits * UINT64_C(0x9e3779b97f4a7c15) >> shift_);
  }

  /// The slot of that callable as it is now, or null.
  const remembered *look_up(PyObject *callable) const {
    const remembered *slot = slots_ + home_of(callable);
    for (std::size_t i = 0; slot->callable != callable; ++slot) {
      if (slot->callable == nullptr || ++i == kProbes) return nullptr;
    }
    return slot->identity == identity_of(callable) ? slot : nullptr;
  }

  /// Might it still hold, as far as can be seen here?
  bool is_current(const remembered &slot) const {
    return slot.callable != nullptr &&
           (slot.where == static_cast<unsigned>(place::method_def) || slot.evidence == latest_);
  }

  /// Where this belongs: where its callable stands, else the first free one, else one that no
  /// longer holds, else its home.
  remembered *slot_for(const remembered &found) {
    remembered *home = slots_memory_.get() + home_of(found.callable), *stale = nullptr;
    for (remembered *slot = home; slot != home + kProbes; ++slot) {
      if (slot->callable == found.callable) return slot;
      if (slot->callable == nullptr) {
        ++used_;
        return slot;
      }
      if (stale == nullptr && !is_current(*slot)) stale = slot;
    }
    return stale != nullptr ? stale : home;
  }

  /// A quarter is full: leaves out what no longer holds, and doubles what is still too small.
  __attribute__((noinline)) void make_room() {
    std::size_t live = 0;
    for (std::size_t i = 0; i < length(); ++i) live += is_current(slots_[i]);
    std::size_t capacity = kSmallest;
    while (capacity < kLargest && live * 8 >= capacity) capacity *= 2;
    std::unique_ptr<remembered[]> fresh(new (std::nothrow) remembered[capacity + kProbes - 1]());
    if (fresh == nullptr) return;
    const std::size_t old_length = length();
    const std::unique_ptr<remembered[]> old = std::exchange(slots_memory_, std::move(fresh));
    slots_ = slots_memory_.get();
    capacity_ = capacity;
    shift_ = 64;
    for (std::size_t i = capacity; i > 1; i /= 2) --shift_;
    used_ = 0;
    for (std::size_t i = 0; i < old_length; ++i) {
      if (is_current(old[i])) *slot_for(old[i]) = old[i];
    }
  }

  std::size_t length() const { return capacity_ == 0 ? 0 : capacity_ + kProbes - 1; }

  const remembered *slots_ = kNothing;
  unsigned shift_ = 63;
  std::size_t capacity_ = 0, used_ = 0;
  std::uint64_t latest_ = 0;  // the newest stamp
  std::unique_ptr<remembered[]> slots_memory_;
  std::vector<std::unique_ptr<std::string>> spellings_;
};

}  // namespace typedcall::internal

#endif  // TYPEDCALL_SITE_MEMORY_H_
// ---- typedcall/call_site.h, continued

namespace typedcall {
namespace internal {

/// One search for a callable that is not remembered, and what may be remembered of it. Counts it.
class site_search {
 public:
  site_search(const PyTypedcall_Interface *interface, PyObject *callable)
      : callable_(callable),
        has_interface_(interface != nullptr),
        evidence_(site_memory::stamp(interface)) {}

  /// To be called while the entry lasts.
  void found(site_memory &memory, const PyNativeCallableEntry &entry, place where) {
    is_found_ = true;
    where_ = where;
    may_remember_ = memory.may_remember(callable_, &entry, where, evidence_, &evidence_);
  }

  /// To be called when the search is over.
  bool may_remember(site_memory &memory) {
    if (!is_found_) {
      may_remember_ = memory.may_remember(callable_, nullptr, where_, evidence_, &evidence_);
    }
    // Without an interface there is no stamp, and the next one may have one.
    if (!has_interface_ && where_ != place::method_def) may_remember_ = false;
    count_found(is_found_, where_);
    stats::add(may_remember_ ? event::cache_miss : event::cache_bypassed);
    return may_remember_;
  }

  std::uint64_t evidence() const { return evidence_; }
  place where() const { return where_; }

 private:
  PyObject *callable_;
  bool has_interface_, is_found_ = false, may_remember_ = false;
  place where_ = place::instance_slot;
  std::uint64_t evidence_;
};

/// Is this text, which may be any, that of the C++ type? Unrolled, and read up to the first
/// difference only.
template <class Signature, std::size_t... i>
bool is_text_of(const char *text, std::index_sequence<i...>) {
  return ((text[i] == signature_of<Signature>::text[i]) && ...);
}

/// The entry with the very text in the table behind a function's name, or null: what find() comes
/// upon first, without what it does for everything else.
template <class Signature>
const PyNativeCallableEntry *first_with(PyObject *callable, const request &asked) {
  constexpr std::size_t length = std::char_traits<char>::length(signature_of<Signature>::text) + 1;
  if (!is_builtin(callable)) return nullptr;
  const PyNativeCallableTable *table = PyTypedMethod_Table(def_of(callable));
  if (table == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < table->count; ++i) {
    const PyNativeCallableEntry &entry = table->entries[i];
    if (entry.signature == nullptr) continue;
    if (!is_text_of<Signature>(entry.signature, std::make_index_sequence<length>())) continue;
    if (is_open(entry, asked)) return &entry;
  }
  return nullptr;
}

}  // namespace internal

/// What a run-time call site finds: an entry, without references.
struct site_entry {
  const char *signature = nullptr;  ///< as the provider spells it; null: nothing was found
  std::uintptr_t flags = 0;
  void *funcptr = nullptr;
  PyObject *self = nullptr;  ///< as resolution::self
  place where = place::instance_slot;
  casting how = casting::exact;

  explicit operator bool() const { return funcptr != nullptr; }
};

/// Answers one request for many callables, whatever the request is. Belongs to one interpreter: it
/// is made with that interpreter's interface (null: nothing is remembered, and only what needs no
/// side table is looked at) and kept in module state. Methods: GIL held. It holds no reference to
/// any callable; what it finds is valid while the caller has one and nobody untags the callable.
class dynamic_call_site {
 public:
  /// `asked` is what each callable is asked. Copies the signature. Throws std::bad_alloc.
  dynamic_call_site(const PyTypedcall_Interface *interface, const request &asked)
      : interface_(interface),
        signature_(asked.signature != nullptr ? asked.signature : ""),
        asked_(asked) {
    asked_.signature = signature_.c_str();
  }
  dynamic_call_site(const dynamic_call_site &) = delete;
  dynamic_call_site &operator=(const dynamic_call_site &) = delete;

  /// What find(interface, callable, request) finds, or nothing without an exception. The signature
  /// lives as long as the call site. Throws std::bad_alloc.
  site_entry find(PyObject *callable) {
    if (const internal::remembered *known = memory_.recall(interface_, callable)) {
      PyObject *self = self_of(callable);
      // Another function of the same def may stand at the address now, and have no self.
      const bool takes_self = (known->flags & PyNativeCallable_TAKES_SELF) != 0;
      if (!takes_self || self != nullptr || internal::is_unbound(callable)) {
        stats::add(event::cache_hit);
        if (known->funcptr == nullptr) return {};
        return {memory_.spelling(known->spelling),
                known->flags,
                known->funcptr,
                self,
                static_cast<place>(known->where),
                static_cast<casting>(known->how)};
      }
    }
    return look(callable);
  }

  /// The same, but nothing comes with the exception of resolve().
  site_entry resolve(PyObject *callable) {
    const site_entry found = find(callable);
    if (!found) typedcall::resolve(interface_, callable, asked_);  // says why
    return found;
  }

 private:
  __attribute__((noinline)) site_entry look(PyObject *callable) {
    site_entry found;
    internal::site_search search(interface_, callable);
    std::uint32_t spelling = 0;
    internal::find_entry(interface_, callable, asked_,
                         [&](const PyNativeCallableEntry &entry, place where, casting how) {
                           spelling = memory_.spell(entry.signature);
                           found = {memory_.spelling(spelling), entry.flags, entry.funcptr,
                                    self_of(callable),          where,       how};
                           search.found(memory_, entry, where);
                         });
    // A function of the same def may have a self where this one has none, and be offered more.
    const bool depends_on_self =
        (asked_.honoured & PyNativeCallable_TAKES_SELF) != 0 && self_of(callable) == nullptr;
    if (search.may_remember(memory_) && (found || !depends_on_self)) {
      memory_.remember(callable, search.evidence(), found.funcptr, found.flags, found.where,
                       found.how, spelling);
    }
    return found;
  }

  const PyTypedcall_Interface *interface_;
  std::string signature_;
  request asked_;
  internal::site_memory memory_;
};

template <class Signature>
class call_site;

/// The same for a signature that is known at compile time, and functions that take their arguments
/// alone. Find once for each call, then call: `if (auto f = site.find(callable)) y = f(x);`.
template <class R, class... A>
class call_site<R(A...)> {
 public:
  /// As dynamic_call_site; throws nothing.
  explicit call_site(const PyTypedcall_Interface *interface, honours honoured = 0)
      : interface_(interface), asked_(internal::plain_request<R(A...)>(honoured)) {}
  call_site(const call_site &) = delete;
  call_site &operator=(const call_site &) = delete;

  /// What find<R(A...)>(interface, callable, honours) finds, or an empty function without an
  /// exception.
  function_view<R(A...)> find(PyObject *callable) {
    if (const internal::remembered *known = memory_.recall(interface_, callable)) {
      stats::add(event::cache_hit);
      return {reinterpret_cast<R (*)(A...)>(known->funcptr), known->flags};
    }
    return look(callable);
  }

  /// The same, but an empty function comes with the exception of resolve().
  function_view<R(A...)> resolve(PyObject *callable) {
    const auto found = find(callable);
    if (!found) typedcall::resolve(interface_, callable, asked_);  // says why
    return found;
  }

 private:
  __attribute__((noinline)) function_view<R(A...)> look(PyObject *callable) {
    // Of what is on the heap, the table behind the name is read on every call.
    if (const auto *entry = internal::first_with<R(A...)>(callable, asked_)) {
      if (memory_.is_read_anew(callable)) {
        stats::add(event::cache_bypassed);
        return {reinterpret_cast<R (*)(A...)>(entry->funcptr), entry->flags};
      }
    }
    internal::site_search search(interface_, callable);
    void *funcptr = nullptr;
    std::uintptr_t flags = 0;
    internal::find_entry(interface_, callable, asked_,
                         [&](const PyNativeCallableEntry &entry, place where, casting) {
                           funcptr = entry.funcptr;
                           flags = entry.flags;
                           search.found(memory_, entry, where);
                         });
    if (search.may_remember(memory_)) {
      memory_.remember(callable, search.evidence(), funcptr, flags, search.where(), casting::exact,
                       0);
    }
    return {reinterpret_cast<R (*)(A...)>(funcptr), flags};
  }

  const PyTypedcall_Interface *interface_;
  request asked_;
  internal::site_memory memory_;
};

}  // namespace typedcall

#endif  // TYPEDCALL_CALL_SITE_H_

#endif  // TYPEDCALL_PROVIDER_SINGLE_FILE_H_
