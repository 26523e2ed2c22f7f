// The resolver finds a native function with a given signature behind a Python object. It searches
// all places for tables (places.h) and returns the best entry for a request (request.h).
#ifndef TYPEDCALL_RESOLVE_H_
#define TYPEDCALL_RESOLVE_H_

#if defined(Py_LIMITED_API) || defined(Py_TARGET_ABI3T)
#error \
    "typedcall/resolve.h needs the full API: it looks into builtin functions and method descriptors"
#endif

#include "typedcall/base/with_exceptions.h"

#include "core/lazy_import.h"
#include "typedcall/resolve/places.h"
// The C headers come first because they need Python.h before all standard headers.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "typedcall/base/namespace.h"
#include "typedcall/base/stats.h"
#include "typedcall/resolve/diagnostics.h"
#include "typedcall/resolve/function.h"
#include "typedcall/resolve/request.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// A copy of a signature without an allocation. <string> would take too long to compile.
class signature_copy {
 public:
  signature_copy() = default;
  /// Truncates a text that is longer than any signature.
  signature_copy(const char *text) {
    for (std::size_t i = 0; i < PyNativeSignature_MAX_LENGTH && text[i] != '\0'; ++i) {
      text_[i] = text[i];
    }
  }
  const char *c_str() const { return text_; }

  friend bool operator==(const signature_copy &a, const char *b) {
    return std::strcmp(a.text_, b) == 0;
  }
  friend bool operator!=(const signature_copy &a, const char *b) { return !(a == b); }
  friend bool operator==(const char *a, const signature_copy &b) { return b == a; }
  friend bool operator!=(const char *a, const signature_copy &b) { return !(b == a); }

 private:
  char text_[PyNativeSignature_MAX_LENGTH + 1] = {};
};

/// An entry that was found, with a copy of its signature.
struct resolution {
  signature_copy signature;  ///< the provider's signature, not the requested one
  std::uintptr_t flags = 0;
  void *funcptr = nullptr;
  typedcall::place place = typedcall::place::instance_slot;
  /// Keeps `funcptr`, `callable` and `self` valid, even after the entry is untagged. Holds
  /// references to the callable, the tag and the owner of the tag. An object that owns a resolution
  /// must visit `keep_alive` in tp_traverse.
  object_ref keep_alive;
  /// The resolved callable. Borrowed from `keep_alive`.
  PyObject *callable = nullptr;
  /// If this is `safe`, the consumer must convert the arguments and the result (safe_cast).
  typedcall::casting casting = typedcall::casting::exact;
  /// The first argument of an entry with TAKES_SELF (see self_of()). Null for an unbound method.
  /// The caller of an unbound method must check self with check_self(). Borrowed from `keep_alive`.
  PyObject *self = nullptr;
  /// The defining class of a METH_METHOD callable. It is not passed to native functions. Borrowed
  /// from `keep_alive`.
  PyTypeObject *defining_class = nullptr;
};

