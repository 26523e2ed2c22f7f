// Calls functions whose signature is known only at run time. Link with -lffi, or define
// TYPEDCALL_WITHOUT_FFI.
#ifndef TYPEDCALL_INVOKER_H_
#define TYPEDCALL_INVOKER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/base/stack.h"
#include "typedcall/base/stats.h"
#include "typedcall/entry_view.h"
#include "typedcall/invoke/call_plan.h"
#include "typedcall/invoke/native_value.h"
#include "typedcall/resolve/request.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// The address of a function, and the way to call the function with an array of arguments. An
/// invoker does not keep the address valid. Copyable. Several threads may call an invoker at once
/// if they may call the function at once.
class invoker {
 public:
  /// `signature` has the same form as in an entry. If `flags` contain TAKES_SELF, the first
  /// argument is self, which is not part of the signature. `asked` forces one way of calling.
  /// Returns nullopt and sets `*fault` if the signature is invalid or cannot be called in that way.
  /// Throws std::bad_alloc. May be called from any thread and interpreter without the GIL. Sets no
  /// exception.
  static std::optional<invoker> make(const char *signature, std::uintptr_t flags, void *funcptr,
                                     std::optional<invoker_backend> asked = std::nullopt,
                                     PyNativeSignature_Fault *fault = nullptr) {
    if (signature == nullptr) signature = "";
    invoker made;
    made.keep_ = internal::call_plan::get(signature, (flags & PyNativeCallable_TAKES_SELF) != 0,
                                          asked, fault);
    if (!made.keep_) return std::nullopt;
    made.plan_ = made.keep_.get();
    made.trampoline_ = made.plan_->trampoline;
    made.funcptr_ = funcptr;
    made.set_narrowing(made.plan_->result);
    made.flags_ = flags;
    PyNativeSignature of_result;  // the error protocol does not depend on the arguments
    of_result.nargs = 0;
    of_result.result = made.plan_->result;
    made.check_ =
        PyNativeCheck_Of(PyNativeView_Of(&of_result, flags).error_protocol, &of_result, flags);
    return made;
  }

  /// Calls the function with `arity()` arguments. Each argument must be made by native_value::of()
  /// from a value of exactly the C type in the signature. The result is extended like an argument,
  /// and is 0 for `v`. A result that does not fit (`g`, `Zd`, `Zg`) is stored in `wide_result`, and
  /// 0 is returned. The caller must obey the flags of the entry.
  native_value operator()(const native_value *arguments, void *wide_result = nullptr) const {
    native_value result{};
    if (trampoline_ != nullptr) {
      stats::add(event::trampoline);
      result = trampoline_(funcptr_, arguments);
    } else {
      result = run_slowly(arguments, wide_result);
    }
    if (narrow_by_ != 0) result.bits = narrowed(result.bits);
    return result;
  }

  /// True if the returned value is certainly a result. If false, it may still be one, an exception
  /// may be set, or the function may have fallen back. GIL: none.
  bool is_result(native_value result) const {
    return ((result.bits & check_.mask) == check_.expected) == check_.is_value_if_equal;
  }
  /// True if a call that returned `result` has set an exception. GIL: held.
  bool raised(native_value result) const {
    return !is_result(result) && PyErr_Occurred() != nullptr;
  }

  /// The number of arguments of a call, including self. A buffer counts as two arguments.
  std::size_t arity() const { return plan_->arity; }
  invoker_backend backend() const { return plan_->how; }
  /// The PyNativeCallable_* bits passed to make().
  std::uintptr_t flags() const { return flags_; }

 private:
  invoker() = default;

  // Sets which bits of the result register belong to the result.
  void set_narrowing(PyNativeType result) {
    const std::size_t size = PyNativeType_Size(result);
    const PyNativeKind kind = PyNativeType_Kind(result);
    narrow_by_ = size == 0 ? 64 : size < 8 ? static_cast<std::uint8_t>(64 - 8 * size) : 0;
    is_signed_ = kind == PyNativeKind_SIGNED;
  }

  std::uint64_t narrowed(std::uint64_t bits) const {
    if (narrow_by_ == 64) return 0;
    bits <<= narrow_by_;
    if (!is_signed_) return bits >> narrow_by_;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> narrow_by_);
  }

  TYPEDCALL_OUT_OF_LINE native_value run_slowly(const native_value *arguments,
                                                void *wide_result) const {
    if (plan_->how == invoker_backend::image) {
      stats::add(event::image);
      return internal::run_image(plan_->image, funcptr_, arguments);
    }
#if TYPEDCALL_INTERNAL_HAS_FFI
    return run_ffi(arguments, wide_result);
#else
    static_cast<void>(wide_result);
    return native_value{0};
#endif
  }

#if TYPEDCALL_INTERNAL_HAS_FFI
  TYPEDCALL_OUT_OF_LINE native_value run_ffi(const native_value *arguments,
                                             void *wide_result) const {
    stats::add(event::ffi);
    auto *const addresses = TYPEDCALL_INTERNAL_ON_STACK(void *, plan_->arity + 1);
    for (std::size_t i = 0; i < plan_->arity; ++i) {
      // libffi only reads the arguments, but its prototype is not const-correct.
      addresses[i] = plan_->by_address[i] != 0 ? arguments[i].get<void *>()
                                               : const_cast<native_value *>(&arguments[i]);
    }
    native_value result{0};
    plan_->ffi->call(funcptr_, plan_->wide_result ? wide_result : &result, addresses);
    return result;
  }
