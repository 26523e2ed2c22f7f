// PyTypedMethod_ENTRY: a table entry whose C function the compiler checks. The signature's text is
// made from the names of codes, and so is the type that the function must have, in C and in C++.
#ifndef TYPEDCALL_TYPED_ENTRY_H_
#define TYPEDCALL_TYPED_ENTRY_H_

#include "typedcall/typed_method.h"

// {"dl->d", 0, (void *)f} is a promise that no compiler can check. This one does not compile when
// `f` is anything else than `double f(double, long)`:
//
//   PyTypedMethod_DEFINE(f_typed, "f", PyTypedMethod_ENTRY(0, f_impl, DOUBLE, DOUBLE, LONG));
//
// The names are those of typedcall/type_codes.h, result first, as in C:
//
//   VOID BOOL SCHAR UCHAR SHORT USHORT INT UINT LONG ULONG LONGLONG ULONGLONG SSIZE SIZE
//   FLOAT DOUBLE LONGDOUBLE CFLOAT CDOUBLE CLONGDOUBLE POINTER STRING OBJECT
//
// TO(DOUBLE) is `double *` and TO_CONST(DOUBLE) `const double *`, both "&d" in the text. OBJECT is
// `PyObject *`, POINTER `void *`, STRING `const char *`, SSIZE `Py_ssize_t`.

/// An initialiser for a PyNativeCallableEntry: flags, function, result, and up to 12 arguments. For
/// more of them write the entry without a check.
#define PyTypedMethod_ENTRY(flags, function, ...) \
  PyTypedMethod_Internal_ENTRY(                   \
      flags, function, PyTypedMethod_Internal_FUNCTION(PARAMETERS_, __VA_ARGS__), __VA_ARGS__)

/// The same for a function that takes `PyObject *self` first, which the names do not show: the flag
/// TAKES_SELF is added.
#define PyTypedMethod_ENTRY_WITH_SELF(flags, function, ...)                             \
  PyTypedMethod_Internal_ENTRY((flags) | PyNativeCallable_TAKES_SELF, function,         \
                               PyTypedMethod_Internal_FUNCTION(SELF_AND_, __VA_ARGS__), \
                               __VA_ARGS__)

// The text of each code again, because the preprocessor can join literals only, and only what a
// macro of that name stands for; a test holds it against the list.
#define PyTypedMethod_Internal_TEXT_VOID "v"
#define PyTypedMethod_Internal_TEXT_BOOL "?"
#define PyTypedMethod_Internal_TEXT_SCHAR "b"
#define PyTypedMethod_Internal_TEXT_UCHAR "B"
#define PyTypedMethod_Internal_TEXT_SHORT "h"
#define PyTypedMethod_Internal_TEXT_USHORT "H"
#define PyTypedMethod_Internal_TEXT_INT "i"
#define PyTypedMethod_Internal_TEXT_UINT "I"
#define PyTypedMethod_Internal_TEXT_LONG "l"
#define PyTypedMethod_Internal_TEXT_ULONG "L"
#define PyTypedMethod_Internal_TEXT_LONGLONG "q"
#define PyTypedMethod_Internal_TEXT_ULONGLONG "Q"
#define PyTypedMethod_Internal_TEXT_SSIZE "n"
#define PyTypedMethod_Internal_TEXT_SIZE "N"
#define PyTypedMethod_Internal_TEXT_FLOAT "f"
#define PyTypedMethod_Internal_TEXT_DOUBLE "d"
#define PyTypedMethod_Internal_TEXT_LONGDOUBLE "g"
#define PyTypedMethod_Internal_TEXT_CFLOAT "Zf"
#define PyTypedMethod_Internal_TEXT_CDOUBLE "Zd"
#define PyTypedMethod_Internal_TEXT_CLONGDOUBLE "Zg"
#define PyTypedMethod_Internal_TEXT_POINTER "P"
#define PyTypedMethod_Internal_TEXT_STRING "s"
#define PyTypedMethod_Internal_TEXT_OBJECT "O"
#define PyTypedMethod_Internal_TEXT_TO(NAME) "&" PyTypedMethod_Internal_TEXT_##NAME
#define PyTypedMethod_Internal_TEXT_TO_CONST(NAME) "&" PyTypedMethod_Internal_TEXT_##NAME

// The C type of each code.
#define PyTypedMethod_Internal_ROW(NAME, LETTERS, TYPE, KIND) \
  typedef TYPE PyTypedMethod_Internal_TYPE_##NAME;
PyNativeType_LIST(PyTypedMethod_Internal_ROW)
#undef PyTypedMethod_Internal_ROW
#define PyTypedMethod_Internal_TYPE_TO(NAME) PyTypedMethod_Internal_TYPE_##NAME *
#define PyTypedMethod_Internal_TYPE_TO_CONST(NAME) const PyTypedMethod_Internal_TYPE_##NAME *

