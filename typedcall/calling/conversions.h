// Conversions between a library's arrays of numbers and the types of a C function, by Python's
// rules.
#ifndef TYPEDCALL_CALLING_CONVERSIONS_H_
#define TYPEDCALL_CALLING_CONVERSIONS_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typedcall/base/namespace.h"
#include "typedcall/convert/int_range.h"
#include "typedcall/invoke/native_value.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// Returns the type code of an integer of 1 << `log2_size` bytes.
constexpr PyNativeType integer_type(int log2_size, bool is_signed) {
  constexpr unsigned char all[2][4] = {
      {PyNativeType_UCHAR, PyNativeType_USHORT, PyNativeType_UINT, PyNativeType_ULONGLONG},
      {PyNativeType_SCHAR, PyNativeType_SHORT, PyNativeType_INT, PyNativeType_LONGLONG}};
  return {all[is_signed ? 1 : 0][log2_size], 0};
}

namespace elements {

/// Converts `count` elements, and returns the number of elements before the first one that does not
/// fit. The arrays do not overlap.
using converter = std::intptr_t (*)(const char *from, std::intptr_t step, std::intptr_t count,
                                    char *to, std::intptr_t to_step);

/// Returns nonzero if the number is out of To's range. Unlike has_room(), this does not branch or
/// compare, so compilers can vectorize it.
template <class To, class From>
constexpr std::uint64_t excess(From value) {
  if constexpr (internal::is_integer_type<To> && std::is_integral_v<From> && sizeof(From) == 8 &&
                !std::is_same_v<To, From>) {
    constexpr int size = 8 * sizeof(To);
    constexpr bool is_half = size == 64 || (std::is_signed_v<To> && !std::is_signed_v<From>);
    constexpr std::uint64_t below =
        std::is_signed_v<To> && std::is_signed_v<From> ? UINT64_C(1) << (size - 1) : 0;
    return (static_cast<std::uint64_t>(value) + below) >> (is_half ? size - 1 : size);
  } else {
    return internal::has_room<To>(value) ? 0 : 1;
  }
}

template <class From, class To>
std::uint64_t convert_one(const char *from, char *to) {
  const From value = internal::load_as<From>(from);
  const To made = internal::narrowed<To>(value);
  std::memcpy(to, &made, sizeof(made));
  return excess<To>(value);
}

template <class From, class To>
std::intptr_t convert(const char *from, std::intptr_t step, std::intptr_t count, char *to,
                      std::intptr_t to_step) {
  using internal::has_room, internal::load_as;
  std::uint64_t too_large = 0;
  std::intptr_t at = 0;
  if (step == sizeof(From) && to_step == sizeof(To)) {
    constexpr std::intptr_t kBlock = 64;  // compilers vectorize a loop of known length
    const auto block = [](const char *__restrict some, char *__restrict made) {
      std::uint64_t found = 0;
      for (std::size_t i = 0; i < kBlock; ++i) {
        found |= convert_one<From, To>(some + i * sizeof(From), made + i * sizeof(To));
      }
      return found;
    };
    for (; count - at >= kBlock; at += kBlock) {
      too_large |= block(from + at * step, to + at * to_step);
    }
  }
  for (; at < count; ++at) {
    too_large |= convert_one<From, To>(from + at * step, to + at * to_step);
  }
  if (too_large == 0) return count;
  std::intptr_t good = 0;
  // The loop checks `count`, because another thread may have written to the array.
  while (good < count && has_room<To>(load_as<From>(from + good * step))) ++good;
  return good;
}

/// Returns the 64-bit type that holds all numbers of this type.
constexpr PyNativeType widest(PyNativeType type) {
  const PyNativeKind kind = PyNativeType_Kind(type);
  if (kind == PyNativeKind_FLOATING) return {PyNativeType_DOUBLE, 0};
  const bool is_large = kind == PyNativeKind_UNSIGNED && PyNativeType_Size(type) == 8;
  if (is_large) return {PyNativeType_ULONGLONG, 0};
  return {PyNativeType_LONGLONG, 0};
}

/// Calls `visit` with a value of the C++ type that corresponds to `type`, and returns the result.
/// Returns null if `type` is not a number type, or is too wide.
template <class Visit>
converter for_number(PyNativeType type, const Visit &visit) {
  const std::size_t size = PyNativeType_Size(type);
  switch (PyNativeType_Kind(type)) {
    case PyNativeKind_BOOL:
      return visit(false);
    case PyNativeKind_FLOATING:
      return internal::with_real_type(type.code, [&](auto real) -> converter {
        if constexpr (sizeof(real) <= sizeof(double)) return visit(real);
        return nullptr;
      });
    case PyNativeKind_SIGNED:
      return size == 1   ? visit(std::int8_t())
             : size == 2 ? visit(std::int16_t())
             : size == 4 ? visit(std::int32_t())
                         : visit(std::int64_t());
    case PyNativeKind_UNSIGNED:
      return size == 1   ? visit(std::uint8_t())
             : size == 2 ? visit(std::uint16_t())
             : size == 4 ? visit(std::uint32_t())
                         : visit(std::uint64_t());
    default:
      return nullptr;
  }
}

/// Returns the conversion to widest(from). Returns null if `from` already has that width, or is not
/// a number type.
inline converter to_widest(PyNativeType from) {
  return for_number(from, [](auto one) -> converter {
    using narrow = decltype(one);
    if constexpr (sizeof(narrow) == 8) {
      return nullptr;
    } else {
      using wide = std::conditional_t<internal::is_floating_type<narrow>, double, std::int64_t>;
      return &convert<narrow, wide>;
    }
  });
}

/// Converts a number to a complex number, through double.
template <class From, class Part>
std::intptr_t make_complex(const char *from, std::intptr_t step, std::intptr_t count, char *to,
                           std::intptr_t to_step) {
  for (std::intptr_t left = count; left > 0; --left, from += step, to += to_step) {
    const From given = internal::load_as<From>(from);
    std::complex<double> value;
    if constexpr (internal::has_code<From>) {
      value = static_cast<double>(given);
    } else {
      value = std::complex<double>(given);
    }
    const Part made[2] = {static_cast<Part>(value.real()), static_cast<Part>(value.imag())};
    std::memcpy(to, made, sizeof(made));
  }
  return count;
}

/// Returns the conversion to a type that is wider than 64 bits, or complex. Returns null if `to` is
/// neither.
template <class From>
converter to_wide(PyNativeType to) {
  switch (to.code) {
    case PyNativeType_CFLOAT:
      return &make_complex<From, float>;
    case PyNativeType_CDOUBLE:
      return &make_complex<From, double>;
    case PyNativeType_CLONGDOUBLE:
      return &make_complex<From, long double>;
    case PyNativeType_LONGDOUBLE:
      if constexpr (internal::has_code<From>) return &convert<From, long double>;
      return nullptr;
    default:
      return nullptr;
  }
}

template <class From>
converter from_widest(PyNativeType to) {
  if (const converter found = to_wide<From>(to)) return found;
  return for_number(to, [](auto one) -> converter {
    using own = decltype(one);
    if constexpr (typedcall::internal::is_floating_type<From> && internal::is_integer_type<own>) {
      return nullptr;
    } else {
      return &convert<From, own>;
    }
  });
}

}  // namespace elements

