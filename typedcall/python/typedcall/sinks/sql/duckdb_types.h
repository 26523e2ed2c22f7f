// Determines DuckDB's argument types and result types for a typed function.
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

/// DuckDB's enum `duckdb_type`, whose values never change.
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

/// Returns the SQL type that has exactly the values of the C type.
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
      static_assert(internal::are_all_reals<float, double>(),
                    "a vector has the elements of DOUBLE or FLOAT: convert others");
      return type.is_double ? DOUBLE : FLOAT;
    default:
      return SQLNULL;
  }
}

inline bool is_integer(sql_type type) {
  return (type >= TINYINT && type <= UBIGINT) || type == HUGEINT || type == UHUGEINT;
}

/// True if the integer type `all` can hold every value of `some`.
constexpr bool includes(sql_type all, sql_type some) {
  const bool is_signed = all <= BIGINT;
  const int size = all - (is_signed ? TINYINT : UTINYINT);
  if (some > UBIGINT) return false;
  if (some <= BIGINT) return is_signed && size >= some - TINYINT;
  return is_signed ? size > some - UTINYINT : size >= some - UTINYINT;
}

/// True if a column of type `from` is converted for a parameter of type `to`. Without this, DuckDB
/// would cast to BIGINT or DOUBLE if no function had the argument's type. DuckDB would also convert
/// an int directly to FLOAT, but Python converts ints to doubles first.
constexpr bool is_converted(sql_type from, sql_type to) {
  if (from == BOOLEAN || from == to) return false;
  if (to == FLOAT) return from == DOUBLE || includes(INTEGER, from);
  if (to == BOOLEAN || to > UBIGINT) return false;
  return from == BIGINT || (to != BIGINT && includes(to, from));
}

/// True if a C function that accepts some values of the SQL type accepts all of them. A text with a
/// NUL goes to the Python function instead.
inline bool holds_all(const value_type &wanted, sql_type type) {
  if (wanted.is_integer) return !is_integer(type) || includes(type_of(wanted), type);
  return type != HUGEINT && type != UHUGEINT;
}

/// Returns a value of the SQL type, for ranking.
inline given any_of(sql_type type) {
  if (type == BOOLEAN) return given::boolean(false);
  if (type == FLOAT || type == DOUBLE) return given::real(0);
  if (type == VARCHAR) return given::text("", 0);
  return type == BLOB ? given::bytes("", 0) : given::integer(0);
}

/// Returns the entries that accept values of these types, best first. Stops at the first that
/// cannot be called here or accepts all values. If no entry accepts a value, the Python function is
/// called.
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
      // An int that was too large for an earlier entry must not become a float.
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

/// Returns those entries of suiting() that some value may choose.
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

/// Returns a type that can hold results of both types, or else the first type.
inline value_type common(const value_type &one, const value_type &other) {
  const bool are_floating =
      one.kind == PyNativeKind_FLOATING && other.kind == PyNativeKind_FLOATING;
  if (one.kind == PyNativeKind_VOID || (are_floating && other.is_double)) return other;
  if (!one.is_integer || !other.is_integer || includes(type_of(one), type_of(other))) return one;
  if (includes(type_of(other), type_of(one))) return other;
  return value_type(PyNativeType{PyNativeType_LONGLONG, 0});
}

/// The SQL types that are registered for one argument. DuckDB casts any other type to one of the
/// same kind in Python.
class argument_types {
 public:
  static constexpr int kLevels = 5;
  /// The level of each type. Types of level 0 are necessary. If there would be too many lists of
  /// types, the highest levels are dropped. Types of level kLevels are never used.
  std::array<int, UHUGEINT + 1> levels;

  argument_types() { levels.fill(kLevels); }

  /// Adds types for an entry's parameter. `is_chosen` is true if other entries have the same number
  /// of arguments. `is_alone` is true if there are no other entries.
  TYPEDCALL_RARE void add_parameter(const value_type &type, bool is_chosen, bool is_alone) {
    const sql_type own = type_of(type);
    // Otherwise, DuckDB would convert texts to numbers or BLOBs.
    add(VARCHAR, own == VARCHAR || own == BLOB ? 0 : 3);
    if (own == VARCHAR) return;
    add(own, own == BLOB || own == BOOLEAN || (own == UBIGINT && is_chosen) ? 0 : 1);
    if (own == BLOB) return;
    add(BOOLEAN, 1);
    const bool is_bool = own == BOOLEAN, is_floating = type.kind == PyNativeKind_FLOATING;
    if (is_bool && !is_alone) return;
    // DuckDB would convert an int to DOUBLE, and might choose a different entry.
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

// DuckDB tries each list in turn, and shows all of them if none fits.
constexpr std::size_t kMostLists = 128;

/// Returns all combinations of the arguments' types up to a level, or none if there are too many.
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

/// Returns the lists of types for a function with this number of arguments.
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
      arguments[i].add_parameter(type, ranked > 1, functions.all.size() == 1);
      own.back().push_back(type_of(type));
    }
  }
  for (int level = argument_types::kLevels; level-- > 0 && found.empty();) {
    found = combined(arguments, level);
  }
  // If the entries' own types were also registered, DuckDB could cast to another kind, because that
  // costs less than two casts to BIGINT.
  if (ranked > 1 && !found.empty()) return found;
  for (const sql_types &each : own) {
    if (std::find(found.begin(), found.end(), each) == found.end()) found.push_back(each);
  }
  return found;
}

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_TYPES_H_
