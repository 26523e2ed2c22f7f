// Determines DuckDB's argument types and result types for a typed function.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_TYPES_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_TYPES_H_

#include "functions.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace typedcall::python::duckdb {

using calling::argument_value;
using calling::entry;
using calling::int_range;
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
  DECIMAL,
  UHUGEINT = 32,
  ANY = 34,
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
                    "values of others are no elements of a vector: is_own, is_result, is_number");
      return type.is_double ? DOUBLE : FLOAT;
    default:
      return SQLNULL;
  }
}

constexpr bool is_integer(sql_type type) {
  return (type >= TINYINT && type <= UBIGINT) || type == HUGEINT || type == UHUGEINT;
}

/// Returns the ints of an SQL type.
constexpr int_range range_of(sql_type type) {
  constexpr calling::wide_int kBeyond = calling::wide_int{1} << 64;
  if (type == HUGEINT || type == UHUGEINT) return {type == HUGEINT ? -kBeyond : 0, kBeyond};
  if (!is_integer(type)) return {0, 1};
  return int_range::of(type <= BIGINT, std::size_t{1} << ((type - TINYINT) % 4));
}

/// True if the integer type `all` can hold every value of `some`.
constexpr bool includes(sql_type all, sql_type some) {
  return is_integer(some) && range_of(all).includes(range_of(some));
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

/// Returns a value of the SQL type, for ranking.
inline argument_value any_of(sql_type type) {
  if (type == BOOLEAN) return argument_value::boolean(false);
  if (type == FLOAT || type == DOUBLE || type == DECIMAL) return argument_value::real(0);
  if (type == VARCHAR) return argument_value::text("", 0);
  return type == BLOB ? argument_value::bytes("", 0) : argument_value::integer(0);
}

/// The entries that values of some types may choose. If none accepts a value, the Python function
/// is called.
struct choices {
  std::vector<const entry *> tried, chosen;
  bool are_ranked = false;  ///< true if the engine must rank the values of each row

  TYPEDCALL_RARE choices(const overloads &functions, const sql_types &types) {
    std::vector<argument_value> values;
    std::vector<int_range> ranges;
    for (const sql_type type : types) {
      are_ranked |= type == ANY;
      values.push_back(any_of(type));
      ranges.push_back(range_of(type));
    }
    if (are_ranked) {
      add_suited(functions, types, values);
      return;
    }
    for (const calling::step &each : calling::plan_of(functions, values, ranges).steps) {
      const entry *const one = &functions.all[each.overload];
      if (!one->is_here()) break;
      tried.push_back(one);
      if (each.is_reachable) chosen.push_back(one);
    }
  }

 private:
  void add_suited(const overloads &functions, const sql_types &types,
                  const std::vector<argument_value> &values) {
    for (const entry &each : functions.all) {
      bool suits = each.parameters.size() == types.size();
      for (std::size_t i = 0; i < types.size() && suits; ++i) {
        suits = types[i] == ANY || rank_of(values[i], each.parameters[i]) != PyNativeRank_NONE;
      }
      if (suits) tried.push_back(&each);
      if (suits && each.is_here()) chosen.push_back(&each);
    }
  }
};

/// The SQL types that are registered for one argument. DuckDB casts any other type to one of the
/// same kind in Python.
class argument_types {
 public:
  static constexpr int kLevels = 5;
  /// The level of each type. Types of level 0 are necessary. If there would be too many lists of
  /// types, the highest levels are dropped. Types of level kLevels are never used.
  std::array<int, ANY + 1> levels;

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
constexpr std::size_t kMostLists = 256;

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
    // DuckDB would cast the types that are left out, and choose other entries than Python.
    if (found.empty() && ranked > 1) {
      for (argument_types &each : arguments) each.levels[ANY] = 0;
    }
  }
  if (found.empty() && ranked > 1) found.emplace_back(count, ANY);
  // If the entries' own types were also registered, DuckDB could cast to another kind, because that
  // costs less than two casts to BIGINT.
  if (ranked > 1) return found;
  for (const sql_types &each : own) {
    if (std::find(found.begin(), found.end(), each) == found.end()) found.push_back(each);
  }
  return found;
}

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_TYPES_H_
