// The list of native type codes, with their letters, sizes and kinds. Does not need Python.h. C99,
// C11 and C++11 to C++20. All functions may be called from any thread and interpreter without the
// GIL. They call no Python function.

#include "core/version.h"

#ifndef TYPEDCALL_SIGNATURE_TYPE_CODES_H_
#define TYPEDCALL_SIGNATURE_TYPE_CODES_H_

#include "core/compiler.h"

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

/// `constexpr` from C++14 on, so that C++ can check signatures at compile time.
#if defined(__cpp_constexpr) && __cpp_constexpr >= 201304L
#define PyNative_INLINE static inline constexpr
#else
#define PyNative_INLINE static inline
#endif

/// The struct tag of PyObject, so that Python.h is not needed.
struct _object;

/// C's complex types. C++ code also uses these types, because on x86-64 a `long double _Complex` is
/// returned in registers, but a class is returned in memory.
///
/// On platforms without tags the types are structs, because some compilers lack C's complex types.
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

// The error value and the digits of an integer type follow from its width.
#define PyNativeType_Internal_ONES(TYPE) (UINT64_MAX >> (64 - 8 * sizeof(TYPE)))
#define PyNativeType_Internal_INT(X, NAME, LETTERS, TYPE)                  \
  X(NAME, LETTERS, TYPE, SIGNED, SIGNED, PyNativeType_Internal_ONES(TYPE), \
    8 * (int)sizeof(TYPE) - 1)
#define PyNativeType_Internal_UINT(X, NAME, LETTERS, TYPE)                     \
  X(NAME, LETTERS, TYPE, UNSIGNED, UNSIGNED, PyNativeType_Internal_ONES(TYPE), \
    8 * (int)sizeof(TYPE))
// The bits of -1.0, or 0 if the type is wider than a register. In IEEE 754, the bits above the
// digits are a sign and an exponent.
#define PyNativeType_Internal_MINUS_ONE(TYPE, DIGITS) \
  (sizeof(TYPE) > 8                                   \
       ? 0                                            \
       : (UINT64_C(3) << ((8 * sizeof(TYPE) - 2) & 63)) - (UINT64_C(1) << ((DIGITS - 1) & 63)))
#define PyNativeType_Internal_G PyNativeType_Internal_MINUS_ONE(long double, LDBL_MANT_DIG)

// clang-format off
/// All codes for values, as X(ENUM_NAME, "letters", C type, KIND, PASSING, ERROR, DIGITS). PASSING
/// tells how C passes a value. ERROR has the bits of the error value (docs/ABI.md, section 3,
/// MAY_RAISE), and is 0 for NULL, for types that are too wide for a register, and for types without
/// an error value. DIGITS is the number of bits of the integers that the type holds exactly,
/// without their sign, and 0 if the type is no number. On all of CPython's platforms, `intptr_t`
/// and Py_ssize_t have the same width. The order may change, because modules exchange signatures
/// only as text. Source: PEP 3118; SEP 201; `n`, `N`, `s` as in PyArg_ParseTuple and struct.
#define PyNativeType_VALUE_LIST(X)                                                            \
  X(BOOL, "?", bool, BOOL, UNSIGNED, 0, 1)                                                    \
  PyNativeType_Internal_INT(X, SCHAR, "b", signed char)                                       \
  PyNativeType_Internal_UINT(X, UCHAR, "B", unsigned char)                                    \
  PyNativeType_Internal_INT(X, SHORT, "h", short)                                             \
  PyNativeType_Internal_UINT(X, USHORT, "H", unsigned short)                                  \
  PyNativeType_Internal_INT(X, INT, "i", int)                                                 \
  PyNativeType_Internal_UINT(X, UINT, "I", unsigned int)                                      \
  PyNativeType_Internal_INT(X, LONG, "l", long)                                               \
  PyNativeType_Internal_UINT(X, ULONG, "L", unsigned long)                                    \
  PyNativeType_Internal_INT(X, LONGLONG, "q", long long)                                      \
  PyNativeType_Internal_UINT(X, ULONGLONG, "Q", unsigned long long)                           \
  PyNativeType_Internal_INT(X, SSIZE, "n", intptr_t)                                          \
  PyNativeType_Internal_UINT(X, SIZE, "N", size_t)                                            \
  X(FLOAT, "f", float, FLOATING, FLOATING, UINT64_C(0xBF800000), FLT_MANT_DIG)                \
  X(DOUBLE, "d", double, FLOATING, FLOATING, UINT64_C(0xBFF0000000000000), DBL_MANT_DIG)      \
  X(LONGDOUBLE, "g", long double, FLOATING, FLOATING, PyNativeType_Internal_G, LDBL_MANT_DIG) \
  X(CFLOAT, "Zf", PyNativeType_ComplexFloat, COMPLEX, COMPLEX, 0, FLT_MANT_DIG)               \
  X(CDOUBLE, "Zd", PyNativeType_ComplexDouble, COMPLEX, COMPLEX, 0, DBL_MANT_DIG)             \
  X(CLONGDOUBLE, "Zg", PyNativeType_ComplexLongDouble, COMPLEX, COMPLEX, 0, LDBL_MANT_DIG)    \
  X(POINTER, "P", void *, POINTER, ADDRESS, 0, 0)                                             \
  X(STRING, "s", const char *, STRING, ADDRESS, 0, 0)                                         \
  X(OBJECT, "O", struct _object *, OBJECT, ADDRESS, 0, 0)
