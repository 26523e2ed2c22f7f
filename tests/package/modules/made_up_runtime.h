// A made-up runtime, as a library would bring it: its values, its functions, and Python's way to
// call them. It knows nothing of typedcall. made_up_values.cc and made_up_arrays.cc are the sinks.
#ifndef TESTS_PACKAGE_MODULES_MADE_UP_RUNTIME_H_
#define TESTS_PACKAGE_MODULES_MADE_UP_RUNTIME_H_

#include <Python.h>
// After Python.h.
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace made_up {

enum class kind { nothing, truth, integer, real, text, bytes, array, error };

enum element { bools, integers, naturals, reals, others };

struct value {
  kind is = kind::nothing;
  std::int64_t integer = 0;  // a truth or an integer
  double real = 0;
  std::string text;  // a text, bytes, or the text of an error
  // An array of elements with this type code of Python's struct module.
  element of = others;
  char letters[2] = "";
  std::size_t element_size = 0, count = 0;
  bool is_const = false;
  void *elements = nullptr;
};

/// A function of values. The runtime may call and destroy it in any thread. Errors are results.
struct function {
  void (*run)(void *data, const value *arguments, std::size_t count, value *result);
  void (*destroy)(void *data);
  void *data;
};

/// A function of arrays of the same length. Returns the text of an error, or "".
struct array_function {
  std::string (*run)(void *data, char *const *arrays, std::int64_t count);
  void (*destroy)(void *data);
  void *data;
};

// ---- Python's binding ----

/// Makes an object from a function or an array_function.
template <class Function>
PyObject *object_of(const Function &made) {
  return PyCapsule_New(new Function(made), "made up", [](PyObject *dying) {
    auto *const function = static_cast<Function *>(PyCapsule_GetPointer(dying, "made up"));
    function->destroy(function->data);
    delete function;
  });
}

/// The buffers of a call's arguments.
struct views {
  std::vector<Py_buffer> all;

  ~views() {
    for (Py_buffer &each : all) PyBuffer_Release(&each);
  }
  /// Returns the bytes of a buffer, or null with an exception set.
  Py_buffer *of(PyObject *object, int flags) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, flags) < 0) return nullptr;
    all.push_back(view);
    return &all.back();
  }
};

inline bool convert_array(PyObject *object, views *kept, value *to) {
  Py_buffer *const view = kept->of(object, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
  if (view == nullptr) return false;
  const std::string code = view->format != nullptr ? view->format : "B";
  const char *const letters[] = {"?", "bhilqn", "BHILQN", "fd"};
  for (int each = bools; each != others && code.size() == 1; ++each) {
    if (std::strchr(letters[each], code[0]) != nullptr) to->of = static_cast<element>(each);
  }
  to->is = kind::array;
  to->letters[0] = code[0];
  to->element_size = static_cast<std::size_t>(view->itemsize);
  to->count = static_cast<std::size_t>(view->len / view->itemsize);
  to->is_const = view->readonly != 0;
  to->elements = view->buf;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(view->buf) % to->element_size == 0;
  if (to->of != others && view->ndim == 1 && (is_aligned || to->count == 0)) return true;
  PyErr_SetString(PyExc_TypeError, "the runtime has no such array");
  return false;
}

/// Converts an argument. Returns false with an exception set if the runtime has no such value.
inline bool convert(PyObject *object, views *kept, value *to) {
  if (object == Py_None) return true;
  if (PyBool_Check(object)) {
    to->is = kind::truth;
    to->integer = object == Py_True;
  } else if (PyLong_CheckExact(object)) {
    to->is = kind::integer;
    to->integer = PyLong_AsLongLong(object);
  } else if (PyFloat_CheckExact(object)) {
    to->is = kind::real;
    to->real = PyFloat_AS_DOUBLE(object);
  } else if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object)) {
    Py_ssize_t size;
    const bool is_text = PyUnicode_CheckExact(object);
    const char *const text =
        is_text ? PyUnicode_AsUTF8AndSize(object, &size) : PyBytes_AS_STRING(object);
    if (text == nullptr) return false;
    to->is = is_text ? kind::text : kind::bytes;
    to->text.assign(text, static_cast<std::size_t>(is_text ? size : PyBytes_GET_SIZE(object)));
  } else {
    return convert_array(object, kept, to);
  }
  return PyErr_Occurred() == nullptr;
}

