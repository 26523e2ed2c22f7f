// Entries whose function type the compiler checks, for every code. Used by typed_entry.c and
// typed_entry.cc.
#ifndef TYPEDCALL_TESTS_TYPED_METHOD_TYPED_ENTRY_H_
#define TYPEDCALL_TESTS_TYPED_METHOD_TYPED_ENTRY_H_

#include "typedcall/typed_method.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// Defines functions of each kind for each code. The functions are never called.
#define DECLARE(NAME, LETTERS, TYPE, KIND, ...)                                  \
  typedef TYPE type_##NAME;                                                      \
  static TYPE same_##NAME(TYPE x) { return x; }                                  \
  static TYPE with_self_##NAME(PyObject *self, TYPE x) { return (void)self, x; } \
  static type_##NAME *pointer_##NAME(type_##NAME *x, const type_##NAME *y) {     \
    return y == x ? x : NULL;                                                    \
  }
PyNativeType_VALUE_LIST(DECLARE) static void nothing(void) {}
static void nothing_of(PyObject *self) { (void)self; }

#define SAME(NAME, LETTERS, TYPE, KIND, ...) PyTypedMethod_ENTRY(0, same_##NAME, NAME, NAME),
#define POINTER(NAME, LETTERS, TYPE, KIND, ...) \
  PyTypedMethod_ENTRY(0, &pointer_##NAME, TO(NAME), TO(NAME), TO_CONST(NAME)),
#define WITH_SELF(NAME, LETTERS, TYPE, KIND, ...) \
  PyTypedMethod_ENTRY_WITH_SELF(PyNativeCallable_PURE, with_self_##NAME, NAME, NAME),

static const PyNativeCallableEntry same[] = {PyNativeType_VALUE_LIST(SAME)};
static const PyNativeCallableEntry pointers[] = {PyNativeType_VALUE_LIST(POINTER)};
static const PyNativeCallableEntry with_self[] = {PyNativeType_VALUE_LIST(WITH_SELF)};

#define EXPECTED(NAME, LETTERS, TYPE, KIND, ...)                                      \
  {LETTERS "->" LETTERS, "&" LETTERS "&k" LETTERS "->&" LETTERS, (void *)same_##NAME, \
   (void *)pointer_##NAME, (void *)with_self_##NAME},
static const struct {
  const char *same, *pointers;
  void *function, *of_pointers, *of_self;
} expected[] = {PyNativeType_VALUE_LIST(EXPECTED)};

// The largest number of arguments.
static double most(signed char *a, short b, long long c, float d, double e, void *f, const char *g,
                   PyObject *h, PyNativeType_ComplexDouble i, Py_ssize_t j, size_t k,
                   const double *l) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j;
  return (void)k, *l;
}
static double most_with_self(PyObject *self, unsigned char a, unsigned short b, unsigned c,
                             unsigned long d, unsigned long long e, bool f, long double g, int h,
                             const int *i, PyObject **j, const char **k, void **l) {
  (void)self, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i;
  return (void)j, (void)k, (void)l, 0;
}
static const PyNativeCallableEntry longest[] = {
    PyTypedMethod_ENTRY(0, most, DOUBLE, TO(SCHAR), SHORT, LONGLONG, FLOAT, DOUBLE, POINTER, STRING,
                        OBJECT, CDOUBLE, SSIZE, SIZE, TO_CONST(DOUBLE)),
    PyTypedMethod_ENTRY_WITH_SELF(0, most_with_self, DOUBLE, UCHAR, USHORT, UINT, ULONG, ULONGLONG,
                                  BOOL, LONGDOUBLE, INT, TO_CONST(INT), TO(OBJECT), TO(STRING),
                                  TO(POINTER))};

PyTypedMethod_DEFINE(all_typed, "all",
                     PyNativeType_VALUE_LIST(SAME) PyTypedMethod_ENTRY(0, nothing, VOID));

// Functions, and wrappers that pass default values for their last parameters.
static const double earth = 6371.5;
static long called_with = 0;
static double distance(double a, double b, double c, double radius) {
  return a + 10 * b + 100 * c + radius;
}
static long seven(long a, int b, short c, long d, long e, long f, long g) {
  return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g;
}
static void note(long a, long b) { called_with = 10 * a + b; }
static int half(double x, double by, double *result) {
  *result = x / by;
  return x < 0;
}
static int number(long from, long *result) { return (void)(*result = from), 0; }
static const double *same_items(const double *items, Py_ssize_t from) { return items + from; }
static long of_self(PyObject *self, long x, long y) { return self == NULL ? 10 * x + y : -1; }

PyTypedMethod_WITH_DEFAULTS(distance_on_earth, distance, (earth), DOUBLE, DOUBLE, DOUBLE, DOUBLE);
PyTypedMethod_WITH_DEFAULTS(distance_from_zero, distance, (0, 0, earth), DOUBLE, DOUBLE);
PyTypedMethod_WITH_DEFAULTS(six_of_seven, seven, (7), LONG, LONG, INT, SHORT, LONG, LONG, LONG);
PyTypedMethod_WITH_DEFAULTS(none_of_seven, seven, (1, 2, 3, 4, 5, 6, 7), LONG);
PyTypedMethod_WITH_DEFAULTS(note_one, note, (5), VOID, LONG);
PyTypedMethod_WITH_DEFAULTS(note_none, note, (3, 4), VOID);
PyTypedMethod_WITH_DEFAULTS_AND_PLACE(half_of, half, (2), INT, DOUBLE, TO(DOUBLE));
PyTypedMethod_WITH_DEFAULTS_AND_PLACE(three, number, (3), INT, TO(LONG));
PyTypedMethod_WITH_DEFAULTS(items_behind, same_items, (2), TO_CONST(DOUBLE), TO_CONST(DOUBLE));
PyTypedMethod_WITH_DEFAULTS(of_self_and_one, of_self, (4), LONG, OBJECT, LONG);
PyTypedMethod_DEFINE(distance_typed, "distance",
                     PyTypedMethod_ENTRY(0, distance, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE),
                     PyTypedMethod_ENTRY(0, distance_on_earth, DOUBLE, DOUBLE, DOUBLE, DOUBLE),
                     PyTypedMethod_ENTRY(0, distance_from_zero, DOUBLE, DOUBLE),
                     PyTypedMethod_ENTRY_WITH_SELF(0, of_self_and_one, LONG, LONG));

// Returns 0, or the number of the first check that failed.
static int defaults_check(void) {
  const double items[] = {0, 1, 2};
  double value = 0;
  long number_of = 0;
  if (distance_on_earth(1, 2, 3) != distance(1, 2, 3, 6371.5)) return 20;
  if (distance_from_zero(1) != distance(1, 0, 0, 6371.5)) return 21;
  if (six_of_seven(1, 2, 3, 4, 5, 6) != 7654321 || none_of_seven() != 7654321) return 22;
  note_one(6);
  if (called_with != 65) return 23;
  note_none();
  if (called_with != 34) return 24;
  if (half_of(3, &value) != 0 || value != 1.5 || half_of(-3, &value) == 0) return 25;
  if (three(&number_of) != 0 || number_of != 3) return 26;
  if (items_behind(items) != items + 2) return 27;
  if (of_self_and_one(NULL, 3) != 34) return 28;
  if (strcmp(distance_typed.table->entries[1].signature, "ddd->d") != 0) return 29;
  if (distance_typed.table->entries[3].flags != PyNativeCallable_TAKES_SELF) return 30;
  return 0;
}

// Returns 0, or the number of the first check that failed.
static int typed_entry_check(void) {
  if (defaults_check() != 0) return defaults_check();
  const int count = (int)(sizeof(expected) / sizeof(expected[0]));
  const PyNativeCallableEntry no_arguments[] = {
      PyTypedMethod_ENTRY(PyNativeCallable_SHORT, nothing, VOID),
      PyTypedMethod_ENTRY_WITH_SELF(0, nothing_of, VOID)};
  if (count != PyNativeType_COUNT - 1 || all_typed.table->count != count + 1) return 1;
  for (int i = 0; i < count; ++i) {
    const PyNativeCallableEntry *listed = all_typed.table->entries + i;
    if (strcmp(same[i].signature, expected[i].same) != 0) return 100 + i;
    if (strcmp(pointers[i].signature, expected[i].pointers) != 0) return 200 + i;
    if (strcmp(with_self[i].signature, expected[i].same) != 0) return 300 + i;
    if (strcmp(listed->signature, expected[i].same) != 0) return 400 + i;
    if (same[i].flags != 0 || pointers[i].flags != 0 || listed->flags != 0) return 500 + i;
    if (with_self[i].flags != (PyNativeCallable_PURE | PyNativeCallable_TAKES_SELF)) return 600 + i;
    if (same[i].funcptr != expected[i].function) return 700 + i;
    if (pointers[i].funcptr != expected[i].of_pointers) return 800 + i;
    if (with_self[i].funcptr != expected[i].of_self) return 900 + i;
    if (PyNativeSignature_ParseString(pointers[i].signature, NULL, NULL) < 0) return 1000 + i;
  }
  if (strcmp(no_arguments[0].signature, "->v") != 0) return 2;
  if (strcmp(no_arguments[1].signature, "->v") != 0) return 3;
  if (strcmp(longest[0].signature, "&bhqfdPsOZdnN&kd->d") != 0) return 6;
  if (strcmp(longest[1].signature, "BHILQ?gi&ki&O&s&P->d") != 0) return 7;
  if (no_arguments[0].flags != PyNativeCallable_SHORT) return 4;
  return no_arguments[1].flags == PyNativeCallable_TAKES_SELF ? 0 : 5;
}

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TESTS_TYPED_METHOD_TYPED_ENTRY_H_
