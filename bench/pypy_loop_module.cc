// The functions of bench/pypy_loop.py: the same source for CPython and for PyPy.
#include "typedcall/provider.h"

namespace {

// Unsigned arithmetic wraps where signed arithmetic is undefined.
long inc(long x) noexcept { return static_cast<long>(static_cast<unsigned long>(x) + 1); }
double add(double a, double b) noexcept { return a + b; }
double mix(double a, long b, double c, long d) noexcept {
  return a + static_cast<double>(b) + c * static_cast<double>(d);
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;

typedcall::method_table methods{typedcall::def<inc>("inc", simple),
                                typedcall::def<add>("add", simple),
                                typedcall::def<mix>("mix", simple)};

}  // namespace

TYPEDCALL_MODULE(pypy_loop_module, "Functions to call in a loop.", methods);
