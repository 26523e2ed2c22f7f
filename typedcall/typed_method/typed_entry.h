// PyTypedMethod_ENTRY makes an entry for a C function. The compiler checks that the function has
// the type in the signature. Included by typedcall/typed_method.h.
#ifndef TYPEDCALL_TYPED_METHOD_TYPED_ENTRY_H_
#define TYPEDCALL_TYPED_METHOD_TYPED_ENTRY_H_

#include "core/platform.h"
#include "typedcall/signature/type_codes.h"

// The compiler cannot check an entry like {"dl->d", 0, (void *)f}. The following entry compiles
// only if `f_impl` is `double f_impl(double, long)`:
//
//   PyTypedMethod_DEFINE(f_typed, "f", PyTypedMethod_ENTRY(0, f_impl, DOUBLE, DOUBLE, LONG));
//
// The names are in PyNativeType_LIST in typedcall/signature/type_codes.h. The result comes first.
//
// TO(DOUBLE) is `double *` ("&d"), and TO_CONST(DOUBLE) is `const double *` ("&kd"). OBJECT is
// `PyObject *`, POINTER is `void *`, STRING is `const char *`, and SSIZE is `Py_ssize_t`.

/// An initialiser for a PyNativeCallableEntry with up to 12 arguments. An entry with more arguments
/// must be written without the check.
#define PyTypedMethod_ENTRY(flags, function, ...)                                \
  PyTypedMethod_Internal_ENTRY(                                                  \
      flags, function,                                                           \
      PyTypedMethod_Internal_RESULT(__VA_ARGS__) (*)(                            \
          PyTypedMethod_Internal_EACH(TYPE_AND_COMMA, TYPE, void, __VA_ARGS__)), \
      __VA_ARGS__)

/// Like PyTypedMethod_ENTRY, for a function whose first parameter is `PyObject *self`. The names do
/// not include self. Adds the flag TAKES_SELF.
#define PyTypedMethod_ENTRY_WITH_SELF(flags, function, ...)                                       \
  PyTypedMethod_Internal_ENTRY(                                                                   \
      (flags) | PyNativeCallable_TAKES_SELF, function,                                            \
      PyTypedMethod_Internal_RESULT(__VA_ARGS__)(*)(                                              \
          PyObject * PyTypedMethod_Internal_EACH(COMMA_AND_TYPE, COMMA_AND_TYPE, , __VA_ARGS__)), \
      __VA_ARGS__)

/// Defines a function that calls another function with constants for its last parameters:
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
/// The codes are for the result of `made` and up to 12 arguments. If the function takes self, the
/// first argument is OBJECT. `defaults` must be in parentheses: (1, 0.5). The wrapper should use
/// the same defaults. The entry of the full function should come first in the table.
#define PyTypedMethod_WITH_DEFAULTS(made, function, defaults, ...)                        \
  PyTypedMethod_Internal_MAKE(                                                            \
      made,                                                                               \
      function(PyTypedMethod_Internal_EACH(NAME_AND_COMMA, NAME_AND_COMMA, , __VA_ARGS__) \
                   PyTypedMethod_Internal_ALL defaults),                                  \
      __VA_ARGS__)

/// Like PyTypedMethod_WITH_DEFAULTS, for a function that stores its value through its last
/// parameter, a pointer. The defaults are passed before this parameter.
#define PyTypedMethod_WITH_DEFAULTS_AND_PLACE(made, function, defaults, ...)       \
  PyTypedMethod_Internal_MAKE(                                                     \
      made,                                                                        \
      function(PyTypedMethod_Internal_EACH(NAME_AND_COMMA, NOTHING, , __VA_ARGS__) \
                   PyTypedMethod_Internal_ALL defaults,                            \
               a1),                                                                \
      __VA_ARGS__)

// Defines the C type of each code.
#define PyTypedMethod_Internal_ROW(NAME, LETTERS, TYPE, KIND, ...) \
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
#elif !TYPEDCALL_IS_SUPPORTED  // never called
#define PyTypedMethod_Internal_ENTRY(flags, function, type, ...) \
  { PyTypedMethod_Internal_TEXT(__VA_ARGS__), (uintptr_t)(flags), (void *)(function) }
#else
// A bit-field of negative width does not compile, and the error message contains its name.
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

// The number of codes without the result, from 0 to 12.
#define PyTypedMethod_Internal_COUNT(...) \
  PyTypedMethod_Internal_COUNT_OF(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, _)
#define PyTypedMethod_Internal_COUNT_OF(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, \
                                        count, ...)                                            \
  count
#define PyTypedMethod_Internal_FIRST(...) PyTypedMethod_Internal_FIRST_OF(__VA_ARGS__, _)
#define PyTypedMethod_Internal_FIRST_OF(first, ...) first
#define PyTypedMethod_Internal_JOIN(a, b) PyTypedMethod_Internal_PASTE(a, b)
#define PyTypedMethod_Internal_PASTE(a, b) a##b
#define PyTypedMethod_Internal_ALL(...) __VA_ARGS__
#define PyTypedMethod_Internal_TEXT(...) \
  PyTypedMethod_Internal_EACH(           \
      LETTERS, LETTERS, "",              \
      __VA_ARGS__) "->" PyTypedMethod_Internal_LETTERS_OF(PyTypedMethod_Internal_FIRST(__VA_ARGS__))
