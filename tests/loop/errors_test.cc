// Tests loops over functions that may raise. A loop stops at the first error.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

constexpr std::uintptr_t kRaises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;
constexpr std::uintptr_t kStatus = PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD;

int calls = 0;

/// Raises for 13, returns the error value as a result for 7, and otherwise returns 5.
template <class T>
T Picky(long x) {
  ++calls;
  if (x == 13) PyErr_SetString(PyExc_ValueError, "thirteen");
  if (x == 13 || x == 7) return typedcall::error_value<T>();
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(std::uintptr_t{5});
  } else {
    return T(5);
  }
}

template <class T>
class Errors : public testing::Test {};

/// All types with an error value, except objects (see objects_test.cc).
template <class T>
using Tested = std::conditional_t<!std::is_same_v<T, PyObject *> && typedcall::has_error_value<T>,
                                  T, double *>;
TYPED_TEST_SUITE(Errors, AllTypes<Tested>);

template <class T>
bool Same(T a, T b) {
  return !(a < b) && !(b < a);
}
template <class T>
bool IsErrorValue(T value) {
  return Same(value, typedcall::error_value<T>());
}

TYPED_TEST(Errors, StopTheLoop) {
  using T = TypeParam;
  for (const bool by_invoker : {false, true}) {
    const loop made =
        Make(&Picky<T>, kRaises, by_invoker ? By(loop_kernel::invoker) : typedcall::loop_options());
    for (const auto stride : {static_cast<std::intptr_t>(sizeof(T)), std::intptr_t{64}}) {
      SCOPED_TRACE(std::to_string(stride) + (by_invoker ? " by invoker" : ""));
      Array<long> x = {1, 7, 2, 13, 7, 3};
      Array<T> result(6, stride, 1);
      for (int i = 0; i < 6; ++i) result.set(i, T());
      calls = 0;
      std::intptr_t done = -7;
      EXPECT_EQ(RunLoop(made, 6, &done, x, result), -1);
      EXPECT_EQ(TakeError(), "ValueError: thirteen");
      EXPECT_EQ(done, 3);
      EXPECT_EQ(calls, 4);
      EXPECT_TRUE(IsErrorValue(result.get(1)));
      EXPECT_FALSE(IsErrorValue(result.get(2)));
      // The elements from the error on have no result.
      for (int i = 3; i < 6; ++i) EXPECT_TRUE(Same(result.get(i), T())) << i;
      EXPECT_TRUE(result.GapsAreUntouched(6));

      // All calls succeed, even those that return the error value.
      x.set(3, 7);
      RunAll(made, 6, x, result);
      EXPECT_TRUE(IsErrorValue(result.get(4)));
    }
  }
}

TEST(ErrorsTest, AtTheFirstElementAndAtTheLast) {
  const loop made = Make(&Picky<double>, kRaises);
  Array<double> result(3);
  std::intptr_t done = -7;
  Array<long> first = {13, 1, 2};
  EXPECT_EQ(RunLoop(made, 3, &done, first, result), -1);
  EXPECT_EQ(TakeError(), "ValueError: thirteen");
  EXPECT_EQ(done, 0);
  Array<long> last = {1, 2, 13};
  EXPECT_EQ(RunLoop(made, 3, nullptr, last, result), -1);
  EXPECT_EQ(TakeError(), "ValueError: thirteen");
  EXPECT_EQ(result.get(1), 5.0);
}

// If a function without MAY_RAISE sets an exception, the loop continues.
TEST(ErrorsTest, NobodyAsksAFunctionThatCannotRaise) {
  for (const loop_kernel asked : {loop_kernel::compiled, loop_kernel::invoker}) {
    const loop made = Make(&Picky<double>, PyNativeCallable_NEEDS_THREAD, By(asked));
    Array<long> x = {13, 1, 13};
    Array<double> result(3);
    EXPECT_EQ(RunLoop(made, 3, nullptr, x, result), 0);
    EXPECT_EQ(TakeError(), "ValueError: thirteen");
    EXPECT_EQ(result.list(3), (std::vector<double>{-1, 5, -1}));
  }
}

// Like a Cython function with `except 5`.
double AtFive(long x) {
  if (x == 13) PyErr_SetString(PyExc_ValueError, "thirteen");
  return 5;
}

TEST(ErrorsTest, OfAFunctionWithAnErrorValueOfItsOwn) {
  const loop made = Make(&AtFive, kRaises | PyNativeCallable_DIFFERS);
  Array<long> x = {1, 13, 1};
  Array<double> result = {9, 9, 9};
  std::intptr_t done = -7;
  EXPECT_EQ(RunLoop(made, 3, &done, x, result), -1);
  EXPECT_EQ(TakeError(), "ValueError: thirteen");
  EXPECT_EQ(done, 1);
  EXPECT_EQ(result.list(3), (std::vector<double>{5, 9, 9}));
}

// --- PyPy's error value --------------------------------------------------------------------------

double NegativeZero(double x) {
  if (x > 2) {
    PyErr_SetString(PyExc_ValueError, "too large");
    return -0.0;
  }
  return x;
}

