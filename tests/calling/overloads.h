// Overloads for the engine's tests. Their function does nothing.
#ifndef TYPEDCALL_TESTS_CALLING_OVERLOADS_H_
#define TYPEDCALL_TESTS_CALLING_OVERLOADS_H_

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "typedcall/calling.h"

namespace typedcall_test {

inline void nothing_to_do() {}

inline typedcall::calling::overloads of(const std::vector<const char *> &signatures) {
  typedcall::calling::overloads made;
  for (const char *signature : signatures) {
    auto found = typedcall::calling::entry::make(signature, PyNativeCallable_THREAD_SAFE,
                                                 reinterpret_cast<void *>(nothing_to_do), "here");
    EXPECT_TRUE(found.has_value()) << signature;
    if (found) made.all.push_back(std::move(*found));
  }
  made.prepare();
  return made;
}

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_CALLING_OVERLOADS_H_
