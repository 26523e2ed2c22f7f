// Conversions between SQLite's values and those of C functions and Python functions.
#ifndef TYPEDCALL_PYTHON_SQL_SQLITE_VALUES_H_
#define TYPEDCALL_PYTHON_SQL_SQLITE_VALUES_H_

#include "functions.h"
// After Python.h. The macros of sqlite3ext.h are not used, because all of them use a single table
// of functions.
#include <sqlite3ext.h>

#include <cstring>

namespace typedcall::python {

using api_table = const sqlite3_api_routines;
using calling::argument_value;

/// Converts the pending exception to an SQL error. GIL: held.
__attribute__((noinline, cold)) inline void set_error(api_table &api, sqlite3_context *context) {
  const error_text said;
  if (internal::clear_exception()) return api.result_error_code(context, SQLITE_INTERRUPT);
  if (said.is(PyExc_MemoryError)) return api.result_error_nomem(context);
  api.result_error(context, said.get(), -1);
}

__attribute__((noinline)) inline void set_other_result(api_table &api, sqlite3_context *context,
                                                       const value_type &type, const void *place) {
  const argument_value value = calling::argument_value_of(type, place);
  const native_value bits{value.bits};
  switch (value.kind) {
    case PyNativeArgumentKind_BOOL:
      return api.result_int(context, value.bits != 0);
    case PyNativeArgumentKind_INT:
      if (value.size == 0) return api.result_int64(context, bits.get<std::int64_t>());
      return api.result_error(context, "OverflowError: too large for an INTEGER of SQLite", -1);
    case PyNativeArgumentKind_FLOAT:
      return api.result_double(context, bits.get<double>());
    case PyNativeArgumentKind_STR:
      return api.result_text64(context, value.utf8(), static_cast<sqlite3_uint64>(value.size),
                               SQLITE_TRANSIENT, SQLITE_UTF8);
    default:  // the result is already NULL
      if (value.is_no_text()) {
        api.result_error(context, "UnicodeDecodeError: the result is not UTF-8", -1);
      }
  }
}

/// Passes the C function's result, which is at `place`, to SQLite.
inline void set_result(api_table &api, sqlite3_context *context, const value_type &type,
                       const void *place) {
  if (!type.is_double) return set_other_result(api, context, type, place);
  double real;
  std::memcpy(&real, place, sizeof(real));
  api.result_double(context, real);
}

/// Passes the result of the Python function to SQLite. On failure, returns false with an exception
/// set. GIL: held.
inline bool set_result_object(api_table &api, sqlite3_context *context, PyObject *object) {
  if (object == Py_None) return true;
  if (PyFloat_Check(object)) {
    api.result_double(context, PyFloat_AS_DOUBLE(object));
  } else if (PyLong_Check(object)) {
    const long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred() != nullptr) return false;
    api.result_int64(context, number);
  } else if (PyUnicode_Check(object)) {
    Py_ssize_t size;
    const char *const text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) return false;
    api.result_text64(context, text, static_cast<sqlite3_uint64>(size), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  } else if (PyObject_CheckBuffer(object)) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) return false;
    const void *const data = view.len > 0 ? view.buf : "";
    api.result_blob64(context, data, static_cast<sqlite3_uint64>(view.len), SQLITE_TRANSIENT);
    PyBuffer_Release(&view);
  } else {
    PyErr_Format(PyExc_TypeError, "SQLite has no value for '%.100s'", Py_TYPE(object)->tp_name);
    return false;
  }
  return true;
}

/// Returns a value for the engine. NULL becomes given::nothing().
__attribute__((noinline)) inline argument_value other_argument(api_table &api, sqlite3_value *value,
                                                               int kind) {
  switch (kind) {
    case SQLITE_INTEGER:
      return argument_value::integer(api.value_int64(value));
    case SQLITE_TEXT: {
      const unsigned char *const text = api.value_text(value);
      return argument_value::text(text, static_cast<std::size_t>(api.value_bytes(value)));
    }
    case SQLITE_BLOB: {
      const void *const data = api.value_blob(value);
      return argument_value::bytes(data, static_cast<std::size_t>(api.value_bytes(value)));
    }
    default:
      return argument_value::nothing();
  }
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_SQL_SQLITE_VALUES_H_
