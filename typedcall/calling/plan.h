// Plans a call whose arguments have known kinds, but not yet values: the overloads that it may
// choose, and what decides. choose.h chooses for values. Source: docs/ABI.md, 8.7 to 8.9.
#ifndef TYPEDCALL_CALLING_PLAN_H_
#define TYPEDCALL_CALLING_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "typedcall/base/namespace.h"
#include "typedcall/calling/choose.h"
#include "typedcall/overload_choice.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace calling {

__extension__ using wide_int = __int128;

inline bool is_integer(PyNativeType type) {
  const PyNativeKind kind = PyNativeType_Kind(type);
  return kind == PyNativeKind_SIGNED || kind == PyNativeKind_UNSIGNED;
}

/// All ints from `low` to `high`. An end beyond 64 bits may be any int beyond 64 bits.
struct int_range {
  wide_int low, high;

  /// Returns the range of an integer type of `bytes` bytes.
  static constexpr int_range of(bool is_signed, std::size_t bytes) {
    const wide_int count = wide_int{1} << (8 * bytes);
    return {is_signed ? -count / 2 : 0, (is_signed ? count / 2 : count) - 1};
  }
  static int_range of(PyNativeType type) {
    return of(PyNativeType_Kind(type) == PyNativeKind_SIGNED, PyNativeType_Size(type));
  }
  constexpr bool includes(const int_range &other) const {
    return low <= other.low && other.high <= high;
  }
  bool overlaps(const int_range &other) const { return low <= other.high && other.low <= high; }
};

enum class fit : unsigned char { no, depends, yes };

/// Returns whether the ints fit a parameter. They fit every type that is not an integer type.
inline fit fit_of(const int_range &values, PyNativeType type) {
  if (!is_integer(type) || int_range::of(type).includes(values)) return fit::yes;
  return int_range::of(type).overlaps(values) ? fit::depends : fit::no;
}

/// An overload that the call may try.
struct step {
  std::size_t overload;
  /// For each argument, whether it fits or this depends on its value. An int that becomes a float
  /// fits if it was in the range of all overloads that were tried before.
  std::vector<fit> fits;
  bool is_reachable;  ///< false if no values choose this overload

  bool has(fit wanted) const { return std::find(fits.begin(), fits.end(), wanted) != fits.end(); }
};

/// The overloads that a call may choose. Throws std::bad_alloc.
class plan {
 public:
  /// In the order in which the call tries them. The last accepts all values, or there may be values
  /// that no overload accepts.
  std::vector<step> steps;
  /// The overloads that may follow the steps, in table order, if there are more than `most` steps.
  std::vector<std::size_t> later;

  /// `types` and `ranks` have a row for each overload with as many parameters as `ranges` has
  /// elements. `worst` and `ranks` are those of each_best(). The ranges of arguments that are not
  /// ints are not used. Looks at `most` overloads, because the time is cubic if all are equally
  /// good.
  plan(const PyNativeType *types, unsigned char *worst, const unsigned char *ranks,
       std::size_t rows, std::vector<int_range> ranges, std::size_t most = SIZE_MAX)
      : types_(types), ranges_(std::move(ranges)), misfits_(ranges_.size(), fit::yes) {
    bool is_whole = false;
    each_best(worst, ranks, rows, ranges_.size(), [&](std::size_t row) {
      if (!is_excluded(row)) is_whole = add(row);
      return !is_whole && --most != 0;
    });
    for (std::size_t row = 0; row < rows && !is_whole; ++row) {
      if (worst[row] < PyNativeRank_NONE && !is_excluded(row)) later.push_back(row);
    }
  }

 private:
  PyNativeType type(std::size_t row, std::size_t i) const {
    return types_[row * ranges_.size() + i];
  }
  bool loses_precision(std::size_t row, std::size_t i) const {
    return PyNativeChoice_LosesPrecision(type(row, i)) != 0;
  }

