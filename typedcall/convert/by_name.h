// Finds the names of a Python callable's keyword-only arguments. C callers pass all arguments in
// order. Used by typedcall/boxed_call.h.
#ifndef TYPEDCALL_CONVERT_BY_NAME_H_
#define TYPEDCALL_CONVERT_BY_NAME_H_

#include "typedcall/base/object_ref.h"
// Python.h, which object_ref.h includes, must come before all standard headers.
#include <cstddef>
#include <cstring>
#include <utility>

#include "typedcall/base/namespace.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Returns the end of a parameter in a text signature: a comma, the closing bracket or the NUL.
inline const char *end_of_parameter(const char *text) {
  int depth = 0;
  char quote = '\0';
  for (; *text != '\0'; ++text) {
    if (quote != '\0') {
      if (*text == quote) quote = '\0';
      if (*text == '\\' && text[1] != '\0') ++text;
    } else if (*text == '\'' || *text == '"') {
      quote = *text;
    } else if (std::strchr("([{", *text) != nullptr) {
      ++depth;
    } else if ((*text == ',' && depth == 0) ||
               (std::strchr(")]}", *text) != nullptr && depth-- == 0)) {
      break;
    }
  }
  return text;
}

/// Makes `*names` from a text like "($self, x, /, y=1.5, *, z)". `*names` stays empty if the text
/// does not show which arguments are passed by name. On failure, returns false with MemoryError
/// set.
inline bool names_in_text(const char *text, std::size_t count, object_ref *names) {
  std::size_t at = 0;
  Py_ssize_t named = 0;
  object_ref made;
  for (const char *end; *text == '(' || *text == ','; text = end) {
    for (++text; *text == ' ' || *text == '\n';) ++text;
    end = end_of_parameter(text);
    const std::size_t length = std::strcspn(text, " =:,)");
    if (length == 0 || *text == '$' || *text == '/') continue;
    if (*text == '*') {
      if (length != 1 || at >= count) return true;  // *args, or all are positional
      made = object_ref::steal(PyTuple_New(static_cast<Py_ssize_t>(count - at)));
      if (!made) return false;
    } else if (at++ < count && made) {
      PyObject *const name = PyUnicode_FromStringAndSize(text, static_cast<Py_ssize_t>(length));
      if (name == nullptr) return false;
      PyTuple_SET_ITEM(made.get(), named++, name);
    }
  }
  if (at >= count) *names = std::move(made);
  return true;
}

/// Makes `*names` from the code object of a Python function. On failure, returns false with an
/// exception set.
inline bool names_in_code(PyObject *function, std::size_t count, object_ref *names) {
  const object_ref code = object_ref::steal(PyObject_GetAttrString(function, "__code__"));
  if (!code) return false;
  const auto number = [&](const char *name) {
    const object_ref found = object_ref::steal(PyObject_GetAttrString(code.get(), name));
    return found ? PyLong_AsSsize_t(found.get()) : -1;
  };
  constexpr Py_ssize_t takes_any = CO_VARARGS | CO_VARKEYWORDS;
  const Py_ssize_t flags = number("co_flags"), first = number("co_argcount");
  const Py_ssize_t named = number("co_kwonlyargcount"), all = static_cast<Py_ssize_t>(count);
  if (PyErr_Occurred() != nullptr) return false;
  if ((flags & takes_any) != 0 || all <= first || all > first + named) return true;
  const object_ref known = object_ref::steal(PyObject_GetAttrString(code.get(), "co_varnames"));
  if (known) *names = object_ref::steal(PyTuple_GetSlice(known.get(), first, all));
  return static_cast<bool>(*names);
}

/// Sets `*names` to the `kwnames` tuple that PyObject_Vectorcall() needs for `count` arguments.
/// `*names` stays empty if all arguments are passed by position or the names are unknown. Returns
/// false only after MemoryError or an exception that does not derive from Exception, which is then
/// set. Otherwise, an exception that was already pending stays pending. GIL: held.
TYPEDCALL_OUT_OF_LINE inline bool find_names(PyObject *callable, std::size_t count,
                                             object_ref *names) {
#ifndef PYPY_VERSION
  if (PyCFunction_Check(callable)) {
    const char *const doc = reinterpret_cast<PyCFunctionObject *>(callable)->m_ml->ml_doc;
    if (doc == nullptr || std::strchr(doc, '*') == nullptr) return true;
  }
#endif
  PyObject *kind, *pending, *traceback;
  PyErr_Fetch(&kind, &pending, &traceback);
  bool is_done;
  if (PyFunction_Check(callable)) {
    is_done = names_in_code(callable, count, names);
  } else {
    const object_ref text =
        object_ref::steal(PyObject_GetAttrString(callable, "__text_signature__"));
    const bool is_text = text && PyUnicode_Check(text.get());
    const char *const utf8 = is_text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    is_done = utf8 != nullptr ? names_in_text(utf8, count, names) : PyErr_Occurred() == nullptr;
  }
  if (!is_done && (PyErr_ExceptionMatches(PyExc_MemoryError) != 0 ||
                   PyErr_ExceptionMatches(PyExc_Exception) == 0)) {
    Py_XDECREF(kind);
    Py_XDECREF(pending);
    Py_XDECREF(traceback);
    return false;
  }
  PyErr_Restore(kind, pending, traceback);
  return true;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_CONVERT_BY_NAME_H_
