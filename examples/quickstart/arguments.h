// Random argument values for the demo.
#ifndef EXAMPLES_QUICKSTART_ARGUMENTS_H_
#define EXAMPLES_QUICKSTART_ARGUMENTS_H_

#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>

namespace quickstart {

using generator = std::mt19937_64;

template <class T>
T random_value(generator &random);

/// Returns an arbitrary bit pattern, a value between -10 and 10, or an edge case.
template <>
inline double random_value<double>(generator &random) {
  using limits = std::numeric_limits<double>;
  static const double edges[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 2.0,
                                 -2.0,
                                 0.5,
                                 -0.5,
                                 3.0,
                                 -3.0,
                                 710.0,
                                 -750.0,
                                 171.7,
                                 1e-300,
                                 -1e-300,
                                 limits::max(),
                                 -limits::max(),
                                 limits::min(),
                                 -limits::min(),
                                 limits::denorm_min(),
                                 limits::infinity(),
                                 -limits::infinity(),
                                 limits::quiet_NaN(),
                                 9007199254740993.0,
                                 1.0 + limits::epsilon(),
                                 1.0 - limits::epsilon() / 2,
                                 -1.0 - limits::epsilon(),
                                 1e22};
  const std::uint64_t bits = random();
  switch (random() % 3) {
    case 0: {
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
    case 1:
      return std::uniform_real_distribution<double>(-10.0, 10.0)(random);
    default:
      return edges[bits % std::size(edges)];
  }
}

template <>
inline long random_value<long>(generator &random) {
  using limits = std::numeric_limits<long>;
  static const long edges[] = {0,
                               1,
                               -1,
                               2,
                               -2,
                               limits::max(),
                               limits::max() - 1,
                               limits::min(),
                               limits::min() + 1,
                               1L << 31,
                               -(1L << 31),
                               (1L << 30) - 1,
                               1L << 30};
  const std::uint64_t bits = random();
  switch (random() % 3) {
    case 0:
      return static_cast<long>(bits);
    case 1:
      return static_cast<long>(bits % 2001) - 1000;
    default:
      return edges[bits % std::size(edges)];
  }
}

/// Returns a value between 0 and 3, which most functions accept.
template <class T>
T tame_value(generator &random) {
  return static_cast<T>(std::uniform_real_distribution<double>(0.0, 3.0)(random));
}

/// Returns the number of representable values between two results. Returns 0 if both are NaN, and
/// the maximum if only one is.
inline std::uint64_t distance(double a, double b) {
  if (a != a || b != b) return a != a && b != b ? 0 : std::numeric_limits<std::uint64_t>::max();
  const auto ordered = [](double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const std::uint64_t sign = std::uint64_t{1} << 63;
    return (bits & sign) != 0 ? sign - (bits & ~sign) - 1 : sign + bits;
  };
  const std::uint64_t x = ordered(a), y = ordered(b);
  return x > y ? x - y : y - x;
}
inline std::uint64_t distance(long a, long b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return a > b ? x - y : y - x;
}

}  // namespace quickstart

#endif  // EXAMPLES_QUICKSTART_ARGUMENTS_H_
