// A call site whose request is known at run time only: any signature, self, flags, casting. For one
// that is written in the code there is the smaller call_site.h.
#ifndef TYPEDCALL_DYNAMIC_CALL_SITE_H_
#define TYPEDCALL_DYNAMIC_CALL_SITE_H_

#include "typedcall/call_site.h"
// call_site.h comes first, because of Python.h.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// What a run-time call site finds: an entry, without references.
struct site_entry {
  const char *signature = nullptr;  ///< as the provider spells it; null: nothing was found
  std::uintptr_t flags = 0;
  void *funcptr = nullptr;
  PyObject *self = nullptr;  ///< as resolution::self
  place where = place::instance_slot;
  casting how = casting::exact;

  explicit operator bool() const { return funcptr != nullptr; }
};

/// call_site, whose rules hold here, for any request. Throws std::bad_alloc.
class dynamic_call_site {
 public:
  /// `asked` is what each callable is asked. Copies the signature.
  dynamic_call_site(const PyTypedcall_Interface *interface, const request &asked)
      : interface_(interface),
        signature_(asked.signature != nullptr ? asked.signature : ""),
        asked_(asked) {
    asked_.signature = signature_.c_str();
  }
  dynamic_call_site(const dynamic_call_site &) = delete;
  dynamic_call_site &operator=(const dynamic_call_site &) = delete;

  /// What find(interface, callable, request) finds, or nothing without an exception. The signature
  /// lives as long as the call site.
  site_entry find(PyObject *callable) {
    const internal::cache_entry *known = memory_.look_up(callable);
    if (known != nullptr && memory_.holds(interface_, *known)) {
      PyObject *self = self_of(callable);
      // Another function of the same def may be at the address now, and have no self.
      const bool takes_self = (known->flags & PyNativeCallable_TAKES_SELF) != 0;
      if (!takes_self || self != nullptr || internal::is_unbound(callable)) {
        stats::add(event::cache_hit);
        if (known->funcptr == nullptr) return {};
        return {spellings_[known->spelling]->c_str(),
                known->flags,
                known->funcptr,
                self,
                static_cast<place>(known->where),
                static_cast<casting>(known->how)};
      }
    }
    return look(callable, known);
  }

  /// The same, but nothing comes with the exception of resolve().
  site_entry resolve(PyObject *callable) {
    const site_entry found = find(callable);
    if (!found) typedcall::resolve(interface_, callable, asked_);  // says why
    return found;
  }

 private:
  TYPEDCALL_OUT_OF_LINE site_entry look(PyObject *callable, const internal::cache_entry *known) {
    const bool reread = known != nullptr && memory_.is_reread(*known);
    // It can run Python code, which may use this site: `known` is not looked at afterwards.
    interface_ = internal::latest(interface_);
    site_entry found;
    internal::site_search search(interface_, callable, reread);
    std::uint32_t number = 0;
    internal::find_entry<internal::keeping::nothing>(
        interface_, callable, asked_,
        [&](const PyNativeCallableEntry &entry, place where, casting how) {
          number = spell(entry.signature);
          found = {spellings_[number]->c_str(), entry.flags, entry.funcptr,
                   self_of(callable),           where,       how};
          search.found(memory_, entry, where);
        });
    // A function of the same def may have a self where this one has none, and be offered more.
    const bool depends_on_self =
        (asked_.can & PyNativeCallable_TAKES_SELF) != 0 && self_of(callable) == nullptr;
    if (search.may_remember(memory_) && (found || !depends_on_self)) {
      memory_.remember(callable, search.guard(), found.funcptr, found.flags, found.where, found.how,
                       number);
    }
    return found;
  }

  /// A number for the text, which is kept as long as this.
  std::uint32_t spell(const char *signature) {
    for (std::size_t i = 0; i < spellings_.size(); ++i) {
      if (*spellings_[i] == signature) return static_cast<std::uint32_t>(i);
    }
    spellings_.push_back(std::make_unique<std::string>(signature));
    return static_cast<std::uint32_t>(spellings_.size() - 1);
  }

  const PyTypedcall_Interface *interface_;
  std::string signature_;
  request asked_;
  internal::inline_cache memory_;
  std::vector<std::unique_ptr<std::string>> spellings_;
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_DYNAMIC_CALL_SITE_H_
