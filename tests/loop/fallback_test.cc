// Tests loops over functions that fall back to a Python callable.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/loop/arrays.h"
#include "typedcall/provider.h"

namespace loop_test {
namespace {

using typedcall_test::Scope;

constexpr std::uintptr_t kBack = PyNativeCallable_FALLS_BACK, kSafe = PyNativeCallable_THREAD_SAFE;
constexpr std::intptr_t kMany = loop::detach_threshold;

std::atomic<long> with_gil{0}, without_gil{0};
int Root(double x, double *result) {
  ++(PyGILState_Check() ? with_gil : without_gil);
  if (x < 0) return 1;
  *result = std::sqrt(x);
  return 0;
}
int Square(long x, long *result) { return __builtin_mul_overflow(x, x, result) ? -1 : 0; }
int Wide(double x, const char *, long double *result) {
  *result = 3;
  return x < 0 ? 1 : 0;
}
int SumFive(short a, float b, bool c, unsigned char d, double e, double *result) {
  *result = a + static_cast<double>(b) + c + d + e;
  return e < 0;
}

// Makes a loop that falls back to a Python function.
template <class... A>
loop Back(Scope *scope, const char *function, int (*native)(A...), std::uintptr_t flags = 0) {
  typedcall::loop_options options;
  const Ref callable = scope->Eval(function);
  options.callable = typedcall::object_ref::borrow(callable.get());
  return Make(native, flags | kBack, std::move(options));
}

int Never(PyObject *, double, double *) { return 1; }
int OfAPlace(const double *, double *) { return 1; }

TEST(FallbackTest, AnUnboundMethodGetsSelf) {
  Scope scope;
  typedcall::loop_options options;
  options.callable = typedcall::object_ref::borrow(scope.Eval("list.index").get());
  options.self = typedcall::object_ref::borrow(scope.Eval("[3.5, -2.0]").get());
  const auto made =
      loop::make("d&d->i", kBack | PyNativeCallable_TAKES_SELF | PyNativeCallable_NEEDS_THREAD,
                 reinterpret_cast<void *>(&Never), {}, options);
  ASSERT_TRUE(made) << TakeError();
  Array<double> in{-2, 3.5}, out{7, 7};
  RunAll(*made, 2, in, out);
  EXPECT_EQ(out.list(2), (std::vector<double>{1, 0}));
}

TEST(FallbackTest, PointersThatPythonFunctionsDoNotTakeAreRefused) {
  Scope scope;
  typedcall::loop_options options;
  options.callable = typedcall::object_ref::borrow(scope.Eval("len").get());
  EXPECT_FALSE(loop::make("&d&d->i", kBack, reinterpret_cast<void *>(&OfAPlace), {}, options));
  EXPECT_NE(TakeError().find("may fall back, and Python functions take no such pointers"),
            std::string::npos);
}

TEST(FallbackTest, TheCallablesResultTakesTheElementsPlace) {
  Scope scope;
  const loop made = Back(&scope, "lambda x: 10 * x", &Root);
  EXPECT_TRUE(made.may_fall_back());
  EXPECT_FALSE(made.needs_thread());
  Array<double> in{4, -1, 9, -2}, out{0, 0, 0, 0};
  RunAll(made, 4, in, out);
  EXPECT_EQ(out.list(4), (std::vector<double>{2, -10, 3, -20}));
}

TEST(FallbackTest, AnExceptionEndsIt) {
  Scope scope;
  ASSERT_TRUE(scope.Run("def f(x):\n if x < -5: raise ValueError(x)\n return x\n"));
  const loop made = Back(&scope, "f", &Root);
  Array<double> in{4, -1, -9, 9}, out{7, 7, 7, 7};
  std::intptr_t done = -1;
  EXPECT_EQ(RunLoop(made, 4, &done, in, out), -1);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(TakeError(), "ValueError: -9.0");
  EXPECT_EQ(out.list(4), (std::vector<double>{2, -1, 7, 7}));
}

TEST(FallbackTest, AResultThatDoesNotFit) {
  Scope scope;
  const loop made = Back(&scope, "lambda x: x * x if x > 0 else -1", &Square);
  Array<long> in{3, -(1L << 40), 1L << 40}, out{0, 0, 0};
  std::intptr_t done = -1;
  EXPECT_EQ(RunLoop(made, 3, &done, in, out), -1);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(TakeError(), "OverflowError: Python int does not fit a signed integer of 8 bytes");
  EXPECT_EQ(out.list(2), (std::vector<long>{9, -1}));
}

TEST(FallbackTest, TypesOfEveryKind) {
  Scope scope;
  const loop mixed = Back(&scope, "lambda *a: float(a == (-3, 0.5, True, 200, -1.0))", &SumFive);
  Array<short> a{-3, -3};
  Array<float> b{0.5f, 0.5f};
  Array<bool> c{true, true};
  Array<unsigned char> d{200, 200};
  Array<double> e{1, -1}, out{0, 0};
  RunAll(mixed, 2, a, b, c, d, e, out);
  EXPECT_EQ(out.list(2), (std::vector<double>{199.5, 1}));
  const loop wide = Back(&scope, "lambda x, text: 0.25 if text == 'a' else 0", &Wide);
  Array<const char *> texts{"a", "a"};
  Array<long double> wide_out{0, 0};
  RunAll(wide, 2, e, texts, wide_out);
  EXPECT_EQ(wide_out.list(2), (std::vector<long double>{3, 0.25L}));
}

// Only calls that fall back take the GIL.
TEST(FallbackTest, ManyElementsRunWithoutTheGil) {
  Scope scope;
  const loop made = Back(&scope, "lambda x: x", &Root, kSafe);
  std::vector<double> in(kMany, 4), out(kMany);
  in[10] = in[500] = -3;
  char *const args[] = {reinterpret_cast<char *>(in.data()), reinterpret_cast<char *>(out.data())};
  const std::intptr_t steps[] = {8, 8}, count = kMany;
  with_gil = without_gil = 0;
  std::intptr_t done = 0;
  EXPECT_EQ(made.run(args, &count, steps, &done), 0) << TakeError();
  EXPECT_TRUE(PyGILState_Check());
  EXPECT_EQ(with_gil, 0);
  EXPECT_EQ(without_gil, kMany);
  EXPECT_EQ(out[10], -3);
  EXPECT_EQ(out[500], -3);
  EXPECT_EQ(out[501], 2);
  ASSERT_TRUE(scope.Run("def f(x): raise ValueError(x)"));
  const loop raises = Back(&scope, "f", &Root, kSafe);
  EXPECT_EQ(raises.run(args, &count, steps, &done), -1);
  EXPECT_EQ(done, 10);
  EXPECT_EQ(TakeError(), "ValueError: -3.0");
}

TEST(FallbackTest, DetachedThreads) {
  Scope scope;
  const loop made = Back(&scope, "lambda x: 10 * x if x > -5 else 1 / 0", &Root, kSafe);
  Array<double> in{4, -1, 9}, out{0, 0, 0}, bad{4, -9, 9};
  const std::intptr_t steps[] = {8, 8}, count = 3;
  char *const args[] = {in.data(), out.data()}, *const bad_args[] = {bad.data(), out.data()};
  std::intptr_t done = 0;
  PyThreadState *const state = PyEval_SaveThread();
  EXPECT_EQ(made.run_detached(args, &count, steps, &done), 0);
  EXPECT_EQ(made.run_detached(bad_args, &count, steps, &done), -1);
  PyEval_RestoreThread(state);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(TakeError(), "ZeroDivisionError: division by zero");
  EXPECT_EQ(out.list(2), (std::vector<double>{2, -10}));

  ASSERT_TRUE(
      scope.Run("import sys\nseen = []\n"
                "old, sys.unraisablehook = sys.unraisablehook, lambda a: seen.append(a.exc_type)"));
  PyThreadState *const again = PyEval_SaveThread();
  std::thread([&] {
    EXPECT_EQ(made.run_detached(args, &count, steps, &done), 0);
    EXPECT_EQ(made.run_detached(bad_args, &count, steps, &done), -1);
  }).join();
  PyEval_RestoreThread(again);
  EXPECT_EQ(TakeError(), "");
  EXPECT_TRUE(scope.Run("sys.unraisablehook = old\nassert seen == [ZeroDivisionError], seen"));
}

// NumPy may run a loop again before it checks for exceptions. The loop must then do nothing.
TEST(FallbackTest, APendingExceptionStays) {
  Scope scope;
  ASSERT_TRUE(scope.Run("calls = []"));
  const loop made = Back(&scope, "calls.append", &Root);
  Array<double> in{4, -1}, out{0, 0};
  char *args[] = {in.data(), out.data()};
  const std::intptr_t steps[] = {8, 8}, count = 2;
  PyErr_SetString(PyExc_KeyError, "before");
  loop::ufunc_loop(args, &count, steps, const_cast<loop *>(&made));
  EXPECT_EQ(TakeError(), "KeyError: 'before'");
  EXPECT_TRUE(scope.Run("assert not calls"));
}

std::optional<double> OfModule(double x) noexcept {
  if (x < 0) return std::nullopt;
  return x;
}
typedcall::method_table methods{typedcall::def<OfModule>("of_module")};

// The loop keeps the callable of a resolution alive.
TEST(FallbackTest, OfAResolution) {
  Ref module = typedcall_test::ModuleOf(methods);
  ASSERT_TRUE(module) << TakeError();
  Ref callable = Ref::Steal(PyObject_GetAttrString(module.get(), "of_module"));
  auto found = typedcall::resolve(PyTypedcall_Import(), callable.get(), "d&d->i",
                                  typedcall::loop_capabilities);
  ASSERT_TRUE(found) << TakeError();
  const auto made = loop::make(std::move(*found));
  ASSERT_TRUE(made) << TakeError();
  EXPECT_EQ(made->callable(), callable.get());
  module.reset();
  callable.reset();
  Array<double> in{4, -1}, out{0, 0};
  std::intptr_t done = 0;
  EXPECT_EQ(RunLoop(*made, 2, &done, in, out), -1);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(TakeError(), "ValueError: no result for these arguments");
}

}  // namespace
}  // namespace loop_test
