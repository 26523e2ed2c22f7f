// Compares the plan for ranges of ints with the choice for each value at which a range or a type
// ends.
#include "typedcall/calling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/calling/overloads.h"

namespace {

using namespace typedcall::calling;
using typedcall::native_value;

constexpr wide_int kLeast = INT64_MIN, kMost = UINT64_MAX;
constexpr int_range kRanges[] = {{-128, 127},  {0, 255},       {kLeast, INT64_MAX},
                                 {0, kMost},   {300, 300},     {-1, -1},
                                 {200, 70000}, {kMost, kMost}, {kLeast, kMost}};

std::vector<wide_int> ends_in(const int_range &range) {
  std::vector<wide_int> found;
  for (const wide_int end : {kLeast, wide_int{-129}, wide_int{-128}, wide_int{-1}, wide_int{0},
                             wide_int{127}, wide_int{128}, wide_int{255}, wide_int{256},
                             wide_int{INT64_MAX}, wide_int{INT64_MAX} + 1, kMost}) {
    if (range.low < end && end < range.high) found.push_back(end);
  }
  found.push_back(range.low);
  if (range.low != range.high) found.push_back(range.high);
  return found;
}

argument_value argument_value_of(wide_int value) {
  return value < 0 ? argument_value::integer(static_cast<std::int64_t>(value))
                   : argument_value::unsigned_integer(static_cast<std::uint64_t>(value));
}

plan plan_of(const overloads &functions, const std::vector<int_range> &ranges,
             std::size_t most = SIZE_MAX) {
  return plan_of(functions, std::vector<argument_value>(ranges.size(), argument_value::integer(0)),
                 ranges, most);
}

/// Takes the steps for these values. Returns the step that accepts them, or null.
const step *taken_by(const plan &made, const overloads &functions,
                     const std::vector<wide_int> &values) {
  std::vector<bool> is_too_large(values.size());
  for (const step &each : made.steps) {
    const auto &parameters = functions.all[each.overload].parameters;
    bool is_blocked = false, fits = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!parameters[i].loses_digits) continue;
      is_blocked |= is_too_large[i];
      EXPECT_NE(each.fits[i], is_too_large[i] ? fit::yes : fit::no);
    }
    for (std::size_t i = 0; i < values.size() && !is_blocked; ++i) {
      if (!parameters[i].is_integer) continue;
      const bool is_in_range =
          int_range::of(parameters[i].type).includes(int_range{values[i], values[i]});
      EXPECT_NE(each.fits[i], is_in_range ? fit::no : fit::yes);
      if (!is_in_range) is_too_large[i] = true, fits = false;
    }
    if (!is_blocked && fits) return &each;
  }
  return nullptr;
}

/// Compares the plan with the choice for all these values. Returns the number of reachable steps
/// that no value takes.
std::size_t compare(const std::vector<const char *> &signatures,
                    const std::vector<int_range> &ranges) {
  const overloads functions = typedcall_test::of(signatures);
  const plan made = plan_of(functions, ranges);
  std::vector<bool> is_taken(made.steps.size());
  std::vector<std::vector<wide_int>> calls = {{}};
  for (const int_range &range : ranges) {
    std::vector<std::vector<wide_int>> longer;
    for (const auto &call : calls) {
      for (const wide_int value : ends_in(range)) {
        longer.push_back(call);
        longer.back().push_back(value);
      }
    }
    calls = std::move(longer);
  }
  for (const auto &call : calls) {
    std::vector<argument_value> arguments;
    for (const wide_int value : call) arguments.push_back(argument_value_of(value));
    native_value values[5];
    const entry *const wanted = functions.choose(arguments.data(), arguments.size(), values);
    const step *const found = taken_by(made, functions, call);
    EXPECT_EQ(found == nullptr ? nullptr : &functions.all[found->overload], wanted);
    if (found == nullptr) continue;
    EXPECT_TRUE(found->is_reachable);
    is_taken[static_cast<std::size_t>(found - made.steps.data())] = true;
  }
  std::size_t unused = 0;
  for (std::size_t at = 0; at < made.steps.size(); ++at) {
    unused += made.steps[at].is_reachable && !is_taken[at] ? 1 : 0;
  }
  return unused;
}

