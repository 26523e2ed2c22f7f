// A consumer's request. Also selects the best entry of a table for a request.
#ifndef TYPEDCALL_RESOLVE_REQUEST_H_
#define TYPEDCALL_RESOLVE_REQUEST_H_

#include <cstddef>
#include <cstdint>

#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/native_callable.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// The mandatory PyNativeCallable_* bits that a consumer can handle. Entries with other mandatory
/// bits are not offered to the consumer.
using capabilities = std::uintptr_t;

/// For a consumer that calls with the GIL held. With checks_errors, the consumer also calls
/// function::raised() after each call.
inline constexpr capabilities holds_gil = PyNativeCallable_NEEDS_THREAD;
inline constexpr capabilities checks_errors =
    PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE | PyNativeCallable_ERROR_IS_NEG_ZERO;
/// For a consumer that accepts results that differ from the Python callable's.
inline constexpr capabilities accepts_differences = PyNativeCallable_DIFFERS;
/// For a consumer that, like fallback.h, calls the Python callable if the function falls back.
inline constexpr capabilities calls_boxed = PyNativeCallable_FALLS_BACK;
/// For a consumer that passes `resolution::self` before the arguments.
inline constexpr capabilities passes_self = PyNativeCallable_TAKES_SELF;

/// Which signatures satisfy a request, in order of preference.
enum class casting : unsigned char {
  exact,       ///< entries with the same text
  equivalent,  ///< entries with the same widths, signedness and classes; more of their arguments
               ///< may be const
  safe         ///< entries that the consumer can call with lossless conversions (safe_cast)
};

/// A consumer's request.
struct request {
  const char *signature = nullptr;  ///< canonical text
  typedcall::capabilities capabilities = 0;
  /// With `exact`, `q` does not satisfy a request for `l`.
  typedcall::casting casting = typedcall::casting::equivalent;
  /// Bits that an entry must have, such as PyNativeCallable_TAKES_SELF or
  /// PyNativeCallable_THREAD_SAFE.
  std::uintptr_t required = 0;
  /// True to include unbound methods (`Type.method`). The consumer must then check each self with
  /// check_self(), or call without self.
  bool unbound = false;
};