namespace internal {

inline event found_in(place where) {
  return static_cast<event>(static_cast<unsigned>(event::found_instance_slot) +
                            static_cast<unsigned>(where));
}

/// Like find_entry(), but finds the entry with the cheapest safe conversions.
template <keeping kept, class Found>
bool find_safe_entry(const PyTypedcall_Interface *interface, PyObject *callable,
                     const request &asked, const Found &found) {
  PyNativeSignature parsed;
  if (PyNativeSignature_ParseString(asked.signature, &parsed, nullptr) < 0) return false;
  int best = std::numeric_limits<int>::max();
  visit_tables(interface, callable, [&](const PyNativeCallableTable &table, place) {
    select_cheapest(table, asked, parsed, &best);
    return false;
  });
  // Search again, because a table may be valid only during a visit.
  int below = best == std::numeric_limits<int>::max() ? 0 : best + 1;
  return visit_tables<kept>(
      interface, callable,
      [&](const PyNativeCallableTable &table, place where, const auto &...reference) {
        const auto *entry = select_cheapest(table, asked, parsed, &below);
        if (entry == nullptr) return false;
        found(*entry, where, casting::safe, reference...);
        return true;
      });
}

/// Calls found(entry, place, casting) with the best entry. The entry may be valid only during this
/// call. With keeping::held, also passes the reference that keeps the entry valid. Returns false if
/// there is no entry. Only with keeping::held can this set an exception (MemoryError). `may_cast`
/// can be false if the caller never allows casting::safe. GIL: held.
template <keeping kept, bool may_cast = true, class Found>
bool find_entry(const PyTypedcall_Interface *interface, PyObject *callable, const request &asked,
                const Found &found) {
  if (asked.signature == nullptr) return false;
  if (is_unbound(callable)) {
    if (!asked.unbound) return false;
  } else if ((asked.capabilities & PyNativeCallable_TAKES_SELF) != 0 &&
             self_of(callable) == nullptr) {
    request without_self = asked;
    without_self.capabilities &= ~PyNativeCallable_TAKES_SELF;
    return find_entry<kept, may_cast>(interface, callable, without_self, found);
  }
  const bool is_found = visit_tables<kept>(
      interface, callable,
      [&](const PyNativeCallableTable &table, place where, const auto &...reference) {
        const auto *entry = select(table, asked);
        if (entry == nullptr) return false;
        const bool is_exact = is_same_text(entry->signature, asked.signature);
        found(*entry, where, is_exact ? casting::exact : casting::equivalent, reference...);
        return true;
      });
  if constexpr (may_cast) {
    if (!is_found && asked.casting == casting::safe) {
      return find_safe_entry<kept>(interface, callable, asked, found);
    }
  }
  return is_found;
}

inline void count_found(bool is_found, place where) {
  stats::add(is_found ? found_in(where) : event::found_nothing);
}

/// Like find(), but returns false if there is no entry. May set MemoryError.
TYPEDCALL_HIDDEN bool find_held(const PyTypedcall_Interface *interface, PyObject *callable,
                                const request &asked, std::optional<resolution> *made);

/// The exceptions to set if no function is found.
enum class telling { nothing, no_memory, everything };

/// An entry for a typed function. If `funcptr` is null, there is no entry.
struct held_entry {
  void *funcptr = nullptr;
  std::uintptr_t flags = 0;
  object_ref reference;
};

/// Finds an entry that needs no conversions.
TYPEDCALL_HIDDEN held_entry find_typed(const PyTypedcall_Interface *interface, PyObject *callable,
                                       const request &asked, telling which);

/// Saves the current exception and discards exceptions that are set during a search.
class quietly {
 public:
  quietly() : saved_(PyTypedcall_SaveError()) {}
  quietly(const quietly &) = delete;
  quietly &operator=(const quietly &) = delete;
  ~quietly() { PyTypedcall_RestoreError(saved_); }

  /// True if memory ran out.
  static bool failed() { return PyErr_Occurred() != nullptr; }

 private:
  PyTypedcall_SavedError saved_;
};

#if !TYPEDCALL_INTERNAL_IS_DECLARED

TYPEDCALL_INTERNAL_DEFINE bool find_held(const PyTypedcall_Interface *interface, PyObject *callable,
                                         const request &asked, std::optional<resolution> *made) {
  const bool is_found = find_entry<keeping::held>(
      interface, callable, asked,
      [&](const PyNativeCallableEntry &entry, place where, casting how, object_ref reference) {
        auto &found = made->emplace();
        found.signature = entry.signature;
        found.flags = entry.flags;
        found.funcptr = entry.funcptr;
        found.place = where;
        found.keep_alive = std::move(reference);
        found.callable = callable;
        found.casting = how;
        found.self = self_of(callable);
        found.defining_class = defining_class_of(callable);
      });
  count_found(is_found, is_found ? (*made)->place : place());
  return is_found;
}

TYPEDCALL_INTERNAL_DEFINE held_entry find_typed(const PyTypedcall_Interface *interface,
                                                PyObject *callable, const request &asked,
                                                telling which) {
  held_entry found;
  // See resolve().
  const bool explain = which == telling::everything;
  if (explain && interface == nullptr && PyErr_Occurred()) return found;
  place found_at = place();
  bool failed;
  {
    const quietly pending;
    find_entry<keeping::held, false>(
        interface, callable, asked,
        [&](const PyNativeCallableEntry &entry, place where, casting, const object_ref &kept) {
          found.funcptr = entry.funcptr;
          found.flags = entry.flags;
          found_at = where;
          found.reference = kept;
        });
    failed = found.funcptr == nullptr && pending.failed();
  }
  count_found(found.funcptr != nullptr, found_at);
  if (which != telling::nothing && failed) {
    PyErr_NoMemory();
  } else if (explain && found.funcptr == nullptr) {
    set_refusal(interface, callable, asked);
  }
  return found;
}

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

}  // namespace internal

