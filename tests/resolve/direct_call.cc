// Pairs of functions: NAME_pointer calls a function pointer, and NAME_function calls a
// typedcall::function. direct_call_test.sh compares their machine code.

#include "typedcall/call_site.h"
#include "typedcall/resolve.h"

using typedcall::function;
using typedcall::function_view;

// A function has an address, flags, and a reference to the object that keeps the address valid.
static_assert(sizeof(function<double(double, double)>) == 3 * sizeof(void *));

/// A hand-written bound_function.
struct method_and_self {
  double (*pointer)(PyObject *, double);
  unsigned long flags;
  PyObject *self;
};

extern "C" {

double dd_d_pointer(double (*const *f)(double, double), double a, double b) { return (*f)(a, b); }
double dd_d_function(const function<double(double, double)> *f, double a, double b) {
  return (*f)(a, b);
}

double view_pointer(double (*const *f)(double, double), double a, double b) { return (*f)(a, b); }
double view_function(const function_view<double(double, double)> *f, double a, double b) {
  return (*f)(a, b);
}

double bound_pointer(const method_and_self *f, double x) { return f->pointer(f->self, x); }
double bound_function(const typedcall::bound_function<double(double)> *f, double x) {
  return (*f)(x);
}

long l_l_pointer(long (*const *f)(long), long x) { return (*f)(x); }
long l_l_function(const function<long(long)> *f, long x) { return (*f)(x); }

double dldl_d_pointer(double (*const *f)(double, long, double, long), double a, long b, double c,
                      long d) {
  return (*f)(a, b, c, d);
}
double dldl_d_function(const function<double(double, long, double, long)> *f, double a, long b,
                       double c, long d) {
  return (*f)(a, b, c, d);
}

void none_v_pointer(void (*const *f)()) { (*f)(); }
void none_v_function(const function<void()> *f) { (*f)(); }

PyObject *OO_O_pointer(PyObject *(*const *f)(PyObject *, PyObject *), PyObject *a, PyObject *b) {
  return (*f)(a, b);
}
PyObject *OO_O_function(const function<PyObject *(PyObject *, PyObject *)> *f, PyObject *a,
                        PyObject *b) {
  return (*f)(a, b);
}

int bhf_i_pointer(int (*const *f)(signed char, unsigned short, float), signed char a,
                  unsigned short b, float c) {
  return (*f)(a, b, c);
}
int bhf_i_function(const function<int(signed char, unsigned short, float)> *f, signed char a,
                   unsigned short b, float c) {
  return (*f)(a, b, c);
}

// Some arguments are passed on the stack.
double stack_pointer(double (*const *f)(long, long, long, long, long, long, long, long,
                                        long double),
                     long x, long double y) {
  return (*f)(x, x, x, x, x, x, x, x, y);
}
double stack_function(
    const function<double(long, long, long, long, long, long, long, long, long double)> *f, long x,
    long double y) {
  return (*f)(x, x, x, x, x, x, x, x, y);
}

double loop_pointer(double (*const *f)(double, double), const double *x, long n) {
  double sum = 0;
  for (long i = 0; i < n; ++i) sum += (*f)(x[i], sum);
  return sum;
}
double loop_function(const function<double(double, double)> *f, const double *x, long n) {
  double sum = 0;
  for (long i = 0; i < n; ++i) sum += (*f)(x[i], sum);
  return sum;
}

// If the result is not the error value, the check for an exception only costs a comparison.
double checked_pointer(double (*const *f)(double), double x, int *failed) {
  const double result = (*f)(x);
  *failed = 0;
  return result;
}
double checked_function(const function<double(double)> *f, double x, int *failed) {
  const double result = (*f)(x);
  *failed = f->raised(result);
  return result;
}
}
