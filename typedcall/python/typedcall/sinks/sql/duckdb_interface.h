// The parts of DuckDB's C interface for extensions that typedcall uses, declared as in
// duckdb_extension.h, API version v1.2.0. Later versions only append to this interface.
#ifndef TYPEDCALL_PYTHON_SQL_DUCKDB_INTERFACE_H_
#define TYPEDCALL_PYTHON_SQL_DUCKDB_INTERFACE_H_

#include <cstdint>
#include <cstring>

namespace typedcall::python::duckdb {

/// An opaque DuckDB object, used through handles.
struct opaque;
using handle = opaque *;

using run_function = void (*)(handle info, handle chunk, handle output);
using destroy_function = void (*)(void *);

/// The functions that an extension may call while it is loaded.
struct access {
  void (*set_error)(handle info, const char *text);
  handle *(*get_database)(handle info);
  const void *(*get_api)(handle info, const char *version);
};

/// A text or a blob in a vector. Short ones are stored inline.
struct text {
  std::uint32_t length;
  char data[12];

  const char *begin() const {
    if (length <= sizeof(data)) return data;
    const char *elsewhere;
    std::memcpy(&elsewhere, data + 4, sizeof(elsewhere));
    return elsewhere;
  }
};
static_assert(sizeof(text) == 16);

/// The layout of HUGEINT and UHUGEINT.
struct huge {
  std::uint64_t low, high;
};

/// A DECIMAL for DuckDB's functions.
struct decimal {
  unsigned char width, scale;
  huge value;
};

/// The DuckDB functions that are used here. A result of 0 means success.
struct api {
  int (*connect)(handle database, handle *connection);
  void (*disconnect)(handle *connection);
  double (*decimal_to_double)(decimal value);
  handle (*create_logical_type)(int type);
  int (*get_type_id)(handle type);
  unsigned char (*decimal_width)(handle type);
  unsigned char (*decimal_scale)(handle type);
  int (*decimal_internal_type)(handle type);
  void (*destroy_logical_type)(handle *type);
  handle (*data_chunk_get_vector)(handle chunk, std::uint64_t column);
  std::uint64_t (*data_chunk_get_size)(handle chunk);
  handle (*vector_get_column_type)(handle vector);
  void *(*vector_get_data)(handle vector);
  std::uint64_t *(*vector_get_validity)(handle vector);
  void (*vector_ensure_validity_writable)(handle vector);
  void (*vector_assign_string)(handle vector, std::uint64_t row, const char *, std::uint64_t size);
  handle (*create_scalar_function)();
  void (*destroy_scalar_function)(handle *function);
  void (*set_name)(handle function, const char *name);
  void (*set_volatile)(handle function);
  void (*add_parameter)(handle function, handle type);
  void (*set_return_type)(handle function, handle type);
  void (*set_extra_info)(handle function, void *info, destroy_function destroy);
  void (*set_function)(handle function, run_function run);
  void *(*get_extra_info)(handle info);
  void (*set_error)(handle info, const char *text);
  handle (*create_function_set)(const char *name);
  void (*destroy_function_set)(handle *set);
  int (*add_to_set)(handle set, handle function);
  int (*register_set)(handle connection, handle set);

  /// Copies functions from DuckDB's table, which is valid only until the extension has been loaded.
  static api of(const void *table) {
    constexpr int places[] = {3,   6,   45,  156, 166, 167, 168, 169, 184, 190,
                              191, 193, 194, 195, 196, 198, 209, 210, 211, 214,
                              215, 216, 217, 218, 220, 221, 222, 223, 224, 225};
    static_assert(sizeof(places) / sizeof(*places) == sizeof(api) / sizeof(void (*)()));
    api made;
    auto *to = reinterpret_cast<char *>(&made);
    for (const int place : places) {
      std::memcpy(to,
                  static_cast<const char *>(table) + sizeof(void *) * static_cast<unsigned>(place),
                  sizeof(void *));
      to += sizeof(void *);
    }
    return made;
  }
};

/// The functions of the DuckDB in this process, set before any SQL function can be called.
inline api library;

/// Returns the type of a vector. For a DECIMAL, also stores its width and scale, and the integer
/// type of its digits.
inline int type_of(handle vector, decimal *real, int *digits) {
  handle logical = library.vector_get_column_type(vector);
  const int type = library.get_type_id(logical);
  constexpr int kDecimal = 19;
  if (type == kDecimal) {
    *real = {library.decimal_width(logical), library.decimal_scale(logical), {}};
    *digits = library.decimal_internal_type(logical);
  }
  library.destroy_logical_type(&logical);
  return type;
}

}  // namespace typedcall::python::duckdb

#endif  // TYPEDCALL_PYTHON_SQL_DUCKDB_INTERFACE_H_
