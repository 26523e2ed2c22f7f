// The type of one argument or result of a signature. The grammar is in typedcall/signature.h. Does
// not need Python.h. C99, C11 and C++11 to C++20. All functions may be called from any thread and
// interpreter without the GIL. They call no Python function.

#include "core/version.h"

#ifndef TYPEDCALL_SIGNATURE_NATIVE_TYPE_H_
#define TYPEDCALL_SIGNATURE_NATIVE_TYPE_H_

#include <stddef.h>

#include "typedcall/signature/type_codes.h"

/// The type of one argument or result. `code` is an `enum PyNativeType_Code`. `pointer_flags` is 0,
/// or a combination of `enum PyNativePointer` bits.
typedef struct {
  unsigned char code;
  unsigned char pointer_flags;
} PyNativeType;

/// The bits of `pointer_flags`. A buffer is also a pointer, so code that handles pointers must
/// check PyNativeType_IsBuffer().
enum PyNativePointer {
  PyNativePointer_TO = 1,         ///< always
  PyNativePointer_CONST = 0x40,   ///< "k": read-only
  PyNativePointer_BUFFER = 0x80,  ///< "*": followed by a Py_ssize_t
};

/// Returns 1 for "*", which is a pointer and a number of elements in C.
PyNative_INLINE int PyNativeType_IsBuffer(PyNativeType type) {
  return (type.pointer_flags & PyNativePointer_BUFFER) != 0;
}

/// Returns 1 for a read-only pointer or buffer. "*s" is read-only.
PyNative_INLINE int PyNativeType_IsConst(PyNativeType type) {
  return (type.pointer_flags & PyNativePointer_CONST) != 0 ||
         (PyNativeType_IsBuffer(type) && type.code == PyNativeType_STRING);
}

/// Returns the size of an argument or result of this type, in bytes. For "&" and "*" this is the
/// size of the pointer, without the count. Returns 0 for "v".
PyNative_INLINE size_t PyNativeType_Size(PyNativeType type) {
  return type.pointer_flags ? sizeof(void *) : PyNativeCode_Size(type.code);
}

/// Returns the alignment of an argument or result of this type, in bytes. For "&" and "*" this is
/// the alignment of the pointer. Returns 1 for "v".
PyNative_INLINE size_t PyNativeType_Alignment(PyNativeType type) {
  return PyNativeCode_Alignment(type.pointer_flags ? (int)PyNativeType_POINTER : (int)type.code);
}

/// Returns the kind of an argument or result of this type. The kind of "&" and "*" is
/// PyNativeKind_POINTER.
PyNative_INLINE enum PyNativeKind PyNativeType_Kind(PyNativeType type) {
  return type.pointer_flags ? PyNativeKind_POINTER : PyNativeCode_Kind(type.code);
}

/// Returns how C passes an argument or result of this type. "&" and "*" are passed as
/// PyNativePassing_ADDRESS.
PyNative_INLINE enum PyNativePassing PyNativeType_Passing(PyNativeType type) {
  return type.pointer_flags ? PyNativePassing_ADDRESS : PyNativeCode_Passing(type.code);
}

// Returns 1 if two types are equivalent except for "k".
PyNative_INLINE int PyNativeType_Internal_SameBesidesConst(PyNativeType a, PyNativeType b) {
  const enum PyNativeKind kind = PyNativeCode_Kind(a.code);
  if (a.code >= PyNativeType_COUNT || !a.pointer_flags != !b.pointer_flags ||
      PyNativeType_IsBuffer(a) != PyNativeType_IsBuffer(b)) {
    return 0;
  }
  if (a.code == b.code) {
    return 1;
  }
  return (kind == PyNativeKind_SIGNED || kind == PyNativeKind_UNSIGNED) &&
         PyNativeCode_Kind(b.code) == kind &&
         PyNativeCode_Size(a.code) == PyNativeCode_Size(b.code);
}

/// Returns 1 if two types are equivalent in a call, else 0. Equal codes are equivalent, and so are
/// integers of the same width and signedness. Pointers to equivalent types, and buffers of
/// equivalent types, are equivalent if both or neither have "k". All other types are different. For
/// example, bool is not an integer, "d" is not "g" even if both have the same width, and neither
/// "P" nor "*d" is "&d". An unknown code is equivalent to nothing. Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeType_Equivalent(PyNativeType a, PyNativeType b) {
  return PyNativeType_Internal_SameBesidesConst(a, b) &&
         PyNativeType_IsConst(a) == PyNativeType_IsConst(b);
}

/// Returns 1 if a value of type `from` may be passed as type `to`, else 0. The types must be
/// equivalent, but a pointer or buffer may also be passed as the same type with "k". Source:
/// docs/ABI.md, section 3.
PyNative_INLINE int PyNativeType_PassesAs(PyNativeType from, PyNativeType to) {
  return PyNativeType_Internal_SameBesidesConst(from, to) &&
         PyNativeType_IsConst(from) <= PyNativeType_IsConst(to);
}

/// Returns 1 if a function that returns a status or falls back may store its value through an
/// argument of this type, which must be "&" without "k". Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeType_IsPlace(PyNativeType type) {
  return type.pointer_flags && !PyNativeType_IsBuffer(type) && !PyNativeType_IsConst(type);
}

#endif  // TYPEDCALL_SIGNATURE_NATIVE_TYPE_H_
