// DuckDB's types for a signature: which argument types a typed function is registered under, which
// of its entries their values can choose, and which types these return.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_TYPES_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_TYPES_H_

#include "functions.h"

#include <algorithm>
#include <array>
#include <vector>

namespace typedcall::python::duckdb {

using calling::entry;
using calling::given;
using calling::overloads;

/// DuckDB's `duckdb_type`, whose numbers never change.
enum sql_type : int {
  BOOLEAN = 1,
  TINYINT,
  SMALLINT,
  INTEGER,
  BIGINT,
  UTINYINT,
  USMALLINT,
  UINTEGER,
  UBIGINT,
  FLOAT,
  DOUBLE,
  HUGEINT = 16,
  VARCHAR,
  BLOB,
  UHUGEINT = 32,
  SQLNULL = 36,
};
using sql_types = std::vector<sql_type>;

/// The type that has exactly the C type's values.
inline sql_type type_of(const value_type &type) {
  if (type.is_text) return VARCHAR;
  if (type.is_bytes) return BLOB;
  switch (type.kind) {
    case PyNativeKind_BOOL:
      return BOOLEAN;
    case PyNativeKind_SIGNED:
    case PyNativeKind_UNSIGNED: {
      const sql_type least = type.kind == PyNativeKind_SIGNED ? TINYINT : UTINYINT;
      return static_cast<sql_type>(least + __builtin_ctz(type.size));
    }
    case PyNativeKind_FLOATING:
      return type.is_double ? DOUBLE : FLOAT;
    default:
      return SQLNULL;
  }
}

inline bool is_integer(sql_type type) {
  return (type >= TINYINT && type <= UBIGINT) || type == HUGEINT || type == UHUGEINT;
}

/// True if the integer type `all` holds every value of `some`.
constexpr bool includes(sql_type all, sql_type some) {
  const bool is_signed = all <= BIGINT;
  const int size = all - (is_signed ? TINYINT : UTINYINT);
  if (some > UBIGINT) return false;
  if (some <= BIGINT) return is_signed && size >= some - TINYINT;
  return is_signed ? size > some - UTINYINT : size >= some - UTINYINT;
}

/// True if a column of the first type is converted for a parameter of the other. DuckDB would make
/// a BIGINT or DOUBLE of a type that no function has, although it is closer to the parameter's, and
/// convert an int to FLOAT directly, where Python makes a double first.
constexpr bool is_converted(sql_type from, sql_type to) {
  if (from == BOOLEAN || from == to) return false;
  if (to == FLOAT) return from == DOUBLE || includes(INTEGER, from);
  if (to == BOOLEAN || to > UBIGINT) return false;
  return from == BIGINT || (to != BIGINT && includes(to, from));
}

/// True if a C function that takes some values of the type takes all; Python handles text with a
/// NUL.
inline bool holds_all(const value_type &wanted, sql_type type) {
  if (wanted.is_integer) return !is_integer(type) || includes(type_of(wanted), type);
  return type != HUGEINT && type != UHUGEINT;
}

/// A value of the type, as the engine ranks it.
inline given any_of(sql_type type) {
  if (type == BOOLEAN) return given::boolean(false);
  if (type == FLOAT || type == DOUBLE) return given::real(0);
  if (type == VARCHAR) return given::text("", 0);
  return type == BLOB ? given::bytes("", 0) : given::integer(0);
}

/// Returns the entries that suit values of these types, best first, up to one that is not here or
/// takes all of them. Python's function is called if none takes a value.
TYPEDCALL_RARE inline std::vector<const entry *> suiting(const overloads &functions,
                                                         const sql_types &types) {
  std::vector<const entry *> found;
  std::vector<given> values;
  for (const sql_type type : types) values.push_back(any_of(type));
  functions.each_in_order(values.data(), values.size(), [&](const entry &one) {
    if (!one.is_here()) return false;
    found.push_back(&one);
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!holds_all(one.parameters[i], types[i])) return true;
      // An int that was too large for an earlier one does not become a float.
      const bool may_be_skipped =
          one.parameters[i].loses_digits &&
          std::any_of(found.begin(), found.end(), [&](const entry *before) {
            return before->parameters[i].is_integer && !holds_all(before->parameters[i], types[i]);
          });
      if (may_be_skipped) return true;
    }
    return false;
  });
  return found;
}

/// Returns the entries of suiting() that a value may choose: those that take an int that no earlier
/// one takes.
TYPEDCALL_RARE inline std::vector<const entry *> reachable(
    const std::vector<const entry *> &in_order) {
  const auto takes_more = [](const entry &one, const entry &before) {
    for (std::size_t i = 0; i < one.parameters.size(); ++i) {
      const value_type &mine = one.parameters[i], &others = before.parameters[i];
      const bool is_less =
          others.loses_digits || (others.is_integer && !includes(type_of(others), type_of(mine)));
      if (mine.is_integer && is_less) return true;
    }
    return false;
  };
  std::vector<const entry *> found;
  for (const entry *one : in_order) {
    const bool is_first = std::all_of(
        found.begin(), found.end(), [&](const entry *before) { return takes_more(*one, *before); });
    if (is_first) found.push_back(one);
  }
  return found;
}

