// The seed for random numbers in C++ tests. seeds.py does the same for Python.
#ifndef TYPEDCALL_TESTS_SUPPORT_SEED_H_
#define TYPEDCALL_TESTS_SUPPORT_SEED_H_

#include <cstdint>
#include <cstdlib>
#include <string>

namespace typedcall_test {

/// Returns TYPEDCALL_SEED if it is set, otherwise `usual`.
inline std::uint32_t Seed(std::uint32_t usual) {
  const char *const given = std::getenv("TYPEDCALL_SEED");
  return given == nullptr ? usual : static_cast<std::uint32_t>(std::strtoull(given, nullptr, 10));
}

/// Returns a text for SCOPED_TRACE, so that a failure shows the seed.
inline std::string SeedText(std::uint32_t seed) { return "TYPEDCALL_SEED=" + std::to_string(seed); }

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_SEED_H_
