// PyTypedMethod_ENTRY: a table entry whose C function the compiler checks. The signature's text is
// made from the names of codes, and so is the type that the function must have, in C and in C++.
#include "core/version.h"

#ifndef TYPEDCALL_TYPED_ENTRY_H_
#define TYPEDCALL_TYPED_ENTRY_H_

#include "typedcall/typed_method.h"

// {"dl->d", 0, (void *)f} is a promise that no compiler can check. This one does not compile when
// `f` is anything else than `double f(double, long)`:
//
//   PyTypedMethod_DEFINE(f_typed, "f", PyTypedMethod_ENTRY(0, f_impl, DOUBLE, DOUBLE, LONG));
//
// The names are those of PyNativeType_LIST in typedcall/type_codes.h, result first, as in C.
//
// TO(DOUBLE) is `double *`, "&d" in the text, and TO_CONST(DOUBLE) `const double *`, "&kd". OBJECT
// is `PyObject *`, POINTER `void *`, STRING `const char *`, SSIZE `Py_ssize_t`.

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

/// A function without the last parameters of another, for which it passes constants, so that native
/// callers may leave out what Python's callers may:
///
///   static const double earth = 6371.0;
///   static double distance(double a, double b, double c, double d, double radius);
///   PyTypedMethod_WITH_DEFAULTS(distance_on_earth, distance, (earth), DOUBLE, DOUBLE, DOUBLE,
///                               DOUBLE, DOUBLE);
///   PyTypedMethod_DEFINE(
///       distance_typed, "distance",
///       PyTypedMethod_ENTRY(0, distance, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE),
///       PyTypedMethod_ENTRY(0, distance_on_earth, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE));
///
/// The names are those of `made`: its result, and up to 12 arguments that it hands on; self, where
/// the function takes it, is an OBJECT in front. `defaults` are in parentheses: (1, 0.5). Let the
/// wrapper use the same constants. The whole function's entry comes first in the table.
#define PyTypedMethod_WITH_DEFAULTS(made, function, defaults, ...) \
  PyTypedMethod_Internal_MAKE(made, function, PASSED_, defaults, __VA_ARGS__)

/// The same for a function that returns a status or falls back, whose value goes through a last
/// pointer: the defaults are in front of that.
#define PyTypedMethod_WITH_DEFAULTS_AND_PLACE(made, function, defaults, ...) \
  PyTypedMethod_Internal_MAKE(made, function, PLACED_, defaults, __VA_ARGS__)

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
#elif !TYPEDCALL_IS_SUPPORTED  // nobody calls it
#define PyTypedMethod_Internal_ENTRY(flags, function, type, ...) \
  { PyTypedMethod_Internal_TEXT(__VA_ARGS__), (uintptr_t)(flags), (void *)(function) }
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
#define PyTypedMethod_Internal_LETTERS(name) PyNativeType_Internal_TEXT_##name
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

