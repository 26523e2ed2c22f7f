// Shared by the benchmark programs: an embedded interpreter, and defaults that make the figures of
// one run comparable.
#ifndef TYPEDCALL_BENCH_EMBEDDED_MAIN_H_
#define TYPEDCALL_BENCH_EMBEDDED_MAIN_H_

#include <Python.h>
#include <benchmark/benchmark.h>

#include <string>

namespace bench {

/// Starts Python, lets `add_all` register the benchmarks, runs them with the GIL held, and prints
/// the medians as multiples of the ".../pointer" of their group. `add_all` returns false with a
/// Python exception set. Add built-in modules to the inittab before. Returns main()'s result.
///
/// Google Benchmark's own flags override the defaults. One flag is ours: --iterations=N runs each
/// loop exactly N times, for tools that count instructions.
int run(int argc, char **argv, bool (*add_all)());

/// Remembers the name, and applies --iterations. Called by add().
void prepare(const std::string &name, benchmark::internal::Benchmark *made);

/// Registers `body`, called with a benchmark::State &.
template <class Body>
void add(const std::string &name, Body body) {
  prepare(name, benchmark::RegisterBenchmark(name.c_str(), body));
}

/// Ends the benchmark with the pending Python exception as its message.
void fail(benchmark::State &state);

}  // namespace bench

#endif  // TYPEDCALL_BENCH_EMBEDDED_MAIN_H_
