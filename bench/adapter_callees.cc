// The functions that the benchmarks of the package's adapters call: tagged functions, and
// hand-written ufunc loops.
#include "typedcall/provider.h"

// After Python.h.
#include <cmath>
#include <optional>

extern "C" __attribute__((visibility("default"), noinline)) double bench_step(double x) noexcept {
  return x * 0.999 + 0.001;
}
extern "C" __attribute__((visibility("default"), noinline)) double bench_curve(double x) noexcept {
  return x * x / 2 + 1 / (1 + x * x);
}

// Both functions do the same as SQLite's abs() for a REAL. The second one is not declared
// thread-safe.
static double absolute(double x) noexcept { return x < 0 ? -x : x; }
static double absolute_with_gil(double x) noexcept { return x < 0 ? -x : x; }

// The same function without and with a check of its argument.
static double bare_part(double x) noexcept { return 1 / (1 + x); }
static std::optional<double> checked_part(double x) noexcept {
  if (x < 0) return std::nullopt;
  return 1 / (1 + x);
}

// A hand-written ufunc loop for `bench_curve`.
extern "C" __attribute__((visibility("default"))) void bench_loop_by_hand(
    char **args, const std::intptr_t *dimensions, const std::intptr_t *steps, void *) {
  char *from = args[0], *to = args[1];
  const std::intptr_t by_from = steps[0], by_to = steps[1];
  for (std::intptr_t i = 0; i < dimensions[0]; ++i, from += by_from, to += by_to) {
    *reinterpret_cast<double *>(to) = bench_curve(*reinterpret_cast<double *>(from));
  }
}

extern "C" __attribute__((visibility("default"), noinline)) double bench_norm(
    const double *x, Py_ssize_t n) noexcept {
  double sum = 0;
  for (Py_ssize_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

// A hand-written loop of a generalised ufunc, (n)->(). It supports only contiguous rows.
extern "C" __attribute__((visibility("default"))) void bench_rows_by_hand(
    char **args, const std::intptr_t *dimensions, const std::intptr_t *steps, void *) {
  char *from = args[0], *to = args[1];
  const std::intptr_t by_from = steps[0], by_to = steps[1], length = dimensions[1];
  if (length > 1 && steps[2] != std::intptr_t{sizeof(double)}) return;
  for (std::intptr_t i = 0; i < dimensions[0]; ++i, from += by_from, to += by_to) {
    *reinterpret_cast<double *>(to) = bench_norm(reinterpret_cast<double *>(from), length);
  }
}

static typedcall::method_table methods{
    typedcall::def<bench_step>("step", typedcall::pure | typedcall::thread_safe),
    typedcall::def<absolute>("absolute", typedcall::pure | typedcall::thread_safe),
    typedcall::def<absolute_with_gil>("absolute_with_gil"),
    typedcall::def<bare_part>("bare_part", typedcall::thread_safe),
    typedcall::def<checked_part>("checked_part", typedcall::thread_safe),
    typedcall::def<bench_curve>("curve", typedcall::pure | typedcall::thread_safe)};
TYPEDCALL_MODULE(adapter_callees, "Tagged functions to measure.", methods);
