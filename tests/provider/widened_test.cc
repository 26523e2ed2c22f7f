// Tests the entries that def() makes with the effect `widened`.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/provider/entries_of.h"
#include "tests/support/embedded.h"
#include "typedcall/provider.h"

namespace {

using provider_test::pointer;
using provider_test::Signatures;
using typedcall::arg;
using typedcall::def;
using typedcall::widened;
using typedcall_test::TakeError;

constexpr std::uintptr_t kNeedsThread = 0x0001, kMayRaise = 0x0004, kBack = 0x0100,
                         kPure = 0x020000;

/// Calls a wrapper with one argument, as Python would.
double Boxed(const typedcall::method &made, double x) {
  PyObject *argument = PyFloat_FromDouble(x);
  PyObject *result = made.function(nullptr, argument);  // METH_O
  EXPECT_NE(result, nullptr);
  const double value = PyFloat_AsDouble(result);
  Py_XDECREF(result);
  Py_DECREF(argument);
  return value;
}

float third(float x) noexcept { return x / 3; }
float mixed(float x, int n, double y) noexcept { return x + static_cast<float>(n * y); }
double from_float(float x) noexcept { return x; }
void nothing(float) noexcept {}
double third_of_double(double x) noexcept { return x / 3; }
float thrown(float x) {
  if (x < 0) throw std::domain_error("below zero");
  return -x;
}
std::optional<float> root(float x) noexcept {
  return x < 0 ? std::optional<float>() : std::sqrt(x);
}
std::complex<float> turned(std::complex<float> z) noexcept { return {-z.imag(), z.real()}; }
float power(float x, float y) noexcept { return std::pow(x, y); }
double mean(const float *values, float weight) noexcept { return values[0] * weight; }

TEST(Widened, OffersDoubleBesideFloat) {
  const auto made = def<third>("third", widened | typedcall::pure);
  EXPECT_EQ(Signatures(made), "f->f d->d");
  EXPECT_EQ(made.entry(0).funcptr, reinterpret_cast<void *>(&third));
  EXPECT_EQ(made.entry(1).flags, kPure);
  const auto wide = pointer<double (*)(double)>(made.entry(1));
  const double huge = std::numeric_limits<double>::max();
  for (const double x :
       {1.0, 0.1, -0.0, 1e300, huge, -huge, 1e-320, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(wide(x), Boxed(made, x)) << x;
    EXPECT_EQ(std::signbit(wide(x)), std::signbit(Boxed(made, x))) << x;
  }
  EXPECT_TRUE(std::isnan(wide(std::nan(""))));
  EXPECT_NE(wide(0.1), 0.1 / 3) << "a float is between";
  EXPECT_EQ(made.shape->count, 1u) << "one function to Python";
}

TEST(Widened, LeavesOtherTypesAsTheyAre) {
  const auto made = def<mixed>("mixed", widened);
  EXPECT_EQ(Signatures(made), "fid->f did->d");
  EXPECT_EQ(pointer<double (*)(double, int, double)>(made.entry(1))(0.5, 2, 0.25), 1.0);
  EXPECT_EQ(Signatures(def<from_float>("from_float", widened)), "f->d d->d");
  EXPECT_EQ(Signatures(def<nothing>("nothing", widened)), "f->v d->v");
  EXPECT_EQ(Signatures(def<mean>("mean", widened)), "&kff->d &kfd->d");
}

TEST(Widened, OffersNoneTwice) {
  EXPECT_EQ(Signatures(def<third, third_of_double>("third", typedcall::pure)), "f->f d->d");
  EXPECT_EQ(Signatures(def<third, from_float, mixed>("several", widened)),
            "f->f f->d fid->f d->d did->d");
}

TEST(Widened, LetsErrorsThrough) {
  const auto made = def<thrown>("thrown", widened);
  EXPECT_EQ(Signatures(made), "f->f d->d");
  EXPECT_EQ(made.entry(1).flags, kMayRaise | kNeedsThread);
  const auto wide = pointer<double (*)(double)>(made.entry(1));
  EXPECT_EQ(wide(1.0), -1.0);
  EXPECT_EQ(PyErr_Occurred(), nullptr);
  EXPECT_EQ(wide(-1.0), -1.0);
  EXPECT_EQ(TakeError(), "ValueError: below zero");
}

TEST(Widened, PassesTheValueOfAStatusOn) {
  const auto made = def<root>("root", widened);
  EXPECT_EQ(Signatures(made), "f&f->i d&d->i");
  EXPECT_EQ(made.entry(1).flags, kBack);
  const auto wide = pointer<int (*)(double, double *)>(made.entry(1));
  double value = 7;
  EXPECT_EQ(wide(2.0, &value), 0);
  EXPECT_EQ(value, static_cast<double>(std::sqrt(2.0F)));
  EXPECT_EQ(value, Boxed(made, 2.0));
  EXPECT_NE(wide(-2.0, &value), 0);
  EXPECT_EQ(value, static_cast<double>(std::sqrt(2.0F))) << "untouched";
}

TEST(Widened, KnowsComplexNumbers) {
  const auto made = def<turned>("turned", widened);
  EXPECT_EQ(Signatures(made), "Zf->Zf Zd->Zd");
  using number = PyNativeType_ComplexDouble;
  number given{};
  __real__ given = 1.5;
  __imag__ given = -2.5;
  const number turned_ = pointer<number (*)(number)>(made.entry(1))(given);
  EXPECT_EQ(__real__ turned_, 2.5);
  EXPECT_EQ(__imag__ turned_, 1.5);
}

TEST(Widened, OffersDefaultsToo) {
  const auto made = def<power>("power", widened, arg("x"), arg("y") = 2.0F);
  EXPECT_EQ(Signatures(made), "ff->f f->f dd->d d->d");
  EXPECT_EQ(pointer<double (*)(double, double)>(made.entry(2))(2.0, 3.0), 8.0);
  EXPECT_EQ(pointer<double (*)(double)>(made.entry(3))(3.0), 9.0);
  EXPECT_EQ(Signatures(def<power>("power", widened, arg("x"), arg("y"))), "ff->f dd->d");
  EXPECT_EQ(Signatures(def<third>("third", widened, arg("x"))), "f->f d->d");
}

}  // namespace
