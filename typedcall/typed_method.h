// METH_TYPED: metadata stored in memory before the `ml_name` of a PyMethodDef. Defines the structs,
// functions that read the metadata, and macros for tagged defs. Source: M. Bernstein,
// "Type information for faster Python C extensions"; PyPy's branch py3.10-mb-typed-sig-experiments;
// docs/ABI.md, section 4.
#include "core/version.h"

#ifndef TYPEDCALL_TYPED_METHOD_H_
#define TYPEDCALL_TYPED_METHOD_H_

#ifdef TYPEDCALL_METH_TYPED_H_
#error \
    "typedcall/meth_typed.h: its PyPyTypedMethodMetadata is not typedcall/typed_method.h's: use one"
#endif

#include "typedcall/native_callable.h"
#include "typedcall/signature.h"
#include "typedcall/typed_method/typed_entry.h"
// This header must come after Python.h.
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A bit of `ml_flags` for defs whose name is in a PyPyTypedMethodMetadata. Without METH_TYPED_EXT,
/// the name may also be in a PyTypedMethod_OneArgMetadata.
#define METH_TYPED 0x1000
/// A bit of `ml_flags`, used with METH_TYPED, for defs whose name is in a PyTypedMethodMetadata.
#define METH_TYPED_EXT 0x2000

/// PyPy's struct, with its layout. If a def has only METH_TYPED, the padding after `ret_type` must
/// be 0, as in static data. A struct that is allocated must be zeroed (calloc).
typedef struct PyPyTypedMethodMetadata {
  int *arg_types;           ///< a code for each argument, then -1
  int ret_type;             ///< the result's code; negative if the function can raise
  void *underlying_func;    ///< the C function, which has no parameter for self
  const char ml_name[100];  ///< the name that the def points to
} PyPyTypedMethodMetadata;

/// PyPy's type codes. Error values are in parentheses.
#ifndef T_C_LONG
#define T_C_LONG 1     // long (-1)
#define T_C_DOUBLE 2   // double (-0.0)
#define T_PY_OBJECT 3  // PyObject * (NULL)
#endif
/// The first element of `arg_types` if PyPy must not use the typed function.
#define PyTypedMethod_NOT_FOR_PYPY 0x100

/// The header that typedcall adds before PyPy's struct. New minor versions add fields at the start
/// and increase `size`, because readers start at `ml_name`.
typedef struct PyTypedMethodMetadata {
  const void *reserved;                ///< NULL in this version
  const PyNativeCallableTable *table;  ///< NULL if only `pypy` is used
  uint32_t size;                       ///< the number of bytes from the first field to `ml_name`
  uint16_t abi_major, abi_minor;       ///< 1, 0
  uint64_t magic;                      ///< PyTypedMethod_MAGIC
  PyPyTypedMethodMetadata pypy;
} PyTypedMethodMetadata;

#define PyTypedMethod_MAGIC UINT64_C(0x5059545950454431)
#define PyTypedMethod_ABI_MAJOR 1
#define PyTypedMethod_ABI_MINOR 0
/// The value of `size` in version 1.0. A header with a smaller size is invalid.
#define PyTypedMethod_SIZE_1_0 56
/// The value of `size` in this version.
#define PyTypedMethod_SIZE \
  ((uint32_t)(offsetof(PyTypedMethodMetadata, pypy) + offsetof(PyPyTypedMethodMetadata, ml_name)))

/// The struct from Bernstein's post, for METH_O functions. Readers can distinguish the structs,
/// because PyPy's struct has padding at the distance of this `ret_type` from the name.
typedef struct PyTypedMethod_OneArgMetadata {
  int arg_type;             ///< the argument's code
  int ret_type;             ///< the result's code, which is not 0
  void *underlying_func;    ///< the C function, which has no parameter for self
  const char ml_name[100];  ///< the name that the def points to
} PyTypedMethod_OneArgMetadata;

// --- Readers -----------------------------------------------------------------------------------
//
// In all readers, `def` may be any PyMethodDef or NULL. Readers may be called from any thread and
// interpreter without the GIL. They call no Python function and set no exception. They read memory
// before `ml_name` only if the flag bits and the size in the header show that the memory exists.

