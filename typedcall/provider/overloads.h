// The wrappers of overloaded functions. A wrapper chooses an overload by the types of the
// arguments.
#ifndef TYPEDCALL_PROVIDER_OVERLOADS_H_
#define TYPEDCALL_PROVIDER_OVERLOADS_H_

#include "typedcall/base/namespace.h"
#include "typedcall/provider/overload_arguments.h"
#include "typedcall/provider/wrapper.h"

// These headers must come after Python.h.
#include <algorithm>
#include <initializer_list>
#include <utility>

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Sets TypeError, or OverflowError if the int at index `out_of_range` does not fit. If there is no
/// such int, `out_of_range` is `nargs`. The message lists the overloads: "'i->l', 'l->l'".
TYPEDCALL_RARE inline void set_no_overload(const char *name, const char *const *signatures,
                                           std::size_t count, PyObject *const *args,
                                           std::size_t nargs, std::size_t out_of_range) {
  text given, offered;
  for (std::size_t i = 0; i < std::min(nargs, longest_list); ++i) {
    given.add_behind(", ", "").add_cut(args[i] != nullptr ? Py_TYPE(args[i])->tp_name : "default");
  }
  given.end_list(nargs);
  for (std::size_t i = 0; i < count; ++i) offered.add_item(i, signatures[i]);
  offered.end_list(count);
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

/// A PyNativeCallableEntry with a typed function pointer, because a cast is not a constant
/// expression.
template <class Function>
struct static_entry {
  const char *signature;
  std::uintptr_t flags;
  Function function;
};

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

/// A table of overloads with the layout of a PyNativeCallableTable.
template <class... Natives>
struct static_table {
  Py_ssize_t count = sizeof...(Natives);
  static_entries<Natives...> entries;
};
template <class... Natives>
inline constexpr static_table<Natives...> static_table_of TYPEDCALL_HIDDEN = {};

/// Returns a copy of the shape with these entries. A def with one entry needs no table.
template <class... Natives>
constexpr def_shape with_table(def_shape made, type_list<Natives...>) {
  if constexpr (sizeof...(Natives) > 1) {
    using table = static_table<Natives...>;
    static_assert(offsetof(table, entries) == offsetof(PyNativeCallableTable, entries));
    static_assert((sizeof(table) - sizeof(PyNativeCallableTable)) % sizeof(PyNativeCallableEntry) ==
                  0);
    made.entries = sizeof...(Natives);
    made.table = &static_table_of<Natives...>;
  }
  return made;
}

constexpr std::size_t largest(std::initializer_list<std::size_t> all) {
  std::size_t most = 0;
  for (const std::size_t each : all) most = each < most ? most : each;
  return most;
}

/// Chooses and calls one of the overloads. `Defaults` supplies omitted arguments.
template <class Defaults, class... Natives>
struct TYPEDCALL_HIDDEN overload_choice {
  static constexpr std::size_t count = sizeof...(Natives);

  static PyObject *choose(const char *name, const char *const *signatures, PyObject *self,
                          PyObject *const *args, std::size_t nargs) {
    // Omitted arguments are never out of range.
    bool is_out_of_range[most_arguments] = {};
    PyObject *result = nullptr;
    bool is_done;
    if constexpr (is_by_kind) {
      is_done = choose_by_kind(self, args, is_out_of_range, &result);
    } else {
      is_done = choose_by_ranks(self, args, nargs, is_out_of_range, &result);
    }
    if (TYPEDCALL_EXPECT(is_done, 1)) return result;
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

  // --- Overloads of one argument, chosen by its kind -----------------------------------------

  template <class Native>
  using only = last_parameter<typename Native::arguments, Native::arity>;
  template <class Native>
  static constexpr bool is_ranked_by_kind = Native::arity == 1 && !is_tried<only<Native>>;
  static constexpr bool is_by_kind = count < 256 && (is_ranked_by_kind<Natives> && ...);

  /// The overloads for each kind of argument, in the order in which they are tried. Each list ends
  /// with `count`.
  struct order {
    unsigned char of[PyNativeArgumentKind_COUNT][count + 1];
  };
  static constexpr order make_order() {
    order made{};
    for (int kind = 0; kind < PyNativeArgumentKind_COUNT; ++kind) {
      const PyNativeRank ranks[] = {
          PyNativeChoice_Rank(ranks_of<only<Natives>>, static_cast<PyNativeArgumentKind>(kind))...};
      std::size_t at = 0;
      for (int rank = PyNativeRank_OWN; rank < PyNativeRank_NONE; ++rank) {
        for (std::size_t i = 0; i < count; ++i) {
          if (ranks[i] == rank) made.of[kind][at++] = static_cast<unsigned char>(i);
        }
      }
      made.of[kind][at] = static_cast<unsigned char>(count);
    }
    return made;
  }

  static bool choose_by_kind(PyObject *self, PyObject *const *args, bool *is_out_of_range,
                             PyObject **result) {
    static constexpr order tried = make_order();
    PyNativeArgumentKind kind = Defaults::kind(args[0]);
    if constexpr ((is_complex_type<only<Natives>> || ...)) {
      if (kind == PyNativeArgumentKind_OTHER) {
        const int has_complex = has_complex_method(Py_TYPE(args[0]));
        if (has_complex < 0) return true;
        if (has_complex > 0) kind = PyNativeArgumentKind_HAS_COMPLEX;
      }
    }
    for (const unsigned char *at = tried.of[kind]; *at < count; ++at) {
      if (try_at(*at, self, args, is_out_of_range, result, all())) return true;
    }
    return false;
  }

  // --- All other overloads -------------------------------------------------------------------

  static bool choose_by_ranks(PyObject *self, PyObject *const *args, std::size_t nargs,
                              bool *is_out_of_range, PyObject **result) {
    PyNativeArgumentKind kinds[most_arguments];
    find_kinds(args, nargs, kinds, std::make_index_sequence<most_arguments>());
    unsigned char ranks[count][most_arguments], worst[count];
    std::size_t at = 0;
    const bool is_raised =
        ((worst[at] = rank_one<Natives>(args, nargs, kinds, ranks[at], indices<Natives>()),
          worst[at++] == rank_raised) ||
         ...);
    if (is_raised) return true;
    for (;;) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < count; ++i) {
        if (worst[i] < worst[best]) best = i;
      }
      if (worst[best] >= PyNativeRank_NONE) return false;
      // Overloads that are exact for every argument are equally good.
      if (most_arguments > 1 && worst[best] != PyNativeRank_EXACT && is_tied(worst, best)) {
        best = PyNativeChoice_FirstUnbeaten(worst, ranks[0], count, most_arguments, nargs, best);
      }
      if (try_at(best, self, args, is_out_of_range, result, all())) return true;
      worst[best] = PyNativeRank_NONE;
    }
  }

  /// True if an overload after overload `at` has the same worst rank.
  static bool is_tied(const unsigned char *worst, std::size_t at) {
    for (std::size_t i = at + 1; i < count; ++i) {
      if (worst[i] == worst[at]) return true;
    }
    return false;
  }

  template <std::size_t... I>
  TYPEDCALL_IN_LINE static void find_kinds(PyObject *const *args, std::size_t nargs,
                                           PyNativeArgumentKind *kinds, std::index_sequence<I...>) {
    ((kinds[I] = I < nargs ? Defaults::kind(args[I]) : PyNativeArgumentKind_OTHER), ...);
  }

  /// Returns the worst rank of the arguments for one overload. Stores the rank of each argument in
  /// `ranks`, up to the first unsuitable argument.
  template <class Native, std::size_t... I>
  static unsigned char rank_one([[maybe_unused]] PyObject *const *args, std::size_t nargs,
                                [[maybe_unused]] const PyNativeArgumentKind *kinds,
                                [[maybe_unused]] unsigned char *ranks, std::index_sequence<I...>) {
    unsigned char worst = PyNativeRank_EXACT;
    if (nargs != Native::arity) return PyNativeRank_NONE;
    static_cast<void>(
        ((ranks[I] = Defaults::template rank<std::tuple_element_t<I, typename Native::arguments>>(
              args[I], kinds[I]),
          worst = std::max(worst, ranks[I]), worst < PyNativeRank_NONE) &&
         ...));
    return worst;
  }

  // --- Calls ---------------------------------------------------------------------------------

  using all = std::index_sequence_for<Natives...>;
  template <std::size_t... At>
  TYPEDCALL_IN_LINE static bool try_at(std::size_t wanted, PyObject *self, PyObject *const *args,
                                       bool *is_out_of_range, PyObject **result,
                                       std::index_sequence<At...>) {
    return ((At == wanted &&
             try_one<Natives>(self, args, is_out_of_range, result, indices<Natives>())) ||
            ...);
  }

  template <class Native, std::size_t I>
  static constexpr bool loses_digits =
      PyNativeChoice_LosesPrecision(
          native_type<std::tuple_element_t<I, typename Native::arguments>>()) != 0;

  /// Returns true if this overload was called or an exception is set. Returns false if the next
  /// overload should be tried. Sets `is_out_of_range` for each int that was out of range.
  template <class Native, std::size_t... I>
  static bool try_one(PyObject *self, PyObject *const *args, bool *is_out_of_range,
                      PyObject **result, std::index_sequence<I...>) {
    (void)args;
    // An int that was out of range for one overload must not lose digits in another.
    if (((loses_digits<Native, I> && is_out_of_range[I]) || ...)) return false;
    call_frame<typename Native::type> frame;
    outcome done = outcome::converted;
    bool fits = true;
    // Converts all arguments, to find every int that is out of range.
    const bool is_raised =
        ((done = Defaults::template convert<Native, I>(args[I], &internal::held_at<I>(frame)),
          is_out_of_range[I] |= done == outcome::out_of_range, fits &= done == outcome::converted,
          done == outcome::raised) ||
         ...);
    if (is_raised) return true;
    if (fits) *result = frame.call(Native::wrapped(), self);
    return fits;
  }
};

