// An SQL function that a typed function is in DuckDB, and what is prepared for its calls.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_FUNCTION_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_FUNCTION_H_

#include "duckdb_values.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "typedcall/loop.h"

namespace typedcall::python::duckdb {

/// An SQL function with one list of types. A registered function must be created and destroyed with
/// the GIL held.
struct function {
  object_ref callable, kept;
  PyObject *called = nullptr;  // `callable`, also in the functions of for_chunk()
  python_access *where = nullptr;
  sql_types types;
  bool is_pure = false;
  overloads functions;                                    // the functions that values may choose
  value_type result{PyNativeType{PyNativeType_VOID, 0}};  // the type of the result column
  bool is_result = true;                                  // true if all functions return that type
  bool is_mixed = false;                                  // true if results are of several kinds
  std::vector<bool> is_returned;  // for each function, whether the column is for its results
  bool is_attached = false, is_detached = false;
  bool is_own = false;         // true if there is one function, and `types` fit it or are converted
  calling::array_plan arrays;  // if is_own
  /// The loop for whole runs of rows, if all types are numbers and calls always have results.
  const loop *numbers = nullptr;
  /// The loops of `functions`. Not all have one.
  std::vector<std::optional<loop>> loops;
  function *next = nullptr;  // the next function that DuckDB no longer needs

  /// Prepares the calls with these types of the functions `all`. `rows` are those of the functions.
  /// On failure, returns false with an exception set. GIL: held.
  TYPEDCALL_RARE bool make(const overloads &all, PyObject *rows) {
    const choices found(all, types);
    const auto &wanted = is_one(found) ? found.chosen : found.tried;
    for (const entry *each : wanted) {
      entry_row from;
      loops.emplace_back();
      if ((is_one(found) || found.are_ranked) && each->is_here() && is_whole(*each)) {
        if (!from.read(PyTuple_GET_ITEM(rows, each - all.all.data()))) return false;
        loops.back() = loop::make(from.signature, from.flags, from.address);
        if (!loops.back()) return false;
      }
    }
    plan(found, all);
    if (is_own && loops[0]) numbers = &*loops[0];
    return true;
  }

  /// Returns the function for the types of these vectors. It belongs to this function. Returns null
  /// if functions do not take one of the types. GIL: optional. Throws std::bad_alloc.
  const function *for_chunk(handle chunk) const {
    if (!are_ranked_) return this;
    sql_types given;
    for (std::size_t i = 0; i < types.size(); ++i) {
      column each;
      if (!each.find_type(library.data_chunk_get_vector(chunk, i))) return nullptr;
      given.push_back(each.type);
    }
    const std::lock_guard<std::mutex> guard(making_);
    for (const auto &each : made_) {
      if (each->types == given) return each.get();
    }
    if (made_.size() == kMostLists) return this;
    auto one = std::make_unique<function>();
    one->called = called;
    one->where = where;
    one->types = std::move(given);
    const choices found(functions, one->types);
    one->plan(found, functions, &result);
    if (one->is_own) {
      const auto &known = loops[static_cast<std::size_t>(found.chosen[0] - functions.all.data())];
      if (known && one->is_result) one->numbers = &*known;
    }
    made_.push_back(std::move(one));
    return made_.back().get();
  }

  bool needs_nul(std::size_t at) const {
    for (const entry &each : functions.all) {
      if (each.parameters[at].is_text && !each.parameters[at].is_buffer) return true;
    }
    return false;
  }

 private:
  static bool is_one(const choices &found) { return found.chosen.size() == 1 && !found.are_ranked; }
  static bool is_number(const value_type &type) {
    return type.kind != PyNativeKind_VOID && type.kind <= PyNativeKind_FLOATING;
  }
  /// True if a loop can call the function.
  static bool is_whole(const entry &one) {
    return !one.view.may_fall_back && !PyNativeView_Internal_IsDetached(one.view.thread_state) &&
           is_number(one.result) &&
           std::all_of(one.parameters.begin(), one.parameters.end(), is_number);
  }

  /// If values choose none of `all`, the Python function is called, and `all` determines the type
  /// of the result, unless that is known.
  TYPEDCALL_RARE void plan(const choices &found, const overloads &all,
                           const value_type *known = nullptr) {
    for (const entry *each : is_one(found) ? found.chosen : found.tried) {
      functions.all.push_back(*each);
    }
    are_ranked_ = found.are_ranked;
    are_ranked_ ? functions.prepare() : functions.prepare_in_order();
    // If results are of several kinds, the column is for those of the first.
    PyNativeType type = result.type;
    for (const entry &each : all.all) {
      const bool is_asked = each.is_here() && each.parameters.size() == types.size();
      if (found.chosen.empty() && is_asked) calling::add_result(&type, each.result.type);
    }
    for (const entry *each : found.chosen) {
      calling::add_result(&type, each->result.type);
      is_attached |= PyNativeView_Internal_IsAttached(each->view.thread_state);
      is_detached |= PyNativeView_Internal_IsDetached(each->view.thread_state);
    }
    result = known != nullptr ? *known : value_type(type);
    for (const entry &each : functions.all) {
      is_result &= type_of(each.result) == type_of(result);
      PyNativeType both = result.type;
      is_returned.push_back(!each.is_here() || calling::add_result(&both, each.result.type));
      is_mixed |= !is_returned.back();
    }
    is_own = is_one(found) && !is_mixed;
    PyNativeSignature given = {};
    given.nargs = static_cast<int>(types.size());
    for (std::size_t i = 0; i < types.size() && is_own; ++i) {
      const value_type &type = functions.all[0].parameters[i];
      const bool is_same = type_of(type) == types[i];
      is_own = is_same || is_converted(types[i], type_of(type));
      given.args[i] = is_same ? type.type : native_type_of(types[i]);
    }
    if (is_own) given.result = functions.all[0].result.type;
    is_own = is_own && arrays.make(given, functions.all[0]);
  }

  bool are_ranked_ = false;
  mutable std::mutex making_;
  mutable std::vector<std::unique_ptr<function>> made_;
};

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_FUNCTION_H_
