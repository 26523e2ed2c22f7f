// Calls a C function for the rows of a DuckDB vector. If all types are numbers, a loop handles
// whole runs of rows. Otherwise, each row is a separate call to the C function or to the Python
// function.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_CALL_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_CALL_H_

#include "duckdb_function.h"

#include <algorithm>
#include <vector>

namespace typedcall::python::duckdb {

/// Access to Python for a row. The thread may already be attached.
struct row_home {
  const home &where;
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
      columns[i].needs_nul = self.needs_nul(i);
      columns[i].data = static_cast<const char *>(library.vector_get_data(vector));
      add_nulls(library.vector_get_validity(vector));
      if (self.is_own) columns[i].prepare(self.functions.all[0].parameters[i], rows);
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
    const row_home where{*self.where, self.is_attached};
    for (row = first; row < end && !has_failed; ++row) {
      if (self.is_mixed) {
        run_mixed(where);
      } else {
        calling::call(self.functions, self.called, where, columns.size(), *this);
      }
    }
  }

  /// Makes the call for a row if the column is for results of the function that the values choose.
  TYPEDCALL_OUT_OF_LINE void run_mixed(const row_home &where) {
    const std::size_t count = columns.size();
    auto *const arguments = TYPEDCALL_INTERNAL_ON_STACK(given, count + 1);
    auto *const values = TYPEDCALL_INTERNAL_ON_STACK(native_value, 2 * count + 1);
    for (std::size_t i = 0; i < count; ++i) arguments[i] = look(i);
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
  void run_own(std::uint64_t first, std::uint64_t end) {
    for (; first < end && !has_failed; ++first) {
      std::uint64_t fit = end - first;
      for (column &each : columns) fit = each.convert(first, fit);
      if (self.numbers) {
        run_numbers(first, fit);
      } else {
        for (row = first; row < first + fit && !has_failed; ++row) run_one();
      }
      first += fit;
      if (first == end || has_failed) return;
      row = first;  // this row is out of a parameter's range
      fall_back(columns.size());
    }
  }

  TYPEDCALL_OUT_OF_LINE void run_numbers(std::uint64_t first, std::uint64_t count) {
    auto *const args = TYPEDCALL_INTERNAL_ON_STACK(char *, columns.size() + 1);
    auto *const steps = TYPEDCALL_INTERNAL_ON_STACK(std::intptr_t, columns.size() + 1);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      steps[i] = self.functions.all[0].parameters[i].size;
      args[i] = const_cast<char *>(columns[i].own) + first * static_cast<std::size_t>(steps[i]);
    }
    steps[columns.size()] = self.result.size;
    args[columns.size()] = to.data + first * self.result.size;
    const auto dimension = static_cast<std::intptr_t>(count);
    const int status = self.is_attached ? self.numbers->run(args, &dimension, steps)
                                        : self.numbers->run_detached(args, &dimension, steps);
    if (status != 0) raised();
  }

  TYPEDCALL_OUT_OF_LINE void run_one() {
    const entry &chosen = self.functions.all[0];
    auto *const values = TYPEDCALL_INTERNAL_ON_STACK(native_value, chosen.invoke.arity() + 1);
    native_value *next = values;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const value_type &type = chosen.parameters[i];
      if (!columns[i].load(row, type, next)) return fall_back(columns.size());
      next += type.is_buffer ? 2 : 1;
    }
    calling::result_cell cell;
    switch (chosen.run(values, &cell)) {
      case calling::outcome::none:
        return fall_back(columns.size());
      case calling::outcome::raised:
        return raised();
      case calling::outcome::value:
        return give(chosen.result, chosen.at(cell));
    }
  }

  given look(std::size_t i) { return columns[i].look(row); }
  void give(const value_type &type, const void *at) {
    const bool is_same = self.is_result || type_of(type) == type_of(self.result);
    const char *const why =
        is_same ? to.give(row, type, at) : to.give_other(row, self.result, type, at);
    if (why != nullptr) detached(why);
  }
  __attribute__((noinline, cold)) void raised() {
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
    const row_home where{*self.where, self.is_attached};
    calling::by_boxing(self.called, where, count, *this);
  }
  object_ref box(std::size_t i) { return columns[i].box(row); }
  bool give_object(PyObject *object) const { return to.give_object(row, self.result, object); }
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
