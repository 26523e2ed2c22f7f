// What a consumer asks for: a signature, the effects that it can handle, and which conversions it
// is ready to make; and which entry of a table answers that best. Reads tables only: no Python.
#ifndef TYPEDCALL_RESOLVE_REQUEST_H_
#define TYPEDCALL_RESOLVE_REQUEST_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "typedcall/namespace.h"
#include "typedcall/native_callable.h"
#include "typedcall/signature_of.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// What a consumer can handle beyond calling: the sum of PyNativeCallable_* bits that must be
/// understood and that it does understand. An entry that asks for more is not offered to it.
using capabilities = std::uintptr_t;

/// For a consumer that calls with the GIL held and asks function::raised() after each call.
inline constexpr capabilities holds_gil = PyNativeCallable_NEEDS_THREAD;
inline constexpr capabilities checks_errors =
    PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE | PyNativeCallable_ERROR_IS_NEG_ZERO;
/// For a consumer that takes what the C function does on inputs where the Python callable differs.
inline constexpr capabilities accepts_differences = PyNativeCallable_DIFFERS;
/// For a consumer that calls the Python callable where the function falls back, as fallback.h does.
inline constexpr capabilities calls_boxed = PyNativeCallable_FALLS_BACK;
/// For a consumer that passes `resolution::self` in front of the arguments.
inline constexpr capabilities passes_self = PyNativeCallable_TAKES_SELF;

/// Which signatures answer a request, in the order of preference.
enum class casting : unsigned char {
  exact,       ///< the very text
  equivalent,  ///< the same widths, signedness and classes: the same machine code calls it; an
               ///< argument may be const where it was not asked to be
  safe         ///< another one that loses nothing, if the consumer converts (typedcall/casting.h)
};

/// A consumer's request.
struct request {
  const char *signature = nullptr;  ///< canonical text
  capabilities can = 0;
  /// `exact` refuses even `q` for `l`.
  casting allowed = casting::equivalent;
  /// Bits that an entry must have: PyNativeCallable_TAKES_SELF, or PyNativeCallable_THREAD_SAFE.
  std::uintptr_t required = 0;
  /// Unbound methods (`Type.method`) are only offered to a consumer that says so: it checks every
  /// self with check_self() before it passes it, or calls without it.
  bool unbound = false;
};

namespace internal {

/// For each letter the letter that stands for its width and signedness; itself for all but
/// integers.
constexpr std::array<char, 128> width_classes() {
  std::array<char, 128> classes{};
  for (std::size_t letter = 0; letter < classes.size(); ++letter) {
    const char self = static_cast<char>(letter);
    classes[letter] = self;
    const int code = letter == 0 ? -1 : PyNativeCode_FromLetters(self, '\0');
    if (code < 0) continue;
    for (int other = 0; other < PyNativeType_COUNT; ++other) {
      const PyNativeType a = {static_cast<unsigned char>(code), 0};
      const PyNativeType b = {static_cast<unsigned char>(other), 0};
      if (!PyNativeType_Equivalent(a, b)) continue;
      classes[letter] = PyNativeCode_Letters(other)[0];
      break;
    }
  }
  return classes;
}

/// Does a function of `text` answer a request for `signature`, which is canonical text? The other
/// text may be anything: putting one integer's letter for another's keeps canonical text canonical,
/// and so does a "k" behind the mark of a pointer, so what passes is a signature. The same answer
/// as PyNativeSignature_Answers's, without parsing.
inline bool has_widths_of(const char *signature, const char *text) {
  static constexpr std::array<char, 128> classes = width_classes();
  char before = '\0';  // in both texts
  bool is_result = false;
  for (;; ++signature, ++text) {
    auto a = static_cast<unsigned char>(*signature), b = static_cast<unsigned char>(*text);
    if (TYPEDCALL_EXPECT(a != b && (before == '&' || before == '*'), 0)) {
      // A writable argument may be passed to a function that promises not to write; for a result it
      // is the reverse.
      if (is_result ? a == 'k' : b == 'k') {
        if (is_result) {
          a = static_cast<unsigned char>(*++signature);
        } else {
          b = static_cast<unsigned char>(*++text);
          if (before == '*' && b == 's') return false;  // it has no "k"
        }
      }
    }
    if (a != b && (a >= classes.size() || b >= classes.size() || classes[a] != classes[b])) {
      return false;
    }
    if (a == '\0') return true;
    before = static_cast<char>(a);
    is_result = is_result || a == '>';
  }
}

/// For short texts, inline.
inline bool is_same_text(const char *a, const char *b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

/// bool, unsigned, signed, floating, complex: each can hold what comes before it, width permitting.
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
    default:  // no number
      return -1;
  }
}

/// Bits of an integer's magnitude, or of the numbers that a floating type (one part of a complex
/// one) holds without gaps.
constexpr int precision_of(PyNativeType type) {
  const int rank = rank_of(type), bits = static_cast<int>(8 * PyNativeCode_Size(type.code));
  if (rank > 2) {
    return with_real_type(type.code,
                          [](auto real) { return mantissa_bits<decltype(real)>::value; });
  }
  return rank == 0 ? 1 : rank == 2 ? bits - 1 : bits;
}

/// Bytes of a number, or of one part of a complex one.
constexpr std::size_t width_of(PyNativeType type) {
  const std::size_t size = PyNativeCode_Size(type.code);
  return PyNativeCode_Kind(type.code) == PyNativeKind_COMPLEX ? size / 2 : size;
}