/// Returns the best entry of `callable` for `asked`. The places are searched in the order of
/// typedcall::place. In each place, an entry with the same signature is preferred to an equivalent
/// one. If no place has either and safe casting is allowed, returns the first entry with the
/// cheapest conversions. Returns nullopt without an exception if no entry is found or memory
/// runs out. `interface` comes from PyTypedcall_Import(). If `interface` is null, the side table is
/// not searched. `callable` may have any type. GIL: held. May collect garbage.
inline std::optional<resolution> find(const PyTypedcall_Interface *interface, PyObject *callable,
                                      const request &asked) {
  std::optional<resolution> made;
  const internal::quietly without_exceptions;
  internal::find_held(interface, callable, asked, &made);
  return made;
}

/// Finds an entry for a canonical signature. If `handled` includes TAKES_SELF, the consumer must
/// pass `resolution::self`. GIL: held.
inline std::optional<resolution> find(const PyTypedcall_Interface *interface, PyObject *callable,
                                      const char *signature, capabilities handled = 0) {
  return find(interface, callable, request{signature, handled});
}

/// Calls visit(entry, place) or visit(entry, place, reference) for all entries of `callable`, even
/// unusable ones. `reference` keeps the entry valid. `visit` may run Python code. If memory runs
/// out, skips entries and sets MemoryError. GIL: held.
template <class Visitor>
void for_each_entry(const PyTypedcall_Interface *interface, PyObject *callable, Visitor &&visit) {
  internal::visit_tables<internal::keeping::held>(
      interface, callable,
      [&](const PyNativeCallableTable &table, place where, const object_ref &reference) {
        for (const PyNativeCallableEntry &entry : internal::entries_of(table)) {
          if (entry.signature == nullptr) continue;
          if constexpr (std::is_invocable_v<Visitor, const PyNativeCallableEntry &, place,
                                            const object_ref &>) {
            visit(entry, where, reference);
          } else {
            visit(entry, where);
          }
        }
        return false;
      });
}

/// Like find(), but sets an exception if nothing is found. Raises ValueError for an invalid
/// signature, and TypeError if there is no such entry. An exception that is already set is kept on
/// success. On failure, it is replaced unless `interface` is null. GIL: held.
inline std::optional<resolution> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                                         const request &asked) {
  // Keep the exception of a failed PyTypedcall_Import().
  if (interface == nullptr && PyErr_Occurred()) return std::nullopt;
  if (!internal::check_signature(asked.signature, nullptr)) return std::nullopt;
  std::optional<resolution> found;
  bool failed;
  {
    const internal::quietly pending;
    // A MemoryError in one place does not matter if another place has an entry.
    failed = !internal::find_held(interface, callable, asked, &found) && pending.failed();
  }
  if (failed) {
    PyErr_NoMemory();
  } else if (!found) {
    internal::set_refusal(interface, callable, asked);
  }
  return found;
}

inline std::optional<resolution> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                                         const char *signature, capabilities handled = 0) {
  return resolve(interface, callable, request{signature, handled});
}

