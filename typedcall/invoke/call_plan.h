// A plan for calling functions whose signature is known only at run time. All invokers with the
// same signature share one plan. Used by typedcall/invoker.h.
#ifndef TYPEDCALL_INVOKE_CALL_PLAN_H_
#define TYPEDCALL_INVOKE_CALL_PLAN_H_

#include "typedcall/base/namespace.h"

#if TYPEDCALL_IS_SUPPORTED
#include <pthread.h>
#endif
// TYPEDCALL_WITHOUT_FFI is for modules that are linked without libffi. They can call only
// functions whose arguments and results fit registers and the stack.
#if TYPEDCALL_IS_SUPPORTED && !defined(TYPEDCALL_WITHOUT_FFI)
#define TYPEDCALL_INTERNAL_HAS_FFI 1
#include "typedcall/invoke/ffi_signature.h"
#else
#define TYPEDCALL_INTERNAL_HAS_FFI 0
#include "typedcall/base/signature_of.h"
#endif

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "typedcall/invoke/register_image.h"
#include "typedcall/native_callable.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// How an invoker calls a function.
enum class invoker_backend {
  trampoline,  ///< a compiled function for up to four scalars
  image,       ///< registers and stack are filled, for any number of scalars
  ffi,         ///< everything else
};

namespace internal {

class call_plan;

/// A counted reference to a plan. Used instead of std::shared_ptr because <memory> is slow to
/// compile.
class plan_ref {
 public:
  plan_ref() = default;
  explicit plan_ref(const call_plan *plan);
  plan_ref(const plan_ref &other) : plan_ref(other.plan_) {}
  plan_ref(plan_ref &&other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  plan_ref &operator=(plan_ref other) noexcept {
    std::swap(plan_, other.plan_);
    return *this;
  }
  ~plan_ref();

  const call_plan *get() const { return plan_; }
  explicit operator bool() const { return plan_ != nullptr; }
  friend bool operator==(const plan_ref &a, const plan_ref &b) { return a.plan_ == b.plan_; }
  friend bool operator!=(const plan_ref &a, const plan_ref &b) { return a.plan_ != b.plan_; }

 private:
  const call_plan *plan_ = nullptr;
};

/// Everything that is needed to call functions with one signature. Immutable.
class call_plan {
 public:
  /// Returns the plan for `signature` that calls in the way `asked` or, without `asked`, in the
  /// fastest way. If there is no such plan, returns null and the position of the fault. Throws
  /// std::bad_alloc. GIL: none.
  static plan_ref get(const char *signature, bool takes_self, std::optional<invoker_backend> asked,
                      PyNativeSignature_Fault *fault) {
#if TYPEDCALL_IS_SUPPORTED
    cache &known = kept();
    const int number = asked ? static_cast<int>(*asked) : -1;
    const holder lock(&known.mutex);
    plan_ref &first = known.chains[bucket_of(signature, takes_self, number)];
    for (const call_plan *plan = first.get(); plan != nullptr; plan = plan->next_.get()) {
      if (plan->takes_self_ == takes_self && plan->asked_ == number &&
          plan->signature_ == signature) {
        return plan_ref(plan);
      }
    }
    auto *const made = new call_plan;
    plan_ref reference(made);
    if (!made->prepare(signature, takes_self, asked, fault)) return plan_ref();
    made->signature_ = signature;
    made->takes_self_ = takes_self;
    made->asked_ = number;
    // Dropping plans is safe because invokers have their own references.
    if (known.count >= kMostKept) known.drop();
    ++known.count;
    made->next_ = std::move(first);
    first = reference;
    return reference;
#else
    static_cast<void>(signature), static_cast<void>(takes_self), static_cast<void>(asked);
    if (fault != nullptr) *fault = {0, "there are no tags here (TYPEDCALL_IS_SUPPORTED)"};
    return plan_ref();
#endif
  }

  std::size_t arity = 0;
  invoker_backend how = invoker_backend::trampoline;
  internal::trampoline trampoline = nullptr;
  image_plan image;
#if TYPEDCALL_INTERNAL_HAS_FFI
  std::optional<ffi_signature> ffi;
#endif
  std::vector<std::uint8_t> by_address;  // for each argument, 1 if it is a wide number
  PyNativeType result = {};
  bool wide_result = false;

 private:
  friend class plan_ref;
  mutable std::atomic<std::size_t> references_{0};
#if TYPEDCALL_IS_SUPPORTED
  static constexpr std::size_t kMostKept = 512;
  static constexpr std::size_t kChains = 256;
  struct cache {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::size_t count = 0;
    plan_ref chains[kChains];

