// Handles keywords and defaults in calls to a typedcall.TypedFunction.
#ifndef TYPEDCALL_PYTHON_NATIVE_ARGUMENTS_H_
#define TYPEDCALL_PYTHON_NATIVE_ARGUMENTS_H_

#include "values.h"
// After Python.h.
#include <cstddef>

#include "typedcall/signature.h"

namespace typedcall::python {

/// Calls a function that typedcall/calling/cpython_backend.py has stored in the module of `type`.
/// Returns a new reference, or NULL with an exception set.
template <class... Arguments>
PyObject *call_helper(PyTypeObject *type, const char *name, const char *format,
                      Arguments... arguments) {
  PyObject *const module = PyType_GetModule(type);
  return module != nullptr ? PyObject_CallMethod(module, name, format, arguments...) : nullptr;
}

/// Returns the names and defaults of the callable's parameters. The first call stores them at
/// `place`. Returns a borrowed reference, or NULL with an exception set.
inline PyObject *arrangement_at(PyTypeObject *type, PyObject **place, PyObject *callable,
                                std::size_t arity) {
  PyObject *known = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (known != nullptr) return known;
  PyObject *made =
      call_helper(type, "arrangement_of", "On", callable, static_cast<Py_ssize_t>(arity));
  if (made == nullptr) return nullptr;
  if (__atomic_compare_exchange_n(place, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return made;
  }
  Py_DECREF(made);
  return known;
}

/// All arguments of a call in order, as borrowed references.
class arranged_arguments {
 public:
  /// `room` has an element for each argument.
  explicit arranged_arguments(PyObject **room) : values_(room) {}

  /// Returns false with TypeError set if the arguments do not match the parameters. `keywords` is a
  /// tuple of names, or NULL.
  bool place(PyTypeObject *type, PyObject *arrangement, PyObject *const *args, std::size_t nargs,
             PyObject *keywords, std::size_t arity) {
    PyObject *const names = PyTuple_GET_ITEM(arrangement, 0);
    const std::size_t named = PyTuple_GET_SIZE(names) == 0 ? 0 : arity;
    const std::size_t first = PyLong_AsSize_t(PyTuple_GET_ITEM(arrangement, 1));
    const std::size_t most = PyLong_AsSize_t(PyTuple_GET_ITEM(arrangement, 2));
    bool fits = nargs <= most;
    for (std::size_t i = 0; i < arity; ++i) values_[i] = fits && i < nargs ? args[i] : nullptr;
    const Py_ssize_t given = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; fits && i < given; ++i) {
      std::size_t at = first;
      while (at < named && !is_same(PyTuple_GET_ITEM(names, at), PyTuple_GET_ITEM(keywords, i))) {
        ++at;
      }
      fits = at < named && values_[at] == nullptr;
      if (fits) values_[at] = args[nargs + static_cast<std::size_t>(i)];
    }
    PyObject *const defaults = PyTuple_GET_ITEM(arrangement, 3);
    PyObject *const missing = PyTuple_GET_ITEM(arrangement, 4);
    for (std::size_t i = 0; fits && i < arity; ++i) {
      if (values_[i] == nullptr) values_[i] = PyTuple_GET_ITEM(defaults, i);
      fits = values_[i] != missing;
    }
    if (fits) return true;
    const object_ref none = object_ref::steal(PyTuple_New(0));
    if (!none) return false;
    object_ref::steal(call_helper(type, "refuse_arguments", "OnO", arrangement,
                                  static_cast<Py_ssize_t>(nargs),
                                  keywords != nullptr ? keywords : none.get()));
    return false;
  }

  PyObject *const *values() const { return values_; }

 private:
  // The pointers are compared first, because nearly all names are interned.
  static bool is_same(PyObject *a, PyObject *b) {
    if (a == b) return true;
    const bool is_equal = PyUnicode_Compare(a, b) == 0;
    if (PyErr_Occurred()) PyErr_Clear();
    return is_equal;
  }

  PyObject **const values_;
};

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NATIVE_ARGUMENTS_H_
