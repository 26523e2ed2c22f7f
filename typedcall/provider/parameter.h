// Names and defaults of parameters, for Python callers: the results of arg() and positional().
#ifndef TYPEDCALL_PROVIDER_PARAMETER_H_
#define TYPEDCALL_PROVIDER_PARAMETER_H_

#include "typedcall/base/namespace.h"
#include "typedcall/provider/native.h"

// This header must come after Python.h.
#include <cmath>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

struct no_default {};

/// How Python passes a parameter.
enum class passing : unsigned char { by_position, either, by_name };

template <passing How, class Default>
struct parameter {
  static constexpr passing how = How;
  static constexpr bool has_default = !std::is_same_v<Default, no_default>;
  const char *name;
  Default value;

  template <class T>
  constexpr parameter<How, T> operator=(T given) const {
    return {name, given};
  }
};

template <class T>
constexpr bool is_parameter = false;
template <passing How, class Default>
constexpr bool is_parameter<parameter<How, Default>> = true;

struct keyword_only_mark {};

/// Describes the parameters of a def.
struct parameter_list {
  const char *function;
  const char *const *names;
  std::size_t count;
  std::size_t positional;   ///< the number of positional-only parameters
  std::size_t required;     ///< the number of leading parameters without a default
  std::size_t by_position;  ///< the number of parameters that are not keyword-only
  const bool *has_default;  ///< one element for each parameter
};

template <class Parameters>
struct parameter_shape;
template <class... P>
struct TYPEDCALL_HIDDEN parameter_shape<std::tuple<P...>> {
  static constexpr std::size_t count = sizeof...(P);
  static constexpr bool has_default[sizeof...(P) + 1] = {P::has_default..., false};
  static constexpr bool any_by_name = ((P::how != passing::by_position) || ...);
  static constexpr bool any_default = (P::has_default || ...);
  static constexpr bool any_keyword_only = ((P::how == passing::by_name) || ...);
  static constexpr std::size_t positional = (std::size_t{P::how == passing::by_position} + ... + 0);
  static constexpr std::size_t by_position = (std::size_t{P::how != passing::by_name} + ... + 0);
  static constexpr std::size_t required =
      (std::size_t{P::how != passing::by_name && !P::has_default} + ... + 0);
  /// Returns the number of trailing parameters with defaults.
  static constexpr std::size_t last_defaults() {
    std::size_t found = 0;
    while (found < count && has_default[count - 1 - found]) ++found;
    return found;
  }
  /// True if positional-only parameters come first, and no parameter without a default follows one
  /// with a default. Keyword-only parameters are ignored.
  static constexpr bool is_ordered() {
    const passing how[] = {P::how..., passing::by_name};
    for (std::size_t i = 0; i < by_position; ++i) {
      if ((how[i] == passing::by_position) != (i < positional) ||
          has_default[i] != (i >= required)) {
        return false;
      }
    }
    return true;
  }
};

/// Converts a parameter to a keyword-only parameter.
template <passing How, class Default>
parameter<passing::by_name, Default> only_by_name(const parameter<How, Default> &given) {
  static_assert(How != passing::by_position,
                "typedcall: parameters after keyword_only are passed by name: write "
                "typedcall::arg(), not positional()");
  return {given.name, given.value};
}

/// Converts a default to the C type of the parameter.
template <class T, class Default>
T default_value([[maybe_unused]] const Default &given) {
  if constexpr (std::is_same_v<Default, no_default>) {
    return T{};
  } else if constexpr (std::is_same_v<T, PyObject *>) {
    static_assert(
        std::is_same_v<Default, std::nullptr_t>,
        "typedcall: the default of an object parameter must be nullptr, which means None");
    return Py_None;
  } else if constexpr (std::is_pointer_v<T> && !std::is_same_v<T, const char *>) {
    static_assert(
        std::is_same_v<Default, std::nullptr_t>,
        "typedcall: the default of a pointer parameter must be nullptr, which means None");
    return nullptr;
  } else if constexpr (is_complex_type<T>) {
    T parts{};
    if constexpr (std::is_arithmetic_v<Default>) {
      using part = std::remove_reference_t<decltype(PyNativeType_REAL(parts))>;
      PyNativeType_REAL(parts) = static_cast<part>(given);
    } else {
      parts = static_cast<T>(to_c(given));
    }
    return parts;
  } else if constexpr (std::is_same_v<T, const char *> || std::is_same_v<T, span<const char>>) {
    static_assert(
        std::is_convertible_v<Default, const char *> && !std::is_same_v<Default, std::nullptr_t>,
        "typedcall: the default of a const char * or std::string_view parameter must be a "
        "string literal");
    if constexpr (std::is_same_v<T, const char *>) {
      return given;
    } else {
      return T(given, std::strlen(given));
    }
  } else if constexpr (is_buffer<T>) {
    static_assert(!is_buffer<T>,
                  "typedcall: a buffer cannot have a default; overload the function without it");
  } else {
    static_assert(std::is_arithmetic_v<Default> &&
                      (is_floating_type<T> || !is_floating_type<Default>)&&(
                          std::is_same_v<T, bool> == std::is_same_v<Default, bool>),
                  "typedcall: the default of a number parameter must be a bool for a bool, an "
                  "integer for an integer, and an integer or a floating-point number for a "
                  "floating-point number");
    return static_cast<T>(given);
  }
}

/// True if a default fits the parameter. Floating-point defaults are not checked, because they are
/// rounded.
template <class T, class Default>
bool default_fits([[maybe_unused]] const Default &given) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<Default>) {
    const T held = static_cast<T>(given);
    return static_cast<Default>(held) == given && (held < T{}) == (given < Default{});
  }
  return true;
}

template <class T>
bool same_default(const T &a, const T &b) {
  if constexpr (std::is_same_v<T, const char *>) {
    return a == b || (a != nullptr && b != nullptr && std::strcmp(a, b) == 0);
  } else if constexpr (is_buffer<T>) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0);
  } else if constexpr (is_complex_type<T>) {
    return same_default(PyNativeType_REAL(a), PyNativeType_REAL(b)) &&
           same_default(PyNativeType_IMAG(a), PyNativeType_IMAG(b));
  } else if constexpr (is_floating_type<T>) {
    // As defaults, -0.0 and 0.0 are different.
    return (a <= b && a >= b && std::signbit(a) == std::signbit(b)) ||
           (std::isnan(a) && std::isnan(b));
  } else {
    return a == b;
  }
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_PARAMETER_H_
