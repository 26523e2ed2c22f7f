// typedcall::fallback_function calls a native function. If the native function falls back, the
// Python callable is called instead.
#ifndef TYPEDCALL_FALLBACK_H_
#define TYPEDCALL_FALLBACK_H_

#include "typedcall/resolve.h"
// resolve.h comes first because it includes Python.h.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typedcall/base/attach.h"
#include "typedcall/base/error_value.h"
#include "typedcall/base/namespace.h"
#include "typedcall/boxed_call.h"
#include "typedcall/convert/int_range.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// A Python callable and its interpreter, for threads that may not be attached.
class callable_at_home : public python_callable {
 public:
  /// Like python_callable::set(), but also stores the current interpreter.
  bool set(PyObject *callable, std::size_t count) {
    return python_callable::set(callable, count) && home_.set_current();
  }
  /// run_attached_to(). GIL: optional.
  template <class Call>
  bool attached(const Call &call) const {
    return run_attached_to(home_, get(), call);
  }

 private:
  home_interpreter home_;
};

/// Calls the Python callable from any thread and returns the result. Returns the error value if the
/// call fails or an exception is already set. GIL: optional.
template <class R, class... A>
TYPEDCALL_RARE R call_boxed_from_anywhere(const callable_at_home &callee, A... args) {
  std::conditional_t<std::is_void_v<R>, char, R> result{};
  const bool is_done = callee.attached([&](bool) {
    return PyErr_Occurred() == nullptr && box_and_call(callee, static_cast<R *>(&result), args...);
  });
  (void)is_done;
  if constexpr (!std::is_void_v<R>) {
    if constexpr (has_error_value<R>) {
      if (!is_done) return error_value<R>();
    }
    return result;
  }
}

/// The C function type of an R(A...) that falls back.
template <class R, class... A>
struct falling_back {
  using type = int(A..., R *);
};
template <class... A>
struct falling_back<void, A...> {
  using type = int(A...);
};

template <class... A>
constexpr bool ends_with_pointer = false;
template <class Last>
constexpr bool ends_with_pointer<Last> =
    std::is_pointer_v<Last> && !std::is_same_v<Last, void *> && !std::is_same_v<Last, PyObject *> &&
    !std::is_same_v<Last, const char *>;
template <class First, class Second, class... Rest>
constexpr bool ends_with_pointer<First, Second, Rest...> = ends_with_pointer<Second, Rest...>;

/// True for a number whose type differs from the type of the parameter.
template <class Given, class Own>
constexpr bool is_other_number =
    std::conjunction_v<std::is_arithmetic<Given>, std::is_arithmetic<Own>> &&
    !std::is_same_v<Given, Own>;

}  // namespace internal

template <class Signature>
class fallback_function;

/// A native function and its Python callable, or empty. The native function is an R(A...), or an
/// `int(A..., R *)` that may fall back. Call resolve<double(double)>(interface,
/// callable, with_fallback()) to make a fallback_function.
///
/// A call runs the native function. If the native function falls back, the call takes the GIL and
/// calls the Python callable. The native function is not called if an int is out of range. If the
/// callable raises, the call returns the error value and raised() is true. An int result that is
/// too large for R raises OverflowError. While an exception is set, the callable is not called and
/// the call returns the error value.
///
/// The exception stays set in the thread state. In a thread without a thread state, the exception
/// is passed to sys.unraisablehook. Before 3.15, exceptions in subinterpreter threads without the
/// GIL are also passed to sys.unraisablehook. Before 3.12, a thread of a subinterpreter must hold
/// the GIL.
///
/// Since CPython 3.15, a thread without the GIL may fall back at any time. The interpreter does not
/// end while the callable runs. If the interpreter is ending or has ended, the call fails without
/// setting an exception. Before 3.15, a call that falls back after the end of the main interpreter
/// never returns, except in the thread that ends the interpreter. Before 3.15, the end of a
/// subinterpreter is not detected, so a function must not be called afterwards.
///
/// The GIL must be held to copy or destroy a non-empty function. flags() shows whether a call needs
/// the GIL.
template <class R, class... A>
class fallback_function<R(A...)> {
  static_assert(std::is_void_v<R> || is_convertible_type<R>,
                "typedcall: a Python object cannot be converted to this result type");
  static_assert(!std::is_void_v<R> || !internal::ends_with_pointer<A...>,
                "typedcall: the last argument would be mistaken for the pointer to the result");

 public:
  /// The C function type of falling_back().
  using signature = typename internal::falling_back<R, A...>::type;

  fallback_function() = default;
  /// `callable` is borrowed, and `native` keeps it alive. The function belongs to the current
  /// interpreter. If memory runs out, the function is empty and MemoryError is set. GIL: held.
  fallback_function(function<R(A...)> native, PyObject *callable) {
    if (callee_.set(callable, sizeof...(A))) plain_ = std::move(native);
  }
  fallback_function(function<signature> back, PyObject *callable) {
    if (callee_.set(callable, sizeof...(A))) back_ = std::move(back);
  }