#endif

  internal::trampoline trampoline_ = nullptr;
  void *funcptr_ = nullptr;
  const internal::call_plan *plan_ = nullptr;
  std::uint8_t narrow_by_ = 0;  // 64 if there is no result
  bool is_signed_ = false;
  std::uintptr_t flags_ = 0;
  PyNativeCheck check_ = {};
  internal::plan_ref keep_;
};

namespace internal {

/// A number in the widest C types, so that conversions are exact.
struct wide_number {
  std::uint64_t integer = 0;  // sign-extended or zero-extended
  long double real = 0, imaginary = 0;
};

/// `from` points to a native_value or, for a wide number, to the number itself.
inline wide_number read_number(PyNativeType type, const void *from) {
  wide_number number;
  const PyNativeKind kind = PyNativeType_Kind(type);
  if (kind == PyNativeKind_FLOATING || kind == PyNativeKind_COMPLEX) {
    with_real_type(type.code, [&](auto real) {
      decltype(real) parts[2] = {};
      std::memcpy(parts, from, kind == PyNativeKind_COMPLEX ? sizeof(parts) : sizeof(real));
      number.real = parts[0];
      number.imaginary = parts[1];
    });
  } else {
    std::memcpy(&number.integer, from, sizeof(number.integer));
    number.real = kind == PyNativeKind_SIGNED
                      ? static_cast<long double>(static_cast<std::int64_t>(number.integer))
                      : static_cast<long double>(number.integer);
  }
  return number;
}

inline void write_number(PyNativeType type, void *to, const wide_number &number) {
  const PyNativeKind kind = PyNativeType_Kind(type);
  if (kind == PyNativeKind_FLOATING || kind == PyNativeKind_COMPLEX) {
    with_real_type(type.code, [&](auto real) {
      using Real = decltype(real);
      static_assert(exact_digits<Real>() <= exact_digits<long double>(),
                    "a wide_number must be able to hold it");
      const Real parts[2] = {static_cast<Real>(number.real), static_cast<Real>(number.imaginary)};
      std::memcpy(to, parts, kind == PyNativeKind_COMPLEX ? sizeof(parts) : sizeof(real));
    });
  } else {
    std::memcpy(to, &number.integer, sizeof(number.integer));
  }
}

}  // namespace internal

/// Converts arguments from the requested signature to the signature of the entry, and results back.
/// No conversion changes a value. Make a safe_cast once and use it for every call:
///
///     native_value given[kMost]; wide_value scratch[kMost];
///     cast->convert_arguments(asked, given, scratch);
///     wide_value wide; native_value result = call(given, &wide);
///     result = cast->convert_result(result, &wide, &wide_answer);
class safe_cast {
 public:
  /// Returns nullopt if a signature is invalid, or if a conversion could change a value. GIL: not
  /// needed.
  static std::optional<safe_cast> make(const char *asked, const char *offered) {
    safe_cast made;
    if (PyNativeSignature_ParseString(asked, &made.asked_, nullptr) < 0 ||
        PyNativeSignature_ParseString(offered, &made.offered_, nullptr) < 0 ||
        internal::casting_cost(made.asked_, made.offered_) < 0) {
      return std::nullopt;
    }
    return made;
  }

  /// The number of C arguments. A buffer counts as two arguments.
  std::size_t arity() const {
    return static_cast<std::size_t>(PyNativeSignature_CArgCount(&asked_));
  }

  /// Converts arity() arguments, which do not include self. `given` and `scratch` must each have
  /// arity() elements. Values in `given` may point into `scratch`, which must live until the call
  /// is over. GIL: not needed.
  void convert_arguments(const native_value *asked, native_value *given,
                         wide_value *scratch) const {
    std::size_t at = 0;
    for (int i = 0; i < asked_.nargs; ++i, ++at) {
      given[at] = convert(asked[at], asked_.args[i], offered_.args[i], &scratch[at]);
      if (!PyNativeType_IsBuffer(asked_.args[i])) continue;
      ++at;
      given[at] = asked[at];
    }
  }

  /// Converts a result. A result that does not fit in a native_value is read from `wide`. If the
  /// converted result does not fit, it is stored in `*answer` and the address is returned. Check
  /// for an exception first, because the error value is not converted. GIL: not needed.
  native_value convert_result(native_value result, const wide_value *wide,
                              wide_value *answer) const {
    if (internal::is_wide(offered_.result)) result = native_value::at(wide);
    return convert(result, offered_.result, asked_.result, answer);
  }

 private:
  static native_value convert(native_value value, PyNativeType from, PyNativeType to,
                              wide_value *scratch) {
    if (PyNativeType_PassesAs(from, to)) {
      if (!internal::is_wide(to)) return value;
      std::memcpy(scratch, value.get<const void *>(), PyNativeType_Size(to));
      return native_value::at(scratch);
    }
    const void *place = &value;
    if (internal::is_wide(from)) place = value.get<const void *>();
    const internal::wide_number number = internal::read_number(from, place);
    if (internal::is_wide(to)) {
      internal::write_number(to, scratch, number);
      return native_value::at(scratch);
    }
    // GCC cannot tell that this number is narrow, so the buffer is large enough for any number.
    wide_value any{};
    internal::write_number(to, &any, number);
    native_value made{0};
    std::memcpy(&made.bits, &any, sizeof(made.bits));
    return made;
  }

  PyNativeSignature asked_ = {}, offered_ = {};
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_INVOKER_H_