/// Converts numbers through the widest type of the source's kind. A long double and a long double
/// _Complex can only be results of conversions.
class conversion {
 public:
  /// Returns the conversion for an argument. As in Python, a bool parameter accepts any number, and
  /// a float parameter accepts an int. An int parameter does not accept a float.
  static conversion between(PyNativeType from, PyNativeType to) {
    conversion made;
    if (from.pointer_flags || to.pointer_flags) return made;
    if (PyNativeType_Kind(from) == PyNativeKind_COMPLEX) {
      const bool is_double = from.code == PyNativeType_CDOUBLE;
      if (PyNativeType_Kind(to) == PyNativeKind_COMPLEX) {
        if (is_double) made.second_ = elements::to_wide<std::complex<double>>(to);
        if (from.code == PyNativeType_CFLOAT) {
          made.second_ = elements::to_wide<std::complex<float>>(to);
        }
      } else if (is_double && PyNativeType_Kind(to) == PyNativeKind_BOOL) {
        made.second_ = &elements::convert<std::complex<double>, bool>;
      }
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

  /// Returns the conversion for a result. The kind (float, int or bool) must not change.
  static conversion of_result(PyNativeType from, PyNativeType to) {
    const auto kind = [](PyNativeType type) {
      const PyNativeKind found = PyNativeType_Kind(type);
      return found == PyNativeKind_UNSIGNED ? PyNativeKind_SIGNED : found;
    };
    return kind(from) == kind(to) ? between(from, to) : conversion();
  }

  explicit operator bool() const { return first_ != nullptr || second_ != nullptr; }

  /// Converts `count` elements. Returns the number of elements before the first one that does not
  /// fit. Must not be called if no conversion exists.
  std::intptr_t run(const char *from, std::intptr_t step, std::intptr_t count, char *to,
                    std::intptr_t to_step) const {
    if (second_ == nullptr) return first_(from, step, count, to, to_step);
    if (first_ == nullptr) return second_(from, step, count, to, to_step);
    constexpr std::intptr_t kMost = 64;
    std::uint64_t between[kMost];
    auto *const wide = reinterpret_cast<char *>(between);
    std::intptr_t at = 0, good = 0;
    for (; at < count && good == at; at += kMost) {
      const std::intptr_t some = std::min(kMost, count - at);
      first_(from + at * step, step, some, wide, sizeof(between[0]));  // all fit
      good += second_(wide, sizeof(between[0]), some, to + at * to_step, to_step);
    }
    return good;
  }

 private:
  elements::converter first_ = nullptr, second_ = nullptr;
};

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_CONVERSIONS_H_
