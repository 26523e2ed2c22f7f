/* An entry of FUNCTION with the codes CODES. test_wrong_entry.py compiles this file with right and
 * wrong codes. */
#include "typedcall/typed_method.h"

static double scale(double x, long factor) { return x * (double)factor; }
static double sum(const double *values, Py_ssize_t count) { return count > 0 ? values[0] : 0; }
static long size_of(PyObject *self) { return (long)Py_REFCNT(self); }
static void nothing(void) {}
static const int number = 1;

#ifndef KIND
#define KIND PyTypedMethod_ENTRY
#endif

PyTypedMethod_DEFINE(entry_under_test, "f", KIND(0, FUNCTION, CODES));

const void *use(int which);
const void *use(int which) {
  const void *const all[] = {(const void *)scale, (const void *)sum, (const void *)size_of,
                             (const void *)nothing, &number};
  return which < 5 ? all[which] : &entry_under_test;
}
