// The wrappers that Python calls for one function. The wrappers for overloads are in overloads.h.
#ifndef TYPEDCALL_PROVIDER_WRAPPER_H_
#define TYPEDCALL_PROVIDER_WRAPPER_H_

#include "typedcall/base/gil.h"
#include "typedcall/base/namespace.h"
#include "typedcall/provider/keywords.h"
#include "typedcall/provider/method_def.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// One argument of a call. Used instead of std::tuple to reduce compile time. Calls to held_at()
/// are qualified, because argument-dependent look-up would instantiate a std::tuple.
template <std::size_t I, class Argument>
struct held_argument {
  Argument held{};
};
template <std::size_t I, class Argument>
constexpr Argument &held_at(held_argument<I, Argument> &of) {
  return of.held;
}

/// Converts the arguments of one call and makes the call. `Type` is an offered<...>, so that
/// functions of the same type share one instantiation.
template <class Type, class Indices = std::make_index_sequence<Type::arity>,
          class Arguments = typename Type::arguments>
struct call_frame;
template <class Type, std::size_t... I, class... A>
struct call_frame<Type, std::index_sequence<I...>, std::tuple<A...>>
    : held_argument<I, argument<A>>... {
  /// Returns false with an exception set if an argument does not fit.
  TYPEDCALL_IN_LINE bool convert(PyObject *const *args) {
    (void)args;
    return (held_argument<I, argument<A>>::held.convert(args[I]) && ...);
  }

  /// True if all arguments are numbers or objects.
  static constexpr bool is_simple = (is_convertible_type<A> && ...);
  /// Like convert(), but returns false without an exception if a conversion needs a call.
  TYPEDCALL_IN_LINE bool convert_at_once(PyObject *const *args) {
    (void)args;
    return (from_python_at_once(args[I], &held_argument<I, argument<A>>::held.value) && ...);
  }
  /// Like convert(), but converts all arguments by calls. The arguments must be simple.
  TYPEDCALL_IN_LINE bool convert_by_call(PyObject *const *args) {
    return (from_python_by_call(args[I], &held_argument<I, argument<A>>::held.value) && ...);
  }

  /// Calls `entry`, which native::wrapped() has returned, and converts the result. Returns NULL
  /// with an exception set if the call or the conversion fails.
  template <class Entry>
  TYPEDCALL_IN_LINE PyObject *call(Entry entry, PyObject *self) {
    if constexpr (Type::is_status) {
      if constexpr (Type::has_value) {
        typename Type::value value{};
        if (run(entry, self, &value) != 0) {
          set_missing_error();
          return nullptr;
        }
        return to_python(value);
      } else {
        if (run(entry, self) != 0) {
          set_missing_error();
          return nullptr;
        }
        Py_RETURN_NONE;
      }
    } else if constexpr (!Type::has_value) {
      run(entry, self);
      Py_RETURN_NONE;
    } else {
      const typename Type::value result = run(entry, self);
      if constexpr (Type::may_raise && !Type::returns_object) {
        if (is_error_value(result) && PyErr_Occurred()) return nullptr;
      }
      return to_python(result);
    }
  }

 private:
  /// The entry takes C types, or C++ types with the same representation.
  template <class Entry, std::size_t... At, class... C>
  TYPEDCALL_IN_LINE static auto pass(Entry entry, std::index_sequence<At...>, C... values) {
    using own = typename function_traits<Entry>::parameters;
    if constexpr ((is_buffer<C> || ...)) {
      return call_in_c(
          [entry](auto... in_c) { return pass(entry, std::index_sequence<At...>(), in_c...); },
          values...);
    } else if constexpr (std::is_void_v<typename Type::entry_result>) {
      entry(from_c<std::tuple_element_t<At, own>>(values)...);
    } else {
      return to_c(entry(from_c<std::tuple_element_t<At, own>>(values)...));
    }
  }

  /// Returns the result of `entry`. The value of a status function is stored in `place`.
  template <class Entry, class... Place>
  TYPEDCALL_IN_LINE typename Type::entry_result run(Entry entry, PyObject *self, Place... place) {
    (void)self;
    using all = std::make_index_sequence<function_traits<Entry>::count>;
    if constexpr (Type::takes_self) {
      return pass(entry, all(), self, held_argument<I, argument<A>>::held.value..., place...);
    } else if constexpr (!Type::releases_gil) {
      return pass(entry, all(), held_argument<I, argument<A>>::held.value..., place...);
    } else {
      return run_without_gil([&](PyThreadState *) TYPEDCALL_IN_LINE {
        return pass(entry, all(), held_argument<I, argument<A>>::held.value...);
      });
    }
  }
};

// A wrapper calls one of these functions if a conversion needs a call or the number of arguments is
// wrong. A wrapper that makes no other calls need not save registers. `entry` comes first, so that
// the arguments stay in their registers.
template <class Type, class Entry>
TYPEDCALL_OUT_OF_LINE TYPEDCALL_HIDDEN PyObject *convert_and_call(
    Entry entry, PyObject *const *args, std::size_t nargs, const char *name, PyObject *self) {
  if (nargs != Type::arity) return set_wrong_count(name, Type::arity, nargs);
  call_frame<Type> frame;
  return frame.convert_by_call(args) ? frame.call(entry, self) : nullptr;
}
template <class Type, class Entry>
TYPEDCALL_OUT_OF_LINE TYPEDCALL_HIDDEN PyObject *convert_and_call(Entry entry, PyObject *argument,
                                                                  PyObject *self) {
  call_frame<Type> frame;
  return frame.convert_by_call(&argument) ? frame.call(entry, self) : nullptr;
}