/// Returns the header that typedcall adds before the name. Returns NULL if the def does not have
/// both flag bits or the header is invalid.
static inline const PyTypedMethodMetadata *PyTypedMethod_Metadata(const PyMethodDef *def) {
  const int bits = METH_TYPED | METH_TYPED_EXT;
  if (!TYPEDCALL_IS_SUPPORTED) return NULL;
  if (def == NULL || def->ml_name == NULL || (def->ml_flags & bits) != bits) return NULL;
  const char *start = def->ml_name - PyTypedMethod_SIZE;
  if ((uintptr_t)start % sizeof(void *) != 0) return NULL;
  const PyTypedMethodMetadata *metadata = (const PyTypedMethodMetadata *)(const void *)start;
  if (metadata->magic != PyTypedMethod_MAGIC) return NULL;
  if (metadata->abi_major != PyTypedMethod_ABI_MAJOR) return NULL;
  return metadata->size >= PyTypedMethod_SIZE_1_0 ? metadata : NULL;
}

/// Returns the overloads of a def with a PyTypedMethodMetadata, or NULL. The table is valid while
/// the def lives.
static inline const PyNativeCallableTable *PyTypedMethod_Table(const PyMethodDef *def) {
  const PyTypedMethodMetadata *metadata = PyTypedMethod_Metadata(def);
  return metadata != NULL ? metadata->table : NULL;
}

/// The size of the longest signature that PyPy's codes can express, including the NUL.
#define PyTypedMethod_PYPY_LENGTH (PyNativeSignature_MAX_ARGS + 4)

// Returns METH_O, METH_FASTCALL, or 0 for any other calling convention. PyPy reads only these two.
static inline int PyTypedMethod_Internal_Convention(const PyMethodDef *def) {
  const int conventions =
      METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | METH_METHOD;
  const int convention = def->ml_flags & conventions;
  return convention == METH_O || convention == METH_FASTCALL ? convention : 0;
}

static inline char PyTypedMethod_Internal_Letter(int code) {
  return code == T_C_LONG ? 'l' : code == T_C_DOUBLE ? 'd' : code == T_PY_OBJECT ? 'O' : '\0';
}

// Writes the signature for `arg_types` and `ret_type`, and fills `entry`. Returns 1, or 0 if a code
// is unknown, there are more than `most` arguments, or the function is missing. Does not read past
// an unknown code.
static inline int PyTypedMethod_Internal_Spell(const int *arg_types, int most, int ret_type,
                                               void *function, PyNativeCallableEntry *entry,
                                               char signature[PyTypedMethod_PYPY_LENGTH]) {
  int nargs = 0;
  // Do not negate INT_MIN.
  const int raises = ret_type < 0 && ret_type > -PyTypedMethod_NOT_FOR_PYPY;
  const char result = PyTypedMethod_Internal_Letter(raises ? -ret_type : ret_type);
  if (result == '\0' || function == NULL) return 0;
  if (arg_types == NULL || (uintptr_t)arg_types % sizeof(int) != 0) return 0;
  for (; arg_types[nargs] != -1; ++nargs) {
    if (nargs == most) return 0;
    signature[nargs] = PyTypedMethod_Internal_Letter(arg_types[nargs]);
    if (signature[nargs] == '\0') return 0;
  }
  signature[nargs] = '-';
  signature[nargs + 1] = '>';
  signature[nargs + 2] = result;
  signature[nargs + 3] = '\0';
  entry->signature = signature;
  entry->funcptr = function;
  // PyPy holds the GIL during the call, so the function may need the GIL.
  entry->flags = PyNativeCallable_NEEDS_THREAD;
  if (raises) entry->flags |= PyNativeCallable_MAY_RAISE;
  if (raises && result == 'd') entry->flags |= PyNativeCallable_ERROR_IS_NEG_ZERO;
  return 1;
}

#if TYPEDCALL_IS_SUPPORTED
// The distance in bytes from the post's `ret_type` to the name. PyPy's padding has the same
// distance.
#define PyTypedMethod_Internal_TELLING               \
  (offsetof(PyTypedMethod_OneArgMetadata, ml_name) - \
   offsetof(PyTypedMethod_OneArgMetadata, ret_type))
