// Tests how loops step through arrays.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

int calls = 0;
double Add(double x, double y) {
  ++calls;
  return x + y;
}
long Increment(long x) {
  ++calls;
  return x + 1;
}
long Count() { return ++calls; }
std::vector<double> noted;
void Note(double x) { noted.push_back(x); }

class Strides : public testing::TestWithParam<loop_kernel> {
 protected:
  template <class Function>
  static loop Made(Function *function) {
    calls = 0;
    return Make(function, 0, By(GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(Loops, Strides,
                         testing::Values(loop_kernel::compiled, loop_kernel::invoker));

TEST_P(Strides, ZeroElementsCallNothing) {
  const loop made = Made(&Add);
  for (const std::intptr_t count :
       {std::intptr_t{0}, std::intptr_t{-1}, std::numeric_limits<std::intptr_t>::min()}) {
    char *const args[] = {nullptr, nullptr, nullptr};
    const std::intptr_t steps[] = {8, 8, 8};
    std::intptr_t done = -7;
    EXPECT_EQ(made.run(args, &count, steps, &done), 0);
    EXPECT_EQ(done, 0);
    EXPECT_EQ(made.run_detached(args, &count, steps), 0);
  }
  EXPECT_EQ(calls, 0);
}

// In NumPy, an array of one element may have any stride.
TEST_P(Strides, AStepIsNotTakenBehindASingleElement) {
  const loop made = Made(&Add);
  constexpr auto huge = std::numeric_limits<std::intptr_t>::max();
  double x = 1, y = 2, sum = 0;
  char *const args[] = {reinterpret_cast<char *>(&x), reinterpret_cast<char *>(&y),
                        reinterpret_cast<char *>(&sum)};
  for (const std::intptr_t step : {huge, -huge, std::intptr_t{0}}) {
    const std::intptr_t one = 1, steps[] = {step, -step, step};
    sum = 0;
    EXPECT_EQ(made.run(args, &one, steps), 0);
    EXPECT_EQ(sum, 3);
  }
  const std::intptr_t one = 1;
  sum = 0;
  EXPECT_EQ(made.run(args, &one, nullptr), 0) << "they are not read";
  EXPECT_EQ(sum, 3);
  EXPECT_EQ(calls, 4);
}

TEST_P(Strides, AScalarIsAnArrayThatStandsStill) {
  Array<double> many = {1, 2, 3, 4}, result(4);
  Array<double> scalar(1, 0);
  scalar.set(0, 10);
  RunAll(Made(&Add), 4, many, scalar, result);
  EXPECT_EQ(result.list(4), (std::vector<double>{11, 12, 13, 14}));
  RunAll(Made(&Add), 4, scalar, many, result);
  EXPECT_EQ(result.list(4), (std::vector<double>{11, 12, 13, 14}));
  RunAll(Made(&Add), 4, scalar, scalar, result);
  EXPECT_EQ(result.list(4), (std::vector<double>{20, 20, 20, 20}));
}

// NumPy's reductions use the same element as input and output.
TEST_P(Strides, AnOutputThatStandsStillAccumulates) {
  Array<double> many = {1, 2, 3, 4};
  Array<double> sum(1, 0);
  sum.set(0, 100);
  RunAll(Made(&Add), 4, sum, many, sum);
  EXPECT_EQ(sum.get(0), 110);
}

TEST_P(Strides, InPlace) {
  Array<double> x = {1, 2, 3}, y = {10, 20, 30};
  RunAll(Made(&Add), 3, x, y, x);
  EXPECT_EQ(x.list(3), (std::vector<double>{11, 22, 33}));
  EXPECT_EQ(y.list(3), (std::vector<double>{10, 20, 30}));
}

// Each call reads the result of the previous call.
TEST_P(Strides, AnOutputOneAheadOfAnInputSumsUp) {
  double values[6] = {1, 2, 3, 4, 5, 6};
  char *const at = reinterpret_cast<char *>(values);
  char *const args[] = {at, at + sizeof(double), at + sizeof(double)};
  const std::intptr_t count = 5, steps[] = {8, 8, 8};
  ASSERT_EQ(Made(&Add).run(args, &count, steps), 0);
  EXPECT_EQ(std::vector<double>(values, values + 6), (std::vector<double>{1, 3, 6, 10, 15, 21}));
}

TEST_P(Strides, BackwardsOverTheSameMemory) {
  long values[6] = {1, 2, 3, 4, 5, 6};
  char *const args[] = {reinterpret_cast<char *>(values + 5), reinterpret_cast<char *>(values)};
  const std::intptr_t count = 6, steps[] = {-8, 8};
  ASSERT_EQ(Made(&Increment).run(args, &count, steps), 0);
  EXPECT_EQ(std::vector<long>(values, values + 6), (std::vector<long>{7, 6, 5, 6, 7, 8}));
}

TEST_P(Strides, ElementsMayOverlapEachOther) {
  unsigned char bytes[12], expected[12];
  std::iota(bytes, bytes + 12, static_cast<unsigned char>(1));
  std::copy_n(bytes, 12, expected);
  for (int i = 0; i < 4; ++i) {
    long value;
    std::memcpy(&value, expected + i, sizeof(value));
    ++value;
    std::memcpy(expected + 3 - i, &value, sizeof(value));
  }
  char *const at = reinterpret_cast<char *>(bytes);
  char *const args[] = {at, at + 3};
  const std::intptr_t count = 4, steps[] = {1, -1};
  ASSERT_EQ(Made(&Increment).run(args, &count, steps), 0);
  EXPECT_TRUE(std::equal(bytes, bytes + 12, expected));
}

TEST_P(Strides, NoArguments) {
  Array<long> result(4, 24, 3);
  RunAll(Made(&Count), 4, result);
  EXPECT_EQ(result.list(4), (std::vector<long>{1, 2, 3, 4}));
  EXPECT_TRUE(result.GapsAreUntouched(4));
}

#if TYPEDCALL_REGISTER_IMAGE
TEST_P(Strides, NoResultNeedsNoArray) {
  noted.clear();
  Array<double> x(4, -8);
  for (int i = 0; i < 4; ++i) x.set(i, i);
  RunAll(Made(&Note), 4, x);
  EXPECT_EQ(noted, (std::vector<double>{0, 1, 2, 3}));
}
#endif

TEST_P(Strides, ManyElements) {
  constexpr std::intptr_t count = 100000;
  Array<double> x(count), y(count, 16), result(count);
  for (std::intptr_t i = 0; i < count; ++i) {
    x.set(i, static_cast<double>(i));
    y.set(i, static_cast<double>(3 * i));
  }
  RunAll(Made(&Add), count, x, y, result);
  EXPECT_EQ(calls, count);
  for (std::intptr_t i = 0; i < count; ++i) ASSERT_EQ(result.get(i), static_cast<double>(4 * i));
}

// The data pointer of a NumPy loop is the loop object.
TEST_P(Strides, AsAUfuncLoop) {
  loop made = Made(&Add);
  void (*const generic)(char **, const std::intptr_t *, const std::intptr_t *, void *) =
      &loop::ufunc_loop;
  Array<double> x = {1, 2}, y = {3, 4}, result(2);
  char *args[] = {x.data(), y.data(), result.data()};
  const std::intptr_t count = 2, steps[] = {8, 8, 8};
  generic(args, &count, steps, &made);
  EXPECT_EQ(result.list(2), (std::vector<double>{4, 6}));
}

// This function has more arguments than fit into registers.
long SumOfTwelve(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
                 long k, long l) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k +
         12 * l;
}

TEST(StridesTest, ManyArguments) {
  const loop made = Make(&SumOfTwelve);
  EXPECT_EQ(made.kernel(), loop_kernel::invoker);
  long values[15], results[4];
  std::iota(values, values + 15, 1);
  char *args[13];
  std::intptr_t steps[13];
  for (int i = 0; i < 12; ++i) args[i] = reinterpret_cast<char *>(values + i), steps[i] = 8;
  args[12] = reinterpret_cast<char *>(results), steps[12] = 8;
  const std::intptr_t count = 4;
  ASSERT_EQ(made.run(args, &count, steps), 0);
  for (int i = 0; i < 4; ++i) {
    long expected = 0;
    for (int at = 0; at < 12; ++at) expected += (at + 1) * values[at + i];
    EXPECT_EQ(results[i], expected);
  }
}

}  // namespace
}  // namespace loop_test