/// The column type for results of both; if there is none, the first one's.
inline value_type common(const value_type &one, const value_type &other) {
  const bool are_floating =
      one.kind == PyNativeKind_FLOATING && other.kind == PyNativeKind_FLOATING;
  if (one.kind == PyNativeKind_VOID || (are_floating && other.is_double)) return other;
  if (!one.is_integer || !other.is_integer || includes(type_of(one), type_of(other))) return one;
  if (includes(type_of(other), type_of(one))) return other;
  return value_type(PyNativeType{PyNativeType_LONGLONG, 0});
}

/// The types of one argument. DuckDB casts other types to these: from each kind of values that
/// Python distinguishes to a type of that kind.
class argument_types {
 public:
  static constexpr int kLevels = 5;
  /// The level of each type. 0: a query needs it. The others are dropped, highest first, if there
  /// would be too many lists of types; kLevels is in no list.
  std::array<int, UHUGEINT + 1> levels;

  argument_types() { levels.fill(kLevels); }

  /// An entry takes this type. `is_chosen`: there are others with this many arguments. `is_alone`:
  /// there are no others at all, and nothing is ranked.
  TYPEDCALL_RARE void add_parameter(const value_type &type, bool is_chosen, bool is_alone) {
    const sql_type own = type_of(type);
    // DuckDB would convert it to a number or a BLOB.
    add(VARCHAR, own == VARCHAR || own == BLOB ? 0 : 3);
    if (own == VARCHAR) return;
    add(own, own == BLOB || own == BOOLEAN || (own == UBIGINT && is_chosen) ? 0 : 1);
    if (own == BLOB) return;
    add(BOOLEAN, 1);
    const bool is_bool = own == BOOLEAN, is_floating = type.kind == PyNativeKind_FLOATING;
    if (is_bool && !is_alone) return;
    // An int would choose another entry than the DOUBLE that DuckDB converts it to.
    if (!is_floating || is_chosen) {
      add(BIGINT, is_bool ? 1 : 0);
      add(HUGEINT, 2);
      add(UHUGEINT, 2);
    }
    add(DOUBLE, is_floating ? 0 : is_bool ? 1 : 3);
    if (is_bool) add(BLOB, 2);
    for (int each = TINYINT; each <= UINTEGER && !is_chosen; ++each) {
      const auto other = static_cast<sql_type>(each);
      if (is_converted(other, own)) add(other, 4);
    }
  }

 private:
  void add(sql_type type, int level) {
    int &least = levels[static_cast<std::size_t>(type)];
    least = std::min(level, least);
  }
};

// DuckDB tries each in turn, and names them all if none fits.
constexpr std::size_t kMostLists = 128;

/// All combinations of the arguments' types up to a level. Empty if there are too many.
TYPEDCALL_RARE inline std::vector<sql_types> combined(const std::vector<argument_types> &arguments,
                                                      int level) {
  std::vector<sql_types> lists = {{}};
  for (const argument_types &each : arguments) {
    std::vector<sql_types> longer;
    for (const sql_types &list : lists) {
      for (std::size_t type = 0; type < each.levels.size(); ++type) {
        if (each.levels[type] > level) continue;
        longer.push_back(list);
        longer.back().push_back(static_cast<sql_type>(type));
      }
    }
    if (longer.size() > kMostLists) return {};
    lists = std::move(longer);
  }
  return lists;
}

/// The lists of types for which a function with this many arguments is registered. For functions of
/// many arguments, types of the last levels are in no list.
TYPEDCALL_RARE inline std::vector<sql_types> lists_of(const overloads &functions,
                                                      std::size_t count) {
  std::size_t ranked = 0;
  for (const entry &each : functions.all) ranked += each.parameters.size() == count ? 1 : 0;
  std::vector<argument_types> arguments(count);
  std::vector<sql_types> found, own;
  for (const entry &each : functions.all) {
    if (!each.is_here() || each.parameters.size() != count) continue;
    own.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      const value_type &type = each.parameters[i];
      arguments[i].add_parameter(type, ranked > 1, functions.alone() != nullptr);
      own.back().push_back(type_of(type));
    }
  }
  for (int level = argument_types::kLevels; level-- > 0 && found.empty();) {
    found = combined(arguments, level);
  }
  // Casting to another kind would be cheaper than casting two arguments to BIGINT.
  if (ranked > 1 && !found.empty()) return found;
  for (const sql_types &each : own) {
    if (std::find(found.begin(), found.end(), each) == found.end()) found.push_back(each);
  }
  return found;
}

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_TYPES_H_
