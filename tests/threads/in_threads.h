// Runs work in several attached threads at the same time.
#ifndef TYPEDCALL_TESTS_THREADS_IN_THREADS_H_
#define TYPEDCALL_TESTS_THREADS_IN_THREADS_H_

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {

/// Calls work(number) in `count` attached threads after all of them have started.
template <class Work>
void InThreads(int count, const Work &work) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  Py_BEGIN_ALLOW_THREADS;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&, number] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      const PyGILState_STATE state = PyGILState_Ensure();
      work(number);
      EXPECT_EQ(TakeError(), "");
      PyGILState_Release(state);
    });
  }
  for (std::thread &thread : threads) thread.join();
  Py_END_ALLOW_THREADS;
}

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_THREADS_IN_THREADS_H_
