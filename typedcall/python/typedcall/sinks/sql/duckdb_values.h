// DuckDB's vectors as C functions get their values and as Python's functions do, and the way back.
// Used by duckdb_call.h.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_VALUES_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_VALUES_H_

#include "duckdb_types.h"
#include "typedcall/loop.h"

#include "../../calling/conversions.h"
#include "duckdb_interface.h"

#include <algorithm>
#include <string>

namespace typedcall::python::duckdb {

/// What rows have no NULL, bit by bit; null: none of them has.
using validity = const std::uint64_t *;

/// An argument's vector. DuckDB has made it flat: row after row.
struct column {
  sql_type type;
  /// A C function wants a NUL behind its text, and DuckDB has none.
  bool needs_nul = false;
  const char *data = nullptr;
  validity valid = nullptr;
  std::string copy;

  template <class T>
  T at(std::uint64_t row) const {
    T value;
    std::memcpy(&value, data + row * sizeof(T), sizeof(T));
    return value;
  }
  const text &text_at(std::uint64_t row) const { return reinterpret_cast<const text *>(data)[row]; }

  /// The value of a column that has the parameter's type, in one or two of `out`. False: it takes
  /// no such text. Throws std::bad_alloc.
  bool load(std::uint64_t row, const value_type &wanted, native_value *out) {
    if (wanted.is_double) {  // nearly always
      std::memcpy(&out[0].bits, data + row * sizeof(double), sizeof(double));
      return true;
    }
    if (!wanted.is_buffer && !wanted.is_text) {
      out[0] = internal::load_element(wanted.type, data + row * wanted.size, nullptr);
      return true;
    }
    const text &value = text_at(row);
    if (wanted.is_buffer) {
      out[0] = native_value::of(value.begin());
      out[1] = native_value::of(static_cast<std::intptr_t>(value.length));
      return true;
    }
    if (std::memchr(value.begin(), 0, value.length) != nullptr) return false;
    copy.assign(value.begin(), value.length);  // DuckDB has no NUL behind it
    out[0] = native_value::of(copy.c_str());
    return true;
  }

  /// True if narrow() may have values of `from` for the parameter.
  static bool is_narrowed(sql_type from, const value_type &wanted) {
    return from == BIGINT ? wanted.is_integer : from == DOUBLE && type_of(wanted) == FLOAT;
  }

  /// Puts BIGINTs or DOUBLEs into `copy` as the parameter's type, up to the first that is out of
  /// its range. Returns how many. Throws std::bad_alloc.
  std::uint64_t narrow(std::uint64_t row, std::uint64_t count, const value_type &wanted) {
    if (copy.size() < count * wanted.size) copy.resize(count * wanted.size);
    constexpr PyNativeType whole = {PyNativeType_LONGLONG, 0}, real = {PyNativeType_DOUBLE, 0};
    const auto as = conversion::between(type == BIGINT ? whole : real, wanted.type);
    return static_cast<std::uint64_t>(
        as.run(data + row * sizeof(std::int64_t), sizeof(std::int64_t),
               static_cast<std::intptr_t>(count), copy.data(), wanted.size));
  }

  /// The value as the engine looks at it; what is too large for that is Python's.
  /// Throws std::bad_alloc.
  given look(std::uint64_t row) {
    return type == DOUBLE ? given::real(at<double>(row)) : look_at_other(row);
  }

  /// The value as a new reference, or null with an exception. GIL: held. Throws nothing, with which
  /// the GIL would stay held: Python needs no NUL behind a text, so none is copied.
  object_ref box(std::uint64_t row) {
    const given value =
        type == VARCHAR ? given::text(text_at(row).begin(), text_at(row).length) : look(row);
    return is_huge(value) ? box_huge(at<huge>(row)) : calling::box(value);
  }

 private:
  /// HUGEINT and UHUGEINT.
  struct huge {
    std::uint64_t low, high;
  };
  bool is_huge(const given &value) const {
    return value.kind == PyNativeGiven_OTHER && (type == HUGEINT || type == UHUGEINT);
  }

  __attribute__((noinline)) given look_at_other(std::uint64_t row) {
    switch (type) {
      case BOOLEAN:
        return given::boolean(at<unsigned char>(row) != 0);
      case FLOAT:
        return given::real(static_cast<double>(at<float>(row)));
      case BLOB:
        return given::bytes(text_at(row).begin(), text_at(row).length);
      case VARCHAR: {
        const text &value = text_at(row);
        if (!needs_nul) return given::text(value.begin(), value.length);
        copy.assign(value.begin(), value.length);
        return given::text(copy.c_str(), value.length);
      }
      case HUGEINT:
      case UHUGEINT: {
        const auto [low, high] = at<huge>(row);
        if (high == 0) return given::unsigned_integer(low);
        const bool is_small = type == HUGEINT && high == UINT64_MAX && low > INT64_MAX;
        return is_small ? given::integer(static_cast<std::int64_t>(low)) : given::nothing();
      }
      default: {
        std::uint64_t bits = 0;
        const unsigned size = 1u << ((type - TINYINT) % 4), unused = 64 - 8 * size;
        std::memcpy(&bits, data + row * size, size);
        if (type > BIGINT) return given::unsigned_integer(bits);
        return given::integer(static_cast<std::int64_t>(bits << unused) >> unused);
      }
    }
  }

