// typedcall::def: one row of a method table, with everything that follows from a C++ function's
// type and from what is stated beside it.
#ifndef TYPEDCALL_DEF_H_
#define TYPEDCALL_DEF_H_

#include "typedcall/documentation.h"
#include "typedcall/overloads.h"
#include "typedcall/pypy_fields.h"

namespace typedcall {

/// One row, before it has a place in memory. Made by def().
struct method {
  const char *name;
  const char *doc;
  PyCFunction wrapper;
  int flags;
  const PyNativeCallableTable *table;
  int *pypy_arg_types;
  int pypy_ret_type;
  void *pypy_function;
  const char *const *signatures;  ///< what Python passes and gets, for each overload
  std::size_t signature_count;
  internal::parameter_text parameters;  ///< of a single function
  const char *fault;                    ///< null, or why the row cannot be made
};

namespace internal {

/// The static table of some overloads: PyNativeCallableTable with as many entries as there are.
/// Hidden once more although native<> is: gcc shows the initialisation guard of `table` otherwise.
template <class... Natives>
struct __attribute__((visibility("hidden"))) static_table {
  Py_ssize_t count;
  PyNativeCallableEntry entries[sizeof...(Natives)];

  static const PyNativeCallableTable *get() {
    static_assert(offsetof(static_table, entries) == offsetof(PyNativeCallableTable, entries));
    static const static_table table = {sizeof...(Natives), {Natives::entry()...}};
    return reinterpret_cast<const PyNativeCallableTable *>(&table);
  }
};

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

template <class Function>
PyCFunction as_c_function(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

/// The wrapper and its calling convention for functions without names of parameters.
template <class Wrapper>
void set_plain_wrapper(method *made) {
  if constexpr (Wrapper::all_have_arity(0)) {
    made->wrapper = &Wrapper::no_args;
    made->flags |= METH_NOARGS;
  } else if constexpr (Wrapper::all_have_arity(1)) {
    made->wrapper = &Wrapper::one_arg;
    made->flags |= METH_O;
  } else {
    made->wrapper = as_c_function(&Wrapper::fast);
    made->flags |= METH_FASTCALL;
  }
}

template <class Native, class... Parameters>
void set_named_wrapper(method *made, const Parameters &...parameters) {
  using wrapper = named_function<Native, Parameters...>;
  made->fault = wrapper::set(made->name, parameters...);
  made->parameters = spell_parameters<typename Native::arguments>(
      std::index_sequence_for<Parameters...>(), parameters...);
  if constexpr (wrapper::shape::any_by_name) {
    made->wrapper = as_c_function(&wrapper::with_keywords);
    made->flags |= METH_FASTCALL | METH_KEYWORDS;
  } else if constexpr (wrapper::shape::any_default || Native::arity > 1) {
    made->wrapper = as_c_function(&wrapper::fast);
    made->flags |= METH_FASTCALL;
  } else {
    // A name for the documentation only.
    single_function<Native>::name = made->name;
    set_plain_wrapper<single_function<Native>>(made);
  }
}

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
/// takes a base class of theirs (an int for a bool), then the first that they can be converted to.
/// An int that fits none of the integers offered is not made a float, which would lose digits: it
/// goes to an overload for objects, or is an OverflowError.
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

  using wrapper = internal::overloads<internal::native<Functions, bits>...>;
  using first = typename wrapper::first;
  using pypy = internal::pypy_fields<first>;
  method made = {};
  made.name = name;
  ((made.doc = internal::doc_among(extras, made.doc)), ...);
  made.flags = (is_class ? METH_CLASS : 0) | (is_static ? METH_STATIC : 0);
  made.table = internal::static_table<internal::native<Functions, bits>...>::get();
  made.pypy_arg_types = pypy::arg_types.data();
  made.pypy_ret_type = pypy::ret_type;
  if constexpr (pypy::speaks_pypy()) made.pypy_function = made.table->entries[0].funcptr;
  made.signatures = wrapper::signatures;
  made.signature_count = wrapper::count;
  if constexpr (is_named) {
    std::apply(
        [&](const auto &...parameters) {
          internal::set_named_wrapper<first>(&made, parameters...);
        },
        std::tuple_cat(internal::parameters_among(extras)...));
  } else if constexpr (wrapper::count == 1) {
    internal::single_function<first>::name = name;
    made.parameters = internal::unnamed_parameters(first::arity);
    internal::set_plain_wrapper<internal::single_function<first>>(&made);
  } else {
    wrapper::name = name;
    internal::set_plain_wrapper<wrapper>(&made);
  }
  return made;
}

}  // namespace typedcall

#endif  // TYPEDCALL_DEF_H_
