// The main() of the benchmark programs, with an embedded interpreter.
#ifndef TYPEDCALL_BENCH_EMBEDDED_MAIN_H_
#define TYPEDCALL_BENCH_EMBEDDED_MAIN_H_

#include <Python.h>
#include <benchmark/benchmark.h>

#include <string>

namespace bench {

/// Starts Python, calls `add_all` to register the benchmarks, and runs them with the GIL held.
/// Prints the medians as multiples of ".../pointer". `add_all` returns false with an exception set
/// on failure. Built-in modules must be added to the inittab before the call. Returns main()'s
/// result.
///
/// The flag --iterations=N runs each loop exactly N times, for tools that count instructions.
int run(int argc, char **argv, bool (*add_all)());

/// Records the name of a benchmark, and applies --iterations.
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
