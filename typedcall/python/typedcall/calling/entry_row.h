// An entry as extension modules get it from Python, and what its flags ask of libraries, which call
// in any thread, with the GIL or without.
#ifndef TYPEDCALL_PYTHON_CALLING_ENTRY_ROW_H_
#define TYPEDCALL_PYTHON_CALLING_ENTRY_ROW_H_

#include "typedcall/calling.h"
#include "typedcall/gil.h"
#include "typedcall/native_callable.h"
// These come first, because of Python.h.
#include <cstdint>
#include <utility>

namespace typedcall::python {

/// What row_of() of typedcall/record/records.py makes.
struct entry_row {
  const char *signature = nullptr;
  std::uintptr_t flags = 0;
  void *address = nullptr;

  /// False with an exception. The signature lives as long as `row`.
  bool read(PyObject *row) {
    unsigned long bits;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(row, "skn", &signature, &bits, &at)) return false;
    flags = bits;
    address = reinterpret_cast<void *>(at);
    return true;
  }

  /// Without THREAD_SAFE it is not to be in two threads at once, and libraries know no GIL.
  bool needs_thread() const {
    return (flags & (PyNativeCallable_NEEDS_THREAD | PyNativeCallable_TAKES_SELF)) != 0 ||
           (flags & (PyNativeCallable_THREAD_SAFE | PyNativeCallable_ACQUIRES_GIL)) == 0;
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

/// Runs `body`, which calls a function with these flags: without the GIL where that takes it, for
/// it may wait for another thread to let go of it.
template <class Body>
void let_go_for(std::uintptr_t flags, const Body &body) {
  const bool lets_go =
      (flags & PyNativeCallable_ACQUIRES_GIL) != 0 && PyTypedcall_IsAttached() != 0;
  PyThreadState *const thread = lets_go ? PyEval_SaveThread() : nullptr;
  body();
  if (lets_go) internal::restore_thread(thread);
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_ENTRY_ROW_H_
