// What follows from the defaults of a function's last parameters: entries of fewer arguments, for
// which the compiler makes functions that pass the very defaults of the Python wrapper; and
// overloads that have names and defaults in common.
#ifndef TYPEDCALL_PROVIDER_DEFAULTS_H_
#define TYPEDCALL_PROVIDER_DEFAULTS_H_

#include "typedcall/namespace.h"
#include "typedcall/provider/overloads.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Calls `Native`'s entry with `Leading`, the defaults of its last parameters, and `Place`, where
/// the value of a function goes that returns a status.
template <class Native, class Named, class Leading, class Place, class Indices>
struct default_caller;
template <class Native, class Named, class... Leading, class... Place, std::size_t... I>
struct TYPEDCALL_HIDDEN default_caller<Native, Named, type_list<Leading...>, type_list<Place...>,
                                       std::index_sequence<I...>> {
  using entry = function_traits<decltype(Native::address())>;
  static constexpr std::size_t dropped = sizeof...(I);

  static typename entry::result call(Leading... leading, Place... place) {
    return call_in_c(
        [](auto... values) { return pass(std::make_index_sequence<entry::count>(), values...); },
        leading..., std::get<Native::arity - dropped + I>(Named::defaults)..., place...);
  }
  template <std::size_t... All, class... C>
  TYPEDCALL_IN_LINE static typename entry::result pass(std::index_sequence<All...>, C... values) {
    return Native::address()(
        from_c<std::tuple_element_t<All, typename entry::parameters>>(values)...);
  }
};

/// What is behind an entry's parameters.
template <class Native>
struct entry_types {
  using entry = function_traits<decltype(Native::address())>;
  using shown = function_traits<std::add_pointer_t<typename Native::shown_type>>;
  static constexpr std::uintptr_t flags = Native::flags;
  static constexpr bool is_status =
      (flags & (PyNativeCallable_RETURNS_STATUS | PyNativeCallable_FALLS_BACK)) != 0;
  using last = last_parameter<typename shown::parameters, shown::count>;
  /// Is the last one where a value goes?
  static constexpr std::size_t places = is_status && is_typed_pointer<last> ? 1 : 0;
};

/// An entry without the last `Dropped` parameters, which have defaults: as native<>, what a table
/// needs of it. Its parameters are counted from the end, for self may be in front of them.
template <class Native, class Named, std::size_t Dropped>
struct TYPEDCALL_HIDDEN shortened : entry_types<Native> {
  using entry = typename entry_types<Native>::entry;
  using shown = typename entry_types<Native>::shown;
  static constexpr bool is_status = entry_types<Native>::is_status;
  static constexpr std::size_t places = entry_types<Native>::places;
  static constexpr std::size_t dropped_in_c =
      place_in_c<typename Native::arguments, Native::arity> -
      place_in_c<typename Native::arguments, Native::arity - Dropped>;
  static constexpr std::size_t kept = entry::count - places - dropped_in_c;
  static constexpr std::size_t shown_kept = shown::count - places - Dropped;
  using shown_place = elements<typename shown::parameters, shown::count - places, places>;
  using shown_leading = elements<typename shown::parameters, 0, shown_kept>;
  using shown_type =
      typename function_of<typename shown::result, decltype(shown_leading() + shown_place())>::type;

  /// Consumers would take the last parameter of a status function for where a value goes.
  static constexpr bool is_mistaken() {
    return is_status && places == 0 &&
           is_typed_pointer<last_parameter<typename shown::parameters, shown_kept>>;
  }
  static constexpr auto address() {
    return &default_caller<Native, Named, elements<typename entry::parameters, 0, kept>,
                           elements<typename entry::parameters, entry::count - places, places>,
                           std::make_index_sequence<Dropped>>::call;
  }
};

