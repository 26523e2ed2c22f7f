// A module for test_identity.py.

#include "typedcall/provider.h"

#include <stdexcept>

namespace {

long inc(long x) noexcept { return x + 1; }
double add(double a, double b) noexcept { return a + b; }
long answer() noexcept { return 42; }
long throws(long x) {
  if (x == 0) throw std::invalid_argument("zero");
  return x;
}

typedcall::method_table methods{
    typedcall::def<inc>("inc", "inc($module, x, /)\n--\n\nThe next number."),
    typedcall::def<add>("add", typedcall::pure | typedcall::thread_safe,
                        "add($module, a, b, /)\n--\n\nThe sum."),
    typedcall::def<answer>("answer", "answer($module, /)\n--\n\n"),
    typedcall::def<throws>("throws", "Plain text."),
    typedcall::def<static_cast<double (*)(double, double)>(add)>("plus"),
    // The longest allowed name.
    typedcall::def<inc>(
        "name_of_99_bytes_"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
};

}  // namespace

TYPEDCALL_MODULE(provider_identity, "A module as Python sees it.", methods);
