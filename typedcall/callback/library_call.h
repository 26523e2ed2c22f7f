// Calls a typed function with the arguments that a library passes to a callback. Used by
// typedcall/callback.h and the package's callbacks.
#ifndef TYPEDCALL_CALLBACK_LIBRARY_CALL_H_
#define TYPEDCALL_CALLBACK_LIBRARY_CALL_H_

#include "typedcall/base/namespace.h"
#include "typedcall/base/span.h"
// The headers above come first because they include Python.h.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

template <class T>
struct elements_of;

namespace internal {

// Reasons why a function cannot be called with the library's values.
inline constexpr char expects_an_array[] =
    "the library expects values in an array (a gradient?) that the function does not take";
inline constexpr char expects_no_single_value[] =
    "the function returns one value, but the library expects more or none";

/// The role of a parameter of the C function.
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

/// Finds the roles of a callback's parameters.
template <class... P>
struct parameter_roles {
  static constexpr std::size_t count = sizeof...(P), none = count;
  // Clang 14 requires the bound, which is one larger because `P` may be empty.
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
  /// Returns the position of an array's length, which is the nearest integer before the array. If
  /// the first array precedes all integers, the length is the nearest integer after the array or,
  /// if none follows, the nearest before it. Returns `none` if there are no integers.
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
  /// Returns the position of the parameter that becomes argument `number`.
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

/// Calls a typed function `Result(A...)` from a C function `R(P...)`. The comment on
/// typedcall::callback describes the mapping. `Owner`, the type of the callback, has these members:
///
/// - writes_in_place is true if the library's memory may be written to even if the function raises;
/// - length(at) returns the length of the array in parameter `at`; used if no parameter holds it;
/// - count(first, length) returns the number of elements to pass for an array; `first` may be NULL;
/// - elements(value) returns the elements of a value of the library's own type;
/// - call_function<falls_back>(&result, arguments...) returns false if there is no result;
/// - fail(reason) is called if the library's values are not valid arguments.
template <class Library, class Typed>
struct library_call;

template <class R, class... P, class Result, class... A>
struct library_call<R(P...), Result(A...)> {
  /// The C function's result, or a char in place of void.
  using answer = std::conditional_t<std::is_void_v<R>, char, R>;

  static void *data(P... given) { return std::get<roles::data()>(values(given...)); }

  /// Returns false if there is no answer.
  template <bool falls_back, class Owner>
  TYPEDCALL_IN_LINE static bool run(Owner &owner, answer *made, P... given) {
    return call<falls_back>(owner, made, values(given...), std::index_sequence_for<A...>());
  }

  using roles = parameter_roles<P...>;
  using values = std::tuple<P...>;
  static constexpr std::size_t taken = roles::taken(), arity = sizeof...(A);
  static constexpr bool is_status = std::is_integral_v<R> || std::is_void_v<R>;
  static constexpr bool drops_last = arity + 1 == taken;
  static constexpr bool has_place = drops_last && is_status && !std::is_void_v<Result>;

 private:
  static constexpr std::size_t last = drops_last ? roles::source_of(arity) : roles::none;
  static constexpr bool last_is_array = roles::kinds[last] == passed::array;

  static_assert(roles::data() != roles::none, "typedcall: a callback needs a `void *` parameter");
  static_assert(arity == taken || drops_last,
                "typedcall: the library passes more or fewer arguments than the function takes");
  static_assert(!drops_last || last_is_array,
                "typedcall: the library passes a last value that the function does not take");
  static_assert(has_place || std::is_same_v<R, Result> || (is_status && std::is_void_v<Result>),
                "typedcall: the function's result is not of the type that the library expects");

  template <std::size_t at, class Owner>
  static std::size_t length_at(const Owner &owner, const values &given) {
    constexpr std::size_t length = roles::length_of(at);
    if constexpr (length == roles::none) {
      return owner.length(at);
    } else {
      return static_cast<std::size_t>(std::get<length>(given));
    }
  }

  template <std::size_t number, class Owner>
  TYPEDCALL_IN_LINE static auto argument(const Owner &owner, const values &given) {
    using T = std::tuple_element_t<number, std::tuple<A...>>;
    constexpr std::size_t at = roles::source_of(number);
    if constexpr (!is_buffer<T>) {
      return T{std::get<at>(given)};
    } else if constexpr (roles::kinds[at] == passed::elements) {
      const auto found = owner.elements(std::get<at>(given));
      return T(found.data(), found.size());
    } else {
      const auto first = std::get<at>(given);
      return T(first, owner.count(first, length_at<at>(owner, given)));
    }
  }

  template <std::size_t... at>
  static bool has_negative_length(const values &given, std::index_sequence<at...>) {
    const auto is_negative = [](auto value) {
      if constexpr (std::is_integral_v<decltype(value)>) return value < 0;
      return false;
    };
    return ((roles::is_length(at) && is_negative(std::get<at>(given))) || ...);
  }

  /// Returns the reason why the function cannot be called with these values, or null.
  template <class Owner>
  TYPEDCALL_IN_LINE static const char *fault(const Owner &owner, const values &given) {
    if (TYPEDCALL_EXPECT(has_negative_length(given, std::index_sequence_for<P...>()), 0)) {
      return "the library passes a negative length";
    }
    if constexpr (has_place) {
      if (std::get<last>(given) == nullptr || length_at<last>(owner, given) != 1) {
        return expects_no_single_value;
      }
    } else if constexpr (drops_last) {
      if (std::get<last>(given) != nullptr) return expects_an_array;
    }
    return nullptr;
  }

  template <bool falls_back, class Owner, std::size_t... number>
  TYPEDCALL_IN_LINE static bool call(Owner &owner, answer *made, const values &given,
                                     std::index_sequence<number...>) {
    using value = std::conditional_t<std::is_void_v<Result>, int, Result>;
    value result, *into = &result;
    constexpr bool is_direct =
        Owner::writes_in_place && has_place &&
        std::is_same_v<std::tuple_element_t<last, std::tuple<P..., void>>, Result *>;
    const char *const wrong = fault(owner, given);
    if (TYPEDCALL_EXPECT(wrong != nullptr, 0)) {
      owner.fail(wrong);
      return false;
    }
    if constexpr (is_direct) into = std::get<last>(given);
    const bool is_done =
        owner.template call_function<falls_back>(into, argument<number>(owner, given)...);
    if (TYPEDCALL_EXPECT(!is_done, 0)) return false;
    if constexpr (has_place && !is_direct) *std::get<last>(given) = result;
    if constexpr (std::is_same_v<R, Result> && !std::is_void_v<R> && !has_place) {
      *made = result;
    } else {
      *made = answer();
    }
    return true;
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLBACK_LIBRARY_CALL_H_
