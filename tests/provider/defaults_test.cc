// Tests the entries that def() makes for functions with defaults.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/provider/entries_of.h"
#include "tests/support/embedded.h"
#include "typedcall/provider.h"

namespace {

using provider_test::pointer;
using provider_test::Signatures;
using typedcall::arg;
using typedcall::def;
using typedcall::keyword_only;
using typedcall::positional;
using typedcall_test::TakeError;

constexpr std::uintptr_t kNeedsThread = 0x0001, kMayRaise = 0x0004, kStatus = 0x0010,
                         kTakesSelf = 0x0020, kBack = 0x0100, kThreadSafe = 0x010000,
                         kPure = 0x020000;

long digits(long a, long b, long c) noexcept { return 100 * a + 10 * b + c; }
double distance(double a, double b, double c, double d, double radius) noexcept {
  return a + 2 * b + 3 * c + 4 * d + radius;
}
long named(long a, long b, long c) noexcept { return digits(a, b, c); }

TEST(Defaults, MakeAnEntryWithoutTheLastParameter) {
  const auto made = def<distance>("distance", arg("a"), arg("b"), arg("c"), arg("d"),
                                  arg("radius") = 6371.5, typedcall::pure | typedcall::thread_safe);
  EXPECT_EQ(Signatures(made), "ddddd->d dddd->d");
  EXPECT_EQ(made.shape->count, 1u) << "one function";
  EXPECT_EQ(made.entry(0).funcptr, reinterpret_cast<void *>(&distance)) << "comes first, as it is";
  EXPECT_EQ(made.entry(1).flags, kPure | kThreadSafe);
  EXPECT_EQ(pointer<double (*)(double, double, double, double)>(made.entry(1))(1, 2, 3, 4), 6401.5);
}

TEST(Defaults, MakeAnEntryForEachOfTheLastParameters) {
  const auto made =
      def<digits>("digits", positional("a") = 7, positional("b") = 8, positional("c") = 9);
  EXPECT_EQ(Signatures(made), "lll->l ll->l l->l ->l");
  EXPECT_EQ(pointer<long (*)(long, long)>(made.entry(1))(1, 2), 129);
  EXPECT_EQ(pointer<long (*)(long)>(made.entry(2))(1), 189);
  EXPECT_EQ(pointer<long (*)()>(made.entry(3))(), 789);
  EXPECT_EQ(Signatures(def<named>("named", arg("a"), arg("b"), arg("c"))), "lll->l");
  EXPECT_EQ(made.shape->flags, METH_FASTCALL);
}

// Keyword-only parameters may also be left out: the C function takes all parameters in order.
TEST(Defaults, BehindKeywordOnly) {
  const auto made = def<digits>("f", arg("a"), arg("b") = 8, keyword_only, arg("c") = 9);
  EXPECT_EQ(Signatures(made), "lll->l ll->l l->l");
  EXPECT_EQ(pointer<long (*)(long)>(made.entry(2))(1), 189);
  EXPECT_EQ(made.shape->flags, METH_FASTCALL | METH_KEYWORDS);
  EXPECT_EQ(Signatures(def<digits>("f", arg("a"), keyword_only, arg("b") = 8, arg("c"))), "lll->l");
  EXPECT_EQ(Signatures(def<digits>("f", arg("a") = 7, keyword_only, arg("b"), arg("c") = 9)),
            "lll->l ll->l");
}

// PyPy finds only the function that takes all parameters.
TEST(Defaults, ChangeNothingForPyPy) {
  const auto made =
      def<distance>("distance", arg("a"), arg("b"), arg("c"), arg("d"), arg("radius") = 6371.5);
  EXPECT_TRUE(made.shape->speaks_pypy);
  EXPECT_EQ(made.shape->pypy_arg_types[4], T_C_DOUBLE);
  EXPECT_EQ(made.shape->pypy_arg_types[5], -1);
}

double all_defaults(bool flag, signed char narrow, unsigned long wide, float single, double real,
                    long double extended, std::complex<double> z, const char *text,
                    PyObject *object, const double *items, void *memory) noexcept {
  return flag && narrow == -128 && wide == ULONG_MAX && single <= 0.5f && single >= 0.5f &&
         std::signbit(real) && std::isinf(extended) && z == std::complex<double>(1, -2) &&
         std::string(text) == "text" && object == Py_None && items == nullptr && memory == nullptr;
}

TEST(Defaults, OfEveryType) {
  const auto made = def<all_defaults>(
      "f", arg("flag") = true, arg("narrow") = -128, arg("wide") = ULONG_MAX, arg("single") = 0.5,
      arg("real") = -0.0, arg("extended") = std::numeric_limits<double>::infinity(),
      arg("z") = std::complex<double>(1, -2), arg("text") = "text", arg("object") = nullptr,
      arg("items") = nullptr, arg("memory") = nullptr);
  ASSERT_EQ(made.shape->entries, 12u);
  EXPECT_STREQ(made.entry(0).signature, "?bLfdgZdsO&kdP->d");
  EXPECT_STREQ(made.entry(1).signature, "?bLfdgZdsO&kd->d");
  EXPECT_STREQ(made.entry(6).signature, "?bLfd->d");
  EXPECT_EQ(made.entry(11).flags, made.entry(0).flags);
  EXPECT_EQ(pointer<double (*)()>(made.entry(11))(), 1.0);
}

double half(double x, double by) {
  if (x < 0) throw std::domain_error("negative");
  return x / by;
}
bool flag(double x, double y) {
  if (x < 0) throw std::domain_error("negative");
  return x < y;
}
int quotient(double x, double y, double *result) noexcept {
  if (x < 0) return PyErr_SetString(PyExc_ValueError, "negative"), -1;
  *result = x / y;
  return 0;
}
void nothing(double x, double) {
  if (x < 0) throw std::domain_error("negative");
}
std::optional<double> root(double x, double factor) noexcept {
  if (x < 0) return std::nullopt;
  return factor * std::sqrt(x);
}
double of_self(PyObject *self, double x, double y) noexcept { return x * y + (self == Py_None); }

TEST(Defaults, KeepHowAFunctionReportsErrors) {
  const auto raises = def<half>("f", arg("x"), arg("by") = 2.0);
  EXPECT_EQ(Signatures(raises), "dd->d d->d");
  EXPECT_EQ(raises.entry(1).flags, kMayRaise | kNeedsThread);
  EXPECT_EQ(pointer<double (*)(double)>(raises.entry(1))(3), 1.5);
  EXPECT_EQ(pointer<double (*)(double)>(raises.entry(1))(-3), -1.0);
  EXPECT_EQ(TakeError(), "ValueError: negative");

  double value = 0;
  bool truth = true;
  const auto status = def<quotient>("f", arg("x"), arg("y") = 4, typedcall::returns_status);
  EXPECT_EQ(Signatures(status), "dd&d->i d&d->i");
  EXPECT_EQ(status.entry(1).flags, kStatus | kNeedsThread);
  EXPECT_EQ(pointer<int (*)(double, double *)>(status.entry(1))(3, &value), 0);
  EXPECT_EQ(value, 0.75);
  EXPECT_EQ(pointer<int (*)(double, double *)>(status.entry(1))(-3, &value), -1);
  EXPECT_EQ(TakeError(), "ValueError: negative");

  const auto gets_status = def<flag>("f", arg("x"), arg("y") = 4);
  EXPECT_EQ(Signatures(gets_status), "dd&?->i d&?->i");
  EXPECT_EQ(pointer<int (*)(double, bool *)>(gets_status.entry(1))(5, &truth), 0);
  EXPECT_FALSE(truth);
  EXPECT_EQ(pointer<int (*)(double, bool *)>(gets_status.entry(1))(-5, &truth), -1);
  EXPECT_EQ(TakeError(), "ValueError: negative");

  const auto none = def<nothing>("f", arg("x") = 1, arg("y") = 4);
  EXPECT_EQ(Signatures(none), "dd->i d->i ->i");
  EXPECT_EQ(pointer<int (*)(double)>(none.entry(1))(-5), -1);
  EXPECT_EQ(TakeError(), "ValueError: negative");

  const auto back = def<root>("f", arg("x"), arg("factor") = 10);
  EXPECT_EQ(Signatures(back), "dd&d->i d&d->i");
  EXPECT_EQ(back.entry(1).flags, kBack);
  EXPECT_EQ(pointer<int (*)(double, double *)>(back.entry(1))(4, &value), 0);
  EXPECT_EQ(value, 20.0);
  EXPECT_NE(pointer<int (*)(double, double *)>(back.entry(1))(-4, &value), 0);
  EXPECT_EQ(TakeError(), "");

  const auto self = def<of_self>("f", typedcall::takes_self, arg("x"), arg("y") = 3);
  EXPECT_EQ(Signatures(self), "dd->d d->d");
  EXPECT_EQ(self.entry(1).flags, kTakesSelf | kNeedsThread);
  EXPECT_EQ(pointer<double (*)(PyObject *, double)>(self.entry(1))(Py_None, 5), 16.0);
}

int check(double *items, double factor) noexcept { return items == nullptr && factor > 0; }

// For a function with a status, "&d->i" would mean that the argument is the place of the value.
TEST(Defaults, MakeNoEntryThatSaysSomethingElse) {
  EXPECT_EQ(Signatures(def<check>("f", arg("items"), arg("factor") = 1, typedcall::returns_status)),
            "&dd->i");
}

double of_doubles(double x, double y) noexcept { return x + y; }
double of_mixed(double x, long y) noexcept { return x - static_cast<double>(y); }
long of_longs(long x, long y) noexcept { return x + y; }

TEST(Overloads, HaveDefaultsInCommon) {
  const auto made = def<of_longs, of_doubles, of_mixed>("f", arg("x") = 3, arg("y") = 2);
  ASSERT_EQ(made.fault, nullptr);
  ASSERT_EQ(made.shape->count, 3u);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < made.shape->entries; ++i) all.push_back(made.entry(i).signature);
  // Python never calls of_mixed(x, 2) or of_doubles(3, 2).
  EXPECT_EQ(all, (std::vector<std::string>{"ll->l", "dd->d", "dl->d", "l->l", "d->d", "->l"}));
  EXPECT_EQ(pointer<long (*)(long)>(made.entry(3))(5), 7);
  EXPECT_EQ(pointer<double (*)(double)>(made.entry(4))(0.5), 2.5);
  EXPECT_EQ(pointer<long (*)()>(made.entry(5))(), 5);
}

}  // namespace
