// Tests the construction of calls at run time. invoker_test.cc tests the calls.
#include "typedcall/invoker.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace {

using typedcall::invoker;
using typedcall::invoker_backend;
using typedcall::native_value;

TEST(Refused, WhatIsNoSignature) {
  PyNativeSignature_Fault fault = {};
  EXPECT_FALSE(invoker::make("dx->d", 0, nullptr, std::nullopt, &fault));
  EXPECT_EQ(fault.position, 1u);
  EXPECT_NE(fault.reason, nullptr);
  EXPECT_FALSE(invoker::make(nullptr, 0, nullptr));
}

TEST(Refused, AWayThatCannot) {
  PyNativeSignature_Fault fault = {};
  EXPECT_FALSE(invoker::make("g->d", 0, nullptr, invoker_backend::image, &fault));
  EXPECT_EQ(fault.position, 4u);
  EXPECT_STREQ(fault.reason, "not a signature that this way can call");
  EXPECT_FALSE(invoker::make("ddddd->d", 0, nullptr, invoker_backend::trampoline));
  EXPECT_FALSE(invoker::make("d->Zd", 0, nullptr, invoker_backend::image));
}

TEST(Plans, AreSharedBySignatureAndWay) {
  using typedcall::internal::call_plan;
  const auto plan = call_plan::get("dd->d", false, std::nullopt, nullptr);
  EXPECT_EQ(call_plan::get("dd->d", false, std::nullopt, nullptr), plan);
  EXPECT_NE(call_plan::get("dd->d", true, std::nullopt, nullptr), plan);
  EXPECT_NE(call_plan::get("dd->d", false, invoker_backend::ffi, nullptr), plan);
  EXPECT_NE(call_plan::get("dd->f", false, std::nullopt, nullptr), plan);
}

TEST(Plans, OutliveTheCache) {
  const auto f = +[](double x) { return 2 * x; };
  const auto call = invoker::make("d->d", 0, reinterpret_cast<void *>(f), invoker_backend::ffi);
  // More signatures than the cache keeps.
  const char codes[] = "bBhHiIlLqQnNfdPs?";
  for (const char *a = codes; *a != 0; ++a) {
    for (const char *b = codes; *b != 0; ++b) {
      for (const char *c = codes; *c != 0 && c < codes + 3; ++c) {
        const char signature[] = {*a, *b, *c, '-', '>', 'd', 0};
        ASSERT_TRUE(invoker::make(signature, 0, nullptr));
      }
    }
  }
  const native_value x = native_value::of(21.0);
  EXPECT_EQ((*call)(&x).get<double>(), 42.0);
}

// The child must not hang if another thread is looking up a plan during the fork.
TEST(Plans, AreFoundInTheChildOfAFork) {
  using typedcall::internal::call_plan;
  std::atomic<bool> is_over{false};
  const auto look = [] { return call_plan::get("dd->d", false, std::nullopt, nullptr); };
  const auto plan = look();
  std::thread other([&] {
    while (!is_over) look();
  });
  int exited = 0;
  for (int i = 0; i < 200 && exited == i; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(look() == plan ? 0 : 1);
    }
    int status = -1;
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0) ++exited;
  }
  is_over = true;
  other.join();
  EXPECT_EQ(exited, 200);
}

TEST(Copies, CallTheSame) {
  const auto f = +[](double x) { return 2 * x; };
  auto first = invoker::make("d->d", 0, reinterpret_cast<void *>(f));
  invoker copy = *first;
  first.reset();
  const native_value x = native_value::of(21.0);
  EXPECT_EQ(copy(&x).get<double>(), 42.0);
}

}  // namespace
