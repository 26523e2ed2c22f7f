// The seed of a C++ test's random numbers: the same in every run, unless TYPEDCALL_SEED sets it.
// seeds.py is the same for Python.
#ifndef TYPEDCALL_TESTS_SUPPORT_SEED_H_
#define TYPEDCALL_TESTS_SUPPORT_SEED_H_

#include <cstdint>
#include <cstdlib>
#include <string>

namespace typedcall_test {

/// The test's own seed, or TYPEDCALL_SEED's.
inline std::uint32_t Seed(std::uint32_t usual) {
  const char *const given = std::getenv("TYPEDCALL_SEED");
  return given == nullptr ? usual : static_cast<std::uint32_t>(std::strtoull(given, nullptr, 10));
}

/// For SCOPED_TRACE, so that a failure names the seed that reproduces it.
inline std::string SeedText(std::uint32_t seed) { return "TYPEDCALL_SEED=" + std::to_string(seed); }

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_SEED_H_
