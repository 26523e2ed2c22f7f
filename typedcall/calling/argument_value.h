// A value from another runtime: its kind in Python and its bits. Each sink converts its values to
// this form.
#ifndef TYPEDCALL_CALLING_ARGUMENT_VALUE_H_
#define TYPEDCALL_CALLING_ARGUMENT_VALUE_H_

#include <cstddef>
#include <cstdint>

#include "typedcall/base/namespace.h"
#include "typedcall/calling/value_type.h"
#include "typedcall/convert/bools.h"
#include "typedcall/invoke/native_value.h"
#include "typedcall/overload_choice.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// One argument. The members have no initialisers because each call creates a large array.
struct argument_value {
  /// The value's kind in Python. The kind of bytes is OTHER. `element` and `element_size` describe
  /// the elements of an ARRAY or of bytes. For other values, they are VOID and 0.
  PyNativeArgumentKind kind;
  PyNativeKind element;
  std::uint16_t element_size;
  bool is_const;  ///< true if the elements must not be written to
  /// BOOL: 0 or 1. INT: a std::int64_t or, if `size` is 1, a std::uint64_t that exceeds INT64_MAX.
  /// FLOAT and C_FLOAT: a double. STR: the address of UTF-8 text that ends with a NUL. ARRAY and
  /// bytes: the address of the elements.
  std::uint64_t bits;
  /// The length of a STR in bytes, or the number of elements.
  std::int64_t size;

  static argument_value of(PyNativeArgumentKind kind, std::uint64_t bits, std::int64_t size = 0) {
    return {kind, PyNativeKind_VOID, 0, true, bits, size};
  }
  static argument_value nothing() { return of(PyNativeArgumentKind_OTHER, 0); }
  static argument_value boolean(bool value) {
    return of(PyNativeArgumentKind_BOOL, value ? 1u : 0u);
  }
  static argument_value integer(std::int64_t value) {
    return of(PyNativeArgumentKind_INT, static_cast<std::uint64_t>(value));
  }
  static argument_value unsigned_integer(std::uint64_t value) {
    return of(PyNativeArgumentKind_INT, value, value > INT64_MAX ? 1 : 0);
  }
  static argument_value real(double value) {
    return of(PyNativeArgumentKind_FLOAT, native_value::of(value).bits);
  }
  /// Makes a STR from UTF-8 with a terminating NUL. If `utf8` is null, makes a value for which
  /// box() raises MemoryError.
  static argument_value text(const void *utf8, std::size_t size) {
    if (utf8 == nullptr) return nothing();
    return of(PyNativeArgumentKind_STR, native_value::of(utf8).bits,
              static_cast<std::int64_t>(size));
  }
  /// Makes a value for a bytes object.
  static argument_value bytes(const void *data, std::size_t size) {
    return {PyNativeArgumentKind_OTHER,  PyNativeKind_UNSIGNED,          1, true,
            native_value::of(data).bits, static_cast<std::int64_t>(size)};
  }
  /// Makes a value for a text that is not valid UTF-8.
  static argument_value no_text(const void *bytes) {
    return of(PyNativeArgumentKind_OTHER, native_value::of(bytes).bits);
  }
  bool is_no_text() const {
    return kind == PyNativeArgumentKind_OTHER && element_size == 0 && bits != 0;
  }

  /// Returns the UTF-8 of a STR. Its length is `size` bytes.
  const char *utf8() const { return native_value{bits}.get<const char *>(); }

  bool is_int() const {
    return kind == PyNativeArgumentKind_BOOL || kind == PyNativeArgumentKind_INT;
  }
  /// Converts a BOOL or INT to a double with Python's rounding.
  double as_real() const {
    return size != 0 ? static_cast<double>(bits)
                     : static_cast<double>(static_cast<std::int64_t>(bits));
  }
};

