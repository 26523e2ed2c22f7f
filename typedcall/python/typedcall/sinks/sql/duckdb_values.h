// Conversions between DuckDB's vectors and the values of C functions and Python functions.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_VALUES_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_VALUES_H_

#include "duckdb_types.h"

#include "duckdb_interface.h"

#include <string>

namespace typedcall::python::duckdb {

/// Returns the C type of a column of numbers.
inline PyNativeType native_type_of(sql_type type) {
  if (type == FLOAT) return {PyNativeType_FLOAT, 0};
  if (type == DOUBLE) return {PyNativeType_DOUBLE, 0};
  return calling::integer_type((type - TINYINT) % 4, type <= BIGINT);
}

/// Returns the size of a value in a column.
constexpr std::intptr_t step_of(sql_type type) {
  if (type == BOOLEAN) return 1;
  if (type > DOUBLE) return sizeof(text);  // and of a HUGEINT
  return type == FLOAT ? 4 : type == DOUBLE ? 8 : 1 << ((type - TINYINT) % 4);
}

/// The vector of an argument, which DuckDB has flattened to one value per row.
struct column {
  sql_type type = ANY;
  int digits = BIGINT;     ///< the integer type of a DECIMAL's digits
  decimal real = {};       ///< the width and scale of a DECIMAL
  std::intptr_t step = 0;  ///< from row to row
  /// True if a C function expects a NUL after the text, where DuckDB stores none.
  bool needs_nul = false;
  const char *data = nullptr;
  std::string copy;

  template <class T>
  T at(std::uint64_t row) const {
    T value;
    std::memcpy(&value, data + row * sizeof(T), sizeof(T));
    return value;
  }
  const text &text_at(std::uint64_t row) const { return reinterpret_cast<const text *>(data)[row]; }

  /// Finds the type of a vector. Returns false if functions do not take it.
  bool find_type(handle vector) {
    type = static_cast<sql_type>(type_of(vector, &real, &digits));
    return (type >= BOOLEAN && type <= DOUBLE) || is_integer(type) || type == VARCHAR ||
           type == BLOB || type == DECIMAL || type == SQLNULL;
  }

  /// Stores a value in one or two elements of `out`. Numbers have the parameter's type. Returns
  /// false if the parameter does not accept this text. Throws std::bad_alloc.
  bool load(const char *from, const value_type &wanted, native_value *out) {
    if (wanted.is_double) {  // nearly always
      std::memcpy(&out[0].bits, from, sizeof(double));
      return true;
    }
    if (!wanted.is_buffer && !wanted.is_text) {
      out[0] = internal::load_element(wanted.type, from, nullptr);
      return true;
    }
    const text &value = *reinterpret_cast<const text *>(from);
    if (wanted.is_buffer) {
      out[0] = native_value::of(value.begin());
      out[1] = native_value::of(static_cast<std::intptr_t>(value.length));
      return true;
    }
    if (std::memchr(value.begin(), 0, value.length) != nullptr) return false;
    copy.assign(value.begin(), value.length);  // DuckDB stores no NUL after it
    out[0] = native_value::of(copy.c_str());
    return true;
  }

  /// Returns a value for the engine. For an int that is too large, given::nothing() makes the
  /// engine call the Python function. Throws std::bad_alloc.
  argument_value argument(std::uint64_t row) {
    return type == DOUBLE ? argument_value::real(at<double>(row)) : other_argument(row);
  }

  /// Returns the value as a Python object, or null with an exception set. GIL: held. Must not
  /// throw, because the GIL would stay held, so texts are not copied.
  object_ref box(std::uint64_t row) {
    const argument_value value =
        type == VARCHAR ? argument_value::text(text_at(row).begin(), text_at(row).length)
                        : argument(row);
    return is_huge(value) ? box_huge(at<huge>(row)) : calling::box(value);
  }

 private:
  bool is_huge(const argument_value &value) const {
    return value.kind == PyNativeArgumentKind_OTHER && (type == HUGEINT || type == UHUGEINT);
  }

