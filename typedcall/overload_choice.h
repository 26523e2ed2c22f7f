// Ranks how well a value suits a parameter. All sinks use these ranks, and so choose the same
// overload as Python. Does not need Python.h. C99, C11 and C++11 to C++20 (constexpr from C++14).
// All functions may be called from any thread and interpreter without the GIL. They call no Python
// function.

#include "core/version.h"

#ifndef TYPEDCALL_OVERLOAD_CHOICE_H_
#define TYPEDCALL_OVERLOAD_CHOICE_H_

#include <stddef.h>
#include <stdint.h>

#include "typedcall/signature/native_type.h"

/// Ranks of a value for a parameter, best first. An overload is as good as its worst argument.
/// Source: docs/ABI.md, 8.7 and 8.8.
enum PyNativeRank {
  PyNativeRank_OWN,    ///< the exact C type, which Python does not have, such as float
  PyNativeRank_EXACT,  ///< the parameter's own Python type: bool, int, float, complex, str
  PyNativeRank_NEAR,   ///< a subclass of that type (a bool for an int), or a value that C rounds
  PyNativeRank_SAFE,   ///< converted by CPython: an int for a float, anything for an object
  PyNativeRank_NONE,   ///< unsuitable
};

/// The kinds of values and their ranks for each kind of parameter: X(KIND, bool, integer, double,
/// float, complex double, complex float, text, object). A long double counts as a double. BOOL
/// includes NumPy's bools. INT includes NumPy's integers and all other objects with `__index__`. An
/// ARRAY has `__index__` and a length. Pointers and buffers have a rank only for DEFAULT, because
/// only a conversion shows whether an object suits. Source: docs/ABI.md, 8.7.
#define PyNativeArgumentKind_LIST(X)                                  \
  X(DEFAULT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT)  \
  X(BOOL, EXACT, NEAR, SAFE, SAFE, SAFE, SAFE, NONE, SAFE)            \
  X(INT, NONE, EXACT, SAFE, SAFE, SAFE, SAFE, NONE, SAFE)             \
  X(INT_SUBCLASS, NONE, NEAR, SAFE, SAFE, SAFE, SAFE, NONE, SAFE)     \
  X(ARRAY, NONE, SAFE, SAFE, SAFE, SAFE, SAFE, NONE, SAFE)            \
  X(FLOAT, NONE, NONE, EXACT, NEAR, SAFE, SAFE, NONE, SAFE)           \
  X(FLOAT_SUBCLASS, NONE, NONE, NEAR, NEAR, SAFE, SAFE, NONE, SAFE)   \
  X(C_FLOAT, NONE, NONE, EXACT, OWN, SAFE, SAFE, NONE, SAFE)          \
  X(HAS_FLOAT, NONE, NONE, SAFE, SAFE, SAFE, SAFE, NONE, SAFE)        \
  X(COMPLEX, NONE, NONE, NONE, NONE, EXACT, NEAR, NONE, SAFE)         \
  X(COMPLEX_SUBCLASS, NONE, NONE, NONE, NONE, NEAR, NEAR, NONE, SAFE) \
  X(C_COMPLEX, NONE, NONE, NONE, NONE, EXACT, OWN, NONE, SAFE)        \
  X(HAS_COMPLEX, NONE, NONE, NONE, NONE, SAFE, SAFE, NONE, SAFE)      \
  X(STR, NONE, NONE, NONE, NONE, NONE, NONE, EXACT, SAFE)             \
  X(STR_SUBCLASS, NONE, NONE, NONE, NONE, NONE, NONE, NEAR, SAFE)     \
  X(OTHER, NONE, NONE, NONE, NONE, NONE, NONE, NONE, SAFE)

/// The kind of a value: PyNativeArgumentKind_DEFAULT, PyNativeArgumentKind_BOOL, ... DEFAULT means
/// that the default of the parameter is used. C_FLOAT is a C float. C_COMPLEX is a complex number
/// of two C floats.
enum PyNativeArgumentKind {
#define PyNativeArgumentKind_Internal_ROW(KIND, BOOLS, INTS, DOUBLES, FLOATS, ZD, ZF, TEXTS, \
                                          OBJECTS)                                           \
  PyNativeArgumentKind_##KIND,
  PyNativeArgumentKind_LIST(PyNativeArgumentKind_Internal_ROW)
#undef PyNativeArgumentKind_Internal_ROW
      PyNativeArgumentKind_COUNT
};