/// How far apart two types are: 0 when one passes as the other, -1 when some value of `from` is
/// none of `to`. A change of class (8 for each step of rank) costs more than any widening of it.
/// Pointers, strings, objects and buffers are only themselves.
constexpr int conversion_cost(PyNativeType from, PyNativeType to) {
  if (PyNativeType_PassesAs(from, to)) return 0;
  const int low = rank_of(from), high = rank_of(to);
  if (low < 0 || high < low || precision_of(from) > precision_of(to)) return -1;
  int doublings = 0;
  for (std::size_t size = width_of(from); size * 2 <= width_of(to); size *= 2) ++doublings;
  return 8 * (high - low) + doublings;
}

/// The cost of answering `asked` with `offered`: arguments are converted to what is offered, the
/// result to what was asked for. -1: not without loss.
inline int casting_cost(const PyNativeSignature &asked, const PyNativeSignature &offered) {
  if (asked.nargs != offered.nargs) return -1;
  int sum = conversion_cost(offered.result, asked.result);
  for (int i = 0; sum >= 0 && i < asked.nargs; ++i) {
    const int cost = conversion_cost(asked.args[i], offered.args[i]);
    sum = cost < 0 ? -1 : sum + cost;
  }
  return sum;
}

/// The entries of a table, for loops. By pointer: what is indexed as the array of one that the
/// struct declares has one element for -fstrict-flex-arrays and -fsanitize=bounds.
class entries_of {
 public:
  explicit entries_of(const PyNativeCallableTable &table)
      : begin_(table.entries), end_(begin_ + (table.count > 0 ? table.count : 0)) {}
  const PyNativeCallableEntry *begin() const { return begin_; }
  const PyNativeCallableEntry *end() const { return end_; }

 private:
  const PyNativeCallableEntry *begin_, *end_;
};

inline bool can_call(const PyNativeCallableEntry &entry, capabilities can) {
  return PyNativeCallable_FlagsAreUsable(entry.flags) &&
         (entry.flags & PyNativeCallable_MANDATORY_MASK & ~can) == 0;
}

/// True if the consumer may use this entry, whatever its signature.
inline bool is_open(const PyNativeCallableEntry &entry, const request &asked) {
  return entry.funcptr != nullptr && can_call(entry, asked.can) &&
         (asked.required & ~entry.flags) == 0;
}

/// Do the flags go with the result? For canonical text, which is not parsed.
TYPEDCALL_RARE inline bool goes_with_result(const PyNativeCallableEntry &entry) {
  const char *text = entry.signature;
  while (*text != '>') {
    if (*text++ == '\0') return false;  // a request that nobody has checked
  }
  PyNativeType result = {0, static_cast<unsigned char>(*++text == '&' ? 1 : 0)};
  if (result.is_pointer != 0) text += text[1] == 'k' ? 2 : 1;
  const int code = PyNativeCode_FromLetters(text[0], text[0] == 'Z' ? text[1] : '\0');
  result.code = static_cast<unsigned char>(code);
  return PyNativeCallable_IsWellFormed(entry.flags, result) != 0;
}

/// May the consumer use an entry that is_open(), and whose text is canonical? Its flags must go
/// with its result, which only counts for the ways to report something.
inline bool is_usable(const PyNativeCallableEntry &entry) {
  constexpr std::uintptr_t reports =
      PyNativeCallable_MAY_RAISE | PyNativeCallable_RETURNS_STATUS | PyNativeCallable_FALLS_BACK;
  return (entry.flags & reports) == 0 || goes_with_result(entry);
}

/// Is the last argument a place for the value in both or in neither?
TYPEDCALL_RARE inline bool has_same_place(const PyNativeCallableEntry &entry,
                                          const request &asked) {
  const auto is_place = [](const char *signature) {
    PyNativeSignature parsed;
    return PyNativeSignature_ParseString(signature, &parsed, nullptr) == 0 && parsed.nargs > 0 &&
           PyNativeType_IsPlace(parsed.args[parsed.nargs - 1]) != 0;
  };
  return is_place(entry.signature) == is_place(asked.signature);
}

/// Where the C result is a status: does the value of an entry that is_usable() go where the request
/// expects it? An argument may be const where it was not asked to be, but not the place of the
/// value: then there is none.
inline bool gives_value_there(const PyNativeCallableEntry &entry, const request &asked) {
  constexpr std::uintptr_t by_place = PyNativeCallable_RETURNS_STATUS | PyNativeCallable_FALLS_BACK;
  return (entry.flags & by_place) == 0 || has_same_place(entry, asked);
}

/// The first entry with the very text, else, if that is allowed, the first of the same widths and
/// classes, else null.
inline const PyNativeCallableEntry *select(const PyNativeCallableTable &table,
                                           const request &asked) {
  for (const PyNativeCallableEntry &entry : entries_of(table)) {
    if (entry.signature == nullptr || !is_same_text(entry.signature, asked.signature)) continue;
    if (is_open(entry, asked) && is_usable(entry)) return &entry;
  }
  if (asked.allowed == casting::exact) return nullptr;
  for (const PyNativeCallableEntry &entry : entries_of(table)) {
    if (entry.signature == nullptr || !has_widths_of(asked.signature, entry.signature)) continue;
    if (is_open(entry, asked) && is_usable(entry) && gives_value_there(entry, asked)) {
      return &entry;
    }
  }
  return nullptr;
}

/// The entry with the lowest cost below `*best`, which becomes that, or null; the first of several.
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
