// A C function as the runtimes call it that have types of their own: what it takes and gives as
// Python has them, one call of it, and how its overloads are read.
#ifndef TYPEDCALL_PYTHON_CALLING_OVERLOAD_H_
#define TYPEDCALL_PYTHON_CALLING_OVERLOAD_H_

#include "typedcall/calling.h"
#include "typedcall/entry_view.h"
#include "typedcall/error_value.h"
#include "typedcall/invoker.h"

#include "entry_row.h"

#include <optional>
#include <utility>
#include <vector>

namespace typedcall::python {

using calling::value_type;

/// The parameters and the result of a C function as Python has them.
struct python_types {
  python_types(const PyNativeSignature &parsed, std::uintptr_t flags)
      : python_types(parsed, PyNativeView_Of(&parsed, flags)) {}

  python_types(const PyNativeSignature &parsed, const PyNativeView &view)
      : parameters(parsed.args, parsed.args + view.parameters),
        result(view.result),
        has_place(view.has_place != 0),
        has_status(view.verdict == PyNativeVerdict_STATUS ||
                   view.verdict == PyNativeVerdict_FALLS_BACK) {
    for (const value_type &each : parameters) {
      has_bools |= each.is_buffer && each.element == PyNativeKind_BOOL;
    }
  }

  std::vector<value_type> parameters;
  value_type result;
  /// The result is behind the last argument, and what is returned says whether there is one.
  bool has_place;
  bool has_status;
  bool has_bools = false;  ///< there are arrays of them
};

/// A C function, and how to call it.
struct overload : python_types {
  overload(const invoker &how, const PyNativeSignature &parsed, const entry_row &from)
      : python_types(parsed, from.flags),
        call(how),
        needs_thread(from.needs_thread()),
        is_plain(!needs_thread &&
                 !has(PyNativeCallable_FALLS_BACK | PyNativeCallable_ACQUIRES_GIL)) {}

  invoker call;
  bool needs_thread;
  bool is_plain;  ///< it is called, in any thread, and has a result

  /// Nothing with ValueError, which says that `caller` cannot call it.
  static std::optional<overload> make(const entry_row &from, const char *caller) {
    PyNativeSignature parsed;
    const auto call = invoker::make(from.signature, from.flags, from.address);
    if (!call || PyNativeSignature_ParseString(from.signature, &parsed, nullptr) < 0 ||
        (from.flags & PyNativeCallable_TAKES_SELF) != 0) {
      PyErr_Format(PyExc_ValueError, "'%.200s' cannot be called from %s", from.signature, caller);
      return std::nullopt;
    }
    return overload(*call, parsed, from);
  }

  bool has(std::uintptr_t flag) const { return (call.flags() & flag) != 0; }

  enum class outcome { result, none, exception };

  /// Calls it: the result is where `*at` points to then, which is in `place` or in `returned`.
  outcome operator()(native_value *values, wide_value *place, native_value *returned,
                     const void **at) const {
    if (has_place) values[call.arity() - 1] = native_value::at(place);
    *at = has_place ? static_cast<const void *>(place) : returned;
    *returned = call(values);
    if (call.raised(*returned)) return outcome::exception;
    if (!has_status || returned->get<int>() == 0) return outcome::result;
    if (has(PyNativeCallable_FALLS_BACK)) return outcome::none;
    internal::set_missing_error();
    return outcome::exception;
  }
};

/// Reads a tuple of rows. False with an exception.
inline bool read_entries(PyObject *rows, const char *caller, calling::overloads *made) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(rows); ++i) {
    entry_row row;
    if (!row.read(PyTuple_GET_ITEM(rows, i))) return false;
    auto found = calling::entry::make(row.signature, row.flags, row.address, caller);
    if (!found) return false;
    made->all.push_back(std::move(*found));
  }
  made->prepare();
  return PyErr_Occurred() == nullptr;
}

/// Adds the overloads of a tuple of rows to `made`. False with an exception.
inline bool read_overloads(PyObject *rows, const char *caller, std::vector<overload> *made) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(rows); ++i) {
    entry_row row;
    if (!row.read(PyTuple_GET_ITEM(rows, i))) return false;
    auto found = overload::make(row, caller);
    if (!found) return false;
    made->push_back(std::move(*found));
  }
  return PyErr_Occurred() == nullptr;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_OVERLOAD_H_
