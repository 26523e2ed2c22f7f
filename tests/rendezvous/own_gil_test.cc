// Interpreters with their own GIL import two providers in parallel.
#include <atomic>
#include <thread>
#include <vector>

#include "core/custom_slots.h"
#include "gtest/gtest.h"
#include "tests/core/subinterpreter.h"
#include "tests/rendezvous/modules_on_path.h"

namespace typedcall_test {
namespace {

#if PY_VERSION_HEX >= 0x030C0000

constexpr int kThreads = 4, kTurns = 6;

const char kWork[] =
    "assert provider_a.metaclass() is provider_b.metaclass()\n"
    "assert provider_a.interface() == provider_b.interface()\n"
    "assert provider_a.row(provider_b.key) == 2 and provider_b.row(provider_a.key) == 1\n"
    "for turn in range(50):\n"
    "  class Both(provider_a.Type, provider_b.Type): pass\n"
    "  late = type.__new__(provider_a.metaclass(), 'Late', (Both, provider_b.Type), {})\n"
    "  for module in (provider_a, provider_b):\n"
    "    found = [module.find(c(), i) for c in (Both, late) for i in (1, 2)]\n"
    "    assert found == [11, 22, 11, 22], found\n";

// Creates, uses and ends an interpreter. The calling thread has no thread state.
void LiveOnce(int order, std::atomic<int> *done) {
  const OwnGilInterpreter interpreter;
  ASSERT_TRUE(interpreter.Entered()) << interpreter.Error();
  Scope scope;
  if (ImportInto(scope, order % 2 ? "provider_a, provider_b" : "provider_b, provider_a") &&
      scope.Run(kWork)) {
    ++*done;
  }
}

TEST(OwnGil, ProvidersInManyInterpretersAtOnce) {
  Scope scope;
  ASSERT_TRUE(ImportInto(scope, "provider_a, provider_b"));
  std::atomic<int> done{0}, running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, &done, &running] {
      for (int turn = 0; turn < kTurns; ++turn) LiveOnce(i + turn, &done);
      --running;
    });
  }
  do {
    EXPECT_TRUE(scope.Run(kWork));
  } while (running > 0);
  Py_BEGIN_ALLOW_THREADS;
  for (std::thread &thread : threads) thread.join();
  Py_END_ALLOW_THREADS;
  EXPECT_EQ(done, kThreads * kTurns);
  EXPECT_TRUE(scope.Run(kWork));
}

#endif

}  // namespace
}  // namespace typedcall_test
