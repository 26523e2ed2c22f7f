// A cache for one place in the code that calls the same callables repeatedly. A call_site never
// returns a stale entry.
#ifndef TYPEDCALL_CALL_SITE_H_
#define TYPEDCALL_CALL_SITE_H_

#include "typedcall/resolve.h"
// resolve.h comes first because it includes Python.h.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "typedcall/base/namespace.h"
#include "typedcall/resolve/inline_cache.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Returns the real interface if `interface` is a placeholder and the real interface has been
/// installed. Otherwise returns `interface`.
inline const PyTypedcall_Interface *latest(const PyTypedcall_Interface *interface) {
  const PyTypedcall_Interface *installed = PyTypedcall_Installed(interface);
  return installed != nullptr ? installed : interface;
}

/// True if `interface` is a placeholder and the real interface has been installed. The epochs of
/// such a placeholder are out of date.
inline bool has_arrived(const PyTypedcall_Interface *interface) {
#if TYPEDCALL_IS_SUPPORTED
  if (interface == nullptr || !PyTC_IsAwaited(interface)) return false;
  const auto *awaited = static_cast<const PyTypedcall_Placeholder *>(interface->state);
  return PyTypedcall_LOAD_ACQUIRE(&awaited->installed) != nullptr;
#else
  return interface == nullptr;
#endif
}

/// True if instances of `type` can have their own tables. Only the size is checked, because the
/// slots of the type may not be known yet, and assigning to `__class__` changes an object's type.
inline bool may_have_slots(PyTypeObject *type) {
  const PyTypeObject *const metaclass = Py_TYPE(type);
  return metaclass == nullptr ||  // a static type that was not made ready yet
         metaclass->tp_basicsize >=
             static_cast<Py_ssize_t>(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleTypeData));
}

/// A search for a callable that is not cached. Decides whether the result may be cached, and
/// updates the statistics.
class site_search {
 public:
  /// `reread` is the result of is_reread() for the cached entry, or false if there is no entry.
  site_search(const PyTypedcall_Interface *interface, PyObject *callable, bool reread)
      : callable_(callable),
        interface_(interface),
        reread_(reread),
        guard_(inline_cache::epoch(interface)) {}

  /// Call this if an entry is found, while the entry is valid.
  void found(inline_cache &memory, const PyNativeCallableEntry &entry, place where) {
    is_found_ = true;
    where_ = where;
    may_remember_ = memory.may_remember(callable_, &entry, where, reread_, guard_, &guard_);
  }

  /// Must be called when the search is over.
  bool may_remember(inline_cache &memory) {
    if (!is_found_) {
      may_remember_ = memory.may_remember(callable_, nullptr, where_, reread_, guard_, &guard_);
    }
    // Without an interface, the cache cannot detect that an interface is installed later.
    if ((interface_ == nullptr || has_arrived(interface_)) && where_ != place::method_metadata) {
      may_remember_ = false;
    }
    // The instance may get a table before the next search, and that table would take precedence.
    if (where_ == place::object_row && may_have_slots(Py_TYPE(callable_))) {
      may_remember_ = false;
    }
    count_found(is_found_, where_);
    stats::add(may_remember_ ? event::cache_miss : event::cache_bypassed);
    return may_remember_;
  }

  std::uint64_t guard() const { return guard_; }
  place where() const { return where_; }

 private:
  PyObject *callable_;
  const PyTypedcall_Interface *interface_;
  bool reread_, is_found_ = false, may_remember_ = false;
  place where_ = place::instance_slot;
  std::uint64_t guard_;
};

/// True if `text` is the signature of the C++ type. `text` may be shorter, because the comparison
/// stops at the first difference.
template <class Signature, std::size_t... i>
bool is_text_of(const char *text, std::index_sequence<i...>) {
  return ((text[i] == signature_of<Signature>::text[i]) && ...);
}

