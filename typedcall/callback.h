// typedcall::callback<double(double, void *), double(double)> turns a typed function into the C
// function that a library calls back, and the data pointer to pass along. The library's arguments
// are mapped to the function's at compile time.
#ifndef TYPEDCALL_CALLBACK_H_
#define TYPEDCALL_CALLBACK_H_

#include "typedcall/fallback.h"
// fallback.h comes first because it includes Python.h.
#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typedcall/base/attach.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/span.h"
#include "typedcall/boxed_call.h"
#include "typedcall/callback/waiting_exception.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// Gives access to the elements of a library's own type, such as SUNDIALS' `N_Vector`. Each call of
/// the callback calls get(), in any thread, with or without the GIL. Specialise it:
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

/// Maps the parameters of a callback to arguments and their lengths.
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
  /// Returns the position of the nearest integer before an array, or of the nearest one after it if
  /// the first array precedes all integers. Returns `none` if there is no such integer.
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
  /// Returns the position of the parameter from which argument number `number` is taken.
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

template <class Shape, class Signature>
class callback;

/// Wraps a typed function `Result(A...)` in a C function `R(P...)`. The last `void *` parameter of
/// the C function is the data pointer. The others become the function's arguments:
///
/// - a pointer to numbers becomes a span. Its length is the nearest integer parameter before it,
///   the nearest one after it if the first pointer precedes all integers, or `length` if no such
///   integer exists. Parameters that are lengths are not arguments. NULL becomes an empty span.
///   Types with elements_of become spans, too;
/// - everything else is passed unchanged;
/// - a last pointer to numbers for which the function has no argument must be NULL (an unwanted
///   gradient), or, if the C function returns an integer or nothing, receives the function's one
///   result.
///
/// The C function returns the function's result, or 0 if the result is void. After an exception the
/// C function returns the on_error() value without calling the function until check() has reported
/// the exception.
///
///     typedcall::callback<double(double, void *), double(double)> f(interface, callable);
///     if (!f) return nullptr;
///     gsl_function to_integrate = {f.function(), f.data()};
///     ...
///     if (!f.check()) return nullptr;
///
/// A callback can be neither copied nor moved, must live as long as the library may call it, and
/// belongs to the interpreter in which it is made. GIL: held to make, check and destroy a callback.
/// The library may call it in any thread, without the GIL if `can` is 0, else with the GIL. If the
/// function is THREAD_SAFE, several threads may call at once, on free-threaded builds too. If the
/// function falls back or raises, a thread without the GIL takes the GIL (for interpreters and
/// their end see fallback_function). The first of several exceptions is kept, and
/// sys.unraisablehook gets the others.
template <class R, class... P, class Result, class... A>
class callback<R(P...), Result(A...)> {
  using roles = internal::parameter_roles<P...>;
  using values = std::tuple<P...>;
  using error_type = std::conditional_t<std::is_void_v<R>, char, R>;
  static constexpr std::size_t taken = roles::taken(), arity = sizeof...(A);
  static constexpr bool is_status = std::is_integral_v<R> || std::is_void_v<R>;
  static constexpr bool drops_last = arity + 1 == taken;
  static constexpr bool has_place = drops_last && is_status && !std::is_void_v<Result>;
  static constexpr std::size_t last = drops_last ? roles::source_of(arity) : roles::none;
  static constexpr bool last_is_array = roles::kinds[last] == internal::passed::array;

  static_assert(roles::data() != roles::none, "typedcall: a callback has a `void *` parameter");
  static_assert(
      arity == taken || drops_last,
      "typedcall: the library passes another number of arguments than the function takes");
  static_assert(!drops_last || last_is_array,
                "typedcall: the library passes a last value that the function does not take");
  static_assert(has_place || std::is_same_v<R, Result> || (is_status && std::is_void_v<Result>),
                "typedcall: the function's result is not what the library wants");

 public:
  using pointer = R (*)(P...);

  /// Finds the function behind `callable`. If resolve() fails, the callback is empty and the
  /// exception of resolve() is set. GIL: held.
  callback(const PyTypedcall_Interface *interface, PyObject *callable, std::size_t length = 0,
           capabilities can = 0)
      : function_(resolve<Result(A...)>(interface, callable, with_fallback(), can)),
        length_(length) {}
  callback(const callback &) = delete;
  callback &operator=(const callback &) = delete;
  /// Passes an exception that check() has not reported to sys.unraisablehook. GIL: held.
  ~callback() { waiting_.tell(function_.callee().get()); }

