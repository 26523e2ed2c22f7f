// Compares calls that are constructed at run time with direct calls. plans_test.cc tests refusals.
#include "typedcall/invoker.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tests/support/seed.h"

namespace {

using typedcall::invoker;
using typedcall::invoker_backend;
using typedcall::native_value;

constexpr invoker_backend kWays[] = {invoker_backend::trampoline, invoker_backend::image,
                                     invoker_backend::ffi};
const char *Name(invoker_backend how) {
  return how == invoker_backend::trampoline ? "trampoline"
         : how == invoker_backend::image    ? "image"
                                            : "ffi";
}

const auto kSeed = typedcall_test::Seed(20261121);
std::mt19937_64 engine(kSeed);

/// Returns a value with random bits, or the smallest or largest value of T.
template <class T>
T Any() {
  const unsigned choice = static_cast<unsigned>(engine() % 6);
  if constexpr (std::is_same_v<T, bool>) {
    return choice % 2 != 0;
  } else if constexpr (std::is_integral_v<T>) {
    const T edges[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0),
                       static_cast<T>(-1)};
    return choice < 4 ? edges[choice] : static_cast<T>(engine());
  } else if constexpr (std::is_floating_point_v<T>) {
    const T edges[] = {T(-0.0), std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::lowest()};
    return choice < 4 ? edges[choice] : static_cast<T>(static_cast<double>(engine()) / 3);
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(engine());
  } else {
    T value;
    using part = std::remove_reference_t<decltype(__real__ value)>;
    __real__ value = Any<part>();
    __imag__ value = Any<part>();
    return value;
  }
}

/// Returns a value as text. Even 0.0 and -0.0 have different texts.
template <class T>
std::string Text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    char text[64];
    std::snprintf(text, sizeof text, "%La", static_cast<long double>(value));
    return text;
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_pointer_v<T>) {
    return std::to_string(reinterpret_cast<std::uintptr_t>(value));
  } else {
    return Text(__real__ value) + "," + Text(__imag__ value);
  }
}

/// The arguments of the callee and its next result.
std::vector<std::string> seen;
template <class R>
R answer;

template <class R, class... A>
R Callee(A... arguments) {
  seen = {Text(arguments)...};
  if constexpr (!std::is_void_v<R>) return answer<R>;
}

template <class T>
constexpr bool IsWide() {
  if constexpr (std::is_void_v<T>) {
    return false;
  } else {
    return sizeof(T) > sizeof(std::uint64_t);
  }
}

template <class T>
native_value Pass(const T &value) {
  if constexpr (IsWide<T>()) {
    return native_value::at(&value);
  } else {
    return native_value::of(value);
  }
}

/// The only code that depends on the types of a function R(A...), because such code compiles
/// slowly.
struct Function {
  const char *signature;
  void *callee;
  std::size_t arity;
  bool has_wide_result;
  /// Draws random arguments, which are valid until the next call.
  const native_value *(*draw)(std::vector<std::string> *expected);
  /// Draws a random result and returns its text.
  std::string (*draw_answer)(std::uint64_t *bits);
  /// Returns a result as text. `wide` contains the result if it is larger than a word.
  std::string (*text)(native_value result, const void *wide);
};

template <class... A>
const native_value *Draw(std::vector<std::string> *expected) {
  static std::tuple<A...> values;
  // An array cannot be empty.
  static std::array<native_value, sizeof...(A) + 1> arguments;
  values = std::tuple<A...>{Any<A>()...};
  std::apply(
      [&](const auto &...v) {
        *expected = {Text(v)...};
        arguments = {Pass(v)..., native_value{0}};
      },
      values);
  return arguments.data();
}

template <class R>
std::string DrawAnswer(std::uint64_t *bits) {
  *bits = 0;
  if constexpr (std::is_void_v<R>) {
    return "";
  } else {
    answer<R> = Any<R>();
    if constexpr (!IsWide<R>()) *bits = native_value::of(answer<R>).bits;
    return Text(answer<R>);
  }
}

template <class R>
std::string ResultText(native_value result, const void *wide) {
  if constexpr (std::is_void_v<R>) {
    return "";
  } else if constexpr (IsWide<R>()) {
    return Text(*static_cast<const R *>(wide));
  } else {
    return Text(result.get<R>());
  }
}

/// Calls the function in every way that supports it, and returns these ways.
std::vector<invoker_backend> CheckFunction(const Function &function) {
  std::vector<invoker_backend> able;
  for (const invoker_backend how : kWays) {
    const auto call = invoker::make(function.signature, 0, function.callee, how);
    if (!call) continue;
    SCOPED_TRACE(std::string(function.signature) + " by " + Name(how) + ", " +
                 typedcall_test::SeedText(kSeed));
    able.push_back(how);
    EXPECT_EQ(call->backend(), how);
    EXPECT_EQ(call->arity(), function.arity);
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<std::string> expected;
      const native_value *const arguments = function.draw(&expected);
      std::uint64_t bits = 0;
      const std::string expected_result = function.draw_answer(&bits);
      seen = {"nothing"};
      alignas(std::max_align_t) unsigned char wide[2 * sizeof(long double)] = {};
      const native_value result = (*call)(arguments, function.has_wide_result ? wide : nullptr);
      EXPECT_EQ(function.text(result, wide), expected_result);
      EXPECT_EQ(result.bits, bits) << "no rubbish beside a narrow result";
      EXPECT_EQ(seen, expected);
    }
  }
  const auto chosen = invoker::make(function.signature, 0, function.callee);
  EXPECT_TRUE(chosen) << function.signature;
  if (chosen && !able.empty()) {
    EXPECT_EQ(chosen->backend(), able.front()) << function.signature << ": the fastest";
  }
  return able;
}

