// The table of ranks holds for what the generated wrappers say of objects: all kinds of values that
// Python has, for all types but pointers, which are tried.
#include "typedcall/provider.h"
// provider.h comes first, because of Python.h.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/embedded.h"
#include "typedcall/overload_choice.h"

namespace {

using typedcall::conversion_rank;
using typedcall_test::Ref;
using typedcall_test::Scope;

/// Objects of each kind. Others of Python's have none of a C float or a part of a complex one.
struct Example {
  PyNativeGiven kind;
  const char *expression;
};
constexpr Example kExamples[] = {
    {PyNativeGiven_BOOL, "True"},
    {PyNativeGiven_BOOL, "False"},
    {PyNativeGiven_INT, "7"},
    {PyNativeGiven_INT, "2 ** 70"},
    {PyNativeGiven_INT_SUBCLASS, "type('Int', (int,), {})(7)"},
    {PyNativeGiven_INT_SUBCLASS, "type('Int', (int,), {'__float__': number})(7)"},
    {PyNativeGiven_INT, "type('Index', (), {'__index__': number})()"},
    {PyNativeGiven_INT, "type('Both', (), {'__index__': number, '__float__': number})()"},
    {PyNativeGiven_ARRAY, "type('Array', (), {'__index__': number, '__len__': number})()"},
    {PyNativeGiven_FLOAT, "1.5"},
    {PyNativeGiven_FLOAT_SUBCLASS, "type('Float', (float,), {})(1.5)"},
    {PyNativeGiven_FLOAT_SUBCLASS, "type('Float', (float,), {'__index__': number})(1.5)"},
    {PyNativeGiven_HAS_FLOAT, "type('Real', (), {'__float__': number})()"},
    {PyNativeGiven_HAS_FLOAT, "type('Two', (), {'__float__': number, '__complex__': number})()"},
    {PyNativeGiven_COMPLEX, "1j"},
    {PyNativeGiven_COMPLEX_SUBCLASS, "type('Complex', (complex,), {})(1j)"},
    {PyNativeGiven_COMPLEX_SUBCLASS, "type('Complex', (complex,), {'__float__': number})(1j)"},
    {PyNativeGiven_HAS_COMPLEX, "type('Complex', (), {'__complex__': number})()"},
    {PyNativeGiven_STR, "'7'"},
    {PyNativeGiven_STR_SUBCLASS, "type('Str', (str,), {})('7')"},
    {PyNativeGiven_STR_SUBCLASS, "type('Str', (str,), {'__index__': number})('7')"},
    {PyNativeGiven_OTHER, "None"},
    {PyNativeGiven_OTHER, "b'7'"},
    {PyNativeGiven_OTHER, "[]"},
    {PyNativeGiven_OTHER, "type('Integer', (), {'__int__': number})()"},
};

PyNativeRank RankOf(conversion_rank rank) {
  switch (rank) {
    case conversion_rank::exact:
      return PyNativeRank_EXACT;
    case conversion_rank::subclass:
      return PyNativeRank_NEAR;
    case conversion_rank::safe:
      return PyNativeRank_SAFE;
    case conversion_rank::none:
      return PyNativeRank_NONE;
    case conversion_rank::raised:
      break;
  }
  ADD_FAILURE() << typedcall_test::TakeError();
  return PyNativeRank_NONE;
}

/// Pairs in which the wrappers do not follow docs/ABI.md, 8.7, yet: what has `__index__` ranks as a
/// safe conversion, also where it is a float or a str, and `__float__` of a complex number counts.
bool IsWrongInTheWrapper(const Example &each, const std::string &letters) {
  const bool is_integer = std::string_view("bBhHiIlLqQnN").find(letters) != std::string_view::npos;
  const bool is_real = letters == "f" || letters == "d" || letters == "g";
  const bool is_complex = letters.size() == 2 && letters[0] == 'Z';
  const std::string_view expression = each.expression;
  const bool has_index = expression.find("__index__") != std::string_view::npos;
  switch (each.kind) {
    case PyNativeGiven_INT:
    case PyNativeGiven_FLOAT_SUBCLASS:
      return has_index && is_integer;
    case PyNativeGiven_STR_SUBCLASS:
      return has_index && (is_integer || is_real || is_complex);
    case PyNativeGiven_COMPLEX_SUBCLASS:
      return expression.find("__float__") != std::string_view::npos && is_real;
    default:
      return false;
  }
}

/// The wrappers' rank and the table's, of all pairs of an example and a type.
template <class Compare>
void ForEachPair(const Compare &compare) {
  Scope scope;
  ASSERT_TRUE(scope.Run("def number(self): return 7"));
  for (const Example &each : kExamples) {
    const Ref object = scope.Eval(each.expression);
    ASSERT_TRUE(object);
    const auto rank = [&](PyNativeType type) {
      return PyNativeChoice_Rank(PyNativeChoice_Row(type), each.kind);
    };
#define ROW(NAME, LETTERS, TYPE, KIND)                                                \
  if constexpr (PyNativeKind_##KIND != PyNativeKind_POINTER) {                        \
    compare(each, LETTERS, RankOf(typedcall::conversion_rank_of<TYPE>(object.get())), \
            rank({PyNativeType_##NAME, 0}));                                          \
  }
    PyNativeType_VALUE_LIST(ROW)
#undef ROW
        compare(each, "*s",
                RankOf(typedcall::conversion_rank_of<typedcall::span<const char>>(object.get())),
                rank({PyNativeType_STRING, PyNativePointer_TO | PyNativePointer_BUFFER}));
  }
}

TEST(Ranks, AreThoseOfTheWrappers) {
  std::map<std::pair<PyNativeGiven, std::string>, int> pairs;
  ForEachPair(
      [&](const Example &each, const char *letters, PyNativeRank wrapper, PyNativeRank table) {
        ++pairs[{each.kind, letters}];
        if (IsWrongInTheWrapper(each, letters)) {
          EXPECT_NE(wrapper, table) << each.expression << " for " << letters << " is right by now";
        } else {
          EXPECT_EQ(wrapper, table) << each.expression << " for " << letters;
        }
      });
  // 13 kinds of objects, for 19 types of numbers, two of texts, and objects.
  EXPECT_EQ(pairs.size(), 13u * (19 + 2 + 1));
}

TEST(Ranks, AnArgumentThatIsLeftOutSuitsEverything) {
#define ROW(NAME, LETTERS, TYPE, KIND)                                                 \
  for (int mark : {0, 0x01, 0x41, 0x81}) {                                             \
    const PyNativeType type = {PyNativeType_##NAME, static_cast<unsigned char>(mark)}; \
    EXPECT_EQ(PyNativeChoice_Rank(PyNativeChoice_Row(type), PyNativeGiven_LEFT_OUT),   \
              PyNativeRank_EXACT)                                                      \
        << LETTERS;                                                                    \
  }
  PyNativeType_VALUE_LIST(ROW)
#undef ROW
}

TEST(Ranks, NoOtherValueSuitsAPointerUntried) {
  for (int kind = PyNativeGiven_LEFT_OUT + 1; kind < PyNativeGiven_COUNT; ++kind) {
    for (const PyNativeType type :
         {PyNativeType{PyNativeType_POINTER, 0}, PyNativeType{PyNativeType_DOUBLE, 0x01},
          PyNativeType{PyNativeType_OBJECT, 0x41}, PyNativeType{PyNativeType_STRING, 0x01},
          PyNativeType{PyNativeType_DOUBLE, 0x81}, PyNativeType{PyNativeType_VOID, 0},
          PyNativeType{PyNativeType_COUNT, 0}}) {
      EXPECT_EQ(PyNativeChoice_Rank(PyNativeChoice_Row(type), static_cast<PyNativeGiven>(kind)),
                PyNativeRank_NONE)
          << kind << " for " << int{type.code} << " " << int{type.is_pointer};
    }
  }
}

TEST(Ranks, CsOwnFloatsComeFirst) {
  const auto rank = [](int code, PyNativeGiven kind) {
    return PyNativeChoice_Rank(PyNativeChoice_Row({static_cast<unsigned char>(code), 0}), kind);
  };
  EXPECT_EQ(rank(PyNativeType_FLOAT, PyNativeGiven_C_FLOAT), PyNativeRank_OWN);
  EXPECT_EQ(rank(PyNativeType_DOUBLE, PyNativeGiven_C_FLOAT), PyNativeRank_EXACT);
  EXPECT_EQ(rank(PyNativeType_CDOUBLE, PyNativeGiven_C_FLOAT), PyNativeRank_SAFE);
  EXPECT_EQ(rank(PyNativeType_LONG, PyNativeGiven_C_FLOAT), PyNativeRank_NONE);
  EXPECT_EQ(rank(PyNativeType_CFLOAT, PyNativeGiven_C_COMPLEX), PyNativeRank_OWN);
  EXPECT_EQ(rank(PyNativeType_CDOUBLE, PyNativeGiven_C_COMPLEX), PyNativeRank_EXACT);
  EXPECT_EQ(rank(PyNativeType_FLOAT, PyNativeGiven_C_COMPLEX), PyNativeRank_NONE);
}

TEST(Ranks, FloatingTypesLoseDigits) {
#define ROW(NAME, LETTERS, TYPE, KIND)                                             \
  EXPECT_EQ(PyNativeChoice_LosesDigits({PyNativeType_##NAME, 0}) != 0,             \
            std::string_view("fdgZfZdZg").find(LETTERS) != std::string_view::npos) \
      << LETTERS;                                                                  \
  EXPECT_EQ(PyNativeChoice_LosesDigits({PyNativeType_##NAME, PyNativePointer_TO}), 0) << LETTERS;
  PyNativeType_VALUE_LIST(ROW)
#undef ROW
}

}  // namespace
