// Three modules are made from this file. Their functions have the same names and types, but
// different results. All have visible symbols. The third one is compiled with TYPEDCALL_SEPARATE.

#include "typedcall/provider.h"
#include "typedcall/resolve.h"

#include <stdexcept>

// These functions have external linkage, so `def<next>` is the same template in each module.
long next(long x) noexcept { return x + TWIN; }
double half(double x) {
  if (x < 0) throw std::domain_error("negative");
  return x / 2 + TWIN;
}
long either(long x) noexcept { return x * TWIN; }
double either(double x) noexcept { return x * TWIN; }

namespace {

long native_next(PyObject *callable, long x) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  const auto function =
      typedcall::resolve<long(long)>(interface, callable, typedcall::checks_errors);
  return function ? function(x) : -1;
}
double native_half(PyObject *callable, double x) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  const auto function =
      typedcall::resolve<double(double)>(interface, callable, typedcall::checks_errors);
  return function ? function(x) : -1;
}

typedcall::method_table methods{
    typedcall::def<next>("next"),
    typedcall::def<half>("half"),
    typedcall::def<static_cast<long (*)(long)>(either), static_cast<double (*)(double)>(either)>(
        TWIN == 1 ? "either_a" : "either_b"),
    typedcall::def<native_next>("native_next"),
    typedcall::def<native_half>("native_half"),
};

}  // namespace

#if TWIN == 1
TYPEDCALL_MODULE(provider_twin_1, nullptr, methods);
#elif TWIN == 2
TYPEDCALL_MODULE(provider_twin_2, nullptr, methods);
#else
TYPEDCALL_MODULE(provider_twin_3, nullptr, methods);
#endif
