// Tests the counters of loops. They count each run over at least one element.
#include <gtest/gtest.h>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

using typedcall::event;
using typedcall::stats;

static_assert(stats::enabled, "the test reads the counters");

double Twice(double x) { return x + x; }
double Five(double x, float, long, short, double) { return x; }

/// Returns the counts of compiled loops, invoker loops and calls after two runs, one of them empty.
template <class Function, std::size_t arrays>
std::string Counted(Function *function, std::optional<loop_kernel> asked,
                    const std::intptr_t (&steps)[arrays]) {
  typedcall::loop_options options;
  options.kernel = asked;
  const auto made = loop::make(typedcall::signature_of<Function>::text, 0,
                               reinterpret_cast<void *>(function), {}, options);
  double numbers[arrays][3] = {};
  char *args[arrays];
  for (std::size_t i = 0; i < arrays; ++i) args[i] = reinterpret_cast<char *>(numbers[i]);
  const std::intptr_t some = 3, none = 0;
  stats::reset();
  EXPECT_EQ(made->run(args, &some, steps), 0);
  EXPECT_EQ(made->run(args, &none, steps), 0);
  const auto calls =
      stats::count(event::trampoline) + stats::count(event::image) + stats::count(event::ffi);
  return std::to_string(stats::count(event::loop_compiled)) + " " +
         std::to_string(stats::count(event::loop_invoker)) + " " + std::to_string(calls);
}

TEST(LoopStats, SayWhichKernelRan) {
  EXPECT_EQ(Counted(&Twice, std::nullopt, {8, 8}), "1 0 0");
  EXPECT_EQ(Counted(&Twice, loop_kernel::compiled, {8, 8}), "1 0 0");
  EXPECT_EQ(Counted(&Twice, loop_kernel::compiled, {0, 8}), "1 0 0");
  EXPECT_EQ(Counted(&Twice, loop_kernel::invoker, {8, 8}), "0 1 3");
  EXPECT_EQ(Counted(&Five, std::nullopt, {8, 8, 8, 8, 8, 8}), "0 1 3");
}

}  // namespace
}  // namespace loop_test