/// The wrapper of one function that takes all arguments by position.
template <class Native>
struct TYPEDCALL_HIDDEN single_function {
  using type = typename Native::type;
  static constexpr convention called = convention_for(type::arity);
  /// The name in error messages. Defs of the same function share the name.
  static inline const char *name = nullptr;

  static PyObject *no_args(PyObject *self, PyObject *) {
    call_frame<type> frame;
    return frame.call(Native::wrapped(), self);
  }
  static PyObject *one_arg(PyObject *self, PyObject *argument) {
    call_frame<type> frame;
    if constexpr (!call_frame<type>::is_simple) {
      return frame.convert(&argument) ? frame.call(Native::wrapped(), self) : nullptr;
    } else if (TYPEDCALL_EXPECT(frame.convert_at_once(&argument), 1)) {
      return frame.call(Native::wrapped(), self);
    } else {
      return convert_and_call<type>(Native::wrapped(), argument, self);
    }
  }
  static PyObject *fast(PyObject *self, PyObject *const *args, Py_ssize_t given) {
    const auto nargs = static_cast<std::size_t>(given);
    const bool is_full = nargs == type::arity;
    call_frame<type> frame;
    if constexpr (!call_frame<type>::is_simple) {
      if (TYPEDCALL_EXPECT(!is_full, 0)) return set_wrong_count(name, type::arity, nargs);
      return frame.convert(args) ? frame.call(Native::wrapped(), self) : nullptr;
    } else if (TYPEDCALL_EXPECT(is_full && frame.convert_at_once(args), 1)) {
      return frame.call(Native::wrapped(), self);
    } else {
      return convert_and_call<type>(Native::wrapped(), args, nargs, name, self);
    }
  }
};

/// The wrapper of one function whose parameters have names or defaults. Each of `Parameters` is a
/// parameter<...>.
///
/// Names and defaults are run-time values, so a function can have only one set of names and
/// defaults.
template <class Native, class... Parameters>
struct named_function {
  using shape = parameter_shape<std::tuple<Parameters...>>;
  static_assert(shape::count == Native::arity,
                "typedcall: give each parameter (except self and a status function's last) a "
                "typedcall::arg() or positional(), or give none at all");
  static_assert(shape::is_ordered(),
                "typedcall: positional() must come before arg(), and parameters without a default "
                "before those with one, except after keyword_only");

  static inline const char *names[shape::count + 1] = {};
  static inline typename Native::arguments defaults = {};
  static inline parameter_list list = {};

  /// Returns the reason why the def is invalid, or null.
  static const char *set(const char *function, const Parameters &...parameters) {
    return set(std::make_index_sequence<shape::count>(), function, parameters...);
  }

  static PyObject *fast(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    return with_keywords(self, args, nargs, nullptr);
  }
  static PyObject *with_keywords(PyObject *self, PyObject *const *args, Py_ssize_t given,
                                 PyObject *keywords) {
    const auto nargs = static_cast<std::size_t>(given);
    call_frame<typename Native::type> frame;
    constexpr std::make_index_sequence<shape::count> all;
    if (!shape::any_keyword_only && nargs == shape::count && keywords == nullptr) {
      return convert_given(&frame, args, all) ? frame.call(Native::wrapped(), self) : nullptr;
    }
    PyObject *values[shape::count + 1];
    if (!place_arguments<shape::any_keyword_only>(list, args, nargs, keywords, values)) {
      return nullptr;
    }
    return convert(&frame, values, all) ? frame.call(Native::wrapped(), self) : nullptr;
  }

 private:
  template <std::size_t... I>
  static const char *set(std::index_sequence<I...>, const char *function,
                         const Parameters &...parameters) {
    const char *const given[] = {parameters.name..., nullptr};
    typename Native::arguments values{
        default_value<std::tuple_element_t<I, typename Native::arguments>>(parameters.value)...};
    if (!(default_fits<std::tuple_element_t<I, typename Native::arguments>>(parameters.value) &&
          ...)) {
      return "a default does not fit its parameter";
    }
    if (list.function != nullptr) {
      if (!(same_name(names[I], given[I]) && ...) ||
          !(same_default(std::get<I>(defaults), std::get<I>(values)) && ...)) {
        return "the same C++ function has other names or defaults in another def: wrap it in a "
               "function of its own";
      }
      return nullptr;
    }
    (void)given;
    ((names[I] = given[I]), ...);
    defaults = values;
    list = {function,          names,           shape::count,
            shape::positional, shape::required, shape::by_position,
            shape::has_default};
    return nullptr;
  }
  static bool same_name(const char *a, const char *b) { return std::strcmp(a, b) == 0; }

  template <std::size_t... I>
  TYPEDCALL_IN_LINE static bool convert_given(call_frame<typename Native::type> *frame,
                                              PyObject *const *args, std::index_sequence<I...>) {
    return ((internal::held_at<I>(*frame).convert(args[I]) || (name_argument(list, I), false)) &&
            ...);
  }
  template <std::size_t... I>
  static bool convert(call_frame<typename Native::type> *frame, PyObject *const *values,
                      std::index_sequence<I...>) {
    return ((convert_one(&internal::held_at<I>(*frame), values[I], std::get<I>(defaults)) ||
             (name_argument(list, I), false)) &&
            ...);
  }
  template <class Argument, class T>
  static bool convert_one(Argument *argument, PyObject *value, const T &otherwise) {
    if (value != nullptr) return argument->convert(value);
    argument->set(otherwise);
    return true;
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_WRAPPER_H_
