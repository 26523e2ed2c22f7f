// Tests the engine behind sinks.
#include "typedcall/calling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/calling/overloads.h"
#include "tests/support/embedded.h"

namespace {

using namespace typedcall::calling;
using typedcall::native_value;
using typedcall::object_ref;
using typedcall_test::nothing_to_do;
using typedcall_test::of;

value_type type_of(const char *letters) {
  PyNativeSignature parsed;
  const std::string text = std::string(letters) + "->v";
  EXPECT_EQ(PyNativeSignature_ParseString(text.c_str(), &parsed, nullptr), 0) << letters;
  return value_type(parsed.args[0]);
}

converted outcome_of(const argument_value &value, const char *letters, native_value *out) {
  return convert(value, type_of(letters), out);
}
converted outcome_of(const argument_value &value, const char *letters) {
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
  EXPECT_EQ(outcome_of(argument_value::integer(-128), "b", out), converted::yes);
  EXPECT_EQ(out[0].get<std::int64_t>(), -128);
  EXPECT_EQ(outcome_of(argument_value::integer(-129), "b"), converted::out_of_range);
  EXPECT_EQ(outcome_of(argument_value::integer(-1), "L"), converted::out_of_range);
  EXPECT_EQ(outcome_of(argument_value::integer(INT64_MIN), "l"), converted::yes);
  EXPECT_EQ(outcome_of(argument_value::boolean(true), "H", out), converted::yes);
  EXPECT_EQ(out[0].get<std::int64_t>(), 1);
  EXPECT_EQ(outcome_of(argument_value::unsigned_integer(5), "b"), converted::yes);
  const argument_value large = argument_value::unsigned_integer(UINT64_MAX);
  EXPECT_EQ(outcome_of(large, "L", out), converted::yes);
  EXPECT_EQ(out[0].bits, UINT64_MAX);
  EXPECT_EQ(outcome_of(large, "l"), converted::out_of_range);
  EXPECT_EQ(outcome_of(large, "I"), converted::out_of_range);
  EXPECT_EQ(outcome_of(large, "d", out), converted::yes);
  EXPECT_EQ(out[0].get<double>(), 18446744073709551616.0);
  for (const char *letters : {"b", "L", "?"}) {
    EXPECT_EQ(outcome_of(argument_value::real(1.0), letters), converted::no) << letters;
    EXPECT_EQ(outcome_of(argument_value::text("1", 1), letters), converted::no) << letters;
    EXPECT_EQ(outcome_of(argument_value::nothing(), letters), converted::no) << letters;
  }
  EXPECT_EQ(outcome_of(argument_value::integer(2), "?", out), converted::yes);
  EXPECT_EQ(out[0].bits, 1u);
}

TEST(Take, Reals) {
  native_value out[2];
  EXPECT_EQ(outcome_of(argument_value::real(-0.0), "d", out), converted::yes);
  EXPECT_TRUE(std::signbit(out[0].get<double>()));
  EXPECT_EQ(outcome_of(argument_value::real(0.1), "f", out), converted::yes);
  EXPECT_EQ(out[0].get<float>(), 0.1f);
  EXPECT_EQ(outcome_of(argument_value::integer((INT64_C(1) << 53) + 1), "d", out), converted::yes);
  EXPECT_EQ(out[0].get<double>(), 9007199254740992.0);
  // Conversions to these types are left to Python.
  for (const char *letters : {"g", "Zd", "Zg", "O", "P"}) {
    EXPECT_EQ(outcome_of(argument_value::real(1.0), letters), converted::no) << letters;
    EXPECT_EQ(outcome_of(argument_value::integer(1), letters), converted::no) << letters;
  }
}

TEST(Take, TextsAndElements) {
  native_value out[2];
  const char text[] = "a\0b";
  EXPECT_EQ(outcome_of(argument_value::text(text, 3), "*s", out), converted::yes);
  EXPECT_EQ(out[0].get<const char *>(), text);
  EXPECT_EQ(out[1].get<std::int64_t>(), 3);
  EXPECT_EQ(outcome_of(argument_value::text(text, 3), "s"), converted::no);
  EXPECT_EQ(outcome_of(argument_value::text(text, 1), "s"), converted::yes);
  EXPECT_EQ(outcome_of(argument_value::text("\xff", 1), "*s"), converted::no);
  EXPECT_EQ(outcome_of(argument_value::text(nullptr, 0), "s"), converted::no);
  EXPECT_EQ(outcome_of(argument_value::text(text, 1), "&s"), converted::no);
  EXPECT_EQ(outcome_of(argument_value::bytes(text, 3), "s"), converted::no);
  EXPECT_EQ(outcome_of(argument_value::bytes(text, 3), "*kB", out), converted::yes);
  EXPECT_EQ(out[1].get<std::int64_t>(), 3);
  EXPECT_EQ(outcome_of(argument_value::bytes(text, 3), "*B"),
            converted::no);  // *B is not constant
  EXPECT_EQ(outcome_of(argument_value::bytes(text, 3), "*kb"), converted::no);
  double array[2] = {1, 2};
  argument_value doubles = {PyNativeArgumentKind_OTHER,
                            PyNativeKind_FLOATING,
                            8,
                            false,
                            native_value::of(&array[0]).bits,
                            2};
  EXPECT_EQ(outcome_of(doubles, "*d"), converted::yes);
  EXPECT_EQ(outcome_of(doubles, "*kd"), converted::yes);
  EXPECT_EQ(outcome_of(doubles, "*f"), converted::no);
  EXPECT_EQ(outcome_of(argument_value::nothing(), "*kd"), converted::no);
}

TEST(Take, Bools) {
  char bytes[3] = {0, 1, 1};
  argument_value bools = {
      PyNativeArgumentKind_OTHER, PyNativeKind_BOOL, 1, false, native_value::of(bytes).bits, 3};
  EXPECT_EQ(outcome_of(bools, "*k?"), converted::yes);
  bytes[1] = 2;
  EXPECT_EQ(outcome_of(bools, "*k?"), converted::no);  // a C bool is 0 or 1
  EXPECT_EQ(outcome_of(bools, "*?"), converted::yes);
  EXPECT_EQ(bytes[1], 2);
  const auto made = entry::make("*?->v", PyNativeCallable_THREAD_SAFE,
                                reinterpret_cast<void *>(nothing_to_do), "here");
  ASSERT_TRUE(made.has_value());
  EXPECT_FALSE(made->is_plain());
  const native_value values[] = {native_value::of(bytes), native_value::of(std::int64_t{3})};
  made->prepare(values);
  EXPECT_EQ(bytes[1], 1);
}

/// Returns the index of the chosen overload, or -1. Also checks that sorting the overloads first
/// gives the same result.
int chosen(const std::vector<const char *> &signatures,
           const std::vector<argument_value> &arguments) {
  const overloads made = of(signatures);
  native_value values[PyNativeSignature_MAX_ARGS + 1];
  const entry *const found = made.choose(arguments.data(), arguments.size(), values);
  overloads ordered;
  std::vector<const entry *> order;
  std::vector<unsigned char> worst(signatures.size()), ranks(worst.size() * arguments.size());
  made.rank(arguments.data(), arguments.size(), worst.data(), ranks.data());
  each_best(worst.data(), ranks.data(), worst.size(), arguments.size(), [&](std::size_t at) {
    ordered.all.push_back(made.all[at]);
    order.push_back(&made.all[at]);
    return true;
  });
  ordered.prepare_in_order();
  const entry *const again = ordered.choose(arguments.data(), arguments.size(), values);
  EXPECT_EQ(again == nullptr ? nullptr : order[static_cast<std::size_t>(again - &ordered.all[0])],
            found);
  return found == nullptr ? -1 : static_cast<int>(found - made.all.data());
}

TEST(Choice, TheBestOfTheWorst) {
  const argument_value one = argument_value::integer(1), half = argument_value::real(0.5);
  EXPECT_EQ(chosen({"d->d", "i->i"}, {one}), 1);
  EXPECT_EQ(chosen({"d->d", "i->i"}, {half}), 0);
  EXPECT_EQ(chosen({"f->f", "d->d"}, {half}), 1);
  EXPECT_EQ(chosen({"l->l", "?->?"}, {argument_value::boolean(true)}), 1);
  EXPECT_EQ(chosen({"?->?", "l->l"}, {one}), 1);
  EXPECT_EQ(chosen({"i->i", "s->v"}, {argument_value::text("x", 1)}), 1);
  EXPECT_EQ(chosen({"dd->d", "d->d"}, {half}), 1);
  EXPECT_EQ(chosen({"i->i", "l->l"}, {half}), -1);
}

TEST(Choice, AmongEqualsOneThatNoneBeats) {
  const argument_value one = argument_value::integer(1);
  EXPECT_EQ(chosen({"dd->d", "id->d", "di->d"}, {one, one}), 1);
  EXPECT_EQ(chosen({"dd->d", "di->d", "id->d"}, {one, one}), 1);
  EXPECT_EQ(chosen({"id->d", "di->d"}, {one, one}), 0);
  EXPECT_EQ(chosen({"dd->d", "id->d", "ii->d"}, {one, one}), 2);
}

TEST(Choice, AnIntThatIsTooLarge) {
  const argument_value large = argument_value::integer(INT64_C(1) << 40);
  EXPECT_EQ(chosen({"i->i", "d->d"}, {large}), -1);  // a double may lose digits
  EXPECT_EQ(chosen({"i->i", "l->l"}, {large}), 1);
  EXPECT_EQ(chosen({"id->d", "dd->d"}, {large, argument_value::integer(1)}), -1);
  EXPECT_EQ(chosen({"dd->d", "id->d", "di->d"}, {large, argument_value::integer(1)}), -1);
  EXPECT_EQ(chosen({"dd->d", "id->d", "ld->d"}, {large, argument_value::integer(1)}), 2);
  // The first argument already excludes the second overload, so the type of that overload's second
  // parameter does not matter.
  const argument_value middle = argument_value::integer(INT64_C(1) << 35),
                       one = argument_value::integer(1);
  EXPECT_EQ(chosen({"ill->d", "dil->d", "ldl->d", "lld->d"}, {large, middle, one}), 2);
}

TEST(Choice, WhatSuitsByItsKindOnlyIsPythons) {
  EXPECT_EQ(chosen({"s->v", "*s->v"}, {argument_value::text("\xff", 1)}), -1);
  EXPECT_EQ(chosen({"s->v", "*s->v"}, {argument_value::text("a\0b", 3)}), -1);
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
  const argument_value one = argument_value::integer(1), half = argument_value::real(0.5);
  EXPECT_EQ(made.choose(&one, 1, values), nullptr);  // that overload has no C function
  EXPECT_EQ(made.choose(&half, 1, values), &made.all[1]);
}

TEST(Box, MakesWhatPythonHas) {
  const auto text_of = [](const argument_value &value) {
    const object_ref made = box(value);
    const object_ref text = object_ref::steal(made ? PyObject_Repr(made.get()) : nullptr);
    return std::string(text ? PyUnicode_AsUTF8(text.get()) : "");
  };
  EXPECT_EQ(text_of(argument_value::boolean(true)), "True");
  EXPECT_EQ(text_of(argument_value::integer(-1)), "-1");
  EXPECT_EQ(text_of(argument_value::unsigned_integer(UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(text_of(argument_value::real(0.5)), "0.5");
  EXPECT_EQ(text_of(argument_value::text("a\0b", 3)), "'a\\x00b'");
  EXPECT_EQ(text_of(argument_value::bytes("a\0b", 3)), "b'a\\x00b'");
  EXPECT_EQ(text_of(argument_value::text(nullptr, 3)), "");
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_MemoryError));
  PyErr_Clear();
}

}  // namespace