    void drop() {
      for (plan_ref &chain : chains) {
        // Plans are unlinked one by one, because a plan that an invoker keeps must not keep its
        // successors.
        while (chain) {
          const plan_ref gone = std::move(chain);
          chain = std::move(const_cast<call_plan *>(gone.get())->next_);
        }
      }
      count = 0;
    }
  };
  struct holder {
    explicit holder(pthread_mutex_t *taken) : mutex(taken) { pthread_mutex_lock(mutex); }
    ~holder() { pthread_mutex_unlock(mutex); }
    holder(const holder &) = delete;
    holder &operator=(const holder &) = delete;
    pthread_mutex_t *mutex;
  };
  static std::size_t bucket_of(const char *signature, bool takes_self, int asked) {
    std::size_t hash = static_cast<std::size_t>(2 * asked + 2) + (takes_self ? 1 : 0);
    for (; *signature != '\0'; ++signature) {
      hash = hash * 31 + static_cast<unsigned char>(*signature);
    }
    return hash % kChains;
  }
  // Never destroyed, because the destructor of another static object may still make an invoker.
  // Hidden, so that modules built with different versions of this header have separate caches.
  TYPEDCALL_HIDDEN static cache &kept() {
    static cache *const made = make_cache();
    return *made;
  }
  // The mutex is held across a fork, because another thread that held it would not exist in the
  // child.
  TYPEDCALL_HIDDEN static cache *make_cache() {
    const auto lock = [] { pthread_mutex_lock(&kept().mutex); };
    const auto unlock = [] { pthread_mutex_unlock(&kept().mutex); };
    // The cache works even if this call runs out of memory.
    static_cast<void>(pthread_atfork(lock, unlock, unlock));
    return new cache;
  }

  bool prepare(const char *signature, bool takes_self, std::optional<invoker_backend> asked,
               PyNativeSignature_Fault *fault) {
    PyNativeSignature parsed;
    if (PyNativeSignature_ParseString(signature, &parsed, fault) < 0) return false;
    result = parsed.result;
    if ((!asked || *asked != invoker_backend::ffi) && use_registers(parsed, takes_self, asked))
      return true;
    if (!asked || *asked == invoker_backend::ffi)
      return use_ffi(signature, parsed, takes_self, fault);
    if (fault != nullptr) {
      *fault = {std::strlen(signature), "not a signature that this way can call"};
    }
    return false;
  }

  bool use_registers(const PyNativeSignature &parsed, bool takes_self,
                     std::optional<invoker_backend> asked) {
    if (!TYPEDCALL_REGISTER_IMAGE) return false;
    register_class classes[most_arguments];
    std::size_t count = 0;
    if (takes_self) classes[count++] = register_class::integer;
    for (int i = 0; i < parsed.nargs; ++i) {
      classes[count] = register_class_of(parsed.args[i]);
      if (classes[count++] == register_class::none) return false;
      // A buffer's element count is another argument.
      if (PyNativeType_IsBuffer(parsed.args[i])) classes[count++] = register_class::integer;
    }
    register_class returned = register_class_of(parsed.result);
    if (returned == register_class::none) {
      if (PyNativeType_Kind(parsed.result) != PyNativeKind_VOID) return false;
      returned = register_class::integer;  // the result is ignored
    }
    arity = count;
    if (!asked || *asked == invoker_backend::trampoline)
      trampoline = find_trampoline(returned, classes, count);
    how = trampoline != nullptr ? invoker_backend::trampoline : invoker_backend::image;
    if (how == invoker_backend::trampoline) return true;
    if (asked && *asked == invoker_backend::trampoline) return false;
    image = plan_image(returned, classes, count);
    return true;
  }

  bool use_ffi(const char *signature, const PyNativeSignature &parsed, bool takes_self,
               PyNativeSignature_Fault *fault) {
#if TYPEDCALL_INTERNAL_HAS_FFI
    ffi = ffi_signature::make(signature, takes_self, fault);
    if (!ffi) return false;
    how = invoker_backend::ffi;
    arity = ffi->arity();
    by_address.resize(takes_self ? 1 : 0, 0);
    for (int i = 0; i < parsed.nargs; ++i) {
      by_address.push_back(is_wide(parsed.args[i]));
      if (PyNativeType_IsBuffer(parsed.args[i])) by_address.push_back(0);
    }
    wide_result = is_wide(parsed.result);
    return true;
#else
    static_cast<void>(parsed), static_cast<void>(takes_self);
    if (fault != nullptr) *fault = {std::strlen(signature), "only libffi can call this signature"};
    return false;
#endif
  }

  std::string signature_;
  bool takes_self_ = false;
  int asked_ = -1;
  plan_ref next_;  // guarded by the cache's mutex
#endif
};

inline plan_ref::plan_ref(const call_plan *plan) : plan_(plan) {
  if (plan_ != nullptr) plan_->references_.fetch_add(1, std::memory_order_relaxed);
}
inline plan_ref::~plan_ref() {
  if (plan_ != nullptr && plan_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete plan_;
  }
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_INVOKE_CALL_PLAN_H_
