// Inner loops that are compiled for their types, for the signatures that most functions have: the
// dispatch stands outside, and what is left is what one would write by hand. Used by
// typedcall/loop.h.
#ifndef TYPEDCALL_LOOP_KERNELS_H_
#define TYPEDCALL_LOOP_KERNELS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typedcall/error_value.h"
#include "typedcall/invoke/register_image.h"
#include "typedcall/namespace.h"
#include "typedcall/native_callable.h"
#include "typedcall/signature_of.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Calls `funcptr` for `count` elements. Returns how many were done: fewer, when the next one has
/// set an exception.
using kernel = std::intptr_t (*)(void *funcptr, char *const *args, const std::intptr_t *steps,
                                 std::intptr_t count);

/// The loops of one signature: for arrays without gaps, for any strides, and for any strides with
/// errors looked for. Each is small, but a program that includes this compiles all of them.
struct compiled_loops {
  kernel contiguous, strided, checked;
};

/// memcpy, because neither alignment nor the type of what stands there is certain; it is one load.
template <class T>
T load_as(const char *from) {
  if constexpr (std::is_same_v<T, bool>) {
    return load_as<unsigned char>(from) != 0;  // a byte of an array may be neither 0 nor 1
  } else {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
}

/// Arrays of the arguments first, then that of the result, in `args` and `steps`. A result is
/// stored before the next element is read: outputs may overlap inputs. Counts from the ends, so
/// that one register is both the index and what is left to do; few survive a call.
template <class R, class... A, std::size_t... at>
TYPEDCALL_OTHER_PROTOTYPE std::intptr_t run_contiguous(void *funcptr, char *const *args,
                                                       std::intptr_t count,
                                                       std::index_sequence<at...>) {
  const auto function = reinterpret_cast<R (*)(A...)>(funcptr);
  [[maybe_unused]] const char *const ends[] = {(args[at] + count * std::intptr_t{sizeof(A)})...,
                                               nullptr};
  char *const end = args[sizeof...(A)] + count * std::intptr_t{sizeof(R)};
  for (std::intptr_t i = -count; i != 0; ++i) {
    const R result = function(load_as<A>(ends[at] + i * std::intptr_t{sizeof(A)})...);
    std::memcpy(end + i * std::intptr_t{sizeof(R)}, &result, sizeof(R));
  }
  return count;
}

/// The same, each array with a stride of its own. Two arrays fill the registers that survive a
/// call, so it counts down, and steps on before the call.
template <bool checked, class R, class... A, std::size_t... at>
TYPEDCALL_OTHER_PROTOTYPE std::intptr_t run_strided(void *funcptr, char *const *args,
                                                    const std::intptr_t *steps, std::intptr_t count,
                                                    std::index_sequence<at...>) {
  const auto function = reinterpret_cast<R (*)(A...)>(funcptr);
  [[maybe_unused]] const char *from[] = {args[at]..., nullptr};
  [[maybe_unused]] const std::intptr_t by[] = {steps[at]..., 0};
  char *to = args[sizeof...(A)];
  const std::intptr_t by_result = steps[sizeof...(A)];
  for (std::intptr_t left = count; left > 0; --left, to += by_result) {
    const auto step_and_call = [&](A... elements) {
      ((from[at] += by[at]), ...);
      return function(elements...);
    };
    const R result = step_and_call(load_as<A>(from[at])...);
    if constexpr (checked && has_error_value<R>) {
      if (__builtin_expect(is_error_value(result), 0) && PyErr_Occurred()) return count - left;
    } else if constexpr (checked) {
      if (PyErr_Occurred()) return count - left;
    }
    std::memcpy(to, &result, sizeof(R));
  }
  return count;
}

template <class R, class... A>
std::intptr_t contiguous_kernel(void *funcptr, char *const *args, const std::intptr_t *,
                                std::intptr_t count) {
  return run_contiguous<R, A...>(funcptr, args, count, std::index_sequence_for<A...>());
}

template <bool checked, class R, class... A>
std::intptr_t strided_kernel(void *funcptr, char *const *args, const std::intptr_t *steps,
                             std::intptr_t count) {
  return run_strided<checked, R, A...>(funcptr, args, steps, count,
                                       std::index_sequence_for<A...>());
}

template <class R, class... A>
inline constexpr compiled_loops loops_of = {
    &contiguous_kernel<R, A...>, &strided_kernel<false, R, A...>, &strided_kernel<true, R, A...>};

/// Types of one class are the same to a kernel: they are loaded, passed, returned and stored alike.
/// 0: no kernel has it. A narrow integer is extended by its sign, and an object needs its
/// references counted.
constexpr unsigned kernel_class(PyNativeType type) {
  const unsigned size = static_cast<unsigned>(PyNativeType_Size(type));
  const PyNativeKind kind = PyNativeType_Kind(type);
  switch (kind) {
    case PyNativeKind_BOOL:
    case PyNativeKind_FLOATING:
      break;
    case PyNativeKind_SIGNED:
    case PyNativeKind_UNSIGNED:
    case PyNativeKind_POINTER:
    case PyNativeKind_STRING:
      // Where calls are checked against the prototype, it has to be the very one.
      if (TYPEDCALL_REGISTER_IMAGE && size >= sizeof(int)) {
        return size * 16 + PyNativeKind_SIGNED + 1;
      }
      break;
    case PyNativeKind_VOID:
    case PyNativeKind_COMPLEX:
    case PyNativeKind_OBJECT:
      return 0;
  }
  return TYPEDCALL_REGISTER_IMAGE ? size * 16 + static_cast<unsigned>(kind) + 1
                                  : 1024 + 2u * type.code + (type.is_pointer != 0 ? 1 : 0);
}

/// A set of kernels: every choice of `arity` of the argument types and one of the result types.
template <std::size_t arity, class Arguments, class Results>
struct kernel_set;

template <std::size_t arity, class... A, class... R>
struct kernel_set<arity, std::tuple<A...>, std::tuple<R...>> {
  /// The loops for these classes, or null.
  static const compiled_loops *find(unsigned result, const unsigned *arguments) {
    constexpr unsigned results[] = {kernel_class(native_type<R>())...};
    constexpr unsigned choices[] = {kernel_class(native_type<A>())...};
    std::size_t index = 0;
    if (!put_digit(results, result, &index)) return nullptr;
    for (std::size_t i = arity; i-- > 0;) {
      if (!put_digit(choices, arguments[i], &index)) return nullptr;
    }
    static constexpr auto table = make(std::make_index_sequence<sizeof...(R) * power(arity)>());
    return table[index];
  }

 private:
  // The first argument is the lowest digit of an index, the result the highest.
  template <std::size_t count>
  static bool put_digit(const unsigned (&choices)[count], unsigned wanted, std::size_t *index) {
    for (std::size_t digit = 0; digit < count; ++digit) {
      if (choices[digit] != wanted) continue;
      *index = *index * count + digit;
      return true;
    }
    return false;
  }

  static constexpr std::size_t power(std::size_t exponent) {
    return exponent == 0 ? 1 : sizeof...(A) * power(exponent - 1);
  }

  template <std::size_t index, std::size_t... at>
  static constexpr const compiled_loops *row(std::index_sequence<at...>) {
    return &loops_of<std::tuple_element_t<index / power(arity), std::tuple<R...>>,
                     std::tuple_element_t<index / power(at) % sizeof...(A), std::tuple<A...>>...>;
  }

  template <std::size_t... index>
  static constexpr std::array<const compiled_loops *, sizeof...(index)> make(
      std::index_sequence<index...>) {
    return {row<index>(std::make_index_sequence<arity>())...};
  }
};

template <class Arguments, class Results, std::size_t... arity>
const compiled_loops *find_in_sets(unsigned result, const unsigned *arguments, std::size_t count,
                                   std::index_sequence<arity...>) {
  const compiled_loops *found = nullptr;
  ((count == arity ? (found = kernel_set<arity, Arguments, Results>::find(result, arguments), 0)
                   : 0),
   ...);
  return found;
}

/// Sets with up to `most` arguments.
template <std::size_t most, class Arguments, class Results>
const compiled_loops *find_in_sets(unsigned result, const unsigned *arguments, std::size_t count) {
  return find_in_sets<Arguments, Results>(result, arguments, count,
                                          std::make_index_sequence<most + 1>());
}

/// The loops of one signature, if it has these classes, or null.
template <class R, class... A>
const compiled_loops *find_exactly(unsigned result, const unsigned *arguments, std::size_t count) {
  constexpr unsigned wanted[] = {kernel_class(native_type<A>())...};
  if (count != sizeof...(A) || result != kernel_class(native_type<R>())) return nullptr;
  return std::equal(arguments, arguments + count, wanted) ? &loops_of<R, A...> : nullptr;
}

inline constexpr std::size_t kernel_arguments = 4;

/// The loops for a signature of these classes, or null. The list is a choice between what C
/// libraries have and how long it takes to compile: mixes of the usual types, truth values as
/// results, narrow integers of one type.
inline const compiled_loops *find_compiled(unsigned result, const unsigned *arguments,
                                           std::size_t count) {
  if (count > kernel_arguments) return nullptr;
  const compiled_loops *found =
      find_exactly<double, double, long, double, long>(result, arguments, count);
  const auto look = [&](auto most, auto argument_types, auto result_types) {
    if (found != nullptr) return;
    found = find_in_sets<decltype(most)::value, decltype(argument_types), decltype(result_types)>(
        result, arguments, count);
  };
  using std::tuple;
  constexpr std::integral_constant<std::size_t, 2> two;
  constexpr std::integral_constant<std::size_t, 3> three;
  constexpr std::integral_constant<std::size_t, 4> four;
  look(three, tuple<double, long>(), tuple<double, long>());
  look(two, tuple<double, int>(), tuple<double, int>());
  look(two, tuple<float, int>(), tuple<float, int>());
  look(four, tuple<double>(), tuple<double>());
  look(four, tuple<long>(), tuple<long>());
  look(four, tuple<float>(), tuple<float>());
  look(four, tuple<int>(), tuple<int>());
  look(two, tuple<double>(), tuple<bool>());
  look(two, tuple<float>(), tuple<bool>());
  look(two, tuple<long>(), tuple<bool, int>());
  look(two, tuple<int>(), tuple<bool>());
  look(two, tuple<signed char>(), tuple<signed char>());
  look(two, tuple<unsigned char>(), tuple<unsigned char>());
  look(two, tuple<short>(), tuple<short>());
  look(two, tuple<unsigned short>(), tuple<unsigned short>());
  return found;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_LOOP_KERNELS_H_
