// Compares trampolines and register images with ordinary calls. tools/check_platforms also runs
// this test, so it must not need Python or GoogleTest. Returns the number of signatures that
// failed.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>

#include "tests/support/seed.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/invoke/register_image.h"

namespace {

using typedcall::native_value;
using namespace typedcall::internal;

const auto kSeed = typedcall_test::Seed(20261121);
std::uint64_t state = kSeed;
/// Returns pseudo-random bits (splitmix64).
std::uint64_t Bits() {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

template <class T>
T Any() {
  if constexpr (std::is_same_v<T, bool>) {
    return Bits() % 2 != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(Bits())) / T(8);
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(Bits());
  } else {
    return static_cast<T>(Bits());
  }
}

template <class R>
R answer;
/// The bits of the arguments.
std::uint64_t seen[typedcall::internal::most_arguments];
bool called = false;

template <class R, class... A>
__attribute__((noinline)) R Callee(A... arguments) {
  std::size_t i = 0;
  ((seen[i++] = native_value::of(arguments).bits), ...);
  called = true;
  if constexpr (!std::is_void_v<R>) return answer<R>;
}

int failures = 0, checked = 0;

void Expect(bool right, const char *signature, const char *how) {
  if (right) return;
  ++failures;
  std::printf("%s by %s: wrong\n", signature, how);
}

template <class R>
std::uint64_t Narrowed(native_value result) {
  if constexpr (std::is_void_v<R>) {
    return 0;
  } else {
    return native_value::of(result.get<R>()).bits;
  }
}

template <class R, class... A>
void Check() {
  const char *signature = typedcall::signature_of<R(A...)>::text;
  const register_class result =
      std::is_void_v<R> ? register_class::integer : register_class_of(typedcall::native_type<R>());
  const register_class classes[] = {register_class_of(typedcall::native_type<A>())...,
                                    register_class::none};
  void *const funcptr = reinterpret_cast<void *>(&Callee<R, A...>);
  const trampoline found = find_trampoline(result, classes, sizeof...(A));
  Expect((found != nullptr) == (sizeof...(A) <= trampoline_arguments), signature,
         "finding a trampoline");
  const image_plan plan = plan_image(result, classes, sizeof...(A));
  for (int turn = 0; turn < 6; ++turn) {
    const native_value values[] = {native_value::of(Any<A>())..., native_value{0}};
    std::uint64_t expected = 0;
    if constexpr (!std::is_void_v<R>) {
      answer<R> = Any<R>();
      expected = native_value::of(answer<R>).bits;
    }
    for (const char *how : {"trampoline", "image"}) {
      const bool by_trampoline = std::strcmp(how, "trampoline") == 0;
      if (by_trampoline && found == nullptr) continue;
      called = false;
      for (std::uint64_t &one : seen) one = 0;
      const native_value got =
          by_trampoline ? found(funcptr, values) : run_image(plan, funcptr, values);
      bool right = called && Narrowed<R>(got) == expected;
      for (std::size_t i = 0; i < sizeof...(A); ++i) right = right && seen[i] == values[i].bits;
      Expect(right, signature, how);
      ++checked;
    }
  }
}

// Tests every order of up to four arguments of four classes.
template <class R, class... A>
void Mix() {
  Check<R, A...>();
  if constexpr (sizeof...(A) < 4) {
    Mix<R, A..., double>();
    Mix<R, A..., signed char>();
    Mix<R, A..., float>();
    Mix<R, A..., unsigned long>();
  }
}

/// Returns the `i`th type of a long list that contains all widths of both classes.
template <std::size_t i>
using nth = std::tuple_element_t<(i * i + 3 * i) % 11,
                                 std::tuple<double, long, float, signed char, unsigned short, bool,
                                            double, void *, int, float, unsigned long long>>;
template <class R, template <std::size_t> class Nth, std::size_t... i>
void CheckLong(std::index_sequence<i...>) {
  Check<R, Nth<i>...>();
}
template <std::size_t>
using only_double = double;
template <std::size_t>
using only_short = short;

// Tests signatures of every length.
template <std::size_t count>
void Lengths() {
  const auto indices = std::make_index_sequence<count>();
  CheckLong<double, nth>(indices);
  CheckLong<short, nth>(indices);
  CheckLong<float, only_double>(indices);
  CheckLong<long, only_short>(indices);
  if constexpr (count < 18) {
    Lengths<count + 1>();
  } else if constexpr (count < 127) {
    Lengths<(count + 29 < 127 ? count + 29 : 127)>();
  }
}

}  // namespace

int main() {
  Mix<double>();
  Mix<unsigned short>();
  Mix<void>();
  Mix<float>();
  Lengths<1>();
  std::printf("%d calls, %d wrong, %s\n", checked, failures,
              typedcall_test::SeedText(kSeed).c_str());
  return failures != 0 || checked == 0;
}
