// Functions that copy rows, and compiled loops over contiguous rows for common signatures.
#ifndef TYPEDCALL_PYTHON_NUMPY_GUFUNC_KERNELS_H_
#define TYPEDCALL_PYTHON_NUMPY_GUFUNC_KERNELS_H_

#include "typedcall/loop.h"
// After Python.h.
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace typedcall::python {

/// Copies `count` elements of `size` bytes between rows with different steps.
inline void copy_row(char *to, std::intptr_t to_step, const char *from, std::intptr_t from_step,
                     std::intptr_t count, std::intptr_t size) {
  if (count <= 0) return;
  if (to_step == size && from_step == size) {
    std::memmove(to, from, static_cast<std::size_t>(count * size));
    return;
  }
  const auto copy = [&](auto bytes) {
    for (std::intptr_t i = 0; i < count; ++i) {
      std::memcpy(to + i * to_step, from + i * from_step, decltype(bytes)::value);
    }
  };
  switch (size) {
    case 1:
      return copy(std::integral_constant<std::size_t, 1>());
    case 2:
      return copy(std::integral_constant<std::size_t, 2>());
    case 4:
      return copy(std::integral_constant<std::size_t, 4>());
    case 8:
      return copy(std::integral_constant<std::size_t, 8>());
    case 16:
      return copy(std::integral_constant<std::size_t, 16>());
    default:
      for (std::intptr_t i = 0; i < count; ++i) {
        std::memcpy(to + i * to_step, from + i * from_step, static_cast<std::size_t>(size));
      }
  }
}

/// The indices of arrays and lengths, for a kernel's arguments.
struct row_order {
  int first, second, result;
  int first_length, second_length;
};

using row_kernel = void (*)(void *funcptr, char *const *args, const std::intptr_t *steps,
                            const std::intptr_t *lengths, const row_order &order,
                            std::intptr_t count);

enum class row_kernel_shape { row, two_rows, row_and_number };

namespace internal {

template <class R, row_kernel_shape shape>
TYPEDCALL_OTHER_PROTOTYPE void run_rows(void *funcptr, char *const *args,
                                        const std::intptr_t *steps, const std::intptr_t *lengths,
                                        const row_order &order, std::intptr_t count) {
  const char *first = args[order.first];
  const std::intptr_t by_first = steps[order.first], length = lengths[order.first_length];
  char *to = args[order.result];
  const std::intptr_t by = steps[order.result];
  if constexpr (shape == row_kernel_shape::row) {
    const auto call = reinterpret_cast<R (*)(const void *, std::intptr_t)>(funcptr);
    for (; count > 0; --count, to += by, first += by_first) {
      const R result = call(first, length);
      std::memcpy(to, &result, sizeof(result));
    }
  } else {
    const char *second = args[order.second];
    const std::intptr_t by_second = steps[order.second];
    for (; count > 0; --count, to += by, first += by_first, second += by_second) {
      R result;
      if constexpr (shape == row_kernel_shape::two_rows) {
        const auto call =
            reinterpret_cast<R (*)(const void *, std::intptr_t, const void *, std::intptr_t)>(
                funcptr);
        result = call(first, length, second, lengths[order.second_length]);
      } else {
        const auto call = reinterpret_cast<R (*)(const void *, std::intptr_t, double)>(funcptr);
        result = call(first, length, typedcall::internal::load_as<double>(second));
      }
      std::memcpy(to, &result, sizeof(result));
    }
  }
}

template <class R>
row_kernel kernel_of(row_kernel_shape shape) {
  switch (shape) {
    case row_kernel_shape::row:
      return &run_rows<R, row_kernel_shape::row>;
    case row_kernel_shape::two_rows:
      return &run_rows<R, row_kernel_shape::two_rows>;
    case row_kernel_shape::row_and_number:
      break;
  }
  return &run_rows<R, row_kernel_shape::row_and_number>;
}

}  // namespace internal

/// Returns the compiled loop for these kinds of arguments and this result, or null.
inline row_kernel find_row_kernel(row_kernel_shape shape, PyNativeType result) {
  if (!TYPEDCALL_REGISTER_IMAGE) return nullptr;  // this build may check the prototypes of calls
  using typedcall::internal::kernel_class, typedcall::internal::kernel_class_of;
  const unsigned wanted = kernel_class(result);
  if (wanted == kernel_class_of<double>) return internal::kernel_of<double>(shape);
  if (wanted == kernel_class_of<float>) return internal::kernel_of<float>(shape);
  if (wanted == kernel_class_of<long>) return internal::kernel_of<long>(shape);
  if (wanted == kernel_class_of<int>) return internal::kernel_of<int>(shape);
  return nullptr;
}

}  // namespace typedcall::python

#endif  // TYPEDCALL_PYTHON_NUMPY_GUFUNC_KERNELS_H_
