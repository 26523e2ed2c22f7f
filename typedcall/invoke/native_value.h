// One argument or result of a call made at run time, as a register holds it. Used by
// typedcall/invoker.h.
#ifndef TYPEDCALL_INVOKE_NATIVE_VALUE_H_
#define TYPEDCALL_INVOKE_NATIVE_VALUE_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typedcall/base/namespace.h"
#include "typedcall/signature.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// Eight bytes: integers and pointers extended to 64 bits by their signedness, a double as it is, a
/// float in the low half, a `Zf` as its two floats. `g`, `Zd` and `Zg` do not fit: their values
/// hold the address of the number, which must last until the call is over.
///
/// Code that writes `bits` by hand must extend narrow integers, too: callees rely on it.
struct native_value {
  std::uint64_t bits;

  /// The value of a C argument of type T, which is not checked against any signature.
  template <class T>
  static native_value of(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t),
                  "typedcall: a long double or a wide complex number is passed by at()");
    native_value made{0};
    if constexpr (std::is_same_v<T, bool>) {
      made.bits = value ? 1 : 0;
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      made.bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      made.bits = value;
    } else {
      std::memcpy(&made.bits, &value, sizeof(value));
    }
    return made;
  }

  /// A number that does not fit, by its address.
  template <class T>
  static native_value at(const T *wide) {
    return of(reinterpret_cast<std::uintptr_t>(wide));
  }

  /// Returns the value as a T: for a result whose type is T, or has T's width and class.
  template <class T>
  T get() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(bits));
    if constexpr (std::is_same_v<T, bool>) {
      return (bits & 1) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(bits);
    } else {
      T value;
      std::memcpy(static_cast<void *>(&value), &bits, sizeof(value));
      return value;
    }
  }
};

/// Room for one number that does not fit a native_value: `g`, `Zd` and `Zg`.
struct alignas(16) wide_value {
  unsigned char bytes[32];
};
static_assert(sizeof(PyNativeType_ComplexLongDouble) <= sizeof(wide_value) &&
              alignof(PyNativeType_ComplexLongDouble) <= alignof(wide_value));

namespace internal {

/// True if a value of that type is passed by its address.
inline bool is_wide(PyNativeType type) {
  return PyNativeType_Size(type) > sizeof(native_value::bits);
}

}  // namespace internal

#if TYPEDCALL_IS_SUPPORTED
// A float's bytes are at the start only if the low half comes first.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "typedcall: little-endian only");
#endif

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_INVOKE_NATIVE_VALUE_H_
