// Describes a C++ function at compile time, and defines an adapter if consumers cannot call the
// function directly.
#ifndef TYPEDCALL_PROVIDER_NATIVE_H_
#define TYPEDCALL_PROVIDER_NATIVE_H_

#include "typedcall/base/effects.h"
#include "typedcall/base/error_value.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/convert/c_type.h"
#include "typedcall/convert/exceptions.h"
#include "typedcall/entry_view.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

template <class Pointer>
struct function_traits {
  static_assert(
      !std::is_same_v<Pointer, Pointer>,
      "typedcall: a method is made from a function pointer; cast an overloaded name to the "
      "type of the function that you mean, and write a plus sign before a lambda");
};

template <class R, class... A>
struct function_traits<R (*)(A...)> {
  using result = R;
  using parameters = std::tuple<std::remove_cv_t<A>...>;
  static constexpr bool is_noexcept = false;
  static constexpr std::size_t count = sizeof...(A);
  /// True if the function uses types that C does not have: C++ complex numbers or buffers.
  static constexpr bool has_own_types = is_std_complex<R> ||
                                        (is_std_complex<std::remove_cv_t<A>> || ...) ||
                                        (is_buffer<std::remove_cv_t<A>> || ...);
};

template <class R, class... A>
struct function_traits<R (*)(A...) noexcept> : function_traits<R (*)(A...)> {
  static constexpr bool is_noexcept = true;
};

#define TYPEDCALL_INTERNAL_TYPES                                                              \
  "Python callers can pass and get bool, the signed and unsigned integers (plain char is "    \
  "neither: write signed char or unsigned char), float, double, long double, complex, const " \
  "char *, void *, pointers to these, and PyObject *; they can pass spans of numbers, and "   \
  "std::string_view"

/// If the check fails, the compiler's error message shows the position and the type.
template <std::size_t Position, class T>
struct parameter_number {
  static_assert(python_can_pass<T>, "typedcall: " TYPEDCALL_INTERNAL_TYPES
                                    "; the parameter at this position has another type");
  static constexpr bool is_checked = true;
};
template <class T>
struct result_of_function {
  static_assert(python_can_get<T>,
                "typedcall: " TYPEDCALL_INTERNAL_TYPES "; this function's result has another type");
  static constexpr bool is_checked = true;
};
#undef TYPEDCALL_INTERNAL_TYPES

template <class Parameters>
struct parameter_checks;
template <class... A>
struct parameter_checks<std::tuple<A...>> {
  /// Counts the parameters after self, from 1.
  template <std::size_t... I>
  static constexpr bool check(std::index_sequence<I...>) {
    return (parameter_number<I + 1, A>::is_checked && ...);
  }
  static constexpr bool are_checked = check(std::index_sequence_for<A...>());
  static constexpr bool has_objects =
      (std::is_same_v<A, PyObject *> || ...) || (std::is_same_v<A, PyObject **> || ...);
};

/// The type of the parameter at an index, or void if there is no such parameter.
template <class Parameters, std::size_t At, bool = (At < std::tuple_size_v<Parameters>)>
struct parameter_at {
  using type = void;
};
template <class Parameters, std::size_t At>
struct parameter_at<Parameters, At, true> {
  using type = std::tuple_element_t<At, Parameters>;
};
template <class Parameters, std::size_t Count>
using last_parameter = typename parameter_at<Parameters, Count - 1>::type;

/// How consumers see an entry with this signature and these flags.
template <class Shown>
constexpr PyNativeView view_of(std::uintptr_t flags) {
  const PyNativeSignature shown = signature_of<Shown>::parsed();
  return PyNativeView_Of(&shown, flags);
}

/// True if consumers see the entry as the wrapper does.
template <class Value>
constexpr bool is_seen_as(const PyNativeView &view, std::size_t arity, bool takes_self,
                          PyNativeErrorProtocol error_protocol) {
  const bool has_place = view.reports && !std::is_void_v<Value>;
  const PyNativeType result = native_type<Value>();
  return view.error_protocol == error_protocol && view.nargs == static_cast<int>(arity) &&
         (view.takes_self != 0) == takes_self && (view.has_place != 0) == has_place &&
         view.result.code == result.code && view.result.pointer_flags == result.pointer_flags;
}

/// The properties that all functions with this type and these effects share.
template <class Pointer, std::uint64_t Stated>
struct TYPEDCALL_HIDDEN offered {
  using traits = function_traits<Pointer>;
  using own_result = typename traits::result;
  using own_parameters = typename traits::parameters;

  // --- Roles of the parameters ---------------------------------------------------------------

