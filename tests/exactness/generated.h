// Functions with signatures that are generated at compile time. Each function passes its arguments
// to Compute() and returns the result.
#ifndef TYPEDCALL_TESTS_EXACTNESS_GENERATED_H_
#define TYPEDCALL_TESTS_EXACTNESS_GENERATED_H_

#include "tests/exactness/values.h"
#include "typedcall/provider.h"
#include "typedcall/resolve.h"
// Python.h comes first.
#include <tuple>
#include <type_traits>
#include <utility>

namespace exactness {

/// How a function reports errors.
enum class Kind { none, by_value, by_status };

/// Describes signature number n at run time.
struct Facts {
  std::uint64_t n;
  Kind kind;
  PyNativeSignature python;  ///< the signature that Python uses
  const char *text;          ///< the signature that consumers use
};

/// Python cannot pass every long double, so such entries have the flag DIFFERS.
inline constexpr typedcall::capabilities kCapabilities =
    typedcall::checks_errors | typedcall::accepts_differences | PyNativeCallable_RETURNS_STATUS;

/// The outcome of a call.
struct Outcome {
  Value result;
  bool raised = false;
};

/// The body of every function: computes a result from the bits of the arguments. A function that
/// can raise sometimes raises ValueError. Objects are returned as new references.
Outcome Compute(const Facts &facts, const Value *arguments);

/// Scalars passed in registers come first, then all other types.
using Types =
    std::tuple<bool, signed char, unsigned char, short, unsigned short, int, unsigned, long,
               unsigned long, long long, unsigned long long, float, double, void *, double *,
               const short *, long double *, PyNativeType_ComplexDouble *, PyObject *, const char *,
               long, double, float, PyObject *, long double, PyNativeType_ComplexFloat,
               PyNativeType_ComplexDouble, PyNativeType_ComplexLongDouble>;
inline constexpr std::size_t kTypes = std::tuple_size_v<Types>, kScalars = kTypes - 4;

/// Most signatures have only scalar arguments, because only libffi supports the other types.
constexpr std::size_t DrawnType(std::uint64_t n, std::uint64_t i) {
  if (n % 3 == 0 && i == 0) return kTypes - 1 - n / 3 % kTypes;
  return Scramble(n * 131 + i + 1) % (n % 3 == 0 ? kTypes : kScalars);
}
template <std::uint64_t n, class = void>
struct ResultOf {
  using type = std::tuple_element_t<n % (kTypes + 1), Types>;
};
template <std::uint64_t n>
struct ResultOf<n, std::enable_if_t<n % (kTypes + 1) == kTypes>> {
  using type = void;
};

/// One signature in eight has at least nine arguments, usually more than fit into registers.
constexpr std::size_t Arity(std::uint64_t n) {
  const std::uint64_t drawn = Scramble(n * 131 + 77);
  return static_cast<std::size_t>(n % 8 == 7 ? 9 + drawn % 12 : drawn % 7 + (n % 3 == 0));
}

/// Some results have no error value, and a place for a typed pointer has no code.
template <class R>
constexpr Kind KindOf(std::uint64_t n) {
  constexpr bool is_pointer = std::is_pointer_v<R> && !std::is_same_v<R, void *> &&
                              !std::is_same_v<R, const char *> && !std::is_same_v<R, PyObject *>;
  const Kind drawn = static_cast<Kind>(Scramble(n * 977) % 3);
  if (drawn == Kind::by_value && !typedcall::has_error_value<R>) return Kind::by_status;
  return drawn == Kind::by_status && is_pointer ? Kind::by_value : drawn;
}

template <std::uint64_t n, Kind kind, class R, class... A>
struct Function {
  static constexpr std::size_t arity = sizeof...(A);
  using type = R(A...);  ///< the type that consumers request
  static constexpr auto effects = [] {
    if constexpr (kind == Kind::by_value) {
      return typedcall::may_raise;
    } else {
      return typedcall::effects<0>();
    }
  }();