  /// GIL: optional, for this and every other member that does not say otherwise.
  explicit operator bool() const { return static_cast<bool>(function_); }
  /// Returns the C function for the library. The callback must not be empty.
  pointer function() const { return function_.may_fall_back() ? &run<true> : &run<false>; }
  /// Returns the data pointer for the library.
  void *data() { return this; }
  /// Sets the result of the C function after an exception; the default is nan, -1 or NULL. Call
  /// on_error() before the library calls the function, because no lock guards the value. There is
  /// no effect if the C function returns void.
  void on_error(error_type value) { error_ = value; }
  /// Returns false and sets the exception if a call has raised one since the last check(). GIL:
  /// held.
  bool check() { return !waiting_.raise(); }
  /// Visits every reference that the callback holds, for the tp_traverse of an object that owns it.
  int traverse(visitproc visit, void *arg) const {
    Py_VISIT(function_.keep_alive());
    Py_VISIT(waiting_.get());
    return 0;
  }

 private:
  static constexpr error_type usual_error() {
    if constexpr (std::is_floating_point_v<error_type>) {
      return std::numeric_limits<error_type>::quiet_NaN();
    } else if constexpr (std::is_pointer_v<error_type>) {
      return nullptr;
    } else {
      return static_cast<error_type>(-1);
    }
  }

  template <std::size_t at>
  std::size_t length_at(const values &given) const {
    constexpr std::size_t length = roles::length_of(at);
    if constexpr (length == roles::none) {
      return length_;
    } else {
      return static_cast<std::size_t>(std::get<length>(given));
    }
  }

  template <std::size_t number>
  TYPEDCALL_IN_LINE auto argument(const values &given) const {
    using T = std::tuple_element_t<number, std::tuple<A...>>;
    constexpr std::size_t at = roles::source_of(number);
    if constexpr (!internal::is_buffer<T>) {
      return T{std::get<at>(given)};
    } else if constexpr (roles::kinds[at] == internal::passed::elements) {
      const auto found = elements_of<std::tuple_element_t<at, values>>::get(std::get<at>(given));
      return T(found.data(), found.size());
    } else {
      const auto first = std::get<at>(given);
      return T(first, first != nullptr ? length_at<at>(given) : 0);
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
  TYPEDCALL_IN_LINE const char *fault(const values &given) const {
    if (TYPEDCALL_EXPECT(has_negative_length(given, std::index_sequence_for<P...>()), 0)) {
      return "the library passes a negative length";
    }
    if constexpr (has_place) {
      if (std::get<last>(given) == nullptr || length_at<last>(given) != 1) {
        return "the function returns one value, but the library wants more or none";
      }
    } else if constexpr (drops_last) {
      if (std::get<last>(given) != nullptr) {
        return "the library wants values in an array (a gradient?) that the function does not take";
      }
    }
    return nullptr;
  }

  /// Raises ValueError.
  TYPEDCALL_RARE void fail(const char *reason) {
    waiting_.run_attached(function_.callee(), [&] {
      PyErr_SetString(PyExc_ValueError, reason);
      return false;
    });
  }
  template <class Value>
  TYPEDCALL_RARE bool call_boxed(Value *result, A... args) {
    return waiting_.run_attached(function_.callee(), [&] {
      return internal::box_and_call(function_.callee(), static_cast<Result *>(result), args...);
    });
  }
  /// Stores the function's result in `*result`, unless it is void. Returns false with an exception.
  template <bool falls_back, class Value>
  TYPEDCALL_IN_LINE bool call_function(Value *result, A... args) {
    if (TYPEDCALL_EXPECT(waiting_.is_there(), 0)) return false;
    if constexpr (falls_back) {
      int status;
      if constexpr (std::is_void_v<Result>) {
        status = function_.back()(args...);
      } else {
        status = function_.back()(args..., result);
      }
      return TYPEDCALL_EXPECT(status == 0, 1) || call_boxed(result, args...);
    } else {
      const auto &native = function_.plain();
      if constexpr (std::is_void_v<Result>) {
        native(args...);
        if (!native.raised()) return true;
      } else {
        *result = native(args...);
        if (!native.raised(*result)) return true;
      }
      waiting_.keep(function_.callee().get());
      return false;
    }
  }

  template <bool falls_back, std::size_t... number>
  TYPEDCALL_IN_LINE R call(const values &given, std::index_sequence<number...>) {
    std::conditional_t<std::is_void_v<Result>, int, Result> result{};
    const char *const wrong = fault(given);
    if (TYPEDCALL_EXPECT(wrong != nullptr, 0)) {
      fail(wrong);
    } else if (call_function<falls_back>(&result, argument<number>(given)...)) {
      if constexpr (has_place) *std::get<last>(given) = result;
      if constexpr (std::is_same_v<R, Result> && !std::is_void_v<R> && !has_place) {
        return result;
      } else {
        return R();
      }
    }
    if constexpr (!std::is_void_v<R>) return error_;
  }

  template <bool falls_back>
  static R run(P... given) {
    auto *const self = static_cast<callback *>(std::get<roles::data()>(values(given...)));
    return self->template call<falls_back>(values(given...), std::index_sequence_for<A...>());
  }

  fallback_function<Result(A...)> function_;
  internal::waiting_exception waiting_;
  std::size_t length_;
  error_type error_ = usual_error();
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLBACK_H_
