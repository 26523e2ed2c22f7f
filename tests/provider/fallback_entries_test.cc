// Tests the entries that def() makes for functions that fall back.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "tests/provider/entries_of.h"
#include "tests/support/embedded.h"
#include "typedcall/provider.h"

namespace {

constexpr std::uintptr_t kBack = 0x0100, kNeedsThread = 0x0001, kTakesSelf = 0x0020,
                         kDiffers = 0x0080, kPure = 0x020000, kThreadSafe = 0x010000;

using provider_test::pointer;
using typedcall::def;
using typedcall::falls_back;

PyNativeCallableEntry only(const typedcall::method &method) {
  EXPECT_EQ(method.shape->count, 1u);
  const PyNativeCallableEntry entry = method.entry(0);
  EXPECT_EQ(PyNativeCallable_CheckEntry(&entry, 0, method.name), 0);
  EXPECT_EQ(method.shape->pypy_arg_types[0], 0x100) << "PyPy cannot call it";
  EXPECT_EQ(method.shape->direct, typedcall::internal::argument_type::other)
      << "the wrapper may run Python code";
  return entry;
}

std::optional<double> root(double x) noexcept {
  if (x < 0) return std::nullopt;
  return std::sqrt(x);
}
std::optional<long> throws(long x) {
  if (x < 0) throw std::domain_error("negative");
  return x;
}
std::optional<long double> wide(float x) noexcept { return x; }
std::optional<PyObject *> object(PyObject *x) noexcept { return x; }
double half(double x) {
  if (x < 0) throw std::domain_error("negative");
  return x / 2;
}
void check(double x) {
  if (x < 0) throw 7;
}
int c_root(double x, double *result) noexcept {
  if (x < 0) return 7;
  *result = std::sqrt(x);
  return 0;
}
int c_root_that_throws(double x, double *result) {
  if (x < -10) throw std::domain_error("far below");
  return c_root(x, result);
}
int c_check(double x, void *) noexcept { return x < 0; }
int of_self(PyObject *, double x, double *result) noexcept { return c_root(x, result); }
int gcd(int a, int b) {
  if (a < 0) throw 5;
  return b == 0 ? a : gcd(b, a % b);
}

TEST(Entries, SayThatTheyFallBackAndAskForNothingElse) {
  const struct {
    PyNativeCallableEntry entry;
    const char *signature;
    std::uintptr_t flags;
  } cases[] = {
      {only(def<root>("f")), "d&d->i", kBack},
      {only(def<throws>("f", falls_back)), "l&l->i", kBack},
      {only(def<wide>("f", typedcall::pure)), "f&g->i", kBack | kDiffers | kPure},
      {only(def<object>("f")), "O&O->i", kBack | kNeedsThread},
      {only(def<half>("f", falls_back | typedcall::thread_safe)), "d&d->i", kBack | kThreadSafe},
      {only(def<check>("f", falls_back)), "d->i", kBack},
      {only(def<c_root>("f", falls_back)), "d&d->i", kBack},
      {only(def<c_root_that_throws>("f", falls_back)), "d&d->i", kBack},
      {only(def<gcd>("f", falls_back)), "ii&i->i", kBack},
      {only(def<c_check>("f", falls_back)), "dP->i", kBack},
      {only(def<of_self>("f", falls_back | typedcall::takes_self)), "d&d->i",
       kBack | kTakesSelf | kNeedsThread},
  };
  for (const auto &one : cases) {
    EXPECT_STREQ(one.entry.signature, one.signature);
    EXPECT_EQ(one.entry.flags, one.flags) << one.signature;
  }
}

TEST(Entries, AFunctionOfThatShapeIsItsOwnEntry) {
  EXPECT_EQ(pointer<decltype(&c_root)>(only(def<c_root>("f", falls_back))), &c_root);
  EXPECT_EQ(pointer<decltype(&c_root_that_throws)>(
                only(def<c_root_that_throws>("f", falls_back | typedcall::nothrow))),
            &c_root_that_throws);
}

TEST(Calls, WithoutTheGil) {
  PyThreadState *const state = PyEval_SaveThread();
  const auto calls = [](const PyNativeCallableEntry &entry, double below) {
    const auto f = pointer<int (*)(double, double *)>(entry);
    double value = 0;
    EXPECT_EQ(f(4, &value), 0);
    EXPECT_NE(value, 0);
    value = 77;
    EXPECT_NE(f(below, &value), 0);
    EXPECT_EQ(value, 77) << "there is no value to write";
  };
  calls(only(def<root>("f")), -1);
  calls(only(def<half>("f", falls_back)), -1);
  calls(only(def<c_root>("f", falls_back)), -1);
  calls(only(def<c_root_that_throws>("f", falls_back)), -1);
  calls(only(def<c_root_that_throws>("f", falls_back)), -11);
  const auto integers = pointer<int (*)(long, long *)>(only(def<throws>("f", falls_back)));
  long value = 0;
  EXPECT_EQ(integers(5, &value), 0);
  EXPECT_EQ(value, 5);
  EXPECT_NE(integers(-5, &value), 0);
  const auto nothing = pointer<int (*)(double)>(only(def<check>("f", falls_back)));
  EXPECT_EQ(nothing(1), 0);
  EXPECT_NE(nothing(-1), 0);
  PyEval_RestoreThread(state);
  EXPECT_EQ(PyErr_Occurred(), nullptr);
}

TEST(Overloads, EachFallsBackForItself) {
  const typedcall::method method = def<root, throws>("f", falls_back);
  ASSERT_EQ(method.shape->count, 2u);
  EXPECT_STREQ(method.entry(0).signature, "d&d->i");
  EXPECT_STREQ(method.entry(1).signature, "l&l->i");
  EXPECT_STREQ(method.shape->overloads[1], "l->l") << "as Python sees it";
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(method.entry(i).flags, kBack);
}

}  // namespace