TEST(ErrorsTest, NegativeZero) {
  const loop made = Make(&NegativeZero, kRaises | PyNativeCallable_ERROR_IS_NEG_ZERO);
  Array<double> x = {0.0, -0.0, -1.0, 3.0, 1.0};
  Array<double> result = {9, 9, 9, 9, 9};
  std::intptr_t done = -7;
  EXPECT_EQ(RunLoop(made, 5, &done, x, result), -1);
  EXPECT_EQ(TakeError(), "ValueError: too large");
  EXPECT_EQ(done, 3);
  EXPECT_EQ(result.list(5), (std::vector<double>{0, 0, -1, 9, 9}));
  EXPECT_FALSE(std::signbit(result.get(0)));
  EXPECT_TRUE(std::signbit(result.get(1)));
}

// --- Status --------------------------------------------------------------------------------------

template <class T>
int Divide(T x, T y, T *quotient) {
  ++calls;
  *quotient = T(77);
  if (Same(y, T(0))) {
    PyErr_SetString(PyExc_ZeroDivisionError, "by zero");
    return 1;
  }
  *quotient = static_cast<T>(x / y);
  return 0;
}

template <class T>
void TestDivide() {
  const loop made = Make(&Divide<T>, kStatus);
  EXPECT_EQ(made.kernel(), loop_kernel::invoker);
  ASSERT_EQ(made.inputs().size(), 2u);
  EXPECT_EQ(made.output().code, typedcall::native_type<T>().code);
  EXPECT_EQ(made.output().pointer_flags, 0);
  Array<T> x = {6, -8, 4, 5};
  Array<T> y = {2, 8, 0, 1};
  Array<T> result(4, 3 * static_cast<std::intptr_t>(sizeof(T)) + 1, 1);
  for (int i = 0; i < 4; ++i) result.set(i, 9);
  calls = 0;
  std::intptr_t done = -7;
  EXPECT_EQ(RunLoop(made, 4, &done, x, y, result), -1);
  EXPECT_EQ(TakeError(), "ZeroDivisionError: by zero");
  EXPECT_EQ(done, 2);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(result.list(4), (std::vector<T>{3, -1, 9, 9}));
  EXPECT_TRUE(result.GapsAreUntouched(4));
  y.set(2, 2);
  RunAll(made, 4, x, y, result);
  EXPECT_EQ(result.list(4), (std::vector<T>{3, -1, 2, 5}));
}

TEST(StatusTest, ResultsGoThroughTheLastArgument) {
  TestDivide<double>();
  TestDivide<float>();
  TestDivide<long double>();
  TestDivide<signed char>();
  TestDivide<int>();
  TestDivide<long long>();
}

int OnlySays(long x) { return x == 0 ? 0 : 3; }
int SaysNothing(long, double *) { return 1; }
int WritesNothing(long, double *) { return 0; }

TEST(StatusTest, AFailureWithoutExceptionIsASystemError) {
  Array<long> x = {1, 2};
  Array<double> result = {5, 6};
  std::intptr_t done = -7;
  EXPECT_EQ(RunLoop(Make(&SaysNothing, kStatus), 2, &done, x, result), -1);
  EXPECT_EQ(TakeError(),
            "SystemError: typedcall: a native function failed without setting an exception");
  EXPECT_EQ(done, 0);
  EXPECT_EQ(result.list(2), (std::vector<double>{5, 6}));
}

// The old contents of the array must not be the result.
TEST(StatusTest, AResultThatIsNotWrittenIsZero) {
  Array<long> x = {1, 2};
  Array<double> result = {5, 6};
  RunAll(Make(&WritesNothing, kStatus), 2, x, result);
  EXPECT_EQ(result.list(2), (std::vector<double>{0, 0}));
}

TEST(StatusTest, WithoutAPlaceThereIsNoResult) {
  const loop made = Make(&OnlySays, kStatus);
  EXPECT_EQ(made.output().code, PyNativeType_VOID);
  Array<long> x = {0, 1};
  std::intptr_t done = -7;
  EXPECT_EQ(RunLoop(made, 2, &done, x), -1);
  EXPECT_EQ(TakeError(),
            "SystemError: typedcall: a native function failed without setting an exception");
  EXPECT_EQ(done, 1);
}

template <class... A>
int TakesSelf(PyObject *, A...) {
  return 0;
}
template <std::size_t... at>
auto WithSelfAndLongs(std::index_sequence<at...>) {
  return &TakesSelf<std::conditional_t<at == 0, long, long>...>;
}

// After 127 arguments and self, a place would be one argument too many.
TEST(StatusTest, WithoutAPlaceAllArgumentsMayBeThere) {
  constexpr std::size_t kMost = PyNativeSignature_MAX_ARGS;
  const auto function = WithSelfAndLongs(std::make_index_sequence<kMost>());
  typedcall::loop_options options;
  options.self = typedcall::object_ref::borrow(Py_None);
  const auto made =
      loop::make((std::string(kMost, 'l') + "->i").c_str(), kStatus | PyNativeCallable_TAKES_SELF,
                 reinterpret_cast<void *>(function), {}, std::move(options));
  ASSERT_TRUE(made) << TakeError();
  long x = 1;
  const std::vector<char *> args(kMost, reinterpret_cast<char *>(&x));
  const std::vector<std::intptr_t> steps(kMost);
  const std::intptr_t count = 2;
  EXPECT_EQ(made->run_attached(args.data(), &count, steps.data()), 0);
}

}  // namespace
}  // namespace loop_test
