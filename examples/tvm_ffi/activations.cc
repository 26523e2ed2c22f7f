// C++ functions, wrapped and tagged.
#include "typedcall/provider.h"
// After Python.h.
#include <cmath>
#include <optional>
#include <string_view>

double swish(double x) noexcept { return x / (1 + std::exp(-x)); }
std::optional<double> logit(double p) noexcept {
  if (!(p > 0 && p < 1)) return std::nullopt;
  return std::log(p / (1 - p));
}
static PyObject *no_probability(double) {
  PyErr_SetString(PyExc_ValueError, "no probability");
  return nullptr;
}
long words(std::string_view text) noexcept {
  long count = 0;
  bool is_between = true;
  for (const char each : text) {
    count += is_between && each != ' ';
    is_between = each == ' ';
  }
  return count;
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;
static typedcall::method_table methods{
    typedcall::def<swish>("swish", simple | typedcall::does_not_block),
    typedcall::def<logit>("logit", simple, typedcall::otherwise<no_probability>),
    typedcall::def<words>("words", simple),
};
TYPEDCALL_MODULE(activations, "Functions that tvm-ffi calls.", methods);
