// Functions for CinderX. Static Python cannot call some of them.
#include "typedcall/provider.h"

#include <stdexcept>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED long static_increment(long x) noexcept {
  return static_cast<long>(static_cast<unsigned long>(x) + 1);
}
EXPORTED std::int32_t static_minus(std::int8_t a, std::uint16_t b) noexcept { return a - b; }
EXPORTED unsigned long static_most() noexcept { return ~0ul; }
EXPORTED double static_half(double x) noexcept { return x / 2; }
EXPORTED double static_as_double(long x) noexcept { return static_cast<double>(x); }
EXPORTED bool static_is_even(long x) noexcept { return x % 2 == 0; }
EXPORTED long static_is_odd(bool x) noexcept { return x; }
static long hidden(long x) noexcept { return x; }
EXPORTED long static_raises(long x) {
  if (x < 0) throw std::domain_error("negative");
  return x;
}

constexpr auto simple = typedcall::pure | typedcall::thread_safe;
static typedcall::method_table methods{
    typedcall::def<static_increment>("increment", simple),
    typedcall::def<static_increment>("increment_again", simple),
    typedcall::def<static_minus>("minus", simple, typedcall::arg("a"), typedcall::arg("b")),
    typedcall::def<static_most>("most", simple),
    typedcall::def<static_half>("half", simple),
    typedcall::def<static_as_double>("as_double", simple),
    typedcall::def<static_is_even>("is_even", simple),
    typedcall::def<static_is_odd>("is_odd", simple),
    typedcall::def<hidden>("hidden", simple),
    typedcall::def<static_raises>("raises"),
};
TYPEDCALL_MODULE(static_functions, "Functions that CinderX can call, and some that it cannot.",
                 methods);
