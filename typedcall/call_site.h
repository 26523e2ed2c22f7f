// A place in a consumer's code that sees the same callables again: call_site<double(double)> finds
// in a few nanoseconds what find() found before, and never what a callable that is gone had.
#ifndef TYPEDCALL_CALL_SITE_H_
#define TYPEDCALL_CALL_SITE_H_

#include "typedcall/resolve.h"
// resolve.h comes first, because of Python.h.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "typedcall/namespace.h"
#include "typedcall/resolve/inline_cache.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// The interface that someone has installed meanwhile, if `interface` only stands for it.
inline const PyTypedcall_Interface *latest(const PyTypedcall_Interface *interface) {
  const PyTypedcall_Interface *installed = PyTypedcall_Installed(interface);
  return installed != nullptr ? installed : interface;
}

/// Does it stand for an interface that has come meanwhile? Then its epochs are out of date.
inline bool has_arrived(const PyTypedcall_Interface *interface) {
#if TYPEDCALL_IS_SUPPORTED
  if (interface == nullptr || !PyTypedcall_Internal_IsAwaited(interface)) return false;
  const auto *awaited = static_cast<const PyTypedcall_Awaited *>(interface->state);
  return PyTypedcall_LOAD_ACQUIRE(&awaited->installed) != nullptr;
#else
  return interface == nullptr;
#endif
}

/// Can instances of `type` have tables of their own? What the type offers may be settled by a later
/// look only, and assigning to `__class__` gives an object another one: both while it is searched.
inline bool may_have_slots(PyTypeObject *type) {
  return Py_TYPE(type)->tp_basicsize >=
         static_cast<Py_ssize_t>(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleTypeData));
}

/// One search for a callable that is not remembered, and what may be remembered of it. Counts it.
class site_search {
 public:
  /// `reread`: of what was remembered.
  site_search(const PyTypedcall_Interface *interface, PyObject *callable, bool reread)
      : callable_(callable),
        interface_(interface),
        reread_(reread),
        guard_(inline_cache::epoch(interface)) {}

  /// To be called while the entry lasts.
  void found(inline_cache &memory, const PyNativeCallableEntry &entry, place where) {
    is_found_ = true;
    where_ = where;
    may_remember_ = memory.may_remember(callable_, &entry, where, reread_, guard_, &guard_);
  }

  /// To be called when the search is over.
  bool may_remember(inline_cache &memory) {
    if (!is_found_) {
      may_remember_ = memory.may_remember(callable_, nullptr, where_, reread_, guard_, &guard_);
    }
    // Without an interface there is no epoch, and the next one may have one.
    if ((interface_ == nullptr || has_arrived(interface_)) && where_ != place::method_def) {
      may_remember_ = false;
    }
    // A table in the instance would come first, and may be there the next time.
    if (where_ == place::side_table_object && may_have_slots(Py_TYPE(callable_))) {
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

/// Is this text, which may be any, that of the C++ type? Unrolled, and read up to the first
/// difference only.
template <class Signature, std::size_t... i>
bool is_text_of(const char *text, std::index_sequence<i...>) {
  return ((text[i] == signature_of<Signature>::text[i]) && ...);
}

/// The entry with the very text in the table behind a function's name, or null: what find() comes
/// upon first, without what it does for everything else.
template <class Signature>
const PyNativeCallableEntry *first_with(const PyMethodDef *def, const request &asked) {
  constexpr std::size_t length = std::char_traits<char>::length(signature_of<Signature>::text) + 1;
  constexpr PyNativeType result = signature_of<Signature>::parsed().result;
  const PyNativeCallableTable *table = PyTypedMethod_Table(def);
  if (table == nullptr) return nullptr;
  for (const PyNativeCallableEntry &entry : entries_of(*table)) {
    if (entry.signature == nullptr) continue;
    if (!is_text_of<Signature>(entry.signature, std::make_index_sequence<length>())) continue;
    if (is_open(entry, asked) && PyNativeCallable_IsWellFormed(entry.flags, result)) return &entry;
  }
  return nullptr;
}

}  // namespace internal

template <class Signature>
class function_view;

/// Empty, or an entry of signature R(A...), without a reference: valid while the caller has one to
/// the callable that it was found behind. Copying it costs nothing and needs no GIL.
template <class R, class... A>
class function_view<R(A...)> : public internal::native_pointer<R, A...> {
 public:
  function_view() = default;
  function_view(internal::c_function<R, A...> *address, std::uintptr_t flags)
      : internal::native_pointer<R, A...>(address, flags) {}

  /// Undefined when empty.
  R operator()(A... args) const { return this->call(args...); }
};

template <class Signature>
class call_site;

/// Answers one request for many callables: functions that take their arguments alone. Find once for
/// each call, then call: `if (auto f = site.find(callable)) y = f(x);`. Belongs to one interpreter:
/// it is made with that interpreter's interface (null: nothing is remembered, and only what needs
/// no side table is looked at) and kept in module state. Methods: GIL held, which keeps its users
/// apart; on a free-threaded CPython a site belongs to one thread. It holds no reference to any
/// callable or tag: look again for each call. What it finds is valid as long as the caller has a
/// reference to the callable and the tag's owner lives, which is the callable's own module or class
/// in all but odd cases (a class that hides the method, a module that was imported twice); a caller
/// that cannot know, and runs other Python code or threads without a GIL meanwhile, uses resolve().
template <class R, class... A>
class call_site<R(A...)> {
  using pointer = internal::c_function<R, A...> *;

 public:
  explicit call_site(const PyTypedcall_Interface *interface, capabilities can = 0)
      : interface_(interface), asked_(internal::plain_request<R(A...)>(can)) {}
  call_site(const call_site &) = delete;
  call_site &operator=(const call_site &) = delete;

  /// What find<R(A...)>(interface, callable, can) finds, or an empty function without an exception.
  function_view<R(A...)> find(PyObject *callable) {
    const internal::cache_entry *known = memory_.look_up(callable);
    if (known == nullptr) return look(callable, nullptr);
    if (!memory_.holds(interface_, *known)) return look(callable, known);
    stats::add(event::cache_hit);
    return {reinterpret_cast<pointer>(known->funcptr), known->flags};
  }

  /// The same, but an empty function comes with the exception of resolve().
  function_view<R(A...)> resolve(PyObject *callable) {
    const auto found = find(callable);
    if (!found) typedcall::resolve(interface_, callable, asked_);  // says why
    return found;
  }

 private:
  /// `known` is what was remembered and does not hold, or null.
  TYPEDCALL_OUT_OF_LINE function_view<R(A...)> look(PyObject *callable,
                                                    const internal::cache_entry *known) {
    // Of what is on the heap, the table behind the name is read on every call.
    const bool reread = known != nullptr && memory_.is_reread(*known);
    if (reread) {
      if (const auto *entry = internal::first_with<R(A...)>(known->def(), asked_)) {
        stats::add(event::cache_bypassed);
        return {reinterpret_cast<pointer>(entry->funcptr), entry->flags};
      }
    }
    // It can run Python code, which may use this site: `known` is not looked at afterwards.
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
