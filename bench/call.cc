// Measures calls with a known signature: through a C function pointer, a resolved function, libffi,
// and a boxed call.
#include <Python.h>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>

#include "bench/callees.h"
#include "bench/embedded_main.h"
#include "bench/opaque.h"
#include "bench/places.h"
#include "typedcall/boxed_call.h"
#include "typedcall/invoker.h"
#include "typedcall/provider.h"
#include "typedcall/resolve.h"

static typedcall::method_table methods{
    typedcall::def<bench::dd_d>("dd_d"), typedcall::def<bench::l_l>("l_l"),
    typedcall::def<bench::dldl_d>("dldl_d"), typedcall::def<bench::kB_L>("kB_L")};
TYPEDCALL_MODULE(bench_callees, "The callees, tagged.", methods);

namespace {

using typedcall::span;

/// Measures call(arguments...). This function is not inlined, because surrounding code can change
/// how gcc compiles the loop.
template <std::size_t place, class Call, class... A>
__attribute__((noinline)) void time_call_at(benchmark::State &state, const Call &call,
                                            A... values) {
  bench::go_to<place>();
  for (auto _ : state) {
    [&](A... arguments) {
      (bench::hide(arguments), ...);
      bench::consume(call(arguments...));
    }(values...);
  }
}

template <class Call, class... A>
void time_call(benchmark::State &state, std::size_t turn, const Call &call, A... values) {
  bench::at_turn(turn, [&](auto place) { time_call_at<place>(state, call, values...); });
}

typedcall::object_ref callee(const char *name) {
  const auto module = typedcall::object_ref::steal(PyImport_ImportModule("bench_callees"));
  return typedcall::object_ref::steal(module ? PyObject_GetAttrString(module.get(), name)
                                             : nullptr);
}

template <class R, class... A>
typedcall::function<R(A...)> resolved(const char *name) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  const typedcall::object_ref callable = callee(name);
  if (interface == nullptr || !callable) return {};
  return typedcall::resolve<R(A...)>(interface, callable.get());
}

/// Adds the four benchmarks of one signature.
template <class R, class... A>
void add_calls(const char *name, R (*address)(A...), A... values) {
  const std::string prefix = std::string("call/") + name + "/";

  bench::add_in_turns(prefix + "pointer", [=](benchmark::State &state, std::size_t turn) {
    R (*pointer)(A...) = address;
    bench::hide(pointer);
    time_call(state, turn, pointer, values...);
  });

  bench::add_in_turns(prefix + "direct", [=](benchmark::State &state, std::size_t turn) {
    const auto function = resolved<R, A...>(name);
    if (!function) return bench::fail(state);
    time_call(state, turn, function, values...);
  });

  bench::add_in_turns(prefix + "ffi", [=](benchmark::State &state, std::size_t turn) {
    const auto function = resolved<R, A...>(name);
    if (!function) return bench::fail(state);
    const auto ffi = typedcall::ffi_signature::make(typedcall::signature_of<R(A...)>::text, false);
    if (!ffi) return state.SkipWithError("libffi refuses the signature");
    const auto call = [&](A... arguments) {
      R result;
      void *const addresses[] = {&arguments...};
      ffi->call(reinterpret_cast<void *>(function.get()), &result, addresses);
      return result;
    };
    time_call(state, turn, call, values...);
  });

  bench::add_in_turns(prefix + "boxed", [=](benchmark::State &state, std::size_t turn) {
    const typedcall::object_ref callable = callee(name);
    if (!callable) return bench::fail(state);
    bool failed = false;
    const auto call = [&](A... arguments) {
      R result{};
      if (!typedcall::boxed_call(callable.get(), &result, arguments...)) failed = true;
      return result;
    };
    time_call(state, turn, call, values...);
    if (failed) bench::fail(state);
  });
}

/// Adds benchmarks that hash a buffer.
void add_hashes(const char *size, span<const unsigned char> bytes) {
  const std::string prefix = std::string("call/kB_L_") + size + "/";

  bench::add_in_turns(prefix + "pointer", [=](benchmark::State &state, std::size_t turn) {
    const auto function = resolved<std::uint64_t, span<const unsigned char>>("kB_L");
    if (!function) return bench::fail(state);
    auto pointer = function.get();
    bench::hide(pointer);
    time_call(state, turn, pointer, bytes.data(), static_cast<std::intptr_t>(bytes.size()));
  });

  bench::add_in_turns(prefix + "direct", [=](benchmark::State &state, std::size_t turn) {
    const auto function = resolved<std::uint64_t, span<const unsigned char>>("kB_L");
    if (!function) return bench::fail(state);
    const auto call = [&function](const unsigned char *data, std::intptr_t count) {
      return function({data, static_cast<std::size_t>(count)});
    };
    time_call(state, turn, call, bytes.data(), static_cast<std::intptr_t>(bytes.size()));
  });

  bench::add_in_turns(prefix + "boxed", [=](benchmark::State &state, std::size_t turn) {
    const typedcall::object_ref callable = callee("kB_L");
    if (!callable) return bench::fail(state);
    bool failed = false;
    const auto call = [&](const unsigned char *data, std::intptr_t count) {
      std::uint64_t result = 0;
      const span<const unsigned char> given(data, static_cast<std::size_t>(count));
      if (!typedcall::boxed_call(callable.get(), &result, given)) failed = true;
      return result;
    };
    time_call(state, turn, call, bytes.data(), static_cast<std::intptr_t>(bytes.size()));
    if (failed) bench::fail(state);
  });
}

bool add_all() {
  static unsigned char bytes[1000] = {1, 2, 3};
  add_hashes("8", {bytes, 8});
  add_hashes("1000", {bytes, 1000});
  add_calls<double, double, double>("dd_d", bench::dd_d, 1.5, 2.25);
  // CPython caches small ints, so use a larger one.
  add_calls<long, long>("l_l", bench::l_l, 1234567);
  add_calls<double, double, long, double, long>("dldl_d", bench::dldl_d, 1.5, 1234567, 2.25, 3);
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  if (PyImport_AppendInittab("bench_callees", PyInit_bench_callees) < 0) return 1;
  return bench::run(argc, argv, add_all);
}
