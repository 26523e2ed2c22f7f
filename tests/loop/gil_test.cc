// Tests when loops release the GIL, and loops that run without Python.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/loop/arrays.h"

namespace loop_test {
namespace {

constexpr std::uintptr_t kSafe = PyNativeCallable_THREAD_SAFE;
constexpr std::intptr_t kMany = loop::detach_threshold;

std::atomic<long> with_gil{0}, without_gil{0};
double Look(double x) {
  ++(PyGILState_Check() ? with_gil : without_gil);
  return x + 1;
}
long LookWide(long a, long, long, long, long) {
  ++(PyGILState_Check() ? with_gil : without_gil);
  return a;
}

/// Returns "held" if a loop over `count` elements holds the GIL in all calls, "gone" if it does in
/// none, or "both" if it does in some.
template <class Runs>
std::string GilDuring(std::intptr_t count, Runs &&runs) {
  with_gil = without_gil = 0;
  std::vector<double> in(static_cast<std::size_t>(count)), out(in);
  char *const args[] = {reinterpret_cast<char *>(in.data()), reinterpret_cast<char *>(out.data())};
  const std::intptr_t steps[] = {8, 8};
  EXPECT_EQ(runs(args, &count, steps), 0);
  EXPECT_TRUE(PyGILState_Check());
  EXPECT_EQ(with_gil + without_gil, count);
  for (double value : out) EXPECT_EQ(value, 1);
  return without_gil == 0 ? "held" : with_gil == 0 ? "gone" : "both";
}

std::string GilDuringRun(std::intptr_t count, std::uintptr_t flags,
                         loop_kernel asked = loop_kernel::compiled) {
  const loop made = Make(&Look, flags, By(asked));
  return GilDuring(count, [&](auto... arrays) { return made.run(arrays...); });
}

TEST(GilTest, IsReleasedWhereTheEntryAllowsIt) {
  EXPECT_EQ(GilDuringRun(kMany, kSafe), "gone");
  EXPECT_EQ(GilDuringRun(10 * kMany, kSafe), "gone");
  EXPECT_EQ(GilDuringRun(kMany, kSafe, loop_kernel::invoker), "gone");
  EXPECT_EQ(GilDuringRun(kMany, kSafe | PyNativeCallable_PURE), "gone");
}

TEST(GilTest, IsKeptForShortArrays) {
  EXPECT_EQ(GilDuringRun(kMany - 1, kSafe), "held");
  EXPECT_EQ(GilDuringRun(1, kSafe), "held");
}

TEST(GilTest, IsKeptWhereTheEntryDoesNotAllowIt) {
  for (const std::uintptr_t flags :
       {std::uintptr_t{0}, std::uintptr_t{PyNativeCallable_PURE},
        kSafe | PyNativeCallable_NEEDS_THREAD,
        kSafe | PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE}) {
    EXPECT_EQ(GilDuringRun(kMany, flags), "held") << flags;
    EXPECT_EQ(GilDuringRun(kMany, flags, loop_kernel::invoker), "held") << flags;
    EXPECT_FALSE(Make(&Look, flags).may_detach());
  }
}

TEST(GilTest, IsReleasedForWhatTakesItItself) {
  EXPECT_EQ(GilDuringRun(1, PyNativeCallable_ACQUIRES_GIL), "gone");
  EXPECT_EQ(GilDuringRun(kMany, PyNativeCallable_ACQUIRES_GIL, loop_kernel::invoker), "gone");
  const loop made = Make(&Look, PyNativeCallable_ACQUIRES_GIL);
  EXPECT_EQ(GilDuring(1, [&](auto... arrays) { return made.run_attached(arrays...); }), "gone");
}

TEST(GilTest, IsKeptWhenToldTo) {
  const loop made = Make(&Look, kSafe);
  EXPECT_EQ(GilDuring(kMany, [&](auto... arrays) { return made.run_attached(arrays...); }), "held");
}

// Without a thread state, a function may only read the addresses of objects.
PyObject *Nobody() { return nullptr; }
long AddressOf(PyObject *object) {
  return static_cast<long>(reinterpret_cast<std::intptr_t>(object));
}
int NobodyByStatus(PyObject **) { return 0; }

TEST(GilTest, StoringObjectsNeedsIt) {
  EXPECT_TRUE(Make(&Nobody, kSafe).needs_thread());
  EXPECT_FALSE(Make(&Nobody, kSafe).may_detach());
  EXPECT_FALSE(Make(&AddressOf, kSafe).needs_thread());
  EXPECT_TRUE(Make(&AddressOf, kSafe).may_detach());
  EXPECT_TRUE(
      Make(&NobodyByStatus, kSafe | PyNativeCallable_NEEDS_THREAD | PyNativeCallable_RETURNS_STATUS)
          .needs_thread());
}

// Waits until another thread has held the GIL, but for at most 20 seconds.
std::atomic<bool> other_had_it{false};
double WaitForOther(double x) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!other_had_it && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return x;
}

TEST(GilTest, AnotherThreadTakesItMeanwhile) {
  other_had_it = false;
  std::thread other([] {
    const PyGILState_STATE state = PyGILState_Ensure();
    other_had_it = true;
    PyGILState_Release(state);
  });
  const loop made = Make(&WaitForOther, kSafe);
  Array<double> x(kMany), result(kMany);
  for (std::intptr_t i = 0; i < kMany; ++i) x.set(i, static_cast<double>(i));
  RunAll(made, kMany, x, result);
  EXPECT_TRUE(other_had_it);
  PyThreadState *const thread = PyEval_SaveThread();
  other.join();
  PyEval_RestoreThread(thread);
  EXPECT_EQ(result.list(kMany), x.list(kMany));
}

// --- Without Python ------------------------------------------------------------------------------

TEST(DetachedTest, RunsWithoutTheGil) {
  const loop made = Make(&Look);
  const std::string how = GilDuring(7, [&](auto... arrays) {
    PyThreadState *const thread = PyEval_SaveThread();
    const int result = made.run_detached(arrays...);
    PyEval_RestoreThread(thread);
    return result;
  });
  EXPECT_EQ(how, "gone");
}

TEST(DetachedTest, RunsInThreadsThatPythonDoesNotKnow) {
  const loop made = Make(&LookWide, kSafe);
  EXPECT_EQ(made.kernel(), loop_kernel::invoker);
  with_gil = without_gil = 0;
  constexpr int kThreads = 4;
  constexpr std::intptr_t kCount = 20000;
  std::vector<std::vector<long>> results(kThreads, std::vector<long>(kCount));
  std::atomic<int> failures{0};
  PyThreadState *const thread = PyEval_SaveThread();
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      std::vector<long> values(kCount);
      for (std::size_t i = 0; i < kCount; ++i) values[i] = static_cast<long>(i) * number;
      char *const in = reinterpret_cast<char *>(values.data());
      std::vector<long> &result = results[static_cast<std::size_t>(number)];
      char *const args[] = {in, in, in, in, in, reinterpret_cast<char *>(result.data())};
      const std::intptr_t steps[] = {8, 8, 8, 8, 8, 8};
      std::intptr_t done = 0;
      if (made.run_detached(args, &kCount, steps, &done) != 0 || done != kCount) ++failures;
    });
  }
  for (std::thread &one : threads) one.join();
  PyEval_RestoreThread(thread);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(without_gil, kThreads * kCount);
  for (int number = 0; number < kThreads; ++number) {
    EXPECT_EQ(results[static_cast<std::size_t>(number)].back(), (kCount - 1) * number);
  }
}

TEST(DetachedTest, RefusesWhatNeedsAThread) {
  with_gil = without_gil = 0;
  for (const std::uintptr_t flags :
       {PyNativeCallable_NEEDS_THREAD, PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE,
        PyNativeCallable_NEEDS_THREAD | kSafe}) {
    const loop made = Make(&Look, flags);
    EXPECT_TRUE(made.needs_thread());
    Array<double> x = {1, 2}, result = {3, 4};
    char *const args[] = {x.data(), result.data()};
    const std::intptr_t count = 2, steps[] = {8, 8};
    std::intptr_t done = -7;
    EXPECT_EQ(made.run_detached(args, &count, steps, &done), -1);
    EXPECT_EQ(done, 0);
    EXPECT_EQ(PyErr_Occurred(), nullptr);
    EXPECT_EQ(result.get(0), 3);
  }
  EXPECT_EQ(with_gil + without_gil, 0);
}

}  // namespace
}  // namespace loop_test