  static const Facts &facts() {
    static const Facts made = {n, kind, typedcall::signature_of<type>::parsed(),
                               typedcall::signature_of<type>::text};
    return made;
  }
  static R call(A... values) noexcept {
    const Value arguments[] = {Value::Of(values)..., Value()};
    const Outcome outcome = Compute(facts(), arguments);
    if constexpr (typedcall::has_error_value<R>) {
      if (outcome.raised) return typedcall::error_value<R>();
    }
    if constexpr (!std::is_void_v<R>) return outcome.result.As<R>();
  }

  /// Returns false with an exception set if no entry is found.
  static bool call_direct(PyObject *callable, const Value *arguments, Outcome *outcome) {
    return call_direct(callable, arguments, outcome, std::index_sequence_for<A...>());
  }

 private:
  template <std::size_t... i>
  static bool call_direct(PyObject *callable, const Value *arguments, Outcome *outcome,
                          std::index_sequence<i...>) {
    (void)arguments;
    const auto found = typedcall::resolve<type>(PyTypedcall_Import(), callable, kCapabilities);
    if (!found) return false;
    if constexpr (std::is_void_v<R>) {
      found(arguments[i].template As<A>()...);
      outcome->raised = found.raised();
    } else {
      const R result = found(arguments[i].template As<A>()...);
      outcome->result = Value::Of(result);
      outcome->raised = found.raised(result);
    }
    return true;
  }
};

/// The value, if any, is returned through the last pointer.
template <std::uint64_t n, class R, class... A>
struct Function<n, Kind::by_status, R, A...> {
  static constexpr bool has_place = !std::is_void_v<R>;
  static constexpr std::size_t arity = sizeof...(A) + has_place;
  template <class... All>
  struct Called {
    using type = int(All...);
    static int call(All... values) noexcept {
      const Value arguments[] = {Value::Of(values)..., Value()};
      const Outcome outcome = Compute(Function::facts(), arguments);
      if constexpr (has_place) {
        if (!outcome.raised) *arguments[sizeof...(A)].template As<R *>() = outcome.result.As<R>();
      }
      return outcome.raised ? 1 + static_cast<int>(n) : 0;
    }
    template <std::size_t... i>
    static int run(const typedcall::function<type> &found, const Value *arguments,
                   std::index_sequence<i...>) {
      (void)arguments;
      return found(arguments[i].template As<All>()...);
    }
  };
  using called =
      typename std::conditional_t<has_place,
                                  std::enable_if<true, Called<A..., std::add_pointer_t<R>>>,
                                  std::enable_if<true, Called<A...>>>::type;
  using type = typename called::type;
  static constexpr auto &call = called::call;
  static constexpr auto effects = typedcall::returns_status;

  static const Facts &facts() {
    static const Facts made = {n, Kind::by_status, typedcall::signature_of<R(A...)>::parsed(),
                               typedcall::signature_of<type>::text};
    return made;
  }

  static bool call_direct(PyObject *callable, const Value *arguments, Outcome *outcome) {
    const auto found = typedcall::resolve<type>(PyTypedcall_Import(), callable, kCapabilities);
    if (!found) return false;
    Value all[PyNativeSignature_MAX_ARGS];
    for (std::size_t i = 0; i < sizeof...(A); ++i) all[i] = arguments[i];
    all[sizeof...(A)] = Value::Of(&outcome->result);
    const int status = called::run(found, all, std::make_index_sequence<arity>());
    outcome->raised = found.raised(status);
    return status == (outcome->raised ? 1 + static_cast<int>(n) : 0);
  }
};

template <std::uint64_t n, class R, class Indices = std::make_index_sequence<Arity(n)>>
struct Picked;
template <std::uint64_t n, class R, std::size_t... i>
struct Picked<n, R, std::index_sequence<i...>> {
  using type = Function<n, KindOf<R>(n), R, std::tuple_element_t<DrawnType(n, i), Types>...>;
};

/// Function number n.
template <std::uint64_t n>
using Generated = typename Picked<n, typename ResultOf<n>::type>::type;

template <std::uint64_t n>
inline constexpr char kName[] = {'f', '0' + n / 100 % 10, '0' + n / 10 % 10, '0' + n % 10, 0};

}  // namespace exactness

#endif  // TYPEDCALL_TESTS_EXACTNESS_GENERATED_H_
