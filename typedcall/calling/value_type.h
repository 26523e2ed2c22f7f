// A type of a signature, prepared for calls.
#ifndef TYPEDCALL_CALLING_VALUE_TYPE_H_
#define TYPEDCALL_CALLING_VALUE_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "typedcall/base/namespace.h"
#include "typedcall/convert/int_range.h"
#include "typedcall/invoke/native_value.h"
#include "typedcall/overload_choice.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// True if Python would decode the text as UTF-8.
inline bool is_utf8(const unsigned char *text, std::size_t size) {
  std::size_t at = 0;
  while (at < size) {
    std::uint64_t eight;
    if (size - at >= sizeof(eight)) {
      std::memcpy(&eight, text + at, sizeof(eight));
      if ((eight & UINT64_C(0x8080808080808080)) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const unsigned first = text[at++];
    if (first < 0x80) continue;
    const std::size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || size - at < more) return false;
    // Rejects overlong forms, surrogates and code points above U+10FFFF.
    const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (text[at] < low || text[at] > high) return false;
    for (std::size_t i = 1; i < more; ++i) {
      if ((text[at + i] & 0xC0) != 0x80) return false;
    }
    at += more;
  }
  return true;
}

/// `size` and `kind` describe the argument. For a buffer, they describe the pointer, and
/// `element_size` and `element` describe the elements. `is_text` is true if Python passes a str.
struct value_type {
  TYPEDCALL_OUT_OF_LINE explicit value_type(PyNativeType asked)
      : type(asked),
        ranks(PyNativeChoice_Row(asked)),
        size(static_cast<unsigned char>(PyNativeType_Size(asked))),
        element_size(static_cast<unsigned char>(PyNativeCode_Size(asked.code))),
        is_buffer(PyNativeType_IsBuffer(asked) != 0),
        is_double(asked.code == PyNativeType_DOUBLE && !asked.pointer_flags),
        is_text(PyNativeChoice_Rank(ranks, PyNativeArgumentKind_STR) == PyNativeRank_EXACT),
        is_bytes(is_buffer && asked.code == PyNativeType_UCHAR && PyNativeType_IsConst(asked) != 0),
        loses_digits(PyNativeChoice_LosesPrecision(asked) != 0),
        kind(PyNativeType_Kind(asked)),
        element(PyNativeCode_Kind(asked.code)),
        is_integer(kind == PyNativeKind_SIGNED || kind == PyNativeKind_UNSIGNED),
        is_word(size == sizeof(std::uint64_t) && kind != PyNativeKind_OBJECT) {}

  PyNativeType type;
  std::uint64_t ranks;  ///< PyNativeChoice_Row()
  unsigned char size, element_size;
  bool is_buffer, is_double, is_text, is_bytes, loses_digits;
  PyNativeKind kind, element;
  bool is_integer;
  bool is_word;  ///< true if an element of an array is passed as its 64 bits

  /// True if an integer of this type can hold the number.
  bool holds(std::int64_t number) const {
    return internal::is_in_range(number, kind == PyNativeKind_SIGNED, size);
  }
  /// True if Python would pass this text, which ends with a NUL, to a C function unchanged.
  bool holds(const void *text, std::size_t length) const {
    return is_utf8(static_cast<const unsigned char *>(text), length) &&
           (is_buffer || std::memchr(text, 0, length) == nullptr);
  }

  /// Converts a double to this floating type, which has at most 64 bits.
  native_value of_real(double real) const {
    return is_double ? native_value::of(real) : narrow_real(real);
  }
  /// The value of such a type as a double.
  double real_in(std::uint64_t bits) const {
    return is_double ? native_value{bits}.get<double>() : wide_real(bits);
  }
  /// Returns the bits of a value. Integers are extended to 64 bits.
  std::uint64_t bits_at(const void *place) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, place, size);
    if (kind != PyNativeKind_SIGNED) return bits;
    const int unused = 64 - 8 * size;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
  }

 private:
  native_value narrow_real(double wide) const {
    native_value made{0};
    internal::with_real_type(type.code, [&](auto real) {
      if constexpr (sizeof(real) <= sizeof(made)) {
        made = native_value::of(static_cast<decltype(real)>(wide));
      }
    });
    return made;
  }
  double wide_real(std::uint64_t bits) const {
    double made = 0;
    internal::with_real_type(type.code, [&](auto real) {
      if constexpr (sizeof(real) <= sizeof(bits)) {
        made = static_cast<double>(native_value{bits}.get<decltype(real)>());
      }
    });
    return made;
  }
};

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_VALUE_TYPE_H_
