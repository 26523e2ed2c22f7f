// The list of native type codes, and everything derived from it: enum, letters, sizes, kinds. Needs
// no Python.h; C99, C11 and C++11 to C++20.

#include "core/version.h"

#ifndef TYPEDCALL_SIGNATURE_TYPE_CODES_H_
#define TYPEDCALL_SIGNATURE_TYPE_CODES_H_

#include "core/compiler.h"

#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

/// `static inline`, and also `constexpr` if the language allows loops there (C++14), so that C++
/// can check a signature at compile time.
#if defined(__cpp_constexpr) && __cpp_constexpr >= 201304L
#define PyNative_INLINE static inline constexpr
#else
#define PyNative_INLINE static inline
#endif

/// PyObject's struct tag, so that a pointer to one has a type here without Python.h.
struct _object;

/// The complex types as C passes them. C++ gets C's types as well, not `std::complex`: same
/// layout, but x86-64 returns a `long double _Complex` in registers and a class in memory.
///
/// Platforms without tags never pass one, and some of their compilers lack C's types: there these
/// are structs.
#if TYPEDCALL_IS_SUPPORTED
__extension__ typedef float _Complex PyNativeType_ComplexFloat;
__extension__ typedef double _Complex PyNativeType_ComplexDouble;
__extension__ typedef long double _Complex PyNativeType_ComplexLongDouble;
#define PyNativeType_REAL(value) __real__(value)
#define PyNativeType_IMAG(value) __imag__(value)
#else
typedef struct PyNativeType_ComplexFloat {
  float real, imag;
} PyNativeType_ComplexFloat;
typedef struct PyNativeType_ComplexDouble {
  double real, imag;
} PyNativeType_ComplexDouble;
typedef struct PyNativeType_ComplexLongDouble {
  long double real, imag;
} PyNativeType_ComplexLongDouble;
#define PyNativeType_REAL(value) (value).real
#define PyNativeType_IMAG(value) (value).imag
#endif

/// Every code for a value: X(ENUM_NAME, "letters", C type, KIND). `intptr_t` is Py_ssize_t's width
/// on every platform CPython has. The order may change: modules exchange signatures as text, never
/// as numbers. Source: PEP 3118; SEP 201; `n`, `N`, `s` as in PyArg_ParseTuple and struct.
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

/// Every code. `v` is separate because `sizeof(void)` is not C, and first so that zeroed memory
/// means "nothing" and not "bool".
///
/// To make a table with another column, in code order, use one macro:
///
///     #define ROW(NAME, LETTERS, TYPE, KIND) my_column_##NAME,
///     static const my_column table[] = {PyNativeType_LIST(ROW)};
///     #undef ROW
///
/// so a code without an entry does not compile.
#define PyNativeType_LIST(X) \
  X(VOID, "v", void, VOID)   \
  PyNativeType_VALUE_LIST(X)

// The letters again, for PyTypedMethod_ENTRY: the preprocessor joins only literals, so each needs a
// macro of that name. A test compares them with the list.
#define PyNativeType_Internal_TEXT_VOID "v"
#define PyNativeType_Internal_TEXT_BOOL "?"
#define PyNativeType_Internal_TEXT_SCHAR "b"
#define PyNativeType_Internal_TEXT_UCHAR "B"
#define PyNativeType_Internal_TEXT_SHORT "h"
#define PyNativeType_Internal_TEXT_USHORT "H"
#define PyNativeType_Internal_TEXT_INT "i"
#define PyNativeType_Internal_TEXT_UINT "I"
#define PyNativeType_Internal_TEXT_LONG "l"
#define PyNativeType_Internal_TEXT_ULONG "L"
#define PyNativeType_Internal_TEXT_LONGLONG "q"
#define PyNativeType_Internal_TEXT_ULONGLONG "Q"
#define PyNativeType_Internal_TEXT_SSIZE "n"
#define PyNativeType_Internal_TEXT_SIZE "N"
#define PyNativeType_Internal_TEXT_FLOAT "f"
#define PyNativeType_Internal_TEXT_DOUBLE "d"
#define PyNativeType_Internal_TEXT_LONGDOUBLE "g"
#define PyNativeType_Internal_TEXT_CFLOAT "Zf"
#define PyNativeType_Internal_TEXT_CDOUBLE "Zd"
#define PyNativeType_Internal_TEXT_CLONGDOUBLE "Zg"
#define PyNativeType_Internal_TEXT_POINTER "P"
#define PyNativeType_Internal_TEXT_STRING "s"
#define PyNativeType_Internal_TEXT_OBJECT "O"
#define PyNativeType_Internal_TEXT_TO(NAME) "&" PyNativeType_Internal_TEXT_##NAME
#define PyNativeType_Internal_TEXT_TO_CONST(NAME) "&k" PyNativeType_Internal_TEXT_##NAME

