// Makes a method def from C++ functions and the extras after the name.
#ifndef TYPEDCALL_PROVIDER_DEF_H_
#define TYPEDCALL_PROVIDER_DEF_H_

#include "typedcall/base/namespace.h"
#include "typedcall/provider/derived_entries.h"
#include "typedcall/provider/documentation.h"
#include "typedcall/provider/falls_back.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

// --- spans<f> turns a C function's pointers and counts into buffers --------------------------

/// True if two parameters form a buffer, which is a pointer to elements followed by a Py_ssize_t.
template <class First, class Second>
constexpr bool is_pair_of_buffer = false;
template <class Element>
constexpr bool is_pair_of_buffer<Element *, std::intptr_t> = has_buffer_code<span<Element>>;

/// Replaces each pair that forms a buffer with a span.
template <class... Most>
constexpr auto grouped(type_list<Most...> none_or_one) {
  return none_or_one;
}
template <class First, class Second, class... Rest>
constexpr auto grouped(type_list<First, Second, Rest...>) {
  if constexpr (is_pair_of_buffer<First, Second>) {
    return type_list<span<std::remove_pointer_t<First>>>() + grouped(type_list<Rest...>());
  } else {
    return type_list<First>() + grouped(type_list<Second, Rest...>());
  }
}

template <auto Function, class Traits, class Parameters>
struct spanned;
template <auto Function, class Traits, class... A>
struct TYPEDCALL_HIDDEN spanned<Function, Traits, type_list<A...>> {
  static_assert((is_buffer<A> || ...),
                "typedcall: spans<f> takes a function that has a pointer to numbers (or a const "
                "char *) followed by a Py_ssize_t");
  static typename Traits::result call(A... values) noexcept(Traits::is_noexcept) {
    return call_in_c(Function, values...);
  }
};
template <auto Function, class Traits = function_traits<decltype(Function)>>
using spanned_function =
    spanned<Function, Traits,
            decltype(grouped(elements<typename Traits::parameters, 0, Traits::count>()))>;

// --- The extras after the name in def() are effects, documentation and parameters ------------

template <class T>
constexpr std::uint64_t bits_of = 0;
template <std::uint64_t Bits>
constexpr std::uint64_t bits_of<effects<Bits>> = Bits;

template <class T>
constexpr bool is_effects = false;
template <std::uint64_t Bits>
constexpr bool is_effects<effects<Bits>> = true;

template <class T>
constexpr bool is_doc = std::is_convertible_v<const T &, const char *>;

template <class T>
constexpr bool is_keyword_only = std::is_same_v<T, keyword_only_mark>;

template <class T>
constexpr bool is_known_extra =
    is_effects<T> || is_parameter<T> || is_keyword_only<T> || is_doc<T> || is_otherwise<T>;

template <class T>
constexpr bool may_be_function =
    !is_known_extra<T> && (std::is_class_v<T> || std::is_pointer_v<T> || std::is_function_v<T>);

/// True if the extra at index `at` comes after keyword_only.
template <class... Extras>
constexpr bool is_by_name_only(std::size_t at) {
  const bool is_mark[] = {is_keyword_only<Extras>..., false};
  for (std::size_t i = 0; i < at; ++i) {
    if (is_mark[i]) return true;
  }
  return false;
}
template <class... Extras>
constexpr bool any_by_name_only() {
  const bool is_one[] = {is_parameter<Extras>..., false};
  for (std::size_t i = 0; i < sizeof...(Extras); ++i) {
    if (is_one[i] && is_by_name_only<Extras...>(i)) return true;
  }
  return false;
}

template <bool IsByNameOnly, class T>
auto parameters_among([[maybe_unused]] const T &extra) {
  if constexpr (is_parameter<T> && IsByNameOnly) {
    return std::make_tuple(only_by_name(extra));
  } else if constexpr (is_parameter<T>) {
    return std::tuple<T>(extra);
  } else {
    return std::tuple<>();
  }
}

template <class T>
const char *doc_among([[maybe_unused]] const T &extra, const char *otherwise) {
  if constexpr (is_doc<T>) otherwise = extra;
  return otherwise;
}

/// Returns method::join for the def's functions, or null if none of them throws.
template <class Slow, class... Natives>
constexpr auto joining(type_list<Natives...>) -> void (*)(const translation *) {
  if constexpr (std::is_void_v<Slow> && !(Natives::is_translated || ...)) {
    return nullptr;
  } else {
    return [](const translation *module) {
      (Natives::join(module), ...);
      otherwise_or_error<Slow>::type::join(module);
    };
  }
}

/// The def of functions whose parameters have names or defaults.
template <bool Widens, class Natives, class... Parameters>
struct named_def;
template <bool Widens, class First, class... Rest, class... Parameters>
struct TYPEDCALL_HIDDEN named_def<Widens, type_list<First, Rest...>, Parameters...> {
  using named = named_function<First, Parameters...>;
  using list = typename named::shape;
  static constexpr bool is_overloaded = sizeof...(Rest) > 0;
  static constexpr bool is_for_documentation_only =
      !is_overloaded && !list::any_by_name && !list::any_default && First::arity <= 1;
  using setter = typename std::conditional_t<
      is_overloaded,
      std::enable_if<true, named_overloads<type_list<First, Rest...>, Parameters...>>,
      std::enable_if<true, named>>::type;
  using wrapper = std::conditional_t<is_for_documentation_only, single_function<First>, setter>;
  static constexpr convention called = is_for_documentation_only ? convention_for(First::arity)
                                       : list::any_by_name       ? convention::with_keywords
                                                                 : convention::fast;

