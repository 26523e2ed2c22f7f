// Measures loops over arrays: hand-written loops, typedcall::loop, and loops that call a Python
// callable.
#include <Python.h>
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/embedded_main.h"
#include "bench/loop_callees.h"
#include "bench/opaque.h"
#include "typedcall/boxed_call.h"
#include "typedcall/loop.h"
#include "typedcall/provider.h"

static typedcall::method_table methods{
    typedcall::def<bench::twice>("d_d", typedcall::thread_safe | typedcall::pure),
    typedcall::def<bench::plus>("dd_d", typedcall::thread_safe | typedcall::pure),
    typedcall::def<bench::next>("l_l", typedcall::thread_safe | typedcall::pure),
    typedcall::def<bench::half>("f_f", typedcall::thread_safe | typedcall::pure),
    typedcall::def<bench::mixed>("dldl_d", typedcall::thread_safe | typedcall::pure),
    typedcall::def<bench::integrand>("integrand", typedcall::thread_safe | typedcall::pure)};
TYPEDCALL_MODULE(bench_loop_callees, "The callees, tagged.", methods);

namespace {

using typedcall::loop;
using typedcall::loop_kernel;
using typedcall::object_ref;

constexpr std::intptr_t kMillion = 1000000;
constexpr std::intptr_t kCached = 500;  // fits into the L1 cache

object_ref callee(const char *name) {
  const auto module = object_ref::steal(PyImport_ImportModule("bench_loop_callees"));
  return object_ref::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
}

std::optional<loop> resolved_loop(const char *name, const char *signature,
                                  std::optional<loop_kernel> asked) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  const object_ref callable = callee(name);
  if (interface == nullptr || !callable) return std::nullopt;
  auto found =
      typedcall::resolve(interface, callable.get(), signature, typedcall::loop_capabilities);
  typedcall::loop_options options;
  options.kernel = asked;
  return found ? loop::make(std::move(*found), std::move(options)) : std::nullopt;
}

/// Returns `size` numbers that are `step` elements apart.
template <class T>
std::vector<T> numbers(std::intptr_t size, std::intptr_t step) {
  std::vector<T> made(static_cast<std::size_t>(size * step));
  T next = 1234567;
  for (T &value : made) value = next++;
  return made;
}

// --- Hand-written loops, not inlined, because surrounding code would change them -----------------

template <class R, class... A>
__attribute__((noinline)) void by_hand(R (*function)(A...), std::intptr_t count, R *results,
                                       const A *...inputs) {
  for (std::intptr_t i = 0; i < count; ++i) results[i] = function(inputs[i]...);
}

template <class R, class... A>
__attribute__((noinline)) void by_hand_strided(R (*function)(A...), std::intptr_t count,
                                               char *const *args, const std::intptr_t *steps) {
  if constexpr (sizeof...(A) == 1) {
    const char *x = args[0];
    char *result = args[1];
    const std::intptr_t step_x = steps[0], step_result = steps[1];
    for (std::intptr_t i = 0; i < count; ++i, x += step_x, result += step_result) {
      *reinterpret_cast<R *>(result) = function(*reinterpret_cast<const A *>(x)...);
    }
  } else {
    const char *x = args[0], *y = args[1];
    char *result = args[2];
    const std::intptr_t step_x = steps[0], step_y = steps[1], step_result = steps[2];
    for (std::intptr_t i = 0; i < count; ++i, x += step_x, y += step_y, result += step_result) {
      *reinterpret_cast<R *>(result) =
          function(*reinterpret_cast<const double *>(x), *reinterpret_cast<const double *>(y));
    }
  }
}

// --- Python callables, called as fast as possible ------------------------------------------------

PyObject *box(double value) { return PyFloat_FromDouble(value); }
PyObject *box(float value) { return PyFloat_FromDouble(static_cast<double>(value)); }
PyObject *box(long value) { return PyLong_FromLong(value); }
bool unbox(PyObject *object, double *value) {
  *value = PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : PyFloat_AsDouble(object);
  return true;
}
bool unbox(PyObject *object, float *value) {
  double wide;
  unbox(object, &wide);
  *value = static_cast<float>(wide);
  return true;
}
bool unbox(PyObject *object, long *value) {
  *value = PyLong_AsLong(object);
  return *value != -1 || !PyErr_Occurred();
}

