// typedcall::def: one row of a method table, with everything that follows from a C++ function's
// type and from what is stated beside it.
#ifndef TYPEDCALL_PROVIDER_DEF_H_
#define TYPEDCALL_PROVIDER_DEF_H_

#include "typedcall/namespace.h"
#include "typedcall/provider/documentation.h"
#include "typedcall/provider/overloads.h"
#include "typedcall/provider/pypy_fields.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// A wrapper's function, as the flags of its row say. No casts: compilers are sure to store it as a
/// constant only then, and the row is read while other static variables are still being made.
union python_function {
  PyCFunction plain;
  PyObject *(*fast)(PyObject *, PyObject *const *, Py_ssize_t);
  PyObject *(*with_keywords)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

  constexpr python_function(decltype(plain) function) : plain(function) {}
  constexpr python_function(decltype(fast) function) : fast(function) {}
  constexpr python_function(decltype(with_keywords) function) : with_keywords(function) {}
};

/// The one argument of a function that can be called directly; `other` for all other functions.
enum class argument_type : unsigned char { other, integer, floating };

/// Without Python code, there and back: the function needs no thread state, and a number that is
/// exactly an int or float is converted without its methods.
template <class Native>
constexpr argument_type direct_argument() {
  if constexpr (Native::arity == 1 && (Native::flags & PyNativeCallable_NEEDS_THREAD) == 0) {
    using type = std::tuple_element_t<0, typename Native::arguments>;
    if (std::is_floating_point_v<type>) return argument_type::floating;
    if (std::is_integral_v<type> && !std::is_same_v<type, bool>) return argument_type::integer;
  }
  return argument_type::other;
}

/// What of a row follows from the types alone. Constants, so that a row takes hardly any code.
struct row_facts {
  python_function function;
  int flags;
  const void *static_table;
  int *pypy_arg_types;
  int pypy_ret_type;
  bool speaks_pypy;
  argument_type direct;           ///< for a direct vectorcall (direct_vectorcall.h)
  const char *const *signatures;  ///< what Python passes and gets, for each of several overloads
  std::size_t signature_count;
  std::size_t arity;    ///< of a single function
  const char **called;  ///< where its wrapper finds the name for messages; null: it has it

  PyCFunction wrapper() const {
    const auto cast = [](auto other) {
      return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(other));
    };
    if ((flags & METH_KEYWORDS) != 0) return cast(function.with_keywords);
    return (flags & METH_FASTCALL) != 0 ? cast(function.fast) : function.plain;
  }
  const PyNativeCallableTable *table() const {
    return static_cast<const PyNativeCallableTable *>(static_table);
  }
};

}  // namespace internal

/// One row, before it has a place in memory. Made by def().
struct method {
  const char *name;
  const char *doc;
  const internal::row_facts *facts;
  const char *const *names;             ///< of the parameters, and null; null if they have none
  internal::parameter_text (*spell)();  ///< null if the parameters have no names
  const char *fault;                    ///< null, or why the row cannot be made
};