template <class R, class... A>
std::vector<invoker_backend> Check() {
  return CheckFunction({typedcall::signature_of<R(A...)>::text,
                        reinterpret_cast<void *>(&Callee<R, A...>), sizeof...(A), IsWide<R>(),
                        Draw<A...>, DrawAnswer<R>, ResultText<R>});
}

template <class T>
class EveryCode : public testing::Test {};

#define TYPE(NAME, LETTERS, TYPE, KIND, ...) , TYPE
template <class Ignored, class... T>
struct tail {
  using types = testing::Types<T...>;
};
using AllTypes = tail<void PyNativeType_VALUE_LIST(TYPE)>::types;
#undef TYPE
TYPED_TEST_SUITE(EveryCode, AllTypes);

TYPED_TEST(EveryCode, AsArgumentAndResult) {
  using T = TypeParam;
  Check<T>();
  Check<T, T>();
  Check<void, T>();
  Check<T, double, T, int>();
  Check<double, T, T, T, T>();
  Check<T, T, T, T, T, T>();
  Check<T, float, T, long, T, double, T, short, T>();
}

using Ways = std::vector<invoker_backend>;
const Ways kScalars = TYPEDCALL_REGISTER_IMAGE ? Ways{invoker_backend::trampoline,
                                                      invoker_backend::image, invoker_backend::ffi}
                                               : Ways{invoker_backend::ffi};
const Ways kImage = TYPEDCALL_REGISTER_IMAGE ? Ways{invoker_backend::image, invoker_backend::ffi}
                                             : Ways{invoker_backend::ffi};

TEST(Ways, FewScalarsHaveATrampoline) {
  EXPECT_EQ((Check<double, double, double>()), kScalars);
  EXPECT_EQ((Check<long, long>()), kScalars);
  EXPECT_EQ((Check<double, double, long, double, long>()), kScalars);
  EXPECT_EQ((Check<void>()), kScalars);
  EXPECT_EQ((Check<float, float, double, float, double>()), kScalars);
}

TEST(Ways, MoreScalarsAreAnImage) {
  EXPECT_EQ((Check<double, double, long, double, long, double, long, double, long>()), kImage);
  EXPECT_EQ((Check<long, long, long, long, long, long, long>()), kImage);
  EXPECT_EQ((Check<double, float, float, float, float, float, float, float, float>()), kImage);
  EXPECT_EQ((Check<int, double, double, double, double, double, double, double, double,
                   const char *, bool, signed char, unsigned short, void *, long long>()),
            kImage);
}

TEST(Ways, WhatFitsIntoNoRegisterIsInTheImageToo) {
  EXPECT_EQ(
      (Check<double, double, double, double, double, double, double, double, double, double>()),
      kImage);
  EXPECT_EQ((Check<long, long, short, long, bool, long, int, signed char, long, float>()), kImage);
}

TEST(Ways, TheRestIsLibffis) {
  EXPECT_EQ((Check<long double, long double>()), Ways{invoker_backend::ffi});
  EXPECT_EQ((Check<double, PyNativeType_ComplexDouble>()), Ways{invoker_backend::ffi});
}

// Tests every order of four classes.
template <class R, class... A>
void Mix() {
  Check<R, A...>();
  if constexpr (sizeof...(A) < 4) {
    Mix<R, A..., double>();
    Mix<R, A..., signed char>();
    Mix<R, A..., float>();
  }
}
TEST(Mixes, UpToFourArguments) {
  Mix<double>();
  Mix<unsigned short>();
}

template <std::size_t... i>
auto Sum127(std::index_sequence<i...>) {
  return +[](decltype(double(i))... v) -> double { return (v + ...); };
}

TEST(Limits, ManyArguments) {
  const auto sum = Sum127(std::make_index_sequence<127>());
  const std::string signature = std::string(127, 'd') + "->d";
  native_value arguments[127];
  for (int i = 0; i < 127; ++i) arguments[i] = native_value::of(double(i));
  for (const invoker_backend how : {invoker_backend::image, invoker_backend::ffi}) {
    const auto call = invoker::make(signature.c_str(), 0, reinterpret_cast<void *>(sum), how);
    if (!call && !TYPEDCALL_REGISTER_IMAGE) continue;
    ASSERT_TRUE(call);
    EXPECT_EQ((*call)(arguments).get<double>(), 126 * 127 / 2);
  }
}

