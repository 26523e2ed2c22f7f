// Finds the table of a PyMethodDef through a symbol in the same shared object.
// PyTypedMethod_SIBLING (typedcall/typed_method.h) defines such symbols. Source: M. Bernstein,
// "Type information for faster Python C extensions"; docs/ABI.md, section 4.
#ifndef TYPEDCALL_SIBLING_SYMBOL_H_
#define TYPEDCALL_SIBLING_SYMBOL_H_

#include "typedcall/typed_method.h"

#if TYPEDCALL_IS_SUPPORTED && defined(__ELF__)
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

#if TYPEDCALL_IS_SUPPORTED && defined(__ELF__)

// The maximum number of readable segments in a shared object. Further segments are ignored.
#define PyTypedMethod_Internal_MOST_SEGMENTS 12

typedef struct PyTypedMethod_Internal_Object {
  const void *address;  // any address in the object
  const char *name;     // the name in the dynamic linker, or NULL for the program
  int objects_seen, segments;
  struct {
    uintptr_t start, end;
  } segment[PyTypedMethod_Internal_MOST_SEGMENTS];
} PyTypedMethod_Internal_Object;

// Returns the number of bytes from `address` to the end of its segment, or 0 if `address` is not in
// the object.
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

// True if a struct of `size` bytes at `address` is in the object and aligned for pointers.
static inline int PyTypedMethod_Internal_Holds(const PyTypedMethod_Internal_Object *object,
                                               const void *address, size_t size) {
  return (uintptr_t)address % sizeof(void *) == 0 &&
         PyTypedMethod_Internal_Room(object, address) >= size;
}

// Returns the length of a text, or `limit` if the text is longer or does not end in the object.
static inline size_t PyTypedMethod_Internal_Length(const PyTypedMethod_Internal_Object *object,
                                                   const char *text, size_t limit) {
  const size_t capacity = PyTypedMethod_Internal_Room(object, text);
  const void *end = capacity > 0 ? memchr(text, '\0', capacity < limit ? capacity : limit) : NULL;
  return end != NULL ? (size_t)((const char *)end - text) : limit;
}

// A callback for dl_iterate_phdr. Stops at the object that contains `address` and records its
// segments.
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
  // dl_iterate_phdr reports the program first.
  object->name = object->objects_seen++ > 0 ? info->dlpi_name : NULL;
  return PyTypedMethod_Internal_Room(object, object->address) > 0;
}

// True if the symbol table has an object of this size at this address. Always true with musl, which
// does not report symbols.
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

// Returns `_PyPyTyped_<name>` from the dynamic symbol table of the object, or NULL.
static inline const PyTypedMethod_Sibling *PyTypedMethod_Internal_Symbol(
    const PyTypedMethod_Internal_Object *object, const char *name, size_t length) {
  static const char prefix[] = "_PyPyTyped_";
  char symbol[sizeof(prefix) + sizeof(((PyPyTypedMethodMetadata *)0)->ml_name)];
  memcpy(symbol, prefix, sizeof(prefix) - 1);
  memcpy(symbol + sizeof(prefix) - 1, name, length + 1);
  // With RTLD_NOLOAD, dlopen() fails if the library is not already loaded.
  void *handle = dlopen(object->name, RTLD_LAZY | RTLD_NOLOAD);
  void *address = handle != NULL ? dlsym(handle, symbol) : NULL;
  if (handle == NULL || address == NULL) dlerror();  // clears the error
  if (handle != NULL) dlclose(handle);
  // dlsym() also searches the libraries with which this library is linked. Ignore their symbols.
  if (!PyTypedMethod_Internal_Holds(object, address, sizeof(PyTypedMethod_Sibling))) return NULL;
  if (!PyTypedMethod_Internal_IsSymbol(address, sizeof(PyTypedMethod_Sibling))) return NULL;
  return (const PyTypedMethod_Sibling *)address;
}

// True if `table` is valid. Flags are checked when an entry is chosen.
static inline int PyTypedMethod_Internal_IsTable(const PyTypedMethod_Internal_Object *object,
                                                 const PyNativeCallableTable *table) {
  const size_t header = offsetof(PyNativeCallableTable, entries);
  const size_t limit = PyNativeSignature_MAX_LENGTH + 1;
  if (!PyTypedMethod_Internal_Holds(object, table, header)) return 0;
  const size_t capacity = PyTypedMethod_Internal_Room(object, table) - header;
  if (table->count < 1 || (size_t)table->count > capacity / sizeof(PyNativeCallableEntry)) return 0;
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

/// Returns the table of the symbol `_PyPyTyped_<ml_name>` for `def`, or NULL. The symbol, its table
/// and the signatures must be in the shared object that contains the def. The symbol must contain
/// the address of this def. Returns NULL for defs on the heap, for names that are not C identifiers
/// or have more than 99 bytes, and on systems without ELF.
///
/// `def` may be any address, because only memory of loaded objects is read. May be called from any
/// thread and interpreter without the GIL. Calls no Python function and sets no exception. Takes
/// the lock of the dynamic linker and is slow, so search this place last and cache the result. The
/// table stays valid while the object is loaded. CPython never unloads shared objects. Clears the
/// error of dlerror().
static inline TYPEDCALL_COLD const PyNativeCallableTable *PyTypedMethod_SiblingTable(
    const PyMethodDef *def) {
#if TYPEDCALL_IS_SUPPORTED && defined(__ELF__)
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
