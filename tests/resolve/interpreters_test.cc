// Tests tagged functions in interpreters with their own GILs. The interpreters share the defs, but
// each has its own side table.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/subinterpreter.h"
#include "tests/rendezvous/modules_on_path.h"
#include "typedcall/resolve.h"

namespace resolve_test {
namespace {

using typedcall_test::ImportInto;
using typedcall_test::Ref;
using typedcall_test::Scope;
using typedcall_test::TakeError;

// Modules that use flag bits, the side table, or the default.
const char *const kModules[] = {"resolve_with_bits", "resolve_without_bits", "resolve_default"};

// Resolves and calls every function in the current interpreter.
void ResolveEverything(Scope &scope, int turns, std::atomic<long> *calls) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  const typedcall::capabilities can = typedcall::checks_errors;
  for (int turn = 0; turn < turns; ++turn) {
    for (const char *name : kModules) {
      const std::string module = name;
      Ref inc = scope.Eval(module + ".inc"), divide = scope.Eval(module + ".divide");
      const auto add_one = typedcall::resolve<long(long)>(interface, inc.get());
      ASSERT_TRUE(add_one) << TakeError();
      EXPECT_EQ(add_one(41), 42);
      const auto ratio = typedcall::resolve<double(double, double)>(interface, divide.get(), can);
      ASSERT_TRUE(ratio) << TakeError();
      EXPECT_EQ(ratio(1, 4), 0.25);
      EXPECT_EQ(ratio(1, 0), -1);
      EXPECT_EQ(TakeError(), "ValueError: division by zero");
      EXPECT_FALSE(typedcall::find<double(double)>(interface, inc.get(), can));
      const auto where = typedcall::find(interface, inc.get(), "l->l");
      ASSERT_TRUE(where.has_value());
      if (module != "resolve_default") {
        EXPECT_EQ(where->place, module == "resolve_with_bits" ? typedcall::place::method_metadata
                                                              : typedcall::place::def_row);
      }
      *calls += 2;
    }
  }
}

TEST(Interpreters, TheFirstOneAlone) {
  Scope scope;
  ASSERT_TRUE(ImportInto(scope, "resolve_with_bits, resolve_without_bits, resolve_default"));
  std::atomic<long> calls{0};
  ResolveEverything(scope, 3, &calls);
  EXPECT_EQ(calls, 18);
}

#if PY_VERSION_HEX >= 0x030C0000

constexpr int kThreads = 3, kLives = 4, kTurns = 40;

// Creates, uses and ends an interpreter. The calling thread has no thread state.
void LiveOnce(std::atomic<long> *calls) {
  const typedcall_test::OwnGilInterpreter interpreter;
  ASSERT_TRUE(interpreter.Entered()) << interpreter.Error();
  Scope scope;
  EXPECT_EQ(PyTypedcall_Peek(), nullptr) << "an interpreter begins with nothing";
  if (ImportInto(scope, "resolve_with_bits, resolve_without_bits, resolve_default")) {
    ResolveEverything(scope, kTurns, calls);
  }
}

TEST(Interpreters, SeveralAtOnceWithTheirOwnGil) {
  Scope scope;
  ASSERT_TRUE(ImportInto(scope, "resolve_with_bits, resolve_without_bits, resolve_default"));
  Ref outer = scope.Eval("resolve_without_bits.inc");
  std::atomic<long> calls{0}, own{0};
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&calls, &running] {
      for (int life = 0; life < kLives; ++life) LiveOnce(&calls);
      --running;
    });
  }
  do {
    ResolveEverything(scope, 1, &own);  // uses the rows of this interpreter
  } while (running > 0 && !HasFailure());
  Py_BEGIN_ALLOW_THREADS;
  for (std::thread &thread : threads) thread.join();
  Py_END_ALLOW_THREADS;
  EXPECT_EQ(calls, kThreads * kLives * kTurns * 6);
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  EXPECT_TRUE(typedcall::resolve<long(long)>(interface, outer.get())) << TakeError();
}

// Two interpreters share a def, but each has its own row.
TEST(Interpreters, EndOfOneLeavesTheOthersRows) {
  Scope scope;
  ASSERT_TRUE(ImportInto(scope, "resolve_without_bits"));
  Ref inc = scope.Eval("resolve_without_bits.inc");
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  Py_BEGIN_ALLOW_THREADS;
  std::atomic<long> calls{0};
  std::thread(LiveOnce, &calls).join();
  EXPECT_EQ(calls, kTurns * 6);
  Py_END_ALLOW_THREADS;
  const auto function = typedcall::resolve<long(long)>(interface, inc.get());
  ASSERT_TRUE(function) << TakeError();
  EXPECT_EQ(function(1), 2);
}

#endif

}  // namespace
}  // namespace resolve_test
