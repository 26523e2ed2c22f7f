// Calls functions whose signature is known only at run time, without libffi. Calling conventions
// assign registers by class, so a few prototypes serve all signatures of scalars. Source: System V
// AMD64 ABI, 3.2.3; AAPCS64, 6.8.2. See README.md here.
#ifndef TYPEDCALL_INVOKE_REGISTER_IMAGE_H_
#define TYPEDCALL_INVOKE_REGISTER_IMAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "typedcall/base/namespace.h"
#include "typedcall/invoke/native_value.h"
#include "typedcall/signature.h"

// Register images need one of these calling conventions. They cannot be used if indirect calls are
// checked, because the prototypes differ.
#if defined(__LP64__) && (defined(__x86_64__) || (defined(__aarch64__) && !defined(__APPLE__)))
#define TYPEDCALL_REGISTER_IMAGE 1
#else
#define TYPEDCALL_REGISTER_IMAGE 0
#endif
#if defined(__has_feature)
#if __has_feature(cfi_icall) || __has_feature(kcfi)
#undef TYPEDCALL_REGISTER_IMAGE
#define TYPEDCALL_REGISTER_IMAGE 0
#endif
#endif

// Clang's -fsanitize=function reports calls through a different prototype.
#ifdef __clang__
#define TYPEDCALL_OTHER_PROTOTYPE __attribute__((no_sanitize("function")))
#else
#define TYPEDCALL_OTHER_PROTOTYPE
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {
namespace internal {

enum class register_class : std::uint8_t { integer, floating, none };

/// Returns the class of the register for this type, or `none` if only libffi can pass the type.
inline register_class register_class_of(PyNativeType type) {
  switch (PyNativeType_Passing(type)) {
    case PyNativePassing_SIGNED:
    case PyNativePassing_UNSIGNED:
    case PyNativePassing_ADDRESS:
      return register_class::integer;
    case PyNativePassing_FLOATING:
      return is_wide(type) ? register_class::none : register_class::floating;
    case PyNativePassing_VOID:
    case PyNativePassing_COMPLEX:
      break;
  }
  return register_class::none;
}

#if defined(__aarch64__)
inline constexpr int integer_registers = 8;
#else
inline constexpr int integer_registers = 6;
#endif
inline constexpr int floating_registers = 8;

// A float is passed in the low half of a register, so it can be passed as a double.
inline double floating(native_value value) { return value.get<double>(); }

inline native_value as_value(std::uint64_t result) { return {result}; }
inline native_value as_value(double result) { return native_value::of(result); }

// --- Trampolines, for up to four arguments -------------------------------------------------------

inline constexpr unsigned trampoline_arguments = 4;
/// A shape is a 1 followed by one bit for each argument, with the first argument in the lowest bit.
/// A set bit means a floating-point argument.
inline constexpr unsigned trampoline_shapes = 2u << trampoline_arguments;

using trampoline = native_value (*)(void *funcptr, const native_value *arguments);

template <bool is_floating>
auto load(native_value value) {
  if constexpr (is_floating) {
    return floating(value);
  } else {
    return value.bits;
  }
}

template <class Result, unsigned shape, std::size_t... at>
TYPEDCALL_OTHER_PROTOTYPE native_value call_shape(void *funcptr, const native_value *arguments,
                                                  std::index_sequence<at...>) {
  using function = Result (*)(decltype(load<((shape >> at) & 1) != 0>(arguments[at]))...);
  return as_value(
      reinterpret_cast<function>(funcptr)(load<((shape >> at) & 1) != 0>(arguments[at])...));
}

constexpr std::size_t arguments_of(unsigned shape) {
  std::size_t count = 0;
  for (; shape > 1; shape >>= 1) ++count;
  return count;
}

template <class Result, unsigned shape>
native_value trampoline_of(void *funcptr, const native_value *arguments) {
  return call_shape<Result, shape>(funcptr, arguments,
                                   std::make_index_sequence<arguments_of(shape)>());
}

template <class Result, std::size_t... shape>
constexpr std::array<trampoline, sizeof...(shape)> trampoline_table(std::index_sequence<shape...>) {
  return {(shape == 0 ? nullptr : &trampoline_of < Result, shape == 0 ? 1 : shape >)...};
}

/// Returns the trampoline for a signature with these classes, or null if there are too many
/// arguments.
inline trampoline find_trampoline(register_class result, const register_class *arguments,
                                  std::size_t count) {
  static constexpr auto integer =
      trampoline_table<std::uint64_t>(std::make_index_sequence<trampoline_shapes>());
  static constexpr auto floating =
      trampoline_table<double>(std::make_index_sequence<trampoline_shapes>());
  if (count > trampoline_arguments) return nullptr;
  unsigned shape = 1u << count;
  for (std::size_t i = 0; i < count; ++i) {
    if (arguments[i] == register_class::floating) shape |= 1u << i;
  }
  return result == register_class::floating ? floating[shape] : integer[shape];
}

// --- Images, for any number of arguments ---------------------------------------------------------

inline constexpr int image_registers = integer_registers + floating_registers;
inline constexpr std::size_t most_arguments = PyNativeSignature_MAX_ARGS + 1;  // and self
inline constexpr std::size_t most_words = most_arguments - integer_registers;

/// The index of each argument in an image. An image has integer registers first, then
/// floating-point registers, then stack words. Each scalar takes eight bytes on the stack.
struct image_plan {
  std::array<std::uint8_t, most_arguments> where = {};
  std::uint8_t count = 0;
  std::uint8_t floating_count = 0;
  std::uint8_t stack_count = 0;
  register_class result = register_class::integer;
};

/// Returns the plan for a signature of scalars. Arguments that do not fit in registers go on the
/// stack.
inline image_plan plan_image(register_class result, const register_class *arguments,
                             std::size_t count) {
  image_plan plan;
  int integers = 0, floatings = 0, words = 0;
  for (std::size_t i = 0; i < count; ++i) {
    int place;
    if (arguments[i] == register_class::floating && floatings < floating_registers) {
      place = integer_registers + floatings++;
    } else if (arguments[i] == register_class::integer && integers < integer_registers) {
      place = integers++;
    } else {
      place = image_registers + words++;
    }
    plan.where[i] = static_cast<std::uint8_t>(place);
  }
  plan.count = static_cast<std::uint8_t>(count);
  plan.floating_count = static_cast<std::uint8_t>(floatings);
  plan.stack_count = static_cast<std::uint8_t>(words);
  plan.result = result;
  return plan;
}

template <std::size_t>
using word = std::uint64_t;
template <std::size_t>
using real = double;

template <class Result, std::size_t... i, std::size_t... f, std::size_t... s>
TYPEDCALL_OTHER_PROTOTYPE native_value call_image(void *funcptr, const native_value *image,
                                                  std::index_sequence<i...>,
                                                  std::index_sequence<f...>,
                                                  std::index_sequence<s...>) {
  using function = Result (*)(word<i>..., real<f>..., word<s>...);
  return as_value(reinterpret_cast<function>(funcptr)(image[i].bits...,
                                                      floating(image[integer_registers + f])...,
                                                      image[image_registers + s].bits...));
}

#if defined(__x86_64__)
/// For `most_words` words, passing one struct makes smaller code. The struct is copied to the
/// stack, where the callee expects the words. AArch64 would pass the address of the struct.
struct stack_words {
  native_value words[most_words];
};
static_assert(std::is_trivially_copyable_v<stack_words>, "other types are passed by address");

template <class Result, std::size_t... i, std::size_t... f>
TYPEDCALL_OTHER_PROTOTYPE native_value call_image(void *funcptr, const native_value *image,
                                                  std::index_sequence<i...>,
                                                  std::index_sequence<f...>,
                                                  std::make_index_sequence<most_words>) {
  using function = Result (*)(word<i>..., real<f>..., stack_words);
  return as_value(reinterpret_cast<function>(funcptr)(
      image[i].bits..., floating(image[integer_registers + f])...,
      *reinterpret_cast<const stack_words *>(image + image_registers)));
}
#endif

/// Makes a call with an image. Registers and words that the callee does not read may hold anything.
/// Not inlined, because the frame of a call with few words would be as large as that of the others.
template <class Result, std::size_t floatings, std::size_t words>
TYPEDCALL_OUT_OF_LINE native_value fill_image(const image_plan &plan, void *funcptr,
                                              const native_value *arguments) {
  native_value image[image_registers + words] = {};
  for (std::size_t i = 0; i < plan.count; ++i) image[plan.where[i]] = arguments[i];
  return call_image<Result>(funcptr, image, std::make_index_sequence<integer_registers>(),
                            std::make_index_sequence<floatings>(),
                            std::make_index_sequence<words>());
}

template <class Result>
native_value run_image_for(const image_plan &plan, void *funcptr, const native_value *arguments) {
  constexpr std::size_t all = floating_registers;
  if (plan.stack_count == 0) {
    if (plan.floating_count == 0) return fill_image<Result, 0, 0>(plan, funcptr, arguments);
    if (plan.floating_count <= 4) return fill_image<Result, 4, 0>(plan, funcptr, arguments);
    return fill_image<Result, all, 0>(plan, funcptr, arguments);
  }
  // The compiler puts words on the stack only if all registers are full.
  if (plan.stack_count <= 4) return fill_image<Result, all, 4>(plan, funcptr, arguments);
  if (plan.stack_count <= 16) return fill_image<Result, all, 16>(plan, funcptr, arguments);
  return fill_image<Result, all, most_words>(plan, funcptr, arguments);
}

inline native_value run_image(const image_plan &plan, void *funcptr,
                              const native_value *arguments) {
  return plan.result == register_class::floating
             ? run_image_for<double>(plan, funcptr, arguments)
             : run_image_for<std::uint64_t>(plan, funcptr, arguments);
}

}  // namespace internal
}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_INVOKE_REGISTER_IMAGE_H_