TEST(Plan, IsTheChoiceForEachValueOfOneArgument) {
  const std::vector<const char *> all = {"b->d", "B->d", "h->d", "l->d", "L->d", "f->d", "d->d"};
  for (const int_range &range : kRanges) {
    for (const char *one : all) {
      for (const char *two : all) {
        for (const char *three : all) EXPECT_EQ(compare({one, two, three}, {range}), 0u);
      }
    }
  }
}

TEST(Plan, IsTheChoiceForEachValueOfTwoArguments) {
  std::vector<std::string> all;
  for (const char one : {'b', 'l', 'L', 'd'}) {
    for (const char two : {'b', 'B', 'l', 'd'}) all.push_back({one, two, '-', '>', 'd'});
  }
  std::size_t number = 0, unused = 0;
  for (const auto &one : all) {
    for (const auto &two : all) {
      for (const auto &three : all) {
        // Every set meets some ranges, and every pair of ranges some sets.
        for (int i = 0; i < 4; ++i, number += 2) {
          const int_range first = kRanges[number % 9], second = kRanges[number / 9 % 9];
          unused += compare({one.c_str(), two.c_str(), three.c_str()}, {first, second});
          if (HasFailure()) FAIL() << one << " " << two << " " << three << " " << number;
        }
      }
    }
  }
  EXPECT_EQ(unused, 0u);
}

TEST(Plan, AnOverloadThatIsSkippedMarksNoInt) {
  // If the first int is too large for `b`, the second overload is not tried, so its `b` does not
  // keep the last overload from making the second int a double.
  const overloads functions = typedcall_test::of({"bl->d", "db->d", "ld->d"});
  const plan made = plan_of(functions, {{300, 300}, {1000, 1000}});
  ASSERT_EQ(made.steps.size(), 2u);
  EXPECT_EQ(made.steps[1].overload, 2u);
  EXPECT_EQ(made.steps[1].fits, (std::vector<fit>{fit::yes, fit::yes}));
  // Other values take the first overload, or the second has no room for 1000.
  EXPECT_EQ(compare({"bl->d", "db->d", "ld->d"}, {{-128, 300}, {1000, 1000}}), 0u);
  EXPECT_EQ(compare({"bb->d", "db->d", "ld->d"}, {{-128, 300}, {1000, 1000}}), 0u);
}

TEST(Plan, WhatMayFollow) {
  const overloads functions = typedcall_test::of({"b->d", "h->d", "d->d", "l->d", "ll->d"});
  const plan made = plan_of(functions, {{kLeast, INT64_MAX}}, 1);
  EXPECT_EQ(made.steps.size(), 1u);
  EXPECT_EQ(made.later, (std::vector<std::size_t>{1, 3}));
  EXPECT_TRUE(plan_of(functions, {{kLeast, INT64_MAX}}).later.empty());
  EXPECT_TRUE(plan_of(functions, {{0, 1}, {0, 1}}, 1).later.empty());
}

TEST(Plan, TheTypeOfSeveralResults) {
  const auto together = [](const std::string &codes) {
    PyNativeSignature parsed;
    EXPECT_EQ(PyNativeSignature_ParseString((codes + "->v").c_str(), &parsed, nullptr), 0);
    PyNativeType all = {PyNativeType_VOID, 0};
    for (int i = 0; i < parsed.nargs; ++i) {
      if (!add_result(&all, parsed.args[i])) return std::string("none");
    }
    return std::string(PyNativeCode_Letters(all.code));
  };
  EXPECT_EQ(together(""), "v");
  for (const auto &[codes, wanted] : std::vector<std::pair<const char *, const char *>>{
           {"bh", "h"},      {"hb", "h"},    {"bB", "h"},     {"Hb", "i"},    {"Il", "l"},
           {"lL", "l"},      {"Ql", "l"},    {"qnl", "q"},    {"fd", "d"},    {"df", "d"},
           {"gf", "g"},      {"ZfZd", "Zd"}, {"??", "?"},     {"ss", "s"},    {"OO", "O"},
           {"id", "none"},   {"?i", "none"}, {"dZd", "none"}, {"sO", "none"}, {"iI", "l"},
           {"&d&i", "none"}, {"&dd", "none"}}) {
    EXPECT_EQ(together(codes), wanted) << codes;
  }
}

}  // namespace