PyTypedcall_STATIC_ASSERT(offsetof(PyPyTypedMethodMetadata, ml_name) -
                                  PyTypedMethod_Internal_TELLING ==
                              offsetof(PyPyTypedMethodMetadata, ret_type) + sizeof(int),
                          the_bytes_that_tell_the_structs_apart_are_padding_in_one);

// Returns the bytes that distinguish the two structs. 0 means PyPy's struct. Any other value is the
// post's `ret_type` or uninitialised padding.
static inline int PyTypedMethod_Internal_Telling(const PyMethodDef *def) {
  int telling;
  memcpy(&telling, def->ml_name - PyTypedMethod_Internal_TELLING, sizeof(telling));
  return telling;
}

/// Like PyTypedMethod_ReadPyPy, but reads only the struct in the METH_TYPED post. The caller must
/// know that the def has this struct, because a negative `ret_type` could also be padding.
static inline int PyTypedMethod_ReadOneArg(const PyMethodDef *def, PyNativeCallableEntry *entry,
                                           char signature[PyTypedMethod_PYPY_LENGTH]) {
  const int bits = METH_TYPED | METH_TYPED_EXT;
  if (def == NULL || def->ml_name == NULL || (def->ml_flags & bits) != METH_TYPED) return 0;
  if (PyTypedMethod_Internal_Convention(def) != METH_O) return 0;
  const char *start = def->ml_name - offsetof(PyTypedMethod_OneArgMetadata, ml_name);
  if ((uintptr_t)start % sizeof(void *) != 0 || PyTypedMethod_Internal_Telling(def) == 0) {
    return 0;
  }
  const PyTypedMethod_OneArgMetadata *metadata =
      (const PyTypedMethod_OneArgMetadata *)(const void *)start;
  const int arg_types[2] = {metadata->arg_type, -1};
  if (metadata->arg_type == -1) return 0;
  return PyTypedMethod_Internal_Spell(arg_types, 1, metadata->ret_type, metadata->underlying_func,
                                      entry, signature);
}

/// Reads the type codes in PyPy's struct or the post's struct. Fills `entry`, and writes its
/// signature to `signature`, which must live as long as the entry. Returns 1, or 0 if the def has
/// no such struct, has unknown codes, or has a negative `ret_type` in the post's struct.
static inline int PyTypedMethod_ReadPyPy(const PyMethodDef *def, PyNativeCallableEntry *entry,
                                         char signature[PyTypedMethod_PYPY_LENGTH]) {
  if (def == NULL || def->ml_name == NULL || (def->ml_flags & METH_TYPED) == 0) return 0;
  const int convention = PyTypedMethod_Internal_Convention(def);
  const char *start = def->ml_name - offsetof(PyPyTypedMethodMetadata, ml_name);
  if (convention == 0 || (uintptr_t)start % sizeof(void *) != 0) return 0;
  if ((def->ml_flags & METH_TYPED_EXT) != 0) {
    if (PyTypedMethod_Metadata(def) == NULL) return 0;
  } else if (PyTypedMethod_Internal_Telling(def) != 0) {
    // Functions with the post's struct do not raise, so a negative value is treated as
    // uninitialised padding.
    return PyTypedMethod_Internal_Telling(def) > 0 &&
           PyTypedMethod_ReadOneArg(def, entry, signature);
  }
  const PyPyTypedMethodMetadata *metadata = (const PyPyTypedMethodMetadata *)(const void *)start;
  const int most = convention == METH_O ? 1 : PyNativeSignature_MAX_ARGS;
  PyNativeCallableEntry read;
  if (!PyTypedMethod_Internal_Spell(metadata->arg_types, most, metadata->ret_type,
                                    metadata->underlying_func, &read, signature)) {
    return 0;
  }
  if (convention == METH_O && signature[0] == '-') return 0;  // METH_O without an argument
  *entry = read;
  return 1;
}

#else

static inline int PyTypedMethod_ReadOneArg(const PyMethodDef *def, PyNativeCallableEntry *entry,
                                           char signature[PyTypedMethod_PYPY_LENGTH]) {
  (void)def, (void)entry, (void)signature;
  return 0;
}
static inline int PyTypedMethod_ReadPyPy(const PyMethodDef *def, PyNativeCallableEntry *entry,
                                         char signature[PyTypedMethod_PYPY_LENGTH]) {
  (void)def, (void)entry, (void)signature;
  return 0;
}

