// typedcall::function<double(double, double)>: a C function pointer found behind a Python callable,
// and the reference that keeps it valid. Calling it is calling the pointer.
#ifndef TYPEDCALL_FUNCTION_H_
#define TYPEDCALL_FUNCTION_H_

#include <cmath>
#include <cstdint>
#include <utility>

#include "typedcall/error_value.h"
#include "typedcall/native_callable.h"
#include "typedcall/object_ref.h"
#include "typedcall/signature_of.h"

namespace typedcall {

template <class Signature>
class function;

/// Empty, or an entry of signature R(A...). Copying and destroying a non-empty one needs the GIL;
/// calling it needs what its flags say and nothing else.
template <class R, class... A>
class function<R(A...)> {
 public:
  using pointer = R (*)(A...);

  function() = default;
  /// `keep_alive` is what the pointer's validity depends on; it may be empty.
  function(pointer address, std::uintptr_t flags, object_ref keep_alive)
      : pointer_(address), flags_(flags), keep_alive_(std::move(keep_alive)) {}

  /// Undefined when empty.
  R operator()(A... args) const { return pointer_(args...); }

  explicit operator bool() const { return pointer_ != nullptr; }
  pointer get() const { return pointer_; }
  /// PyNativeCallable_* bits.
  std::uintptr_t flags() const { return flags_; }

  /// After a call of a function that may raise: is an exception set? GIL: held.
  bool raised() const {
    const std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_RETURNS_STATUS;
    return (flags_ & raises) != 0 && PyErr_Occurred() != nullptr;
  }
  /// The same, but asks CPython only when `result` is the error value, which without an exception
  /// is a result like any other. GIL: held.
  template <class Result>
  bool raised(Result result) const {
    static_assert(std::is_same_v<Result, R>, "typedcall: pass what the call returned");
    if constexpr (std::is_same_v<R, int>) {
      if ((flags_ & PyNativeCallable_RETURNS_STATUS) != 0) return result != 0 && raised();
    }
    if constexpr (std::is_floating_point_v<R>) {
      if ((flags_ & PyNativeCallable_ERROR_IS_NEG_ZERO) != 0) {
        return std::fpclassify(result) == FP_ZERO && std::signbit(result) && raised();
      }
    }
    if constexpr (has_error_value<R>) {
      if (!is_error_value(result)) return false;
    }
    return raised();
  }

 private:
  pointer pointer_ = nullptr;
  std::uintptr_t flags_ = 0;
  object_ref keep_alive_;
};

}  // namespace typedcall

#endif  // TYPEDCALL_FUNCTION_H_
