// Tests the engine's calls of entries, and how it falls back.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/calling/overloads.h"
#include "tests/support/embedded.h"
#include "typedcall/calling.h"

namespace {

using namespace typedcall::calling;
using typedcall::native_value;
using typedcall::object_ref;
using typedcall_test::nothing_to_do;
using typedcall_test::of;

TEST(Entry, IsRefused) {
  const auto refused = [](const char *signature, std::uintptr_t flags) {
    const auto made =
        entry::make(signature, flags, reinterpret_cast<void *>(nothing_to_do), "here");
    const bool is_told = PyErr_ExceptionMatches(PyExc_ValueError) != 0;
    PyErr_Clear();
    return !made && is_told;
  };
  EXPECT_TRUE(refused("d", 0));
  EXPECT_TRUE(refused("d->g", 0));  // no register holds a long double
  EXPECT_TRUE(refused("d->d", PyNativeCallable_TAKES_SELF));
  EXPECT_TRUE(refused("d->d", 0x8000));  // a future flag that callers must understand
  EXPECT_TRUE(refused("d->d", PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD));
}

double real_result;
int int_result;
bool sets_error;
int attached_in_call;

double give_real(double) {
  attached_in_call = PyGILState_Check();
  if (sets_error) PyErr_SetString(PyExc_KeyError, "here");
  return real_result;
}
int give_int(double) {
  if (sets_error) PyErr_SetString(PyExc_KeyError, "here");
  return int_result;
}
int give_in_place(double value, double *place) {
  attached_in_call = PyGILState_Check();
  *place = 2 * value;
  if (sets_error) PyErr_SetString(PyExc_KeyError, "here");
  return int_result;
}

template <class F>
outcome run(const char *signature, std::uintptr_t flags, F *function, double *result = nullptr) {
  const auto made = entry::make(signature, flags, reinterpret_cast<void *>(function), "here");
  EXPECT_TRUE(made.has_value());
  native_value values[3] = {native_value::of(4.0)};
  result_cell cell;
  const outcome found = made->run(values, &cell);
  if (result != nullptr) *result = *static_cast<const double *>(made->at(cell));
  EXPECT_EQ(found == outcome::raised, PyErr_Occurred() != nullptr);
  PyErr_Clear();
  return found;
}

TEST(Entry, TellsOutcomesApart) {
  constexpr std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;
  constexpr std::uintptr_t neg_zero = raises | PyNativeCallable_ERROR_IS_NEG_ZERO;
  double result;
  for (const bool with_error : {false, true}) {
    sets_error = with_error;
    const outcome failed = with_error ? outcome::raised : outcome::value;
    real_result = -1.0;
    EXPECT_EQ(run("d->d", raises, give_real, &result), failed);
    EXPECT_EQ(result, -1.0);
    real_result = -0.0;
    EXPECT_EQ(run("d->d", neg_zero, give_real), failed);
    int_result = -1;
    EXPECT_EQ(run("d->i", raises, give_int), failed);
  }
  sets_error = false;
  real_result = 0.0;
  EXPECT_EQ(run("d->d", neg_zero, give_real), outcome::value);
  int_result = 1;
  EXPECT_EQ(
      run("d&d->i", PyNativeCallable_RETURNS_STATUS | PyNativeCallable_NEEDS_THREAD, give_in_place),
      outcome::raised);  // SystemError, because no exception is set
  EXPECT_EQ(run("d&d->i", PyNativeCallable_FALLS_BACK, give_in_place), outcome::none);
  int_result = 0;
  EXPECT_EQ(run("d&d->i", PyNativeCallable_FALLS_BACK, give_in_place, &result), outcome::value);
  EXPECT_EQ(result, 8.0);
}

TEST(Entry, AnErrorValueOfItsOwnIsAskedAboutWhateverTheResult) {
  constexpr std::uintptr_t asks =
      PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD | PyNativeCallable_DIFFERS;
  real_result = 5.0;
  sets_error = true;
  EXPECT_EQ(run("d->d", asks, give_real), outcome::raised);
  sets_error = false;
  EXPECT_EQ(run("d->d", asks, give_real), outcome::value);
}

long double give_wide(PyObject *, bool *bools, std::size_t count) {
  return bools[0] + 0.5L * static_cast<long double>(count);
}

TEST(Entry, OfACallerThatCallsAll) {
  EXPECT_FALSE(entry::make("*?->g", PyNativeCallable_TAKES_SELF, nullptr, "here", true));
  PyErr_Clear();
  const auto made = entry::make("*?->g", PyNativeCallable_TAKES_SELF,
                                reinterpret_cast<void *>(give_wide), "here", true);
  ASSERT_TRUE(made.has_value());
  char bytes[3] = {7, 0, 1};
  native_value values[] = {native_value::of(Py_None), native_value::of(bytes),
                           native_value::of(std::int64_t{3})};
  made->prepare(values);
  EXPECT_EQ(bytes[0], 1);
  result_cell cell;
  EXPECT_EQ(made->run(values, &cell), outcome::value);
  EXPECT_EQ(*static_cast<const long double *>(made->at(cell)), 2.5L);
}

/// A test double for Python.
struct test_access {
  bool is_there = true;
  mutable int asked = 0;

  template <class Body>
  bool attached(PyObject *, const Body &body) const {
    ++asked;
    if (is_there) body();
    return is_there;
  }
  const char *why_detached() const { return "gone"; }
};

struct test_sink {
  PyObject *callable = nullptr;
  const test_access &where;
  std::vector<argument_value> arguments;
  double result = 0;
  bool is_null = false;
  std::string error = {};
  int boxed = 0;

