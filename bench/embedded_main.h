// Shared by the benchmark programs: an embedded interpreter, and defaults that make the results of
// one run comparable.
#ifndef TYPEDCALL_BENCH_EMBEDDED_MAIN_H_
#define TYPEDCALL_BENCH_EMBEDDED_MAIN_H_

#include <Python.h>
#include <benchmark/benchmark.h>

#include <string>

namespace bench {

/// Starts Python, calls `add_all` to register the benchmarks, runs them with the GIL held, and
/// prints the medians as multiples of that of ".../pointer" in their group. `add_all` returns false
/// with a Python exception set on failure. Add built-in modules to the inittab before the call.
/// Returns main()'s result.
///
/// Google Benchmark's own flags override the defaults. The additional flag --iterations=N runs each
/// loop exactly N times, for tools that count instructions.
int run(int argc, char **argv, bool (*add_all)());

/// Called by add(): records the name of a benchmark, and applies --iterations.
void prepare(const std::string &name, benchmark::internal::Benchmark *made);

/// Registers `body`, which is called with a benchmark::State &.
template <class Body>
void add(const std::string &name, Body body) {
  prepare(name, benchmark::RegisterBenchmark(name.c_str(), body));
}

/// Ends the benchmark with the pending Python exception as its message.
void fail(benchmark::State &state);

}  // namespace bench

#endif  // TYPEDCALL_BENCH_EMBEDDED_MAIN_H_
