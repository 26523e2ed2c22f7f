// typedcall::function holds the C function pointer of a Python callable, and a reference that keeps
// the pointer valid. The classes bound_function and unbound_function are for functions that take
// self.
#ifndef TYPEDCALL_RESOLVE_FUNCTION_H_
#define TYPEDCALL_RESOLVE_FUNCTION_H_

#include "typedcall/resolve/places.h"
// places.h comes first because it includes Python.h.
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

template <class R, class... A>
class native_pointer {
 public:
  using pointer = c_function<R, A...> *;

  explicit operator bool() const { return pointer_ != nullptr; }
  pointer get() const { return pointer_; }
  /// Returns the entry's PyNativeCallable_* bits.
  std::uintptr_t flags() const { return flags_; }

  /// True if the function may raise and the last call has set an exception. GIL: held.
  bool raised() const {
    const std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_RETURNS_STATUS;
    return (flags_ & raises) != 0 && PyErr_Occurred() != nullptr;
  }
  /// True if a call that returned `result` has set an exception. Checks for an exception only if
  /// `result` is the error value. If no exception is set, the error value is an ordinary result.
  /// GIL: held.
  template <class Result>
  bool raised(Result result) const {
    static_assert(std::is_same_v<Result, R>, "typedcall: pass the result of the call");
    if constexpr (std::is_same_v<R, int>) {
      if ((flags_ & PyNativeCallable_RETURNS_STATUS) != 0) return result != 0 && raised();
    }
    if constexpr (is_floating_type<R>) {
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

/// An entry with the signature R(A...), or empty. The GIL is required to copy or destroy a
/// non-empty function. The flags show whether a call needs the GIL. A span (typedcall::span,
/// std::span, std::string_view) is passed as a pointer and a count. The elements must stay in place
/// until the call returns.
template <class R, class... A>
class function<R(A...)> : public internal::native_pointer<R, A...> {
 public:
  using pointer = internal::c_function<R, A...> *;

  function() = default;
  /// `keep_alive` is the object that keeps the pointer valid. It may be empty.
  function(pointer address, std::uintptr_t flags, object_ref keep_alive)
      : internal::native_pointer<R, A...>(address, flags), keep_alive_(std::move(keep_alive)) {}

  /// The behaviour is undefined if the function is empty.
  R operator()(A... args) const { return this->call(args...); }

  /// Returns a borrowed reference to the object that keeps the pointer valid, or null. If an object
  /// stores this function, its tp_traverse must visit the result.
  PyObject *keep_alive() const { return keep_alive_.get(); }

 private:
  object_ref keep_alive_;
};

template <class Signature>
class bound_function;

/// An entry R(A...) that takes self first, together with self. May be empty. Self is the instance
/// or class of a bound method, the module of a function, or an instance with its own table. The GIL
/// rules are those of `function`.
template <class R, class... A>
class bound_function<R(A...)> : public internal::native_pointer<R, PyObject *, A...> {
 public:
  using pointer = internal::c_function<R, PyObject *, A...> *;

  bound_function() = default;
  /// `self` must have the type that the function expects. For `keep_alive` see `function`.
  bound_function(pointer address, std::uintptr_t flags, object_ref self, object_ref keep_alive)
      : internal::native_pointer<R, PyObject *, A...>(address, flags),
        self_(std::move(self)),
        keep_alive_(std::move(keep_alive)) {}

  /// The behaviour is undefined if the function is empty.
  R operator()(A... args) const { return this->call(self_.get(), args...); }

  /// Returns a borrowed reference, or null.
  PyObject *self() const { return self_.get(); }
  /// As function::keep_alive().
  PyObject *keep_alive() const { return keep_alive_.get(); }

 private:
  object_ref self_, keep_alive_;
};

template <class Signature>
class unbound_function;

/// An entry R(A...) of an unbound method (`Type.method`), which takes self first. May be empty. The
/// GIL rules are those of `function`.
template <class R, class... A>
class unbound_function<R(A...)> : public internal::native_pointer<R, PyObject *, A...> {
 public:
  using pointer = internal::c_function<R, PyObject *, A...> *;

  unbound_function() = default;
  /// `descriptor` is the unbound method. `keep_alive` must also keep the descriptor alive.
  unbound_function(pointer address, std::uintptr_t flags, PyObject *descriptor,
                   object_ref keep_alive)
      : internal::native_pointer<R, PyObject *, A...>(address, flags),
        descriptor_(descriptor),
        keep_alive_(std::move(keep_alive)) {}

  /// True if `self` may be passed. Otherwise returns false with the TypeError that a call from
  /// Python would raise. The behaviour is undefined if the function is empty. GIL: held.
  bool check(PyObject *self) const { return check_self(descriptor_, self); }

  /// The behaviour is undefined if the function is empty or check(self) is false.
  R operator()(PyObject *self, A... args) const { return this->call(self, args...); }

  /// Returns this function bound to `self`. If check() fails, returns an empty function with the
  /// exception set. GIL: held.
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
