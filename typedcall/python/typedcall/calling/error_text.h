// The type and text of a Python exception, for runtimes that have errors of their own.
#ifndef TYPEDCALL_PYTHON_CALLING_ERROR_TEXT_H_
#define TYPEDCALL_PYTHON_CALLING_ERROR_TEXT_H_

#include "typedcall/base/error_value.h"
#include "typedcall/base/object_ref.h"
#include "typedcall/convert/text.h"
// After Python.h.
#include <cstring>
#include <string_view>

namespace typedcall::python {

/// Describes the pending exception. The caller must not clear the exception first: PyObject_Str
/// checks for signals, and would consume an interrupt that internal::clear_exception() sends again.
/// Construct, use and destroy this object with the GIL held.
class error_text {
 public:
  __attribute__((noinline, cold)) error_text() {
    internal::set_missing_error();
    PyObject *kind, *exception, *traceback;
    PyErr_Fetch(&kind, &exception, &traceback);
    PyErr_NormalizeException(&kind, &exception, &traceback);
    kind_ = object_ref::borrow(kind);
    name_.add_cut(reinterpret_cast<PyTypeObject *>(kind)->tp_name);
    const object_ref said = object_ref::steal(PyObject_Str(exception));
    const object_ref whole =
        object_ref::steal(said && PyUnicode_GET_LENGTH(said.get()) > 0
                              ? PyUnicode_FromFormat("%s: %U", type(), said.get())
                              : PyUnicode_FromString(type()));
    bytes_ = object_ref::steal(
        whole ? PyUnicode_AsEncodedString(whole.get(), "utf-8", "backslashreplace") : nullptr);
    PyErr_Restore(kind, exception, traceback);
  }

  bool is(PyObject *kind) const { return PyErr_GivenExceptionMatches(kind_.get(), kind) != 0; }
  /// Returns the name of the exception's type, cut if it is long.
  const char *type() const { return name_.c_str(); }
  /// Returns the exception's text, which is valid as long as this object lives.
  std::string_view text() const {
    const std::size_t before = name_.length() + std::strlen(": ");
    const std::size_t size = bytes_ ? static_cast<std::size_t>(PyBytes_GET_SIZE(bytes_.get())) : 0;
    return size > before ? std::string_view(get() + before, size - before) : "";
  }
  /// Returns the type and text, such as "ValueError: why", or only the type's name.
  const char *get() const {
    return bytes_ ? PyBytes_AS_STRING(bytes_.get()) : "an exception, and no memory for its text";
  }

 private:
  object_ref kind_, bytes_;
  typedcall::internal::text name_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_CALLING_ERROR_TEXT_H_
