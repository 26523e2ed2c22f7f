// Compiled callbacks for the shapes that libraries use. Each calls the typed function directly,
// like a handwritten callback. callback::run() takes over if the function falls back or cannot be
// called.
#ifndef TYPEDCALL_PYTHON_CALLBACKS_SHAPES_H_
#define TYPEDCALL_PYTHON_CALLBACKS_SHAPES_H_

#include "callback.h"
// After Python.h.
#include <cstddef>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

namespace typedcall::python {

/// A vector type of the library. The callback holds the functions that return its elements.
using library_vector = struct opaque_vector *;

}  // namespace typedcall::python

template <>
inline constexpr bool typedcall::internal::has_elements<typedcall::python::library_vector> = true;

namespace typedcall::python {

/// Calls a typed function `Result(A...)` as the library's `R(P...)`. Only run<true> checks for a
/// fallback.
template <class Library, class Typed>
struct compiled;

template <class R, class... P, class Result, class... A>
struct compiled<R(P...), Result(A...)> {
  using mapping = internal::library_call<R(P...), Result(A...)>;

  template <bool falls_back>
  static R run(P... given) {
    const compiled own{static_cast<const callback *>(mapping::data(given...))};
    typename mapping::answer answer;
    if constexpr (falls_back) {
      // Stored in the frame, because registers would have to be saved for the call.
      const std::tuple<P...> kept(given...);
      if (TYPEDCALL_EXPECT(own.core == nullptr, 0) ||
          !mapping::template run<true>(own, &answer, given...)) {
        return run_kept_slowly(kept);
      }
    } else if (TYPEDCALL_EXPECT(own.core == nullptr, 0) ||
               !mapping::template run<false>(own, &answer, given...)) {
      return run_slowly(given...);
    }
    if constexpr (!std::is_void_v<R>) return answer;
  }

  // For library_call.
  static constexpr bool writes_in_place = true;
  std::size_t length(std::size_t at) const {
    if (core->counts[at] < 0) __builtin_unreachable();  // never negative
    return static_cast<std::size_t>(core->counts[at]);
  }
  template <class T>
  static std::size_t count(T *first, std::size_t length) {
    return std::is_const_v<T> || first != nullptr ? length : 0;
  }
  span<double> elements(library_vector value) const {
    if (value == nullptr) return {nullptr, static_cast<std::size_t>(-1)};  // does not fit
    const auto length = static_cast<std::size_t>(core->length_of(value));
    return {static_cast<double *>(core->pointer_of(value)), length};
  }
  static void fail(const char *) {}

  /// Returns false for a negative length, and for NULL unless the array is writable and empty.
  template <class T>
  static bool fits(T argument) {
    if constexpr (internal::is_buffer<T>) {
      const bool may_be_null = !std::is_const_v<typename T::element_type> && argument.empty();
      return (argument.data() != nullptr || may_be_null) &&
             static_cast<std::intptr_t>(argument.size()) >= 0;
    }
    return true;
  }

  template <bool falls_back, class Value>
  TYPEDCALL_IN_LINE bool call_function(Value *result, A... args) const {
    if (TYPEDCALL_EXPECT(!(fits(args) && ...), 0)) return false;
    if constexpr (falls_back) {
      if (core->has_failed()) return false;
      if constexpr (std::is_void_v<Result>) {
        return call<int>(args...) == 0;
      } else {
        return call<int>(args..., result) == 0;
      }
    } else {
      if constexpr (std::is_void_v<Result>) {
        call<void>(args...);
      } else {
        *result = call<Result>(args...);
      }
      return true;
    }
  }
  template <class Made, class... Passed>
  TYPEDCALL_IN_LINE Made call(Passed... passed) const {
    using function = internal::c_function<Made, Passed...>;
    return internal::call_in_c(reinterpret_cast<function *>(core->function), passed...);
  }

  /// Completes a call through callback::run(). Returns an error if the data pointer is NULL, which
  /// means that the library does not pass it on.
  __attribute__((noinline, cold)) static R run_slowly(P... given) {
    wide_value result = {};
    if constexpr (!std::is_void_v<R>) {
      const R error = typedcall::internal::is_floating_type<R>
                          ? static_cast<R>(std::numeric_limits<double>::quiet_NaN())
                          : R(-1);
      std::memcpy(&result, &error, sizeof(error));
    }
    void *const args[] = {&given...};
    auto *const self = static_cast<callback *>(mapping::data(given...));
    if (self != nullptr) self->run(args, &result);
    if constexpr (!std::is_void_v<R>) {
      R value;
      std::memcpy(&value, &result, sizeof(value));
      return value;
    }
  }
  __attribute__((noinline, cold)) static R run_kept_slowly(const std::tuple<P...> &kept) {
    return std::apply(run_slowly, kept);
  }