/// The C names of the codes: PyNativeType_VOID, PyNativeType_BOOL, ..., dense from 0. Source:
/// PyNativeType_LIST.
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND) PyNativeType_##NAME,
enum PyNativeType_Code { PyNativeType_LIST(PyNativeType_Internal_ROW) PyNativeType_COUNT };
#undef PyNativeType_Internal_ROW

/// The class of a code: decides registers, conversions and error values. A `switch` on it has no
/// `default`, so that compilers warn about a missing kind. Source: docs/ABI.md, section 3 (error
/// values by class; equality by width, signedness and class).
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

/// How C passes and returns a value, whatever it is in Python. Source: the C compiler's own calling
/// convention.
enum PyNativePassed {
  PyNativePassed_NOTHING,
  PyNativePassed_SIGNED,
  PyNativePassed_UNSIGNED,
  PyNativePassed_FLOATING,
  PyNativePassed_COMPLEX,
  PyNativePassed_ADDRESS
};

/// How C passes a value of this kind.
/// GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the C compiler's own calling convention.
PyNative_INLINE enum PyNativePassed PyNativeKind_Passed(enum PyNativeKind kind) {
  switch (kind) {
    case PyNativeKind_SIGNED:
      return PyNativePassed_SIGNED;
    case PyNativeKind_BOOL:
    case PyNativeKind_UNSIGNED:
      return PyNativePassed_UNSIGNED;
    case PyNativeKind_FLOATING:
      return PyNativePassed_FLOATING;
    case PyNativeKind_COMPLEX:
      return PyNativePassed_COMPLEX;
    case PyNativeKind_POINTER:
    case PyNativeKind_STRING:
    case PyNativeKind_OBJECT:
      return PyNativePassed_ADDRESS;
    case PyNativeKind_VOID:
      break;
  }
  return PyNativePassed_NOTHING;
}

/// True if a result of this kind has an error value, by which a function reports an exception. The
/// value is -1 for signed and floating types, all ones for unsigned ones, NULL for all others. A
/// function with any other result reports errors by status, or cannot raise. GIL: none; any thread;
/// any interpreter; no Python function is called. Source: docs/ABI.md, section 3, MAY_RAISE.
PyNative_INLINE int PyNativeKind_HasErrorValue(enum PyNativeKind kind) {
  return kind != PyNativeKind_VOID && kind != PyNativeKind_BOOL && kind != PyNativeKind_COMPLEX;
}

// C99 has no alignof, and __alignof__ is the preferred alignment, which i386 makes larger.
#if defined(__cplusplus)
#define PyNativeType_Internal_ALIGNOF(TYPE) alignof(TYPE)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define PyNativeType_Internal_ALIGNOF(TYPE) _Alignof(TYPE)
#else
#define PyNativeType_Internal_ALIGNOF(TYPE) \
  offsetof(                                 \
      struct {                              \
        char before;                        \
        TYPE value;                         \
      },                                    \
      value)
#endif

/// The size of a value of `code`, in bytes. 0 for `v` and unknown codes. GIL: none; any thread; any
/// interpreter; no Python function is called. Source: the C compiler's own layout;
/// PyNativeType_LIST.
PyNative_INLINE size_t PyNativeCode_Size(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                                  \
    return sizeof(TYPE);
    PyNativeType_VALUE_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return 0;
  }
}

/// The alignment of a value of `code`, in bytes. 1 for `v` and unknown codes, so that rounding up
/// by it stays defined. GIL: none; any thread; any interpreter; no Python function is called.
/// Source: the C compiler's own layout; PyNativeType_LIST.
PyNative_INLINE size_t PyNativeCode_Alignment(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                                  \
    return PyNativeType_Internal_ALIGNOF(TYPE);
    PyNativeType_VALUE_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return 1;
  }
}

/// The kind of `code`. PyNativeKind_VOID for `v` and unknown codes. GIL: none; any thread; any
/// interpreter; no Python function is called. Source: PyNativeType_LIST.
PyNative_INLINE enum PyNativeKind PyNativeCode_Kind(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                                  \
    return PyNativeKind_##KIND;
    PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return PyNativeKind_VOID;
  }
}

/// The letters of `code` in a signature, static text: "d", "Zd". "" for unknown codes. GIL: none;
/// any thread; any interpreter; no Python function is called. Source: PyNativeType_LIST.
PyNative_INLINE const char *PyNativeCode_Letters(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND) \
  case PyNativeType_##NAME:                                  \
    return LETTERS;
    PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return "";
  }
}

/// The code of one or two letters; `second` is '\0' for one. -1 if there is no such code. GIL:
/// none; any thread; any interpreter; no Python function is called. Source: PyNativeType_LIST.
PyNative_INLINE int PyNativeCode_FromLetters(char first, char second) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND) \
  if (LETTERS[0] == first && LETTERS[1] == second) {         \
    return PyNativeType_##NAME;                              \
  }
  PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
      return -1;
}

#endif  // TYPEDCALL_SIGNATURE_TYPE_CODES_H_
