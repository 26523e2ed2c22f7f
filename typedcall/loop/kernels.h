// Inner loops compiled for their types, for the most common signatures: dispatch happens outside,
// and the loop is what one would write by hand. Used by typedcall/loop.h.
#ifndef TYPEDCALL_LOOP_KERNELS_H_
#define TYPEDCALL_LOOP_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "typedcall/base/error_value.h"
#include "typedcall/base/namespace.h"
#include "typedcall/base/signature_of.h"
#include "typedcall/invoke/register_image.h"
#include "typedcall/native_callable.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Calls `funcptr` for `count` elements. Returns how many were done: fewer if the next one raised
/// an exception.
using kernel = std::intptr_t (*)(void *funcptr, char *const *args, const std::intptr_t *steps,
                                 std::intptr_t count);

/// The loops of one signature: for contiguous arrays, for any strides, and for any strides with a
/// check for errors. Each is small, but a program that includes this compiles all of them.
struct compiled_loops {
  kernel contiguous, strided, checked;
};

/// Uses memcpy because neither the alignment nor the type of the element is certain; it compiles to
/// one load.
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

/// The loops of one signature; `At` counts its arguments.
template <class At, class R, class... A>
struct kernels_of;
template <std::size_t... at, class R, class... A>
struct kernels_of<std::index_sequence<at...>, R, A...> {
  using function = R (*)(A...);

  /// `args` and `steps` list the arrays of the arguments, then that of the result. A result is
  /// stored before the next element is read, so outputs may overlap inputs. The index runs from
  /// -count to 0, so that one register is both index and counter; few registers survive a call.
  TYPEDCALL_OTHER_PROTOTYPE static std::intptr_t contiguous(void *funcptr, char *const *args,
                                                            const std::intptr_t *,
                                                            std::intptr_t count) {
    const auto call = reinterpret_cast<function>(funcptr);
    [[maybe_unused]] const char *const ends[] = {(args[at] + count * std::intptr_t{sizeof(A)})...,
                                                 nullptr};
    char *const end = args[sizeof...(A)] + count * std::intptr_t{sizeof(R)};
    for (std::intptr_t i = -count; i != 0; ++i) {
      const R result = call(load_as<A>(ends[at] + i * std::intptr_t{sizeof(A)})...);
      std::memcpy(end + i * std::intptr_t{sizeof(R)}, &result, sizeof(R));
    }
    return count;
  }

  /// The same, but each array has its own stride. Two arrays already fill the registers that
  /// survive a call, so the loop counts down, and advances the pointers before the call. `checked`:
  /// R has an error value.
  template <bool checked>
  TYPEDCALL_OTHER_PROTOTYPE static std::intptr_t strided(void *funcptr, char *const *args,
                                                         const std::intptr_t *steps,
                                                         std::intptr_t count) {
    const auto call = reinterpret_cast<function>(funcptr);
    [[maybe_unused]] const char *from[] = {args[at]..., nullptr};
    [[maybe_unused]] const std::intptr_t by[] = {steps[at]..., 0};
    char *to = args[sizeof...(A)];
    const std::intptr_t by_result = steps[sizeof...(A)];
    for (std::intptr_t left = count; left > 0; --left, to += by_result) {
      const R result = step_and_call(call, from, by, load_as<A>(from[at])...);
      if constexpr (checked) {
        if (TYPEDCALL_EXPECT(is_error_value(result), 0) && PyErr_Occurred()) return count - left;
      }
      std::memcpy(to, &result, sizeof(R));
    }
    return count;
  }

 private:
  TYPEDCALL_IN_LINE TYPEDCALL_OTHER_PROTOTYPE static R step_and_call(
      function call, [[maybe_unused]] const char **from, [[maybe_unused]] const std::intptr_t *by,
      A... elements) {
    ((from[at] += by[at]), ...);
    return call(elements...);
  }
};

template <class R, class... A>
inline constexpr compiled_loops loops_of = {
    &kernels_of<std::index_sequence_for<A...>, R, A...>::contiguous,
    &kernels_of<std::index_sequence_for<A...>, R, A...>::template strided<false>,
    &kernels_of<std::index_sequence_for<A...>, R, A...>::template strided<has_error_value<R>>};

/// Returns the class of a type. Kernels treat all types of one class alike: they are loaded,
/// passed, returned and stored in the same way. 0 means that no kernel takes the type. A narrow
/// integer is extended by its sign, and an object needs reference counting.
constexpr unsigned kernel_class(PyNativeType type) {
  const unsigned size = static_cast<unsigned>(PyNativeType_Size(type));
  const PyNativeKind kind = PyNativeType_Kind(type);
  switch (kind == PyNativeKind_OBJECT ? PyNativePassed_NOTHING : PyNativeType_Passed(type)) {
    case PyNativePassed_FLOATING:
      break;
    case PyNativePassed_SIGNED:
    case PyNativePassed_UNSIGNED:
    case PyNativePassed_ADDRESS:
      // Where calls are checked against the prototype, the types must match exactly.
      if (TYPEDCALL_REGISTER_IMAGE && size >= sizeof(int)) {
        return size * 16 + PyNativeKind_SIGNED + 1;
      }
      break;
    case PyNativePassed_NOTHING:
    case PyNativePassed_COMPLEX:
      return 0;
  }
  return TYPEDCALL_REGISTER_IMAGE ? size * 16 + static_cast<unsigned>(kind) + 1
                                  : 1024 + 2u * type.code + (type.is_pointer != 0 ? 1 : 0);
}

