// Several functions under one name: the wrapper chooses by the types of the arguments, which it
// looks at directly; no dictionary is searched.
#ifndef TYPEDCALL_PROVIDER_OVERLOADS_H_
#define TYPEDCALL_PROVIDER_OVERLOADS_H_

#include "typedcall/namespace.h"
#include "typedcall/provider/wrapper.h"

// Behind Python.h.
#include <initializer_list>
#include <utility>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

constexpr conversion_rank worse_of(conversion_rank a, conversion_rank b) { return a < b ? b : a; }

/// What became of an argument that suits its parameter by its type.
enum class outcome {
  converted,
  out_of_range,  ///< an int beyond the parameter's range; no exception is set
  raised         ///< an exception is set: of the object's own methods, or for what is in a str
};

inline outcome out_of_range() {
  PyErr_Clear();
  return outcome::out_of_range;
}

// Not in line: one serves all wrappers. Asks in PyFloat_AsDouble's order, step by step, because it
// does not say whether an OverflowError is its own or __float__'s.
TYPEDCALL_OUT_OF_LINE inline outcome overloaded_double(PyObject *object, double *value) {
  const PyNumberMethods *number = Py_TYPE(object)->tp_as_number;
  const auto own_float = number != nullptr ? number->nb_float : nullptr;
  const bool is_plain = own_float == PyLong_Type.tp_as_number->nb_float && PyLong_Check(object);
  if (is_plain || PyFloat_Check(object)) {
    return double_from_object(object, value) ? outcome::converted : out_of_range();
  }
  if (own_float != nullptr) {
    return double_from_object(object, value) ? outcome::converted : outcome::raised;
  }
  const object_ref integer = object_ref::steal(PyNumber_Index(object));
  if (!integer) return outcome::raised;
  *value = PyLong_AsDouble(integer.get());
  return is_minus_one(*value) && PyErr_Occurred() ? out_of_range() : outcome::converted;
}

template <class T>
outcome convert_overloaded(PyObject *object, argument<T> *to) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (PyLong_Check(object)) return to->convert(object) ? outcome::converted : out_of_range();
    const object_ref integer = object_ref::steal(PyNumber_Index(object));
    if (!integer) return outcome::raised;
    return to->convert(integer.get()) ? outcome::converted : out_of_range();
  } else if constexpr (std::is_floating_point_v<T>) {
    double wide;
    const outcome done = overloaded_double(object, &wide);
    if (done == outcome::converted) to->set(static_cast<T>(wide));
    return done;
  } else if constexpr (is_complex_type<T>) {
    const int is_complex = PyComplex_Check(object) ? 1 : has_complex_method(Py_TYPE(object));
    if (is_complex < 0) return outcome::raised;
    if (is_complex > 0) {
      return to->convert(object) ? outcome::converted : outcome::raised;
    }
    double wide;
    const outcome done = overloaded_double(object, &wide);
    if (done == outcome::converted) {
      T parts{};
      using part = std::remove_reference_t<decltype(PyNativeType_REAL(parts))>;
      PyNativeType_REAL(parts) = static_cast<part>(wide);
      to->set(parts);
    }
    return done;
  } else {
    return to->convert(object) ? outcome::converted : outcome::raised;
  }
}

/// Every argument is there.
struct no_defaults {
  template <class T>
  static conversion_rank rank(PyObject *object) {
    return conversion_rank_of<T>(object);
  }
  template <class Native, std::size_t At, class Argument>
  static outcome convert(PyObject *object, Argument *to) {
    return convert_overloaded(object, to);
  }
};

/// NULL is an argument that was left out, which suits every overload: each has a default for it.
template <class... Parameters>
struct shared_defaults {
  template <class T>
  static conversion_rank rank(PyObject *object) {
    return object == nullptr ? conversion_rank::exact : conversion_rank_of<T>(object);
  }
  template <class Native, std::size_t At, class Argument>
  static outcome convert(PyObject *object, Argument *to) {
    if (object != nullptr) return convert_overloaded(object, to);
    to->set(std::get<At>(named_function<Native, Parameters...>::defaults));
    return outcome::converted;
  }
};

/// How well all the arguments suit one of the functions: as well as the worst of them. Those behind
/// one that does not suit are not looked at.
template <class Native, class Defaults, std::size_t... I>
conversion_rank worst_rank(PyObject *const *args, std::index_sequence<I...>) {
  conversion_rank worst = conversion_rank::exact;
  (void)args;
  const bool all_suit =
      ((worst = worse_of(
            worst,
            Defaults::template rank<std::tuple_element_t<I, typename Native::arguments>>(args[I])),
        worst < conversion_rank::none) &&
       ...);
  (void)all_suit;
  return worst;
}

/// TypeError; or OverflowError when the types suit, and only the value of the int at `out_of_range`
/// does not. `out_of_range` is `nargs` where there is none. With what is offered: "'i->l', 'l->l'".
TYPEDCALL_RARE inline void set_no_overload(const char *name, const char *const *signatures,
                                           std::size_t count, PyObject *const *args,
                                           std::size_t nargs, std::size_t out_of_range) {
  text given, offered;
  for (std::size_t i = 0; i < nargs; ++i) {
    given.add_behind(", ", args[i] != nullptr ? Py_TYPE(args[i])->tp_name : "default");
  }
  for (std::size_t i = 0; i < count; ++i) {
    offered.add_behind(", ", "'").add(signatures[i]).add("'");
  }
  if (!given.is_complete() || !offered.is_complete()) {
    PyErr_NoMemory();
  } else if (out_of_range == nargs) {
    PyErr_Format(PyExc_TypeError, "%s() has no overload for (%s); it offers %s", name,
                 given.c_str(), offered.c_str());
  } else {
    PyErr_Format(PyExc_OverflowError,
                 "%s() has no overload for the int in argument %zu; it offers %s", name,
                 out_of_range + 1, offered.c_str());
  }
}

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
inline constexpr static_table<Natives...> static_table_of TYPEDCALL_HIDDEN = {};

