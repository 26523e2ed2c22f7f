// The seed for a C++ test's random numbers, which is the same in every run unless TYPEDCALL_SEED
// sets it. seeds.py does the same for Python.
#ifndef TYPEDCALL_TESTS_SUPPORT_SEED_H_
#define TYPEDCALL_TESTS_SUPPORT_SEED_H_

#include <cstdint>
#include <cstdlib>
#include <string>

namespace typedcall_test {

/// Returns TYPEDCALL_SEED if that is set, otherwise the test's own seed.
inline std::uint32_t Seed(std::uint32_t usual) {
  const char *const given = std::getenv("TYPEDCALL_SEED");
  return given == nullptr ? usual : static_cast<std::uint32_t>(std::strtoull(given, nullptr, 10));
}

/// Returns a text for SCOPED_TRACE, so that a failure shows the seed that reproduces it.
inline std::string SeedText(std::uint32_t seed) { return "TYPEDCALL_SEED=" + std::to_string(seed); }

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_SEED_H_
