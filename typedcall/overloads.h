// Several functions under one name: the wrapper chooses by the types of the arguments, which it
// looks at directly; no dictionary is searched.
#ifndef TYPEDCALL_OVERLOADS_H_
#define TYPEDCALL_OVERLOADS_H_

#include "typedcall/wrapper.h"

// Behind Python.h.
#include <algorithm>
#include <utility>

namespace typedcall::internal {

/// How well all the arguments suit one of the functions: as well as the worst of them.
template <class Native, std::size_t... I>
match worst_match(PyObject *const *args, std::index_sequence<I...>) {
  match worst = match::exact;
  (void)args;
  ((worst =
        std::max(worst, match_of<std::tuple_element_t<I, typename Native::arguments>>(args[I]))),
   ...);
  return worst;
}

/// Would a parameter of type T make a floating number of what counts as an int?
template <class T>
bool makes_int_floating(PyObject *object) {
  if constexpr (std::is_floating_point_v<T> || is_complex_type<T>) {
    const PyNumberMethods *number = Py_TYPE(object)->tp_as_number;
    return number != nullptr && number->nb_index != nullptr;
  } else {
    return false;
  }
}

template <class Native, std::size_t... I>
bool makes_any_int_floating(PyObject *const *args, std::index_sequence<I...>) {
  (void)args;
  return (makes_int_floating<std::tuple_element_t<I, typename Native::arguments>>(args[I]) || ...);
}

__attribute__((noinline)) inline void set_no_overload(const char *name,
                                                      const char *const *offered_signatures,
                                                      std::size_t count, PyObject *const *args,
                                                      std::size_t nargs) noexcept try {
  std::string given, offered;
  for (std::size_t i = 0; i < nargs; ++i) {
    given += (i == 0 ? "" : ", ") + std::string(Py_TYPE(args[i])->tp_name);
  }
  for (std::size_t i = 0; i < count; ++i) {
    offered += (i == 0 ? "'" : ", '") + std::string(offered_signatures[i]) + "'";
  }
  PyErr_Format(PyExc_TypeError, "%s() has no overload for (%s); it offers %s", name, given.c_str(),
               offered.c_str());
} catch (const std::bad_alloc &) {
  PyErr_NoMemory();
}

/// All overloads of one name. `Natives` are native<Function, Effects>.
template <class... Natives>
struct overloads {
  static constexpr std::size_t count = sizeof...(Natives);
  using first = std::tuple_element_t<0, std::tuple<Natives...>>;
  static constexpr bool all_have_arity(std::size_t arity) {
    return ((Natives::arity == arity) && ...);
  }
  /// As Python sees them: without self, with the value of a status function as its result.
  static constexpr const char *signatures[count] = {
      signature_of<typename Natives::python_type>::text...};

  /// The name in messages. The same functions under a second name share it.
  static inline const char *name = "";

  static PyObject *no_args(PyObject *self, PyObject *) { return choose(self, nullptr, 0); }
  static PyObject *one_arg(PyObject *self, PyObject *argument) {
    return choose(self, &argument, 1);
  }
  static PyObject *fast(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    return choose(self, args, static_cast<std::size_t>(nargs));
  }

 private:
  template <class Native>
  using indices = std::make_index_sequence<Native::arity>;

  template <class Native>
  static match match_one(PyObject *const *args, std::size_t nargs) {
    return nargs == Native::arity ? worst_match<Native>(args, indices<Native>()) : match::none;
  }

  /// True when this overload was the one: it was called, or a conversion failed for good. False,
  /// and perhaps an OverflowError, when the next one may suit.
  template <class Native>
  static bool try_one(PyObject *self, PyObject *const *args, PyObject **result) {
    if (PyErr_Occurred()) {
      // An int that was too large for one overload must not lose digits in another.
      if (makes_any_int_floating<Native>(args, indices<Native>())) return false;
      PyErr_Clear();
    }
    call_frame<Native> frame;
    if (!frame.convert(args)) return !PyErr_ExceptionMatches(PyExc_OverflowError);
    *result = frame.call(self);
    return true;
  }

  static PyObject *choose(PyObject *self, PyObject *const *args, std::size_t nargs) {
    const match matches[count] = {match_one<Natives>(args, nargs)...};
    PyObject *result = nullptr;
    for (const match wanted : {match::exact, match::subclass, match::safe}) {
      std::size_t i = 0;
      if (((matches[i++] == wanted && try_one<Natives>(self, args, &result)) || ...)) return result;
    }
    // An OverflowError is the reason if the types suit and only the value does not.
    if (!PyErr_Occurred()) set_no_overload(name, signatures, count, args, nargs);
    return nullptr;
  }
};

}  // namespace typedcall::internal

#endif  // TYPEDCALL_OVERLOADS_H_