template <class Table>
constexpr bool is_laid_out_as_a_table() {
  static_assert(offsetof(Table, entries) == offsetof(PyNativeCallableTable, entries));
  static_assert((sizeof(Table) - sizeof(PyNativeCallableTable)) % sizeof(PyNativeCallableEntry) ==
                0);
  return true;
}

constexpr std::size_t largest(std::initializer_list<std::size_t> all) {
  std::size_t most = 0;
  for (const std::size_t each : all) most = each < most ? most : each;
  return most;
}

/// Chooses among the overloads of one name, and calls. `Defaults` says what stands for arguments
/// that were left out.
template <class Defaults, class... Natives>
struct TYPEDCALL_HIDDEN overload_choice {
  static constexpr std::size_t count = sizeof...(Natives);

  static PyObject *choose(const char *name, const char *const *signatures, PyObject *self,
                          PyObject *const *args, std::size_t nargs) {
    conversion_rank ranks[count];
    std::size_t at = 0;
    const bool is_raised =
        ((ranks[at] = rank_one<Natives>(args, nargs), ranks[at++] == conversion_rank::raised) ||
         ...);
    if (is_raised) return nullptr;
    bool is_out_of_range[most_arguments] = {};
    PyObject *result = nullptr;
    for (const conversion_rank wanted :
         {conversion_rank::exact, conversion_rank::subclass, conversion_rank::safe}) {
      at = 0;
      if (((ranks[at++] == wanted &&
            try_one<Natives>(self, args, is_out_of_range, &result, indices<Natives>())) ||
           ...)) {
        return result;
      }
    }
    // Only those that are there can be out of range.
    std::size_t out_of_range = 0;
    while (out_of_range < most_arguments && !is_out_of_range[out_of_range]) ++out_of_range;
    set_no_overload(name, signatures, count, args, nargs,
                    out_of_range < most_arguments ? out_of_range : nargs);
    return nullptr;
  }

 private:
  template <class Native>
  using indices = std::make_index_sequence<Native::arity>;
  static constexpr std::size_t most_arguments = largest({1, Natives::arity...});

  template <class Native>
  static conversion_rank rank_one(PyObject *const *args, std::size_t nargs) {
    return nargs == Native::arity ? worst_rank<Native, Defaults>(args, indices<Native>())
                                  : conversion_rank::none;
  }

  template <class Native, std::size_t I>
  static constexpr bool is_floating =
      std::is_floating_point_v<std::tuple_element_t<I, typename Native::arguments>> ||
      is_complex_type<std::tuple_element_t<I, typename Native::arguments>>;

  /// True when this overload was the one: it was called, or an exception is set. False when the
  /// next one may suit; `is_out_of_range` then says which arguments are ints that were out of
  /// range.
  template <class Native, std::size_t... I>
  static bool try_one(PyObject *self, PyObject *const *args, bool *is_out_of_range,
                      PyObject **result, std::index_sequence<I...>) {
    (void)args;
    // An int that was too large for one overload must not lose digits in another.
    if (((is_floating<Native, I> && is_out_of_range[I]) || ...)) return false;
    call_frame<typename Native::type> frame;
    outcome done = outcome::converted;
    bool fits = true;
    // All of them: each int that is out of range is kept from being made floating.
    const bool is_raised =
        ((done = Defaults::template convert<Native, I>(args[I], &std::get<I>(frame.held)),
          is_out_of_range[I] |= done == outcome::out_of_range, fits &= done == outcome::converted,
          done == outcome::raised) ||
         ...);
    if (is_raised) return true;
    if (fits) *result = frame.call(Native::wrapped(), self);
    return fits;
  }
};

/// All overloads of one name. `Natives` are native<Function, Effects>.
template <class... Natives>
struct TYPEDCALL_HIDDEN overloads {
  static constexpr std::size_t count = sizeof...(Natives);
  using first = std::tuple_element_t<0, std::tuple<Natives...>>;
  static constexpr convention called =
      convention_for(((Natives::arity == first::arity) && ...) ? first::arity : std::size_t{2});
  /// As Python sees them: without self, with the value of a status function as its result.
  static constexpr const char *signatures[count] = {
      signature_of<typename Natives::python_type>::text...};

  static constexpr def_shape shape() {
    def_shape made = shape_of<typename first::offer>(called);
    made.direct = argument_type::other;
    made.count = count;
    made.entries = count;
    made.table = &static_table_of<Natives...>;
    made.overloads = signatures;
    return made;
  }
  /// The name in messages. The same functions under a second name share it.
  static inline const char *name = nullptr;

  static PyObject *no_args(PyObject *self, PyObject *) { return choose(self, nullptr, 0); }
  static PyObject *one_arg(PyObject *self, PyObject *argument) {
    return choose(self, &argument, 1);
  }
  static PyObject *fast(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    return choose(self, args, static_cast<std::size_t>(nargs));
  }

 private:
  static PyObject *choose(PyObject *self, PyObject *const *args, std::size_t nargs) {
    return overload_choice<no_defaults, Natives...>::choose(name, signatures, self, args, nargs);
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_OVERLOADS_H_
