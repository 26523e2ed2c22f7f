// Compares calls through libffi with direct calls, for arguments and results of every type.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "typedcall/invoker.h"

namespace {

using typedcall::ffi_signature;

#define LETTERS(NAME, TEXT, TYPE, KIND, ...) TEXT,
const char *const kLetters[] = {PyNativeType_VALUE_LIST(LETTERS)};
#undef LETTERS
constexpr int kCodes = sizeof(kLetters) / sizeof(*kLetters);

// The bytes of the arguments, so that even NaNs are compared exactly.
std::vector<unsigned char> seen;

template <class T>
void see(T value) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(&value);
  seen.insert(seen.end(), bytes, bytes + sizeof(value));
}

// A long double has padding bytes, so it is split into two doubles.
template <>
void see(long double value) {
  see(static_cast<double>(value));
  see(static_cast<double>(value - static_cast<double>(value)));
}
template <>
void see(PyNativeType_ComplexLongDouble value) {
  see(__real__ value);
  see(__imag__ value);
}

template <class T>
T identity(T value) {
  return value;
}
template <class T>
void consume(T value) {
  see(value);
}
template <class T>
T in_the_middle(double before, T value, int after) {
  see(before);
  see(value);
  see(after);
  return value;
}

template <class T>
std::vector<T> interesting() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_pointer_v<T>) {
    static std::remove_const_t<std::remove_pointer_t<T>> *const none = nullptr;
    return {none, reinterpret_cast<T>(std::uintptr_t{0x7fff1234567890f0})};
  } else if constexpr (std::is_integral_v<T>) {
    using limits = std::numeric_limits<T>;
    return {limits::min(),
            limits::max(),
            static_cast<T>(-1),
            T{0},
            T{1},
            static_cast<T>(limits::max() / 3),
            static_cast<T>(limits::min() + 1)};
  } else {
    using limits = std::numeric_limits<T>;
    return {T(0),
            T(-0.0),
            T(-1),
            T(1) / T(3),
            limits::max(),
            limits::lowest(),
            limits::min(),
            limits::denorm_min(),
            limits::infinity(),
            limits::quiet_NaN()};
  }
}

template <class T>
std::vector<unsigned char> bytes_of(T value) {
  seen.clear();
  see(value);
  return seen;
}

template <class T>
void check_value(const std::string &letters, T value) {
  const auto as_result = ffi_signature::make((letters + "->" + letters).c_str(), false);
  const auto as_argument = ffi_signature::make((letters + "->v").c_str(), false);
  const auto mixed = ffi_signature::make(("d" + letters + "i->" + letters).c_str(), false);
  ASSERT_TRUE(as_result && as_argument && mixed) << letters;
  const std::vector<unsigned char> expected = bytes_of(value);

  // Detects writes beyond the result.
  struct {
    T value;
    unsigned char behind[32];
  } result;
  std::memset(&result, 0xA5, sizeof(result));
  void *arguments[] = {&value};
  as_result->call(reinterpret_cast<void *>(&identity<T>), &result.value, arguments);
  EXPECT_EQ(bytes_of(result.value), expected) << letters;
  for (const unsigned char byte : result.behind) ASSERT_EQ(byte, 0xA5) << letters;

  seen.clear();
  as_argument->call(reinterpret_cast<void *>(&consume<T>), nullptr, arguments);
  EXPECT_EQ(seen, expected) << letters;

  double before = -2.5;
  int after = -3;
  seen.clear();
  in_the_middle<T>(before, value, after);
  const std::vector<unsigned char> direct = seen;
  seen.clear();
  void *three[] = {&before, &value, &after};
  mixed->call(reinterpret_cast<void *>(&in_the_middle<T>), &result.value, three);
  EXPECT_EQ(seen, direct) << letters;
  EXPECT_EQ(bytes_of(result.value), expected) << letters;
}

template <class T>
void check(const std::string &letters) {
  for (const T value : interesting<T>()) check_value<T>(letters, value);
}

template <class Complex, class Real>
void check_complex(const std::string &letters) {
  for (const Real real : interesting<Real>()) {
    for (const Real imaginary : {Real(1) / Real(7), Real(-0.0)}) {
      Complex value;
      __real__ value = real;
      __imag__ value = imaginary;
      check_value<Complex>(letters, value);
    }
  }
}

TEST(Codes, Bool) { check<bool>("?"); }
TEST(Codes, Narrow) {
  check<signed char>("b");
  check<unsigned char>("B");
  check<short>("h");
  check<unsigned short>("H");
  check<int>("i");
  check<unsigned>("I");
}
TEST(Codes, Wide) {
  check<long>("l");
  check<unsigned long>("L");
  check<long long>("q");
  check<unsigned long long>("Q");
  check<intptr_t>("n");
  check<size_t>("N");
}
TEST(Codes, Floating) {
  check<float>("f");
  check<double>("d");
  check<long double>("g");
}
TEST(Codes, Complex) {
  check_complex<PyNativeType_ComplexFloat, float>("Zf");
  check_complex<PyNativeType_ComplexDouble, double>("Zd");
  check_complex<PyNativeType_ComplexLongDouble, long double>("Zg");
}
TEST(Codes, Pointers) {
  check<void *>("P");
  check<const char *>("s");
  check<struct _object *>("O");
}
TEST(Codes, PointersToEveryCode) {
  for (const char *letters : kLetters) check<void *>(std::string("&") + letters);
}

// The list above must contain every code.
TEST(Codes, AreAllChecked) { EXPECT_EQ(kCodes, 22); }

// A callee may leave anything in the upper bits of a narrow result.
TEST(NarrowResults, UpperBitsAreRubbish) {
  std::uint64_t (*const rubbish)() = [] { return std::uint64_t{0xDEADBEEFDEADFFFF}; };
  const auto call = [&](const char *signature, auto result) {
    const auto made = ffi_signature::make(signature, false);
    made->call(reinterpret_cast<void *>(rubbish), &result, nullptr);
    return result;
  };
  EXPECT_EQ(call("->b", static_cast<signed char>(0)), -1);
  EXPECT_EQ(call("->B", static_cast<unsigned char>(0)), 255);
  EXPECT_EQ(call("->h", short{0}), -1);
  EXPECT_EQ(call("->H", static_cast<unsigned short>(0)), 65535);
  EXPECT_EQ(call("->i", 0), static_cast<int>(0xDEADFFFF));
  EXPECT_EQ(call("->I", 0u), 0xDEADFFFFu);
  EXPECT_EQ(call("->L", 0ul), 0xDEADBEEFDEADFFFFul);
}

}  // namespace
