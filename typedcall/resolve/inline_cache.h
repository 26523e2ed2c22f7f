// The inline cache of a call site. It contains entries, and guards that show whether each entry is
// still valid. Used by typedcall/call_site.h.
#ifndef TYPEDCALL_RESOLVE_INLINE_CACHE_H_
#define TYPEDCALL_RESOLVE_INLINE_CACHE_H_

#include "typedcall/resolve/places.h"
// places.h comes first because it includes Python.h.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "typedcall/base/namespace.h"
#include "typedcall/resolve/request.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// An entry is valid as long as its guards hold. No guard reads memory that may have been freed. The
// callable must be at the remembered address, and the caller must have a reference to it. A new
// object may be at the address of a freed object, so the callable's PyMethodDef must also match. A
// new def may also be at the address of a freed def, and a def may change. Therefore results from
// the side table and from sibling symbols are remembered with an epoch, which changes whenever a
// row is added or removed. A row is removed before its def or object is freed. A def with a sibling
// symbol is never freed. A table in front of `ml_name` is remembered with the address of the name,
// and only if def, name, table and signature are static data of one shared object, which is never
// freed. All other tables can change or be freed unnoticed, and are read again each time. The side
// table is also read again for an object that may have its own table, because that table would take
// precedence.

/// Identifies a callable, in addition to its address. `word` is the address of the def for
/// functions and unbound methods, and the type for other objects.
struct identity {
  const PyTypeObject *type;
  std::uintptr_t word;
  std::uint8_t offset;

  static identity of(PyObject *callable) {
    const auto *def = def_of(callable);
    const auto word = reinterpret_cast<std::uintptr_t>(def);
    if (is_builtin(callable)) return {Py_TYPE(callable), word, offsetof(PyCFunctionObject, m_ml)};
    if (def != nullptr) return {Py_TYPE(callable), word, offsetof(PyMethodDescrObject, d_method)};
    return {Py_TYPE(callable), reinterpret_cast<std::uintptr_t>(Py_TYPE(callable)),
            offsetof(PyObject, ob_type)};
  }

  /// Faster than a comparison with of(callable). All objects of a type have the word at the same
  /// offset.
  bool is_of(PyObject *callable) const {
    return type == Py_TYPE(callable) &&
           word == *reinterpret_cast<const std::uintptr_t *>(
                       reinterpret_cast<const char *>(callable) + offset);
  }
};

/// A cached entry. All its data are copies, so freed memory is never read.
struct cache_entry {
  const PyObject *callable;  // never dereferenced
  identity was;              // identity of the callable that was found
  std::uint64_t guard;       // an epoch, or the address of a name
  void *funcptr;             // null if nothing is offered or the table must be read again
  std::uint32_t flags : 24;  // only these bits can be set in a usable entry
  std::uint32_t where : 4;

  /// Only for a live function or unbound method that matches `was`.
  const PyMethodDef *def() const { return reinterpret_cast<const PyMethodDef *>(was.word); }
};

inline std::uint64_t address_of_name(const PyMethodDef *def) {
  return reinterpret_cast<std::uintptr_t>(def->ml_name);
}

/// True if def, name, entry and signature are all static data of one shared object or of the
/// program. This is slow.
inline bool is_static(const PyMethodDef *def, const PyNativeCallableEntry *entry) {
#if TYPEDCALL_IS_SUPPORTED && defined(__ELF__)
  PyTypedMethod_Internal_Object object;
  object.address = def;
  object.objects_seen = 0;
  return dl_iterate_phdr(PyTypedMethod_Internal_Note, &object) != 0 &&
         PyTypedMethod_Internal_Holds(&object, def, sizeof(*def)) &&
         PyTypedMethod_Internal_Room(&object, def->ml_name) != 0 &&
         PyTypedMethod_Internal_Holds(&object, entry, sizeof(*entry)) &&
         PyTypedMethod_Internal_Room(&object, entry->signature) != 0;
#else
  return def == nullptr && entry == nullptr;
#endif
}

/// GIL: held for all functions, in the interpreter whose interface is passed.
class inline_cache {
 public:
  inline_cache() = default;
  inline_cache(const inline_cache &) = delete;
  inline_cache &operator=(const inline_cache &) = delete;

  /// Returns a number that changes whenever a row of the interpreter's side table is added or
  /// removed.
  static std::uint64_t epoch(const PyTypedcall_Interface *interface) {
    if (interface == nullptr) return 0;
    const PyTypedcall_Counters *live = PyTypedcall_LOAD_ACQUIRE(&interface->live_counters);
    return PyTypedcall_LOAD_ACQUIRE(&live->rows_added) +
           PyTypedcall_LOAD_ACQUIRE(&live->rows_removed);
  }

  /// Returns the cached entry of this callable, or null. The pointer is valid until another entry
  /// is stored.
  const cache_entry *look_up(PyObject *callable) const {
    const cache_entry *slot = slots_ + home_of(callable);
    for (std::size_t i = 0; slot->callable != callable; ++slot) {
      if (slot->callable == nullptr || ++i == kProbes) return nullptr;
    }
    return slot->was.is_of(callable) ? slot : nullptr;
  }

