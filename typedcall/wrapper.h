// The PyObject * wrappers that Python calls: generated from C++ functions, one or several overloads
// under one name.
#ifndef TYPEDCALL_WRAPPER_H_
#define TYPEDCALL_WRAPPER_H_

#include <algorithm>
#include <string>
#include <utility>

#include "typedcall/native.h"

namespace typedcall::internal {

/// False with the exception of the argument that does not fit.
template <class Arguments, std::size_t... I>
bool convert_arguments(PyObject *const *args, Arguments *values, std::index_sequence<I...>) {
  (void)args, (void)values;
  return (from_python(args[I], &std::get<I>(*values)) && ...);
}

/// Calls, and converts the result. NULL with the exception of whichever failed.
template <class Native>
PyObject *call_converted(const typename Native::arguments &values) {
  if constexpr (std::is_void_v<typename Native::result>) {
    std::apply(Native::address(), values);
    Py_RETURN_NONE;
  } else {
    const typename Native::result result = std::apply(Native::address(), values);
    if constexpr (Native::may_raise) {
      if (is_error_value(result) && PyErr_Occurred()) return nullptr;
    }
    return to_python(result);
  }
}

template <class Native, std::size_t... I>
match worst_match(PyObject *const *args, std::index_sequence<I...>) {
  match worst = match::exact;
  (void)args;
  ((worst =
        std::max(worst, match_of<std::tuple_element_t<I, typename Native::arguments>>(args[I]))),
   ...);
  return worst;
}

/// All overloads of one name. `Natives` are native<Function, Effects>.
template <class... Natives>
struct overloads {
  static constexpr std::size_t count = sizeof...(Natives);
  using first = std::tuple_element_t<0, std::tuple<Natives...>>;
  static constexpr bool all_have_arity(std::size_t arity) {
    return ((Natives::arity == arity) && ...);
  }

  /// The name in messages. The same functions under a second name share it.
  static inline const char *name = "";

  static PyObject *no_args(PyObject *, PyObject *) { return dispatch(nullptr, 0); }
  static PyObject *one_arg(PyObject *, PyObject *argument) { return dispatch(&argument, 1); }
  static PyObject *fast(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
    return dispatch(args, static_cast<std::size_t>(nargs));
  }

 private:
  template <class Native>
  using indices = std::make_index_sequence<Native::arity>;

  static PyObject *dispatch(PyObject *const *args, std::size_t nargs) {
    if constexpr (count == 1) {
      if (nargs != first::arity) {
        PyErr_Format(PyExc_TypeError, "%s() takes exactly %zu argument%s (%zu given)", name,
                     first::arity, first::arity == 1 ? "" : "s", nargs);
        return nullptr;
      }
      typename first::arguments values;
      if (!convert_arguments(args, &values, indices<first>())) return nullptr;
      return call_converted<first>(values);
    } else {
      return choose(args, nargs);
    }
  }

  /// True when this overload was the one: it was called, or a conversion failed for good. False,
  /// and perhaps an OverflowError, when the next one may suit.
  template <class Native>
  static bool try_one(PyObject *const *args, std::size_t nargs, match wanted, PyObject **result) {
    if (nargs != Native::arity) return false;
    if (worst_match<Native>(args, indices<Native>()) != wanted) return false;
    PyErr_Clear();
    typename Native::arguments values;
    if (!convert_arguments(args, &values, indices<Native>())) {
      return !PyErr_ExceptionMatches(PyExc_OverflowError);
    }
    *result = call_converted<Native>(values);
    return true;
  }

  static PyObject *choose(PyObject *const *args, std::size_t nargs) {
    PyObject *result = nullptr;
    for (const match wanted : {match::exact, match::subclass, match::safe}) {
      if ((try_one<Natives>(args, nargs, wanted, &result) || ...)) return result;
      // It fits none of the overloads made for its type, and must not lose digits in another.
      if (PyErr_Occurred()) return nullptr;
    }
    set_no_overload(args, nargs);
    return nullptr;
  }

  static void set_no_overload(PyObject *const *args, std::size_t nargs) noexcept try {
    std::string given;
    for (std::size_t i = 0; i < nargs; ++i) {
      given += (i == 0 ? "" : ", ") + std::string(Py_TYPE(args[i])->tp_name);
    }
    std::string offered;
    ((offered += (offered.empty() ? "'" : ", '") + std::string(Natives::entry().signature) + "'"),
     ...);
    PyErr_Format(PyExc_TypeError, "%s() has no overload for (%s); it offers %s", name,
                 given.c_str(), offered.c_str());
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  }
};

}  // namespace typedcall::internal

#endif  // TYPEDCALL_WRAPPER_H_
