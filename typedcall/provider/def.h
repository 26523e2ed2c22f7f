// typedcall::def makes an element of a method table from a C++ function.
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

}  // namespace internal

/// Replaces each pointer and the Py_ssize_t after it with one Python argument, a buffer. For
/// `double norm(const double *, Py_ssize_t)`, `def<spans<norm>>("norm")` offers "*kd->d". A
/// `const char *` becomes a text.
template <auto Function>
inline constexpr auto spans = &internal::spanned_function<Function>::call;

/// Returns a method def for one function, or for several functions as overloads: def<inc>("inc"),
/// def<abs_long, abs_double>("abs"). `name` is a string literal of at most 99 bytes. The name may
/// be followed by these extras, in any order:
///
/// - effects (effects.h), combined with `|`. They apply to all overloads;
/// - the documentation, a string literal. A text signature (`inspect.signature`) or a list of
///   overloads is added, unless the documentation starts with a text signature ("name($module, x,
///   /)\n--\n\n");
/// - typedcall::otherwise<slow> (falls_back.h), for a single function that falls back. If the
///   function has no result, `slow` computes Python's result;
/// - the names and defaults of all parameters, in order (parameter.h): def<power>("power",
///   typedcall::positional("x"), typedcall::arg("y") = 2.0). Overloads share names and defaults,
///   and must have the same number of parameters. Parameters after typedcall::keyword_only are
///   passed by name only.
///
/// A function is also offered without the last parameters if they have defaults. For example, the
/// function power above is offered as `dd->d` and, with y = 2.0, as `d->d`. If several overloads
/// then take the same arguments, only the first is offered.
///
/// A single function takes every argument that can be converted to its parameters (convert.h,
/// argument.h). Overloads with exactly the types of the arguments are preferred. Next come
/// overloads that take base classes of these types (an int for a bool), and then overloads that
/// require conversions. An overload is only as good as its worst argument. Passing an object as
/// `PyObject *` is a conversion.
///
/// For a Python float, `double` is preferred to `float`.
///
/// Overloads whose integers differ only in width or sign have equal ranks. If an int is out of
/// range for an overload, the next overload is tried. For example, with def<f32, f64>("f"), f(1)
/// calls f32 and f(1 << 40) calls f64. An int that was out of range is not converted to a floating
/// type, because this would lose digits. If no overload is left, OverflowError is raised. The next
/// overload is also tried if an object does not export a suitable buffer. Exceptions from
/// `__index__`, `__float__`, `__complex__` or `__buffer__` (except BufferError) propagate. These
/// methods may be called once for each overload that is tried.
///
/// Two defs of the same functions share a wrapper, so the error messages of both contain the name
/// of only one of them.
///
/// For the types, see c_type.h. For Python callers, (complex) `long double` results are rounded.
/// Entries of such functions have PyNativeCallable_DIFFERS. If `Py_ssize_t` is long and `size_t` is
/// unsigned long, the signature contains `l` and `L`. These codes also match requests for `n` and
/// `N`.
///
/// A function that may throw may also set a Python exception and return any value. Use `nothrow`
/// for a function that does not throw but runs Python code. If such a function were `noexcept`, the
/// process could be terminated when the interpreter ends (see gil.h).
template <auto... Functions, std::size_t Length, class... Extras, class File = internal::this_file>
TYPEDCALL_IN_LINE inline method def(const char (&name)[Length], const Extras &...extras) {
  static_assert(!(internal::may_be_function<Extras> || ...),
                "typedcall: a method is made from a function pointer in angle brackets: constexpr "
                "auto f = +[](long x) noexcept { ... }; def<f>(\"f\")");
  static_assert(((internal::is_known_extra<Extras> || internal::may_be_function<Extras>)&&...),
                "typedcall: only effects, documentation, arg(), positional(), keyword_only and "
                "otherwise<> may follow the name");
  static_assert((0 + ... + (internal::is_doc<Extras> ? 1 : 0)) < 2,
                "typedcall: a def has only one documentation string; write the name of a parameter "
                "as typedcall::arg(\"x\")");
  static_assert(
      (0 + ... + (internal::is_keyword_only<Extras> ? 1 : 0)) < 2,
      "typedcall: keyword_only may appear only once in a def, before all parameters that are "
      "passed by name only");
  static_assert(
      !(internal::is_keyword_only<Extras> || ...) || internal::any_by_name_only<Extras...>(),
      "typedcall: keyword_only must precede a parameter: keyword_only, typedcall::arg(\"x\")");
  static_assert(sizeof...(Functions) > 0, "typedcall: name the function: def<inc>(\"inc\")");
  static_assert(Length <= sizeof(PyPyTypedMethodMetadata::ml_name),
                "typedcall: the name of a typed method has at most 99 bytes");
  constexpr std::uint64_t stated = (internal::bits_of<Extras> | ... | 0);
  constexpr bool is_widened = (stated & internal::for_double) != 0;
  constexpr std::uint64_t bits = stated & ~internal::for_double;
  constexpr bool is_class = (bits & internal::of_class) != 0;
  constexpr bool is_static = (bits & internal::of_static) != 0;
  static_assert(!is_static || (!is_class && (bits & PyNativeCallable_TAKES_SELF) == 0),
                "typedcall: a static method has no self, neither instance nor class");
  constexpr bool is_named = (internal::is_parameter<Extras> || ...);
  using slow = typename internal::otherwise_among<Extras...>::type;
  static_assert(std::is_void_v<slow> || sizeof...(Functions) == 1,
                "typedcall: overloads cannot share an otherwise<>");

  method made = {name};
  using natives = internal::type_list<internal::native_for<Functions, bits, slow>...>;
  made.join = internal::joining<slow>(natives());
  made.file = &internal::translation_of_file<File>;
  ((made.doc = internal::doc_among(extras, made.doc)), ...);
  if constexpr (is_named) {
    internal::add_parameters_among<is_widened, natives>(&made, std::index_sequence_for<Extras...>(),
                                                        extras...);
  } else {
    internal::add_functions<is_widened>(&made, natives());
  }
  return made;
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_DEF_H_
