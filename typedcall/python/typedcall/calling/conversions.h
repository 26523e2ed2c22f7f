// Conversions between arrays of numbers, from what a library has to what a C function takes and
// back: as Python converts, and an int that does not fit ends them.
#ifndef TYPEDCALL_PYTHON_CALLING_CONVERSIONS_H_
#define TYPEDCALL_PYTHON_CALLING_CONVERSIONS_H_

#include "typedcall/narrowing.h"
// It comes first, because of Python.h.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typedcall/loop.h"

namespace typedcall::python {

namespace elements {

/// Converts `count` elements. Returns how many before the first that does not fit.
using converter = std::intptr_t (*)(const char *from, std::intptr_t step, std::intptr_t count,
                                    char *to, std::intptr_t to_step);

template <class From, class To>
std::intptr_t convert(const char *from, std::intptr_t step, std::intptr_t count, char *to,
                      std::intptr_t to_step) {
  using internal::has_room, internal::load_as;
  bool all_fit = true;
  const char *next = from;
  for (std::intptr_t left = count; left > 0; --left, next += step, to += to_step) {
    const From value = load_as<From>(next);
    all_fit &= has_room<To>(value);
    const To made = internal::narrowed<To>(value);
    std::memcpy(to, &made, sizeof(made));
  }
  if (all_fit) return count;
  std::intptr_t good = 0;
  // Another thread may write to the array.
  while (good < count && has_room<To>(load_as<From>(from + good * step))) ++good;
  return good;
}

/// To bool: all fit. A nan is true, as it is in Python.
template <class From>
std::intptr_t to_truth(const char *from, std::intptr_t step, std::intptr_t count, char *to,
                       std::intptr_t to_step) {
  for (std::intptr_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * step, sizeof(value));
    to[i * to_step] = value != From{};
  }
  return count;
}

/// A number of this type as the widest of its kind: an std::int64_t, an std::uint64_t, a double.
constexpr PyNativeType widest(PyNativeType type) {
  const PyNativeKind kind = PyNativeType_Kind(type);
  if (kind == PyNativeKind_FLOATING) return {PyNativeType_DOUBLE, 0};
  const bool is_large = kind == PyNativeKind_UNSIGNED && PyNativeType_Size(type) == 8;
  if (is_large) return {PyNativeType_ULONGLONG, 0};
  return {PyNativeType_LONGLONG, 0};
}

/// Null: it is that already, or there is none.
inline converter to_widest(PyNativeType from) {
  const bool is_unsigned = PyNativeType_Kind(from) == PyNativeKind_UNSIGNED;
  switch (PyNativeType_Kind(from)) {
    case PyNativeKind_BOOL:
      return &convert<bool, std::int64_t>;
    case PyNativeKind_FLOATING:
      return PyNativeType_Size(from) == sizeof(float) ? &convert<float, double> : nullptr;
    default:
      break;
  }
  switch (PyNativeType_Size(from)) {
    case 1:
      return is_unsigned ? &convert<std::uint8_t, std::int64_t>
                         : &convert<std::int8_t, std::int64_t>;
    case 2:
      return is_unsigned ? &convert<std::uint16_t, std::int64_t>
                         : &convert<std::int16_t, std::int64_t>;
    case 4:
      return is_unsigned ? &convert<std::uint32_t, std::int64_t>
                         : &convert<std::int32_t, std::int64_t>;
    default:
      return nullptr;
  }
}

template <class From>
converter from_widest(PyNativeType to) {
  const bool is_unsigned = PyNativeType_Kind(to) == PyNativeKind_UNSIGNED;
  if (PyNativeType_Kind(to) == PyNativeKind_BOOL) return &to_truth<From>;
  if (PyNativeType_Kind(to) == PyNativeKind_FLOATING) {
    if (PyNativeType_Size(to) == sizeof(double)) return &convert<From, double>;
    return PyNativeType_Size(to) == sizeof(float) ? &convert<From, float> : nullptr;
  }
  if constexpr (std::is_floating_point_v<From>) {
    return nullptr;
  } else {
    if (!is_unsigned && PyNativeType_Kind(to) != PyNativeKind_SIGNED) return nullptr;
    switch (PyNativeType_Size(to)) {
      case 1:
        return is_unsigned ? &convert<From, std::uint8_t> : &convert<From, std::int8_t>;
      case 2:
        return is_unsigned ? &convert<From, std::uint16_t> : &convert<From, std::int16_t>;
      case 4:
        return is_unsigned ? &convert<From, std::uint32_t> : &convert<From, std::int32_t>;
      case 8:
        return is_unsigned ? &convert<From, std::uint64_t> : &convert<From, std::int64_t>;
      default:
        return nullptr;
    }
  }
}

}  // namespace elements

/// From one type of numbers to another, by way of the widest of the first one's kind.
class conversion {
 public:
  static constexpr std::intptr_t most = 256;  ///< elements at a time

  /// As a function takes what Python has of the first: any number for a bool, an int for a float,
  /// no float for an int.
  static conversion between(PyNativeType from, PyNativeType to) {
    conversion made;
    if (from.is_pointer || to.is_pointer) return made;
    if (PyNativeType_Kind(from) == PyNativeKind_COMPLEX) {
      const bool is_truth =
          from.code == PyNativeType_CDOUBLE && PyNativeType_Kind(to) == PyNativeKind_BOOL;
      if (is_truth) made.second_ = &elements::to_truth<std::complex<double>>;
      return made;
    }
    const PyNativeKind kind = PyNativeType_Kind(from);
    const bool is_number = kind == PyNativeKind_BOOL || kind == PyNativeKind_SIGNED ||
                           kind == PyNativeKind_UNSIGNED || kind == PyNativeKind_FLOATING;
    if (!is_number || PyNativeType_Size(from) > sizeof(double)) return made;
    const PyNativeType wide = elements::widest(from);
    made.first_ = elements::to_widest(from);
    if (made.first_ != nullptr && PyNativeType_Equivalent(wide, to)) return made;
    made.second_ = kind == PyNativeKind_FLOATING         ? elements::from_widest<double>(to)
                   : wide.code == PyNativeType_ULONGLONG ? elements::from_widest<std::uint64_t>(to)
                                                         : elements::from_widest<std::int64_t>(to);
    return made.second_ != nullptr ? made : conversion();
  }

  /// The same for what a function gives: a float of a float, an int of an int, a bool of a bool.
  static conversion of_result(PyNativeType from, PyNativeType to) {
    const auto kind = [](PyNativeType type) {
      const PyNativeKind found = PyNativeType_Kind(type);
      return found == PyNativeKind_UNSIGNED ? PyNativeKind_SIGNED : found;
    };
    return kind(from) == kind(to) ? between(from, to) : conversion();
  }

  explicit operator bool() const { return first_ != nullptr || second_ != nullptr; }

  /// Converts `count` elements, `most` at most. Returns how many before the first that does not
  /// fit. Undefined where there is none.
  std::intptr_t run(const char *from, std::intptr_t step, std::intptr_t count, char *to,
                    std::intptr_t to_step) const {
    if (second_ == nullptr) return first_(from, step, count, to, to_step);
    if (first_ == nullptr) return second_(from, step, count, to, to_step);
    std::uint64_t between[most];
    auto *const wide = reinterpret_cast<char *>(between);
    first_(from, step, count, wide, sizeof(between[0]));  // all fit
    return second_(wide, sizeof(between[0]), count, to, to_step);
  }

 private:
  elements::converter first_ = nullptr, second_ = nullptr;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_CONVERSIONS_H_
