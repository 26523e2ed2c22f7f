// Calls a C function for the rows of a DuckDB vector: in a pass over whole runs of rows if there is
// one function, or else by the engine for each row.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_CALL_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_CALL_H_

#include "duckdb_function.h"

#include <algorithm>
#include <vector>

namespace typedcall::python::duckdb {

/// Access to Python for a row. The thread may already be attached.
struct row_access {
  const python_access &where;
  bool is_attached;

  template <class Body>
  bool attached(PyObject *callable, const Body &body) const {
    if (!is_attached) return where.attached(callable, body);
    body();
    return true;
  }
  const char *why_detached() const { return where.why_detached(); }
};

/// Calls `run(first, end)` for each run of rows with values, until it returns false. `valid` is a
/// bit mask of these rows. Null means all rows.
template <class Run>
void for_valid_rows(const std::uint64_t *valid, std::uint64_t rows, const Run &run) {
  if (valid == nullptr) return static_cast<void>(run(std::uint64_t{0}, rows));
  const auto end_of = [&](std::uint64_t at, bool is_valid) {
    while (at < rows) {
      const std::uint64_t word = valid[at / 64];
      const std::uint64_t bits = (is_valid ? ~word : word) >> (at % 64);  // a 1 bit ends the run
      if (bits != 0) return std::min(rows, at + static_cast<unsigned>(__builtin_ctzll(bits)));
      at = (at / 64 + 1) * 64;
    }
    return rows;
  };
  for (std::uint64_t at = end_of(0, false); at < rows;) {
    const std::uint64_t end = end_of(at, true);
    if (!run(at, end)) return;
    at = end_of(end, false);
  }
}

/// The call for the rows of a vector, as the sink of typedcall's engine.
struct vector_call {
  const function &self;
  handle info;
  std::uint64_t rows, row = 0;
  std::uint64_t first = 0, started = 0;  // the first rows of a run and of a part of it
  std::uint64_t *valid = nullptr;
  results to;
  std::vector<column> columns;
  bool has_failed = false;