#define PyTypedMethod_Internal_LETTERS_OF(name) PyTypedMethod_Internal_LETTERS(0, name)
#define PyTypedMethod_Internal_RESULT(...) \
  PyTypedMethod_Internal_TYPE_OF(PyTypedMethod_Internal_FIRST(__VA_ARGS__))
#define PyTypedMethod_Internal_TYPE_OF(name) PyTypedMethod_Internal_TYPE(0, name)

// EACH passes the number of remaining arguments and a code to these macros. In functions defined
// here, the parameters have the names a12 to a1.
#define PyTypedMethod_Internal_LETTERS(left, name) PyNativeType_Internal_TEXT_##name
#define PyTypedMethod_Internal_TYPE(left, name) PyTypedMethod_Internal_TYPE_##name
#define PyTypedMethod_Internal_TYPE_AND_COMMA(left, name) PyTypedMethod_Internal_TYPE_##name,
#define PyTypedMethod_Internal_COMMA_AND_TYPE(left, name) , PyTypedMethod_Internal_TYPE_##name
#define PyTypedMethod_Internal_PARAMETER(left, name) PyTypedMethod_Internal_TYPE_##name a##left
#define PyTypedMethod_Internal_PARAMETER_AND_COMMA(left, name) \
  PyTypedMethod_Internal_TYPE_##name a##left,
#define PyTypedMethod_Internal_NAME_AND_COMMA(left, name) a##left,
#define PyTypedMethod_Internal_NOTHING(left, name)

// Applies `each` to all arguments except the last, and `last` to the last argument. Expands to
// `none` if there are no arguments.
#define PyTypedMethod_Internal_EACH(each, last, none, ...)                \
  PyTypedMethod_Internal_JOIN(PyTypedMethod_Internal_EACH_,               \
                              PyTypedMethod_Internal_COUNT(__VA_ARGS__))( \
      PyTypedMethod_Internal_##each, PyTypedMethod_Internal_##last, none, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_0(each, last, none, r) none
#define PyTypedMethod_Internal_EACH_1(each, last, none, r, a) last(1, a)
#define PyTypedMethod_Internal_EACH_2(each, last, none, r, a, ...) \
  each(2, a) PyTypedMethod_Internal_EACH_1(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_3(each, last, none, r, a, ...) \
  each(3, a) PyTypedMethod_Internal_EACH_2(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_4(each, last, none, r, a, ...) \
  each(4, a) PyTypedMethod_Internal_EACH_3(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_5(each, last, none, r, a, ...) \
  each(5, a) PyTypedMethod_Internal_EACH_4(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_6(each, last, none, r, a, ...) \
  each(6, a) PyTypedMethod_Internal_EACH_5(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_7(each, last, none, r, a, ...) \
  each(7, a) PyTypedMethod_Internal_EACH_6(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_8(each, last, none, r, a, ...) \
  each(8, a) PyTypedMethod_Internal_EACH_7(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_9(each, last, none, r, a, ...) \
  each(9, a) PyTypedMethod_Internal_EACH_8(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_10(each, last, none, r, a, ...) \
  each(10, a) PyTypedMethod_Internal_EACH_9(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_11(each, last, none, r, a, ...) \
  each(11, a) PyTypedMethod_Internal_EACH_10(each, last, none, r, __VA_ARGS__)
#define PyTypedMethod_Internal_EACH_12(each, last, none, r, a, ...) \
  each(12, a) PyTypedMethod_Internal_EACH_11(each, last, none, r, __VA_ARGS__)

// Defines a function of the type that these codes describe. It returns `call`. C does not allow
// `return` with a void expression. The macro must be followed by a semicolon.
#define PyTypedMethod_Internal_MAKE(made, call, ...)                                         \
  static PyTypedMethod_Internal_RESULT(__VA_ARGS__)                                          \
      made(PyTypedMethod_Internal_EACH(PARAMETER_AND_COMMA, PARAMETER, void, __VA_ARGS__)) { \
    PyTypedMethod_Internal_RETURN(PyTypedMethod_Internal_FIRST(__VA_ARGS__)) call;           \
  }                                                                                          \
  struct PyTypedMethod_Internal_END
#define PyTypedMethod_Internal_RETURN(name) PyTypedMethod_Internal_RETURN_OF(name)
#define PyTypedMethod_Internal_RETURN_OF(name) \
  PyTypedMethod_Internal_SECOND(PyTypedMethod_Internal_IS_##name, return, _)
#define PyTypedMethod_Internal_SECOND(...) PyTypedMethod_Internal_SECOND_OF(__VA_ARGS__)
#define PyTypedMethod_Internal_SECOND_OF(first, second, ...) second
#define PyTypedMethod_Internal_IS_VOID _,

#endif  // TYPEDCALL_TYPED_METHOD_TYPED_ENTRY_H_
