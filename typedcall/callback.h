// typedcall::callback passes a typed function to a C library that takes a function pointer and a
// data pointer.
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
#include "typedcall/callback/library_call.h"
#include "typedcall/callback/waiting_exception.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// Accesses the elements of a vector type that a library defines, such as `N_Vector` in SUNDIALS.
/// Each call to the callback calls get(). get() may be called from any thread, with or without the
/// GIL. Specialise it:
///
///     template <>
///     struct typedcall::elements_of<N_Vector> {
///       static typedcall::span<double> get(N_Vector v) {
///         return {N_VGetArrayPointer(v), static_cast<std::size_t>(N_VGetLength(v))};
///       }
///     };
template <class T>
struct elements_of;

template <class Shape, class Signature>
class callback;

/// Wraps a typed function `Result(A...)` in a C function `R(P...)`. The last `void *` parameter of
/// the C function is the data pointer. The other parameters become the arguments of the typed
/// function:
///
/// - a pointer to numbers becomes a span. The nearest integer parameter before the pointer is the
///   length. If the first pointer precedes all integers, it is the nearest integer after the
///   pointer or, if none follows, before it. If there are no integers, the length is `length`.
///   Length parameters are not passed to the typed function. NULL becomes an empty span. Types with
///   elements_of also become spans;
/// - other parameters are passed unchanged;
/// - if the typed function has no argument for the last pointer to numbers, the pointer must be
///   NULL, unless the C function returns an integer or void and the typed function returns a value.
///   The value is then stored where the pointer points, so the pointer must not be NULL, and the
///   length must be 1.
///
/// The C function returns the result of the typed function, or 0 if that is stored or void. After
/// an exception, the C function returns the error value (see set_error_value()) until check()
/// reports the exception.
///
///     typedcall::callback<double(double, void *), double(double)> f(interface, callable);
///     if (!f) return nullptr;
///     gsl_function to_integrate = {f.function(), f.data()};
///     ...
///     if (!f.check()) return nullptr;
///
/// A callback cannot be copied or moved. The callback must live as long as the library may call it.
/// A callback belongs to the interpreter that created it. GIL: held to make, check and destroy a
/// callback. The library may call the callback from any thread. The thread needs the GIL unless
/// `handled` is 0. Several threads may call the callback at once if the function is THREAD_SAFE. If
/// the function falls back or raises, a thread without the GIL takes the GIL (see
/// fallback_function). The callback keeps the first exception and passes later ones to
/// sys.unraisablehook.
template <class R, class... P, class Result, class... A>
class callback<R(P...), Result(A...)> {
  using mapping = internal::library_call<R(P...), Result(A...)>;
  using error_type = typename mapping::answer;

 public:
  using pointer = R (*)(P...);

  /// Finds the function behind `callable`. If resolve() fails, the callback is empty and an
  /// exception is set. GIL: held.
  callback(const PyTypedcall_Interface *interface, PyObject *callable, std::size_t length = 0,
           capabilities handled = 0)
      : function_(resolve<Result(A...)>(interface, callable, with_fallback(), handled)),
        length_(length) {}
  callback(const callback &) = delete;
  callback &operator=(const callback &) = delete;
  /// Passes an exception that check() has not reported to sys.unraisablehook. GIL: held.
  ~callback() { waiting_.tell(function_.callee().get()); }

  /// GIL: optional for this member, and for all others that do not mention the GIL.
  explicit operator bool() const { return static_cast<bool>(function_); }
  /// Returns the C function for the library. The callback must not be empty.
  pointer function() const { return function_.may_fall_back() ? &run<true> : &run<false>; }
  /// Returns the data pointer for the library.
  void *data() { return this; }
  /// Sets the value that the C function returns after an exception. The default is NaN, -1 or NULL.
  /// Call this before the library calls the function, because no lock guards the value.
  void set_error_value(error_type value) { error_ = value; }
  /// Returns false and sets the exception if a call has raised one since the last check(). GIL:
  /// held.
  bool check() { return !waiting_.raise(); }
  /// For the tp_traverse of an object that owns the callback.
  int traverse(visitproc visit, void *arg) const {
    Py_VISIT(function_.keep_alive());
    Py_VISIT(waiting_.get());
    return 0;
  }

 private:
  static constexpr error_type usual_error() {
    if constexpr (internal::is_floating_type<error_type>) {
      return static_cast<error_type>(std::numeric_limits<double>::quiet_NaN());
    } else if constexpr (std::is_pointer_v<error_type>) {
      return nullptr;
    } else {
      return static_cast<error_type>(-1);
    }
  }

  // For library_call.
  friend mapping;
  static constexpr bool writes_in_place = false;

  std::size_t length(std::size_t) const { return length_; }
  static std::size_t count(const void *first, std::size_t length) {
    return first != nullptr ? length : 0;
  }
  template <class T>
  static auto elements(T value) {
    return elements_of<T>::get(value);
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
  /// Calls the function and stores the result in `*result`, unless it is void. Returns false after
  /// an exception.
  template <bool falls_back, class Value>
  TYPEDCALL_IN_LINE bool call_function(Value *result, A... args) {
    if (TYPEDCALL_EXPECT(waiting_.is_there(), 0)) return false;
    if constexpr (falls_back) {
      int status;
      if constexpr (std::is_void_v<Result>) {
        status = function_.falling_back()(args...);
      } else {
        status = function_.falling_back()(args..., result);
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

  template <bool falls_back>
  static R run(P... given) {
    auto *const self = static_cast<callback *>(mapping::data(given...));
    error_type answer;
    if (mapping::template run<falls_back>(*self, &answer, given...)) {
      if constexpr (!std::is_void_v<R>) return answer;
    } else if constexpr (!std::is_void_v<R>) {
      return self->error_;
    }
  }

  fallback_function<Result(A...)> function_;
  internal::waiting_exception waiting_;
  std::size_t length_;
  error_type error_ = usual_error();
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLBACK_H_