#endif  // TYPEDCALL_IS_SUPPORTED

// --- How to write a def by hand ------------------------------------------------------------------
//
//   static long inc_impl(long x) { return x + 1; }
//   static PyObject *inc(PyObject *module, PyObject *x);   // the boxed wrapper, by hand
//   PyTypedMethod_DEFINE(inc_typed, "inc", {"l->l", 0, (void *)inc_impl});
//   static PyMethodDef methods[] = {
//       PyTypedMethod_METHOD_DEF(inc_typed, inc, METH_O, "Add one."), {NULL, NULL, 0, NULL}};
//   static const PyTypedMethodMetadata *const typed[] = {&inc_typed, NULL};
//   // in the module's Py_mod_exec function (typedcall/tag.h):
//   return PyTypedMethod_AddTags(module, methods, typed);
//
// An array in Py_tp_methods is tagged in the same way, with the new type instead of the module.
// With PyTypedMethod_ENTRY (typed_method/typed_entry.h), the compiler checks the functions of
// entries. typedcall/tag.h tags existing defs.

/// The flag bits that are set in defs. Since 3.11, CPython's specialised calls compare `ml_flags`
/// for equality, for example with METH_O. With an unknown bit this comparison fails. Each call then
/// takes 1.1 to 1.4 times as long, and up to 2.2 times with a JIT. Therefore defs have no flag bits
/// in these versions, and readers use the side table. PyPy has no side table, and flag bits cost
/// nothing there. To override this, define PyTypedMethod_FLAGS as 0x3000 or 0 before the first
/// include.
#if !TYPEDCALL_IS_SUPPORTED
#undef PyTypedMethod_FLAGS
#define PyTypedMethod_FLAGS 0
#elif !defined(PyTypedMethod_FLAGS)
#if PY_VERSION_HEX >= 0x030B0000 && !defined(PYPY_VERSION)
#define PyTypedMethod_FLAGS 0
#else
#define PyTypedMethod_FLAGS (METH_TYPED | METH_TYPED_EXT)
#endif
#endif

/// Defines the static metadata `variable` for a def named `name`. `name` is a literal of at most 99
/// bytes. The other arguments are initialisers of PyNativeCallableEntry, one for each overload.
#define PyTypedMethod_DEFINE(variable, name, ...)                                            \
  PyTypedMethod_DEFINE_PYPY(variable, name, PyTypedMethod_CODES(PyTypedMethod_NOT_FOR_PYPY), \
                            PyTypedMethod_NOT_FOR_PYPY, NULL, __VA_ARGS__)

/// PyPy's codes for one or more arguments. For a function without arguments use {-1}.
#define PyTypedMethod_CODES(...) \
  { __VA_ARGS__, -1 }