  static constexpr bool takes_self = (Stated & PyNativeCallable_TAKES_SELF) != 0;
  static constexpr bool states_status = (Stated & PyNativeCallable_RETURNS_STATUS) != 0;
  using last = last_parameter<own_parameters, traits::count>;
  static constexpr bool has_place = states_status &&
                                    traits::count > (takes_self ? 1 : 0) && is_typed_pointer<last>;

  static_assert(!takes_self || is_self_pointer<typename parameter_at<own_parameters, 0>::type>,
                "typedcall: with takes_self the first parameter is self, a PyObject * or a pointer "
                "to the object's struct");
  static_assert(!states_status || std::is_same_v<own_result, int>,
                "typedcall: with returns_status the result is an int, 0 on success; the value "
                "is stored through the last parameter");
  static_assert(!has_place || !std::is_const_v<std::remove_pointer_t<last>>,
                "typedcall: with returns_status a last parameter that points to a value gets the "
                "result, so it cannot point to const; move it forward");

  static constexpr std::size_t arity =
      traits::count - (takes_self && traits::count > 0 ? 1 : 0) - (has_place ? 1 : 0);
  /// The arguments that Python passes, as C types.
  using arguments = typename c_slice<own_parameters, takes_self ? 1 : 0, arity>::type;

  // --- Error reports -------------------------------------------------------------------------

  /// A function that may throw has an adapter that converts C++ exceptions to Python exceptions,
  /// because consumers need not be written in C++.
  static constexpr bool throws = !traits::is_noexcept && (Stated & cannot_throw) == 0;
  /// If the result has no error value, the adapter returns a status.
  static constexpr bool gets_status =
      throws && !states_status && !has_error_value<c_type_of<own_result>>;
  static constexpr bool is_status = states_status || gets_status;

  /// The C type of Python's result, or void if this result is None.
  using value = std::conditional_t<
      states_status, std::conditional_t<has_place, std::remove_pointer_t<c_type_of<last>>, void>,
      c_type_of<own_result>>;
  static constexpr bool has_value = !std::is_void_v<value>;

  static_assert(parameter_checks<arguments>::are_checked && result_of_function<value>::is_checked);

  // --- Types and flags for consumers ---------------------------------------------------------

  using entry_result = std::conditional_t<is_status, int, value>;
  using place =
      std::conditional_t<is_status && has_value, type_list<std::add_pointer_t<value>>, type_list<>>;
  using argument_list = elements<arguments, 0, arity>;
  using shown_parameters = decltype(argument_list() + place());
  using self_list = std::conditional_t<takes_self, type_list<PyObject *>, type_list<>>;
  using entry_parameters = decltype(all_in_c(self_list() + shown_parameters()));
  /// The function type of the signature, and the function type as Python sees it.
  using shown_type = typename function_of<entry_result, shown_parameters>::type;
  using python_type = typename function_of<value, argument_list>::type;

  static constexpr bool returns_object = std::is_same_v<value, PyObject *>;
  static constexpr bool has_objects =
      takes_self || parameter_checks<arguments>::has_objects || returns_object;
  /// True if the result is rounded for Python callers.
  static constexpr bool is_rounded_for_python =
      std::is_same_v<value, long double> || std::is_same_v<value, PyNativeType_ComplexLongDouble>;
  static constexpr bool raises_by_value =
      !is_status && (throws || returns_object || (Stated & PyNativeCallable_MAY_RAISE) != 0);

  static constexpr std::uintptr_t flags =
      static_cast<std::uintptr_t>(Stated & entry_bits &
                                  ~std::uint64_t{PyNativeCallable_MAY_RAISE}) |
      (raises_by_value ? PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD : 0) |
      (is_status ? PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD : 0) |
      (has_objects ? PyNativeCallable_NEEDS_THREAD : 0) |
      (is_rounded_for_python ? PyNativeCallable_DIFFERS : 0);
  static constexpr bool may_raise = (flags & PyNativeCallable_MAY_RAISE) != 0;

  static_assert(!may_raise || has_error_value<value>,
                "typedcall: a bool, void or complex result cannot report that an exception is set. "
                "State typedcall::returns_status, return an int and store the value through a last "
                "parameter; or throw a C++ exception");
  static_assert(
      !gets_status || has_value || !is_typed_pointer<last>,
      "typedcall: a function without a result that may throw returns a status to consumers, "
      "and a last parameter that points to a value would be mistaken for the pointer to the "
      "result. Make the function noexcept, or state typedcall::returns_status and return an int");
  static constexpr bool releases_gil = (Stated & without_gil) != 0;
  static_assert(!releases_gil || (flags & PyNativeCallable_NEEDS_THREAD) == 0,
                "typedcall: with releases_gil the function runs without the GIL: it must "
                "take and return no objects, take no self, raise nothing and be noexcept (or "
                "typedcall::nothrow)");

