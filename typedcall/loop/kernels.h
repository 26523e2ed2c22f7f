// Inner loops that are compiled for the most common signatures. Used by typedcall/loop.h.
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
#include "typedcall/invoke/native_value.h"
#include "typedcall/invoke/register_image.h"
#include "typedcall/native_callable.h"

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

/// Calls `funcptr` for `count` elements. Returns the number of calls before the first one that
/// raised an exception, or `count`.
using kernel = std::intptr_t (*)(void *funcptr, char *const *args, const std::intptr_t *steps,
                                 std::intptr_t count);

/// The loops for one signature. `checked` is like `strided`, but also checks for exceptions.
struct compiled_loops {
  kernel contiguous, strided, checked;
};

/// `At` is the index sequence of the arguments.
template <class At, class R, class... A>
struct kernels_of;
template <std::size_t... at, class R, class... A>
struct kernels_of<std::index_sequence<at...>, R, A...> {
  using function = R (*)(A...);

  /// `args` lists the arrays of the arguments and then the array of the result. Each result is
  /// stored before the next element is read, so the output may overlap inputs. The index runs from
  /// -count to 0, so that one register is both index and counter.
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

  /// Like contiguous(), but each array has its own stride in `steps`. The pointers are advanced
  /// before the call because few registers survive a call. If `checked` is true, R must have an
  /// error value.
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

/// Returns the class of a type, or 0 if no kernel handles the type. Kernels handle all types of one
/// class in the same way. Narrow integers have a class for each sign, because signed and unsigned
/// ones are extended differently. Objects have no class because they need reference counting.
constexpr unsigned kernel_class(PyNativeType type) {
  const unsigned size = static_cast<unsigned>(PyNativeType_Size(type));
  const PyNativeKind kind = PyNativeType_Kind(type);
  switch (kind == PyNativeKind_OBJECT ? PyNativePassing_VOID : PyNativeType_Passing(type)) {
    case PyNativePassing_FLOATING:
      break;
    case PyNativePassing_SIGNED:
    case PyNativePassing_UNSIGNED:
    case PyNativePassing_ADDRESS:
      // If indirect calls are checked, the types must match exactly.
      if (TYPEDCALL_REGISTER_IMAGE && size >= sizeof(int)) {
        return size * 16 + PyNativeKind_SIGNED + 1;
      }
      break;
    case PyNativePassing_VOID:
    case PyNativePassing_COMPLEX:
      return 0;
  }
  return TYPEDCALL_REGISTER_IMAGE ? size * 16 + static_cast<unsigned>(kind) + 1
                                  : 1024 + 2u * type.code + (type.pointer_flags != 0 ? 1 : 0);
}

template <class T>
inline constexpr unsigned kernel_class_of = kernel_class(native_type<T>());

/// A type list that is cheaper to compile than std::tuple.
template <class... T>
struct types {};

/// Finds the loops for a signature that begins with `Signature` (result first) and has `left` more
/// arguments. Their types are chosen from `Arguments` by class.
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

/// A set of kernels for all combinations of argument types, result types and numbers of arguments.
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

/// Returns the loops for the signature R(A...) if it has these classes. Otherwise, returns null.
template <class R, class... A>
const compiled_loops *find_exactly(unsigned result, const unsigned *arguments, std::size_t count) {
  if (count != sizeof...(A) || result != kernel_class_of<R>) return nullptr;
  return ((*arguments++ == kernel_class_of<A>)&&...) ? &loops_of<R, A...> : nullptr;
}

inline constexpr std::size_t kernel_arguments = 4;

/// Returns the loops for a signature with these classes, or null. To limit compile time, the list
/// contains only signatures that are common in C libraries.
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
