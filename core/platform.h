// Checks the compiler, the platform and the Python version, and hides their differences.
#include "core/version.h"

#ifndef TYPEDCALL_CORE_PLATFORM_H_
#define TYPEDCALL_CORE_PLATFORM_H_

#include <Python.h>

#include "core/compiler.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(PYPY_VERSION) && defined(Py_LIMITED_API)
#error "typedcall: PyPy has no limited API: compile for it without Py_LIMITED_API"
#endif
#if PY_VERSION_HEX < 0x03090000
#error "typedcall: needs CPython 3.9 or later, or PyPy for Python 3.9 or later"
#endif
#if defined(Py_LIMITED_API) && Py_LIMITED_API + 0 < 0x030C0000
#error "typedcall: the limited API is supported from 3.12 on (PEP 697): Py_LIMITED_API=0x030C0000"
#endif
#if defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030C0000
#error "typedcall: the limited API of 3.12 needs the headers of CPython 3.12 or later"
#endif
#if defined(Py_TARGET_ABI3T) && Py_LIMITED_API + 0 < 0x030F0000
#error "typedcall: abi3t is supported from 3.15 on (PEP 803): Py_TARGET_ABI3T=0x030F0000 alone"
#endif
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030D0000
#error "typedcall: free-threaded builds are supported from CPython 3.13 on"
#endif

#if TYPEDCALL_IS_SUPPORTED
// C99 has no atomics, and a C struct cannot contain C++'s, so both use the compiler's builtins.
#define PyTypedcall_LOAD_RELAXED(address) __atomic_load_n((address), __ATOMIC_RELAXED)
#define PyTypedcall_LOAD_ACQUIRE(address) __atomic_load_n((address), __ATOMIC_ACQUIRE)
#define PyTypedcall_STORE_RELEASE(address, value) \
  __atomic_store_n((address), (value), __ATOMIC_RELEASE)

// Loads a word with acquire order, and compares it with a value.
static inline int PyTC_EqualsAcquire(const uint64_t *word, uint64_t value) {
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // GCC's own atomic load takes one more instruction. On x86-64 every load has acquire order.
  int equal;
  __asm__ volatile("cmp{q %2, %1| %1, %2}" : "=@ccz"(equal) : "m"(*word), "er"(value) : "memory");
  return equal;
#else
  return PyTypedcall_LOAD_ACQUIRE(word) == value;
#endif
}

#define PyTypedcall_LIKELY(condition) __builtin_expect(!!(condition), 1)

// For a condition that is usually true, with both branches on the hot path.
#if (defined(__clang__) && __clang_major__ >= 11) || (!defined(__clang__) && __GNUC__ >= 9)
#define PyTypedcall_RATHER(condition) __builtin_expect_with_probability(!!(condition), 1, 0.6)
#else
#define PyTypedcall_RATHER(condition) (condition)
#endif

// Clang inlines a function completely or not at all. This macro keeps the rare part out of line.
#if defined(__clang__) && defined(__OPTIMIZE__)
#define PyTypedcall_RARE_PART __attribute__((noinline))
#else
#define PyTypedcall_RARE_PART
#endif
#if defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define PyTypedcall_IS_CUT 1
#define PyTypedcall_QUICK_PART __attribute__((always_inline))
#else
#define PyTypedcall_IS_CUT 0
#define PyTypedcall_QUICK_PART PyTypedcall_RARE_PART
#endif
#else  // without tags, modules share no data
#define PyTypedcall_LOAD_RELAXED(address) (*(address))
#define PyTypedcall_LOAD_ACQUIRE(address) (*(address))
#define PyTypedcall_STORE_RELEASE(address, value) (*(address) = (value))
#define PyTypedcall_LIKELY(condition) (condition)
#endif  // TYPEDCALL_IS_SUPPORTED

#ifdef __cplusplus
#define PyTypedcall_STATIC_ASSERT(condition, words) static_assert(condition, #words)
#else
// `words` must be an identifier. The error message contains it.
#define PyTypedcall_STATIC_ASSERT(condition, words) \
  typedef char TYPEDCALL_INTERNAL_JOIN(words, __LINE__)[(condition) ? 1 : -1] TYPEDCALL_UNUSED
#endif

