// Assigns arguments to parameters that have names or defaults. Raises the same TypeError as CPython
// for a Python function.
#ifndef TYPEDCALL_PROVIDER_KEYWORDS_H_
#define TYPEDCALL_PROVIDER_KEYWORDS_H_

#include "typedcall/base/namespace.h"
#include "typedcall/convert/text.h"
#include "typedcall/provider/parameter.h"

// These headers must come after Python.h.
#include <cstring>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Adds the name of the argument to the exception that its conversion raised. An exception with a
/// traceback comes from a method of the argument and is not changed.
TYPEDCALL_COLD TYPEDCALL_HIDDEN void name_argument(const parameter_list &parameters,
                                                   std::size_t at);

/// Fills `values` with a borrowed argument for each parameter, or NULL for a default. `keywords` is
/// a tuple of names, or NULL. Returns false with TypeError set on failure. Errors are checked in
/// the same order as in CPython.
template <bool AnyKeywordOnly>
TYPEDCALL_OUT_OF_LINE TYPEDCALL_HIDDEN bool place_arguments(const parameter_list &parameters,
                                                            PyObject *const *args,
                                                            std::size_t nargs, PyObject *keywords,
                                                            PyObject **values);

#if !TYPEDCALL_INTERNAL_IS_DECLARED

TYPEDCALL_RARE inline void set_too_many(const parameter_list &parameters, std::size_t given,
                                        PyObject *const *values) {
  const std::size_t most = parameters.by_position, least = parameters.required;
  std::size_t by_name = 0;
  for (std::size_t i = most; i < parameters.count; ++i) by_name += values[i] != nullptr ? 1 : 0;
  text words;
  if (least < most) words.add("from ").add_number(least).add(" to ");
  words.add_number(most).add(" positional argument").add(least == most && most == 1 ? "" : "s");
  words.add(" but ").add_number(given);
  if (by_name > 0) {
    words.add(" positional argument").add(given == 1 ? "" : "s").add(" (and ").add_number(by_name);
    words.add(" keyword-only argument").add(by_name == 1 ? ")" : "s)");
  }
  if (!words.is_complete()) {
    PyErr_NoMemory();
    return;
  }
  PyErr_Format(PyExc_TypeError, "%s() takes %s %s given", parameters.function, words.c_str(),
               given == 1 && by_name == 0 ? "was" : "were");
}

/// Sets the TypeError for missing arguments. Like CPython, mentions missing keyword-only arguments
/// only if no other argument is missing.
TYPEDCALL_RARE inline void set_missing(const parameter_list &parameters, PyObject *const *values) {
  const auto is_missing = [&](std::size_t at) {
    return values[at] == nullptr && !parameters.has_default[at];
  };
  std::size_t first = 0, end = parameters.required, count = 0, named = 0;
  while (first < end && !is_missing(first)) ++first;
  const bool by_name = first == end;
  if (by_name) {
    first = parameters.by_position;
    end = parameters.count;
  }
  for (std::size_t i = first; i < end; ++i) count += is_missing(i) ? 1 : 0;
  text names;
  for (std::size_t i = first; i < end; ++i) {
    if (!is_missing(i)) continue;
    ++named;
    if (named > 1) names.add(named < count ? ", " : count > 2 ? ", and " : " and ");
    names.add("'").add(parameters.names[i]).add("'");
  }
  if (!names.is_complete()) {
    PyErr_NoMemory();
    return;
  }
  PyErr_Format(PyExc_TypeError, "%s() missing %zu required %s argument%s: %s", parameters.function,
               count, by_name ? "keyword-only" : "positional", count == 1 ? "" : "s",
               names.c_str());
}

/// True if the str `text` is this name. Bytes are compared, because each interpreter would need its
/// own str for a comparison by identity.
inline bool is_name(PyObject *text, const char *name, std::size_t length) {
#if PY_VERSION_HEX >= 0x030C0000
  const bool is_ready = true;
#else
  const bool is_ready = PyUnicode_IS_READY(text);
#endif
  if (is_ready && PyUnicode_IS_COMPACT_ASCII(text)) {
    return static_cast<std::size_t>(PyUnicode_GET_LENGTH(text)) == length &&
           std::memcmp(PyUnicode_1BYTE_DATA(text), name, length) == 0;
  }
  Py_ssize_t bytes;
  const char *utf8 = PyUnicode_AsUTF8AndSize(text, &bytes);
  if (utf8 == nullptr) {
    PyErr_Clear();
    return false;
  }
  return static_cast<std::size_t>(bytes) == length && std::memcmp(utf8, name, length) == 0;
}