#if TYPEDCALL_IS_SUPPORTED
/// Like PyTypedMethod_DEFINE, with PyPy's fields. `arg_codes` is PyTypedMethod_CODES(T_C_LONG,
/// ...). `ret_code` is a T_* code, negated if the function may raise. PyPy calls `function`.
#define PyTypedMethod_DEFINE_PYPY(variable, name, arg_codes, ret_code, function, ...)          \
  PyTypedcall_STATIC_ASSERT(sizeof(name) <= sizeof(((PyPyTypedMethodMetadata *)0)->ml_name),   \
                            the_name_of_##variable##_has_at_most_99_bytes);                    \
  static const PyNativeCallableEntry variable##_entries[] TYPEDCALL_UNUSED = {__VA_ARGS__};    \
  static const struct {                                                                        \
    Py_ssize_t count;                                                                          \
    PyNativeCallableEntry entries[sizeof(variable##_entries) / sizeof(PyNativeCallableEntry)]; \
  } variable##_table = {sizeof(variable##_entries) / sizeof(PyNativeCallableEntry),            \
                        {__VA_ARGS__}};                                                        \
  static int variable##_arg_codes[] = arg_codes;                                               \
  static const PyTypedMethodMetadata variable TYPEDCALL_UNUSED = {                             \
      NULL,                                                                                    \
      (const PyNativeCallableTable *)(const void *)&variable##_table,                          \
      PyTypedMethod_SIZE,                                                                      \
      PyTypedMethod_ABI_MAJOR,                                                                 \
      PyTypedMethod_ABI_MINOR,                                                                 \
      PyTypedMethod_MAGIC,                                                                     \
      {variable##_arg_codes, ret_code, (void *)(function), name}}
#else
// Defines only the name. On these platforms the addresses in entries may not be constants, so the
// entries are in a function that is never called.
#define PyTypedMethod_DEFINE_PYPY(variable, name, arg_codes, ret_code, function, ...)        \
  PyTypedcall_STATIC_ASSERT(sizeof(name) <= sizeof(((PyPyTypedMethodMetadata *)0)->ml_name), \
                            the_name_of_##variable##_has_at_most_99_bytes);                  \
  static void variable##_left_out(void) {                                                    \
    const PyNativeCallableEntry entries[] = {__VA_ARGS__};                                   \
    (void)entries;                                                                           \
  }                                                                                          \
  static const PyTypedMethodMetadata variable = {                                            \
      NULL,                                                                                  \
      NULL,                                                                                  \
      PyTypedMethod_SIZE,                                                                    \
      PyTypedMethod_ABI_MAJOR,                                                               \
      PyTypedMethod_ABI_MINOR,                                                               \
      PyTypedMethod_MAGIC,                                                                   \
      {NULL, PyTypedMethod_NOT_FOR_PYPY, (void *)variable##_left_out, name}}
#endif

/// A PyMethodDef initialiser with the name in the metadata. `flags` are the usual METH_* flags.
#define PyTypedMethod_METHOD_DEF(variable, wrapper, flags, doc)      \
  {                                                                  \
    (variable).pypy.ml_name, (PyCFunction)(void (*)(void))(wrapper), \
        (flags) | PyTypedMethod_FLAGS, doc                           \
  }

// --- Sibling symbols -----------------------------------------------------------------------------

/// The type of a sibling symbol `_PyPyTyped_<name>`. Sibling symbols need neither flag bits nor the
/// side table. Readers compare the address of the def, so they never use another function's symbol.
/// typedcall/sibling_symbol.h reads sibling symbols.
typedef struct PyTypedMethod_Sibling {
  const PyMethodDef *def;
  const PyNativeCallableTable *table;
} PyTypedMethod_Sibling;

#ifdef __cplusplus
#define PyTypedMethod_Internal_SYMBOL extern "C"
#else
#define PyTypedMethod_Internal_SYMBOL extern
#endif

#if TYPEDCALL_IS_SUPPORTED
// Readers check the size of the struct. Clang's AddressSanitizer would increase the size.
#ifdef __clang__
#define PyTypedMethod_Internal_AS_IT_IS __attribute__((used, no_sanitize("address")))
#else
#define PyTypedMethod_Internal_AS_IT_IS __attribute__((used))
#endif

/// Defines the sibling symbol of `def`, an element of a static array. `name` is the def's name,
/// without quotes. The symbol offers the table of the metadata `variable`. Example:
/// PyTypedMethod_SIBLING(inc, methods[0], inc_typed). Use this macro at file scope, after
/// the array and outside C++ namespaces. The symbol is exported, unless a linker version script
/// hides it. A shared object can use each name only once, so it cannot define sibling symbols for
/// two methods of the same name, even in different types.
#define PyTypedMethod_SIBLING(name, def, variable)                                  \
  PyTypedMethod_Internal_SYMBOL __attribute__((visibility("default")))              \
  const PyTypedMethod_Sibling _PyPyTyped_##name;                                    \
  const PyTypedMethod_Sibling _PyPyTyped_##name PyTypedMethod_Internal_AS_IT_IS = { \
      &(def), (const PyNativeCallableTable *)(const void *)&variable##_table}
#else
#define PyTypedMethod_SIBLING(name, def, variable) \
  PyTypedMethod_Internal_SYMBOL const PyTypedMethod_Sibling _PyPyTyped_##name
#endif

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TYPED_METHOD_H_
