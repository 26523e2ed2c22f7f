// Tests typedcall::ffi_signature without libpython.

#include "typedcall/invoker.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using typedcall::ffi_signature;
using typedcall::signature_of;

template <class R, class... A>
void *address_of(R (*function)(A...)) {
  return reinterpret_cast<void *>(function);
}

// --- Random values through fixed prototypes ------------------------------------------------------

std::mt19937_64 random_bits(20240607);

template <class T>
T random_value() {
  if constexpr (std::is_same_v<T, bool>) {
    return random_bits() % 2 == 1;
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(static_cast<std::uintptr_t>(random_bits()));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random_bits());
  } else {
    return static_cast<T>(static_cast<std::int32_t>(random_bits())) / T(8);
  }
}

// The arguments of the last call and the result of the next one.
template <class... A>
std::tuple<A...> received;
template <class R>
R returned;

template <class R, class... A>
R callee(A... arguments) {
  received<A...> = std::tuple<A...>(arguments...);
  if constexpr (!std::is_void_v<R>) return returned<R>;
}

template <class Function>
struct prototype;
template <class R, class... A>
struct prototype<R(A...)> {
  static void check() {
    const char *signature = signature_of<R(A...)>::text;
    const auto made = ffi_signature::make(signature, false);
    ASSERT_TRUE(made) << signature;
    EXPECT_EQ(made->arity(), sizeof...(A));
    for (int round = 0; round < 50; ++round) {
      std::tuple<A...> values(random_value<A>()...);
      auto addresses = std::apply(
          [](auto &...value) {
            return std::array<void *, sizeof...(A) + 1>{
                const_cast<void *>(static_cast<const volatile void *>(&value))...};
          },
          values);
      received<A...> = {};
      if constexpr (std::is_void_v<R>) {
        made->call(address_of(&callee<R, A...>), nullptr, addresses.data());
      } else {
        R result{};
        returned<R> = random_value<R>();
        made->call(address_of(&callee<R, A...>), &result, addresses.data());
        EXPECT_EQ(result, returned<R>) << signature;
      }
      EXPECT_EQ(received<A...>, values) << signature;
    }
  }
};

using std::size_t;
using schar = signed char;
using uchar = unsigned char;
using ushort = unsigned short;
using ulong = unsigned long;
using longlong = long long;
using ulonglong = unsigned long long;
using ldouble = long double;

TEST(Prototypes, MixedRegisters) {
  prototype<double(double, long, double, long)>::check();
  prototype<long(long, double, long, double)>::check();
  prototype<double(float, double, float, double)>::check();
  prototype<float(float)>::check();
  prototype<float(double, float, int)>::check();
  prototype<int(int, int)>::check();
  prototype<longlong(float, ldouble, schar, short, int, long, longlong)>::check();
  prototype<bool(bool, bool, bool)>::check();
  prototype<schar(schar, uchar, short, ushort)>::check();
  prototype<uchar(ushort, short, uchar, schar)>::check();
  prototype<short(double, schar)>::check();
  prototype<ushort(ushort)>::check();
  prototype<ulong(void *, const char *, size_t)>::check();
  prototype<void *(void *, int, void *)>::check();
  prototype<const char *(const char *)>::check();
  prototype<double *(double *, const long *)>::check();
}

TEST(Prototypes, NoArgumentsAndNoResult) {
  prototype<int()>::check();
  prototype<double()>::check();
  prototype<schar()>::check();
  prototype<void(double, int)>::check();
  prototype<void(const char *)>::check();
  bool called = false;
  static bool *where;
  where = &called;
  ffi_signature::make("->v", false)->call(address_of(+[] { *where = true; }), nullptr, nullptr);
  EXPECT_TRUE(called);
}

TEST(Prototypes, MoreThanThereAreRegisters) {
  prototype<long(long, long, long, long, long, long, long)>::check();
  prototype<long(long, long, long, long, long, long, long, long, schar, short, int)>::check();
  prototype<double(double, double, double, double, double, double, double, double,
                   double)>::check();
  prototype<double(float, float, float, float, float, float, float, float, float, float,
                   double)>::check();
  prototype<double(long, double, long, double, long, double, long, double, long, double, long,
                   double, long, double, long, double, long, double, float, schar)>::check();
  prototype<void(schar, uchar, short, ushort, int, unsigned, long, ulong, longlong, ulonglong, bool,
                 void *)>::check();
}

TEST(Prototypes, LongDouble) {
  prototype<ldouble(ldouble)>::check();
  prototype<ldouble(ldouble, ldouble, int, double)>::check();
  prototype<int(int, ldouble, int, ldouble)>::check();
  prototype<ldouble(long, long, long, long, long, long, long, ldouble, long)>::check();
}

// --- The largest number of arguments -------------------------------------------------------------

