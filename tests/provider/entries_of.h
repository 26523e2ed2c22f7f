// Functions that read the entries of defs. Include gtest first.
#ifndef TESTS_PROVIDER_ENTRIES_OF_H_
#define TESTS_PROVIDER_ENTRIES_OF_H_

#include <string>

#include "typedcall/provider.h"

namespace provider_test {

template <class Pointer>
Pointer pointer(const PyNativeCallableEntry &entry) {
  return reinterpret_cast<Pointer>(entry.funcptr);
}

/// Returns the entry of a def that has only one entry.
inline PyNativeCallableEntry only(const typedcall::method &made) {
  EXPECT_EQ(made.shape->count, 1u);
  return made.entry(0);
}

/// Returns the signatures of a def, separated by spaces.
inline std::string Signatures(const typedcall::method &made) {
  std::string all;
  for (std::size_t i = 0; i < made.shape->entries; ++i) {
    const PyNativeCallableEntry entry = made.entry(i);
    EXPECT_EQ(PyNativeCallable_CheckEntry(&entry, 0, made.name), 0);
    EXPECT_EQ(entry.flags, made.entry(0).flags);
    all += (i == 0 ? "" : " ") + std::string(entry.signature);
  }
  EXPECT_EQ(made.fault, nullptr);
  return all;
}

}  // namespace provider_test

#endif  // TESTS_PROVIDER_ENTRIES_OF_H_
