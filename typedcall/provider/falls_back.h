// Functions that have no result for some arguments. Consumers call a version that returns a status.
// The Python wrapper calls a version that raises an exception or returns the result of otherwise<>.
#ifndef TYPEDCALL_PROVIDER_FALLS_BACK_H_
#define TYPEDCALL_PROVIDER_FALLS_BACK_H_

#include "typedcall/base/namespace.h"
#include "typedcall/provider/native.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// The type of otherwise<>.
template <auto Function>
struct otherwise_is {};

template <class T>
constexpr bool is_otherwise = false;
template <auto Function>
constexpr bool is_otherwise<otherwise_is<Function>> = true;

/// The first otherwise<> among the extras, or void if there is none.
template <class... Extras>
struct otherwise_among {
  using type = void;
};
template <class First, class... Rest>
struct otherwise_among<First, Rest...>
    : std::conditional_t<is_otherwise<First>, std::enable_if<true, First>,
                         otherwise_among<Rest...>> {};

template <class T, class = void>
struct optional_value {
  static constexpr bool is_optional = false;
};
template <template <class> class Template, class T>
struct optional_value<Template<T>, std::enable_if_t<is_named_std<Template>("optional")>> {
  static constexpr bool is_optional = true;
  using type = T;
};

/// True if T is a pointer through which a value can be stored.
template <class T>
constexpr bool is_place = is_typed_pointer<T> && !std::is_const_v<std::remove_pointer_t<T>>;

/// How a function reports that it has no result.
enum class way_back { none, by_optional, by_status, by_throwing };

template <class Pointer, std::uint64_t Stated>
constexpr way_back way_back_of() {
  using traits = function_traits<Pointer>;
  using result = typename traits::result;
  using last = last_parameter<typename traits::parameters, traits::count>;
  constexpr bool is_stated = (Stated & PyNativeCallable_FALLS_BACK) != 0;
  constexpr bool throws = !traits::is_noexcept && (Stated & cannot_throw) == 0;
  if constexpr (optional_value<result>::is_optional) {
    static_assert(
        !throws || is_stated,
        "typedcall: a function that returns std::optional is called without the GIL: make "
        "it noexcept, or state typedcall::falls_back if it throws before it has any effect "
        "and does not use Python");
    return way_back::by_optional;
  } else if constexpr (!is_stated) {
    return way_back::none;
  } else {
    // An int is a status only if the function has a place for the value or does not throw.
    constexpr bool is_status = std::is_same_v<result, int> && (is_place<last> || !throws);
    static_assert(is_status || throws,
                  "typedcall: with falls_back a function throws, or returns std::optional, or an "
                  "int: 0 if it has stored the value through its last parameter");
    return is_status ? way_back::by_status : way_back::by_throwing;
  }
}

/// Returns the result of `call`, or 1 (no result) if `call` throws.
template <class Call>
TYPEDCALL_IN_LINE inline int or_fall_back(Call &&call) {
  return unless_thrown(std::forward<Call>(call), [] { return 1; });
}

TYPEDCALL_RARE inline int set_no_result() {
  PyErr_SetString(PyExc_ValueError, "no result for these arguments");
  return -1;
}

/// The versions of a function for consumers and for the wrapper. `Parameters` does not include the
/// place for the value.
template <auto Function, class Slow, way_back Way, class Value, class Parameters>
struct fallback_functions;
/// Specialisation for a function without a value.
template <auto Function, class Slow, way_back Way, class... A>
struct TYPEDCALL_HIDDEN fallback_functions<Function, Slow, Way, void, type_list<A...>> {
  static_assert(std::is_void_v<Slow>,
                "typedcall: a function without a result cannot have otherwise<>");
  static int entry(A... arguments) {
    return or_fall_back([&] {
      if constexpr (Way == way_back::by_throwing) {
        Function(arguments...);
        return 0;
      } else {
        return Function(arguments...);
      }
    });
  }
  static int wrapped(A... arguments) { return entry(arguments...) == 0 ? 0 : set_no_result(); }
};

/// Used if no otherwise<> is given.
struct no_otherwise {
  static void join(const translation *) {}
  template <class Value>
  using result = Value;
  template <class Value>
  static int take(Value value, Value *place) {
    *place = value;
    return 0;
  }
  template <class Value, class... A>
  static int run(Value *, A...) {
    return set_no_result();
  }
};

template <auto Slow>
struct with_otherwise {
  static void join(const translation *module) { translation_of<Slow> = module; }

  using own_result = typename function_traits<decltype(Slow)>::result;
  static constexpr bool gives_object = std::is_same_v<own_result, PyObject *>;
  template <class Value>
  using result = std::conditional_t<gives_object, PyObject *, Value>;

  template <class Value, class Result>
  static int take(Value value, Result *place) {
    if constexpr (std::is_same_v<Value, Result>) {
      *place = value;
      return 0;
    } else {
      *place = to_python(to_c(value));
      return *place != nullptr ? 0 : -1;
    }
  }
  template <class Result, class... A>
  TYPEDCALL_RARE static int run(Result *place, A... arguments) {
    static_assert(
        std::is_invocable_v<decltype(Slow), A...> && std::is_same_v<own_result, Result>,
        "typedcall: otherwise<> must have the parameters of the def's function, and return its "
        "type of value or a PyObject *");
    return translated([] { return translation_of<Slow>.load(std::memory_order_relaxed); },
                      [&] {
                        *place = Slow(arguments...);
                        if (PyErr_Occurred() == nullptr) return 0;
                        if constexpr (gives_object) Py_CLEAR(*place);
                        return -1;
                      },
                      [] { return -1; });
  }
};

template <class Otherwise>
struct otherwise_or_error {
  using type = no_otherwise;
};
template <auto Slow>
struct otherwise_or_error<otherwise_is<Slow>> {
  using type = with_otherwise<Slow>;
};