// clang-format on

/// Every code. `v` is separate, because `sizeof(void)` is not valid C. `v` comes first, so that
/// zeroed memory means `v`.
///
/// A table with one row for each code can be made with a macro:
///
///     #define ROW(NAME, LETTERS, TYPE, KIND, ...) my_column_##NAME,
///     static const my_column table[] = {PyNativeType_LIST(ROW)};
///     #undef ROW
#define PyNativeType_LIST(X)           \
  X(VOID, "v", void, VOID, VOID, 0, 0) \
  PyNativeType_VALUE_LIST(X)

// A row whose columns contradict each other divides by zero here, and does not compile. The width
// is that of the C type. Each kind says what it demands of the error value and of the digits.
#define PyNativeType_Internal_MASK(TYPE) \
  (sizeof(TYPE) > 8 ? 0 : UINT64_MAX >> ((64 - 8 * sizeof(TYPE)) & 63))
#define PyNativeType_Internal_IS_RIGHT_BOOL(TYPE, ERROR, DIGITS) ((ERROR) == 0 && (DIGITS) == 1)
#define PyNativeType_Internal_IS_RIGHT_SIGNED(TYPE, ERROR, DIGITS) \
  ((ERROR) == PyNativeType_Internal_MASK(TYPE) && (DIGITS) == 8 * (int)sizeof(TYPE) - 1)
#define PyNativeType_Internal_IS_RIGHT_UNSIGNED(TYPE, ERROR, DIGITS) \
  ((ERROR) == PyNativeType_Internal_MASK(TYPE) && (DIGITS) == 8 * (int)sizeof(TYPE))
#define PyNativeType_Internal_IS_RIGHT_FLOATING(TYPE, ERROR, DIGITS)           \
  ((ERROR) == PyNativeType_Internal_MINUS_ONE(TYPE, DIGITS) && (DIGITS) > 1 && \
   (DIGITS) < 8 * (int)sizeof(TYPE))
#define PyNativeType_Internal_IS_RIGHT_COMPLEX(TYPE, ERROR, DIGITS) \
  ((ERROR) == 0 && (DIGITS) > 1 && (DIGITS) < 4 * (int)sizeof(TYPE))
#define PyNativeType_Internal_IS_RIGHT_POINTER(TYPE, ERROR, DIGITS) ((ERROR) == 0 && (DIGITS) == 0)
#define PyNativeType_Internal_IS_RIGHT_STRING PyNativeType_Internal_IS_RIGHT_POINTER
#define PyNativeType_Internal_IS_RIGHT_OBJECT PyNativeType_Internal_IS_RIGHT_POINTER
enum PyNativeType_Internal_Columns {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, PASSING, ERROR, DIGITS) \
  PyNativeType_Internal_columns_of_##NAME =                                          \
      1 / (((ERROR) & ~PyNativeType_Internal_MASK(TYPE)) == 0 &&                     \
           PyNativeType_Internal_IS_RIGHT_##KIND(TYPE, ERROR, DIGITS)),
  PyNativeType_VALUE_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
};

// PyTypedMethod_ENTRY needs one macro for each name, because the preprocessor can join only
// literals. A test compares the macros with the list.
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

/// The codes, which are consecutive numbers from 0: PyNativeType_VOID, PyNativeType_BOOL, ...
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, ...) PyNativeType_##NAME,
enum PyNativeType_Code { PyNativeType_LIST(PyNativeType_Internal_ROW) PyNativeType_COUNT };
#undef PyNativeType_Internal_ROW

