// Measures calls whose signature is known only at run time: through an invoker, through libffi, and
// through a plain pointer.
#include <Python.h>
#include <benchmark/benchmark.h>
#include <ffi.h>

#include <string>

#include "bench/callees.h"
#include "bench/embedded_main.h"
#include "bench/opaque.h"
#include "typedcall/invoker.h"

namespace {

using typedcall::invoker;
using typedcall::invoker_backend;
using typedcall::native_value;

// This function is not inlined, because surrounding code can change how gcc compiles the loop.
template <class Call, class... A>
__attribute__((noinline)) void time_call(benchmark::State &state, const Call &call, A... values) {
  for (auto _ : state) {
    [&](A... arguments) {
      (bench::hide(arguments), ...);
      bench::consume(call(arguments...));
    }(values...);
  }
}

/// Calls an invoker in a loop, and stores new arguments each time.
template <class R, class... A>
void time_invoker(benchmark::State &state, const invoker &invoke, A... values) {
  time_call(
      state,
      [&](A... arguments) {
        const native_value array[] = {native_value::of(arguments)...};
        return invoke(array).template get<R>();
      },
      values...);
}

/// Adds the benchmarks of one signature.
template <class R, class... A>
void add_invocations(const char *name, R (*address)(A...), A... values) {
  const std::string prefix = std::string("invoke/") + name + "/";
  void *const funcptr = reinterpret_cast<void *>(address);

  bench::add(prefix + "pointer", [=](benchmark::State &state) {
    R (*pointer)(A...) = address;
    bench::hide(pointer);
    time_call(state, pointer, values...);
  });

  const auto add_way = [=](const char *label, std::optional<invoker_backend> asked) {
    const auto made = invoker::make(typedcall::signature_of<R(A...)>::text, 0, funcptr, asked);
    if (!made) return;
    bench::add(prefix + label,
               [=](benchmark::State &state) { time_invoker<R>(state, *made, values...); });
  };
  add_way("invoker", std::nullopt);
  add_way("image", invoker_backend::image);
  add_way("by_ffi", invoker_backend::ffi);

  bench::add(prefix + "ffi_call", [=](benchmark::State &state) {
    ffi_type *types[] = {typedcall::internal::ffi_type_of(typedcall::native_type<A>())...};
    ffi_cif cif;
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, sizeof...(A),
                     typedcall::internal::ffi_type_of(typedcall::native_type<R>()),
                     types) != FFI_OK) {
      return state.SkipWithError("libffi refuses the signature");
    }
    time_call(
        state,
        [&](A... arguments) {
          R result;
          void *addresses[] = {&arguments...};
          ffi_call(&cif, FFI_FN(address), &result, addresses);
          return result;
        },
        values...);
  });
}

bool add_all() {
  add_invocations("dd_d", bench::dd_d, 1.5, 2.25);
  add_invocations("ll_l", bench::ll_l, 1234567L, 7654321L);
  add_invocations("dldl_d", bench::dldl_d, 1.5, 1234567L, 2.25, 3L);
  add_invocations("ldldldld_d", bench::ldldldld_d, 1L, 1.5, 2L, 2.5, 3L, 3.5, 4L, 4.5);
  add_invocations("llllllll_l", bench::llllllll_l, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
  return true;
}

}  // namespace

int main(int argc, char **argv) { return bench::run(argc, argv, add_all); }