std::string Buffered(long double wide, const unsigned char *bytes, Py_ssize_t count, float number,
                     double *out, Py_ssize_t length) {
  std::string text = Text(wide) + " " + Text(number);
  for (Py_ssize_t i = 0; i < count; ++i) text += " " + std::to_string(bytes[i]);
  for (Py_ssize_t i = 0; i < length; ++i) out[i] = static_cast<double>(i);
  return text;
}
long SumOfAll(const signed char *a, Py_ssize_t a_count, const long *b, Py_ssize_t b_count,
              unsigned char scale) {
  long sum = 0;
  for (Py_ssize_t i = 0; i < a_count; ++i) sum += a[i];
  for (Py_ssize_t i = 0; i < b_count; ++i) sum += b[i];
  return sum * scale;
}
std::string was_buffered;
int NoteBuffers(long double wide, const unsigned char *bytes, Py_ssize_t count, float number,
                double *out, Py_ssize_t length) {
  was_buffered = Buffered(wide, bytes, count, number, out, length);
  return 7;
}

TEST(Buffers, AreTwoArguments) {
  const signed char a[] = {-1, 5};
  const long b[] = {100, 200, 300};
  for (const auto &[signature, flags, arity] :
       {std::tuple("*kb*klB->l", 0, 5u), std::tuple("*b*lB->l", 0, 5u)}) {
    for (const invoker_backend how : {invoker_backend::image, invoker_backend::ffi}) {
      SCOPED_TRACE(Name(how));
      auto call = invoker::make(signature, static_cast<std::uintptr_t>(flags),
                                reinterpret_cast<void *>(&SumOfAll), how);
      if (!call && how == invoker_backend::image && !TYPEDCALL_REGISTER_IMAGE) continue;
      ASSERT_TRUE(call);
      EXPECT_EQ(call->arity(), arity);
      const native_value values[] = {native_value::of(a), native_value::of(Py_ssize_t{2}),
                                     native_value::of(b), native_value::of(Py_ssize_t{3}),
                                     native_value::of<unsigned char>(2)};
      EXPECT_EQ((*call)(values).get<long>(), 1208);
    }
  }
  const auto short_one =
      invoker::make("*kl->l", 0, reinterpret_cast<void *>(+[](const long *all, Py_ssize_t count) {
                      return count == 0 ? -1 : all[count - 1];
                    }));
  const native_value values[] = {native_value::of(b), native_value::of(Py_ssize_t{2})};
  EXPECT_EQ((*short_one)(values).get<long>(), 200);
  const native_value none[] = {native_value::of<void *>(nullptr), native_value::of(Py_ssize_t{0})};
  EXPECT_EQ((*short_one)(none).get<long>(), -1);
}

// A buffer takes two words, and other values must keep their places.
TEST(Buffers, AmongWideNumbers) {
  const auto call =
      invoker::make("g*kBf*d->i", 0, reinterpret_cast<void *>(&NoteBuffers), std::nullopt);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->backend(), invoker_backend::ffi);
  const long double wide = 1.25L;
  const unsigned char bytes[] = {3, 255};
  double out[3] = {9, 9, 9};
  const native_value values[] = {native_value::at(&wide),         native_value::of(bytes),
                                 native_value::of(Py_ssize_t{2}), native_value::of(0.5f),
                                 native_value::of(out),           native_value::of(Py_ssize_t{3})};
  EXPECT_EQ((*call)(values).get<int>(), 7);
  EXPECT_EQ(was_buffered, Text(1.25L) + " " + Text(0.5f) + " 3 255");
  EXPECT_EQ(out[2], 2.0);
}

TEST(Self, IsTheFirstArgument) {
  const auto f = +[](void *self, double x) { return x + *static_cast<double *>(self); };
  double self = 40;
  for (const invoker_backend how : kWays) {
    const auto call =
        invoker::make("d->d", PyNativeCallable_TAKES_SELF, reinterpret_cast<void *>(f), how);
    if (!call) continue;
    EXPECT_EQ(call->arity(), 2u);
    const native_value arguments[] = {native_value::of(&self), native_value::of(2.0)};
    EXPECT_EQ((*call)(arguments).get<double>(), 42.0) << Name(how);
  }
}

// A callee may leave anything in the upper bits of a narrow result.
TEST(Narrowing, RubbishIsCutOff) {
  const auto rubbish = +[](long x) { return x; };
  const native_value minus_two = native_value::of(long{0x5a5a5a5a5a5a00fe});
  for (const invoker_backend how : kWays) {
    const struct {
      const char *signature;
      std::uint64_t bits;
    } cases[] = {{"l->b", static_cast<std::uint64_t>(-2)},
                 {"l->B", 0xfe},
                 {"l->h", 0xfe},
                 {"l->i", 0x5a5a00fe},
                 {"l->v", 0},
                 {"l->l", 0x5a5a5a5a5a5a00fe}};
    for (const auto &one : cases) {
      const auto call = invoker::make(one.signature, 0, reinterpret_cast<void *>(rubbish), how);
      ASSERT_TRUE(call || !TYPEDCALL_REGISTER_IMAGE);
      if (call) {
        EXPECT_EQ((*call)(&minus_two).bits, one.bits) << one.signature << Name(how);
      }
    }
  }
}

}  // namespace
