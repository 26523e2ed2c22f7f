// Compiled callbacks for the shapes that libraries use. Each calls the typed function directly,
// like a handwritten callback. If the function falls back or cannot be called, callback::run()
// takes over.
#ifndef TYPEDCALL_PYTHON_CALLBACKS_SHAPES_H_
#define TYPEDCALL_PYTHON_CALLBACKS_SHAPES_H_

#include "callback.h"
// The header above comes first because it includes Python.h.
#include <cstddef>
#include <cstring>
#include <limits>

namespace typedcall::python {

/// Completes a call through callback::run(). Returns an error if `data` is null, because a library
/// that does not pass on its data pointer most likely passes NULL.
template <class R>
__attribute__((noinline, cold)) R run_slowly(void *data, void *const *args) {
  wide_value result = {};
  if constexpr (!std::is_void_v<R>) {
    const R error = std::is_floating_point_v<R> ? std::numeric_limits<R>::quiet_NaN() : R(-1);
    std::memcpy(&result, &error, sizeof(error));
  }
  if (data != nullptr) static_cast<callback *>(data)->run(args, &result);
  if constexpr (!std::is_void_v<R>) {
    R value;
    std::memcpy(&value, &result, sizeof(value));
    return value;
  }
}

/// Calls the C function as R(A...), or as a function that may fall back. Returns false if there is
/// no result. If the function cannot fall back, there is no branch.
template <bool falls_back, class R, class... A>
__attribute__((always_inline)) inline bool call_typed(const callback *self, R *result, A... args) {
  if constexpr (falls_back) {
    if (self->has_failed()) return false;
    return reinterpret_cast<int (*)(A..., R *)>(self->function)(args..., result) == 0;
  } else {
    *result = reinterpret_cast<R (*)(A...)>(self->function)(args...);
    return true;
  }
}

/// Like call_typed(), for functions that have no result or return the callback's status.
template <bool falls_back, bool has_status, class... A>
__attribute__((always_inline)) inline bool call_for_effect(const callback *self, int *status,
                                                           A... args) {
  if constexpr (has_status) {
    return call_typed<falls_back>(self, status, args...);
  } else if constexpr (falls_back) {
    *status = 0;
    if (self->has_failed()) return false;
    return reinterpret_cast<int (*)(A...)>(self->function)(args...) == 0;
  } else {
    reinterpret_cast<void (*)(A...)>(self->function)(args...);
    *status = 0;
    return true;
  }
}

using count_type = std::intptr_t;

/// double (double, void *) for `d->d`, used by GSL and SciPy.
template <bool falls_back>
double of_number(double x, void *data) {
  double result;
  const auto *self = static_cast<const callback *>(data);
  if (__builtin_expect(self != nullptr, 1) && call_typed<falls_back>(self, &result, x)) {
    return result;
  }
  void *const args[] = {&x, &data};
  return run_slowly<double>(data, args);
}

/// double (unsigned, const double *, double *, void *) for `*kd*d->d`, used by NLopt. If no
/// gradient is wanted, the function receives an empty array.
template <bool falls_back>
double of_gradient(unsigned n, const double *x, double *gradient, void *data) {
  double result;
  const auto *self = static_cast<const callback *>(data);
  const count_type count = n;
  if (__builtin_expect(self != nullptr && x != nullptr, 1) &&
      call_typed<falls_back>(self, &result, x, count, gradient,
                             gradient != nullptr ? count : count_type{0})) {
    return result;
  }
  void *const args[] = {&n, &x, &gradient, &data};
  return run_slowly<double>(data, args);
}

/// Like of_gradient(), for `*kd->d`, which computes no gradient.
template <bool falls_back>
double of_array_alone(unsigned n, const double *x, double *gradient, void *data) {
  double result;
  const auto *self = static_cast<const callback *>(data);
  if (__builtin_expect(self != nullptr && x != nullptr && gradient == nullptr, 1) &&
      call_typed<falls_back>(self, &result, x, static_cast<count_type>(n))) {
    return result;
  }
  void *const args[] = {&n, &x, &gradient, &data};
  return run_slowly<double>(data, args);
}

/// double (Count, const double *, void *) for `*kd->d`, used by SciPy.
template <bool falls_back, class Count>
double of_counted_array(Count n, const double *x, void *data) {
  double result;
  const auto *self = static_cast<const callback *>(data);
  const auto count = static_cast<count_type>(n);
  if (__builtin_expect(self != nullptr && x != nullptr && count >= 0, 1) &&
      call_typed<falls_back>(self, &result, x, count)) {
    return result;
  }
  void *const args[] = {&n, &x, &data};
  return run_slowly<double>(data, args);
}

/// double (const double *, size_t, void *) for `*kd->d`, used by GSL's Monte Carlo integration.
template <bool falls_back>
double of_array_with_count(const double *x, std::size_t n, void *data) {
  double result;
  const auto *self = static_cast<const callback *>(data);
  const auto count = static_cast<count_type>(n);
  if (__builtin_expect(self != nullptr && x != nullptr && count >= 0, 1) &&
      call_typed<falls_back>(self, &result, x, count)) {
    return result;
  }
  void *const args[] = {&x, &n, &data};
  return run_slowly<double>(data, args);
}

/// R (double, const double *, double *, void *) for `d*kd*d->v`, with declared lengths, used by
/// GSL's ODE solvers and lsoda.
template <class R, bool falls_back, bool has_status>
R of_state(double t, const double *y, double *rate, void *data) {
  int status = 0;
  const auto *self = static_cast<const callback *>(data);
  if (__builtin_expect(self != nullptr && y != nullptr && rate != nullptr, 1) &&
      call_for_effect<falls_back, has_status>(self, &status, t, y, self->counts[0], rate,
                                              self->counts[1])) {
    return static_cast<R>(status);
  }
  void *const args[] = {&t, &y, &rate, &data};
  return run_slowly<R>(data, args);
}

/// int (double, T, T, void *) for `d*kd*d->v`, where T is the library's vector type, used by CVODE.
template <bool falls_back, bool has_status>
int of_viewed_state(double t, void *y, void *rate, void *data) {
  int status = 0;
  const auto *self = static_cast<const callback *>(data);
  if (__builtin_expect(self != nullptr && y != nullptr && rate != nullptr, 1)) {
    const auto count = static_cast<count_type>(self->length_of(y));
    const auto rates = static_cast<count_type>(self->length_of(rate));
    const auto *const values = static_cast<const double *>(self->pointer_of(y));
    auto *const into = static_cast<double *>(self->pointer_of(rate));
    // A vector in the memory of a device has a length, but its elements cannot be accessed here.
    const bool is_whole = count >= 0 && rates >= 0 && (values != nullptr || count == 0) &&
                          (into != nullptr || rates == 0);
    if (__builtin_expect(is_whole, 1) &&
        call_for_effect<falls_back, has_status>(self, &status, t, values, count, into, rates)) {
      return status;
    }
  }
  void *const args[] = {&t, &y, &rate, &data};
  return run_slowly<int>(data, args);
}

/// int (unsigned, const double *, void *, unsigned, double *) for `*kd*d->v`, used by cubature.
template <bool falls_back, bool has_status>
int of_integrand(unsigned n, const double *x, void *data, unsigned m, double *values) {
  int status = 0;
  const auto *self = static_cast<const callback *>(data);
  if (__builtin_expect(self != nullptr && x != nullptr && values != nullptr, 1) &&
      call_for_effect<falls_back, has_status>(self, &status, x, static_cast<count_type>(n), values,
                                              static_cast<count_type>(m))) {
    return status;
  }
  void *const args[] = {&n, &x, &data, &m, &values};
  return run_slowly<int>(data, args);
}

/// Like of_integrand(), for `*kd->d`, which has a single value.
template <bool falls_back>
int of_one_integrand(unsigned n, const double *x, void *data, unsigned m, double *value) {
  const auto *self = static_cast<const callback *>(data);
  if (__builtin_expect(self != nullptr && x != nullptr && value != nullptr && m == 1, 1) &&
      call_typed<falls_back>(self, value, x, static_cast<count_type>(n))) {
    return 0;
  }
  void *const args[] = {&n, &x, &data, &m, &value};
  return run_slowly<int>(data, args);
}

/// A shape, spelled as in shape.py (the C type, the origin of each argument, the destination of the
/// result), with its functions: `plain` for ordinary entries, and `back` for entries with
/// FALLS_BACK. `plain` is null if the entry's own function can be used, because its arguments are
/// in the same registers, and it ignores the others.
struct compiled_shape {
  const char *text;
  void *plain, *back;
};

inline const compiled_shape *find_shape(const char *text) {
  const auto row = [](const char *known, auto *plain, auto *back) {
    return compiled_shape{known, reinterpret_cast<void *>(plain), reinterpret_cast<void *>(back)};
  };
  static const compiled_shape all[] = {
      row("dP->d v0 d", TYPEDCALL_REGISTER_IMAGE ? nullptr : of_number<false>, of_number<true>),
      row("I&d&dP->d a1[0] a2[0] d", of_gradient<false>, of_gradient<true>),
      row("I&d&dP->d a1[0] d", of_array_alone<false>, of_array_alone<true>),
      row("I&dP->d a1[0] d", of_counted_array<false, unsigned>, of_counted_array<true, unsigned>),
      row("i&dP->d a1[0] d", of_counted_array<false, int>, of_counted_array<true, int>),
      row("&dLP->d a0[1] d", of_array_with_count<false>, of_array_with_count<true>),
      row("d&d&dP->i v0 a1[#] a2[#] v", of_state<int, false, false>, of_state<int, true, false>),
      row("d&d&dP->i v0 a1[#] a2[#] i", of_state<int, false, true>, of_state<int, true, true>),
      row("d&d&dP->v v0 a1[#] a2[#] v", of_state<void, false, false>, of_state<void, true, false>),
      row("dPPP->i v0 w1 w2 v", of_viewed_state<false, false>, of_viewed_state<true, false>),
      row("dPPP->i v0 w1 w2 i", of_viewed_state<false, true>, of_viewed_state<true, true>),
      row("I&dPI&d->i a1[0] a4[3] v", of_integrand<false, false>, of_integrand<true, false>),
      row("I&dPI&d->i a1[0] a4[3] i", of_integrand<false, true>, of_integrand<true, true>),
      row("I&dPI&d->i a1[0] @4[3]", of_one_integrand<false>, of_one_integrand<true>),
  };
  for (const compiled_shape &each : all) {
    if (std::strcmp(each.text, text) == 0) return &each;
  }
  return nullptr;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLBACKS_SHAPES_H_
