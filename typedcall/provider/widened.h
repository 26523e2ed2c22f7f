// Functions of float, offered for double as well: the compiler makes a function that rounds as the
// Python wrapper does, for consumers that want a bare pointer to call with doubles.
#ifndef TYPEDCALL_PROVIDER_WIDENED_H_
#define TYPEDCALL_PROVIDER_WIDENED_H_

#include "typedcall/namespace.h"
#include "typedcall/provider/defaults.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// The type that Python has instead.
template <class T>
using wide = std::conditional_t<std::is_same_v<T, float>, double,
                                std::conditional_t<std::is_same_v<T, PyNativeType_ComplexFloat>,
                                                   PyNativeType_ComplexDouble, T>>;
/// Of where a value goes.
template <class T>
using wide_place = std::add_pointer_t<wide<std::remove_pointer_t<T>>>;

template <class List>
struct wide_types;
template <class... A>
struct wide_types<type_list<A...>> {
  using values = type_list<wide<A>...>;
  using places = type_list<wide_place<A>...>;
};

/// Calls `Native`'s entry with what the doubles are as floats.
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

/// An entry for double: as native<>, what a table needs of it.
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

/// Some entries, and behind them those for double; of those that take the same arguments as one in
/// front of them none.
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

/// `Entries`, and with `Widens` those for double.
template <bool Widens, class Entries>
constexpr auto all_entries(Entries) {
  if constexpr (Widens) {
    using type = typename with_wide<Entries>::type;
    static_assert(!std::is_same_v<type, Entries>,
                  "typedcall: widened is for functions of float that are not beside the same ones "
                  "of double");
    return type();
  } else {
    return Entries();
  }
}

/// The shape of a def whose parameters have no names.
template <class... Natives>
struct TYPEDCALL_HIDDEN widened_def {
  using first = std::tuple_element_t<0, std::tuple<Natives...>>;

  static constexpr def_shape shape() {
    using entries = decltype(all_entries<true>(type_list<Natives...>()));
    def_shape made = [] {
      if constexpr (sizeof...(Natives) == 1) {
        return plain_shape<typename first::offer>;
      } else {
        return overloads<Natives...>::shape();
      }
    }();
    made.entries = count_of(entries());
    made.table = table_of(entries());
    return made;
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_WIDENED_H_
