// What the parameters of a library's C function are for: the data pointer, arrays, their lengths,
// values. Worked out at compile time. Used by typedcall/callback.h.
#ifndef TYPEDCALL_CALLBACK_PARAMETERS_H_
#define TYPEDCALL_CALLBACK_PARAMETERS_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// The elements behind a type of the library's, as `N_Vector` of SUNDIALS'. Each call of the
/// callback asks get(), in whichever thread, with or without the GIL. Specialise it:
///
///     template <>
///     struct typedcall::elements_of<N_Vector> {
///       static typedcall::span<double> get(N_Vector v) {
///         return {N_VGetArrayPointer(v), static_cast<std::size_t>(N_VGetLength(v))};
///       }
///     };
template <class T>
struct elements_of;

namespace internal {

/// What a parameter of the C function is.
enum class passed { data, integer, array, elements, value };

template <class T, class = void>
constexpr bool has_elements = false;
template <class T>
constexpr bool has_elements<T, std::void_t<decltype(elements_of<T>::get(std::declval<T>()))>> =
    true;

template <class T>
constexpr passed passed_as() {
  if constexpr (has_elements<T>) {
    return passed::elements;
  } else if constexpr (std::is_same_v<T, void *>) {
    return passed::data;
  } else if constexpr (std::is_pointer_v<T>) {
    return std::is_arithmetic_v<std::remove_pointer_t<T>> ? passed::array : passed::value;
  } else {
    return std::is_integral_v<T> ? passed::integer : passed::value;
  }
}

/// Which parameters of a callback are arguments, and which say how long those are.
template <class... P>
struct parameter_roles {
  static constexpr std::size_t count = sizeof...(P), none = count;
  // With its bound, which Clang 14 wants, and one more, as there may be none.
  static constexpr passed kinds[count + 1] = {passed_as<P>()...};

  static constexpr std::size_t find(passed kind, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (kinds[i] == kind) return i;
    }
    return none;
  }
  static constexpr std::size_t find_last(passed kind, std::size_t to) {
    std::size_t found = none;
    for (std::size_t i = 0; i < to; ++i) found = kinds[i] == kind ? i : found;
    return found;
  }
  static constexpr std::size_t data() { return find_last(passed::data, count); }
  /// The nearest integer in front of an array, or, where the first array is in front of all
  /// integers, behind. `none`: there is no integer.
  static constexpr std::size_t length_of(std::size_t at) {
    const std::size_t behind = find(passed::integer, at, count);
    const bool is_behind = find(passed::array, 0, count) < find(passed::integer, 0, count);
    return is_behind && behind != none ? behind : find_last(passed::integer, at);
  }
  static constexpr bool is_length(std::size_t at) {
    for (std::size_t i = 0; i < count; ++i) {
      if (kinds[i] == passed::array && length_of(i) == at) return true;
    }
    return false;
  }
  static constexpr bool is_taken(std::size_t at) { return at != data() && !is_length(at); }
  /// The parameter that argument number `number` comes from.
  static constexpr std::size_t source_of(std::size_t number) {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_taken(i) && number-- == 0) return i;
    }
    return none;
  }
  static constexpr std::size_t taken() {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += is_taken(i) ? 1 : 0;
    return sum;
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLBACK_PARAMETERS_H_