  object_ref box_huge(huge value) const {
    const object_ref high = object_ref::steal(
        type == HUGEINT ? PyLong_FromLongLong(static_cast<std::int64_t>(value.high))
                        : PyLong_FromUnsignedLongLong(value.high));
    const object_ref low = object_ref::steal(PyLong_FromUnsignedLongLong(value.low));
    const object_ref bits = object_ref::steal(PyLong_FromLong(64));
    if (!high || !low || !bits) return {};
    const object_ref moved = object_ref::steal(PyNumber_Lshift(high.get(), bits.get()));
    return object_ref::steal(moved ? PyNumber_Or(moved.get(), low.get()) : nullptr);
  }
};

/// The vector of the results.
struct results {
  const api &with;
  handle vector;
  char *data;

  results(const api &table, handle output)
      : with(table), vector(output), data(static_cast<char *>(table.vector_get_data(output))) {}

  /// Bits to write to.
  std::uint64_t *valid() const {
    with.vector_ensure_validity_writable(vector);
    return with.vector_get_validity(vector);
  }
  void set_null(std::uint64_t row) const { valid()[row / 64] &= ~(UINT64_C(1) << (row % 64)); }

  /// Stores a C function's result of another type than the column's. Null, or why it cannot be.
  __attribute__((noinline, cold)) const char *give_other(std::uint64_t row, const value_type &type,
                                                         const value_type &given_type,
                                                         const void *place) const {
    if (given_type.kind == PyNativeKind_VOID) {
      set_null(row);
      return nullptr;
    }
    const auto *const from = static_cast<const char *>(place);
    const conversion found = conversion::of_result(given_type.type, type.type);
    if (found && found.run(from, 0, 1, data + row * type.size, 0) == 1) return nullptr;
    if (found) return "OverflowError: the result is too large for its column";
    return "TypeError: the type of the result depends on the value, and a column has one type; "
           "cast the argument to a narrower type";
  }

  /// Stores a C function's result, which is at `place`. Null, or why it cannot be.
  const char *give(std::uint64_t row, const value_type &type, const void *place) const {
    if (type.is_double) {  // nearly always
      std::memcpy(data + row * sizeof(double), place, sizeof(double));
      return nullptr;
    }
    if (type.is_text) {
      const char *string;
      std::memcpy(&string, place, sizeof(string));
      if (string == nullptr) {
        set_null(row);
        return nullptr;
      }
      const std::size_t length = std::strlen(string);
      if (!is_utf8(reinterpret_cast<const unsigned char *>(string), length)) {
        return "UnicodeDecodeError: the result is no UTF-8";
      }
      with.vector_assign_string(vector, row, string, length);
    } else if (type.kind == PyNativeKind_VOID) {
      set_null(row);
    } else {
      std::memcpy(data + row * type.size, place, type.size);
    }
    return nullptr;
  }

  /// Stores what Python's function gives. False with an exception. GIL: held.
  bool give_object(std::uint64_t row, const value_type &type, PyObject *object) const {
    if (object == Py_None) {
      set_null(row);
      return true;
    }
    if (type.is_text && PyUnicode_Check(object)) {
      Py_ssize_t size;
      const char *const string = PyUnicode_AsUTF8AndSize(object, &size);
      if (string == nullptr) return false;
      with.vector_assign_string(vector, row, string, static_cast<std::uint64_t>(size));
      return true;
    }
    if (type.is_text || type.kind == PyNativeKind_VOID) {
      PyErr_Format(PyExc_TypeError, "the function is declared to give %s, not '%.100s'",
                   type.is_text ? "a str" : "None", Py_TYPE(object)->tp_name);
      return false;
    }
    wide_value place;
    if (!internal::unbox_element(type.type, object, &place)) return false;
    std::memcpy(data + row * type.size, &place, type.size);
    return true;
  }
};

/// Calls `run(first, count)` for rows one behind the other that have values. False: it did so.
template <class Run>
bool for_valid_rows(validity valid, std::uint64_t rows, const Run &run) {
  if (valid == nullptr) return run(std::uint64_t{0}, rows);
  const auto end_of = [&](std::uint64_t at, bool is_valid) {
    while (at < rows) {
      const std::uint64_t word = valid[at / 64];
      const std::uint64_t bits = (is_valid ? ~word : word) >> (at % 64);  // 1: the run is over
      if (bits != 0) return std::min(rows, at + static_cast<unsigned>(__builtin_ctzll(bits)));
      at = (at / 64 + 1) * 64;
    }
    return rows;
  };
  for (std::uint64_t at = end_of(0, false); at < rows;) {
    const std::uint64_t end = end_of(at, true);
    if (!run(at, end - at)) return false;
    at = end_of(end, false);
  }
  return true;
}

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_VALUES_H_