/// Converts a C value that is not a buffer. A value of type `v` and a null text become nothing().
inline argument_value argument_value_of(const value_type &type, const void *place) {
  const std::uint64_t bits = type.bits_at(place);
  switch (type.kind) {
    case PyNativeKind_SIGNED:
      return argument_value::integer(static_cast<std::int64_t>(bits));
    case PyNativeKind_UNSIGNED:
      return argument_value::unsigned_integer(bits);
    case PyNativeKind_BOOL:
      return argument_value::boolean((bits & 0xff) != 0);
    case PyNativeKind_FLOATING:
      return argument_value::real(type.real_in(bits));
    case PyNativeKind_STRING: {
      const char *const text = native_value{bits}.get<const char *>();
      const std::size_t size = text != nullptr ? std::strlen(text) : 0;
      const bool is_text = is_utf8(reinterpret_cast<const unsigned char *>(text), size);
      return is_text ? argument_value::text(text, size) : argument_value::no_text(text);
    }
    default:
      return argument_value::nothing();
  }
}

enum class converted { yes, out_of_range, no };

/// Implements convert(), except for ints that fit an integer type and floats that are passed as a
/// `d`.
TYPEDCALL_OUT_OF_LINE inline converted convert_other(const argument_value &value,
                                                     const value_type &wanted, native_value *out) {
  out[0] = native_value{value.bits};
  if (wanted.is_integer && value.is_int()) {
    // An int whose `size` is not 0 exceeds INT64_MAX.
    return value.size != 0 && wanted.kind == PyNativeKind_UNSIGNED && wanted.size == 8
               ? converted::yes
               : converted::out_of_range;
  }
  if (wanted.is_buffer || wanted.is_text) {
    if (wanted.is_text != (value.kind == PyNativeArgumentKind_STR)) return converted::no;
    if (wanted.is_buffer) out[1] = native_value::of(value.size);
    if (wanted.is_text) {
      const void *const text = out[0].get<const void *>();
      return wanted.holds(text, static_cast<std::size_t>(value.size)) ? converted::yes
                                                                      : converted::no;
    }
    const bool may_write = PyNativeType_IsConst(wanted.type) == 0;
    const bool fits = value.element == wanted.element &&
                      value.element_size == wanted.element_size && !(may_write && value.is_const);
    if (!fits || value.element_size == 0) return converted::no;
    // entry::prepare() corrects writable bools when they are passed.
    const bool are_right = wanted.element != PyNativeKind_BOOL || may_write ||
                           internal::first_not_bool(out[0].get<const void *>(),
                                                    static_cast<std::size_t>(value.size)) ==
                               static_cast<std::size_t>(value.size);
    return are_right ? converted::yes : converted::no;
  }
  if (wanted.kind == PyNativeKind_FLOATING && wanted.size <= sizeof(double)) {
    const bool is_float =
        value.kind == PyNativeArgumentKind_FLOAT || value.kind == PyNativeArgumentKind_C_FLOAT;
    if (!is_float && !value.is_int()) return converted::no;
    out[0] = wanted.of_real(is_float ? native_value{value.bits}.get<double>() : value.as_real());
    return converted::yes;
  }
  if (wanted.kind != PyNativeKind_BOOL || !value.is_int()) return converted::no;
  out[0] = native_value::of(value.bits != 0);
  return converted::yes;
}

/// Stores a value in one or two elements of `out`, as the Python function would pass it. Returns
/// `no` if Python must decide.
inline converted convert(const argument_value &value, const value_type &wanted, native_value *out) {
  const bool is_usual = wanted.is_double ? value.kind == PyNativeArgumentKind_FLOAT
                                         : wanted.is_integer && value.is_int() && value.size == 0 &&
                                               wanted.holds(static_cast<std::int64_t>(value.bits));
  if (!is_usual) return convert_other(value, wanted, out);
  out[0] = native_value{value.bits};
  return converted::yes;
}

/// Returns the rank of a value for a parameter of an overload. Buffers are never converted.
inline PyNativeRank rank_of(const argument_value &value, const value_type &wanted) {
  if (!wanted.is_buffer || wanted.is_text) return PyNativeChoice_Rank(wanted.ranks, value.kind);
  native_value unused[2];
  return convert_other(value, wanted, unused) == converted::yes ? PyNativeRank_EXACT
                                                                : PyNativeRank_NONE;
}

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_ARGUMENT_VALUE_H_
