// Checks and corrects C bools in memory that other code has filled. Compilers assume that the byte
// of a C bool is 0 or 1. Other code may have stored other bytes.
#ifndef TYPEDCALL_CONVERT_BOOLS_H_
#define TYPEDCALL_CONVERT_BOOLS_H_

#include <cstddef>

#include "typedcall/base/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Returns the index of the first byte that is neither 0 nor 1, or `count` if there is none.
inline std::size_t first_not_bool(const void *bytes, std::size_t count) {
  const auto *const all = static_cast<const unsigned char *>(bytes);
  std::size_t at = 0;
  while (at < count && all[at] <= 1) ++at;
  return at;
}

/// Sets all bytes to 0 or 1. Does not write to bytes that are already 0 or 1, because another
/// thread may be reading them.
inline void make_bools(void *bytes, std::size_t count) {
  auto *const all = static_cast<unsigned char *>(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i] > 1) all[i] = 1;
  }
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_BOOLS_H_
