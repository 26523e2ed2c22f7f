// Lets an instance offer a table of native functions through the slot of SEP 201. The table can be
// replaced while other threads read it. Readers need only typedcall/native_callable.h.
#include "core/version.h"

#ifndef TYPEDCALL_NATIVE_CALLABLE_SLOT_H_
#define TYPEDCALL_NATIVE_CALLABLE_SLOT_H_

#include "typedcall/tag/native_table.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// How to add a table to the instances of a type:
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
// The type needs a tp_call (or vectorcall) that does the same as the entries. Consumers do not use
// the table of a class that overrides `__call__`. Python classes can derive from the type, because
// the C fields keep their offsets.
//
// A function with TAKES_SELF is called with the instance as its first argument. Callers need not
// check the type of self, because the table is found through the slot of that type. Without
// NEEDS_THREAD, several threads may call the function at once without the GIL. If the fields of the
// instance can change while the table offers the function, the entry must have NEEDS_THREAD.

// A published table and its signatures, in one block of memory.
typedef struct PyNativeCallableTables_Internal_Block {
  struct PyNativeCallableTables_Internal_Block *next;
  // followed by a PyNativeCallableTable and the signatures of its entries
} PyNativeCallableTables_Internal_Block;

/// A field of the instance struct. If all bytes are zero, as after tp_alloc, the instance has no
/// table. Source: SEP 201, "Description of custom slot".
typedef struct PyNativeCallableTables {
  const PyNativeCallableTable *table;             ///< the current table, or NULL
  PyNativeCallableTables_Internal_Block *blocks;  ///< all tables ever published, newest first
} PyNativeCallableTables;

/// Returns the slot for a PyNativeCallableTables at this offset in the instance. Make it the first
/// of the type's own slots, because consumers look there first. GIL: none.
static inline PyCustomSlot PyNativeCallableTables_SlotAt(Py_ssize_t objoffset) {
  PyCustomSlot slot;
  slot.id = PYCUSTOMSLOT_NATIVECALLABLE_ID;
  slot.data.objoffset = objoffset;
  return slot;
}

/// An initialiser for the slot. In C this is a constant.
#ifdef __cplusplus
#define PyNativeCallableTables_SLOT(Instance, field) \
  PyNativeCallableTables_SlotAt((Py_ssize_t)offsetof(Instance, field))
#else
#define PyNativeCallableTables_SLOT(Instance, field)                                       \
  {                                                                                        \
    PYCUSTOMSLOT_NATIVECALLABLE_ID, { .objoffset = (Py_ssize_t)offsetof(Instance, field) } \
  }
#endif

// The content of a table: `count` entries, followed by `one_more` unless that is NULL.
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

static inline int PyNativeCallableTables_Internal_Says(
    const PyNativeCallableTable *table, const PyNativeCallableTables_Internal_Content *content) {
  if (table->count != PyNativeCallableTables_Internal_Count(content)) return 0;
  // Some compiler options assume that the array has only one element, so a pointer is used.
  const PyNativeCallableEntry *existing = table->entries;
  for (Py_ssize_t i = 0; i < table->count; ++i, ++existing) {
    const PyNativeCallableEntry *entry = PyNativeCallableTables_Internal_At(content, i);
    if (!PyNativeCallable_EntriesAreEqual(existing, entry)) return 0;
  }
  return 1;
}

// Returns a new table, or NULL if memory runs out. The raw allocator does not need the GIL or an
// interpreter.
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
  PyNativeCallableEntry *copy = table->entries;
  for (Py_ssize_t i = 0; i < count; ++i, ++copy) {
    const PyNativeCallableEntry *entry = PyNativeCallableTables_Internal_At(content, i);
    const size_t length = strlen(entry->signature) + 1;
    *copy = *entry;
    copy->signature = (const char *)memcpy(text, entry->signature, length);
    text += length;
  }
  return block;
}

// Publishes a table with this content. An earlier table is reused if possible. Returns 0. If memory
// runs out, returns -1 without an exception.
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

/// Initialises an instance that tp_alloc has not zeroed. Call this once, in tp_new, because Python
/// code can call tp_init again. GIL: none.
static inline void PyNativeCallableTables_Init(PyNativeCallableTables *tables) {
  tables->table = NULL;
  tables->blocks = NULL;
}

/// Withdraws all entries. Never fails. Readers that already have the table can continue to use it.
/// GIL: as for PyNativeCallableTables_Set.
static inline void PyNativeCallableTables_Withdraw(PyNativeCallableTables *tables) {
  PyTypedcall_STORE_RELEASE(&tables->table, (const PyNativeCallableTable *)NULL);
}

/// Offers exactly these entries, in this order. If `count` is 0, withdraws all entries. The entries
/// and signatures are copied.
///
/// Threads that read without the GIL get either the old table or the new table. Readers hold only a
/// reference to the instance, so replaced tables are kept until the instance is destroyed. The
/// functions must also stay valid until then. A table with the same content is reused, so switching
/// between a few tables uses no more memory. Offer all overloads in one call if possible, because
/// each new table uses memory.
///
/// Returns 0 on success. On failure, returns -1 with an exception set and changes nothing. Raises
/// ValueError for an invalid entry or `count`. Raises MemoryError if memory runs out. GIL: held. On
/// free-threaded builds, callers must use Py_BEGIN_CRITICAL_SECTION(instance). Runs no Python code
/// on success. Source: SEP 201, "Description of custom slot".
static inline int PyNativeCallableTables_Set(PyNativeCallableTables *tables,
                                             const PyNativeCallableEntry *entries,
                                             Py_ssize_t count) {
  if (count < 0 || (count > 0 && entries == NULL)) {
    PyErr_Format(PyExc_ValueError, "native callable: %zd entries%s", count,
                 count < 0 ? "" : ", but no array");
    return -1;
  }
  if (PyNativeCallable_CheckEntries(entries, count, "native callable") < 0) return -1;
  if (count == 0) {
    PyNativeCallableTables_Withdraw(tables);
    return 0;
  }
  const PyNativeCallableTables_Internal_Content content = {entries, count, NULL};
  if (PyNativeCallableTables_Internal_Publish(tables, &content) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}

/// Adds an overload after the others, unless the table already contains an equal entry. The results
/// and requirements are those of PyNativeCallableTables_Set.
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
  if (PyNativeCallable_CheckEntry(entry, content.count, "native callable") < 0) return -1;
  for (Py_ssize_t i = 0; i < content.count; ++i) {
    if (PyNativeCallable_EntriesAreEqual(&content.entries[i], entry)) return 0;
  }
  if (PyNativeCallableTables_Internal_Publish(tables, &content) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}

/// Frees all tables. Call this only in tp_dealloc, because tables may still be read during
/// tp_finalize and tp_clear. Never fails. May be called twice. GIL: none.
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