  vector_call(const function &called, handle about, handle chunk, handle output)
      : self(called),
        info(about),
        rows(library.data_chunk_get_size(chunk)),
        to(output),
        columns(called.types.size()) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const handle vector = library.data_chunk_get_vector(chunk, i);
      columns[i].type = self.types[i];
      if (self.types[i] == ANY || self.types[i] == DECIMAL) columns[i].find_type(vector);
      columns[i].step = step_of(columns[i].type);
      columns[i].needs_nul = self.needs_nul(i);
      columns[i].data = static_cast<const char *>(library.vector_get_data(vector));
      add_nulls(library.vector_get_validity(vector));
    }
  }

  void run() {
    try {
      for_valid_rows(valid, rows, [&](std::uint64_t first, std::uint64_t end) {
        self.is_own ? run_own(first, end) : run_rows(first, end);
        return !has_failed;
      });
    } catch (const std::bad_alloc &) {
      detached("MemoryError");
    }
  }

  // A NULL argument makes the result NULL.
  void add_nulls(const std::uint64_t *argument) {
    if (argument == nullptr) return;
    const std::uint64_t words = (rows + 63) / 64;
    if (valid == nullptr) std::fill_n(valid = to.valid(), words, ~std::uint64_t{0});
    for (std::uint64_t word = 0; word < words; ++word) valid[word] &= argument[word];
  }

  void run_rows(std::uint64_t first, std::uint64_t end) {
    const row_access where{*self.where, self.is_attached};
    for (row = first; row < end && !has_failed; ++row) {
      if (self.is_mixed) {
        run_mixed(where);
      } else {
        calling::call(self.functions, self.called, where, columns.size(), *this);
      }
    }
  }

  /// Makes the call for a row if the column is for results of the function that the values choose.
  TYPEDCALL_OUT_OF_LINE void run_mixed(const row_access &where) {
    const std::size_t count = columns.size();
    auto *const arguments = TYPEDCALL_INTERNAL_ON_STACK(argument_value, count + 1);
    auto *const values = TYPEDCALL_INTERNAL_ON_STACK(native_value, 2 * count + 1);
    for (std::size_t i = 0; i < count; ++i) arguments[i] = argument(i);
    const entry *const chosen = self.functions.choose(arguments, count, values);
    // The kinds are nearly always the same.
    if (chosen != nullptr && chosen->result.kind != self.result.kind &&
        !self.is_returned[static_cast<std::size_t>(chosen - self.functions.all.data())]) {
      detached(
          "TypeError: the type of the result depends on the value, and a column has one type; cast "
          "the argument to a narrower type");
    } else {
      calling::run(chosen, self.called, where, count, values, *this);
    }
  }

  // Replaces the engine for a single function, where there is no choice.
  TYPEDCALL_OUT_OF_LINE void run_own(std::uint64_t from, std::uint64_t end) {
    auto *const args = TYPEDCALL_INTERNAL_ON_STACK(char *, columns.size() + 1);
    auto *const steps = TYPEDCALL_INTERNAL_ON_STACK(std::intptr_t, columns.size() + 1);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      steps[i] = columns[i].step;
      args[i] = const_cast<char *>(columns[i].data) + from * static_cast<std::size_t>(steps[i]);
    }
    steps[columns.size()] = self.result.size;
    args[columns.size()] = to.data + from * self.result.size;
    first = from;
    const auto count = static_cast<std::intptr_t>(end - from);
    if (self.numbers)
      return calling::run_many(self.arrays, *self.numbers, this, args, count, steps);
    calling::run_many(self.arrays, each_row{this}, this, args, count, steps);
  }

  /// The function of a pass that makes a call for each row.
  struct each_row {
    vector_call *call;

    const entry &types() const { return call->self.functions.all[0]; }
    bool may_fall_back() const { return types().view.may_fall_back; }
    PyNativeThreadState thread_state() const { return types().view.thread_state; }
    int run(char *const *args, const std::intptr_t *count, const std::intptr_t *steps) const {
      row_values values = {call, types(), args, steps};
      const auto &invoke = types().invoke;
      return calling::run_rows(types(), invoke, nullptr, *count, values) < *count ? -1 : 0;
    }
    int run_detached(char *const *args, const std::intptr_t *count,
                     const std::intptr_t *steps) const {
      return run(args, count, steps);
    }
  };
  /// See run_rows().
  struct row_values {
    vector_call *call;
    const entry &types;
    char *const *args;
    const std::intptr_t *steps;
    bool is_misfit = false;

    native_value *load(std::intptr_t at, native_value *next, wide_value *) {
      for (std::size_t i = 0; i < types.parameters.size(); ++i) {
        const value_type &type = types.parameters[i];
        is_misfit |= !call->columns[i].load(args[i] + at * steps[i], type, next);
        next += type.is_buffer ? 2 : 1;
      }
      return next;
    }
    static constexpr bool is_immutable = false;
    bool has_misfit() const { return is_misfit; }
    static constexpr bool holds() { return false; }
    calling::outcome back(std::intptr_t at, const native_value *, wide_value *) {
      is_misfit = false;
      call->fall_back_at(call->row_of(at));
      return call->has_failed ? calling::outcome::raised : calling::outcome::none;
    }
    bool set_result(std::intptr_t at, native_value result, const wide_value &) {
      call->row = call->row_of(at);
      call->set_result(types.result, &result);
      return !call->has_failed;
    }
  };

  // The pass calls these functions.
  bool is_attached() const { return self.is_attached; }
  void start(std::intptr_t at) { started = first + static_cast<std::uint64_t>(at); }
  std::uint64_t row_of(std::intptr_t at) const { return started + static_cast<std::uint64_t>(at); }
  void misfit(PyNativeType) {}  // the result's column has the function's type
  bool has_stopped() const { return has_failed; }
  void element(std::intptr_t at) { fall_back_at(first + static_cast<std::uint64_t>(at)); }
  void fall_back_at(std::uint64_t at) {
    row = at;
    fall_back(columns.size());
  }

  argument_value argument(std::size_t i) { return columns[i].argument(row); }
  void set_result(const value_type &type, const void *at) {
    const bool is_same = self.is_result || type_of(type) == type_of(self.result);
    const char *const why =
        is_same ? to.set_result(row, type, at) : to.set_other_result(row, self.result, type, at);
    if (why != nullptr) detached(why);
  }
  __attribute__((noinline, cold)) void raised() {
    if (has_failed) return;  // the error is set
    has_failed = true;
    const error_text said;
    PyErr_Clear();
    // The interrupt is sent later, because DuckDB's module would consume the signal now.
    const auto later = [](void *) {
      PyErr_SetInterrupt();
      return 0;
    };
    if (said.is(PyExc_KeyboardInterrupt) && Py_AddPendingCall(later, nullptr) < 0) later(nullptr);
    library.set_error(info, said.get());
  }
  /// Sets an error that is not a Python exception.
  void detached(const char *why) {
    has_failed = true;
    library.set_error(info, why);
  }
  bool settles(std::size_t) const { return false; }
  void fall_back(std::size_t count) {
    const row_access where{*self.where, self.is_attached};
    calling::by_boxing(self.called, where, count, *this);
  }
  object_ref box(std::size_t i) { return columns[i].box(row); }
  bool set_result_object(PyObject *object) const {
    return to.set_result_object(row, self.result, object);
  }
};

/// DuckDB calls this function in its own threads, for up to 2,048 rows at once.
inline void run_sql(handle info, handle chunk, handle output) {
  const auto &registered = *static_cast<const function *>(library.get_extra_info(info));
  try {
    const function *const found = registered.for_chunk(chunk);
    if (found == nullptr) {
      return library.set_error(
          info, "TypeError: an argument has an SQL type that no overload takes; cast it");
    }
    const function &self = *found;
    vector_call call(self, info, chunk, output);
    if (self.is_attached) {
      const bool is_alive = self.where->attached(self.called, [&] { call.run(); });
      if (!is_alive) call.detached(self.where->why_detached());
    } else if (self.is_detached) {
      calling::without_gil([&] { call.run(); });
    } else {
      call.run();
    }
  } catch (const std::bad_alloc &) {
    library.set_error(info, "MemoryError");
  }
}

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_CALL_H_