namespace internal {

/// Maps integer letters of the same width and signedness to one letter, and other letters to
/// themselves.
struct width_classes {
  char of[128];
};
constexpr width_classes make_width_classes() {
  width_classes classes{};
  for (std::size_t letter = 0; letter < sizeof(classes.of); ++letter) {
    const char self = static_cast<char>(letter);
    classes.of[letter] = self;
    const int code = letter == 0 ? -1 : PyNativeCode_FromLetters(self, '\0');
    if (code < 0) continue;
    for (int other = 0; other < PyNativeType_COUNT; ++other) {
      const PyNativeType a = {static_cast<unsigned char>(code), 0};
      const PyNativeType b = {static_cast<unsigned char>(other), 0};
      if (!PyNativeType_Equivalent(a, b)) continue;
      classes.of[letter] = PyNativeCode_Letters(other)[0];
      break;
    }
  }
  return classes;
}

/// Returns the same result as PyNativeSignature_Satisfies, without parsing. `signature` is the
/// request, and must be canonical. `text` may be any string. A text that satisfies the request is a
/// canonical signature, too.
inline bool has_widths_of(const char *signature, const char *text) {
  static constexpr width_classes classes = make_width_classes();
  char before = '\0';  // the character before `signature` and `text`
  bool is_result = false;
  for (;; ++signature, ++text) {
    auto a = static_cast<unsigned char>(*signature), b = static_cast<unsigned char>(*text);
    if (TYPEDCALL_EXPECT(a != b && (before == '&' || before == '*'), 0)) {
      // A writable argument may be passed as const. A writable result may be returned as const.
      if (is_result ? a == 'k' : b == 'k') {
        if (is_result) {
          a = static_cast<unsigned char>(*++signature);
        } else {
          b = static_cast<unsigned char>(*++text);
          if (before == '*' && b == 's') return false;  // "*s" has no "k"
        }
      }
    }
    if (a != b &&
        (a >= sizeof(classes.of) || b >= sizeof(classes.of) || classes.of[a] != classes.of[b])) {
      return false;
    }
    if (a == '\0') return true;
    before = static_cast<char>(a);
    is_result = is_result || a == '>';
  }
}

/// Inline because the texts are short.
inline bool is_same_text(const char *a, const char *b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

/// Returns the rank of a number type. A type can hold values of lower ranks if it is wide enough.
constexpr int rank_of(PyNativeType type) {
  switch (PyNativeType_Kind(type)) {
    case PyNativeKind_BOOL:
      return 0;
    case PyNativeKind_UNSIGNED:
      return 1;
    case PyNativeKind_SIGNED:
      return 2;
    case PyNativeKind_FLOATING:
      return 3;
    case PyNativeKind_COMPLEX:
      return 4;
    default:  // not a number
      return -1;
  }
}

/// Returns the size of a number, or of a part of a complex number.
constexpr std::size_t width_of(PyNativeType type) {
  const std::size_t size = PyNativeCode_Size(type.code);
  return PyNativeCode_Kind(type.code) == PyNativeKind_COMPLEX ? size / 2 : size;
}

/// Returns the cost of a conversion. Returns 0 if the value can be passed unchanged, and -1 if `to`
/// cannot hold every value of `from`. A change of rank costs more than any widening. Pointers,
/// strings, objects and buffers cannot be converted.
constexpr int conversion_cost(PyNativeType from, PyNativeType to) {
  if (PyNativeType_PassesAs(from, to)) return 0;
  const int low = rank_of(from), high = rank_of(to);
  if (low < 0 || high < low) return -1;
  if (PyNativeCode_Digits(from.code) > PyNativeCode_Digits(to.code)) return -1;
  int doublings = 0;
  for (std::size_t size = width_of(from); size * 2 <= width_of(to); size *= 2) ++doublings;
  return 8 * (high - low) + doublings;
}

/// Returns the cost of satisfying `asked` with `offered`, or -1 if a value could be lost.
inline int casting_cost(const PyNativeSignature &asked, const PyNativeSignature &offered) {
  if (asked.nargs != offered.nargs) return -1;
  int sum = conversion_cost(offered.result, asked.result);
  for (int i = 0; sum >= 0 && i < asked.nargs; ++i) {
    const int cost = conversion_cost(asked.args[i], offered.args[i]);
    sum = cost < 0 ? -1 : sum + cost;
  }
  return sum;
}

/// The entries of a table, for range-based loops. Uses pointers because the struct declares an
/// array of one element, and -fsanitize=bounds would report other indices.
class entries_of {
 public:
  explicit entries_of(const PyNativeCallableTable &table)
      : begin_(table.entries), end_(begin_ + (table.count > 0 ? table.count : 0)) {}
  const PyNativeCallableEntry *begin() const { return begin_; }
  const PyNativeCallableEntry *end() const { return end_; }

 private:
  const PyNativeCallableEntry *begin_, *end_;
};

inline bool can_call(const PyNativeCallableEntry &entry, capabilities handled) {
  return PyNativeCallable_FlagsAreUsable(entry.flags) &&
         (entry.flags & PyNativeCallable_MANDATORY_MASK & ~handled) == 0;
}

/// True if the consumer may use this entry. Does not check the signature.
inline bool is_open(const PyNativeCallableEntry &entry, const request &asked) {
  return entry.funcptr != nullptr && can_call(entry, asked.capabilities) &&
         (asked.required & ~entry.flags) == 0;
}

/// True if the flags suit the result. The signature must be canonical.
TYPEDCALL_RARE inline bool goes_with_result(const PyNativeCallableEntry &entry) {
  const char *text = entry.signature;
  while (*text != '>') {
    if (*text++ == '\0') return false;  // not a signature
  }
  PyNativeType result = {0, static_cast<unsigned char>(*++text == '&' ? 1 : 0)};
  if (result.pointer_flags != 0) text += text[1] == 'k' ? 2 : 1;
  const int code = PyNativeCode_FromLetters(text[0], text[0] == 'Z' ? text[1] : '\0');
  result.code = static_cast<unsigned char>(code);
  return PyNativeCallable_IsWellFormed(entry.flags, result) != 0;
}

/// True if the flags for exceptions, status and falling back suit the result. The entry must be
/// is_open() and have a canonical signature.
inline bool is_usable(const PyNativeCallableEntry &entry) {
  return (entry.flags & PyNativeCallable_Internal_OUTCOME_MASK) == 0 || goes_with_result(entry);
}

/// True if the last argument is a place for the value in both signatures or in neither.
TYPEDCALL_RARE inline bool has_same_place(const PyNativeCallableEntry &entry,
                                          const request &asked) {
  const auto is_place = [](const char *signature) {
    PyNativeSignature parsed;
    return PyNativeSignature_ParseString(signature, &parsed, nullptr) == 0 && parsed.nargs > 0 &&
           PyNativeType_IsPlace(parsed.args[parsed.nargs - 1]) != 0;
  };
  return is_place(entry.signature) == is_place(asked.signature);
}

/// True if the entry stores the value of a status function where the request expects it. The entry
/// must be is_usable(). A const argument is never a place for the value.
inline bool gives_value_there(const PyNativeCallableEntry &entry, const request &asked) {
  return (entry.flags & PyNativeCallable_Internal_STATUS_MASK) == 0 || has_same_place(entry, asked);
}

/// Returns the first entry with the same text. If there is none and the request allows it, returns
/// the first entry with the same widths and classes. Otherwise, returns null.
inline const PyNativeCallableEntry *select(const PyNativeCallableTable &table,
                                           const request &asked) {
  for (const PyNativeCallableEntry &entry : entries_of(table)) {
    if (entry.signature == nullptr || !is_same_text(entry.signature, asked.signature)) continue;
    if (is_open(entry, asked) && is_usable(entry)) return &entry;
  }
  if (asked.casting == casting::exact) return nullptr;
  for (const PyNativeCallableEntry &entry : entries_of(table)) {
    if (entry.signature == nullptr || !has_widths_of(asked.signature, entry.signature)) continue;
    if (is_open(entry, asked) && is_usable(entry) && gives_value_there(entry, asked)) {
      return &entry;
    }
  }
  return nullptr;
}

/// Returns the first entry with the lowest cost below `*best` and sets `*best` to this cost.
/// Returns null if there is no such entry.
inline const PyNativeCallableEntry *select_cheapest(const PyNativeCallableTable &table,
                                                    const request &asked,
                                                    const PyNativeSignature &parsed, int *best) {
  const PyNativeCallableEntry *cheapest = nullptr;
  for (const PyNativeCallableEntry &entry : entries_of(table)) {
    PyNativeSignature offered;
    if (entry.signature == nullptr || !is_open(entry, asked)) continue;
    if (PyNativeSignature_ParseString(entry.signature, &offered, nullptr) < 0) continue;
    if (!PyNativeCallable_IsWellFormed(entry.flags, offered.result)) continue;
    const int cost = casting_cost(parsed, offered);
    if (cost < 0 || cost >= *best || !gives_value_there(entry, asked)) continue;
    *best = cost;
    cheapest = &entry;
  }
  return cheapest;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_RESOLVE_REQUEST_H_