  /// True if the entry is still valid.
  static bool holds(const PyTypedcall_Interface *interface, const cache_entry &slot) {
    if (slot.where == static_cast<unsigned>(place::method_metadata)) {
      return slot.funcptr != nullptr && slot.guard == address_of_name(slot.def()) &&
             (slot.def()->ml_flags & METH_TYPED) != 0;
    }
    if (slot.guard != epoch(interface)) return false;
    // Only functions are remembered as offering nothing, until their flags contain METH_TYPED.
    return slot.funcptr != nullptr || (slot.def()->ml_flags & METH_TYPED) == 0;
  }

  /// True if this function's table is on the heap and must be read again.
  static bool is_reread(const cache_entry &slot) {
    return slot.where == static_cast<unsigned>(place::method_metadata) && slot.funcptr == nullptr &&
           slot.guard == address_of_name(slot.def());
  }

  /// True if an entry found in `where` may be remembered. Sets `*guard`. `entry` is null if nothing
  /// was found. `before` is the epoch before the search, because the search may have missed later
  /// changes. `reread` is the result of is_reread() for the previous entry.
  bool may_remember(PyObject *callable, const PyNativeCallableEntry *entry, place where,
                    bool reread, std::uint64_t before, std::uint64_t *guard) {
    const PyMethodDef *def = is_builtin(callable) ? def_of(callable) : nullptr;
    *guard = before;
    if (entry == nullptr) return def != nullptr && (def->ml_flags & METH_TYPED) == 0;
    if (where == place::method_metadata && def != nullptr) {
      *guard = address_of_name(def);
      if (reread) return false;
      if (is_static(def, entry)) return true;
      remember(callable, *guard, nullptr, 0, where);
      return false;
    }
    return where == place::def_row || where == place::object_row || where == place::sibling_symbol;
  }

  /// Does nothing if memory runs out.
  void remember(PyObject *callable, std::uint64_t guard, void *funcptr, std::uintptr_t flags,
                place where) {
    const cache_entry found = {callable,
                               identity::of(callable),
                               guard,
                               funcptr,
                               static_cast<std::uint32_t>(flags) & 0xffffff,
                               static_cast<std::uint32_t>(where) & 0xf};
    if (where != place::method_metadata) latest_ = guard;
    if (used_ * 4 >= capacity_ && capacity_ < kLargest) make_room();
    if (capacity_ != 0) *slot_for(found) = found;
  }

 private:
  static constexpr std::size_t kProbes = 8;
  static constexpr std::size_t kSmallest = 64, kLargest = 8192;
  static constexpr cache_entry kNothing[2] = {};  // indexed by the highest bit of the hash

  std::size_t home_of(const PyObject *callable) const {
    // Objects are often regularly spaced in memory. Multiplication alone would not distribute their
    // addresses well.
    std::uint64_t bits = reinterpret_cast<std::uintptr_t>(callable);
    bits ^= bits >> 7;
    return static_cast<std::size_t>(bits * UINT64_C(0x9e3779b97f4a7c15) >> shift_);
  }

  bool is_current(const cache_entry &slot) const {
    return slot.callable != nullptr &&
           (slot.where == static_cast<unsigned>(place::method_metadata) || slot.guard == latest_);
  }

  cache_entry *slot_for(const cache_entry &found) {
    cache_entry *home = slots_memory_.get() + home_of(found.callable), *stale = nullptr;
    for (cache_entry *slot = home; slot != home + kProbes; ++slot) {
      if (slot->callable == found.callable) return slot;
      if (slot->callable == nullptr) {
        ++used_;
        return slot;
      }
      if (stale == nullptr && !is_current(*slot)) stale = slot;
    }
    return stale != nullptr ? stale : home;
  }

  /// Drops entries that are no longer valid, and makes the capacity large enough for the others.
  TYPEDCALL_OUT_OF_LINE void make_room() {
    std::size_t live = 0;
    for (std::size_t i = 0; i < length(); ++i) live += is_current(slots_[i]);
    std::size_t capacity = kSmallest;
    while (capacity < kLargest && live * 8 >= capacity) capacity *= 2;
    std::unique_ptr<cache_entry[]> fresh(new (std::nothrow) cache_entry[capacity + kProbes - 1]());
    if (fresh == nullptr) return;
    const std::size_t old_length = length();
    const std::unique_ptr<cache_entry[]> old = std::exchange(slots_memory_, std::move(fresh));
    slots_ = slots_memory_.get();
    capacity_ = capacity;
    shift_ = 64;
    for (std::size_t i = capacity; i > 1; i /= 2) --shift_;
    used_ = 0;
    for (std::size_t i = 0; i < old_length; ++i) {
      if (is_current(old[i])) *slot_for(old[i]) = old[i];
    }
  }

  std::size_t length() const { return capacity_ == 0 ? 0 : capacity_ + kProbes - 1; }

  const cache_entry *slots_ = kNothing;
  unsigned shift_ = 63;
  std::size_t capacity_ = 0, used_ = 0;
  std::uint64_t latest_ = 0;  // the newest epoch
  std::unique_ptr<cache_entry[]> slots_memory_;
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_INLINE_CACHE_H_
