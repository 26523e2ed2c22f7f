// Chooses the overload for a call's values. Source: docs/ABI.md, 8.7 to 8.9.
#ifndef TYPEDCALL_CALLING_CHOOSE_H_
#define TYPEDCALL_CALLING_CHOOSE_H_

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "typedcall/base/namespace.h"
#include "typedcall/base/stack.h"
#include "typedcall/calling/argument_value.h"
#include "typedcall/calling/entry.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// Calls `visit` for each suitable overload, best first, until `visit` returns false. `worst` has
/// the worst rank of each overload: NONE if it is not suitable. `ranks` has a row of `count` ranks
/// for each. The worst ranks are overwritten.
template <class Visit>
void each_best(unsigned char *worst, const unsigned char *ranks, std::size_t rows,
               std::size_t count, const Visit &visit) {
  for (;;) {
    auto row = static_cast<std::size_t>(std::min_element(worst, worst + rows) - worst);
    if (row == rows || worst[row] >= PyNativeRank_NONE) return;
    row = PyNativeChoice_FirstUnbeaten(worst, ranks, rows, count, count, row);
    worst[row] = PyNativeRank_NONE;
    if (!visit(row)) return;
  }
}

/// The entries of all overloads of one Python function, including those that the sink cannot call.
/// Immutable once prepared.
class overloads {
 public:
  /// The most C arguments of a few parameters. Each may be a buffer. The last is the place for the
  /// result.
  static constexpr std::size_t few_values = 2 * internal::few_arguments + 1;

  std::vector<entry> all;

  /// Call this once `all` is complete.
  void prepare() {
    find_alone();
    for (unsigned kind = 0; kind < PyNativeArgumentKind_COUNT; ++kind) {
      first_[kind] = first_for(static_cast<PyNativeArgumentKind>(kind));
    }
  }

  /// Call this instead of prepare() if the arguments will always have the same kinds. `all` must be
  /// in the order of each_best() for arguments of these kinds.
  void prepare_in_order() {
    find_alone();
    is_in_order_ = true;
  }

  /// Returns the only overload. Returns null if there are several, or if it has more than
  /// few_values C arguments.
  const entry *alone() const { return alone_; }
  /// Returns the overload to try first for a single argument of this kind, or null.
  const entry *first(PyNativeArgumentKind kind) const { return first_[kind]; }

  /// Returns the overload for these arguments and fills in `values`. Returns null if Python must
  /// decide.
  TYPEDCALL_OUT_OF_LINE const entry *choose(const argument_value *arguments, std::size_t count,
                                            native_value *values) const {
    if (is_in_order_) return first_of_all(arguments, count, values);
    if (all.size() == 1) {
      const entry &only = all[0];
      const bool is_called = only.is_here() && only.parameters.size() == count;
      return is_called && convert_all(only, arguments, count, values) ? &only : nullptr;
    }
    const entry *best = nullptr;
    PyNativeRank how = PyNativeRank_NONE;
    bool is_best = false;
    for (const entry &each : all) {
      const PyNativeRank rank = worst_of(each, arguments, count);
      if (rank > how || rank == PyNativeRank_NONE) continue;
      is_best = rank < how;
      how = rank;
      best = &each;
    }
    if (best == nullptr || (is_best && !best->is_here())) return nullptr;
    if (is_best && convert_all(*best, arguments, count, values)) return best;
    return walk(arguments, count, values);
  }

  /// Stores the worst rank of each overload, and a row with the rank of each argument if it suits.
  void rank(const argument_value *arguments, std::size_t count, unsigned char *worst,
            unsigned char *ranks) const {
    for (const entry &each : all) {
      *worst = static_cast<unsigned char>(worst_of(each, arguments, count));
      for (std::size_t i = 0; *worst != PyNativeRank_NONE && i < count; ++i) {
        ranks[i] = static_cast<unsigned char>(rank_of(arguments[i], each.parameters[i]));
      }
      ++worst, ranks += count;
    }
  }

 private:
  void find_alone() {
    alone_ = all.size() == 1 && all[0].invoke.arity() <= few_values ? &all[0] : nullptr;
  }