#ifdef __cplusplus
#define PyTypedMethod_Internal_ENTRY(flags, function, type, ...)                    \
  {                                                                                 \
    PyTypedMethod_Internal_TEXT(__VA_ARGS__), (uintptr_t)(flags),                   \
        reinterpret_cast<void *>(static_cast<type>(function)) /* checks the type */ \
  }
#else
// A field of negative width does not compile, and its name is in the message.
#define PyTypedMethod_Internal_ENTRY(flags, function, type, ...)                                  \
  {                                                                                               \
    PyTypedMethod_Internal_TEXT(__VA_ARGS__),                                                     \
        (uintptr_t)(flags) + 0 * sizeof(struct {                                                  \
                               int the_function_has_not_the_type_that_its_codes_say               \
                                   : __builtin_types_compatible_p(__typeof__(&*(function)), type) \
                                     ? 1                                                          \
                                     : -1;                                                        \
                             }),                                                                  \
        (void *)(function)                                                                        \
  }
#endif

// How many codes there are, without the result: 0 to 12.
#define PyTypedMethod_Internal_COUNT(...) \
  PyTypedMethod_Internal_COUNT_OF(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, _)
#define PyTypedMethod_Internal_COUNT_OF(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, \
                                        count, ...)                                            \
  count
#define PyTypedMethod_Internal_FIRST(...) PyTypedMethod_Internal_FIRST_OF(__VA_ARGS__, _)
#define PyTypedMethod_Internal_FIRST_OF(first, ...) first
#define PyTypedMethod_Internal_JOIN(a, b) PyTypedMethod_Internal_PASTE(a, b)
#define PyTypedMethod_Internal_PASTE(a, b) a##b
#define PyTypedMethod_Internal_LETTERS(name) PyTypedMethod_Internal_TEXT_##name
#define PyTypedMethod_Internal_TYPE(name) PyTypedMethod_Internal_TYPE_##name
#define PyTypedMethod_Internal_TEXT(...)                     \
  PyTypedMethod_Internal_JOIN(PyTypedMethod_Internal_SPELL_, \
                              PyTypedMethod_Internal_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define PyTypedMethod_Internal_FUNCTION(shape, ...)                              \
  PyTypedMethod_Internal_TYPE_OF(PyTypedMethod_Internal_FIRST(__VA_ARGS__)) (*)( \
      PyTypedMethod_Internal_JOIN(PyTypedMethod_Internal_##shape,                \
                                  PyTypedMethod_Internal_COUNT(__VA_ARGS__))(__VA_ARGS__))
#define PyTypedMethod_Internal_TYPE_OF(name) PyTypedMethod_Internal_TYPE(name)

// The text of a signature with so many arguments; `r` is the result.
#define PyTypedMethod_Internal_SPELL_0(r) "->" PyTypedMethod_Internal_LETTERS(r)
#define PyTypedMethod_Internal_SPELL_1(r, a) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_0(r)
#define PyTypedMethod_Internal_SPELL_2(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_1(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_3(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_2(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_4(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_3(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_5(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_4(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_6(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_5(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_7(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_6(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_8(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_7(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_9(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_8(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_10(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_9(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_11(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_10(r, __VA_ARGS__)
#define PyTypedMethod_Internal_SPELL_12(r, a, ...) \
  PyTypedMethod_Internal_LETTERS(a) PyTypedMethod_Internal_SPELL_11(r, __VA_ARGS__)

// The parameters of its function.
#define PyTypedMethod_Internal_PARAMETERS_0(r) void
#define PyTypedMethod_Internal_PARAMETERS_1(r, a) PyTypedMethod_Internal_TYPE(a)
#define PyTypedMethod_Internal_PARAMETERS_2(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_1(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_3(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_2(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_4(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_3(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_5(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_4(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_6(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_5(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_7(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_6(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_8(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_7(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_9(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_8(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_10(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_9(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_11(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_10(r, __VA_ARGS__)
#define PyTypedMethod_Internal_PARAMETERS_12(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a), PyTypedMethod_Internal_PARAMETERS_11(r, __VA_ARGS__)

// The same behind self.
#define PyTypedMethod_Internal_SELF_AND_0(r) PyObject *
#define PyTypedMethod_Internal_SELF_AND_1(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_1(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_2(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_2(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_3(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_3(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_4(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_4(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_5(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_5(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_6(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_6(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_7(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_7(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_8(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_8(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_9(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_9(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_10(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_10(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_11(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_11(__VA_ARGS__)
#define PyTypedMethod_Internal_SELF_AND_12(...) \
  PyObject *, PyTypedMethod_Internal_PARAMETERS_12(__VA_ARGS__)

#endif  // TYPEDCALL_TYPED_ENTRY_H_
