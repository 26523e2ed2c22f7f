// A thread that runs a loop when the interpreter ends: what stands on its stack is not destroyed
// without the GIL.
#include <gtest/gtest.h>

#include <vector>

#include "tests/loop/arrays.h"
#include "tests/support/interpreter_end.h"

namespace loop_test {
namespace {

void RunLoop() {
  const loop made = *loop::make("d->d", PyNativeCallable_THREAD_SAFE,
                                reinterpret_cast<void *>(&typedcall_test::WaitInside),
                                typedcall::object_ref::borrow(Py_None));
  std::vector<double> in(loop::detach_from), out(in);
  char *const args[] = {reinterpret_cast<char *>(in.data()), reinterpret_cast<char *>(out.data())};
  const std::intptr_t count = loop::detach_from, steps[] = {8, 8};
  made.run(args, &count, steps);
}

TEST(ExitTest, LoopsOfOtherThreadsStop) {
  EXPECT_EXIT(typedcall_test::EndPythonDuring(RunLoop), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace loop_test