namespace internal {

/// PyNativeCallableEntry, with the function as what it is: casts are no constants.
template <class Function>
struct static_entry {
  const char *signature;
  std::uintptr_t flags;
  Function function;
};

/// As many entries as there are overloads, one after the other.
template <class... Natives>
struct static_entries;
template <class Native>
struct static_entries<Native> {
  static_entry<decltype(Native::address())> first = {
      signature_of<typename Native::shown_type>::text, Native::flags, Native::address()};
};
template <class Native, class Second, class... Rest>
struct static_entries<Native, Second, Rest...> {
  static_entries<Native> first;
  static_entries<Second, Rest...> rest;
};

/// PyNativeCallableTable of some overloads.
template <class... Natives>
struct static_table {
  Py_ssize_t count = sizeof...(Natives);
  static_entries<Natives...> entries;
};
template <class... Natives>
inline constexpr static_table<Natives...> static_table_of
    __attribute__((visibility("hidden"))) = {};

template <class Table>
constexpr bool is_laid_out_as_a_table() {
  static_assert(offsetof(Table, entries) == offsetof(PyNativeCallableTable, entries));
  static_assert((sizeof(Table) - sizeof(PyNativeCallableTable)) % sizeof(PyNativeCallableEntry) ==
                0);
  return true;
}

// --- What stands behind the name in def(): effects, documentation, parameters --------------------

template <class T>
struct bits_of {
  static constexpr std::uint64_t value = 0;
};
template <std::uint64_t Bits>
struct bits_of<effects<Bits>> {
  static constexpr std::uint64_t value = Bits;
};

template <class T>
constexpr bool is_effects = false;
template <std::uint64_t Bits>
constexpr bool is_effects<effects<Bits>> = true;

template <class T>
constexpr bool is_doc = std::is_convertible_v<const T &, const char *>;

template <class T>
constexpr bool is_known_extra = is_effects<T> || is_parameter<T> || is_doc<T>;

template <class T>
constexpr bool may_be_function =
    !is_known_extra<T> && (std::is_class_v<T> || std::is_pointer_v<T> || std::is_function_v<T>);

template <class T>
auto parameters_among(const T &extra) {
  if constexpr (is_parameter<T>) {
    return std::tuple<T>(extra);
  } else {
    (void)extra;
    return std::tuple<>();
  }
}

template <class T>
const char *doc_among(const T &extra, const char *otherwise) {
  if constexpr (is_doc<T>) {
    return extra;
  } else {
    (void)extra;
    return otherwise;
  }
}

/// Which of a wrapper's functions Python calls.
enum class convention { no_args, one_arg, fast, with_keywords };

template <class Wrapper, convention Convention>
constexpr auto called_by_python() {
  if constexpr (Convention == convention::no_args) {
    return &Wrapper::no_args;
  } else if constexpr (Convention == convention::one_arg) {
    return &Wrapper::one_arg;
  } else if constexpr (Convention == convention::fast) {
    return &Wrapper::fast;
  } else {
    return &Wrapper::with_keywords;
  }
}

constexpr int flags_of(convention which) {
  return which == convention::no_args   ? METH_NOARGS
         : which == convention::one_arg ? METH_O
         : which == convention::fast    ? METH_FASTCALL
                                        : METH_FASTCALL | METH_KEYWORDS;
}

/// The wrapper of some overloads, or of one function with names of parameters, and how Python
/// calls it.
template <class Overloads, class Parameters>
struct row_kind;
template <class Overloads>
struct row_kind<Overloads, std::tuple<>> {
  using wrapper = std::conditional_t<Overloads::count == 1,
                                     single_function<typename Overloads::first>, Overloads>;
  static constexpr convention called = Overloads::all_have_arity(0)   ? convention::no_args
                                       : Overloads::all_have_arity(1) ? convention::one_arg
                                                                      : convention::fast;
};
template <class Overloads, class... Parameters>
struct row_kind<Overloads, std::tuple<Parameters...>> {
  using first = typename Overloads::first;
  using named = named_function<first, Parameters...>;
  using shape = typename named::shape;
  static constexpr bool is_for_documentation_only =
      !shape::any_by_name && !shape::any_default && first::arity <= 1;
  using wrapper = std::conditional_t<is_for_documentation_only, single_function<first>, named>;
  static constexpr convention called = is_for_documentation_only
                                           ? row_kind<Overloads, std::tuple<>>::called
                                       : shape::any_by_name ? convention::with_keywords
                                                            : convention::fast;

  static parameter_text spell() {
    return spell_parameters<Parameters...>(std::index_sequence_for<Parameters...>(), named::names,
                                           named::defaults);
  }
  static void add_parameters(method *made, const std::tuple<Parameters...> &parameters) {
    made->fault = std::apply(
        [made](const Parameters &...each) { return named::set(made->name, each...); }, parameters);
    if (made->fault != nullptr) return;
    made->names = named::names;
    made->spell = &spell;
  }
};

template <class Row, class Overloads, int Flags, class... Natives>
inline constexpr row_facts facts_of __attribute__((visibility("hidden"))) = {
    called_by_python<typename Row::wrapper, Row::called>(),
    Flags | flags_of(Row::called),
    &static_table_of<Natives...>,
    pypy_fields<typename Overloads::first>::arg_types.data(),
    pypy_fields<typename Overloads::first>::ret_type,
    pypy_fields<typename Overloads::first>::speaks_pypy(),
    Row::called == convention::one_arg &&Overloads::count == 1
        ? direct_argument<typename Overloads::first>()
        : argument_type::other,
    Overloads::count > 1 ? Overloads::signatures : nullptr,
    Overloads::count,
    Overloads::first::arity,
    Row::wrapper::called};

}  // namespace internal

