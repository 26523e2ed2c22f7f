// The typed functions that ripple.pyx calls.
#include "typedcall/provider.h"

double stretch(double x, long times) noexcept { return x * static_cast<double>(times); }
double root(double x) noexcept {
  if (x >= 0) return __builtin_sqrt(x);
  PyErr_SetString(PyExc_ValueError, "root of a negative number");
  return -1;
}

static typedcall::method_table methods{typedcall::def<stretch>("stretch"),
                                       typedcall::def<root>("root", typedcall::may_raise)};
TYPEDCALL_MODULE(shapes, "An extension module that knows nothing of Cython.", methods);