template <class... Natives>
constexpr const void *table_of(type_list<Natives...>) {
  static_assert(is_laid_out_as_a_table<static_table<Natives...>>());
  return &static_table_of<Natives...>;
}
template <class... Natives>
constexpr std::size_t count_of(type_list<Natives...>) {
  return sizeof...(Natives);
}

/// The entries of functions whose parameters have these names and defaults: first the functions
/// themselves, then those without the last parameter, without the last two, and so on. Where
/// several would take the same arguments it is the first one's, as when Python calls.
template <class Natives, class... Parameters>
struct entries_with_defaults;
template <class... Natives, class... Parameters>
struct entries_with_defaults<type_list<Natives...>, Parameters...> {
  using shape = parameter_shape<std::tuple<Parameters...>>;

  template <class Native, std::size_t Dropped>
  using short_of = shortened<Native, named_function<Native, Parameters...>, Dropped>;

  /// Does one in front of number `At` take the same arguments?
  template <std::size_t At, std::size_t Dropped>
  static constexpr bool is_another_s() {
    constexpr std::size_t count = shape::count - Dropped;
    using own = std::tuple_element_t<At, std::tuple<Natives...>>;
    using wanted = elements<typename own::arguments, 0, count>;
    const bool is_same[] = {
        std::is_same_v<elements<typename Natives::arguments, 0, count>, wanted>...};
    for (std::size_t i = 0; i < At; ++i) {
      if (is_same[i]) return true;
    }
    return false;
  }
  template <std::size_t Dropped, std::size_t At>
  static constexpr auto offer_one() {
    using made = short_of<std::tuple_element_t<At, std::tuple<Natives...>>, Dropped>;
    if constexpr (is_another_s<At, Dropped>() || made::is_mistaken()) {
      return type_list<>();
    } else {
      return type_list<made>();
    }
  }
  template <std::size_t Dropped, std::size_t... At>
  static constexpr auto offer_without(std::index_sequence<At...>) {
    return decltype((type_list<>() + ... + offer_one<Dropped, At>()))();
  }
  template <std::size_t... Dropped>
  static constexpr auto offer_all(std::index_sequence<Dropped...>) {
    return decltype((type_list<Natives...>() + ... +
                     offer_without<Dropped + 1>(std::index_sequence_for<Natives...>())))();
  }
  using type = decltype(offer_all(std::make_index_sequence<shape::last_defaults()>()));
};

/// Several functions under one name, whose parameters have names, and perhaps defaults, in common.
template <class Natives, class... Parameters>
struct named_overloads;
template <class... Natives, class... Parameters>
struct TYPEDCALL_HIDDEN named_overloads<type_list<Natives...>, Parameters...> {
  static_assert(((Natives::arity == sizeof...(Parameters)) && ...),
                "typedcall: overloads have names of parameters in common when each has as many "
                "parameters as there are typedcall::arg()s and positional()s");
  using shape = parameter_shape<std::tuple<Parameters...>>;
  using first = std::tuple_element_t<0, std::tuple<Natives...>>;
  /// What Python is told of them, and what counts the arguments.
  using named = named_function<first, Parameters...>;

  /// Null, or why the def cannot be made.
  static const char *set(const char *function, const Parameters &...parameters) {
    const char *fault = nullptr;
    const bool is_good =
        ((fault = named_function<Natives, Parameters...>::set(function, parameters...),
          fault == nullptr) &&
         ...);
    return is_good ? nullptr : fault;
  }
  static PyObject *fast(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    return with_keywords(self, args, nargs, nullptr);
  }
  static PyObject *with_keywords(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords) {
    PyObject *values[shape::count + 1];
    if (!place_arguments<shape::any_keyword_only>(
            named::list, args, static_cast<std::size_t>(nargs), keywords, values)) {
      return nullptr;
    }
    return overload_choice<shared_defaults<Parameters...>, Natives...>::choose(
        named::list.function, overloads<Natives...>::signatures, self, values, shape::count);
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_DEFAULTS_H_
