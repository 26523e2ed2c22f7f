// Types of XLA's arrays, and the conversions between an array's elements and what a C function
// takes and gives: an integer that does not fit is an error and never wraps round.
#ifndef TYPEDCALL_PYTHON_JAX_CONVERT_H_
#define TYPEDCALL_PYTHON_JAX_CONVERT_H_

#include "typedcall/invoker.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "abi.h"

namespace typedcall::python {

/// XLA's type; 0: it has none.
inline int type_of(PyNativeType type) {
  const auto power = [&](int first) {  // of types of 1, 2, 4 and 8 bytes that are in a row
    return first + __builtin_ctz(static_cast<unsigned>(PyNativeType_Size(type)));
  };
  if (type.is_pointer != 0) return 0;
  switch (PyNativeType_Kind(type)) {
    case PyNativeKind_BOOL:
      return kXlaBool;
    case PyNativeKind_SIGNED:
      return power(2);
    case PyNativeKind_UNSIGNED:
      return power(6);
    case PyNativeKind_FLOATING:
      return PyNativeType_Size(type) > 8 ? 0 : power(kXlaF32 - 2);
    default:
      return 0;
  }
}

/// Calls `run` with a value of the C type that XLA's type has; false without one.
template <class Run>
bool with_type(int type, const Run &run) {
  switch (type) {
    case kXlaBool:
      return run(std::uint8_t{});  // any byte can be read as one
    case kXlaS8:
      return run(std::int8_t{});
    case kXlaS8 + 1:
      return run(std::int16_t{});
    case kXlaS8 + 2:
      return run(std::int32_t{});
    case kXlaS64:
      return run(std::int64_t{});
    case kXlaU8:
      return run(std::uint8_t{});
    case kXlaU8 + 1:
      return run(std::uint16_t{});
    case kXlaU8 + 2:
      return run(std::uint32_t{});
    case kXlaU64:
      return run(std::uint64_t{});
    case kXlaF32:
      return run(float{});
    case kXlaF64:
      return run(double{});
    default:
      return false;
  }
}

inline bool is_integer(int type) { return type >= kXlaS8 && type <= kXlaU64; }

inline std::intptr_t size_of(int type) {
  std::intptr_t size = 0;
  with_type(type, [&](auto value) {
    size = sizeof(value);
    return true;
  });
  return size;
}

/// An argument may be any integer for an integer, whose value is looked at, and float for double.
inline bool converts_argument(int from, int to) {
  return from == to || (is_integer(to) && (is_integer(from) || from == kXlaBool)) ||
         (from == kXlaF32 && to == kXlaF64);
}
/// Without JAX's 64 bits a result of 64 goes into an array of 32.
inline bool converts_result(int from, int to) {
  return from == to || (from == kXlaF64 && to == kXlaF32) ||
         ((from == kXlaS64 || from == kXlaU64) && to == from - 1);
}

template <class To, class From>
bool convert_value(From from, To *to) {
  *to = static_cast<To>(from);
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    const bool is_negative = std::is_signed_v<From> && from < From{1} && from != From{0};
    const bool became_negative = std::is_signed_v<To> && *to < To{1} && *to != To{0};
    return static_cast<From>(*to) == from && is_negative == became_negative;
  }
  return true;
}

template <class From, class To>
bool convert_all(const char *source, char *target, std::intptr_t count, bool is_bool) {
  for (std::intptr_t i = 0; i < count; ++i) {
    From value;
    To made;
    std::memcpy(&value, source + i * std::intptr_t{sizeof(value)}, sizeof(value));
    if (is_bool) value = value > From{0} ? From{1} : From{0};
    if (!convert_value(value, &made)) return false;
    std::memcpy(target + i * std::intptr_t{sizeof(made)}, &made, sizeof(made));
  }
  return true;
}

/// Converts `count` elements, of types for which one of the functions above is true. False where an
/// integer does not fit.
inline bool convert(int from, const char *source, int to, char *target, std::intptr_t count) {
  return with_type(from, [&](auto read) {
    return with_type(to, [&](auto made) {
      using From = decltype(read);
      using To = decltype(made);
      if constexpr (std::is_integral_v<From> != std::is_integral_v<To>) {
        return false;
      } else {
        return convert_all<From, To>(source, target, count, from == kXlaBool);
      }
    });
  });
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_JAX_CONVERT_H_
