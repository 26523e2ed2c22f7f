// Tests functions that fall back in threads without the GIL, during and after the end of their
// interpreter (PEP 788).

#include <unistd.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/core/subinterpreter.h"
#include "tests/resolve/callables.h"
#include "tests/support/asleep.h"
#include "typedcall/fallback.h"
#include "typedcall/provider.h"

// Views of interpreters are new in CPython 3.15.
#if PY_VERSION_HEX >= 0x030F0000

namespace {

using namespace resolve_test;
using typedcall::def;
using typedcall::fallback_function;
using typedcall_test::Subinterpreter;

std::atomic<bool> is_inside{false}, may_call{false}, is_ending{false};
std::atomic<int> outcome{0};  // 1: the call failed, 2: it returned a result

std::optional<double> nothing(double) noexcept { return std::nullopt; }
double wait_without_gil(double x) {
  Py_BEGIN_ALLOW_THREADS;
  is_inside = true;
  while (!is_ending) std::this_thread::yield();
  typedcall_test::WaitUntilAsleep(getpid());
  Py_END_ALLOW_THREADS;
  return x;
}
double interpreter_id(double) {
  return static_cast<double>(PyInterpreterState_GetID(PyInterpreterState_Get()));
}
double raise(double x) {
  if (x < 0) throw std::domain_error("negative");
  return x;
}

typedcall::method_table methods{
    def<nothing>("wait", typedcall::otherwise<wait_without_gil>),
    def<nothing>("interpreter_id", typedcall::otherwise<interpreter_id>),
    def<nothing>("raise", typedcall::otherwise<raise>),
};

using function = fallback_function<double(double)>;

// The functions are never freed, because some outlive their interpreter.
const function &Resolved(const char *name) {
  const Ref callable = FunctionOf(methods, name);
  const auto *made = new function(
      typedcall::resolve<double(double)>(Interface(), callable.get(), typedcall::with_fallback()));
  EXPECT_TRUE(*made) << TakeError();
  return *made;
}

void Call(const function *f) { outcome = typedcall::is_error_value((*f)(3.0)) ? 1 : 2; }

// A thread runs Python code when the interpreter begins to end.
void EndDuringTheCall() {
  const function &f = Resolved("wait");
  std::thread(Call, &f).detach();
  Py_BEGIN_ALLOW_THREADS;
  while (!is_inside) std::this_thread::yield();
  Py_END_ALLOW_THREADS;
  is_ending = true;
  Py_FinalizeEx();
  // The outcome may not have been stored yet.
  for (int i = 0; outcome == 0 && i < 60000; ++i) usleep(1000);
  _exit(outcome);
}

// A thread makes its call while the thread that ends the interpreter holds the GIL.
void CallDuringTheEnd() {
  const function &f = Resolved("wait");
  std::thread([&f] {
    while (!may_call) std::this_thread::yield();
    Call(&f);
  }).detach();
  PyObject *const capsule = PyCapsule_New(&may_call, nullptr, [](PyObject *) {
    may_call = true;
    while (outcome == 0) std::this_thread::yield();
  });
  PyObject_SetAttrString(PyImport_AddModule("__main__"), "at_the_end", capsule);
  Py_DECREF(capsule);
  is_ending = true;
  Py_FinalizeEx();
  _exit(outcome);
}

TEST(AttachTest, TheInterpreterWaitsForACall) {
  EXPECT_EXIT(EndDuringTheCall(), testing::ExitedWithCode(2), "");
}

TEST(AttachTest, ACallWhileItEndsFails) {
  EXPECT_EXIT(CallDuringTheEnd(), testing::ExitedWithCode(1), "");
}

TEST(AttachTest, AnInterpreterThatHasEnded) {
  const function *f = nullptr;
  {
    const Subinterpreter inner;
    ASSERT_TRUE(inner.Entered());
    f = &Resolved("raise");
    EXPECT_EQ((*f)(3.0), 3.0);
  }
  outcome = 0;
  Py_BEGIN_ALLOW_THREADS;
  std::thread(Call, f).join();
  Py_END_ALLOW_THREADS;
  EXPECT_EQ(outcome, 1);
  EXPECT_TRUE(typedcall::is_error_value((*f)(3.0)));
  EXPECT_EQ(TakeError(), "");
}

// The callable runs in the interpreter that owns the function.
TEST(AttachTest, OfAnotherInterpreter) {
  const function &outer_id = Resolved("interpreter_id");
  Subinterpreter inner;
  ASSERT_TRUE(inner.Entered());
  const function &inner_id = Resolved("interpreter_id");
  const double own = inner_id(0);
  EXPECT_GT(own, 0);
  EXPECT_EQ(outer_id(0), 0);
  EXPECT_EQ(interpreter_id(0), own) << "the thread is back";
  inner.Leave();
  EXPECT_EQ(inner_id(0), own);
  EXPECT_EQ(interpreter_id(0), 0);
  Py_BEGIN_ALLOW_THREADS;
  std::thread([&] {
    EXPECT_EQ(inner_id(0), own);
    EXPECT_EQ(outer_id(0), 0);
  }).join();
  Py_END_ALLOW_THREADS;
}

// The calling thread has released the GIL.
TEST(AttachTest, AnExceptionWaitsInAnyInterpreter) {
  const Subinterpreter inner;
  ASSERT_TRUE(inner.Entered());
  const function &f = Resolved("raise");
  PyThreadState *const state = PyEval_SaveThread();
  const double result = f(-3.0);
  PyEval_RestoreThread(state);
  EXPECT_TRUE(f.raised(result));
  EXPECT_EQ(TakeError(), "ValueError: negative");
}

}  // namespace

#endif
