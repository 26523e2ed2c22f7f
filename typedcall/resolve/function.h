// typedcall::function<double(double, double)>: a C function pointer found behind a Python callable,
// and the reference that keeps it valid. Calling it calls the pointer. Also the same for functions
// that take self first, bound or unbound.
#ifndef TYPEDCALL_RESOLVE_FUNCTION_H_
#define TYPEDCALL_RESOLVE_FUNCTION_H_

#include "typedcall/resolve/places.h"
// places.h comes first, because of Python.h.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typedcall/base/error_value.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/object_ref.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/base/stats.h"
#include "typedcall/native_callable.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// An address, its flags, and the meaning of its results. A buffer argument is passed as two C
/// arguments.
template <class R, class... A>
class native_pointer {
 public:
  using pointer = c_function<R, A...> *;

  explicit operator bool() const { return pointer_ != nullptr; }
  pointer get() const { return pointer_; }
  /// Returns PyNativeCallable_* bits.
  std::uintptr_t flags() const { return flags_; }

  /// True if the last call, of a function that may raise, set an exception. GIL: held.
  bool raised() const {
    const std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_RETURNS_STATUS;
    return (flags_ & raises) != 0 && PyErr_Occurred() != nullptr;
  }
  /// The same, but asks CPython only if `result` is the error value, which is an ordinary result if
  /// no exception is set. GIL: held.
  template <class Result>
  bool raised(Result result) const {
    static_assert(std::is_same_v<Result, R>, "typedcall: pass what the call returned");
    if constexpr (std::is_same_v<R, int>) {
      if ((flags_ & PyNativeCallable_RETURNS_STATUS) != 0) return result != 0 && raised();
    }
    if constexpr (std::is_floating_point_v<R>) {
      if ((flags_ & PyNativeCallable_ERROR_IS_NEG_ZERO) != 0) {
        return is_negative_zero(result) && raised();
      }
    }
    if constexpr (has_error_value<R>) {
      if (!is_error_value(result)) return false;
    }
    return raised();
  }

 protected:
  native_pointer() = default;
  native_pointer(pointer address, std::uintptr_t flags) : pointer_(address), flags_(flags) {}

  R call(A... args) const {
    stats::add(event::direct);
    return call_in_c(pointer_, args...);
  }

 private:
  pointer pointer_ = nullptr;
  std::uintptr_t flags_ = 0;
};

}  // namespace internal

template <class Signature>
class function;

/// Empty, or an entry of signature R(A...). Copying and destroying a non-empty one needs the GIL;
/// calling it needs only what its flags say. Spans among A (typedcall::span, std::span,
/// std::string_view) are passed as a pointer and a count; their elements must stay in place until
/// the call returns.
template <class R, class... A>
class function<R(A...)> : public internal::native_pointer<R, A...> {
 public:
  using pointer = internal::c_function<R, A...> *;

  function() = default;
  /// `keep_alive` is the object that keeps the pointer valid; it may be empty.
  function(pointer address, std::uintptr_t flags, object_ref keep_alive)
      : internal::native_pointer<R, A...>(address, flags), keep_alive_(std::move(keep_alive)) {}

  /// Undefined if empty.
  R operator()(A... args) const { return this->call(args...); }

  /// The object that keeps the pointer valid, for the tp_traverse of an object that stores this
  /// function. Borrowed; null if empty.
  PyObject *keep_alive() const { return keep_alive_.get(); }

 private:
  object_ref keep_alive_;
};

template <class Signature>
class bound_function;

/// Empty, or an entry R(A...) that takes self first, together with that self: the instance or class
/// of a bound method, the module of a module's function, or an instance with its own table. GIL: as
/// for function.
template <class R, class... A>
class bound_function<R(A...)> : public internal::native_pointer<R, PyObject *, A...> {
 public:
  using pointer = internal::c_function<R, PyObject *, A...> *;

  bound_function() = default;
  /// `self` must be of the type that the function expects; `keep_alive` as for function.
  bound_function(pointer address, std::uintptr_t flags, object_ref self, object_ref keep_alive)
      : internal::native_pointer<R, PyObject *, A...>(address, flags),
        self_(std::move(self)),
        keep_alive_(std::move(keep_alive)) {}

  /// Undefined if empty.
  R operator()(A... args) const { return this->call(self_.get(), args...); }

  /// Borrowed; null if empty.
  PyObject *self() const { return self_.get(); }
  /// As function::keep_alive().
  PyObject *keep_alive() const { return keep_alive_.get(); }

 private:
  object_ref self_, keep_alive_;
};

template <class Signature>
class unbound_function;

/// Empty, or an entry R(A...) that takes self first, of an unbound method (`Type.method`). GIL: as
/// for function.
template <class R, class... A>
class unbound_function<R(A...)> : public internal::native_pointer<R, PyObject *, A...> {
 public:
  using pointer = internal::c_function<R, PyObject *, A...> *;

  unbound_function() = default;
  /// The entry was found behind `descriptor`; `keep_alive`, as for function, also keeps that alive.
  unbound_function(pointer address, std::uintptr_t flags, PyObject *descriptor,
                   object_ref keep_alive)
      : internal::native_pointer<R, PyObject *, A...>(address, flags),
        descriptor_(descriptor),
        keep_alive_(std::move(keep_alive)) {}

  /// True if `self` may be passed; else false with the TypeError that Python's own call raises.
  /// Undefined if empty. GIL: held.
  bool check(PyObject *self) const { return check_self(descriptor_, self); }

  /// Undefined if empty, or if check(self) is not true.
  R operator()(PyObject *self, A... args) const { return this->call(self, args...); }

  /// Returns this bound to `self`, or empty with the exception of check(). GIL: held.
  bound_function<R(A...)> bind(PyObject *self) const {
    if (!check(self)) return {};
    return {this->get(), this->flags(), object_ref::borrow(self), keep_alive_};
  }
  /// As function::keep_alive().
  PyObject *keep_alive() const { return keep_alive_.get(); }

 private:
  PyObject *descriptor_ = nullptr;
  object_ref keep_alive_;
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_FUNCTION_H_