/// A row called `name` for one function, or for several as overloads: def<inc>("inc"),
/// def<abs_long, abs_double>("abs"). `name` is a string literal; one of more than 99 bytes does not
/// compile. Behind it, in any order:
///
/// - effects (effects.h), joined by `|`, which apply to all overloads;
/// - the documentation, a string literal. The text signature (`inspect.signature`), or the list of
///   overloads, is put in front of it, unless it brings one of its own ("name($module, x,
///   /)\n--\n\n");
/// - for one function, its parameters in order, if they are to have names or defaults
/// (parameter.h):
///   def<power>("power", typedcall::positional("x"), typedcall::arg("y") = 2.0).
///
/// A single function takes every argument that its parameters can be converted from (convert.h,
/// argument.h). Among overloads the one whose types are the arguments' very own wins, then one that
/// takes a base class of theirs (an int for a bool), then the first that they can be converted to;
/// the argument that suits worst decides. `PyObject *` counts as a conversion.
///
/// A Python float is a C double: `float` comes behind it, as if it were its base class.
///
/// Overloads whose integers differ only in width or sign are equal in this, and the value chooses:
/// an int out of range for the first goes on to the next. So def<f32, f64>("f") called with 1
/// reaches f32, and with 1 << 40 f64. (A consumer has the overload whose signature it asks for.)
/// An argument that was out of range once is not made a floating number by a later overload, which
/// would lose digits; the other arguments are converted as always. If no overload is left, it is an
/// OverflowError. That an int does not fit and that an exporter has no such buffer are the only
/// reasons to go on: what an argument's own `__index__`, `__float__`, `__complex__` or, in Python,
/// `__buffer__` raises, except BufferError, comes out. These methods may be called once for each
/// overload that is tried.
///
/// Messages name the function as the row does. Where the same functions stand in two rows, they
/// share a wrapper, and it has the name of one of them.
///
/// Types: c_type.h. Python's callers get the result of a `long double` or complex `long double`
/// function rounded to a float or complex; such entries carry PyNativeCallable_DIFFERS and are for
/// consumers that accept that (typedcall::accepts_differences). Signatures name types as C++ does:
/// where `Py_ssize_t` is long and `size_t` is unsigned long, they are `l` and `L`, which a consumer
/// that asks for `n` and `N` is offered as well. `n` and `N` themselves are written in C, by
/// PyTypedMethod_ENTRY(flags, f, SSIZE, SIZE) (typed_entry.h).
///
/// A function that may throw may also set a Python exception and return: whatever it returns, the
/// exception counts. To look for it costs a nanosecond; `noexcept` functions do not pay that, nor
/// do those that say `nothrow`, as a function does that throws nothing but runs Python code: with
/// `noexcept` it would end the process when the interpreter ends (gil.h).
template <auto... Functions, std::size_t Length, class... Extras>
method def(const char (&name)[Length], const Extras &...extras) {
  static_assert(!(internal::may_be_function<Extras> || ...),
                "typedcall: a method is made from a pointer to a function, which stands in angle "
                "brackets: constexpr auto f = +[](long x) noexcept { ... }; def<f>(\"f\")");
  static_assert(((internal::is_known_extra<Extras> || internal::may_be_function<Extras>)&&...),
                "typedcall: behind the name come effects, documentation and typedcall::arg()s");
  static_assert((0 + ... + (internal::is_doc<Extras> ? 1 : 0)) < 2,
                "typedcall: there is one documentation; the name of a parameter is written as "
                "typedcall::arg(\"x\")");
  static_assert(sizeof...(Functions) > 0, "typedcall: name the function: def<inc>(\"inc\")");
  static_assert(Length <= sizeof(PyPyTypedMethodMetadata::ml_name),
                "typedcall: the name of a typed method has at most 99 bytes");
  constexpr std::uint64_t bits = (internal::bits_of<Extras>::value | ... | 0);
  constexpr bool is_class = (bits & internal::of_class) != 0;
  constexpr bool is_static = (bits & internal::of_static) != 0;
  static_assert(!is_static || (!is_class && (bits & PyNativeCallable_TAKES_SELF) == 0),
                "typedcall: a static method has no self, neither instance nor class");
  constexpr bool is_named = (internal::is_parameter<Extras> || ...);
  static_assert(!is_named || sizeof...(Functions) == 1,
                "typedcall: overloads have no names of parameters in common");

  using overloads = internal::overloads<internal::native<Functions, bits>...>;
  using parameters = decltype(std::tuple_cat(internal::parameters_among(extras)...));
  using row = internal::row_kind<overloads, parameters>;
  constexpr int flags = (is_class ? METH_CLASS : 0) | (is_static ? METH_STATIC : 0);
  method made = {};
  made.name = name;
  ((made.doc = internal::doc_among(extras, made.doc)), ...);
  static_assert(internal::is_laid_out_as_a_table<
                internal::static_table<internal::native<Functions, bits>...>>());
  made.facts = &internal::facts_of<row, overloads, flags, internal::native<Functions, bits>...>;
  if constexpr (is_named) {
    row::add_parameters(&made, std::tuple_cat(internal::parameters_among(extras)...));
  }
  return made;
}

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_DEF_H_
