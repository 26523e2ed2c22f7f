// Tests typedcall::fallback_function.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/resolve/callables.h"
#include "tests/support/asleep.h"
#include "typedcall/fallback.h"
#include "typedcall/provider.h"

namespace {

using namespace resolve_test;
using typedcall::def;
using typedcall::fallback_function;
using typedcall::find;
using typedcall::resolve;
using typedcall::with_fallback;

// After each function: the function that Python calls if there is no result.
std::optional<double> root(double x) noexcept {
  if (x < 0) return std::nullopt;
  return std::sqrt(x);
}
double root_of_negative(double x) {
  if (x < -1e9) throw std::domain_error("far below");
  return x;
}
std::optional<double> power(double x, double factor) noexcept {
  if (x < 0) return std::nullopt;
  return x * factor;
}
double less(double x, double factor) { return x - factor; }
std::optional<long> square(long x) noexcept {
  long result;
  if (__builtin_mul_overflow(x, x, &result)) return std::nullopt;
  return result;
}
PyObject *big_square(long x) {
  if (x == std::numeric_limits<long>::min()) return PyErr_NoMemory();
  if (x == std::numeric_limits<long>::max()) return PyLong_FromLong(-5);  // fits into a long
  const Ref integer = Ref::Steal(PyLong_FromLong(x));
  return PyNumber_Multiply(integer.get(), integer.get());
}
bool is_even(long x) {
  if (x < 0) throw std::domain_error("negative");
  return x % 2 == 0;
}
void check(double x) {
  if (x < 0) throw std::out_of_range("negative");
}
double half(double x) noexcept { return x / 2; }
double reciprocal(double x) {
  if (x >= 0 && x <= 0) throw std::domain_error("zero");
  return 1 / x;
}
int status(double x, double *) noexcept { return x < 0; }  // a function of two arguments

int levels = 0;
const fallback_function<double(double)> *recursive = nullptr;
PyObject *call_recursive(double x) {
  ++levels;
  const double result = (*recursive)(x);
  return recursive->raised(result) ? nullptr : PyFloat_FromDouble(result);
}

typedcall::method_table methods{
    def<root>("root", typedcall::otherwise<root_of_negative>),
    def<power>("power", typedcall::otherwise<less>, typedcall::arg("x"), typedcall::keyword_only,
               typedcall::arg("factor")),
    def<square>("square", typedcall::otherwise<big_square>),
    def<is_even>("is_even", typedcall::falls_back),
    def<check>("check", typedcall::falls_back),
    def<half, square>("both"),
    def<reciprocal>("reciprocal"),
    def<status>("status"),
    def<root>("recursive", typedcall::otherwise<call_recursive>),
};

Ref Function(const char *name) { return FunctionOf(methods, name); }

template <class Signature>
fallback_function<Signature> Resolved(const char *name) {
  auto found = resolve<Signature>(Interface(), Function(name).get(), with_fallback());
  EXPECT_TRUE(found) << TakeError();
  return found;
}

TEST(Fallback, TheNativeValue) {
  const auto f = Resolved<double(double)>("root");
  EXPECT_TRUE(f.may_fall_back());
  EXPECT_EQ(f.flags(), PyNativeCallable_FALLS_BACK);
  EXPECT_EQ(f(4.0), 2.0);
  EXPECT_FALSE(f.raised(2.0));
  EXPECT_EQ(Resolved<long(long)>("square")(1000), 1000000);
}

TEST(Fallback, ThePythonCallablesResult) {
  const auto f = Resolved<double(double)>("root");
  EXPECT_EQ(f(-3.0), -3.0);
  EXPECT_EQ(f(-1.0), -1.0);
  EXPECT_FALSE(f.raised(-1.0)) << "the error value is a result like any other";
  EXPECT_EQ(Resolved<long(long)>("square")(std::numeric_limits<long>::max()), -5);
  EXPECT_EQ(TakeError(), "");
}

TEST(Fallback, EndlessRecursion) {
  const auto f = Resolved<double(double)>("recursive");
  recursive = &f;
  EXPECT_TRUE(std::isnan(f(-1.0)) || f.raised());
  EXPECT_NE(TakeError().find("RecursionError"), std::string::npos);
#if PY_VERSION_HEX < 0x030E0000
  // The builtin function and the call to it each count as a level.
  EXPECT_LE(levels, Py_GetRecursionLimit() / 2 + 1);
#endif
}

TEST(Fallback, WhatGoesByNameOnly) {
  const auto f = Resolved<double(double, double)>("power");
  EXPECT_EQ(f(2.0, 3.0), 6.0);
  EXPECT_EQ(f(-2.0, 3.0), -5.0) << TakeError();
}

TEST(Fallback, WhileAnExceptionIsPendingNothingIsCalled) {
  const auto f = Resolved<double(double)>("root");
  PyErr_SetString(PyExc_KeyError, "of an earlier call");
  EXPECT_EQ(f(-3.0), -1.0);
  EXPECT_EQ(f(4.0), 2.0);
  EXPECT_EQ(TakeError(), "KeyError: 'of an earlier call'");
  EXPECT_EQ(f(-3.0), -3.0);
}

TEST(Fallback, ItsException) {
  const auto f = Resolved<double(double)>("root");
  const double result = f(-1e10);
  EXPECT_EQ(result, -1.0);
  EXPECT_TRUE(f.raised(result));
  EXPECT_EQ(TakeError(), "ValueError: far below");
  EXPECT_FALSE(f.raised(result));
}

TEST(Fallback, WhatDoesNotFit) {
  const auto f = Resolved<long(long)>("square");
  EXPECT_TRUE(f.raised(f(1L << 40)));
  EXPECT_EQ(TakeError(), "OverflowError: Python int does not fit a signed integer of 8 bytes");
  EXPECT_TRUE(f.raised(f(std::numeric_limits<long>::min())));
  EXPECT_EQ(TakeError(), "MemoryError: ");
}

TEST(Fallback, ResultsWithoutAnErrorValue) {
  const auto even = Resolved<bool(long)>("is_even");
  EXPECT_TRUE(even(2));
  EXPECT_FALSE(even(3));
  EXPECT_FALSE(even.raised(false));
  EXPECT_FALSE(even(-2));
  EXPECT_TRUE(even.raised(false));
  EXPECT_EQ(TakeError(), "ValueError: negative");
  const auto nothing = Resolved<void(double)>("check");
  nothing(1);
  EXPECT_FALSE(nothing.raised());
  nothing(-1);
  EXPECT_TRUE(nothing.raised());
  EXPECT_EQ(TakeError(), "IndexError: negative");
}

// If the thread has released the GIL, the exception stays pending.
TEST(Fallback, WithoutTheGil) {
  const auto f = Resolved<double(double)>("root");
  PyThreadState *const state = PyEval_SaveThread();
  EXPECT_EQ(f(4.0), 2.0);
  EXPECT_EQ(f(-3.0), -3.0);
  const double result = f(-1e10);
  PyEval_RestoreThread(state);
  EXPECT_TRUE(f.raised(result));
  EXPECT_EQ(TakeError(), "ValueError: far below");
}

// In a thread that Python did not create, exceptions go to sys.unraisablehook.
TEST(Fallback, InAForeignThread) {
  typedcall_test::Scope scope;
  ASSERT_TRUE(
      scope.Run("import sys\n"
                "seen = []\n"
                "old, sys.unraisablehook = sys.unraisablehook, lambda a: "
                "seen.append((str(a.exc_value), a.object.__name__))"));
  const auto f = Resolved<double(double)>("root");
  double results[3];
  PyThreadState *const state = PyEval_SaveThread();
  std::thread([&] {
    results[0] = f(4.0);
    results[1] = f(-3.0);
    results[2] = f(-1e10);
  }).join();
  PyEval_RestoreThread(state);
  EXPECT_EQ(results[0], 2.0);
  EXPECT_EQ(results[1], -3.0);
  EXPECT_EQ(results[2], -1.0);
  EXPECT_EQ(TakeError(), "");
  EXPECT_TRUE(scope.Run("sys.unraisablehook = old\nassert seen == [('far below', 'root')], seen"));
}

TEST(Find, AnEntryThatGivesAllIsTakenFirst) {
  const auto f = Resolved<double(double)>("both");
  EXPECT_FALSE(f.may_fall_back());
  EXPECT_EQ(f(3.0), 1.5);
  EXPECT_TRUE(Resolved<long(long)>("both").may_fall_back());
}

TEST(Find, EquivalentTypes) {
  static_assert(sizeof(long) == sizeof(long long));
  EXPECT_EQ(Resolved<long long(long long)>("square")(3), 9);
}

TEST(Find, WhatRaisesNeedsWhatItNeeds) {
  const Ref reciprocal = Function("reciprocal");
  EXPECT_FALSE(find<double(double)>(Interface(), reciprocal.get(), with_fallback()));
  EXPECT_EQ(TakeError(), "");
  const auto f = resolve<double(double)>(Interface(), reciprocal.get(), with_fallback(),
                                         typedcall::checks_errors);
  ASSERT_TRUE(f) << TakeError();
  EXPECT_EQ(f(4.0), 0.25);
  EXPECT_TRUE(f.raised(f(0.0)));
  EXPECT_EQ(TakeError(), "ValueError: zero");
}

TEST(Find, Refusals) {
  EXPECT_FALSE(resolve<double(double)>(Interface(), Function("square").get(), with_fallback()));
  EXPECT_EQ(TakeError(), "TypeError: square does not offer 'd->d'; it offers 'l&l->i'");
  EXPECT_FALSE(resolve<double(double)>(Interface(), Function("reciprocal").get(), with_fallback()));
  EXPECT_EQ(TakeError(),
            "TypeError: reciprocal does not offer 'd->d'; it offers 'd->d' (needs the GIL, may "
            "raise)");
  // `status` does not have the flag.
  EXPECT_FALSE(resolve<double(double)>(Interface(), Function("status").get(), with_fallback()));
  EXPECT_EQ(TakeError(), "TypeError: status does not offer 'd->d'; it offers 'd&d->i'");
  EXPECT_FALSE(fallback_function<double(double)>());
}

// Only a failure of resolve() replaces a pending exception.
TEST(Find, APendingException) {
  const Ref root = Function("root");
  const PyTypedcall_Interface *interface = Interface();
  PyErr_SetString(PyExc_KeyError, "before");
  EXPECT_TRUE(resolve<double(double)>(interface, root.get(), with_fallback()));
  EXPECT_EQ(TakeError(), "KeyError: 'before'");
  const Ref square = Function("square");
  PyErr_SetString(PyExc_KeyError, "before");
  EXPECT_FALSE(find<double(double)>(interface, square.get(), with_fallback()));
  EXPECT_EQ(TakeError(), "KeyError: 'before'");
  PyErr_SetString(PyExc_KeyError, "before");
  EXPECT_FALSE(resolve<double(double)>(interface, square.get(), with_fallback()));
  EXPECT_EQ(TakeError(), "TypeError: square does not offer 'd->d'; it offers 'l&l->i'");
}

// After Python has ended, a call that needs Python fails from 3.15 on. In earlier versions, the
// thread stops.
constexpr bool kIsRefused = PY_VERSION_HEX >= 0x030F0000;

// The exit status is 0 if the thread stops, 5 if the call returns the error value, and 3 if it
// returns another value.
void FallBackAfterTheEnd() {
  static const fallback_function<double(double)> &f =
      *new fallback_function<double(double)>(Resolved<double(double)>("root"));
  static std::atomic<bool> has_ended{false}, has_called{false};
  static std::atomic<pid_t> thread{0};
  std::thread([] {
    thread = typedcall_test::ThisThread();
    while (!has_ended) std::this_thread::yield();
    if (f(4.0) != 2.0) _exit(4);  // the native function does not need Python
    has_called = true;
    _exit(typedcall::is_error_value(f(-3.0)) ? 5 : 3);
  }).detach();
  Py_FinalizeEx();
  has_ended = true;
  while (!has_called) std::this_thread::yield();
  if (kIsRefused) std::this_thread::sleep_for(std::chrono::minutes(1));  // the other thread exits
  typedcall_test::WaitUntilAsleep(thread);
  _exit(0);
}

TEST(Fallback, AThreadThatFallsBackAfterTheEndFailsOrStops) {
  EXPECT_EXIT(FallBackAfterTheEnd(), testing::ExitedWithCode(kIsRefused ? 5 : 0), "");
}

// The exit status is 0 if the call returns Python's result, and 5 if the call fails.
void FallBackInTheThreadThatEnds() {
  using function = fallback_function<double(double)>;
  auto *const made = new function(Resolved<double(double)>("root"));
  PyObject *const capsule = PyCapsule_New(made, nullptr, [](PyObject *ending) {
    const auto *const f = static_cast<const function *>(PyCapsule_GetPointer(ending, nullptr));
    double result;
    Py_BEGIN_ALLOW_THREADS;
    result = (*f)(-3.0);
    Py_END_ALLOW_THREADS;
    _exit(result == -3.0 ? 0 : typedcall::is_error_value(result) ? 5 : 3);
  });
  PyObject_SetAttrString(PyImport_AddModule("__main__"), "at_the_end", capsule);
  Py_DECREF(capsule);
  alarm(60);  // ends the process if the thread stops
  Py_FinalizeEx();
  _exit(2);
}

TEST(Fallback, TheThreadThatEndsTheInterpreterFallsBackToTheLast) {
  EXPECT_EXIT(FallBackInTheThreadThatEnds(), testing::ExitedWithCode(kIsRefused ? 5 : 0), "");
}

// A caller that cannot handle the flag must not get the entry.
TEST(Find, OnlyWhoUnderstandsTheFlagGetsTheEntry) {
  const Ref root = Function("root");
  using raw = int(double, double *);
  EXPECT_FALSE(typedcall::resolve<raw>(Interface(), root.get(), typedcall::checks_errors));
  EXPECT_EQ(TakeError(),
            "TypeError: root does not offer 'd&d->i'; it offers 'd&d->i' (may fall back)");
  const auto f = typedcall::resolve<raw>(Interface(), root.get(), typedcall::calls_boxed);
  ASSERT_TRUE(f) << TakeError();
  double value = 0;
  EXPECT_EQ(f(4.0, &value), 0);
  EXPECT_EQ(value, 2.0);
  EXPECT_NE(f(-4.0, &value), 0);
}

}  // namespace