  const callback *core;

  /// True if this shape makes the calls of `own`. Its first array may be writable in C.
  __attribute__((cold)) static bool is_shape_of(const callback &own) {
    const auto types =
        signature_of<R(std::conditional_t<internal::has_elements<P>, void *, P>...)>::parsed();
    bool is_same = PyNativeSignature_SatisfiesParsed(&types, &own.parameters) != 0 &&
                   PyNativeType_Equivalent(own.asked.result.type, native_type<Result>()) != 0 &&
                   own.sources.size() == sizeof...(A) &&
                   own.place.has_value() == mapping::has_place &&
                   (!own.place || is_argument(own, *own.place, sizeof...(A)));
    std::size_t number = 0;
    for (const source &from : own.sources) is_same = is_same && is_argument(own, from, number++);
    return is_same;
  }
  /// True if `from` is the origin of argument `number` here, with the same length.
  static bool is_argument(const callback &own, const source &from, std::size_t number) {
    using roles = typename mapping::roles;
    const std::size_t at = roles::source_of(number), length = roles::length_of(at);
    if (from.parameter != at) return false;
    if (roles::kinds[at] == internal::passed::array) {
      if (from.kind != source::array || from.factors.size() != 1) return false;
      const std::intptr_t factor = from.factors[0];
      return length == (factor < 0 ? roles::none : static_cast<std::size_t>(factor));
    }
    if (roles::kinds[at] != internal::passed::elements) return from.kind == source::value;
    return from.kind == source::view && from.pointer_of == own.pointer_of &&
           from.length_of == own.length_of;
  }
};

/// Returns the shape's code for `own`, or null. Without `needs_code`, this is the entry's own
/// function if it cannot fall back: its arguments are in the same registers, and it ignores the
/// others.
template <class Library, class Typed, bool needs_code = true>
void *code_of_shape(const callback &own, bool falls_back) {
  using shape = compiled<Library, Typed>;
  if (!shape::is_shape_of(own)) return nullptr;
  if (falls_back) return reinterpret_cast<void *>(&shape::template run<true>);
  return needs_code ? reinterpret_cast<void *>(&shape::template run<false>) : own.function;
}

/// Returns the code of the shape that makes the calls of `own`, or null.
inline void *find_code(const callback &own, bool falls_back) {
  using array = span<const double>;
  using output = span<double>;
  // GSL, SciPy.
  using of_number = double(double, void *);
  // NLopt.
  using of_gradient = double(unsigned, const double *, double *, void *);
  // SciPy.
  using of_array = double(unsigned, const double *, void *);
  using of_int_array = double(int, const double *, void *);
  // GSL's Monte Carlo integration.
  using of_array_with_count = double(const double *, std::size_t, void *);
  // GSL's ODEs, lsoda.
  using of_state = int(double, const double *, double *, void *);
  using of_state_alone = void(double, const double *, double *, void *);
  // CVODE.
  using of_vectors = int(double, library_vector, library_vector, void *);
  // cubature.
  using integrand = int(unsigned, const double *, void *, unsigned, double *);
  using rate = void(double, array, output);
  using rate_with_status = int(double, array, output);
  static constexpr void *(*all[])(const callback &, bool) = {
      code_of_shape<of_number, double(double), !TYPEDCALL_REGISTER_IMAGE>,
      code_of_shape<of_gradient, double(array, output)>,
      code_of_shape<of_gradient, double(array)>,
      code_of_shape<of_array, double(array)>,
      code_of_shape<of_int_array, double(array)>,
      code_of_shape<of_array_with_count, double(array)>,
      code_of_shape<of_state, rate>,
      code_of_shape<of_state, rate_with_status>,
      code_of_shape<of_state_alone, rate>,
      code_of_shape<of_vectors, rate>,
      code_of_shape<of_vectors, rate_with_status>,
      code_of_shape<integrand, void(array, output)>,
      code_of_shape<integrand, int(array, output)>,
      code_of_shape<integrand, double(array)>,
  };
  for (const auto &each : all) {
    if (void *const found = each(own, falls_back)) return found;
  }
  return nullptr;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLBACKS_SHAPES_H_
