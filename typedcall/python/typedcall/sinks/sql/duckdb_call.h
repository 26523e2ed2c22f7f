// The call of a C function for a vector of DuckDB's: in whole runs of rows where all are numbers,
// else row by row, with Python's function where that has to say something.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_CALL_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_CALL_H_

#include "duckdb_values.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace typedcall::python::duckdb {

/// DuckDB's own functions. Written once, before there is anything that could be called.
inline api library;

/// One SQL function of one list of types. Made and destroyed with the GIL.
struct function {
  object_ref callable, kept;
  home *where;
  calling::entry chosen;
  std::vector<int> types;  // of the parameters, then of the result
  /// Where all are numbers and each call has a result: whole runs of rows.
  std::optional<loop> numbers;
  function *next = nullptr;  // of those that DuckDB needs no more

  static bool is_number(const value_type &type) {
    return type.kind != PyNativeKind_VOID && type.kind <= PyNativeKind_FLOATING;
  }
  /// False with an exception.
  bool look_for_loop(const entry_row &from) {
    bool is_numbers = chosen.view.verdict != PyNativeVerdict_FALLS_BACK &&
                      chosen.view.hold != PyNativeHold_NO_GIL && is_number(chosen.result);
    for (const value_type &each : chosen.parameters) {
      is_numbers = is_numbers && is_number(each);
    }
    if (is_numbers) numbers = loop::make(from.signature, from.flags, from.address);
    return !is_numbers || numbers;
  }
};

/// The call for a vector's rows.
struct vector_call {
  const function &self;
  handle info;
  std::uint64_t rows;
  results to;
  bool is_attached;
  std::vector<column> columns;
  std::vector<std::string> copies;

  vector_call(const function &called, handle about, handle chunk, handle output)
      : self(called),
        info(about),
        rows(library.data_chunk_get_size(chunk)),
        to(library, output),
        is_attached(called.chosen.view.hold == PyNativeHold_THREAD),
        columns(called.chosen.parameters.size()),
        copies(called.numbers ? 0 : columns.size()) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const handle vector = library.data_chunk_get_vector(chunk, i);
      columns[i].data = static_cast<const char *>(library.vector_get_data(vector));
      columns[i].valid = library.vector_get_validity(vector);
    }
  }

  /// False with an exception if it is attached.
  bool run() {
    try {
      return for_valid_rows(common_validity(), rows, [&](std::uint64_t first, std::uint64_t count) {
        return self.numbers ? run_loop(first, count) : run_rows(first, count);
      });
    } catch (const std::bad_alloc &) {
      return stop("MemoryError");
    }
  }

  // NULL among the arguments is NULL as the result. Null: there is none.
  validity common_validity() const {
    std::uint64_t *valid = nullptr;
    const std::uint64_t words = (rows + 63) / 64;
    for (std::size_t i = 0; i < self.chosen.parameters.size(); ++i) {
      if (columns[i].valid == nullptr) continue;
      if (valid == nullptr) {
        valid = to.valid();
        std::fill_n(valid, words, ~std::uint64_t{0});
      }
      for (std::uint64_t word = 0; word < words; ++word) valid[word] &= columns[i].valid[word];
    }
    return valid;
  }

  bool run_loop(std::uint64_t first, std::uint64_t count) const {
    char *args[kMost + 1];
    std::intptr_t steps[kMost + 1];
    const std::size_t inputs = self.chosen.parameters.size();
    for (std::size_t i = 0; i <= inputs; ++i) {
      const value_type &type = i < inputs ? self.chosen.parameters[i] : self.chosen.result;
      const char *const data = i < inputs ? columns[i].data : to.data;
      steps[i] = type.size;
      args[i] = const_cast<char *>(data) + first * type.size;
    }
    const auto dimension = static_cast<std::intptr_t>(count);
    return is_attached ? self.numbers->run_attached(args, &dimension, steps) == 0
                       : self.numbers->run_detached(args, &dimension, steps) == 0;
  }

  bool run_rows(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t row = first; row < first + count; ++row) {
      if (!run_row(row)) return false;
    }
    return true;
  }

  bool run_row(std::uint64_t row) {
    native_value values[kMost + 1];
    native_value *next = values;
    const auto &parameters = self.chosen.parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!load(columns[i], row, parameters[i], next, &copies[i])) return run_boxed(row);
      next += parameters[i].is_buffer ? 2 : 1;
    }
    calling::result_cell cell;
    switch (self.chosen.run(values, &cell)) {
      case calling::outcome::none:
        return run_boxed(row);
      case calling::outcome::raised:
        return false;
      case calling::outcome::value:
        break;
    }
    const char *const why = to.give(row, self.chosen.result, self.chosen.at(cell));
    return why == nullptr || stop(why);
  }

  // Calls Python's function: a value that the C function does not take, or a fallback.
  __attribute__((noinline, cold)) bool run_boxed(std::uint64_t row) {
    const auto call = [&] {
      const auto &parameters = self.chosen.parameters;
      const object_ref result =
          call_boxed(self.callable.get(), parameters.size(),
                     [&](std::size_t i) { return box(columns[i], row, parameters[i]); });
      return result && to.give_object(row, self.chosen.result, result.get());
    };
    if (is_attached) return call();
    bool is_done = true;
    const auto fail = [&] {
      is_done = false;
      set_error();
    };
    return self.where->attached(self.callable.get(), call, fail) ? is_done
                                                                 : stop(self.where->why_detached());
  }

  // An error that is no exception.
  bool stop(const char *why) {
    library.set_error(info, why);
    has_error = true;
    return false;
  }
  void set_error() const {
    const error_text said;
    // Not at once: DuckDB's module would take the signal, and raise this error all the same.
    const auto later = [](void *) {
      PyErr_SetInterrupt();
      return 0;
    };
    if (said.is(PyExc_KeyboardInterrupt) && Py_AddPendingCall(later, nullptr) < 0) later(nullptr);
    library.set_error(info, said.get());
  }
  bool has_error = false;
};

/// DuckDB calls it for up to 2,048 rows at once, in threads of its own.
inline void run_sql(handle info, handle chunk, handle output) {
  const auto &self = *static_cast<const function *>(library.get_extra_info(info));
  try {
    vector_call call(self, info, chunk, output);
    if (call.is_attached) {
      const bool is_alive = self.where->attached(
          self.callable.get(), [&] { return call.run() || call.has_error; },
          [&] { call.set_error(); });
      if (!is_alive) library.set_error(info, self.where->why_detached());
      return;
    }
    if (self.chosen.view.hold == PyNativeHold_NOTHING) {
      call.run();
    } else {
      calling::without_gil([&] { call.run(); });
    }
  } catch (const std::bad_alloc &) {
    library.set_error(info, "MemoryError");
  }
}

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_CALL_H_
