// Generates further entries for a function. Some have fewer arguments and use the defaults. Others
// take double instead of float, for consumers that need doubles.
#ifndef TYPEDCALL_PROVIDER_DERIVED_ENTRIES_H_
#define TYPEDCALL_PROVIDER_DERIVED_ENTRIES_H_

#include "typedcall/base/namespace.h"
#include "typedcall/provider/overloads.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// --- Entries without the last parameters, which have defaults ----------------------------------

/// Calls the entry of `Native` with the arguments and the defaults. `Place` is the place for the
/// value of a status function.
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

/// The types of an entry's parameters and result.
template <class Native>
struct entry_types {
  using entry = function_traits<decltype(Native::address())>;
  using shown = function_traits<std::add_pointer_t<typename Native::shown_type>>;
  static constexpr std::uintptr_t flags = Native::flags;
  static constexpr PyNativeView view = view_of<typename Native::shown_type>(flags);
  static constexpr bool is_status = view.reports;
  /// 1 if the last parameter is the place for the value.
  static constexpr std::size_t places = view.has_place != 0 ? 1 : 0;
};

/// An entry without the last `Dropped` parameters, which have defaults. Parameters are counted from
/// the end, because self may be the first parameter.
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

  /// True if consumers would mistake the last remaining parameter for the place for the value.
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

/// A list of the functions, followed by entries without the last parameter, without the last two,
/// and so on. If several entries take the same arguments, only the first is in the list.
template <class Natives, class... Parameters>
struct entries_with_defaults;
template <class... Natives, class... Parameters>
struct entries_with_defaults<type_list<Natives...>, Parameters...> {
  using shape = parameter_shape<std::tuple<Parameters...>>;

  template <class Native, std::size_t Dropped>
  using short_of = shortened<Native, named_function<Native, Parameters...>, Dropped>;

  /// True if a function before index `At` takes the same arguments.
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

// --- Entries that take double for float --------------------------------------------------------

/// Replaces float with double, and complex float with complex double.
template <class T>
using wide = std::conditional_t<std::is_same_v<T, float>, double,
                                std::conditional_t<std::is_same_v<T, PyNativeType_ComplexFloat>,
                                                   PyNativeType_ComplexDouble, T>>;
/// The type of a place for a wide<> value.
template <class T>
using wide_place = std::add_pointer_t<wide<std::remove_pointer_t<T>>>;

template <class List>
struct wide_types;
template <class... A>
struct wide_types<type_list<A...>> {
  using values = type_list<wide<A>...>;
  using places = type_list<wide_place<A>...>;
};

/// Calls the entry of `Native` with the doubles converted to floats.
template <class Native, class Leading, class Place>
struct wide_caller;
template <class Native, class... Leading, class... Place>
struct TYPEDCALL_HIDDEN wide_caller<Native, type_list<Leading...>, type_list<Place...>> {
  using result = typename function_traits<decltype(Native::address())>::result;

  static wide<result> call(wide<Leading>... leading, wide_place<Place>... place) {
    if constexpr ((std::is_same_v<Place, wide_place<Place>> && ...)) {
      return static_cast<wide<result>>(
          Native::address()(static_cast<Leading>(leading)..., place...));
    } else {
      std::tuple<std::remove_pointer_t<Place>...> narrow{};
      const result status =
          Native::address()(static_cast<Leading>(leading)..., &std::get<0>(narrow));
      if (status == 0) ((*place = std::get<0>(narrow)), ...);
      return status;
    }
  }
};

/// An entry that takes double instead of float.
template <class Native>
struct TYPEDCALL_HIDDEN widened_entry : entry_types<Native> {
  using types = entry_types<Native>;
  using entry = typename types::entry;
  using shown = typename types::shown;
  static constexpr std::size_t places = types::places;
  template <class Of>
  using leading = elements<typename Of::parameters, 0, Of::count - places>;
  template <class Of>
  using place = elements<typename Of::parameters, Of::count - places, places>;

  using shown_leading = typename wide_types<leading<shown>>::values;
  using shown_type =
      typename function_of<wide<typename shown::result>,
                           decltype(shown_leading() +
                                    typename wide_types<place<shown>>::places())>::type;
  static constexpr bool is_wider = !std::is_same_v<shown_type, typename Native::shown_type>;

  static constexpr auto address() {
    return &wide_caller<Native, leading<entry>, place<entry>>::call;
  }
};

/// A list of entries, followed by their versions for double. Versions that take the same arguments
/// as an earlier entry are omitted.
template <class Done, class... Natives>
struct entries_with_wide {
  using type = Done;
};
template <class... Done, class First, class... Rest>
struct entries_with_wide<type_list<Done...>, First, Rest...> {
  using made = widened_entry<First>;
  template <class Other>
  static constexpr bool takes_the_same() {
    using other = widened_entry<Other>;
    return std::is_same_v<typename other::template leading<typename other::shown>,
                          typename made::shown_leading>;
  }
  static constexpr bool is_new = made::is_wider && !(takes_the_same<Done>() || ...);
  using done = std::conditional_t<is_new, type_list<Done..., made>, type_list<Done...>>;
  using type = typename entries_with_wide<done, Rest...>::type;
};
template <class List>
struct with_wide;
template <class... Natives>
struct with_wide<type_list<Natives...>> {
  using type = typename entries_with_wide<type_list<Natives...>, Natives...>::type;
};

/// Adds a table to a shape. The table contains `Entries` and, if `Widens` is true, their versions
/// for double.
template <bool Widens, class Entries>
constexpr def_shape with_entries(def_shape made, Entries) {
  if constexpr (Widens) {
    using all = typename with_wide<Entries>::type;
    static_assert(!std::is_same_v<all, Entries>,
                  "typedcall: widened is for functions of float that are not beside the same ones "
                  "of double");
    return with_table(made, all());
  } else {
    return with_table(made, Entries());
  }
}

/// The shape of a def whose parameters have no names.
template <bool Widens, class... Natives>
struct TYPEDCALL_HIDDEN unnamed_def {
  static constexpr def_shape shape() {
    if constexpr (sizeof...(Natives) == 1) {
      return with_entries<Widens>(plain_shape<typename Natives::offer...>, type_list<Natives...>());
    } else {
      return with_entries<Widens>(overloads<Natives...>::shape(), type_list<Natives...>());
    }
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_DERIVED_ENTRIES_H_