  static constexpr bool is_exact = (flags & PyNativeCallable_DIFFERS) == 0;
  static constexpr PyNativeView view = view_of<shown_type>(flags);
  static_assert(view.may_fall_back ||
                is_seen_as<value>(view, arity, takes_self,
                                  is_status    ? PyNativeErrorProtocol_STATUS
                                  : !may_raise ? PyNativeErrorProtocol_NONE
                                  : is_exact   ? PyNativeErrorProtocol_MAY_RAISE
                                               : PyNativeErrorProtocol_CHECK_EXCEPTION));

  static constexpr std::uint64_t stated = Stated;
  /// True if consumers cannot call the function directly.
  static constexpr bool is_adapted = throws || traits::has_own_types;
};

/// Describes how `Function` is offered.
///
/// All templates that use this class must also be hidden. The dynamic linker merges visible static
/// variables of templates across modules. If two extension modules had an `inc(long)`, the second
/// module would use the function of the first module.
template <auto Function, std::uint64_t Stated>
struct TYPEDCALL_HIDDEN native : offered<decltype(Function), Stated> {
  using type = offered<decltype(Function), Stated>;
  using own_result = typename type::own_result;
  using own_parameters = typename type::own_parameters;
  using entry_result = typename type::entry_result;

  /// The adapter has the type of the entry, and converts to and from the types of `Function`.
  template <class Parameters>
  struct adapter;
  template <class... A>
  struct adapter<type_list<A...>> {
    static own_result plain(A... values) {
      return run(std::make_index_sequence<type::traits::count>(), std::tuple<A...>(values...));
    }
    template <std::size_t... I>
    static own_result run(std::index_sequence<I...>, const std::tuple<A...> &values) {
      (void)values;
      return Function(own_argument<I>(values)...);
    }
    template <std::size_t I>
    static auto own_argument(const std::tuple<A...> &values) {
      using own = std::tuple_element_t<I, own_parameters>;
      constexpr std::size_t at = place_in_c<own_parameters, I>;
      if constexpr (is_buffer<own>) {
        // std::complex and C's complex types have the same layout.
        auto *const data =
            reinterpret_cast<typename buffer_of<own>::element *>(std::get<at>(values));
        return own(data, static_cast<std::size_t>(std::get<at + 1>(values)));
      } else {
        return from_c<own>(std::get<at>(values));
      }
    }

    static entry_result converted(A... values) {
      if constexpr (type::gets_status) {
        if constexpr (type::has_value) {
          std::tuple<A...> all(values...);
          const auto result = run(std::make_index_sequence<type::traits::count>(), all);
          *std::get<sizeof...(A) - 1>(all) = to_c(result);
        } else {
          plain(values...);
        }
        // The function can report an error only by setting an exception.
        return PyErr_Occurred() != nullptr ? -1 : 0;
      } else if constexpr (std::is_void_v<entry_result>) {
        plain(values...);
      } else if constexpr (type::throws && !type::states_status) {
        const entry_result result = to_c(plain(values...));
        // Consumers check for an exception only after an error value.
        if (TYPEDCALL_EXPECT(PyErr_Occurred() == nullptr, 1)) return result;
        if constexpr (type::returns_object) Py_XDECREF(result);
        return error_value<entry_result>();
      } else if constexpr (type::throws) {
        const entry_result status = plain(values...);
        return status == 0 && PyErr_Occurred() != nullptr ? -1 : status;
      } else {
        return to_c(plain(values...));
      }
    }

    TYPEDCALL_NULL_REFERENCES static entry_result guarded(A... values) {
      return translated([] { return translation_of<Function>.load(std::memory_order_relaxed); },
                        [&] { return converted(values...); },
                        [] { return error_value<entry_result>(); });
    }
  };

  static constexpr bool is_translated = type::throws;
  /// Sets the exception translator of the function.
  static void join(const translation *module) {
    if constexpr (type::throws) translation_of<Function> = module;
  }

  /// Describes the function in defs. Functions that fall back have a different type (falls_back.h).
  using offer = type;
  /// Returns the function that the wrapper calls.
  static constexpr auto wrapped() { return address(); }
  /// Returns the function that consumers call.
  static constexpr auto address() {
    if constexpr (type::throws) {
      return &adapter<typename type::entry_parameters>::guarded;
    } else if constexpr (type::is_adapted) {
      return &adapter<typename type::entry_parameters>::converted;
    } else {
      return Function;
    }
  }
};

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_PROVIDER_NATIVE_H_
