// Tests the engine behind sinks.
#include "typedcall/calling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/embedded.h"

namespace {

using namespace typedcall::calling;
using typedcall::native_value;
using typedcall::object_ref;

value_type type_of(const char *letters) {
  PyNativeSignature parsed;
  const std::string text = std::string(letters) + "->v";
  EXPECT_EQ(PyNativeSignature_ParseString(text.c_str(), &parsed, nullptr), 0) << letters;
  return value_type(parsed.args[0]);
}

taken outcome_of(const given &value, const char *letters, native_value *out) {
  return take(value, type_of(letters), out);
}
taken outcome_of(const given &value, const char *letters) {
  native_value out[2];
  return outcome_of(value, letters, out);
}

TEST(ThreadState, IsReleasedAndTakenAgain) {
  ASSERT_NE(PyTypedcall_IsAttached(), 0);
  PyThreadState *thread = detach();
  EXPECT_NE(thread, nullptr);
  EXPECT_EQ(PyTypedcall_IsAttached(), 0);
  EXPECT_EQ(detach(), nullptr) << "there is nothing to release";
  reattach(nullptr);
  EXPECT_EQ(PyTypedcall_IsAttached(), 0);
  reattach(thread);
  EXPECT_NE(PyTypedcall_IsAttached(), 0);
}

TEST(Convert, IntsOfOneDigit) {
  using typedcall_test::Ref;
  for (const long long expected : {0LL, 1LL, -1LL, 1000LL, -1000LL}) {
    Ref integer = Ref::Steal(PyLong_FromLongLong(expected));
    long value = 5;
    EXPECT_TRUE(typedcall::internal::short_int(integer.get(), &value)) << expected;
    EXPECT_EQ(value, expected);
  }
  for (const long long longer : {1LL << 40, -(1LL << 40)}) {
    Ref integer = Ref::Steal(PyLong_FromLongLong(longer));
    long value;
    EXPECT_FALSE(typedcall::internal::short_int(integer.get(), &value)) << longer;
  }
}

TEST(Take, Integers) {
  native_value out[2];
  EXPECT_EQ(outcome_of(given::integer(-128), "b", out), taken::yes);
  EXPECT_EQ(out[0].get<std::int64_t>(), -128);
  EXPECT_EQ(outcome_of(given::integer(-129), "b"), taken::out_of_range);
  EXPECT_EQ(outcome_of(given::integer(-1), "L"), taken::out_of_range);
  EXPECT_EQ(outcome_of(given::integer(INT64_MIN), "l"), taken::yes);
  EXPECT_EQ(outcome_of(given::boolean(true), "H", out), taken::yes);
  EXPECT_EQ(out[0].get<std::int64_t>(), 1);
  EXPECT_EQ(outcome_of(given::unsigned_integer(5), "b"), taken::yes);
  const given large = given::unsigned_integer(UINT64_MAX);
  EXPECT_EQ(outcome_of(large, "L", out), taken::yes);
  EXPECT_EQ(out[0].bits, UINT64_MAX);
  EXPECT_EQ(outcome_of(large, "l"), taken::out_of_range);
  EXPECT_EQ(outcome_of(large, "I"), taken::out_of_range);
  EXPECT_EQ(outcome_of(large, "d", out), taken::yes);
  EXPECT_EQ(out[0].get<double>(), 18446744073709551616.0);
  for (const char *letters : {"b", "L", "?"}) {
    EXPECT_EQ(outcome_of(given::real(1.0), letters), taken::no) << letters;
    EXPECT_EQ(outcome_of(given::text("1", 1), letters), taken::no) << letters;
    EXPECT_EQ(outcome_of(given::nothing(), letters), taken::no) << letters;
  }
  EXPECT_EQ(outcome_of(given::integer(2), "?", out), taken::yes);
  EXPECT_EQ(out[0].bits, 1u);
}

TEST(Take, Reals) {
  native_value out[2];
  EXPECT_EQ(outcome_of(given::real(-0.0), "d", out), taken::yes);
  EXPECT_TRUE(std::signbit(out[0].get<double>()));
  EXPECT_EQ(outcome_of(given::real(0.1), "f", out), taken::yes);
  EXPECT_EQ(out[0].get<float>(), 0.1f);
  EXPECT_EQ(outcome_of(given::integer((INT64_C(1) << 53) + 1), "d", out), taken::yes);
  EXPECT_EQ(out[0].get<double>(), 9007199254740992.0);
  // Conversions to these types are left to Python.
  for (const char *letters : {"g", "Zd", "Zg", "O", "P"}) {
    EXPECT_EQ(outcome_of(given::real(1.0), letters), taken::no) << letters;
    EXPECT_EQ(outcome_of(given::integer(1), letters), taken::no) << letters;
  }
}

TEST(Take, TextsAndElements) {
  native_value out[2];
  const char text[] = "a\0b";
  EXPECT_EQ(outcome_of(given::text(text, 3), "*s", out), taken::yes);
  EXPECT_EQ(out[0].get<const char *>(), text);
  EXPECT_EQ(out[1].get<std::int64_t>(), 3);
  EXPECT_EQ(outcome_of(given::text(text, 3), "s"), taken::no);
  EXPECT_EQ(outcome_of(given::text(text, 1), "s"), taken::yes);
  EXPECT_EQ(outcome_of(given::text("\xff", 1), "*s"), taken::no);
  EXPECT_EQ(outcome_of(given::text(nullptr, 0), "s"), taken::no);
  EXPECT_EQ(outcome_of(given::text(text, 1), "&s"), taken::no);
  EXPECT_EQ(outcome_of(given::bytes(text, 3), "s"), taken::no);
  EXPECT_EQ(outcome_of(given::bytes(text, 3), "*kB", out), taken::yes);
  EXPECT_EQ(out[1].get<std::int64_t>(), 3);
  EXPECT_EQ(outcome_of(given::bytes(text, 3), "*B"), taken::no);  // *B is not constant
  EXPECT_EQ(outcome_of(given::bytes(text, 3), "*kb"), taken::no);
  double array[2] = {1, 2};
  given doubles = {PyNativeArgumentKind_OTHER,
                   PyNativeKind_FLOATING,
                   8,
                   false,
                   native_value::of(&array[0]).bits,
                   2};
  EXPECT_EQ(outcome_of(doubles, "*d"), taken::yes);
  EXPECT_EQ(outcome_of(doubles, "*kd"), taken::yes);
  EXPECT_EQ(outcome_of(doubles, "*f"), taken::no);
  EXPECT_EQ(outcome_of(given::nothing(), "*kd"), taken::no);
}

void nothing_to_do() {}

TEST(Take, Bools) {
  char bytes[3] = {0, 1, 1};
  given bools = {
      PyNativeArgumentKind_OTHER, PyNativeKind_BOOL, 1, false, native_value::of(bytes).bits, 3};
  EXPECT_EQ(outcome_of(bools, "*k?"), taken::yes);
  bytes[1] = 2;
  EXPECT_EQ(outcome_of(bools, "*k?"), taken::no);  // a C bool is 0 or 1
  EXPECT_EQ(outcome_of(bools, "*?"), taken::yes);
  EXPECT_EQ(bytes[1], 2);
  const auto made = entry::make("*?->v", PyNativeCallable_THREAD_SAFE,
                                reinterpret_cast<void *>(nothing_to_do), "here");
  ASSERT_TRUE(made.has_value());
  EXPECT_FALSE(made->is_plain());
  const native_value values[] = {native_value::of(bytes), native_value::of(std::int64_t{3})};
  made->prepare(values);
  EXPECT_EQ(bytes[1], 1);
}

overloads of(const std::vector<const char *> &signatures) {
  overloads made;
  for (const char *signature : signatures) {
    auto found = entry::make(signature, PyNativeCallable_THREAD_SAFE,
                             reinterpret_cast<void *>(nothing_to_do), "here");
    EXPECT_TRUE(found.has_value()) << signature;
    if (found) made.all.push_back(std::move(*found));
  }
  made.prepare();
  return made;
}

/// Returns the index of the chosen overload, or -1. Also checks that sorting the overloads first
/// gives the same result.
int chosen(const std::vector<const char *> &signatures, const std::vector<given> &arguments) {
  const overloads made = of(signatures);
  native_value values[PyNativeSignature_MAX_ARGS + 1];
  const entry *const found = made.choose(arguments.data(), arguments.size(), values);
  overloads ordered;
  std::vector<const entry *> order;
  made.each_in_order(arguments.data(), arguments.size(), [&](const entry &each) {
    ordered.all.push_back(each);
    order.push_back(&each);
    return true;
  });
  ordered.prepare_in_order();
  const entry *const again = ordered.choose(arguments.data(), arguments.size(), values);
  EXPECT_EQ(again == nullptr ? nullptr : order[static_cast<std::size_t>(again - &ordered.all[0])],
            found);
  return found == nullptr ? -1 : static_cast<int>(found - made.all.data());
}

TEST(Choice, TheBestOfTheWorst) {
  const given one = given::integer(1), half = given::real(0.5);
  EXPECT_EQ(chosen({"d->d", "i->i"}, {one}), 1);
  EXPECT_EQ(chosen({"d->d", "i->i"}, {half}), 0);
  EXPECT_EQ(chosen({"f->f", "d->d"}, {half}), 1);
  EXPECT_EQ(chosen({"l->l", "?->?"}, {given::boolean(true)}), 1);
  EXPECT_EQ(chosen({"?->?", "l->l"}, {one}), 1);
  EXPECT_EQ(chosen({"i->i", "s->v"}, {given::text("x", 1)}), 1);
  EXPECT_EQ(chosen({"dd->d", "d->d"}, {half}), 1);
  EXPECT_EQ(chosen({"i->i", "l->l"}, {half}), -1);
}

TEST(Choice, AmongEqualsOneThatNoneBeats) {
  const given one = given::integer(1);
  EXPECT_EQ(chosen({"dd->d", "id->d", "di->d"}, {one, one}), 1);
  EXPECT_EQ(chosen({"dd->d", "di->d", "id->d"}, {one, one}), 1);
  EXPECT_EQ(chosen({"id->d", "di->d"}, {one, one}), 0);
  EXPECT_EQ(chosen({"dd->d", "id->d", "ii->d"}, {one, one}), 2);
}

TEST(Choice, AnIntThatIsTooLarge) {
  const given large = given::integer(INT64_C(1) << 40);
  EXPECT_EQ(chosen({"i->i", "d->d"}, {large}), -1);  // a double may lose digits
  EXPECT_EQ(chosen({"i->i", "l->l"}, {large}), 1);
  EXPECT_EQ(chosen({"id->d", "dd->d"}, {large, given::integer(1)}), -1);
  EXPECT_EQ(chosen({"dd->d", "id->d", "di->d"}, {large, given::integer(1)}), -1);
  EXPECT_EQ(chosen({"dd->d", "id->d", "ld->d"}, {large, given::integer(1)}), 2);
  // The first argument already excludes the second overload, so the type of that overload's second
  // parameter does not matter.
  const given middle = given::integer(INT64_C(1) << 35), one = given::integer(1);
  EXPECT_EQ(chosen({"ill->d", "dil->d", "ldl->d", "lld->d"}, {large, middle, one}), 2);
}

TEST(Choice, WhatSuitsByItsKindOnlyIsPythons) {
  EXPECT_EQ(chosen({"s->v", "*s->v"}, {given::text("\xff", 1)}), -1);
  EXPECT_EQ(chosen({"s->v", "*s->v"}, {given::text("a\0b", 3)}), -1);
}

TEST(Choice, AnEntryThatTheSinkDoesNotCallIsRanked) {
  overloads made;
  for (void *address : {static_cast<void *>(nullptr), reinterpret_cast<void *>(nothing_to_do)}) {
    const char *signature = address == nullptr ? "l->O" : "d->d";
    auto found = entry::make(signature, PyNativeCallable_THREAD_SAFE, address, "here");
    ASSERT_TRUE(found.has_value());
    made.all.push_back(std::move(*found));
  }
  made.prepare();
  EXPECT_EQ(made.alone(), nullptr);
  EXPECT_EQ(made.first(PyNativeArgumentKind_INT), nullptr);
  EXPECT_EQ(made.first(PyNativeArgumentKind_FLOAT), &made.all[1]);
  native_value values[2];
  const given one = given::integer(1), half = given::real(0.5);
  EXPECT_EQ(made.choose(&one, 1, values), nullptr);  // that overload has no C function
  EXPECT_EQ(made.choose(&half, 1, values), &made.all[1]);
}

TEST(Box, MakesWhatPythonHas) {
  const auto text_of = [](const given &value) {
    const object_ref made = box(value);
    const object_ref text = object_ref::steal(made ? PyObject_Repr(made.get()) : nullptr);
    return std::string(text ? PyUnicode_AsUTF8(text.get()) : "");
  };
  EXPECT_EQ(text_of(given::boolean(true)), "True");
  EXPECT_EQ(text_of(given::integer(-1)), "-1");
  EXPECT_EQ(text_of(given::unsigned_integer(UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(text_of(given::real(0.5)), "0.5");
  EXPECT_EQ(text_of(given::text("a\0b", 3)), "'a\\x00b'");
  EXPECT_EQ(text_of(given::bytes("a\0b", 3)), "b'a\\x00b'");
  EXPECT_EQ(text_of(given::text(nullptr, 3)), "");
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_MemoryError));
  PyErr_Clear();
}

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
struct test_home {
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
  const test_home &where;
  std::vector<given> arguments;
  double result = 0;
  bool is_null = false;
  std::string error = {};
  int boxed = 0;

  given look(std::size_t i) const { return arguments[i]; }
  void give(const value_type &type, const void *at) { result = type.real_in(type.bits_at(at)); }
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
  bool give_object(PyObject *object) {
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
                 const std::vector<given> &arguments, const test_home &where = {}) {
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
  const std::vector<given> four = {given::real(4.0)};
  test_home home;
  EXPECT_EQ(call("d->d", PyNativeCallable_THREAD_SAFE, real_, four, home).result, 7.0);
  EXPECT_EQ(home.asked, 0);
  EXPECT_EQ(attached_in_call, 1);  // still attached
  EXPECT_EQ(call("d->d", 0, real_, four, home).result, 7.0);
  EXPECT_EQ(home.asked, 1);  // the function is not declared thread-safe
  EXPECT_EQ(call("d->d", PyNativeCallable_ACQUIRES_GIL, real_, four, home).result, 7.0);
  EXPECT_EQ(attached_in_call, 0);
  EXPECT_EQ(call("d&d->i", PyNativeCallable_FALLS_BACK | PyNativeCallable_ACQUIRES_GIL, place_,
                 four, home)
                .result,
            8.0);
  EXPECT_EQ(attached_in_call, 0);
  EXPECT_EQ(home.asked, 1);
  home.is_there = false;
  EXPECT_EQ(call("d->d", 0, real_, four, home).error, "gone");
}

TEST_F(Call, FallsBackToPython) {
  const std::vector<given> four = {given::real(4.0)};
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
  EXPECT_EQ(call("i->d", PyNativeCallable_THREAD_SAFE, real_, {given::real(101.0)}).error,
            "raised");
}

TEST_F(Call, MoreArgumentsThanASignatureHas) {
  const overloads functions = of({"d->d", "dd->d"});
  const test_home home;
  for (const std::size_t count : {127u, 128u, 200u}) {
    test_sink sink{callable_, home, std::vector<given>(count, given::real(1.0))};
    typedcall::calling::call(functions, callable_, home, count, sink);
    EXPECT_EQ(sink.error, "raised") << count;  // TypeError: the Python function takes one argument
    EXPECT_EQ(PyErr_Occurred(), nullptr);
  }
}

TEST_F(Call, WhatIsRaisedIsTold) {
  sets_error = true;
  real_result = -1.0;
  const std::uintptr_t raises = PyNativeCallable_MAY_RAISE | PyNativeCallable_NEEDS_THREAD;
  EXPECT_EQ(call("d->d", raises, real_, {given::real(4.0)}).error, "raised");
}

TEST_F(Call, ASinkMayAnswerByItself) {
  overloads functions = of({"i->d"});
  const test_home home;
  test_sink sink{callable_, home, {given::nothing()}};
  sink.is_null = true;
  typedcall::calling::call(functions, callable_, home, 1, sink);
  EXPECT_EQ(sink.boxed, 0);
  EXPECT_EQ(sink.error, "");
}

}  // namespace