/// Returns the index of the parameter named `keyword` between `first` and `end`, or `end` if there
/// is none.
inline std::size_t find_name(const parameter_list &parameters, PyObject *keyword, std::size_t first,
                             std::size_t end) {
  while (first < end &&
         !is_name(keyword, parameters.names[first], std::strlen(parameters.names[first]))) {
    ++first;
  }
  return first;
}

/// Sets the TypeError for `keyword`, which cannot be passed by name. Some of `keywords` may be
/// names of positional-only parameters.
TYPEDCALL_RARE inline void set_unexpected(const parameter_list &parameters, PyObject *keywords,
                                          PyObject *keyword) {
  text names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i) {
    const std::size_t at =
        find_name(parameters, PyTuple_GET_ITEM(keywords, i), 0, parameters.positional);
    if (at < parameters.positional) {
      names.add_behind(", ", parameters.names[at]);
    }
  }
  if (!names.is_complete()) {
    PyErr_NoMemory();
  } else if (names.length() == 0) {
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%.200U'",
                 parameters.function, keyword);
  } else {
    PyErr_Format(PyExc_TypeError,
                 "%s() got some positional-only arguments passed as keyword arguments: '%s'",
                 parameters.function, names.c_str());
  }
}

TYPEDCALL_RARE TYPEDCALL_INTERNAL_DEFINE void name_argument(const parameter_list &parameters,
                                                            std::size_t at) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  bool is_ours = false;
  for (PyObject *each :
       {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError, PyExc_BufferError}) {
    is_ours |= type == each && traceback == nullptr;
  }
  if (is_ours) PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *text = is_ours ? PyObject_Str(value) : nullptr;
  PyObject *cause = is_ours ? PyException_GetCause(value) : nullptr;
  const bool is_renamed = text != nullptr && cause == nullptr;
  if (is_renamed) {
    PyErr_Format(type, "%s() argument '%s': %U", parameters.function, parameters.names[at], text);
  }
  const bool is_interrupted =
      is_ours && text == nullptr && !PyErr_ExceptionMatches(PyExc_Exception);
  if (is_renamed || is_interrupted) {  // the original exception is dropped
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
  } else {
    PyErr_Restore(type, value, traceback);
  }
  Py_XDECREF(text);
  Py_XDECREF(cause);
}

template <bool AnyKeywordOnly>
TYPEDCALL_OUT_OF_LINE bool place_arguments(const parameter_list &parameters, PyObject *const *args,
                                           std::size_t nargs, PyObject *keywords,
                                           PyObject **values) {
  const std::size_t placed =
      AnyKeywordOnly && nargs > parameters.by_position ? parameters.by_position : nargs;
  for (std::size_t i = 0; i < parameters.count; ++i) values[i] = i < placed ? args[i] : nullptr;
  const Py_ssize_t given = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < given; ++i) {
    PyObject *keyword = PyTuple_GET_ITEM(keywords, i);
    const std::size_t at = find_name(parameters, keyword, parameters.positional, parameters.count);
    if (at == parameters.count) {
      set_unexpected(parameters, keywords, keyword);
      return false;
    }
    if (values[at] != nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%.200U'",
                   parameters.function, keyword);
      return false;
    }
    values[at] = args[nargs + static_cast<std::size_t>(i)];
  }
  if (nargs > (AnyKeywordOnly ? parameters.by_position : parameters.count)) {
    set_too_many(parameters, nargs, values);
    return false;
  }
  for (std::size_t i = 0; i < parameters.required; ++i) {
    if (values[i] == nullptr) {
      set_missing(parameters, values);
      return false;
    }
  }
  if constexpr (AnyKeywordOnly) {
    for (std::size_t i = parameters.by_position; i < parameters.count; ++i) {
      if (values[i] == nullptr && !parameters.has_default[i]) {
        set_missing(parameters, values);
        return false;
      }
    }
  }
  return true;
}

#if TYPEDCALL_INTERNAL_IS_SEPARATE
template bool place_arguments<false>(const parameter_list &, PyObject *const *, std::size_t,
                                     PyObject *, PyObject **);
template bool place_arguments<true>(const parameter_list &, PyObject *const *, std::size_t,
                                    PyObject *, PyObject **);
#endif

#endif  // TYPEDCALL_INTERNAL_IS_DECLARED

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_KEYWORDS_H_