  /// True if every int that an earlier overload did not accept would become a float here.
  bool is_excluded(std::size_t row) const {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (misfits_[i] == fit::no && loses_precision(row, i)) return true;
    }
    return std::any_of(steps.begin(), steps.end(), [&](const step &before) {
      bool is_blocked = !before.has(fit::no);
      for (std::size_t i = 0; i < ranges_.size() && is_blocked; ++i) {
        is_blocked = before.fits[i] != fit::depends || loses_precision(row, i);
      }
      return is_blocked;
    });
  }

  /// Returns true if the overload accepts all values.
  bool add(std::size_t row) {
    step made{row, misfits_, true};
    bool is_always_tried = true;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (!loses_precision(row, i))
        made.fits[i] = fit_of(ranges_[i], type(row, i));
      else
        is_always_tried &= misfits_[i] == fit::yes;
    }
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (made.fits[i] == fit::yes || misfits_[i] == fit::no) continue;
      misfits_[i] = is_always_tried ? made.fits[i] : fit::depends;
    }
    made.is_reachable =
        !made.has(fit::no) && std::all_of(steps.begin(), steps.end(), [&](const step &before) {
          return !before.is_reachable || takes_more(row, before);
        });
    const bool is_whole = !made.has(fit::no) && !made.has(fit::depends);
    steps.push_back(std::move(made));
    return is_whole;
  }

  /// True if the overload accepts an int that keeps this earlier step from being taken.
  bool takes_more(std::size_t row, const step &before) const {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (before.fits[i] != fit::depends || loses_precision(row, i)) continue;
      if (!is_integer(type(row, i))) return true;
      const int_range own = int_range::of(type(row, i));
      const int_range taken = {std::max(own.low, ranges_[i].low),
                               std::min(own.high, ranges_[i].high)};
      const auto leaves_some = [&](const step &each) {
        const PyNativeType other = type(each.overload, i);
        return is_integer(other) && !int_range::of(other).includes(taken);
      };
      // If the step would make a float of the int, one before it must not accept the int.
      const bool is_more = loses_precision(before.overload, i)
                               ? std::any_of(steps.data(), &before, leaves_some)
                               : leaves_some(before);
      if (is_more) return true;
    }
    return false;
  }

  const PyNativeType *types_;
  std::vector<int_range> ranges_;
  // Whether each int was in the range of the overloads that were tried before.
  std::vector<fit> misfits_;
};

/// Plans calls of these functions with values of the same kinds as `examples`.
inline plan plan_of(const overloads &functions, const std::vector<argument_value> &examples,
                    std::vector<int_range> ranges, std::size_t most = SIZE_MAX) {
  const std::size_t rows = functions.all.size(), count = examples.size();
  std::vector<PyNativeType> types(rows * count);
  std::vector<unsigned char> worst(rows), ranks(rows * count);
  functions.rank(examples.data(), count, worst.data(), ranks.data());
  for (std::size_t row = 0; row < rows; ++row) {
    if (worst[row] == PyNativeRank_NONE) continue;
    for (std::size_t i = 0; i < count; ++i) {
      types[row * count + i] = functions.all[row].parameters[i].type;
    }
  }
  return plan(types.data(), worst.data(), ranks.data(), rows, std::move(ranges), most);
}

/// Changes `all`, the type of some results, so that it can also hold results of another type. A
/// long holds those ints that fit. Returns false if the types are of several kinds.
inline bool add_result(PyNativeType *all, PyNativeType other) {
  if (other.code == PyNativeType_VOID) return true;
  if (all->code == PyNativeType_VOID) return *all = other, true;
  if (is_integer(*all) && is_integer(other)) {
    const int_range one = int_range::of(*all), two = int_range::of(other);
    if (one.includes(two)) return true;
    *all = other;
    if (two.includes(one)) return true;
    const wide_int high = std::max(one.high, two.high);
    all->code = high <= UINT8_MAX    ? PyNativeType_SHORT
                : high <= UINT16_MAX ? PyNativeType_INT
                                     : PyNativeType_LONG;
    return true;
  }
  if (PyNativeType_Kind(*all) != PyNativeType_Kind(other)) return false;
  if (PyNativeChoice_LosesPrecision(other))
    other.code = all->code = std::max(all->code, other.code);
  return all->code == other.code && all->pointer_flags == other.pointer_flags;
}

}  // namespace calling
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CALLING_PLAN_H_
