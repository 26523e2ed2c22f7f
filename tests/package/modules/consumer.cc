// A module that uses the headers: a provider and, on CPython, a consumer.
#include "typedcall/provider.h"
#ifndef PYPY_VERSION
#include "typedcall/resolve.h"
#endif

namespace {

double triple(double x) noexcept { return 3 * x; }

#ifdef PYPY_VERSION
typedcall::method_table methods{typedcall::def<triple>("triple")};
#else
// sum(f) returns f(0) + f(1) + ... + f(9).
PyObject *sum(PyObject *callable) noexcept {
  const auto f = typedcall::resolve<double(double)>(PyTypedcall_Import(), callable);
  if (!f) return nullptr;
  double total = 0;
  for (int i = 0; i < 10; ++i) total += f(i);
  return PyFloat_FromDouble(total);
}

typedcall::method_table methods{typedcall::def<triple>("triple"), typedcall::def<sum>("sum")};
#endif

}  // namespace

TYPEDCALL_MODULE(consumer, "A module with typed functions.", methods);
