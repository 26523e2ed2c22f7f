// Tests calls to a typedcall::fallback_function with wider arguments.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/resolve/callables.h"
#include "typedcall/fallback.h"
#include "typedcall/provider.h"

namespace {

using namespace resolve_test;
using typedcall::def;
using typedcall::fallback_function;
using typedcall::resolve;
using typedcall::with_fallback;

long calls = 0;

template <class T>
T same(T x) noexcept {
  ++calls;
  return x;
}
int larger(int a, int b) noexcept {
  ++calls;
  return a > b ? a : b;
}
double mixed(float x, short n, bool negative) noexcept {
  return (negative ? -1 : 1) * double{x} * n;
}
void nothing(signed char) noexcept { ++calls; }
bool is_even(unsigned char x) noexcept { return x % 2 == 0; }
double repeated(typedcall::span<const double> values, int times) noexcept {
  ++calls;
  double sum = 0;
  for (const double each : values) sum += each;
  return sum * times;
}
std::optional<int> root(int x) noexcept {
  if (x < 0) return std::nullopt;
  return static_cast<int>(std::sqrt(x));
}
PyObject *root_of_negative(int x) { return PyLong_FromLong(x / 2); }
int checked(int x) {
  if (x == 13) throw std::domain_error("thirteen");
  return x;
}

typedcall::method_table methods{
    def<same<signed char>>("same_b"),
    def<same<unsigned char>>("same_B"),
    def<same<short>>("same_h"),
    def<same<unsigned short>>("same_H"),
    def<same<int>>("same_i"),
    def<same<unsigned int>>("same_I"),
    def<same<long>>("same_l"),
    def<same<unsigned long>>("same_L"),
    def<same<float>>("same_f"),
    def<same<double>>("same_d"),
    def<same<long double>>("same_g"),
    def<larger>("larger"),
    def<mixed>("mixed"),
    def<nothing>("nothing"),
    def<is_even>("is_even"),
    def<repeated>("repeated"),
    def<root>("root", typedcall::otherwise<root_of_negative>),
    def<checked>("checked"),
    def<same<signed char>, same<long>>("both"),
};

Ref Function(const char *name) { return FunctionOf(methods, name); }

template <class Signature>
fallback_function<Signature> Narrowing(const char *name) {
  auto found = resolve<Signature>(Interface(), Function(name).get(), with_fallback());
  EXPECT_TRUE(found) << TakeError();
  return found;
}

// Returns the text of the exception of the Python callable.
template <class Wide>
std::string RaisedBy(const char *name, Wide value) {
  const Ref function = Function(name), given = Ref::Steal(typedcall::to_python(value));
  const Ref result = Ref::Steal(PyObject_CallFunctionObjArgs(function.get(), given.get(), nullptr));
  EXPECT_EQ(result.get(), nullptr);
  return TakeError();
}

// Checks that a call returns `value` or raises the OverflowError of the Python callable.
template <class Own, class Wide>
void ExpectAsBoxed(const char *name, Wide value) {
  const auto f = Narrowing<Own(Own)>(name);
  const bool fits = static_cast<Wide>(static_cast<Own>(value)) == value &&
                    (static_cast<Own>(value) < 0) == (value < 0);
  const long before = calls;
  const Own result = f(value);
  if (fits) {
    EXPECT_FALSE(f.raised(result)) << name << " " << value;
    EXPECT_EQ(result, static_cast<Own>(value)) << name;
    EXPECT_EQ(calls, before + 1);
  } else {
    EXPECT_TRUE(f.raised(result)) << name << " " << value;
    const std::string error = TakeError();
    EXPECT_EQ(error, RaisedBy(name, value));
    EXPECT_NE(error.find("does not fit"), std::string::npos) << error;
    EXPECT_EQ(calls, before) << "nothing is cut off";
  }
}

template <class Own>
void ExpectLimits(const char *name) {
  using limits = std::numeric_limits<Own>;
  constexpr auto high = limits::max();
  for (const long value : {0L, 1L, -1L, 77L, std::numeric_limits<long>::max(),
                           std::numeric_limits<long>::min(), static_cast<long>(limits::min())}) {
    ExpectAsBoxed<Own>(name, value);
  }
  if constexpr (sizeof(Own) < sizeof(long)) {
    ExpectAsBoxed<Own>(name, static_cast<long>(high));
    ExpectAsBoxed<Own>(name, static_cast<long>(high) + 1);
    ExpectAsBoxed<Own>(name, static_cast<long>(limits::min()) - 1);
    ExpectAsBoxed<Own>(name, static_cast<long long>(high) + 1);
  }
  for (const unsigned long value :
       {0UL, 1UL, static_cast<unsigned long>(high), std::numeric_limits<unsigned long>::max()}) {
    ExpectAsBoxed<Own>(name, value);
  }
}

TEST(Narrowing, OtherArgumentsConvert) {
  const auto f = Narrowing<double(typedcall::span<const double>, int)>("repeated");
  const std::vector<double> values{1, 2};
  const double result = f(values, 3L);
  EXPECT_EQ(result, 9);
  EXPECT_FALSE(f.raised(result));
  const long before = calls;
  EXPECT_TRUE(f.raised(f(values, 1L << 40)));
  EXPECT_NE(TakeError().find("does not fit"), std::string::npos);
  EXPECT_EQ(calls, before);
}

TEST(Narrowing, EveryIntegerType) {
  ExpectLimits<signed char>("same_b");
  ExpectLimits<unsigned char>("same_B");
  ExpectLimits<short>("same_h");
  ExpectLimits<unsigned short>("same_H");
  ExpectLimits<int>("same_i");
  ExpectLimits<unsigned int>("same_I");
  ExpectLimits<long>("same_l");
  ExpectLimits<unsigned long>("same_L");
}

TEST(Narrowing, NarrowerAndEqualTypes) {
  EXPECT_EQ(Narrowing<int(int)>("same_i")(std::int8_t{-3}), -3);
  EXPECT_EQ(Narrowing<int(int)>("same_i")(std::uint16_t{65535}), 65535);
  EXPECT_EQ(Narrowing<int(int)>("same_i")(7), 7);
  EXPECT_EQ(Narrowing<int(int)>("same_i")(true), 1);
  EXPECT_EQ(Narrowing<long(long)>("same_l")(-7), -7);
  EXPECT_EQ(Narrowing<double(double)>("same_d")(1.5f), 1.5);
}

TEST(Narrowing, DoublesAreRounded) {
  const auto f = Narrowing<float(float)>("same_f");
  EXPECT_EQ(f(0.1), 0.1f);
  EXPECT_TRUE(std::signbit(f(-0.0)));
  EXPECT_EQ(f(std::numeric_limits<double>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(f(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(f(16777217), 16777216.0f);
  // Python first converts the int to a double, so the value is rounded twice.
  const long twice_rounded = (1L << 62) + (1L << 38) + 1;
  EXPECT_EQ(f(twice_rounded), static_cast<float>(static_cast<double>(twice_rounded)));
  EXPECT_NE(f(twice_rounded), static_cast<float>(twice_rounded));
}

// The wrapper converts every number to a double.
TEST(Narrowing, IntsBecomeLongDoublesByWayOfDoubles) {
  const Ref same_g = Function("same_g");  // flag DIFFERS
  const auto f = resolve<long double(long double)>(Interface(), same_g.get(), with_fallback(),
                                                   typedcall::accepts_differences);
  ASSERT_TRUE(f) << TakeError();
  EXPECT_EQ(f(9007199254740993L), 9007199254740992.0L);
  EXPECT_EQ(f(1.0L / 3), 1.0L / 3);
}

TEST(Narrowing, SeveralArguments) {
  const auto f = Narrowing<int(int, int)>("larger");
  EXPECT_EQ(f(3L, 5L), 5);
  EXPECT_EQ(f(3L, std::int16_t{2}), 3);
  EXPECT_EQ(f(1L << 40, 5), -1);
  EXPECT_EQ(TakeError(), "OverflowError: Python int does not fit a signed integer of 4 bytes");
  const auto g = Narrowing<double(float, short, bool)>("mixed");
  EXPECT_EQ(g(0.5, 7L, true), -3.5);
  EXPECT_EQ(g(0.5, 70000L, false), -1.0);
  EXPECT_NE(TakeError().find("integer of 2 bytes"), std::string::npos);
}

TEST(Narrowing, WithoutAResultOrAnErrorValue) {
  const auto f = Narrowing<void(signed char)>("nothing");
  f(5L);
  EXPECT_FALSE(f.raised());
  f(128L);
  EXPECT_TRUE(f.raised());
  EXPECT_NE(TakeError().find("OverflowError"), std::string::npos);
  const auto g = Narrowing<bool(unsigned char)>("is_even");
  EXPECT_TRUE(g(4L));
  EXPECT_FALSE(g.raised(true));
  EXPECT_FALSE(g(-2L));
  EXPECT_TRUE(g.raised(false));
  EXPECT_NE(TakeError().find("OverflowError"), std::string::npos);
}

TEST(Narrowing, WhatFallsBack) {
  const auto f = Narrowing<int(int)>("root");
  EXPECT_TRUE(f.may_fall_back());
  EXPECT_EQ(f(81L), 9);
  EXPECT_EQ(f(-20L), -10);
  EXPECT_EQ(f(-2L), -1);
  EXPECT_FALSE(f.raised(-1));
  EXPECT_EQ(f(1L << 33), -1);
  EXPECT_NE(TakeError().find("integer of 4 bytes"), std::string::npos);
}

TEST(Narrowing, TheCallableMayKnowMore) {
  EXPECT_EQ(Narrowing<signed char(signed char)>("both")(127L), 127);
  const auto f = Narrowing<signed char(signed char)>("both");
  EXPECT_EQ(f(300L), -1);  // the result of the callable does not fit
  EXPECT_NE(TakeError().find("integer of 1 bytes"), std::string::npos);
}

TEST(Narrowing, WhatRaises) {
  const auto f = resolve<int(int)>(Interface(), Function("checked").get(), with_fallback(),
                                   typedcall::checks_errors);
  ASSERT_TRUE(f) << TakeError();
  EXPECT_EQ(f(5L), 5);
  EXPECT_EQ(f(13L), -1);
  EXPECT_TRUE(f.raised(-1));
  EXPECT_EQ(TakeError(), "ValueError: thirteen");
}

TEST(Narrowing, ThereIsNone) {
  EXPECT_FALSE(resolve<long(long)>(Interface(), Function("same_i").get(), with_fallback()));
  EXPECT_NE(TakeError().find("'i->i'"), std::string::npos);
  EXPECT_FALSE(resolve<int(int)>(Interface(), Function("checked").get(), with_fallback()));
  EXPECT_NE(TakeError().find("may raise"), std::string::npos);
  const fallback_function<int(int)> empty;
  EXPECT_FALSE(empty);
}

TEST(Narrowing, WithoutTheGil) {
  const auto f = Narrowing<int(int)>("same_i");
  PyThreadState *const state = PyEval_SaveThread();
  const int good = f(5L), bad = f(1L << 40);
  PyEval_RestoreThread(state);
  EXPECT_EQ(good, 5);
  EXPECT_TRUE(f.raised(bad));
  EXPECT_NE(TakeError().find("integer of 4 bytes"), std::string::npos);
}

TEST(Narrowing, AThreadThatPythonDoesNotKnow) {
  typedcall_test::Scope scope;
  ASSERT_TRUE(
      scope.Run("import sys\n"
                "seen = []\n"
                "old, sys.unraisablehook = sys.unraisablehook, lambda a: "
                "seen.append((a.exc_type, a.object.__name__))"));
  const auto f = Narrowing<int(int)>("same_i");
  int good = 0, bad = 0;
  PyThreadState *const state = PyEval_SaveThread();
  std::thread([&] {
    good = f(5L);
    bad = f(1L << 40);
  }).join();
  PyEval_RestoreThread(state);
  EXPECT_EQ(good, 5);
  EXPECT_EQ(bad, -1);
  EXPECT_EQ(TakeError(), "");
  EXPECT_TRUE(
      scope.Run("sys.unraisablehook = old\nassert seen == [(OverflowError, 'same_i')], seen"));
}

// Returns true if a call compiles.
template <class Given, class Own>
constexpr bool Takes = typedcall::internal::is_taken_for<Given, Own>();

static_assert(Takes<long, int> && Takes<unsigned long, signed char> && Takes<bool, int>);
static_assert(Takes<double, float> && Takes<long, float> && Takes<bool, double>);
static_assert(!Takes<double, int> && !Takes<float, long>, "no int from a float");
static_assert(!Takes<int, bool> && !Takes<double, bool>, "no bool from a number");
static_assert(!Takes<long double, double> && !Takes<long double, float>);
static_assert(!Takes<long, PyObject *> && Takes<PyObject *, PyObject *>);
__extension__ using Int128 = __int128;
static_assert(!Takes<Int128, int> && !Takes<Int128, double>, "what Python would get is cut off");
static_assert(!Takes<char, int> && !Takes<wchar_t, double>, "no code, so no int of Python's");
static_assert(!Takes<const char *, int> && !Takes<double *, float>);

}  // namespace
