// Checks whether an int fits an integer type, and converts numbers between types.
#ifndef TYPEDCALL_CONVERT_INT_RANGE_H_
#define TYPEDCALL_CONVERT_INT_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// True if `value` fits an integer type of `bytes` bytes (at most eight).
template <class Given>
constexpr bool is_in_range(Given value, bool is_signed, std::size_t bytes) {
  const std::size_t unused = 64 - 8 * bytes;
  const std::int64_t high = INT64_MAX >> unused;
  const std::uint64_t most = is_signed ? static_cast<std::uint64_t>(high) : UINT64_MAX >> unused;
  if constexpr (std::is_signed_v<Given>) {
    if (is_signed) return value <= high && value >= -high - 1;
    return value >= 0 && static_cast<std::uint64_t>(value) <= most;
  } else {
    return value <= most;
  }
}

/// True if the number fits the type Own. Only conversions between integers can fail.
template <class Own, class Given>
constexpr bool has_room(Given value) {
  if constexpr (is_integer_type<Own> && std::is_integral_v<Given>) {
    return is_in_range(value, std::is_signed_v<Own>, sizeof(Own));
  } else {
    (void)value;
    return true;
  }
}

/// Converts a number that fits, as the wrapper does. Conversions to float or long double go through
/// double. A nan becomes true.
template <class Own, class Given>
constexpr Own narrowed(Given value) {
  if constexpr (std::is_same_v<Own, bool>) {
    return value != Given{};
  } else if constexpr (is_floating_type<Own> && !std::is_same_v<Own, Given>) {
    return static_cast<Own>(static_cast<double>(value));
  } else {
    return static_cast<Own>(value);
  }
}

template <class T>
constexpr bool is_int_or_bool = is_integer_type<T> || std::is_same_v<T, bool>;

/// True if a Given may be passed where the native function takes an Own. A float cannot become an
/// int, and an int cannot become a bool. A long double can only stay a long double, because no
/// Python float can hold it. Types other than numbers must be implicitly convertible.
template <class Given, class Own>
constexpr bool is_taken_for() {
  if constexpr (std::is_same_v<Given, Own>) {
    return true;
  } else if constexpr (is_integer_type<Own>) {
    return is_int_or_bool<Given>;
  } else if constexpr (is_floating_type<Own>) {
    return is_int_or_bool<Given> || (is_floating_type<Given> && sizeof(Given) <= sizeof(double));
  } else {
    return !std::is_arithmetic_v<Own> && std::is_convertible_v<Given, Own>;
  }
}

/// Returns the value that is passed to the Python callable for a parameter of type Own. Integers
/// become long long or unsigned long long, and float becomes double.
template <class Own, class Given>
constexpr auto widened(Given value) {
  if constexpr (!std::is_arithmetic_v<Own>) {
    return static_cast<Own>(value);
  } else if constexpr (is_integer_type<Given>) {
    using wide = std::conditional_t<std::is_signed_v<Given>, long long, unsigned long long>;
    return static_cast<wide>(value);
  } else if constexpr (is_floating_type<Given> && sizeof(Given) < sizeof(double)) {
    return static_cast<double>(value);
  } else {
    return value;
  }
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_INT_RANGE_H_