template <size_t>
using repeated_long = long;
template <size_t... I>
long weighted_sum(repeated_long<I>... values) {
  long sum = 0;
  const long all[] = {values...};
  for (size_t i = 0; i < sizeof...(I); ++i) sum += all[i] * static_cast<long>(i + 1);
  return sum;
}
template <size_t... I>
void *pointer_to_weighted_sum(std::index_sequence<I...>) {
  return address_of(&weighted_sum<I...>);
}

TEST(Prototypes, ArgumentsUpToTheLimit) {
  const auto made = ffi_signature::make((std::string(127, 'l') + "->l").c_str(), false);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->arity(), 127u);
  std::vector<long> values(127);
  std::vector<void *> addresses(127);
  long expected = 0;
  for (size_t i = 0; i < 127; ++i) {
    values[i] = static_cast<long>(random_bits() % 1000) - 500;
    addresses[i] = &values[i];
    expected += values[i] * static_cast<long>(i + 1);
  }
  long result = 0;
  made->call(pointer_to_weighted_sum(std::make_index_sequence<127>()), &result, addresses.data());
  EXPECT_EQ(result, expected);
}

// --- Self, faults, moves, threads ----------------------------------------------------------------

struct Call {
  void *self;
  double argument;
};

TEST(TakesSelf, IsAnArgumentMoreInFront) {
  static Call call;
  double (*const method)(void *, double) = [](void *self, double argument) {
    call = {self, argument};
    return argument * 2;
  };
  const auto made = ffi_signature::make("d->d", true);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->arity(), 2u);
  void *self = &call;
  double argument = 1.5, result = 0;
  void *arguments[] = {&self, &argument};
  made->call(address_of(method), &result, arguments);
  EXPECT_EQ(result, 3.0);
  EXPECT_EQ(call.self, &call);
  EXPECT_EQ(call.argument, 1.5);
}

TEST(TakesSelf, WithTheMostArguments) {
  const auto made = ffi_signature::make((std::string(127, 'd') + "->d").c_str(), true);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->arity(), 128u);
}

TEST(Faults, HaveTheirPosition) {
  const struct {
    const char *signature;
    size_t position;
  } faults[] = {{"", 0},     {"d", 1},     {"dx->d", 1}, {"dd->", 4},
                {"v->d", 0}, {"d->d ", 4}, {"dZx->d", 2}};
  for (const auto &[signature, position] : faults) {
    PyNativeSignature_Fault fault = {999, nullptr};
    EXPECT_FALSE(ffi_signature::make(signature, false, &fault)) << signature;
    EXPECT_EQ(fault.position, position) << signature;
    EXPECT_NE(fault.reason, nullptr) << signature;
    EXPECT_FALSE(ffi_signature::make(signature, false)) << signature;
  }
  PyNativeSignature_Fault fault = {999, nullptr};
  EXPECT_FALSE(ffi_signature::make(nullptr, false, &fault));
  EXPECT_EQ(fault.position, 0u);
}

TEST(Faults, NoneLeavesTheFaultAlone) {
  PyNativeSignature_Fault fault = {999, nullptr};
  EXPECT_TRUE(ffi_signature::make("d->d", false, &fault));
  EXPECT_EQ(fault.position, 999u);
}

double subtract(double a, double b) { return a - b; }

double call(const ffi_signature &signature, double a, double b) {
  double result = 0;
  void *arguments[] = {&a, &b};
  signature.call(address_of(&subtract), &result, arguments);
  return result;
}

TEST(Moves, TakeThePreparedCallAlong) {
  auto made = ffi_signature::make("dd->d", false);
  ffi_signature moved = std::move(*made);
  made.reset();
  EXPECT_EQ(call(moved, 5, 3), 2);
  std::vector<ffi_signature> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(*ffi_signature::make("dd->d", false));
  }
  for (const ffi_signature &each : many) EXPECT_EQ(call(each, 5, 3), 2);
  moved = std::move(many[7]);
  many.clear();
  EXPECT_EQ(call(moved, 7, 3), 4);
  static_assert(!std::is_copy_constructible_v<ffi_signature>);
}

TEST(Signature, NeedNotOutliveMake) {
  std::string signature = "dd->d";
  const auto made = ffi_signature::make(signature.c_str(), false);
  signature.assign(signature.size(), 'x');
  EXPECT_EQ(call(*made, 5, 3), 2);
}

TEST(Threads, ShareOneSignature) {
  const auto made = ffi_signature::make("dd->d", false);
  std::vector<std::thread> threads;
  std::array<int, 4> wrong{};
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20000; ++i) {
        const double a = i, b = static_cast<double>(t);
        if (call(*made, a, b) < a - b || call(*made, a, b) > a - b) ++wrong[t];
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
