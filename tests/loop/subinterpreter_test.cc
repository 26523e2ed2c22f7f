// Tests that loops in a subinterpreter release the GIL. PyGILState_Check() is unreliable after a
// subinterpreter has existed, so this is a separate program.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/core/subinterpreter.h"
#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

std::atomic<long> attached{0};
double LookForState(double x) {
  if (PyThreadState_GetDict() != nullptr) ++attached;
  return x;
}

TEST(SubinterpreterTest, TheGilIsReleased) {
  const typedcall_test::Subinterpreter inner;
  ASSERT_TRUE(inner.Entered());
  for (const std::uintptr_t flags :
       {std::uintptr_t{PyNativeCallable_THREAD_SAFE}, std::uintptr_t{PyNativeCallable_ACQUIRES_GIL},
        std::uintptr_t{0}}) {
    const loop made = Make(&LookForState, flags);
    Array<double> x(loop::detach_threshold), result(loop::detach_threshold);
    attached = 0;
    RunAll(made, loop::detach_threshold, x, result);
    EXPECT_EQ(attached, flags == 0 ? loop::detach_threshold : 0) << flags;
  }
}

}  // namespace
}  // namespace loop_test
