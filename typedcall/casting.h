// Safe casting, the consumer's part: converts the arguments from the requested signature to the
// entry's, and the result back. No value changes on the way.
#ifndef TYPEDCALL_CASTING_H_
#define TYPEDCALL_CASTING_H_

#include "typedcall/resolve/request.h"
// request.h comes first, because of Python.h.
#include <cstddef>
#include <cstring>
#include <optional>

#include "typedcall/invoke/native_value.h"
#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

namespace internal {

/// A number in the widest types: lossless for all conversions that conversion_cost() allows.
struct wide_number {
  std::uint64_t integer = 0;  // extended by its signedness
  long double real = 0, imaginary = 0;
};

/// `from` points to the value: a native_value, or the number that it points to.
inline wide_number read_number(PyNativeType type, const void *from) {
  wide_number number;
  const PyNativeKind kind = PyNativeType_Kind(type);
  if (kind == PyNativeKind_FLOATING || kind == PyNativeKind_COMPLEX) {
    with_real_type(type.code, [&](auto real) {
      decltype(real) parts[2] = {};
      std::memcpy(parts, from, kind == PyNativeKind_COMPLEX ? sizeof(parts) : sizeof(real));
      number.real = parts[0];
      number.imaginary = parts[1];
    });
  } else {
    std::memcpy(&number.integer, from, sizeof(number.integer));
    number.real = kind == PyNativeKind_SIGNED
                      ? static_cast<long double>(static_cast<std::int64_t>(number.integer))
                      : static_cast<long double>(number.integer);
  }
  return number;
}

inline void write_number(PyNativeType type, void *to, const wide_number &number) {
  const PyNativeKind kind = PyNativeType_Kind(type);
  if (kind == PyNativeKind_FLOATING || kind == PyNativeKind_COMPLEX) {
    with_real_type(type.code, [&](auto real) {
      using Real = decltype(real);
      static_assert(mantissa_bits<Real>::value <= mantissa_bits<long double>::value,
                    "a wide_number is to hold it");
      const Real parts[2] = {static_cast<Real>(number.real), static_cast<Real>(number.imaginary)};
      std::memcpy(to, parts, kind == PyNativeKind_COMPLEX ? sizeof(parts) : sizeof(real));
    });
  } else {
    std::memcpy(to, &number.integer, sizeof(number.integer));
  }
}

}  // namespace internal

/// Converts between two signatures that are equal or allow safe casting. Make it once, then use it
/// for every call:
///
///     native_value given[kMost]; wide_value scratch[kMost];
///     cast->arguments(asked, given, scratch);
///     wide_value wide; native_value result = call(given, &wide);
///     result = cast->result(result, &wide, &wide_answer);
class safe_cast {
 public:
  /// Returns nothing if one of the texts is not a signature, or if a value could be lost. GIL:
  /// none; any thread.
  static std::optional<safe_cast> make(const char *asked, const char *offered) {
    safe_cast made;
    if (PyNativeSignature_ParseString(asked, &made.asked_, nullptr) < 0 ||
        PyNativeSignature_ParseString(offered, &made.offered_, nullptr) < 0 ||
        internal::casting_cost(made.asked_, made.offered_) < 0) {
      return std::nullopt;
    }
    return made;
  }

  /// The number of C arguments: a buffer is two, the pointer and the count.
  std::size_t arity() const {
    return static_cast<std::size_t>(PyNativeSignature_ArgumentsInC(&asked_));
  }

  /// Converts arity() arguments, not counting self. `given` and `scratch` hold that many each;
  /// `given` may point into `scratch`, which must live until the call is over. GIL: none; any
  /// thread.
  void arguments(const native_value *asked, native_value *given, wide_value *scratch) const {
    std::size_t at = 0;
    for (int i = 0; i < asked_.nargs; ++i, ++at) {
      given[at] = convert(asked[at], asked_.args[i], offered_.args[i], &scratch[at]);
      if (!PyNativeType_IsBuffer(asked_.args[i])) continue;
      ++at;
      given[at] = asked[at];
    }
  }

  /// Converts a result. `wide` holds the call's result if it does not fit a native_value; `answer`
  /// receives the converted result if that does not fit, and its address is returned. First check
  /// whether the call has raised: error values are those of the entry's own signature. GIL: none;
  /// any thread.
  native_value result(native_value result, const wide_value *wide, wide_value *answer) const {
    if (internal::is_wide(offered_.result)) result = native_value::at(wide);
    return convert(result, offered_.result, asked_.result, answer);
  }

 private:
  static native_value convert(native_value value, PyNativeType from, PyNativeType to,
                              wide_value *scratch) {
    if (PyNativeType_PassesAs(from, to)) {
      if (!internal::is_wide(to)) return value;
      std::memcpy(scratch, value.get<const void *>(), PyNativeType_Size(to));
      return native_value::at(scratch);
    }
    const void *place = &value;
    if (internal::is_wide(from)) place = value.get<const void *>();
    const internal::wide_number number = internal::read_number(from, place);
    if (internal::is_wide(to)) {
      internal::write_number(to, scratch, number);
      return native_value::at(scratch);
    }
    // Room for any number: GCC cannot tell that this one is narrow.
    wide_value any{};
    internal::write_number(to, &any, number);
    native_value made{0};
    std::memcpy(&made.bits, &any, sizeof(made.bits));
    return made;
  }

  PyNativeSignature asked_ = {}, offered_ = {};
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CASTING_H_
