// How to call a function of a signature that is known only at run time: worked out once for each
// signature and shared by all invokers of it. Used by typedcall/invoker.h.
#ifndef TYPEDCALL_INVOKE_CALL_PLAN_H_
#define TYPEDCALL_INVOKE_CALL_PLAN_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "typedcall/invoke/ffi_function.h"
#include "typedcall/invoke/register_image.h"
#include "typedcall/namespace.h"
#include "typedcall/native_callable.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// How an invoker calls.
enum class way {
  thunk,  ///< up to four scalars: compiled for their classes
  image,  ///< more scalars: registers and stack are filled as the calling convention says
  ffi,    ///< everything else
};

namespace internal {

/// Everything about a call but the address. Immutable once made.
class call_plan {
 public:
  /// The plan for `signature`, by the way that is asked for, else the fastest; null, with the
  /// position of the fault, when there is none. Plans are kept for a while, so that preparing the
  /// next invoker of the same signature is a look-up. Throws std::bad_alloc. GIL: none.
  static std::shared_ptr<const call_plan> get(const char *signature, bool takes_self,
                                              std::optional<way> asked,
                                              PyNativeSignature_Fault *fault) {
    cache &known = kept();
    const key wanted(signature, takes_self, asked ? static_cast<int>(*asked) : -1);
    const std::lock_guard<std::mutex> lock(known.mutex);
    const auto found = known.plans.find(wanted);
    if (found != known.plans.end()) return found->second;
    auto made = std::make_shared<call_plan>();
    if (!made->prepare(signature, takes_self, asked, fault)) return nullptr;
    // Invokers have references of their own: what is dropped here is at worst made again.
    if (known.plans.size() >= kMostKept) known.plans.clear();
    known.plans.emplace(wanted, made);
    return made;
  }

  std::size_t arity = 0;
  way how = way::thunk;
  internal::thunk thunk = nullptr;
  image_plan image;
  std::optional<ffi_signature> ffi;
  std::vector<std::uint8_t> by_address;  // per argument: does its value hold an address?
  PyNativeType result = {};
  bool wide_result = false;

 private:
  static constexpr std::size_t kMostKept = 512;
  using key = std::tuple<std::string, bool, int>;
  struct cache {
    std::mutex mutex;
    std::map<key, std::shared_ptr<const call_plan>> plans;
  };
  // Never destroyed: another static object's destructor may still make an invoker. Hidden, so that
  // modules made with different versions of this header have one each.
  __attribute__((visibility("hidden"))) static cache &kept() {
    static cache *const made = new cache;
    return *made;
  }

  bool prepare(const char *signature, bool takes_self, std::optional<way> asked,
               PyNativeSignature_Fault *fault) {
    PyNativeSignature parsed;
    if (PyNativeSignature_ParseString(signature, &parsed, fault) < 0) return false;
    result = parsed.result;
    if ((!asked || *asked != way::ffi) && use_registers(parsed, takes_self, asked)) return true;
    if (!asked || *asked == way::ffi) return use_ffi(signature, parsed, takes_self, fault);
    if (fault != nullptr) {
      *fault = {std::strlen(signature), "not a signature that this way can call"};
    }
    return false;
  }

  bool use_registers(const PyNativeSignature &parsed, bool takes_self, std::optional<way> asked) {
    if (!TYPEDCALL_REGISTER_IMAGE) return false;
    register_class classes[most_arguments];
    std::size_t count = 0;
    if (takes_self) classes[count++] = register_class::integer;
    for (int i = 0; i < parsed.nargs; ++i) {
      classes[count] = register_class_of(parsed.args[i]);
      if (classes[count++] == register_class::none) return false;
    }
    register_class returned = register_class_of(parsed.result);
    if (returned == register_class::none) {
      if (PyNativeType_Kind(parsed.result) != PyNativeKind_VOID) return false;
      returned = register_class::integer;  // whatever is there: narrowed to nothing
    }
    arity = count;
    if (!asked || *asked == way::thunk) thunk = find_thunk(returned, classes, count);
    how = thunk != nullptr ? way::thunk : way::image;
    if (how == way::thunk) return true;
    if (asked && *asked == way::thunk) return false;
    image = plan_image(returned, classes, count);
    return true;
  }

  bool use_ffi(const char *signature, const PyNativeSignature &parsed, bool takes_self,
               PyNativeSignature_Fault *fault) {
    ffi = ffi_signature::make(signature, takes_self, fault);
    if (!ffi) return false;
    how = way::ffi;
    arity = ffi->arity();
    by_address.resize(takes_self ? 1 : 0, 0);
    for (int i = 0; i < parsed.nargs; ++i) by_address.push_back(is_wide(parsed.args[i]));
    wide_result = is_wide(parsed.result);
    return true;
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_INVOKE_CALL_PLAN_H_
