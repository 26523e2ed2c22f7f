// Tests typedcall::callback.

#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/resolve/callables.h"
#include "typedcall/callback.h"
#include "typedcall/provider.h"

namespace {

// A vector type of a C library.
struct vector_of_library {
  long count;
  double *values;
};

using vector = vector_of_library *;

}  // namespace

template <>
struct typedcall::elements_of<vector> {
  static typedcall::span<double> get(vector v) {
    return {v->values, static_cast<std::size_t>(v->count)};
  }
};

namespace {

using namespace resolve_test;
using typedcall::callback;
using typedcall::def;
using typedcall::span;

double half(double x) noexcept { return x / 2; }
double root(double x) {
  if (x < 0) throw std::domain_error("no root");
  return std::sqrt(x);
}
double sum(span<const double> x) noexcept {
  double total = 0;
  for (const double each : x) total += each;
  return total;
}
double squares(span<const double> x, span<double> gradient) {
  if (x.size() > 0 && x[0] < 0) throw std::domain_error("below 0");
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = 2 * x[i];
  return sum(x);
}
void decay(double t, span<const double> y, span<double> rate) {
  if (t < 0) throw std::domain_error("t below 0");
  for (std::size_t i = 0; i < rate.size(); ++i) rate[i] = -t * y[i];
}
int decay_with_status(double t, span<const double> y, span<double> rate) noexcept {
  for (std::size_t i = 0; i < rate.size(); ++i) rate[i] = -t * y[i];
  return t < 0 ? 5 : 0;
}

typedcall::method_table methods{
    def<half>("half"),
    def<root>("root", typedcall::falls_back),
    def<root>("raising_root"),
    def<sum>("sum"),
    def<squares>("squares", typedcall::falls_back),
    def<decay>("decay", typedcall::falls_back),
    def<decay_with_status>("decay_with_status"),
};

Ref Function(const char *name) { return FunctionOf(methods, name); }

using of_number = callback<double(double, void *), double(double)>;
using objective = double(unsigned, const double *, double *, void *);
using integrand = int(unsigned, const double *, void *, unsigned, double *);
using rate = int(double, const double *, double *, void *);

TEST(Callback, OfANumber) {
  for (const char *name : {"half", "root"}) {
    of_number f(Interface(), Function(name).get());
    ASSERT_TRUE(f) << TakeError();
    EXPECT_EQ(f.function()(4, f.data()), 2);
    EXPECT_TRUE(f.check());
  }
}

TEST(Callback, OfNothingThatFits) {
  of_number f(Interface(), Function("sum").get());
  EXPECT_FALSE(f);
  EXPECT_NE(TakeError().find("TypeError"), std::string::npos);
}

TEST(Callback, AnExceptionWaits) {
  for (const char *name : {"root", "raising_root"}) {
    of_number f(Interface(), Function(name).get(), 0, typedcall::checks_errors);
    ASSERT_TRUE(f) << TakeError();
    EXPECT_TRUE(std::isnan(f.function()(-4, f.data())));
    EXPECT_EQ(PyErr_Occurred(), nullptr);
    EXPECT_TRUE(std::isnan(f.function()(4, f.data()))) << "until it is told, nothing is called";
    EXPECT_FALSE(f.check());
    EXPECT_EQ(TakeError(), "ValueError: no root");
    EXPECT_TRUE(f.check());
    EXPECT_EQ(f.function()(4, f.data()), 2);
  }
}

int Count(PyObject *, void *count) {
  ++*static_cast<int *>(count);
  return 0;
}

TEST(Callback, TheCollectorSeesWhatWaits) {
  of_number f(Interface(), Function("root").get());
  int before = 0, after = 0;
  EXPECT_EQ(f.traverse(Count, &before), 0);
  f.function()(-4, f.data());
  EXPECT_EQ(f.traverse(Count, &after), 0);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 2);
  EXPECT_FALSE(f.check());
  PyErr_Clear();
}

TEST(Callback, FromAThreadThatIsNotPythons) {
  of_number f(Interface(), Function("root").get());
  double result = 0;
  Py_BEGIN_ALLOW_THREADS;
  std::thread([&] { result = f.function()(-4, f.data()); }).join();
  Py_END_ALLOW_THREADS;
  EXPECT_TRUE(std::isnan(result));
  EXPECT_FALSE(f.check());
  EXPECT_EQ(TakeError(), "ValueError: no root");
}

TEST(Callback, WhatIsPendingStays) {
  of_number f(Interface(), Function("root").get());
  PyErr_SetString(PyExc_KeyError, "mine");
  EXPECT_TRUE(std::isnan(f.function()(-4, f.data())));
  EXPECT_EQ(TakeError(), "KeyError: 'mine'");
  EXPECT_FALSE(f.check());
  EXPECT_EQ(TakeError(), "ValueError: no root");
}

TEST(Callback, NobodyAsks) {
  {
    of_number f(Interface(), Function("root").get());
    f.function()(-4, f.data());
  }
  EXPECT_EQ(TakeError(), "") << "sys.unraisablehook had it";
}