/// The wrapper of several functions. `Natives` are native<Function, Effects>.
template <class... Natives>
struct TYPEDCALL_HIDDEN overloads {
  static constexpr std::size_t count = sizeof...(Natives);
  using first = std::tuple_element_t<0, std::tuple<Natives...>>;
  static constexpr convention called =
      convention_for(((Natives::arity == first::arity) && ...) ? first::arity : std::size_t{2});
  /// The signatures as Python sees them.
  static constexpr const char *signatures[count] = {
      signature_of<typename Natives::python_type>::text...};

  static constexpr def_shape shape() {
    def_shape made = shape_of<typename first::offer>(called);
    made.direct = argument_type::other;
    made.count = count;
    made.overloads = signatures;
    return made;
  }
  /// The name in error messages. Defs of the same functions share the name.
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

/// The wrapper of several functions with the same parameter names and defaults.
template <class Natives, class... Parameters>
struct named_overloads;
template <class... Natives, class... Parameters>
struct TYPEDCALL_HIDDEN named_overloads<type_list<Natives...>, Parameters...> {
  static_assert(
      ((Natives::arity == sizeof...(Parameters)) && ...),
      "typedcall: overloads can share parameter names only if each has as many parameters "
      "as there are typedcall::arg()s and positional()s");
  using shape = parameter_shape<std::tuple<Parameters...>>;
  using first = std::tuple_element_t<0, std::tuple<Natives...>>;
  /// The function whose names and defaults apply to all overloads.
  using named = named_function<first, Parameters...>;

  /// Returns the reason why the def is invalid, or null.
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

#endif  // TYPEDCALL_PROVIDER_OVERLOADS_H_
