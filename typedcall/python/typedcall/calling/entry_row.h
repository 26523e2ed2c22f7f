// Entries as Python passes them to extension modules: rows of signature, flags and address.
#ifndef TYPEDCALL_PYTHON_CALLING_ENTRY_ROW_H_
#define TYPEDCALL_PYTHON_CALLING_ENTRY_ROW_H_

#include "typedcall/calling.h"
// After Python.h.
#include <cstdint>
#include <utility>

namespace typedcall::python {

/// A row made by row_of() in typedcall/record/records.py.
struct entry_row {
  const char *signature = nullptr;
  std::uintptr_t flags = 0;
  void *address = nullptr;

  /// Reads a row. The signature is valid as long as `row` lives. On failure, returns false with an
  /// exception set.
  bool read(PyObject *row) {
    unsigned long bits;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(row, "skn", &signature, &bits, &at)) return false;
    flags = bits;
    address = reinterpret_cast<void *>(at);
    return true;
  }
};

/// Reads a tuple of rows. On failure, returns false with an exception set.
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

/// Returns the thread state for code that may call any of these functions. With ATTACHED, the
/// engine and the loop release the GIL for functions that acquire it themselves.
inline PyNativeThreadState thread_state_of(const calling::overloads &functions) {
  PyNativeThreadState all = PyNativeThreadState_ANY;
  for (const calling::entry &each : functions.all) {
    if (!each.is_here() || each.view.thread_state == PyNativeThreadState_ANY) continue;
    all = each.view.thread_state;
    if (PyNativeView_Internal_IsAttached(all)) break;
  }
  return all;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_ENTRY_ROW_H_
