// Which overload a call's values choose, as in Python: the best rank of the worst argument, among
// equals one that no other beats, then the order of the table. Source: docs/ABI.md, 8.7 to 8.9.
#ifndef TYPEDCALL_CALLING_CHOOSE_H_
#define TYPEDCALL_CALLING_CHOOSE_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "typedcall/calling/entry.h"
#include "typedcall/calling/given.h"
#include "typedcall/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

/// The entries of one Python function: all that it chooses among, also those that the sink cannot
/// call. Nothing in it changes once it is prepared.
class overloads {
 public:
  std::vector<entry> all;

  /// To be called once `all` is complete.
  void prepare() {
    alone_ = all.size() == 1 ? &all[0] : nullptr;
    for (unsigned kind = 0; kind < PyNativeGiven_COUNT; ++kind) {
      first_[kind] = first_for(static_cast<PyNativeGiven>(kind));
    }
  }

  /// The same where `all` is in each_in_order() of the kinds that all values will have.
  void prepare_in_order() {
    alone_ = all.size() == 1 ? &all[0] : nullptr;
    is_in_order_ = true;
  }

  /// The one that is there, which is not ranked; null: there are several.
  const entry *alone() const { return alone_; }
  /// Of one argument of that kind, the one to try before choose(), or null.
  const entry *first(PyNativeGiven kind) const { return first_[kind]; }

  /// The one that the values choose, with `values` filled in; null: Python says what happens.
  TYPEDCALL_OUT_OF_LINE const entry *choose(const given *arguments, std::size_t count,
                                            native_value *values) const {
    if (is_in_order_) return first_of_all(arguments, count, values);
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
    if (is_best && take_all(*best, arguments, count, values)) return best;
    return walk(arguments, count, values);
  }

  /// Calls `visit` for each that suits values of these kinds, the best first, until it is false.
  template <class Visit>
  void each_in_order(const given *arguments, std::size_t count, const Visit &visit) const {
    std::vector<PyNativeRank> worst;
    for (const entry &each : all) worst.push_back(worst_of(each, arguments, count));
    for (std::size_t at = 0; (at = next(worst.data(), arguments, count)) < all.size();
         worst[at] = PyNativeRank_NONE) {
      if (!visit(all[at])) return;
    }
  }

 private:
  // False: it does not take these values as they are.
  static bool take_all(const entry &one, const given *arguments, std::size_t count,
                       native_value *values) {
    const value_type *type = one.parameters.data();
    for (std::size_t i = 0; i < count; ++i, ++type) {
      if (take(arguments[i], *type, values) != taken::yes) return false;
      values += type->is_buffer ? 2 : 1;
    }
    return true;
  }

  // None where buffers are among them, which the kind alone does not choose.
  const entry *first_for(PyNativeGiven kind) const {
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

  static PyNativeRank worst_of(const entry &one, const given *arguments, std::size_t count) {
    PyNativeRank worst = PyNativeRank_OWN;
    if (one.parameters.size() != count) return PyNativeRank_NONE;
    const value_type *type = one.parameters.data();
    for (std::size_t i = 0; i < count; ++i, ++type) {
      const PyNativeRank rank = rank_of(arguments[i], *type);
      if (rank > worst) worst = rank;
    }
    return worst;
  }

  // Is `one` at least as good as `other` in every argument, and better in one?
  static bool beats(const entry &one, const entry &other, const given *arguments,
                    std::size_t count) {
    bool is_better = false;
    for (std::size_t i = 0; i < count; ++i) {
      const PyNativeRank mine = rank_of(arguments[i], one.parameters[i]);
      const PyNativeRank others = rank_of(arguments[i], other.parameters[i]);
      if (mine > others) return false;
      is_better |= mine < others;
    }
    return is_better;
  }

  using positions = std::bitset<PyNativeSignature_MAX_ARGS>;

  // Takes the values for `one`. `too_large`: ints that were out of range before, and now.
  static taken attempt(const entry &one, const given *arguments, std::size_t count,
                       native_value *values, positions *too_large) {
    // An int that was too large for one overload would lose digits in this one.
    for (std::size_t i = 0; i < count; ++i) {
      if ((*too_large)[i] && one.parameters[i].loses_digits) return taken::out_of_range;
    }
    taken all_of_them = taken::yes;
    const value_type *type = one.parameters.data();
    for (std::size_t i = 0; i < count; ++i, ++type) {
      const taken found = take(arguments[i], *type, values);
      if (found == taken::no) return found;
      if (found == taken::out_of_range) all_of_them = found, (*too_large)[i] = true;
      values += type->is_buffer ? 2 : 1;
    }
    return all_of_them;
  }

  const entry *first_of_all(const given *arguments, std::size_t count, native_value *values) const {
    positions too_large;
    for (const entry &each : all) {
      const taken found = attempt(each, arguments, count, values, &too_large);
      if (found != taken::out_of_range) return found == taken::yes ? &each : nullptr;
    }
    return nullptr;
  }

  // One after the other, the best first, until one takes the values.
  TYPEDCALL_OUT_OF_LINE const entry *walk(const given *arguments, std::size_t count,
                                          native_value *values) const {
    constexpr std::size_t kMost = 64;  // more is asked of Python
    PyNativeRank worst[kMost];
    if (all.size() > kMost) return nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) worst[i] = worst_of(all[i], arguments, count);
    positions too_large;
    for (std::size_t at = 0; (at = next(worst, arguments, count)) < all.size();
         worst[at] = PyNativeRank_NONE) {
      if (!all[at].is_here()) return nullptr;
      const taken found = attempt(all[at], arguments, count, values, &too_large);
      if (found == taken::no) return nullptr;  // it suits by its kind, not by what is in it
      if (found == taken::yes) return &all[at];
    }
    return nullptr;
  }

  // The best of those that are left, or as many as there are.
  std::size_t next(const PyNativeRank *worst, const given *arguments, std::size_t count) const {
    PyNativeRank best = PyNativeRank_NONE;
    for (std::size_t i = 0; i < all.size(); ++i) best = worst[i] < best ? worst[i] : best;
    if (best == PyNativeRank_NONE) return all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      bool is_beaten = worst[i] != best;
      for (std::size_t other = 0; other < all.size() && !is_beaten; ++other) {
        is_beaten = worst[other] == best && beats(all[other], all[i], arguments, count);
      }
      if (!is_beaten) return i;
    }
    return all.size();
  }

  bool is_in_order_ = false;
  const entry *alone_ = nullptr;
  const entry *first_[PyNativeGiven_COUNT] = {};
};

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_CHOOSE_H_