namespace internal {

/// Returns the request for a function without self.
template <class Signature>
request plain_request(capabilities handled) {
  return {signature_of<Signature>::text, handled & ~PyNativeCallable_TAKES_SELF};
}

/// True for an unbound method. Otherwise sets TypeError, unless `which` is telling::nothing.
inline bool expect_unbound(const PyTypedcall_Interface *interface, PyObject *callable,
                           telling which) {
  if (is_unbound(callable)) return true;
  // See resolve().
  if (which == telling::nothing || (interface == nullptr && PyErr_Occurred())) return false;
  set_not_unbound(callable);
  return false;
}

/// Finds functions for one of the tags below.
template <template <class Signature> class Function>
struct finder {
  /// Returns the function for a request, or an empty function. The signature is not checked,
  /// because it comes from a C++ type.
  template <class Signature>
  static Function<Signature> find(const PyTypedcall_Interface *interface, PyObject *callable,
                                  const request &asked, telling which) {
    using made = Function<Signature>;
    held_entry found = find_typed(interface, callable, asked, which);
    if (found.funcptr == nullptr) return {};
    const auto address = reinterpret_cast<typename made::pointer>(found.funcptr);
    if constexpr (std::is_same_v<made, bound_function<Signature>>) {
      return {address, found.flags, object_ref::borrow(self_of(callable)),
              std::move(found.reference)};
    } else if constexpr (std::is_same_v<made, unbound_function<Signature>>) {
      return {address, found.flags, callable, std::move(found.reference)};
    } else {
      return {address, found.flags, std::move(found.reference)};
    }
  }

  template <class Signature>
  static Function<Signature> find(const PyTypedcall_Interface *interface, PyObject *callable,
                                  capabilities handled, telling which) {
    request asked = plain_request<Signature>(handled);
    if constexpr (!std::is_same_v<Function<Signature>, function<Signature>>) {
      asked.capabilities |= PyNativeCallable_TAKES_SELF;
      asked.required = PyNativeCallable_TAKES_SELF;
    }
    if constexpr (std::is_same_v<Function<Signature>, unbound_function<Signature>>) {
      asked.unbound = true;
      if (!expect_unbound(interface, callable, which)) return {};
    }
    return find<Signature>(interface, callable, asked, which);
  }
};

}  // namespace internal

// These tags select the kind of function that find() and resolve() return.

/// A function without self. Entries that take self are never found, even if `handled` includes
/// TAKES_SELF.
using plain = internal::finder<function>;
/// A function with its self, from a bound method, a module function, or an instance with a table.
/// The signature does not include self.
using bound = internal::finder<bound_function>;
/// A function that takes self, from an unbound method such as `Type.method`.
using unbound = internal::finder<unbound_function>;

/// Returns the typed function, or an empty function without an exception. Example:
/// find<double(double)>(interface, callable, bound()). GIL: held.
template <class Signature, template <class> class Function>
Function<Signature> find(const PyTypedcall_Interface *interface, PyObject *callable,
                         internal::finder<Function> how, capabilities handled = 0) {
  return how.template find<Signature>(interface, callable, handled, internal::telling::nothing);
}

/// Returns a plain function. Example: find<double(double)>(interface, callable).
template <class Signature>
function<Signature> find(const PyTypedcall_Interface *interface, PyObject *callable,
                         capabilities handled = 0) {
  return find<Signature>(interface, callable, plain(), handled);
}

/// Like find<Signature>(), but sets an exception if no function is found. GIL: held.
template <class Signature, template <class> class Function>
Function<Signature> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                            internal::finder<Function> how, capabilities handled = 0) {
  return how.template find<Signature>(interface, callable, handled, internal::telling::everything);
}

template <class Signature>
function<Signature> resolve(const PyTypedcall_Interface *interface, PyObject *callable,
                            capabilities handled = 0) {
  return resolve<Signature>(interface, callable, plain(), handled);
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_H_