/// Specialisation for a function with a value.
template <auto Function, class Slow, way_back Way, class Value, class... A>
struct TYPEDCALL_HIDDEN fallback_functions<Function, Slow, Way, Value, type_list<A...>> {
  using otherwise = typename otherwise_or_error<Slow>::type;
  static int entry(A... arguments, Value *place) {
    return or_fall_back([&] {
      if constexpr (Way == way_back::by_optional) {
        const auto result = Function(arguments...);
        if (!result) return 1;
        *place = *result;
        return 0;
      } else if constexpr (Way == way_back::by_status) {
        return Function(arguments..., place);
      } else {
        *place = Function(arguments...);
        return 0;
      }
    });
  }
  static int wrapped(A... arguments, typename otherwise::template result<Value> *place) {
    Value value{};
    if (TYPEDCALL_EXPECT(entry(arguments..., &value) == 0, 1)) return otherwise::take(value, place);
    return otherwise::run(place, arguments...);
  }
};

/// The types of a function that falls back.
template <class Pointer, way_back Way>
struct fallback_types {
  using traits = function_traits<Pointer>;
  using own_result = typename traits::result;
  using last = last_parameter<typename traits::parameters, traits::count>;
  static constexpr bool has_place = Way == way_back::by_status && is_place<last>;

  using placed = std::conditional_t<has_place, std::remove_pointer_t<last>, void>;
  using value = typename std::conditional_t<
      Way == way_back::by_optional, optional_value<own_result>,
      std::enable_if<true,
                     std::conditional_t<Way == way_back::by_status, placed, own_result>>>::type;
  static constexpr std::size_t count = traits::count - (has_place ? 1 : 0);
  using parameters = elements<typename traits::parameters, 0, count>;

  static_assert(!std::is_void_v<value> || !is_typed_pointer<last>,
                "typedcall: the last parameter of a function that falls back and has no result "
                "would be mistaken for the pointer to the value; move it forward");
};

/// Like native<>, but consumers call `Entry`, and the wrapper calls `Wrapped`.
template <class Wrapped, class Entry>
struct TYPEDCALL_HIDDEN fallback_native : Wrapped {
  using shown_type = typename Entry::shown_type;
  static constexpr std::uintptr_t flags = Entry::flags;
  static constexpr PyNativeView view = Entry::view;
  static constexpr auto address() { return Entry::address(); }
  static constexpr auto wrapped() { return Wrapped::address(); }

  struct offer : Wrapped::type {
    using shown_type = typename Entry::shown_type;
    static constexpr std::uintptr_t flags = Entry::flags;
    static constexpr PyNativeView view = Entry::view;
    static constexpr bool is_status = true;  // for PyPy
  };
};

template <auto Function, std::uint64_t Stated, class Slow, way_back Way>
struct native_that {
  static constexpr std::uint64_t errors =
      PyNativeCallable_MAY_RAISE | PyNativeCallable_RETURNS_STATUS | without_gil;
  static_assert((Stated & errors) == 0,
                "typedcall: a function that falls back reports no errors of its own (may_raise, "
                "returns_status), and its wrapper keeps the GIL (no releases_gil)");
  using types = fallback_types<decltype(Function), Way>;
  using value = typename types::value;
  using pair = fallback_functions<Function, Slow, Way, value, typename types::parameters>;
  static constexpr bool is_rounded =
      std::is_same_v<value, long double> || std::is_same_v<value, PyNativeType_ComplexLongDouble>;
  static constexpr std::uint64_t plain = Stated & ~std::uint64_t{PyNativeCallable_FALLS_BACK};
  static constexpr std::uint64_t offers =
      plain | cannot_throw | PyNativeCallable_FALLS_BACK |
      (is_rounded ? std::uint64_t{PyNativeCallable_DIFFERS} : 0);
  // True if the function needs no adapter.
  static constexpr bool is_entry =
      Way == way_back::by_status && (types::traits::is_noexcept || (Stated & cannot_throw) != 0);
  static constexpr auto entry_of() {
    if constexpr (is_entry) {
      return native<Function, offers>();
    } else {
      return native<&pair::entry, offers>();
    }
  }
  using entry = decltype(entry_of());
  static constexpr bool takes_self = (Stated & PyNativeCallable_TAKES_SELF) != 0;
  static_assert(is_seen_as<c_type_of<value>>(entry::view, types::count - (takes_self ? 1 : 0),
                                             takes_self, PyNativeErrorProtocol_FALLS_BACK));
  // `pair::wrapped` does not throw.
  using wrapped = native<&pair::wrapped, plain | cannot_throw | PyNativeCallable_RETURNS_STATUS |
                                             PyNativeCallable_NEEDS_THREAD>;
  // True if the wrapper raises the exception that the function throws.
  static constexpr bool rethrows = Way == way_back::by_throwing && std::is_void_v<Slow>;
  using type = typename std::conditional_t<
      rethrows, std::enable_if<true, fallback_native<native<Function, plain>, entry>>,
      std::enable_if<true, fallback_native<wrapped, entry>>>::type;
};
template <auto Function, std::uint64_t Stated, class Slow>
struct native_that<Function, Stated, Slow, way_back::none> {
  static_assert(std::is_void_v<Slow>,
                "typedcall: otherwise<> is for a function that falls back: one that returns "
                "std::optional, or states typedcall::falls_back");
  using type = native<Function, Stated>;
};

/// native<Function, Stated> or, if the function falls back, fallback_native.
template <auto Function, std::uint64_t Stated, class Slow>
using native_for =
    typename native_that<Function, Stated, Slow, way_back_of<decltype(Function), Stated>()>::type;

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_FALLS_BACK_H_
