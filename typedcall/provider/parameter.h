// Names and defaults of a function's parameters, for Python callers:
//   typedcall::def<power>("power", typedcall::positional("x"), typedcall::arg("y") = 2.0)
#ifndef TYPEDCALL_PROVIDER_PARAMETER_H_
#define TYPEDCALL_PROVIDER_PARAMETER_H_

#include "typedcall/namespace.h"
#include "typedcall/provider/native.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

struct no_default {};

/// A parameter's name, whether it can be passed by it, and its default if it has one.
template <bool ByName, class Default>
struct parameter {
  static constexpr bool by_name = ByName;
  static constexpr bool has_default = !std::is_same_v<Default, no_default>;
  const char *name;
  Default value;

  template <class T>
  constexpr parameter<ByName, T> operator=(T given) const {
    return {name, given};
  }
};

template <class T>
constexpr bool is_parameter = false;
template <bool ByName, class Default>
constexpr bool is_parameter<parameter<ByName, Default>> = true;

}  // namespace internal

/// A parameter that is passed by position or by its name; `arg("y") = 2.0` may be left out. The
/// default is None (`nullptr`) for objects and pointers, else a value that the parameter's type
/// holds. `name` and a default string are literals, or live as long. A name is one that Python can
/// say: an identifier, no keyword, and no other parameter's (else ValueError from
/// method_table::tag, so that the module does not import).
constexpr internal::parameter<true, internal::no_default> arg(const char *name) {
  return {name, {}};
}

constexpr void arg(std::nullptr_t) = delete;

/// The same, passed by position only: the name is for the documentation, and for a default.
constexpr internal::parameter<false, internal::no_default> positional(const char *name) {
  return {name, {}};
}
constexpr void positional(std::nullptr_t) = delete;

namespace internal {

/// What the functions of keywords.h need of a def's parameters.
struct parameter_list {
  const char *function;
  const char *const *names;
  std::size_t count;
  std::size_t positional;  ///< the first so many cannot be passed by name
  std::size_t required;    ///< the first so many have no default
};

template <class Parameters>
struct parameter_shape;
template <class... P>
struct parameter_shape<std::tuple<P...>> {
  static constexpr std::size_t count = sizeof...(P);
  static constexpr bool any_by_name = (P::by_name || ...);
  static constexpr bool any_default = (P::has_default || ...);
  static constexpr std::size_t positional = (std::size_t{!P::by_name} + ... + 0);
  static constexpr std::size_t required = (std::size_t{!P::has_default} + ... + 0);
  /// The positional ones come first, and those without a default.
  static constexpr bool is_ordered() {
    const bool by_name[] = {P::by_name..., false}, has_default[] = {P::has_default..., false};
    for (std::size_t i = 0; i < count; ++i) {
      if (by_name[i] != (i >= positional) || has_default[i] != (i >= required)) return false;
    }
    return true;
  }
};

/// A default as the parameter's C type.
template <class T, class Default>
T default_value(const Default &given) {
  if constexpr (std::is_same_v<Default, no_default>) {
    (void)given;
    return T{};
  } else if constexpr (std::is_same_v<T, PyObject *>) {
    static_assert(std::is_same_v<Default, std::nullptr_t>,
                  "typedcall: the default of an object parameter is nullptr, which is None");
    return Py_None;
  } else if constexpr (std::is_pointer_v<T> && !std::is_same_v<T, const char *>) {
    static_assert(std::is_same_v<Default, std::nullptr_t>,
                  "typedcall: the default of a pointer parameter is nullptr, which is None");
    return nullptr;
  } else if constexpr (is_complex_type<T>) {
    T parts{};
    if constexpr (std::is_arithmetic_v<Default>) {
      __real__ parts = static_cast<std::remove_reference_t<decltype(__real__ parts)>>(given);
    } else {
      parts = static_cast<T>(to_c(given));
    }
    return parts;
  } else if constexpr (std::is_same_v<T, const char *> || std::is_same_v<T, span<const char>>) {
    static_assert(
        std::is_convertible_v<Default, const char *> && !std::is_same_v<Default, std::nullptr_t>,
        "typedcall: the default of a const char * parameter is a string literal, and so is "
        "that of a std::string_view");
    if constexpr (std::is_same_v<T, const char *>) {
      return given;
    } else {
      return T(given, std::strlen(given));
    }
  } else if constexpr (is_buffer<T>) {
    static_assert(!is_buffer<T>,
                  "typedcall: a buffer has no default; overload the function without it");
  } else {
    static_assert(std::is_arithmetic_v<Default> &&
                      (std::is_floating_point_v<T> || !std::is_floating_point_v<Default>)&&(
                          std::is_same_v<T, bool> == std::is_same_v<Default, bool>),
                  "typedcall: the default of a number parameter is a number of its class: bool for "
                  "bool, an integer for an integer, a floating number or an integer for a "
                  "floating one");
    return static_cast<T>(given);
  }
}

/// Does an integer default fit the parameter? Floating ones are rounded, as everywhere.
template <class T, class Default>
bool default_fits(const Default &given) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<Default>) {
    const T held = static_cast<T>(given);
    return static_cast<Default>(held) == given && (held < T{}) == (given < Default{});
  } else {
    (void)given;
    return true;
  }
}

template <class T>
bool same_default(const T &a, const T &b) {
  if constexpr (std::is_same_v<T, const char *>) {
    return a == b || (a != nullptr && b != nullptr && std::strcmp(a, b) == 0);
  } else if constexpr (is_buffer<T>) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0);
  } else if constexpr (is_complex_type<T>) {
    return same_default(__real__ a, __real__ b) && same_default(__imag__ a, __imag__ b);
  } else if constexpr (std::is_floating_point_v<T>) {
    // -0.0 is another default than 0.0.
    return (a <= b && a >= b && __builtin_signbit(a) == __builtin_signbit(b)) ||
           (__builtin_isnan(a) && __builtin_isnan(b));
  } else {
    return a == b;
  }
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_PARAMETER_H_