  explicit operator bool() const { return static_cast<bool>(plain_) || may_fall_back(); }
  /// The PyNativeCallable_* bits of the entry.
  std::uintptr_t flags() const { return may_fall_back() ? back_.flags() : plain_.flags(); }
  bool may_fall_back() const { return static_cast<bool>(back_); }
  /// If may_fall_back(), the native function is falling_back() and plain() is empty. Otherwise the
  /// native function is plain() and falling_back() is empty.
  const function<R(A...)> &plain() const { return plain_; }
  const function<signature> &falling_back() const { return back_; }
  /// The address of the native function, or null if there is none.
  void *address() const {
    return may_fall_back() ? reinterpret_cast<void *>(back_.get())
                           : reinterpret_cast<void *>(plain_.get());
  }
  /// The Python callable.
  const internal::callable_at_home &callee() const { return callee_; }
  /// As function::keep_alive().
  PyObject *keep_alive() const {
    return may_fall_back() ? back_.keep_alive() : plain_.keep_alive();
  }

  /// The function must not be empty.
  R operator()(A... args) const {
    if (!may_fall_back()) return plain_(args...);
    if constexpr (std::is_void_v<R>) {
      if (TYPEDCALL_EXPECT(back_(args...) != 0, 0)) call_boxed(args...);
    } else {
      R result;
      if (TYPEDCALL_EXPECT(back_(args..., &result) == 0, 1)) return result;
      return call_boxed(args...);
    }
  }

  /// Makes a call with numbers whose types may differ from the types of the parameters. An int may
  /// be passed for any int type. An int, float or double may be passed for a float or double. A
  /// double passed for a float is rounded. If an int is out of range, the Python callable is called
  /// with the same values.
  template <class... Given, class = std::enable_if_t<(internal::is_other_number<Given, A> || ...)>>
  R operator()(Given... args) const {
    static_assert(
        (internal::is_taken_for<Given, A>() && ...),
        "typedcall: an int is accepted for an int or a float, and a float or double for a "
        "float or double. Every other number must have exactly the parameter's type");
    if (TYPEDCALL_EXPECT((internal::has_room<A>(args) && ...), 1)) {
      return (*this)(internal::narrowed<A>(args)...);
    }
    return internal::call_boxed_from_anywhere<R>(callee_, internal::widened<A>(args)...);
  }

  /// True if a call has set an exception. GIL: held.
  bool raised() const { return PyErr_Occurred() != nullptr; }
  /// True if a call that returned `result` has set an exception. Checks for an exception only if
  /// `result` is the error value. GIL: held.
  template <class Result>
  bool raised(Result result) const {
    static_assert(std::is_same_v<Result, R>, "typedcall: pass the result of the call");
    if constexpr (has_error_value<R>) {
      // The native function may have a different error value.
      if (!is_error_value(result) && !plain_.raised(result)) return false;
    }
    return raised();
  }

 private:
  R call_boxed(A... args) const { return internal::call_boxed_from_anywhere<R>(callee_, args...); }

  function<R(A...)> plain_;
  function<signature> back_;
  internal::callable_at_home callee_;
};

/// Makes find() and resolve() look for an entry such as `d->d` first, and then for an entry that
/// falls back, such as `d&d->i`.
using with_fallback = internal::finder<fallback_function>;

namespace internal {

template <>
struct finder<fallback_function> {
  template <class Signature>
  static fallback_function<Signature> find(const PyTypedcall_Interface *interface,
                                           PyObject *callable, capabilities handled,
                                           telling which) {
    using made = fallback_function<Signature>;
    using signature = typename made::signature;
    const bool explain = which == telling::everything;
    // See resolve().
    if (explain && interface == nullptr && PyErr_Occurred()) return {};
    if (explain) which = telling::no_memory;
    const capabilities simple = handled & ~calls_boxed;
    const auto with_callable = [&](auto native) {
      made all(std::move(native), callable);
      if (!all && !explain) clear_exception();  // MemoryError or KeyboardInterrupt
      return all;
    };
    auto found = plain::find<Signature>(interface, callable, simple, which);
    if (found) return with_callable(std::move(found));
    const auto no_memory = [] {
      return PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_MemoryError) != 0;
    };
    if (explain && no_memory()) return {};
    request asked = plain_request<signature>(simple | calls_boxed);
    asked.required = calls_boxed;
    auto back = plain::find<signature>(interface, callable, asked, which);
    if (back) return with_callable(std::move(back));
    if (explain && !no_memory()) {
      // The error message names the requested signature.
      set_refusal(interface, callable, plain_request<Signature>(simple | calls_boxed));
    }
    return {};
  }
};

}  // namespace internal

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_FALLBACK_H_
