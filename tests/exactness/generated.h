// Functions of made-up signatures: signature number n is drawn from the list of types by a
// generator that the compiler runs, and its function mixes the bits of all arguments into its
// result.
#ifndef TYPEDCALL_TESTS_EXACTNESS_GENERATED_H_
#define TYPEDCALL_TESTS_EXACTNESS_GENERATED_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace exactness {

/// splitmix64, for constants and for values.
constexpr std::uint64_t Scramble(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Pseudo-random words.
struct Stream {
  std::uint64_t state;
  std::uint64_t Next() { return state = Scramble(state); }
};

/// The types that Python callers can pass and get. A type stands several times to come up more
/// often.
using Types = std::tuple<bool, signed char, unsigned char, short, unsigned short, int, unsigned,
                         long, unsigned long, long long, unsigned long long, float, double, long,
                         double, double, float>;
template <std::uint64_t n>
using Drawn = std::tuple_element_t<n % std::tuple_size_v<Types>, Types>;

/// The value of T that these bits make: any value for integers, an edge one time in four.
template <class T>
T FromBits(std::uint64_t bits) {
  const std::uint64_t choice = Scramble(bits) % 28;
  if constexpr (std::is_same_v<T, bool>) {
    return bits % 2 != 0;
  } else if constexpr (std::is_integral_v<T>) {
    const T edges[] = {static_cast<T>(-1),
                       T(0),
                       T(1),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max(),
                       static_cast<T>(-2),
                       static_cast<T>(std::numeric_limits<T>::max() - 1)};
    return choice < 7 ? edges[choice] : static_cast<T>(bits >> (choice % 3 == 0 ? 40 : 0));
  } else {
    const T edges[] = {T(-1),
                       T(-0.0),
                       T(0),
                       std::numeric_limits<T>::quiet_NaN(),
                       -std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::lowest()};
    if (choice < 7) return edges[choice];
    T value;
    std::memcpy(&value, &bits, sizeof(value));
    // A signalling NaN becomes a quiet one wherever a float is made a double.
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
  }
}

/// All bits of a value. NaNs are one, whatever their sign and payload.
template <class T>
std::uint64_t ToBits(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return ~std::uint64_t{0};
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

template <std::uint64_t n, class Indices>
struct Function;
template <std::uint64_t n, std::size_t... i>
struct Function<n, std::index_sequence<i...>> {
  using result = Drawn<Scramble(n * 131)>;
  using arguments = std::tuple<Drawn<Scramble(n * 131 + i + 1)>...>;
  using type = result(Drawn<Scramble(n * 131 + i + 1)>...);

  static result call(Drawn<Scramble(n * 131 + i + 1)>... values) noexcept {
    std::uint64_t mixed = n;
    ((mixed = Scramble(mixed ^ ToBits(values))), ...);
    return FromBits<result>(mixed);
  }

  static constexpr char name[] = {'f', '0' + n / 100 % 10, '0' + n / 10 % 10, '0' + n % 10, 0};
};

/// Mostly few arguments; one signature in eight has more than there are registers.
constexpr std::size_t Arity(std::uint64_t n) {
  const std::uint64_t drawn = Scramble(n * 131 + 77);
  return static_cast<std::size_t>(n % 8 == 7 ? 9 + drawn % 12 : drawn % 7);
}

/// Function number n.
template <std::uint64_t n>
using Generated = Function<n, std::make_index_sequence<Arity(n)>>;

}  // namespace exactness

#endif  // TYPEDCALL_TESTS_EXACTNESS_GENERATED_H_