  // Returns false if the overload cannot take these arguments as they are.
  static bool convert_all(const entry &one, const argument_value *arguments, std::size_t count,
                          native_value *values) {
    const value_type *type = one.parameters.data();
    for (std::size_t i = 0; i < count; ++i, ++type) {
      if (convert(arguments[i], *type, values) != converted::yes) return false;
      values += type->is_buffer ? 2 : 1;
    }
    return true;
  }

  // Returns null if any overload takes a buffer that is not a text, because the kind of a value
  // does not show whether the value suits such a buffer.
  const entry *first_for(PyNativeArgumentKind kind) const {
    const entry *best = nullptr;
    PyNativeRank how = PyNativeRank_NONE;
    for (const entry &each : all) {
      if (each.parameters.size() != 1) continue;
      const value_type &type = each.parameters[0];
      if (type.is_buffer && !type.is_text) return nullptr;
      const PyNativeRank rank = PyNativeChoice_Rank(type.ranks, kind);
      if (rank < how) best = &each, how = rank;
    }
    return best != nullptr && best->is_here() ? best : nullptr;
  }

  static PyNativeRank worst_of(const entry &one, const argument_value *arguments,
                               std::size_t count) {
    PyNativeRank worst = PyNativeRank_OWN;
    if (one.parameters.size() != count) return PyNativeRank_NONE;
    const value_type *type = one.parameters.data();
    for (std::size_t i = 0; i < count; ++i, ++type) {
      const PyNativeRank rank = rank_of(arguments[i], *type);
      if (rank > worst) worst = rank;
    }
    return worst;
  }

  using positions = std::bitset<PyNativeSignature_MAX_ARGS>;

  // Takes the values for the overload `one`. `too_large` marks ints that were out of range for this
  // or an earlier overload.
  static converted attempt(const entry &one, const argument_value *arguments, std::size_t count,
                           native_value *values, positions *too_large) {
    // An int that was out of range for an earlier overload could lose digits here.
    for (std::size_t i = 0; i < count; ++i) {
      if ((*too_large)[i] && one.parameters[i].loses_digits) return converted::out_of_range;
    }
    converted all_of_them = converted::yes;
    const value_type *type = one.parameters.data();
    for (std::size_t i = 0; i < count; ++i, ++type) {
      const converted found = convert(arguments[i], *type, values);
      if (found == converted::no) return found;
      if (found == converted::out_of_range) all_of_them = found, (*too_large)[i] = true;
      values += type->is_buffer ? 2 : 1;
    }
    return all_of_them;
  }

  const entry *first_of_all(const argument_value *arguments, std::size_t count,
                            native_value *values) const {
    positions too_large;
    for (const entry &each : all) {
      const converted found = attempt(each, arguments, count, values, &too_large);
      if (found != converted::out_of_range) return found == converted::yes ? &each : nullptr;
    }
    return nullptr;
  }

  // Tries the overloads, best first, until one of them takes the values or Python must decide.
  TYPEDCALL_OUT_OF_LINE const entry *walk(const argument_value *arguments, std::size_t count,
                                          native_value *values) const {
    constexpr std::size_t kMost = 64;  // if there are more overloads, Python chooses
    const entry *found = nullptr;
    positions too_large;
    if (all.size() > kMost) return nullptr;
    auto *const worst = TYPEDCALL_INTERNAL_ON_STACK(unsigned char, all.size() * (count + 1));
    unsigned char *const ranks = worst + all.size();
    rank(arguments, count, worst, ranks);
    each_best(worst, ranks, all.size(), count, [&](std::size_t at) {
      const entry &each = all[at];
      if (!each.is_here()) return false;
      const converted how = attempt(each, arguments, count, values, &too_large);
      if (how == converted::yes) found = &each;
      return how == converted::out_of_range;  // if converted::no, Python decides
    });
    return found;
  }

  bool is_in_order_ = false;
  const entry *alone_ = nullptr;
  const entry *first_[PyNativeArgumentKind_COUNT] = {};
};

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_CHOOSE_H_