/// Calls a vectorcall function that was looked up once.
template <class R, class... A>
bool call_boxed(vectorcallfunc function, PyObject *callable, R *result, A... arguments) {
  PyObject *stack[sizeof...(A) + 1] = {nullptr, box(arguments)...};
  PyObject *const returned =
      function(callable, stack + 1, sizeof...(A) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  for (PyObject *argument : stack) Py_XDECREF(argument);
  const bool done = returned != nullptr && unbox(returned, result);
  Py_XDECREF(returned);
  return done;
}

template <class R, class... A>
__attribute__((noinline)) bool by_vectorcall(PyObject *callable, std::intptr_t count, R *results,
                                             const A *...inputs) {
  const vectorcallfunc function = PyVectorcall_Function(callable);
  if (function == nullptr) return false;
  for (std::intptr_t i = 0; i < count; ++i) {
    if (!call_boxed(function, callable, &results[i], inputs[i]...)) return false;
  }
  return true;
}

template <class R, class... A>
__attribute__((noinline)) bool by_boxed_call(PyObject *callable, std::intptr_t count, R *results,
                                             const A *...inputs) {
  for (std::intptr_t i = 0; i < count; ++i) {
    if (!typedcall::boxed_call(callable, &results[i], inputs[i]...)) return false;
  }
  return true;
}

// --- Maps ----------------------------------------------------------------------------------------

enum class what { all, unboxed };

template <class R, class... A>
void add_maps(const std::string &group, const char *name, R (*address)(A...), std::intptr_t count,
              what loops) {
  const std::string prefix = "loops/" + group + "_" + name + "/";
  const auto inputs = std::make_shared<std::tuple<std::vector<A>...>>(numbers<A>(count, 1)...);
  const auto results = std::make_shared<std::vector<R>>(static_cast<std::size_t>(count));
  const auto with_inputs = [=](auto &&body) {
    return std::apply([&](auto &...vectors) { return body(vectors.data()...); }, *inputs);
  };

  bench::add(prefix + "pointer", [=](benchmark::State &state) {
    R (*pointer)(A...) = address;
    for (auto _ : state) {
      bench::hide(pointer);
      with_inputs([&](A *...x) { by_hand<R, A...>(pointer, count, results->data(), x...); });
    }
  });

  const auto add_loop = [=](const char *label, std::optional<loop_kernel> asked) {
    bench::add(prefix + label, [=](benchmark::State &state) {
      const auto made = resolved_loop(name, typedcall::signature_of<R(A...)>::text, asked);
      if (!made) return bench::fail(state);
      const std::intptr_t steps[] = {sizeof(A)..., sizeof(R)};
      with_inputs([&](A *...x) {
        char *const args[] = {reinterpret_cast<char *>(x)...,
                              reinterpret_cast<char *>(results->data())};
        for (auto _ : state) {
          if (made->run(args, &count, steps) < 0) return bench::fail(state);
        }
      });
    });
  };
  add_loop("loop", loop_kernel::compiled);
  add_loop("invoker", loop_kernel::invoker);
  if (loops == what::unboxed) return;

  const auto add_boxed = [=](const char *label, auto function) {
    bench::add(prefix + label, [=](benchmark::State &state) {
      const object_ref callable = callee(name);
      if (!callable) return bench::fail(state);
      for (auto _ : state) {
        if (!with_inputs(
                [&](A *...x) { return function(callable.get(), count, results->data(), x...); })) {
          return bench::fail(state);
        }
      }
    });
  };
  add_boxed("vectorcall", &by_vectorcall<R, A...>);
  add_boxed("boxed_call", &by_boxed_call<R, A...>);
}

/// Adds benchmarks with strided arrays: their numbers are 3 elements apart.
template <class R, class... A>
void add_strided(const char *name, R (*address)(A...)) {
  constexpr std::intptr_t apart = 3;
  const std::string prefix = std::string("loops/strided_") + name + "/";
  using arrays = std::tuple<std::vector<A>..., std::vector<R>>;
  const auto memory =
      std::make_shared<arrays>(numbers<A>(kCached, apart)..., numbers<R>(kCached, apart));
  const auto args = std::apply(
      [](auto &...vectors) {
        return std::vector<char *>{reinterpret_cast<char *>(vectors.data())...};
      },
      *memory);
  const std::vector<std::intptr_t> steps = {apart * std::intptr_t{sizeof(A)}...,
                                            apart * std::intptr_t{sizeof(R)}};

  bench::add(prefix + "pointer", [=](benchmark::State &state) {
    R (*pointer)(A...) = address;
    (void)memory;
    for (auto _ : state) {
      bench::hide(pointer);
      by_hand_strided<R, A...>(pointer, kCached, args.data(), steps.data());
    }
  });

  bench::add(prefix + "loop", [=](benchmark::State &state) {
    const auto made = resolved_loop(name, typedcall::signature_of<R(A...)>::text, std::nullopt);
    if (!made) return bench::fail(state);
    for (auto _ : state) {
      if (made->run(args.data(), &kCached, steps.data()) < 0) return bench::fail(state);
    }
  });
}

// --- Integration ---------------------------------------------------------------------------------

constexpr double kStep = 1.0 / kMillion;

template <class Function>
__attribute__((noinline)) double integrate(const Function &function) {
  double sum = 0;
  for (std::intptr_t i = 0; i < kMillion; ++i) sum += function(static_cast<double>(i) * kStep);
  return sum * kStep;
}

/// Integrates in blocks of points.
__attribute__((noinline)) bool integrate_blocks(const loop &made, double *integral) {
  constexpr std::intptr_t block = 500;
  constexpr std::intptr_t steps[] = {sizeof(double), sizeof(double)};
  double points[block], values[block], sum = 0;
  char *const args[] = {reinterpret_cast<char *>(points), reinterpret_cast<char *>(values)};
  for (std::intptr_t begin = 0; begin < kMillion; begin += block) {
    for (std::intptr_t i = 0; i < block; ++i) points[i] = static_cast<double>(begin + i) * kStep;
    if (made.run(args, &block, steps) < 0) return false;
    for (const double value : values) sum += value;
  }
  *integral = sum * kStep;
  return true;
}

void add_integrations() {
  bench::add("loops/integrate/pointer", [](benchmark::State &state) {
    double (*pointer)(double) = &bench::integrand;
    for (auto _ : state) {
      bench::hide(pointer);
      bench::consume(integrate(pointer));
    }
  });
  bench::add("loops/integrate/direct", [](benchmark::State &state) {
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    const object_ref callable = callee("integrand");
    if (interface == nullptr || !callable) return bench::fail(state);
    const auto function = typedcall::resolve<double(double)>(interface, callable.get());
    if (!function) return bench::fail(state);
    for (auto _ : state) bench::consume(integrate(function));
  });
  bench::add("loops/integrate/loop", [](benchmark::State &state) {
    const auto made = resolved_loop("integrand", "d->d", std::nullopt);
    if (!made) return bench::fail(state);
    double integral = 0;
    for (auto _ : state) {
      if (!integrate_blocks(*made, &integral)) return bench::fail(state);
      bench::consume(integral);
    }
  });
  bench::add("loops/integrate/vectorcall", [](benchmark::State &state) {
    const object_ref callable = callee("integrand");
    if (!callable) return bench::fail(state);
    const vectorcallfunc function = PyVectorcall_Function(callable.get());
    for (auto _ : state) {
      bench::consume(integrate([&](double x) {
        double result = 0;
        call_boxed(function, callable.get(), &result, x);
        return result;
      }));
      if (PyErr_Occurred()) return bench::fail(state);
    }
  });
  bench::add("loops/integrate/boxed_call", [](benchmark::State &state) {
    const object_ref callable = callee("integrand");
    if (!callable) return bench::fail(state);
    for (auto _ : state) {
      bench::consume(integrate([&](double x) {
        double result = 0;
        typedcall::boxed_call(callable.get(), &result, x);
        return result;
      }));
      if (PyErr_Occurred()) return bench::fail(state);
    }
  });
}

bool add_all() {
  add_maps("map", "d_d", &bench::twice, kMillion, what::all);
  add_maps("map", "dd_d", &bench::plus, kMillion, what::all);
  add_maps("map", "l_l", &bench::next, kMillion, what::all);
  add_maps("map", "f_f", &bench::half, kMillion, what::all);
  add_maps("map", "dldl_d", &bench::mixed, kMillion, what::all);
  add_maps("cached", "d_d", &bench::twice, kCached, what::unboxed);
  add_maps("cached", "dd_d", &bench::plus, kCached, what::unboxed);
  add_maps("cached", "l_l", &bench::next, kCached, what::unboxed);
  add_maps("cached", "f_f", &bench::half, kCached, what::unboxed);
  add_maps("cached", "dldl_d", &bench::mixed, kCached, what::unboxed);
  add_strided("d_d", &bench::twice);
  add_strided("dd_d", &bench::plus);
  add_integrations();
  // Measures the cost of releasing the GIL.
  bench::add("loops/gil/let_go", [](benchmark::State &state) {
    for (auto _ : state) PyEval_RestoreThread(PyEval_SaveThread());
  });
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  if (PyImport_AppendInittab("bench_loop_callees", PyInit_bench_loop_callees) < 0) return 1;
  return bench::run(argc, argv, add_all);
}