// Each macro combines the ranks of one column of the list. The names of the ranks are pasted
// directly, because Windows defines a macro NEAR.
#define PyNativeChoice_Internal_BOOLS(KIND, B, I, D, F, ZD, ZF, T, O) \
  | ((uint64_t)PyNativeRank_##B << (4 * PyNativeArgumentKind_##KIND))
#define PyNativeChoice_Internal_INTS(KIND, B, I, D, F, ZD, ZF, T, O) \
  | ((uint64_t)PyNativeRank_##I << (4 * PyNativeArgumentKind_##KIND))
#define PyNativeChoice_Internal_DOUBLES(KIND, B, I, D, F, ZD, ZF, T, O) \
  | ((uint64_t)PyNativeRank_##D << (4 * PyNativeArgumentKind_##KIND))
#define PyNativeChoice_Internal_FLOATS(KIND, B, I, D, F, ZD, ZF, T, O) \
  | ((uint64_t)PyNativeRank_##F << (4 * PyNativeArgumentKind_##KIND))
#define PyNativeChoice_Internal_ZDS(KIND, B, I, D, F, ZD, ZF, T, O) \
  | ((uint64_t)PyNativeRank_##ZD << (4 * PyNativeArgumentKind_##KIND))
#define PyNativeChoice_Internal_ZFS(KIND, B, I, D, F, ZD, ZF, T, O) \
  | ((uint64_t)PyNativeRank_##ZF << (4 * PyNativeArgumentKind_##KIND))
#define PyNativeChoice_Internal_TEXTS(KIND, B, I, D, F, ZD, ZF, T, O) \
  | ((uint64_t)PyNativeRank_##T << (4 * PyNativeArgumentKind_##KIND))
#define PyNativeChoice_Internal_OBJECTS(KIND, B, I, D, F, ZD, ZF, T, O) \
  | ((uint64_t)PyNativeRank_##O << (4 * PyNativeArgumentKind_##KIND))
#define PyNativeChoice_Internal_COLUMN(COLUMN) \
  ((uint64_t)0 PyNativeArgumentKind_LIST(PyNativeChoice_Internal_##COLUMN))

// FLOATS is the column of C's float, and DOUBLES that of the types that hold every double. A
// floating type with other digits needs a column of its own, and until then divides by zero here.
enum PyNativeChoice_Internal_Columns {
#define PyNativeChoice_Internal_ROW(NAME, LETTERS, TYPE, KIND, PASSING, ERROR, DIGITS) \
  PyNativeChoice_Internal_column_of_##NAME =                                           \
      1 / ((PyNativeKind_##KIND != PyNativeKind_FLOATING &&                            \
            PyNativeKind_##KIND != PyNativeKind_COMPLEX) ||                            \
           DIGITS == FLT_MANT_DIG || DIGITS >= DBL_MANT_DIG),
  PyNativeType_VALUE_LIST(PyNativeChoice_Internal_ROW)
#undef PyNativeChoice_Internal_ROW
};

/// Returns the rank of each kind of value for a parameter of this type. Each rank has four bits.
PyNative_INLINE uint64_t PyNativeChoice_Row(PyNativeType type) {
  const int is_narrow = PyNativeCode_Digits(type.code) < DBL_MANT_DIG;
  if (type.code == PyNativeType_STRING && (!type.pointer_flags || PyNativeType_IsBuffer(type))) {
    return PyNativeChoice_Internal_COLUMN(TEXTS);
  }
  switch (PyNativeType_Kind(type)) {
    case PyNativeKind_BOOL:
      return PyNativeChoice_Internal_COLUMN(BOOLS);
    case PyNativeKind_SIGNED:
    case PyNativeKind_UNSIGNED:
      return PyNativeChoice_Internal_COLUMN(INTS);
    case PyNativeKind_FLOATING:
      return is_narrow ? PyNativeChoice_Internal_COLUMN(FLOATS)
                       : PyNativeChoice_Internal_COLUMN(DOUBLES);
    case PyNativeKind_COMPLEX:
      return is_narrow ? PyNativeChoice_Internal_COLUMN(ZFS) : PyNativeChoice_Internal_COLUMN(ZDS);
    case PyNativeKind_OBJECT:
      return PyNativeChoice_Internal_COLUMN(OBJECTS);
    case PyNativeKind_STRING:
    case PyNativeKind_POINTER:
    case PyNativeKind_VOID:
      break;
  }
  // The rank is NONE for all kinds except DEFAULT.
  return PyNativeRank_NONE * UINT64_C(0x1111111111111111) -
         ((uint64_t)(PyNativeRank_NONE - PyNativeRank_EXACT) << (4 * PyNativeArgumentKind_DEFAULT));
}

/// Returns the rank of a value of this kind for the parameter with this PyNativeChoice_Row().
PyNative_INLINE enum PyNativeRank PyNativeChoice_Rank(uint64_t row,
                                                      enum PyNativeArgumentKind kind) {
  return (enum PyNativeRank)((row >> (4 * (unsigned)kind)) & 15u);
}

/// True if a parameter of this type converts an int to a floating type and may round it. Such a
/// parameter must not receive an int that was out of range for another overload. Source:
/// docs/ABI.md, 8.9.
PyNative_INLINE int PyNativeChoice_LosesPrecision(PyNativeType type) {
  const enum PyNativeKind kind = PyNativeType_Kind(type);
  return kind == PyNativeKind_FLOATING || kind == PyNativeKind_COMPLEX;
}

/// True if an overload with the ranks `one` is at least as good for each of `nargs` arguments as an
/// overload with the ranks `other`, and better for at least one. Source: docs/ABI.md, 8.8.
PyNative_INLINE int PyNativeChoice_IsBetter(const unsigned char *one, const unsigned char *other,
                                            size_t nargs) {
  int is_different = 0;
  for (size_t i = 0; i < nargs; ++i) {
    if (one[i] > other[i]) return 0;
    is_different |= one[i] != other[i];
  }
  return is_different;
}

/// Among the `count` overloads whose worst rank is that of overload `at`, returns the first that no
/// other is better than. No overload before `at` may have that worst rank. The ranks of overload
/// `i` are at `ranks + i * width`; `nargs` of them are used. Source: docs/ABI.md, 8.8.
PyNative_INLINE size_t PyNativeChoice_FirstUnbeaten(const unsigned char *worst,
                                                    const unsigned char *ranks, size_t count,
                                                    size_t width, size_t nargs, size_t at) {
  for (const unsigned char equal = worst[at];; ++at) {
    size_t other = at;
    if (worst[at] != equal) continue;
    for (other = 0; other < count; ++other) {
      if (worst[other] == equal &&
          PyNativeChoice_IsBetter(ranks + other * width, ranks + at * width, nargs)) {
        break;
      }
    }
    if (other == count) return at;
  }
}

#endif  // TYPEDCALL_OVERLOAD_CHOICE_H_