  static void spell(parameter_text *to) {
    spell_parameters<Parameters...>(to, std::index_sequence_for<Parameters...>(), named::names,
                                    named::defaults);
  }
  static constexpr def_shape shape() {
    def_shape made = shape_of<typename First::offer>(called);
    made.names = named::names;
    made.spell = &spell;
    if constexpr (is_overloaded) {
      made.direct = argument_type::other;
      made.count = 1 + sizeof...(Rest);
      made.overloads = overloads<First, Rest...>::signatures;
    }
    using entries = entries_with_defaults<type_list<First, Rest...>, Parameters...>;
    return with_entries<Widens>(made, typename entries::type());
  }
};

/// Adds the parameters from the extras of def().
template <bool Widens, class First, class... Rest, class... Parameters>
void add_parameters(method *made, type_list<First, Rest...>,
                    const std::tuple<Parameters...> &parameters) {
  using own = named_def<Widens, type_list<First, Rest...>, Parameters...>;
  made->shape = &own_shape<own>;
  made->function = called_by_python<typename own::wrapper, own::called>();
  made->funcptr = reinterpret_cast<void *>(First::address());
  made->fault = std::apply(
      [made](const Parameters &...each) { return own::setter::set(made->name, each...); },
      parameters);
}
template <bool Widens, class Natives, std::size_t... At, class... Extras>
void add_parameters_among(method *made, std::index_sequence<At...>, const Extras &...extras) {
  add_parameters<Widens>(
      made, Natives(), std::tuple_cat(parameters_among<is_by_name_only<Extras...>(At)>(extras)...));
}

/// The def of functions whose parameters have no names.
template <bool Widens, class First, class... Rest>
TYPEDCALL_IN_LINE inline void add_functions(method *made, type_list<First, Rest...>) {
  constexpr bool is_overloaded = sizeof...(Rest) > 0;
  using wrapper =
      std::conditional_t<is_overloaded, overloads<First, Rest...>, single_function<First>>;
  if constexpr (Widens || is_overloaded) {
    made->shape = &own_shape<unnamed_def<Widens, First, Rest...>>;
  } else {
    made->shape = &plain_shape<typename First::offer>;
  }
  made->function = called_by_python<wrapper, wrapper::called>();
  if constexpr (!is_overloaded) made->funcptr = reinterpret_cast<void *>(First::address());
  if constexpr (is_overloaded || First::arity > 1) made->called = &wrapper::name;
}

/// Checks the extras, and makes the def.
template <class File, auto... Functions, std::size_t Length, class... Extras>
TYPEDCALL_IN_LINE inline method make_def(const char (&name)[Length], const Extras &...extras) {
  static_assert(!(may_be_function<Extras> || ...),
                "typedcall: a method is made from a function pointer in angle brackets: constexpr "
                "auto f = +[](long x) noexcept { ... }; def<f>(\"f\")");
  static_assert(((is_known_extra<Extras> || may_be_function<Extras>)&&...),
                "typedcall: only effects, documentation, arg(), positional(), keyword_only and "
                "otherwise<> may follow the name");
  static_assert((0 + ... + (is_doc<Extras> ? 1 : 0)) < 2,
                "typedcall: a def has only one documentation string; write the name of a parameter "
                "as typedcall::arg(\"x\")");
  static_assert(
      (0 + ... + (is_keyword_only<Extras> ? 1 : 0)) < 2,
      "typedcall: keyword_only may appear only once in a def, before all parameters that are "
      "passed by name only");
  static_assert(
      !(is_keyword_only<Extras> || ...) || any_by_name_only<Extras...>(),
      "typedcall: keyword_only must precede a parameter: keyword_only, typedcall::arg(\"x\")");
  static_assert(sizeof...(Functions) > 0, "typedcall: name the function: def<inc>(\"inc\")");
  static_assert(Length <= sizeof(PyPyTypedMethodMetadata::ml_name),
                "typedcall: the name of a typed method has at most 99 bytes");
  constexpr std::uint64_t stated = (bits_of<Extras> | ... | 0);
  constexpr bool is_widened = (stated & for_double) != 0;
  constexpr std::uint64_t bits = stated & ~for_double;
  constexpr bool is_class = (bits & of_class) != 0;
  constexpr bool is_static = (bits & of_static) != 0;
  static_assert(!is_static || (!is_class && (bits & PyNativeCallable_TAKES_SELF) == 0),
                "typedcall: a static method has no self, neither instance nor class");
  constexpr bool is_named = (is_parameter<Extras> || ...);
  using slow = typename otherwise_among<Extras...>::type;
  static_assert(std::is_void_v<slow> || sizeof...(Functions) == 1,
                "typedcall: overloads cannot share an otherwise<>");

  method made = {name};
  using natives = type_list<native_for<Functions, bits, slow>...>;
  made.join = joining<slow>(natives());
  made.file = &translation_of_file<File>;
  ((made.doc = doc_among(extras, made.doc)), ...);
  if constexpr (is_named) {
    add_parameters_among<is_widened, natives>(&made, std::index_sequence_for<Extras...>(),
                                              extras...);
  } else {
    add_functions<is_widened>(&made, natives());
  }
  return made;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_DEF_H_
