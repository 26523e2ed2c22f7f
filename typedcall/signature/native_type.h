// One argument or result of a signature: a type code, and whether it is a pointer to that. Sizes,
// kinds, and equivalence of types in a call. The grammar is in typedcall/signature.h. Needs no
// Python.h; C99, C11 and C++11 to C++20. GIL for all functions here: none; any thread; any
// interpreter; no Python function is called.

#include "core/version.h"

#ifndef TYPEDCALL_SIGNATURE_NATIVE_TYPE_H_
#define TYPEDCALL_SIGNATURE_NATIVE_TYPE_H_

#include <stddef.h>

#include "typedcall/signature/type_codes.h"

/// One argument or result: an `enum PyNativeType_Code`, and whether it is a pointer to that: 0, or
/// nonzero for "&" and "*", with two bits for the kind of pointer. Source: the grammar in
/// typedcall/signature.h.
typedef struct {
  unsigned char code;
  unsigned char is_pointer;
} PyNativeType;

/// The bits of `is_pointer`. A buffer is also a pointer: code that handles pointers must check
/// PyNativeType_IsBuffer(), too, since a count follows. Source: the grammar in
/// typedcall/signature.h.
enum PyNativePointer {
  PyNativePointer_TO = 1,         ///< always
  PyNativePointer_CONST = 0x40,   ///< "k": read-only
  PyNativePointer_BUFFER = 0x80,  ///< "*": to the first of several; a Py_ssize_t follows
};

/// 1 for "*": in C the argument is a pointer and a count of elements. Source: the grammar in
/// typedcall/signature.h.
PyNative_INLINE int PyNativeType_IsBuffer(PyNativeType type) {
  return (type.is_pointer & PyNativePointer_BUFFER) != 0;
}

/// 1 for a read-only pointer or buffer: those with "k", and "*s". Source: the grammar in
/// typedcall/signature.h.
PyNative_INLINE int PyNativeType_IsConst(PyNativeType type) {
  return (type.is_pointer & PyNativePointer_CONST) != 0 ||
         (PyNativeType_IsBuffer(type) && type.code == PyNativeType_STRING);
}

/// The size of an argument or result of this type, in bytes; for "&" and "*" that of the pointer,
/// without the count. 0 for "v". Source: PyNativeType_LIST.
PyNative_INLINE size_t PyNativeType_Size(PyNativeType type) {
  return type.is_pointer ? sizeof(void *) : PyNativeCode_Size(type.code);
}

/// The alignment of an argument or result of this type, in bytes; for "&" and "*" that of the
/// pointer. 1 for "v". Source: PyNativeType_LIST.
PyNative_INLINE size_t PyNativeType_Alignment(PyNativeType type) {
  return PyNativeCode_Alignment(type.is_pointer ? (int)PyNativeType_POINTER : (int)type.code);
}

/// The kind of an argument or result of this type; PyNativeKind_POINTER for "&" and "*".
/// Source: PyNativeType_LIST.
PyNative_INLINE enum PyNativeKind PyNativeType_Kind(PyNativeType type) {
  return type.is_pointer ? PyNativeKind_POINTER : PyNativeCode_Kind(type.code);
}

/// How C passes an argument or result of this type; PyNativePassed_ADDRESS for "&" and "*".
/// Source: PyNativeType_LIST.
PyNative_INLINE enum PyNativePassed PyNativeType_Passed(PyNativeType type) {
  return PyNativeKind_Passed(PyNativeType_Kind(type));
}

// 1 if the two are equal except for "k".
PyNative_INLINE int PyNativeType_Internal_SameBesidesConst(PyNativeType a, PyNativeType b) {
  const enum PyNativeKind kind = PyNativeCode_Kind(a.code);
  if (a.code >= PyNativeType_COUNT || !a.is_pointer != !b.is_pointer ||
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

/// 1 if the two are equivalent in a call, else 0: equal codes; integers of the same width and
/// signedness ("l", "q" and "n" on LP64, "i" and "l" on Windows); pointers to these and buffers of
/// these, both with "k" or both without. Everything else is equivalent only to itself: bool is not
/// an integer, "d" is never "g" even if they have the same width, "P" is not "&d", since its target
/// has no type, and "*d" is not "&d". A code outside the list is equivalent to nothing. Source:
/// docs/ABI.md, section 3.
PyNative_INLINE int PyNativeType_Equivalent(PyNativeType a, PyNativeType b) {
  return PyNativeType_Internal_SameBesidesConst(a, b) &&
         PyNativeType_IsConst(a) == PyNativeType_IsConst(b);
}

/// 1 if a value of `from` may be passed as `to` unchanged, else 0: equivalent types, and a pointer
/// or buffer without "k" for one with it, never the reverse. Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeType_PassesAs(PyNativeType from, PyNativeType to) {
  return PyNativeType_Internal_SameBesidesConst(from, to) &&
         PyNativeType_IsConst(from) <= PyNativeType_IsConst(to);
}

/// 1 if the value of a function that returns a status, or falls back, may go through a last
/// argument of this type: "&" without "k". Source: docs/ABI.md, section 3.
PyNative_INLINE int PyNativeType_IsPlace(PyNativeType type) {
  return type.is_pointer && !PyNativeType_IsBuffer(type) && !PyNativeType_IsConst(type);
}

#endif  // TYPEDCALL_SIGNATURE_NATIVE_TYPE_H_