template <class T>
inline constexpr unsigned kernel_class_of = kernel_class(native_type<T>());

/// Not std::tuple, which the compiler would have to instantiate.
template <class... T>
struct types {};

/// Finds the loops for `Signature` (result first) and `left` more arguments, each from `Arguments`,
/// by their classes.
template <std::size_t left, class Arguments, class... Signature>
struct chosen;
template <std::size_t left, class... A, class... Signature>
struct chosen<left, types<A...>, Signature...> {
  static const compiled_loops *find([[maybe_unused]] const unsigned *next) {
    if constexpr (left == 0) {
      return &loops_of<Signature...>;
    } else {
      const compiled_loops *found = nullptr;
      static_cast<void>(
          ((*next == kernel_class_of<A> &&
            (found = chosen<left - 1, types<A...>, Signature..., A>::find(next + 1), true)) ||
           ...));
      return found;
    }
  }
};

/// A set of kernels: every combination of the argument types, with `Counts` arguments, and one of
/// the result types.
template <class Arguments, class Results, class Counts>
struct kernel_set;
template <class Arguments, class... R, std::size_t... arity>
struct kernel_set<Arguments, types<R...>, std::index_sequence<arity...>> {
  static const compiled_loops *find(unsigned result, const unsigned *arguments, std::size_t count) {
    const compiled_loops *found = nullptr;
    static_cast<void>(
        ((result == kernel_class_of<R> && (found = find_for<R>(arguments, count), true)) || ...));
    return found;
  }

 private:
  template <class Result>
  static const compiled_loops *find_for(const unsigned *arguments, std::size_t count) {
    const compiled_loops *found = nullptr;
    const bool is_one =
        ((count == arity && (found = chosen<arity, Arguments, Result>::find(arguments), true)) ||
         ...);
    return is_one ? found : nullptr;
  }
};

/// Returns the loops of this one signature if it has these classes, else null.
template <class R, class... A>
const compiled_loops *find_exactly(unsigned result, const unsigned *arguments, std::size_t count) {
  if (count != sizeof...(A) || result != kernel_class_of<R>) return nullptr;
  return ((*arguments++ == kernel_class_of<A>)&&...) ? &loops_of<R, A...> : nullptr;
}

inline constexpr std::size_t kernel_arguments = 4;

/// Returns the loops for a signature of these classes, or null. The list weighs the signatures
/// common in C libraries against compile time: mixes of the usual types, truth values as results,
/// narrow integers of one type.
inline const compiled_loops *find_compiled(unsigned result, const unsigned *arguments,
                                           std::size_t count) {
  if (count > kernel_arguments) return nullptr;
  using finder = const compiled_loops *(*)(unsigned, const unsigned *, std::size_t);
  using up_to_two = std::make_index_sequence<3>;
  using up_to_three = std::make_index_sequence<4>;
  using up_to_four = std::make_index_sequence<5>;
  static constexpr finder sets[] = {
      &find_exactly<double, double, long, double, long>,
      &kernel_set<types<double, long>, types<double, long>, up_to_three>::find,
      &kernel_set<types<double, int>, types<double, int>, up_to_two>::find,
      &kernel_set<types<float, int>, types<float, int>, up_to_two>::find,
      &kernel_set<types<double>, types<double>, up_to_four>::find,
      &kernel_set<types<long>, types<long>, up_to_four>::find,
      &kernel_set<types<float>, types<float>, up_to_four>::find,
      &kernel_set<types<int>, types<int>, up_to_four>::find,
      &kernel_set<types<double>, types<bool>, up_to_two>::find,
      &kernel_set<types<float>, types<bool>, up_to_two>::find,
      &kernel_set<types<long>, types<bool, int>, up_to_two>::find,
      &kernel_set<types<int>, types<bool>, up_to_two>::find,
      &kernel_set<types<signed char>, types<signed char>, up_to_two>::find,
      &kernel_set<types<unsigned char>, types<unsigned char>, up_to_two>::find,
      &kernel_set<types<short>, types<short>, up_to_two>::find,
      &kernel_set<types<unsigned short>, types<unsigned short>, up_to_two>::find,
  };
  for (const finder find : sets) {
    if (const compiled_loops *found = find(result, arguments, count)) return found;
  }
  return nullptr;
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_LOOP_KERNELS_H_
