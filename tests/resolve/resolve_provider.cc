// A provider that is compiled several times, with different names and flag bits.

#include "typedcall/provider.h"

#include <stdexcept>

namespace {

long inc(long x) noexcept { return x + 1; }
double divide(double a, double b) {
  if (!(b < 0 || b > 0)) throw std::domain_error("division by zero");
  return a / b;
}
long twice(long x) noexcept { return 2 * x; }
double twice(double x) noexcept { return 2 * x; }

typedcall::method_table methods{
    typedcall::def<inc>("inc"),
    typedcall::def<divide>("divide"),
    typedcall::def<static_cast<long (*)(long) noexcept>(twice),
                   static_cast<double (*)(double) noexcept>(twice)>("twice"),
};

}  // namespace

// Expands MODULE first.
#define DEFINE_MODULE(name) TYPEDCALL_MODULE(name, nullptr, methods)
DEFINE_MODULE(MODULE);