// A critical section on free-threaded builds. With the GIL these macros do nothing. Other threads
// may run when the block runs Python code or waits. Do not return or jump out of the block.
#ifdef Py_GIL_DISABLED
#define PyTypedcall_BEGIN_EXCLUSIVE(object) Py_BEGIN_CRITICAL_SECTION(object)
#define PyTypedcall_END_EXCLUSIVE() Py_END_CRITICAL_SECTION()
#else
#define PyTypedcall_BEGIN_EXCLUSIVE(object) \
  {                                         \
    (void)(object)
#define PyTypedcall_END_EXCLUSIVE() }
#endif

// For memory that outlives an interpreter or is freed without the GIL. Each module frees only its
// own memory, so limited API modules may use C's functions.
#ifdef Py_LIMITED_API
#define PyTypedcall_RAW_CALLOC(count, size) calloc((count), (size))
#define PyTypedcall_RAW_REALLOC(memory, size) realloc((memory), (size))
#define PyTypedcall_RAW_FREE(memory) free(memory)
#else
#define PyTypedcall_RAW_CALLOC(count, size) PyMem_RawCalloc((count), (size))
#define PyTypedcall_RAW_REALLOC(memory, size) PyMem_RawRealloc((memory), (size))
#define PyTypedcall_RAW_FREE(memory) PyMem_RawFree(memory)
#endif

#if !defined(Py_LIMITED_API) && !defined(PYPY_VERSION)
/// True if this thread has an attached thread state (holds the GIL). Needs neither the GIL nor an
/// interpreter, and sets no exception. Up to 3.11, a thread's second state counts as detached.
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
#endif  // the limited API and PyPy's cpyext have no such function

// Sets MemoryError. Always returns -1.
static inline int PyTC_NoMemory(void) {
  PyErr_NoMemory();
  return -1;
}

// Returns a new reference to `dict[key]`, or NULL, raised only on failure. May run Python code.
static inline PyObject *PyTC_GetItem(PyObject *dict, PyObject *key) {
#ifdef Py_GIL_DISABLED
  PyObject *value = NULL;
  (void)PyDict_GetItemRef(dict, key, &value);
#else
  PyObject *value = PyDict_GetItemWithError(dict, key);
  Py_XINCREF(value);
#endif
  return value;
}

// `dict.setdefault(key, value)`: a new reference, or NULL (raised). Atomic, even if keys run code.
static inline PyObject *PyTC_SetDefault(PyObject *dict, PyObject *key, PyObject *value) {
#ifdef Py_LIMITED_API
  return PyObject_CallMethod((PyObject *)&PyDict_Type, "setdefault", "OOO", dict, key, value);
#elif defined(Py_GIL_DISABLED)
  PyObject *existing = NULL;
  (void)PyDict_SetDefaultRef(dict, key, value, &existing);
  return existing;
#else
  PyObject *existing = PyDict_SetDefault(dict, key, value);
  Py_XINCREF(existing);
  return existing;
#endif
}

// PyTC_SetDefault for our own dictionaries, which the caller has locked, and for the interpreter's.
// If memory runs out, CPython 3.13's setdefault adds half an item and reports success. Not atomic
// if comparing keys runs Python code, as it can with keys that a program has added.
static inline PyObject *PyTC_SetDefaultOfOurs(PyObject *dict, PyObject *key, PyObject *value) {
#if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
  PyObject *existing = PyTC_GetItem(dict, key);
  if (existing != NULL || PyErr_Occurred()) return existing;
  if (PyDict_SetItem(dict, key, value) < 0) return NULL;
  Py_INCREF(value);
  return value;
#else
  return PyTC_SetDefault(dict, key, value);
#endif
}

// Calls one of the functions above (`set`) with a C string as the key.
static inline PyObject *PyTC_Settle(PyObject *(*set)(PyObject *, PyObject *, PyObject *),
                                    PyObject *dict, const char *name, PyObject *value) {
  PyObject *key = PyUnicode_FromString(name);
  PyObject *existing = key != NULL ? set(dict, key, value) : NULL;
  Py_XDECREF(key);
  return existing;
}

/// A pending exception that is set aside while other code runs.
typedef struct {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject *raised;
#else
  PyObject *type, *value, *traceback;
#endif
} PyTypedcall_SavedError;

/// Takes the pending exception, if any, from the thread. GIL: held.
static inline PyTypedcall_SavedError PyTypedcall_SaveError(void) {
  PyTypedcall_SavedError saved;
#if PY_VERSION_HEX >= 0x030C0000
  saved.raised = PyErr_GetRaisedException();
#else
  PyErr_Fetch(&saved.type, &saved.value, &saved.traceback);
#endif
  return saved;
}

/// Restores the saved exception and drops any exception set in between. GIL: held.
static inline void PyTypedcall_RestoreError(PyTypedcall_SavedError saved) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(saved.raised);
#else
  PyErr_Restore(saved.type, saved.value, saved.traceback);
#endif
}

#ifndef PYPY_VERSION
static inline int PyTC_RaiseInterrupt(void *unused) {
  (void)unused;
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  return -1;
}

// Call this before discarding any exception. A KeyboardInterrupt is raised again later. GIL: held.
static inline void PyTC_PostponeInterrupt(void) {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    (void)Py_AddPendingCall(PyTC_RaiseInterrupt, NULL);
  }
}
#endif

#endif  // TYPEDCALL_CORE_PLATFORM_H_
