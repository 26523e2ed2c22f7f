// Tests the pass over arrays with inner loops of NumPy's kind, and the conversions of its elements.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/embedded.h"
#include "typedcall/calling.h"

namespace {

using namespace typedcall::calling;
using typedcall::native_value;

std::vector<std::intptr_t> lengths;  // of the calls of a loop
std::intptr_t raise_at = -1;         // the element after which a loop raises

template <class In, class Out>
void twice(char **args, const std::intptr_t *dimensions, const std::intptr_t *steps, void *data) {
  lengths.push_back(dimensions[0]);
  *static_cast<std::intptr_t *>(data) += dimensions[0];
  for (std::intptr_t i = 0; i < dimensions[0]; ++i) {
    In value;
    std::memcpy(&value, args[0] + i * steps[0], sizeof(value));
    const Out result = static_cast<Out>(2 * value);
    std::memcpy(args[1] + i * steps[1], &result, sizeof(result));
    if (--raise_at == 0) PyErr_SetString(PyExc_KeyError, "here");
  }
}

description of(const char *signature, std::uintptr_t flags = 0) {
  PyNativeSignature parsed;
  EXPECT_EQ(PyNativeSignature_ParseString(signature, &parsed, nullptr), 0) << signature;
  return description(parsed, flags);
}

struct Sink {
  std::vector<std::intptr_t> elements, starts;
  bool is_over = false;
  bool has_misfit = false;

