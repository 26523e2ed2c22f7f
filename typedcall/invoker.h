// Calls functions whose signature is known only at run time: by a compiled trampoline, a register
// image or libffi, whichever is fastest for the signature. Link with -lffi, or define
// TYPEDCALL_WITHOUT_FFI.
#ifndef TYPEDCALL_INVOKER_H_
#define TYPEDCALL_INVOKER_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "typedcall/entry_view.h"
#include "typedcall/invoke/call_plan.h"
#include "typedcall/namespace.h"
#include "typedcall/stats.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// An address, and how to call it with arguments in an array. Does not keep the address valid; the
/// resolution that it came from does. Copyable; may be called from several threads at once if its
/// function may.
class invoker {
 public:
  /// `signature` is as in an entry; if `flags` contain TAKES_SELF, the first argument is self,
  /// which the signature does not show. `asked` forces a way. Returns nothing, and the position of
  /// the fault, if the text is not a signature or cannot be called that way (position: its end).
  /// Throws std::bad_alloc. GIL: none; any thread; any interpreter; no exception is set.
  static std::optional<invoker> make(const char *signature, std::uintptr_t flags, void *funcptr,
                                     std::optional<way> asked = std::nullopt,
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
    PyNativeSignature of_result;  // its verdict does not depend on the others
    of_result.nargs = 0;
    of_result.result = made.plan_->result;
    made.check_ = PyNativeCheck_Of(PyNativeView_Of(&of_result, flags).verdict, &of_result, flags);
    return made;
  }

  /// Calls with `arity()` arguments, each a native_value::of() exactly the C type in the signature;
  /// the ways of calling treat other values differently. The result is extended like an argument; 0
  /// for `v`. A result that does not fit (`g`, `Zd`, `Zg`) goes to `wide_result`, and 0 is
  /// returned. The entry's flags bind the caller here, too.
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

  /// True if the returned value alone shows that it is a result. Otherwise an exception may be set,
  /// or the function falls back. GIL: none.
  bool is_result(native_value result) const {
    return ((result.bits & check_.mask) == check_.expected) == check_.is_value_if_equal;
  }
  /// True if a call of a function that may raise has set an exception. Asks CPython only if the
  /// result is the error value of its class, a nonzero status, or does not fit a native_value; with
  /// DIFFERS always. GIL: held.
  bool raised(native_value result) const {
    return !is_result(result) && PyErr_Occurred() != nullptr;
  }

  /// The number of arguments of a call, including self; a buffer counts as two, the pointer and the
  /// count.
  std::size_t arity() const { return plan_->arity; }
  way how() const { return plan_->how; }
  /// The PyNativeCallable_* bits passed to make().
  std::uintptr_t flags() const { return flags_; }

 private:
  invoker() = default;

  // The bits of the result register that belong to the result.
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
    if (plan_->how == way::image) {
      stats::add(event::image);
      return internal::run_image(plan_->image, funcptr_, arguments);
    }
#if TYPEDCALL_INTERNAL_HAS_FFI
    stats::add(event::ffi);
    void *addresses[internal::most_arguments];
    for (std::size_t i = 0; i < plan_->arity; ++i) {
      // libffi only reads them, but its prototype does not say so.
      addresses[i] = plan_->by_address[i] != 0 ? arguments[i].get<void *>()
                                               : const_cast<native_value *>(&arguments[i]);
    }
    native_value result{0};
    plan_->ffi->call(funcptr_, plan_->wide_result ? wide_result : &result, addresses);
    return result;
#else
    static_cast<void>(wide_result);
    return native_value{0};
#endif
  }

  internal::trampoline trampoline_ = nullptr;
  void *funcptr_ = nullptr;
  const internal::call_plan *plan_ = nullptr;
  std::uint8_t narrow_by_ = 0;  // 64: no result
  bool is_signed_ = false;
  std::uintptr_t flags_ = 0;
  PyNativeCheck check_ = {};
  internal::plan_ref keep_;
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_INVOKER_H_