// A function of these codes, whose parameters are called a12 to a1. A `return` with what is void is
// no C. A semicolon follows.
#define PyTypedMethod_Internal_MAKE(made, function, shape, defaults, ...)                          \
  static PyTypedMethod_Internal_TYPE_OF(PyTypedMethod_Internal_FIRST(__VA_ARGS__))                 \
      made(PyTypedMethod_Internal_JOIN(PyTypedMethod_Internal_DECLARED_,                           \
                                       PyTypedMethod_Internal_COUNT(__VA_ARGS__))(__VA_ARGS__)) {  \
    PyTypedMethod_Internal_RETURN(PyTypedMethod_Internal_FIRST(__VA_ARGS__))                       \
        function(PyTypedMethod_Internal_JOIN(                                                      \
            PyTypedMethod_Internal_##shape, PyTypedMethod_Internal_COUNT(__VA_ARGS__))(defaults)); \
  }                                                                                                \
  struct PyTypedMethod_Internal_END
#define PyTypedMethod_Internal_RETURN(name) PyTypedMethod_Internal_RETURN_OF(name)
#define PyTypedMethod_Internal_RETURN_OF(name) \
  PyTypedMethod_Internal_SECOND(PyTypedMethod_Internal_IS_##name, return, _)
#define PyTypedMethod_Internal_SECOND(...) PyTypedMethod_Internal_SECOND_OF(__VA_ARGS__)
#define PyTypedMethod_Internal_SECOND_OF(first, second, ...) second
#define PyTypedMethod_Internal_IS_VOID _,
#define PyTypedMethod_Internal_ALL(...) __VA_ARGS__
#define PyTypedMethod_Internal_DECLARED_0(r) void
#define PyTypedMethod_Internal_DECLARED_1(r, a) PyTypedMethod_Internal_TYPE(a) a1
#define PyTypedMethod_Internal_DECLARED_2(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a2, PyTypedMethod_Internal_DECLARED_1(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_3(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a3, PyTypedMethod_Internal_DECLARED_2(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_4(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a4, PyTypedMethod_Internal_DECLARED_3(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_5(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a5, PyTypedMethod_Internal_DECLARED_4(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_6(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a6, PyTypedMethod_Internal_DECLARED_5(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_7(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a7, PyTypedMethod_Internal_DECLARED_6(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_8(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a8, PyTypedMethod_Internal_DECLARED_7(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_9(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a9, PyTypedMethod_Internal_DECLARED_8(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_10(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a10, PyTypedMethod_Internal_DECLARED_9(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_11(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a11, PyTypedMethod_Internal_DECLARED_10(r, __VA_ARGS__)
#define PyTypedMethod_Internal_DECLARED_12(r, a, ...) \
  PyTypedMethod_Internal_TYPE(a) a12, PyTypedMethod_Internal_DECLARED_11(r, __VA_ARGS__)
// Those in front of the last one.
#define PyTypedMethod_Internal_FRONT_2 a2
#define PyTypedMethod_Internal_FRONT_3 a3, PyTypedMethod_Internal_FRONT_2
#define PyTypedMethod_Internal_FRONT_4 a4, PyTypedMethod_Internal_FRONT_3
#define PyTypedMethod_Internal_FRONT_5 a5, PyTypedMethod_Internal_FRONT_4
#define PyTypedMethod_Internal_FRONT_6 a6, PyTypedMethod_Internal_FRONT_5
#define PyTypedMethod_Internal_FRONT_7 a7, PyTypedMethod_Internal_FRONT_6
#define PyTypedMethod_Internal_FRONT_8 a8, PyTypedMethod_Internal_FRONT_7
#define PyTypedMethod_Internal_FRONT_9 a9, PyTypedMethod_Internal_FRONT_8
#define PyTypedMethod_Internal_FRONT_10 a10, PyTypedMethod_Internal_FRONT_9
#define PyTypedMethod_Internal_FRONT_11 a11, PyTypedMethod_Internal_FRONT_10
#define PyTypedMethod_Internal_FRONT_12 a12, PyTypedMethod_Internal_FRONT_11
#define PyTypedMethod_Internal_PASSED_0(defaults) PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_1(defaults) a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_2(defaults) \
  PyTypedMethod_Internal_FRONT_2, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_3(defaults) \
  PyTypedMethod_Internal_FRONT_3, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_4(defaults) \
  PyTypedMethod_Internal_FRONT_4, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_5(defaults) \
  PyTypedMethod_Internal_FRONT_5, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_6(defaults) \
  PyTypedMethod_Internal_FRONT_6, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_7(defaults) \
  PyTypedMethod_Internal_FRONT_7, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_8(defaults) \
  PyTypedMethod_Internal_FRONT_8, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_9(defaults) \
  PyTypedMethod_Internal_FRONT_9, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_10(defaults) \
  PyTypedMethod_Internal_FRONT_10, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_11(defaults) \
  PyTypedMethod_Internal_FRONT_11, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PASSED_12(defaults) \
  PyTypedMethod_Internal_FRONT_12, a1, PyTypedMethod_Internal_ALL defaults
#define PyTypedMethod_Internal_PLACED_1(defaults) PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_2(defaults) \
  PyTypedMethod_Internal_FRONT_2, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_3(defaults) \
  PyTypedMethod_Internal_FRONT_3, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_4(defaults) \
  PyTypedMethod_Internal_FRONT_4, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_5(defaults) \
  PyTypedMethod_Internal_FRONT_5, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_6(defaults) \
  PyTypedMethod_Internal_FRONT_6, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_7(defaults) \
  PyTypedMethod_Internal_FRONT_7, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_8(defaults) \
  PyTypedMethod_Internal_FRONT_8, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_9(defaults) \
  PyTypedMethod_Internal_FRONT_9, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_10(defaults) \
  PyTypedMethod_Internal_FRONT_10, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_11(defaults) \
  PyTypedMethod_Internal_FRONT_11, PyTypedMethod_Internal_ALL defaults, a1
#define PyTypedMethod_Internal_PLACED_12(defaults) \
  PyTypedMethod_Internal_FRONT_12, PyTypedMethod_Internal_ALL defaults, a1

#endif  // TYPEDCALL_TYPED_ENTRY_H_
