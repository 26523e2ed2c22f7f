// Is an int a value of an integer type? The one rule, for types that are known when it is compiled
// and for type codes.
#ifndef TYPEDCALL_CONVERT_INT_RANGE_H_
#define TYPEDCALL_CONVERT_INT_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Is `value`, an integer of up to 64 bits, one of a type with so many bytes, at most eight?
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

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_INT_RANGE_H_