/// Returns the entry with exactly this signature in the table before the function's name, or null.
/// This is the first place that find() searches for a function.
template <class Signature>
const PyNativeCallableEntry *first_with(const PyMethodDef *def, const request &asked) {
  constexpr PyNativeSignature wanted = signature_of<Signature>::parsed();
  constexpr std::size_t length = PyNativeSignature_Print(&wanted, nullptr, 0) + 1;
  const PyNativeCallableTable *table = PyTypedMethod_Table(def);
  if (table == nullptr) return nullptr;
  for (const PyNativeCallableEntry &entry : entries_of(*table)) {
    if (entry.signature == nullptr) continue;
    if (!is_text_of<Signature>(entry.signature, std::make_index_sequence<length>())) continue;
    if (is_open(entry, asked) && PyNativeCallable_IsWellFormed(entry.flags, wanted.result)) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace internal

template <class Signature>
class function_view;

/// The address of a native R(A...), or empty. A function_view holds no reference, so the caller
/// must hold a reference to the callable. Copying a view does not need the GIL.
template <class R, class... A>
class function_view<R(A...)> : public internal::native_pointer<R, A...> {
 public:
  function_view() = default;
  function_view(internal::c_function<R, A...> *address, std::uintptr_t flags)
      : internal::native_pointer<R, A...>(address, flags) {}

  /// The view must not be empty.
  R operator()(A... args) const { return this->call(args...); }
};

template <class Signature>
class call_site;

/// Caches the results of find() for one request and many callables. Finds only functions that take
/// neither self nor a place for the result. Call find() before each call: `if (auto f =
/// site.find(callable)) y = f(x);`. A site belongs to one interpreter: make it with that
/// interpreter's interface, and keep it in module state. With a null interface, the side table is
/// not searched. GIL: held for all methods. On free-threaded builds, a site belongs to one thread.
/// The site holds no references to callables or tags. The result is valid while the caller holds a
/// reference to the callable and the tag's owner is alive. The owner is normally the callable's
/// module or class. It is a different object if a class hides the method or a module is imported
/// twice. Use typedcall::resolve() if the owner may be destroyed between find() and the call, by
/// other Python code or by a thread without the GIL.
template <class R, class... A>
class call_site<R(A...)> {
  using pointer = internal::c_function<R, A...> *;

 public:
  explicit call_site(const PyTypedcall_Interface *interface, capabilities handled = 0)
      : interface_(interface), asked_(internal::plain_request<R(A...)>(handled)) {}
  call_site(const call_site &) = delete;
  call_site &operator=(const call_site &) = delete;

  /// Returns the same function as find<R(A...)>(interface, callable, can). Sets no exception if
  /// there is no such function.
  function_view<R(A...)> find(PyObject *callable) {
    const internal::cache_entry *known = memory_.look_up(callable);
    if (known == nullptr) return look(callable, nullptr);
    if (!memory_.holds(interface_, *known)) return look(callable, known);
    stats::add(event::cache_hit);
    return {reinterpret_cast<pointer>(known->funcptr), known->flags};
  }

  /// Like find(), but sets an exception if there is no such function.
  function_view<R(A...)> resolve(PyObject *callable) {
    const auto found = find(callable);
    if (!found) typedcall::resolve(interface_, callable, asked_);  // says why
    return found;
  }

 private:
  /// `known` is a cached entry that is no longer valid, or null.
  TYPEDCALL_OUT_OF_LINE function_view<R(A...)> look(PyObject *callable,
                                                    const internal::cache_entry *known) {
    // For a heap-allocated def, the table in front of its name is read on every call.
    const bool reread = known != nullptr && memory_.is_reread(*known);
    if (reread) {
      if (const auto *entry = internal::first_with<R(A...)>(known->def(), asked_)) {
        stats::add(event::cache_bypassed);
        return {reinterpret_cast<pointer>(entry->funcptr), entry->flags};
      }
    }
    // The search can run Python code that uses this site, so `known` must not be used after this
    // point.
    interface_ = internal::latest(interface_);
    internal::site_search search(interface_, callable, reread);
    void *funcptr = nullptr;
    std::uintptr_t flags = 0;
    internal::find_entry<internal::keeping::nothing, false>(
        interface_, callable, asked_,
        [&](const PyNativeCallableEntry &entry, place where, casting) {
          funcptr = entry.funcptr;
          flags = entry.flags;
          search.found(memory_, entry, where);
        });
    if (search.may_remember(memory_)) {
      memory_.remember(callable, search.guard(), funcptr, flags, search.where());
    }
    return {reinterpret_cast<pointer>(funcptr), flags};
  }

  const PyTypedcall_Interface *interface_;
  request asked_;
  internal::inline_cache memory_;
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALL_SITE_H_