  bool is_attached() const { return true; }
  void start(std::intptr_t at) { starts.push_back(at); }
  void raised() {
    is_over = PyErr_ExceptionMatches(PyExc_KeyError) != 0;
    PyErr_Clear();
  }
  void misfit(PyNativeType) { has_misfit = is_over = true; }
  bool has_stopped() const { return is_over; }
  void element(std::intptr_t at) { elements.push_back(at); }
};

/// Runs `twice` over the arrays, and returns the number of elements that it was called for.
template <class Own, class In, class Out>
std::intptr_t RunTwice(const char *own, const char *arrays, Sink *sink, const In *from,
                       std::intptr_t step, Out *to, std::intptr_t count,
                       std::uintptr_t flags = PyNativeCallable_THREAD_SAFE) {
  std::intptr_t done = 0;
  const inner_loop loop = {of(own, flags), &twice<Own, Own>, &done};
  PyNativeSignature types;
  EXPECT_EQ(PyNativeSignature_ParseString(arrays, &types, nullptr), 0);
  array_plan plan;
  EXPECT_TRUE(plan.make(types, loop.types()));
  char *const args[] = {reinterpret_cast<char *>(const_cast<In *>(from)),
                        reinterpret_cast<char *>(to)};
  const std::intptr_t steps[] = {step * std::intptr_t{sizeof(In)}, sizeof(Out)};
  lengths.clear();
  run_many(plan, loop, sink, args, count, steps);
  return done;
}

TEST(RunMany, ALoopOfNumPysKindRunsOverArraysOfItsTypesAtOnce) {
  std::vector<double> from(1000), to(1000);
  std::iota(from.begin(), from.end(), 0.5);
  Sink sink;
  EXPECT_EQ((RunTwice<double>("d->d", "d->d", &sink, from.data(), 1, to.data(), 1000)), 1000);
  EXPECT_EQ(lengths, std::vector<std::intptr_t>{1000});
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(to[i], 2 * from[i]);
}

TEST(RunMany, ArraysOfOtherTypesAreConverted) {
  std::vector<int> from(1000);
  std::vector<float> to(1000);
  std::iota(from.begin(), from.end(), -500);
  for (const std::intptr_t step : {1, -1, 0}) {
    Sink sink;
    const int *const first = from.data() + (step < 0 ? 999 : 0);
    EXPECT_EQ((RunTwice<double>("d->d", "i->f", &sink, first, step, to.data(), 1000)), 1000);
    EXPECT_GT(lengths.size(), 1u) << "the whole array was converted at once";
    for (std::intptr_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(to[static_cast<std::size_t>(i)], static_cast<float>(2 * first[i * step]));
    }
  }
}

TEST(RunMany, AnElementThatDoesNotFitIsTheSinks) {
  std::vector<std::int64_t> from(1000, 3);
  std::vector<int> to(1000);
  const std::vector<std::intptr_t> large = {0, 1, 2, 77, 500, 999};
  for (const std::intptr_t at : large) from[static_cast<std::size_t>(at)] = INT64_C(1) << 31;
  Sink sink;
  EXPECT_EQ((RunTwice<int>("i->i", "q->i", &sink, from.data(), 1, to.data(), 1000)), 994);
  EXPECT_EQ(sink.elements, large);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(to[i], from[i] == 3 ? 6 : 0) << i;
  EXPECT_EQ(sink.starts.size(), lengths.size());
  EXPECT_EQ(sink.starts[0], 3);
}

TEST(RunMany, AnExceptionStops) {
  std::vector<int> from(1000, 1), to(1000);
  for (const char *arrays : {"i->i", "h->i"}) {
    Sink sink;
    raise_at = 300;
    if (arrays[0] == 'i') {
      RunTwice<int>("i->i", arrays, &sink, from.data(), 1, to.data(), 1000);
    } else {
      const std::vector<short> narrow(1000, 1);
      EXPECT_LT((RunTwice<int>("i->i", arrays, &sink, narrow.data(), 1, to.data(), 1000)), 600);
    }
    EXPECT_TRUE(sink.is_over) << arrays;
    EXPECT_EQ(sink.elements.size(), 0u);
    raise_at = -1;
  }
}

TEST(RunMany, AResultThatDoesNotFitStops) {
  const std::vector<int> from(10, 100);
  std::vector<signed char> to(10);
  Sink sink;
  RunTwice<int>("i->i", "i->b", &sink, from.data(), 1, to.data(), 10);
  EXPECT_TRUE(sink.has_misfit);
}

TEST(RunMany, EachElementIsReadAfterTheResultsBeforeIt) {
  // Each result is the input of the next element, as in accumulate().
  std::vector<std::int64_t> all(21);
  all[0] = 1;
  Sink sink;
  RunTwice<int>("i->i", "q->q", &sink, all.data(), 1, all.data() + 1, 20);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(all[i + 1], 2 * all[i]);
  EXPECT_EQ(lengths, std::vector<std::intptr_t>(20, 1));
  // In place, no element reads the result of another.
  std::vector<std::int64_t> in_place(20, 4);
  RunTwice<int>("i->i", "q->q", &sink, in_place.data(), 1, in_place.data(), 20);
  EXPECT_EQ(in_place, std::vector<std::int64_t>(20, 8));
  EXPECT_EQ(lengths, std::vector<std::intptr_t>{20});
}

TEST(RunMany, AFunctionThatMayRunPythonLeavesItTheStack) {
  std::vector<short> from(1000, 1);
  std::vector<int> to(1000);
  Sink sink;
  RunTwice<int>("i->i", "h->i", &sink, from.data(), 1, to.data(), 1000, PyNativeCallable_MAY_RAISE);
  for (const std::intptr_t each : lengths) EXPECT_LE(each, 256);
}

/// Converts an array of `edges`, with each in the middle of fitting elements, and compares the
/// number of elements that fit with the range of To.
template <class From, class To>
void ExpectRange(const char *from, const char *to) {
  PyNativeSignature one, other;
  ASSERT_EQ(PyNativeSignature_ParseString((std::string(from) + "->v").c_str(), &one, nullptr), 0);
  ASSERT_EQ(PyNativeSignature_ParseString((std::string(to) + "->v").c_str(), &other, nullptr), 0);
  const auto found = conversion::between(one.args[0], other.args[0]);
  if (PyNativeType_Equivalent(one.args[0], other.args[0])) return;
  ASSERT_TRUE(static_cast<bool>(found)) << from << to;
  for (const int bits : {0, 7, 8, 15, 16, 31, 32, 63}) {
    for (const int more : {-2, -1, 0, 1}) {
      for (const int sign : {1, -1}) {
        const auto edge =
            static_cast<From>(static_cast<std::uint64_t>(sign) *
                              ((std::uint64_t{1} << bits) + static_cast<std::uint64_t>(more)));
        const auto narrowed = static_cast<To>(edge);
        const bool fits = static_cast<From>(narrowed) == edge && (narrowed < 0) == (edge < 0);
        for (const std::size_t step :
             {std::size_t{1}, std::size_t{2}}) {  // elements beside each other, or with gaps
          std::vector<From> given(300 * step, From{1});
          std::vector<To> made(300);
          given[200 * step] = edge;
          const std::intptr_t good = found.run(reinterpret_cast<const char *>(given.data()),
                                               static_cast<std::intptr_t>(step * sizeof(From)), 300,
                                               reinterpret_cast<char *>(made.data()), sizeof(To));
          EXPECT_EQ(good, fits ? 300 : 200) << from << " " << to << " " << +edge;
          if (fits) {
            EXPECT_EQ(made[200], narrowed);
          }
          EXPECT_EQ(made[199], To{1});
        }
      }
    }
  }
}

template <class From>
void ExpectRanges(const char *from) {
  ExpectRange<From, signed char>(from, "b");
  ExpectRange<From, unsigned char>(from, "B");
  ExpectRange<From, short>(from, "h");
  ExpectRange<From, unsigned short>(from, "H");
  ExpectRange<From, int>(from, "i");
  ExpectRange<From, unsigned>(from, "I");
  ExpectRange<From, long long>(from, "q");
  ExpectRange<From, unsigned long long>(from, "Q");
}

TEST(Conversion, IntsThatDoNotFitAreFound) {
  ExpectRanges<signed char>("b");
  ExpectRanges<unsigned char>("B");
  ExpectRanges<short>("h");
  ExpectRanges<unsigned short>("H");
  ExpectRanges<int>("i");
  ExpectRanges<unsigned>("I");
  ExpectRanges<long long>("q");
  ExpectRanges<unsigned long long>("Q");
}

}  // namespace
