// DuckDB's vectors as C functions get their values and as Python's functions do, and the way back.
// Used by duckdb_call.h.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_VALUES_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_VALUES_H_

#include "functions.h"
#include "typedcall/loop.h"

#include "duckdb_interface.h"

#include <algorithm>
#include <string>

namespace typedcall::python::duckdb {

/// What rows have no NULL, bit by bit; null: none of them has.
using validity = const std::uint64_t *;

/// An argument's vector. DuckDB has made it flat: row after row.
struct column {
  const char *data = nullptr;
  validity valid = nullptr;

  const text &text_at(std::uint64_t row) const { return reinterpret_cast<const text *>(data)[row]; }
};

/// The value of a row as the C function gets it. False: it takes no such text. `copy` lasts until
/// the call is over. Throws std::bad_alloc.
inline bool load(const column &from, std::uint64_t row, const value_type &type, native_value *out,
                 std::string *copy) {
  if (type.is_double) {  // nearly always
    std::memcpy(&out[0].bits, from.data + row * sizeof(double), sizeof(double));
    return true;
  }
  if (!type.is_buffer && !type.is_text) {
    out[0] = internal::load_element(type.type, from.data + row * type.size, nullptr);
    return true;
  }
  const text &value = from.text_at(row);
  if (type.is_buffer) {
    out[0] = native_value::of(value.begin());
    out[1] = native_value::of(static_cast<std::intptr_t>(value.length));
    return true;
  }
  if (std::memchr(value.begin(), 0, value.length) != nullptr) return false;
  copy->assign(value.begin(), value.length);  // DuckDB has no NUL behind it
  out[0] = native_value::of(copy->c_str());
  return true;
}

/// The value of a row as a new reference, or null with an exception. GIL: held.
inline object_ref box(const column &from, std::uint64_t row, const value_type &type) {
  if (!type.is_buffer && !type.is_text) {
    return object_ref::steal(internal::box_element(
        type.type, internal::load_element(type.type, from.data + row * type.size, nullptr)));
  }
  const text &value = from.text_at(row);
  return object_ref::steal(type.is_text ? PyUnicode_DecodeUTF8(value.begin(), value.length, nullptr)
                                        : PyBytes_FromStringAndSize(value.begin(), value.length));
}

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
