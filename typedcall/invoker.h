// Calls of functions whose signature is known only at run time: by a compiled thunk, a register
// image, or libffi, whichever is fastest for the signature. Link with -lffi.
#ifndef TYPEDCALL_INVOKER_H_
#define TYPEDCALL_INVOKER_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "typedcall/ffi_function.h"
#include "typedcall/native_callable.h"
#include "typedcall/register_image.h"

namespace typedcall {

/// How an invoker calls.
enum class way {
  thunk,  ///< up to four scalars: compiled for their classes
  image,  ///< scalars that fit into registers
  ffi,    ///< everything else
};

/// An address, and how to call it with arguments in an array. Does not keep the address valid: hold
/// on to the resolution that it came from. Copyable; may be called from several threads at once
/// where the function behind it may.
class invoker {
 public:
  /// `signature` as in an entry; with `flags` containing TAKES_SELF the first argument is self,
  /// which the signature does not show. `asked`: this way and no other. Nothing, with the position
  /// of the fault, when the text is no signature, or when it cannot be called that way (position:
  /// its end). GIL: none; any thread; any interpreter; no exception is set.
  static std::optional<invoker> make(const char *signature, std::uintptr_t flags, void *funcptr,
                                     std::optional<way> asked = std::nullopt,
                                     PyNativeSignature_Fault *fault = nullptr) {
    PyNativeSignature parsed;
    if (PyNativeSignature_ParseString(signature, &parsed, fault) < 0) return std::nullopt;
    invoker made;
    made.funcptr_ = funcptr;
    made.set_narrowing(parsed.result);
    auto plan = std::make_shared<prepared>();
    made.plan_ = plan.get();
    const bool found =
        (!asked || *asked != way::ffi ? made.use_registers(parsed, flags, asked, *plan) : false) ||
        (!asked || *asked == way::ffi
             ? made.use_ffi(signature, parsed, flags, funcptr, *plan, fault)
             : false);
    if (!found) {
      if (fault != nullptr && asked && *asked != way::ffi) {
        *fault = {std::strlen(signature), "not a signature that this way can call"};
      }
      return std::nullopt;
    }
    made.keep_ = std::move(plan);
    return made;
  }

  /// Calls with `arity()` arguments. The result is extended as arguments are; 0 for `v`. One that
  /// does not fit (`g`, `Zd`, `Zg`) goes to `wide_result`, and 0 is returned. What the entry's
  /// flags ask of the caller holds here too.
  native_value operator()(const native_value *arguments, void *wide_result = nullptr) const {
    native_value result =
        thunk_ != nullptr ? thunk_(funcptr_, arguments) : run_slowly(arguments, wide_result);
    if (narrow_by_ != 0) result.bits = narrowed(result.bits);
    return result;
  }

  /// The number of arguments a call takes, self included.
  std::size_t arity() const { return plan_->arity; }
  way how() const { return plan_->how; }

 private:
  struct prepared {
    std::size_t arity = 0;
    way how = way::thunk;
    internal::image_plan image;
    std::optional<ffi_function> ffi;
    std::vector<std::uint8_t> by_address;  // per argument: does its value hold an address?
    bool wide_result = false;
  };

  invoker() = default;

  static bool is_wide(PyNativeType type) { return PyNativeType_Size(type) > sizeof(std::uint64_t); }

  // Which bits of the result register belong to the result.
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

  bool use_registers(const PyNativeSignature &parsed, std::uintptr_t flags,
                     std::optional<way> asked, prepared &plan) {
    if (!TYPEDCALL_REGISTER_IMAGE) return false;
    internal::register_class classes[PyNativeSignature_MAX_ARGS + 1];
    std::size_t count = 0;
    if ((flags & PyNativeCallable_TAKES_SELF) != 0) {
      classes[count++] = internal::register_class::integer;
    }
    for (int i = 0; i < parsed.nargs; ++i) {
      classes[count] = internal::register_class_of(parsed.args[i]);
      if (classes[count++] == internal::register_class::none) return false;
    }
    internal::register_class result = internal::register_class_of(parsed.result);
    if (result == internal::register_class::none) {
      if (PyNativeType_Kind(parsed.result) != PyNativeKind_VOID) return false;
      result = internal::register_class::integer;  // whatever is there: narrowed to nothing
    }
    plan.arity = count;
    if (!asked || *asked == way::thunk) thunk_ = internal::find_thunk(result, classes, count);
    plan.how = thunk_ != nullptr ? way::thunk : way::image;
    return thunk_ != nullptr || ((!asked || *asked == way::image) &&
                                 internal::plan_image(result, classes, count, &plan.image));
  }

  bool use_ffi(const char *signature, const PyNativeSignature &parsed, std::uintptr_t flags,
               void *funcptr, prepared &plan, PyNativeSignature_Fault *fault) {
    plan.ffi = ffi_function::make(signature, flags, funcptr, fault);
    if (!plan.ffi) return false;
    plan.how = way::ffi;
    plan.arity = plan.ffi->arity();
    plan.by_address.resize(plan.arity - static_cast<std::size_t>(parsed.nargs), 0);
    for (int i = 0; i < parsed.nargs; ++i) plan.by_address.push_back(is_wide(parsed.args[i]));
    plan.wide_result = is_wide(parsed.result);
    return true;
  }

  __attribute__((noinline)) native_value run_slowly(const native_value *arguments,
                                                    void *wide_result) const {
    if (plan_->how == way::image) return internal::run_image(plan_->image, funcptr_, arguments);
    void *addresses[PyNativeSignature_MAX_ARGS + 1];
    for (std::size_t i = 0; i < plan_->arity; ++i) {
      // libffi only reads them, but its prototype does not say so.
      addresses[i] = plan_->by_address[i] != 0 ? arguments[i].get<void *>()
                                               : const_cast<native_value *>(&arguments[i]);
    }
    native_value result{0};
    (*plan_->ffi)(plan_->wide_result ? wide_result : &result, addresses);
    return result;
  }

  internal::thunk thunk_ = nullptr;
  void *funcptr_ = nullptr;
  const prepared *plan_ = nullptr;
  std::uint8_t narrow_by_ = 0;  // 64: no result
  bool is_signed_ = false;
  std::shared_ptr<const prepared> keep_;
};

}  // namespace typedcall

#endif  // TYPEDCALL_INVOKER_H_
