// Counts the instructions of a look-up by single-stepping. Unlike times, counts do not depend on
// the load of the machine.
#include "tests/core/find_code.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gtest/gtest.h"
#include "tests/core/extensible.h"

#if defined(__x86_64__)

namespace typedcall_test {
namespace {

using Loop = void (*)(long, PyObject *, Function);

void Nothing() {}

constexpr int kCannotTrace = 77;

// The maximum number of instructions of a look-up that finds the slot at position 0, finds it at
// another position, or finds no slot.
#ifdef __clang__
constexpr double kFirst = 12, kSecond = 17, kMiss = 8;
#else
constexpr double kFirst = 8, kSecond = 18, kMiss = 9;
#endif

// Returns the number of instructions of a call to `loop`, or -1 if processes cannot be traced.
long Steps(Loop loop, long count, PyObject *object) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kCannotTrace);
    kill(getpid(), SIGSTOP);
    loop(count, object, Nothing);
    kill(getpid(), SIGUSR1);
    _exit(0);
  }
  int status = 0;
  long steps = -1;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
  do {
    ++steps;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) break;
  } while (waitpid(child, &status, 0) == child && WIFSTOPPED(status) &&
           WSTOPSIG(status) == SIGTRAP);
  const bool has_ended = WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return has_ended ? steps : -1;
}

// Returns the number of instructions in one iteration, or a negative number if they cannot be
// counted.
double PerIteration(Loop loop, PyObject *object) {
  const long few = Steps(loop, 10, object), many = Steps(loop, 110, object);
  return few < 0 || many < 0 ? -1 : static_cast<double>(many - few) / 100;
}

class FindCode : public testing::Test {
 protected:
  void SetUp() override {
    bare_ = PerIteration(LoopPointer, Py_None);
    if (bare_ < 0) GTEST_SKIP() << "no process can be traced here";
    PyCustomSlot first = {}, second = {};
    first.id = kCountedId;
    first.data.pointer = second.data.pointer = reinterpret_cast<void *>(Nothing);
    second.id = kCountedId + 2;
    type_ = MakeType({first, second});
    turned_ = MakeType({second, first});
    ASSERT_TRUE(type_ && turned_) << TakeError();
  }
  double Beyond(Loop loop, const Ref &object) { return PerIteration(loop, object.get()) - bare_; }

  double bare_ = 0;
  Ref type_, turned_;
};

TEST_F(FindCode, AtItsExpectedPosition) {
  // Eight instructions: type, position of its members (3), key (2), table, function.
  const double beyond = Beyond(LoopExpected, New(type_));
  RecordProperty("beyond", static_cast<int>(beyond));
  EXPECT_GE(beyond, 5) << "this counts something else";
  EXPECT_LE(beyond, kFirst);
}

TEST_F(FindCode, OfASubclass) {
  Scope scope;
  scope.Set("Base", type_.get());
  ASSERT_TRUE(scope.Run("class C(Base): pass"));
  EXPECT_LE(Beyond(LoopExpected, scope.Eval("C()")), kFirst);
}

TEST_F(FindCode, AtAnotherPosition) {
  const double beyond = Beyond(LoopSecond, New(turned_));
  EXPECT_GE(beyond, 9);
  EXPECT_LE(beyond, kSecond);
}

TEST_F(FindCode, OfAnOrdinaryObject) {
  Scope scope;
  ASSERT_TRUE(scope.Run("class C: pass"));
  EXPECT_LE(Beyond(LoopExpected, scope.Eval("C()")), kMiss);
  EXPECT_LE(Beyond(LoopExpected, Ref::Borrow(Py_None)), kMiss);
}

}  // namespace
}  // namespace typedcall_test

#endif