  __attribute__((noinline)) argument_value other_argument(std::uint64_t row) {
    switch (type) {
      case BOOLEAN:
        return argument_value::boolean(at<unsigned char>(row) != 0);
      case FLOAT:
        return argument_value::real(static_cast<double>(at<float>(row)));
      case BLOB:
        return argument_value::bytes(text_at(row).begin(), text_at(row).length);
      case VARCHAR: {
        const text &value = text_at(row);
        if (!needs_nul) return argument_value::text(value.begin(), value.length);
        copy.assign(value.begin(), value.length);
        return argument_value::text(copy.c_str(), value.length);
      }
      case HUGEINT:
      case UHUGEINT: {
        const auto [low, high] = at<huge>(row);
        if (high == 0) return argument_value::unsigned_integer(low);
        const bool is_small = type == HUGEINT && high == UINT64_MAX && low > INT64_MAX;
        return is_small ? argument_value::integer(static_cast<std::int64_t>(low))
                        : argument_value::nothing();
      }
      case DECIMAL: {
        const std::int64_t low = digits == HUGEINT ? 0 : integer_at(row, digits);
        real.value = {static_cast<std::uint64_t>(low), low < 0 ? UINT64_MAX : 0};
        if (digits == HUGEINT) real.value = at<huge>(row);
        return argument_value::real(library.decimal_to_double(real));
      }
      default:
        return type > BIGINT ? argument_value::unsigned_integer(
                                   static_cast<std::uint64_t>(integer_at(row, type)))
                             : argument_value::integer(integer_at(row, type));
    }
  }

  std::int64_t integer_at(std::uint64_t row, int stored) const {
    std::uint64_t bits = 0;
    const unsigned size = 1u << ((stored - TINYINT) % 4), unused = 64 - 8 * size;
    std::memcpy(&bits, data + row * size, size);
    if (stored > BIGINT) return static_cast<std::int64_t>(bits);
    return static_cast<std::int64_t>(bits << unused) >> unused;
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

struct results {
  handle vector;
  char *data;

  explicit results(handle output)
      : vector(output), data(static_cast<char *>(library.vector_get_data(output))) {}

  /// Returns the validity mask, made writable.
  std::uint64_t *valid() const {
    library.vector_ensure_validity_writable(vector);
    return library.vector_get_validity(vector);
  }
  void set_null(std::uint64_t row) const { valid()[row / 64] &= ~(UINT64_C(1) << (row % 64)); }

  /// Stores a C function's result in a column of another type. Returns null, or an error message.
  __attribute__((noinline, cold)) const char *set_other_result(std::uint64_t row,
                                                               const value_type &type,
                                                               const value_type &given_type,
                                                               const void *place) const {
    if (given_type.kind == PyNativeKind_VOID) {
      set_null(row);
      return nullptr;
    }
    native_value made;
    if (calling::convert(calling::argument_value_of(given_type, place), type, &made) !=
        calling::converted::yes) {
      return "OverflowError: the result is too large for its column";
    }
    std::memcpy(data + row * type.size, &made, type.size);
    return nullptr;
  }

  /// Stores the C function's result, which is at `place`. Returns null, or an error message.
  const char *set_result(std::uint64_t row, const value_type &type, const void *place) const {
    if (type.is_double) {  // nearly always
      std::memcpy(data + row * sizeof(double), place, sizeof(double));
      return nullptr;
    }
    if (!type.is_text && type.kind != PyNativeKind_VOID) {
      std::memcpy(data + row * type.size, place, type.size);
      return nullptr;
    }
    const argument_value value = calling::argument_value_of(type, place);
    if (value.is_no_text()) return "UnicodeDecodeError: the result is not UTF-8";
    if (value.kind == PyNativeArgumentKind_STR) {
      library.vector_assign_string(vector, row, value.utf8(),
                                   static_cast<std::uint64_t>(value.size));
    } else {
      set_null(row);
    }
    return nullptr;
  }

  /// Stores the result of the Python function. On failure, returns false with an exception set.
  /// GIL: held.
  bool set_result_object(std::uint64_t row, const value_type &type, PyObject *object) const {
    if (object == Py_None) {
      set_null(row);
      return true;
    }
    if (type.is_text && PyUnicode_Check(object)) {
      Py_ssize_t size;
      const char *const string = PyUnicode_AsUTF8AndSize(object, &size);
      if (string == nullptr) return false;
      library.vector_assign_string(vector, row, string, static_cast<std::uint64_t>(size));
      return true;
    }
    if (type.is_text || type.kind == PyNativeKind_VOID) {
      PyErr_Format(PyExc_TypeError, "the function is declared to return %s, not '%.100s'",
                   type.is_text ? "a str" : "None", Py_TYPE(object)->tp_name);
      return false;
    }
    wide_value place;
    if (!internal::unbox_element(type.type, object, &place)) return false;
    std::memcpy(data + row * type.size, &place, type.size);
    return true;
  }
};

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_VALUES_H_
