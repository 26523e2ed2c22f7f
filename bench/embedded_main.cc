// Starts the interpreter, runs the benchmarks, and prints their ratios to a bare call.
#include "bench/embedded_main.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "typedcall_python_config.h"

namespace bench {
namespace {

// The order is random, because the machine may be slow for a while.
const char *const kDefaults[] = {
    "--benchmark_repetitions=32",
    "--benchmark_enable_random_interleaving=true",
    "--benchmark_min_time=0.05",
    "--benchmark_report_aggregates_only=true",
};

const char kIterations[] = "--iterations=";
benchmark::IterationCount fixed_iterations = 0;

std::vector<std::string> added;

/// Returns true if a benchmark reported an error. Google Benchmark 1.8 renamed the field.
template <typename Run>
auto gave_up(const Run &run, int) -> decltype(run.skipped, bool()) {
  return run.skipped != decltype(run.skipped){};
}
template <typename Run>
auto gave_up(const Run &run, long) -> decltype(run.error_occurred, bool()) {
  return run.error_occurred;
}

/// Forwards to another reporter, and keeps the medians.
class SummingUp : public benchmark::BenchmarkReporter {
 public:
  explicit SummingUp(benchmark::BenchmarkReporter *shown) : shown_(shown) {}

  bool ReportContext(const Context &context) override { return shown_->ReportContext(context); }

  void ReportRuns(const std::vector<Run> &runs) override {
    shown_->ReportRuns(runs);
    for (const Run &run : runs) {
      failed_ = failed_ || gave_up(run, 0);
      if (run.aggregate_name != "median") continue;
      medians_[run.run_name.function_name] = run.GetAdjustedCPUTime();
    }
  }

  void Finalize() override {
    shown_->Finalize();
    // Standard output may be JSON, so print the ratios to standard error.
    for (const std::string &name : added) {
      const auto pointer = medians_.find(name.substr(0, name.rfind('/')) + "/pointer");
      const auto median = medians_.find(name);
      if (pointer == medians_.end() || median == medians_.end()) continue;
      std::fprintf(stderr, "%-20s %7.2f ns %7.2f x pointer\n", name.c_str(), median->second,
                   median->second / pointer->second);
    }
  }

  bool failed() const { return failed_; }

 private:
  std::unique_ptr<benchmark::BenchmarkReporter> shown_;
  std::map<std::string, double> medians_;
  bool failed_ = false;
};

/// Starts Python isolated, without site, and with a fixed hash seed. Instruction counts need
/// identical runs.
void start_python() {
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  config.site_import = 0;
  config.write_bytecode = 0;
  config.use_hash_seed = 1;
  config.hash_seed = 0;
  const PyStatus status = typedcall_python_start(&config);
  if (PyStatus_Exception(status)) Py_ExitStatusException(status);
}

/// Inserts the defaults after the program's name, and removes --iterations.
std::vector<char *> with_defaults(int argc, char **argv) {
  std::vector<char *> arguments = {argv[0]};
  // If a flag is given twice, Google Benchmark uses the last one.
  for (const char *flag : kDefaults) arguments.push_back(const_cast<char *>(flag));
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], kIterations, std::strlen(kIterations)) == 0) {
      fixed_iterations = std::atoll(argv[i] + std::strlen(kIterations));
    } else {
      arguments.push_back(argv[i]);
    }
  }
  return arguments;
}

}  // namespace

void prepare(const std::string &name, benchmark::internal::Benchmark *made) {
  added.push_back(name);
  if (fixed_iterations > 0) made->Iterations(fixed_iterations);
}

void fail(benchmark::State &state) {
  PyErr_Print();
  state.SkipWithError("a Python exception, printed above");
}

int run(int argc, char **argv, bool (*add_all)()) {
  std::vector<char *> arguments = with_defaults(argc, argv);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;

  start_python();
  benchmark::AddCustomContext("python", Py_GetVersion());
  if (!add_all()) {
    PyErr_Print();
    return 1;
  }
  SummingUp reporter(benchmark::CreateDefaultDisplayReporter());
  benchmark::RunSpecifiedBenchmarks(&reporter);
  const int unflushed = Py_FinalizeEx();
  return reporter.failed() || unflushed != 0 ? 1 : 0;
}

}  // namespace bench