/// The class of a code. Write a `switch` over kinds without a `default`, so that compilers warn
/// about missing kinds. Source: docs/ABI.md, section 3 (error values by class; equality by width,
/// signedness and class).
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

/// How C passes and returns a value.
enum PyNativePassing {
  PyNativePassing_VOID,
  PyNativePassing_SIGNED,
  PyNativePassing_UNSIGNED,
  PyNativePassing_FLOATING,
  PyNativePassing_COMPLEX,
  PyNativePassing_ADDRESS
};

/// True if a result of this kind has an error value. The error value is -1 for signed and floating
/// types, all ones for unsigned types, and NULL for pointers, strings and objects. A function with
/// any other result must return a status to report errors. Source: docs/ABI.md, section 3,
/// MAY_RAISE.
PyNative_INLINE int PyNativeKind_HasErrorValue(enum PyNativeKind kind) {
  return kind != PyNativeKind_VOID && kind != PyNativeKind_BOOL && kind != PyNativeKind_COMPLEX;
}

// C99 has no alignof. __alignof__ returns the preferred alignment, which is larger on i386.
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

// Returns the size and alignment of a value of `code` as `size << 8 | alignment`.
PyNative_INLINE size_t PyNativeCode_Internal_Layout(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, ...) \
  case PyNativeType_##NAME:                                       \
    return (sizeof(TYPE) << 8) | PyNativeType_Internal_ALIGNOF(TYPE);
    PyNativeType_VALUE_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return 1;
  }
}

/// Returns the size of a value of `code`, in bytes, or 0 for `v` and unknown codes.
PyNative_INLINE size_t PyNativeCode_Size(int code) {
  return PyNativeCode_Internal_Layout(code) >> 8;
}

/// Returns the alignment of a value of `code`, in bytes, or 1 for `v` and unknown codes.
PyNative_INLINE size_t PyNativeCode_Alignment(int code) {
  return PyNativeCode_Internal_Layout(code) & 255;
}

/// Returns the kind of `code`, or PyNativeKind_VOID for unknown codes.
PyNative_INLINE enum PyNativeKind PyNativeCode_Kind(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, ...) \
  case PyNativeType_##NAME:                                       \
    return PyNativeKind_##KIND;
    PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return PyNativeKind_VOID;
  }
}

/// Returns how C passes a value of `code`, or PyNativePassing_VOID for `v` and unknown codes.
PyNative_INLINE enum PyNativePassing PyNativeCode_Passing(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, PASSING, ERROR, DIGITS) \
  case PyNativeType_##NAME:                                                          \
    return PyNativePassing_##PASSING;
    PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return PyNativePassing_VOID;
  }
}

/// Returns the bits of the error value of `code`, as a register holds them. Returns 0 for NULL, for
/// a type that is wider than a register, and if there is no error value.
PyNative_INLINE uint64_t PyNativeCode_ErrorBits(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, PASSING, ERROR, DIGITS) \
  case PyNativeType_##NAME:                                                          \
    return ERROR;
    PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return 0;
  }
}

/// Returns the number of bits of the integers that a value of `code` holds exactly, without their
/// sign. Returns 0 if the type is no number. For a complex type, this is the number of a part.
PyNative_INLINE int PyNativeCode_Digits(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, PASSING, ERROR, DIGITS) \
  case PyNativeType_##NAME:                                                          \
    return DIGITS;
    PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return 0;
  }
}

/// Returns the letters of `code`, such as "d" or "Zd", as a static string. Returns "" for unknown
/// codes.
PyNative_INLINE const char *PyNativeCode_Letters(int code) {
  switch (code) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, ...) \
  case PyNativeType_##NAME:                                       \
    return LETTERS;
    PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
        default : return "";
  }
}

/// Returns the code for one or two letters, or -1 if there is no such code. For one letter,
/// `second` is '\0'.
PyNative_INLINE int PyNativeCode_FromLetters(char first, char second) {
#define PyNativeType_Internal_ROW(NAME, LETTERS, TYPE, KIND, ...) \
  if (LETTERS[0] == first && LETTERS[1] == second) {              \
    return PyNativeType_##NAME;                                   \
  }
  PyNativeType_LIST(PyNativeType_Internal_ROW)
#undef PyNativeType_Internal_ROW
      return -1;
}

#endif  // TYPEDCALL_SIGNATURE_TYPE_CODES_H_
