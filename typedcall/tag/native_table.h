// Checks and compares the entries of a table.
#ifndef TYPEDCALL_TAG_NATIVE_TABLE_H_
#define TYPEDCALL_TAG_NATIVE_TABLE_H_

#include "typedcall/entry_view.h"
#include "typedcall/native_callable.h"
#include "typedcall/signature.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes the names of these flags to `text`: "PURE|SHORT", or "no flags". Bits without a name are
// written as a number. Returns `text`.
static inline TYPEDCALL_COLD const char *PyNativeCallable_Internal_FlagNames(uintptr_t flags,
                                                                             char text[256]) {
#define PyNativeCallable_Internal_ROW(NAME, WORDS) {PyNativeCallable_##NAME, #NAME},
  static const struct {
    uintptr_t flag;
    const char *name;
  } names[] = {PyNativeCallable_FLAG_LIST(PyNativeCallable_Internal_ROW)};
#undef PyNativeCallable_Internal_ROW
  size_t length = 0;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    if ((flags & names[i].flag) == 0) continue;
    length += (size_t)PyOS_snprintf(text + length, 256 - length, "%s%s", length != 0 ? "|" : "",
                                    names[i].name);
    flags &= ~names[i].flag;
  }
  if (flags != 0) {
    PyOS_snprintf(text + length, 256 - length, "%s%p", length != 0 ? "|" : "", (void *)flags);
  } else if (length == 0) {
    PyOS_snprintf(text, 256, "no flags");
  }
  return text;
}

/// Checks entry `i` of the callable `name`. Returns 0, or -1 with ValueError set. GIL: held.
static inline TYPEDCALL_COLD int PyNativeCallable_CheckEntry(const PyNativeCallableEntry *entry,
                                                             Py_ssize_t i, const char *name) {
  PyNativeSignature parsed;
  PyNativeSignature_Fault fault;
  if (entry->signature == NULL) {
    PyErr_Format(PyExc_ValueError, "%.100s: entry %zd has no signature", name, i);
    return -1;
  }
  if (PyNativeSignature_ParseString(entry->signature, &parsed, &fault) < 0) {
    PyErr_Format(PyExc_ValueError, "%.100s: entry %zd: signature '%.200s' at position %zu: %s",
                 name, i, entry->signature, fault.position, fault.reason);
    return -1;
  }
  const PyNativeView view = PyNativeView_Of(&parsed, entry->flags);
  if (entry->funcptr == NULL) {
    PyErr_Format(PyExc_ValueError, "%.100s: entry %zd, '%.200s', has no function", name, i,
                 entry->signature);
  } else if (view.is_usable) {
    return 0;
  } else if (!PyNativeCallable_FlagsAreUsable(entry->flags)) {
    const uintptr_t unknown = PyNativeCallable_ABI_MASK |
                              (PyNativeCallable_MANDATORY_MASK & ~PyNativeCallable_KNOWN_MASK);
    const char *why =
        "which contradict each other: ERROR_IS_NEG_ZERO needs MAY_RAISE, not RETURNS_STATUS";
    if (entry->flags > UINT32_MAX || (entry->flags & unknown) != 0) {
      why = "which contain bits without a meaning";
    } else if (PyNativeCallable_FlagsAreUsable(entry->flags | PyNativeCallable_NEEDS_THREAD)) {
      why = "which may set an exception without NEEDS_THREAD";
    } else if (view.may_fall_back) {
      why = "which contradict each other: a function that falls back sets no exception";
    }
    char flags[256];
    PyErr_Format(PyExc_ValueError, "%.100s: entry %zd, '%.200s', has flags %s, %s", name, i,
                 entry->signature, PyNativeCallable_Internal_FlagNames(entry->flags, flags), why);
  } else if (view.reports) {
    PyErr_Format(PyExc_ValueError, "%.100s: entry %zd, '%.200s', %s, but its result is not an int",
                 name, i, entry->signature, view.may_fall_back ? "falls back" : "returns a status");
  } else {
    PyErr_Format(PyExc_ValueError,
                 "%.100s: entry %zd, '%.200s', may raise, but its result cannot say so; report "
                 "errors by status (RETURNS_STATUS)",
                 name, i, entry->signature);
  }
  return -1;
}

/// Checks several entries. Returns 0, or -1 with ValueError set for the first invalid entry. GIL:
/// held.
static inline TYPEDCALL_COLD int PyNativeCallable_CheckEntries(const PyNativeCallableEntry *entries,
                                                               Py_ssize_t count, const char *name) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyNativeCallable_CheckEntry(&entries[i], i, name) < 0) return -1;
  }
  return 0;
}

/// Checks the table of the callable `name`. Returns 0, or -1 with ValueError set. GIL: held.
static inline TYPEDCALL_COLD int PyNativeCallable_CheckTable(const PyNativeCallableTable *table,
                                                             const char *name) {
  if (table == NULL || table->count < 1) {
    PyErr_Format(PyExc_ValueError, "%.100s: a tag needs at least one entry", name);
    return -1;
  }
  return PyNativeCallable_CheckEntries(table->entries, table->count, name);
}

/// True if two entries have the same signature, flags and address. GIL: none.
static inline int PyNativeCallable_EntriesAreEqual(const PyNativeCallableEntry *a,
                                                   const PyNativeCallableEntry *b) {
  return a->flags == b->flags && a->funcptr == b->funcptr &&
         strcmp(a->signature, b->signature) == 0;
}

/// True if two tables have the same signatures, flags and addresses, in the same order. GIL: none.
static inline int PyNativeCallable_TablesAreEqual(const PyNativeCallableTable *a,
                                                  const PyNativeCallableTable *b) {
  if (a->count != b->count) return 0;
  const PyNativeCallableEntry *x = a->entries, *y = b->entries;
  for (Py_ssize_t i = 0; i < a->count; ++i, ++x, ++y) {
    if (!PyNativeCallable_EntriesAreEqual(x, y)) return 0;
  }
  return 1;
}

// Sets a ValueError that shows the first difference between two tables. `advice` is its end.
static inline TYPEDCALL_COLD void PyNativeCallable_Internal_SetConflict(
    const char *name, const PyNativeCallableTable *other, const PyNativeCallableTable *table,
    const char *advice) {
  Py_ssize_t i = 0;
  while (i < other->count - 1 && i < table->count - 1 &&
         PyNativeCallable_EntriesAreEqual(&other->entries[i], &table->entries[i])) {
    ++i;
  }
  const PyNativeCallableEntry *existing = &other->entries[i], *offered = &table->entries[i];
  char its_flags[256], new_flags[256];
  PyErr_Format(
      PyExc_ValueError,
      "%.100s is tagged already: '%.100s' at %p, %s (overload %zd of %zd), stands, '%.100s' "
      "at %p, %s (of %zd), was offered%s",
      name, existing->signature, existing->funcptr,
      PyNativeCallable_Internal_FlagNames(existing->flags, its_flags), i + 1, other->count,
      offered->signature, offered->funcptr,
      PyNativeCallable_Internal_FlagNames(offered->flags, new_flags), table->count, advice);
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TAG_NATIVE_TABLE_H_
