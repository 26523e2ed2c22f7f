// One argument or result of a call whose signature is known only at run time. Used by
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

/// The content of a register: an integer or pointer extended to 64 bits (with its sign if it is
/// signed), a double, a float in the low half, or the two floats of a `Zf`. A `g`, `Zd` or `Zg`
/// does not fit, so the value holds the address of the number. The number must stay valid until the
/// call is over.
///
/// Code that writes `bits` directly must extend narrow integers, because callees rely on this.
struct native_value {
  std::uint64_t bits;

  /// Returns the native_value for a C argument. The type is not checked against a signature.
  template <class T>
  static native_value of(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t),
                  "typedcall: pass a long double or a wide complex number through at()");
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

  /// Returns the native_value for a number that is passed by address.
  template <class T>
  static native_value at(const T *wide) {
    return of(reinterpret_cast<std::uintptr_t>(wide));
  }

  /// Returns the value as a T. The argument or result must have the type T, or a type of the same
  /// width and class.
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

/// Memory for one number that is too wide for a native_value: `g`, `Zd` or `Zg`.
struct alignas(16) wide_value {
  unsigned char bytes[32];
};
static_assert(sizeof(PyNativeType_ComplexLongDouble) <= sizeof(wide_value) &&
              alignof(PyNativeType_ComplexLongDouble) <= alignof(wide_value));

namespace internal {

/// Loads an element of an array. Uses memcpy because neither the alignment nor the type of the
/// element is certain.
template <class T>
T load_as(const char *from) {
  if constexpr (std::is_same_v<T, bool>) {
    return load_as<unsigned char>(from) != 0;  // the byte may be neither 0 nor 1
  } else {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
}

/// True if a value of this type is passed by address.
inline bool is_wide(PyNativeType type) {
  return PyNativeType_Size(type) > sizeof(native_value::bits);
}

}  // namespace internal

#if TYPEDCALL_IS_SUPPORTED
// In big-endian order, a float is not at the start of the value.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "typedcall: little-endian only");
#endif

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_INVOKE_NATIVE_VALUE_H_
