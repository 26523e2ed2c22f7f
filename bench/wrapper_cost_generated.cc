// The module of wrapper_cost.py with generated wrappers.

#include "typedcall/provider.h"

namespace {

long inc(long x) noexcept { return static_cast<long>(static_cast<unsigned long>(x) + 1u); }
double add(double x, double y) noexcept { return x + y; }
double mix(double a, long i, double b, long j) noexcept {
  return a * static_cast<double>(i) + b * static_cast<double>(j);
}

typedcall::method_table methods{
    typedcall::def<inc>("inc"),
    typedcall::def<add>("add"),
    typedcall::def<mix>("mix"),
};

}  // namespace

TYPEDCALL_MODULE(wrapper_cost_generated, nullptr, methods);