  argument_value argument(std::size_t i) const { return arguments[i]; }
  void set_result(const value_type &type, const void *at) {
    result = type.real_in(type.bits_at(at));
  }
  void raised() {
    error = "raised";
    PyErr_Clear();
  }
  void detached(const char *why) { error = why; }
  bool settles(std::size_t) const { return is_null; }
  void fall_back(std::size_t count) { by_boxing(callable, where, count, *this); }
  object_ref box(std::size_t i) {
    ++boxed;
    return object_ref::steal(PyFloat_FromDouble(native_value{arguments[i].bits}.get<double>()));
  }
  bool set_result_object(PyObject *object) {
    result = PyFloat_AsDouble(object);
    return PyErr_Occurred() == nullptr;
  }
};

class Call : public testing::Test {
 protected:
  void SetUp() override {
    sets_error = false;
    real_result = 7.0;
    int_result = 0;
    scope_ = object_ref::steal(PyDict_New());
    const object_ref done = object_ref::steal(
        PyRun_String("def negated(x):\n  if x > 100: raise ValueError(x)\n  return -x",
                     Py_file_input, scope_.get(), scope_.get()));
    ASSERT_TRUE(done);
    callable_ = PyDict_GetItemString(scope_.get(), "negated");
  }

  test_sink call(const char *signature, std::uintptr_t flags, void *function,
                 const std::vector<argument_value> &arguments, const test_access &where = {}) {
    overloads functions;
    auto made = entry::make(signature, flags, function, "here");
    EXPECT_TRUE(made.has_value());
    if (made) functions.all.push_back(std::move(*made));
    functions.prepare();
    test_sink sink{callable_, where, arguments};
    typedcall::calling::call(functions, callable_, where, arguments.size(), sink);
    EXPECT_EQ(PyErr_Occurred(), nullptr);
    return sink;
  }

  void *const real_ = reinterpret_cast<void *>(give_real);
  void *const place_ = reinterpret_cast<void *>(give_in_place);
  object_ref scope_;
  PyObject *callable_ = nullptr;
};

TEST_F(Call, InTheThreadStateThatItWants) {
  const std::vector<argument_value> four = {argument_value::real(4.0)};
  test_access access;
  EXPECT_EQ(call("d->d", PyNativeCallable_THREAD_SAFE, real_, four, access).result, 7.0);
  EXPECT_EQ(access.asked, 0);
  EXPECT_EQ(attached_in_call, 1);  // still attached
  EXPECT_EQ(call("d->d", 0, real_, four, access).result, 7.0);
  EXPECT_EQ(access.asked, 1);  // the function is not declared thread-safe
  EXPECT_EQ(call("d->d", PyNativeCallable_ACQUIRES_GIL, real_, four, access).result, 7.0);
  EXPECT_EQ(attached_in_call, 0);
  EXPECT_EQ(call("d&d->i", PyNativeCallable_FALLS_BACK | PyNativeCallable_ACQUIRES_GIL, place_,
                 four, access)
                .result,
            8.0);
  EXPECT_EQ(attached_in_call, 0);
  EXPECT_EQ(access.asked, 1);
  access.is_there = false;
  EXPECT_EQ(call("d->d", 0, real_, four, access).error, "gone");
}

TEST_F(Call, FallsBackToPython) {
  const std::vector<argument_value> four = {argument_value::real(4.0)};
  int_result = 1;
  for (const std::uintptr_t hold : {PyNativeCallable_THREAD_SAFE, PyNativeCallable_ACQUIRES_GIL,
                                    PyNativeCallable_NEEDS_THREAD}) {
    const test_sink sink = call("d&d->i", PyNativeCallable_FALLS_BACK | hold, place_, four);
    EXPECT_EQ(sink.result, -4.0);
    EXPECT_EQ(sink.boxed, 1);
  }
  const test_sink sink = call("i->d", PyNativeCallable_THREAD_SAFE, real_, four);
  EXPECT_EQ(sink.result, -4.0);  // `i` accepts no float, so Python is called
  EXPECT_EQ(call("d->d", PyNativeCallable_THREAD_SAFE, real_, {four[0], four[0]}).error, "raised");
  EXPECT_EQ(call("i->d", PyNativeCallable_THREAD_SAFE, real_, {argument_value::real(101.0)}).error,
            "raised");
}

TEST_F(Call, MoreArgumentsThanASignatureHas) {
  const overloads functions = of({"d->d", "dd->d"});
  const test_access access;
  for (const std::size_t count : {127u, 128u, 200u}) {
    test_sink sink{callable_, access,
                   std::vector<argument_value>(count, argument_value::real(1.0))};
    typedcall::calling::call(functions, callable_, access, count, sink);
    EXPECT_EQ(sink.error, "raised") << count;  // TypeError: the Python function takes one argument
    EXPECT_EQ(PyErr_Occurred(), nullptr);
  }
}

TEST_F(Call, WhatIsRaisedIsTold) {
  sets_error = true;
  real_result = -1.0;
  const std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;
  EXPECT_EQ(call("d->d", raises, real_, {argument_value::real(4.0)}).error, "raised");
}

TEST_F(Call, ASinkMayAnswerByItself) {
  overloads functions = of({"i->d"});
  const test_access access;
  test_sink sink{callable_, access, {argument_value::nothing()}};
  sink.is_null = true;
  typedcall::calling::call(functions, callable_, access, 1, sink);
  EXPECT_EQ(sink.boxed, 0);
  EXPECT_EQ(sink.error, "");
}

}  // namespace