TEST(Callback, AGradient) {
  callback<objective, double(span<const double>, span<double>)> f(Interface(),
                                                                  Function("squares").get());
  ASSERT_TRUE(f) << TakeError();
  const double x[] = {1, 2, 3};
  double gradient[3] = {};
  EXPECT_EQ(f.function()(3, x, gradient, f.data()), 6);
  EXPECT_EQ(gradient[2], 6);
  EXPECT_EQ(f.function()(3, x, nullptr, f.data()), 6);
  const double wrong[] = {-1};
  f.set_error_value(INFINITY);
  EXPECT_EQ(f.function()(1, wrong, nullptr, f.data()), INFINITY);
  EXPECT_FALSE(f.check());
  EXPECT_EQ(TakeError(), "ValueError: below 0");
}

TEST(Callback, NoGradient) {
  callback<objective, double(span<const double>)> f(Interface(), Function("sum").get());
  const double x[] = {1, 2, 3};
  double gradient[3] = {};
  EXPECT_EQ(f.function()(3, x, nullptr, f.data()), 6);
  EXPECT_TRUE(std::isnan(f.function()(3, x, gradient, f.data())));
  EXPECT_FALSE(f.check());
  EXPECT_NE(TakeError().find("gradient"), std::string::npos);
}

TEST(Callback, LengthsThatTheLibraryDoesNotPass) {
  const double y[] = {1, 2};
  double dydt[2] = {};
  callback<rate, void(double, span<const double>, span<double>)> f(Interface(),
                                                                   Function("decay").get(), 2);
  ASSERT_TRUE(f) << TakeError();
  EXPECT_EQ(f.function()(3, y, dydt, f.data()), 0);
  EXPECT_EQ(dydt[1], -6);
  EXPECT_EQ(f.function()(-3, y, dydt, f.data()), -1);
  EXPECT_FALSE(f.check());
  EXPECT_EQ(TakeError(), "ValueError: t below 0");
  callback<rate, int(double, span<const double>, span<double>)> with_status(
      Interface(), Function("decay_with_status").get(), 2);
  EXPECT_EQ(with_status.function()(-3, y, dydt, with_status.data()), 5);
  EXPECT_TRUE(with_status.check());
}

TEST(Callback, ALibraryThatWantsNothingBack) {
  using rate_of_lsoda = void(double, const double *, double *, void *);
  const double y[] = {1, 2};
  double dydt[2] = {};
  callback<rate_of_lsoda, void(double, span<const double>, span<double>)> f(
      Interface(), Function("decay").get(), 2);
  ASSERT_TRUE(f) << TakeError();
  f.function()(3, y, dydt, f.data());
  EXPECT_EQ(dydt[1], -6);
  EXPECT_TRUE(f.check());
  f.function()(-3, y, dydt, f.data());
  EXPECT_FALSE(f.check());
  EXPECT_EQ(TakeError(), "ValueError: t below 0");
}

TEST(Callback, OneValueBehindAPointer) {
  callback<integrand, double(span<const double>)> f(Interface(), Function("sum").get());
  const double x[] = {1, 2, 3};
  double values[2] = {};
  EXPECT_EQ(f.function()(3, x, f.data(), 1, values), 0);
  EXPECT_EQ(values[0], 6);
  EXPECT_EQ(f.function()(3, x, f.data(), 2, values), -1);
  EXPECT_FALSE(f.check());
  EXPECT_NE(TakeError().find("one value"), std::string::npos);
}

TEST(Callback, ThePlaceKeepsItsValueIfTheFunctionRaises) {
  for (const char *name : {"root", "raising_root"}) {
    callback<int(double, void *, unsigned, double *), double(double)> f(
        Interface(), Function(name).get(), 0, typedcall::checks_errors);
    double value = 5;
    EXPECT_EQ(f.function()(-4, f.data(), 1, &value), -1);
    EXPECT_EQ(value, 5);
    EXPECT_FALSE(f.check());
    PyErr_Clear();
    EXPECT_EQ(f.function()(4, f.data(), 1, &value), 0);
    EXPECT_EQ(value, 2);
  }
}

TEST(Callback, LengthsBehindTheirArraysAndBelowNothing) {
  callback<double(double *, int, void *), double(span<const double>)> f(Interface(),
                                                                        Function("sum").get());
  double x[] = {1, 2, 3};
  EXPECT_EQ(f.function()(x, 2, f.data()), 3);
  EXPECT_TRUE(std::isnan(f.function()(x, -2, f.data())));
  EXPECT_FALSE(f.check());
  EXPECT_EQ(TakeError(), "ValueError: the library passes a negative length");
}

TEST(Callback, ATypeOfTheLibrarys) {
  callback<int(double, vector, vector, void *), void(double, span<const double>, span<double>)> f(
      Interface(), Function("decay").get());
  double y[] = {1, 2}, dydt[2] = {};
  vector_of_library from{2, y}, to{2, dydt};
  EXPECT_EQ(f.function()(3, &from, &to, f.data()), 0);
  EXPECT_EQ(dydt[1], -6);
}

}  // namespace