inline PyObject *object_of_value(const value &from) {
  const auto size = static_cast<Py_ssize_t>(from.text.size());
  switch (from.is) {
    case kind::truth:
      return PyBool_FromLong(from.integer != 0);
    case kind::integer:
      return PyLong_FromLongLong(from.integer);
    case kind::real:
      return PyFloat_FromDouble(from.real);
    case kind::text:
      return PyUnicode_DecodeUTF8(from.text.data(), size, nullptr);
    case kind::bytes:
      return PyBytes_FromStringAndSize(from.text.data(), size);
    case kind::error:
      PyErr_SetString(PyExc_RuntimeError, from.text.c_str());
      return nullptr;
    case kind::array:
    case kind::nothing:
      break;
  }
  Py_RETURN_NONE;
}

/// Calls `run` in a thread state: "attached", "detached", or "pending" while an exception is set,
/// which must stay. Returns false with an exception set if it does not.
template <class Run>
bool run_in(const char *state, const Run &run) {
  if (std::strcmp(state, "detached") == 0) {
    PyThreadState *const thread = PyEval_SaveThread();
    run();
    PyEval_RestoreThread(thread);
    return true;
  }
  const bool is_pending = std::strcmp(state, "pending") == 0;
  if (is_pending) PyErr_SetString(PyExc_LookupError, "pending");
  run();
  const bool is_left = PyErr_ExceptionMatches(is_pending ? PyExc_LookupError : PyExc_BaseException);
  if (is_left == is_pending) return PyErr_Clear(), true;
  PyErr_SetString(PyExc_AssertionError,
                  is_pending ? "the pending exception is gone" : "an exception is left");
  return false;
}

/// Calls a function of values with a tuple of arguments.
inline PyObject *call(PyObject *capsule, PyObject *arguments, const char *state) {
  const auto *const made = static_cast<const function *>(PyCapsule_GetPointer(capsule, "made up"));
  const Py_ssize_t count = PyTuple_Size(arguments);
  if (made == nullptr || count < 0) return nullptr;
  views kept;
  kept.all.reserve(static_cast<std::size_t>(count));
  std::vector<value> values(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!convert(PyTuple_GET_ITEM(arguments, i), &kept, &values[i])) return nullptr;
  }
  value result;
  const auto run = [&] { made->run(made->data, values.data(), values.size(), &result); };
  return run_in(state, run) ? object_of_value(result) : nullptr;
}

/// Calls a function of arrays, the last of which is for the results. Its types must be right.
inline bool call_arrays(PyObject *capsule, PyObject *arrays, Py_ssize_t count, const char *state) {
  const auto *const made =
      static_cast<const array_function *>(PyCapsule_GetPointer(capsule, "made up"));
  const Py_ssize_t size = PyTuple_Size(arrays);
  if (made == nullptr || size < 0) return false;
  views kept;
  kept.all.reserve(static_cast<std::size_t>(size));
  std::vector<char *> places;
  for (Py_ssize_t i = 0; i < size; ++i) {
    Py_buffer *const view = kept.of(PyTuple_GET_ITEM(arrays, i), PyBUF_SIMPLE);
    if (view == nullptr) return false;
    places.push_back(static_cast<char *>(view->buf));
  }
  std::string error;
  const auto run = [&] { error = made->run(made->data, places.data(), count); };
  if (!run_in(state, run)) return false;
  if (!error.empty()) PyErr_SetString(PyExc_RuntimeError, error.c_str());
  return error.empty();
}

}  // namespace made_up

#endif  // TESTS_PACKAGE_MODULES_MADE_UP_RUNTIME_H_
