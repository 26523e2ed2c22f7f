// Compares the table of ranks and the generated wrappers with docs/ABI.md, for all types except
// pointers.
#include "typedcall/provider.h"
// provider.h comes first because it includes Python.h.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/embedded.h"
#include "tests/support/fleeting.h"
#include "typedcall/overload_choice.h"

namespace {

using typedcall_test::Ref;
using typedcall_test::Scope;

/// Example objects of each kind, and their ranks for the columns of ColumnOf(): Exact, Near, Safe,
/// or
/// '-' if the object does not suit. The ranks are written from docs/ABI.md, 8.7, and are used for
/// both the table and the wrappers, because the wrappers read the table.
struct Example {
  PyNativeArgumentKind kind;
  const char *expression;
  const char *ranks;
};
constexpr Example kExamples[] = {
    {PyNativeArgumentKind_BOOL, "True", "ENSSSS-S"},
    {PyNativeArgumentKind_BOOL, "False", "ENSSSS-S"},
    {PyNativeArgumentKind_INT, "7", "-ESSSS-S"},
    {PyNativeArgumentKind_INT, "2 ** 70", "-ESSSS-S"},
    {PyNativeArgumentKind_INT_SUBCLASS, "type('Int', (int,), {})(7)", "-NSSSS-S"},
    {PyNativeArgumentKind_INT_SUBCLASS, "type('Int', (int,), {'__float__': number})(7)",
     "-NSSSS-S"},
    {PyNativeArgumentKind_INT, "type('Index', (), {'__index__': number})()", "-ESSSS-S"},
    {PyNativeArgumentKind_INT, "type('Both', (), {'__index__': number, '__float__': number})()",
     "-ESSSS-S"},
    {PyNativeArgumentKind_ARRAY, "type('Array', (), {'__index__': number, '__len__': number})()",
     "-SSSSS-S"},
    {PyNativeArgumentKind_FLOAT, "1.5", "--ENSS-S"},
    {PyNativeArgumentKind_FLOAT_SUBCLASS, "type('Float', (float,), {})(1.5)", "--NNSS-S"},
    {PyNativeArgumentKind_FLOAT_SUBCLASS, "type('Float', (float,), {'__index__': number})(1.5)",
     "--NNSS-S"},
    {PyNativeArgumentKind_HAS_FLOAT, "type('Real', (), {'__float__': number})()", "--SSSS-S"},
    {PyNativeArgumentKind_HAS_FLOAT,
     "type('Two', (), {'__float__': number, '__complex__': number})()", "--SSSS-S"},
    {PyNativeArgumentKind_COMPLEX, "1j", "----EN-S"},
    {PyNativeArgumentKind_COMPLEX_SUBCLASS, "type('Complex', (complex,), {})(1j)", "----NN-S"},
    {PyNativeArgumentKind_COMPLEX_SUBCLASS,
     "type('Complex', (complex,), {'__float__': number})(1j)", "----NN-S"},
    {PyNativeArgumentKind_HAS_COMPLEX, "type('Complex', (), {'__complex__': number})()",
     "----SS-S"},
    {PyNativeArgumentKind_STR, "'7'", "------ES"},
    {PyNativeArgumentKind_STR_SUBCLASS, "type('Str', (str,), {})('7')", "------NS"},
    {PyNativeArgumentKind_STR_SUBCLASS, "type('Str', (str,), {'__index__': number})('7')",
     "------NS"},
    {PyNativeArgumentKind_OTHER, "None", "-------S"},
    {PyNativeArgumentKind_OTHER, "b'7'", "-------S"},
    {PyNativeArgumentKind_OTHER, "[]", "-------S"},
    {PyNativeArgumentKind_OTHER, "type('Integer', (), {'__int__': number})()", "-------S"},
};

/// Returns the column of a type in Example::ranks.
std::size_t ColumnOf(std::string_view letters) {
  if (letters == "?") return 0;
  if (letters == "d" || letters == "g") return 2;
  if (letters == "f") return 3;
  if (letters == "Zd" || letters == "Zg") return 4;
  if (letters == "Zf") return 5;
  if (letters == "s" || letters == "*s") return 6;
  return letters == "O" ? 7 : 1;
}

/// Returns the rank that docs/ABI.md gives an example.
PyNativeRank Prescribed(const Example &each, std::string_view letters) {
  switch (each.ranks[ColumnOf(letters)]) {
    case 'E':
      return PyNativeRank_EXACT;
    case 'N':
      return PyNativeRank_NEAR;
    case 'S':
      return PyNativeRank_SAFE;
    default:
      return PyNativeRank_NONE;
  }
}

PyNativeRank RankOf(unsigned char rank) {
  if (rank <= PyNativeRank_NONE) return static_cast<PyNativeRank>(rank);
  ADD_FAILURE() << typedcall_test::TakeError();
  return PyNativeRank_NONE;
}

/// Calls `compare` with both ranks for each example and type.
template <class Compare>
void ForEachPair(const Compare &compare) {
  Scope scope;
  ASSERT_TRUE(scope.Run("def number(self): return 7"));
  for (const Example &each : kExamples) {
    const Ref object = scope.Eval(each.expression);
    ASSERT_TRUE(object);
    const PyNativeArgumentKind kind = typedcall::internal::kind_of(object.get());
    // `__complex__` is looked up only for complex parameters.
    EXPECT_EQ(kind, each.kind == PyNativeArgumentKind_HAS_COMPLEX ? PyNativeArgumentKind_OTHER
                                                                  : each.kind);
    const auto rank = [&](PyNativeType type) {
      return PyNativeChoice_Rank(PyNativeChoice_Row(type), each.kind);
    };
#define ROW(NAME, LETTERS, TYPE, KIND, ...)                                                 \
  if constexpr (PyNativeKind_##KIND != PyNativeKind_POINTER) {                              \
    compare(each, LETTERS, RankOf(typedcall::conversion_rank_of<TYPE>(object.get(), kind)), \
            rank({PyNativeType_##NAME, 0}));                                                \
  }
    PyNativeType_VALUE_LIST(ROW)
#undef ROW
        compare(
            each, "*s",
            RankOf(typedcall::conversion_rank_of<typedcall::span<const char>>(object.get(), kind)),
            rank({PyNativeType_STRING, PyNativePointer_TO | PyNativePointer_BUFFER}));
  }
}

TEST(Ranks, AreThoseOfTheWrappers) {
  std::map<std::pair<PyNativeArgumentKind, std::string>, int> pairs;
  ForEachPair(
      [&](const Example &each, const char *letters, PyNativeRank wrapper, PyNativeRank table) {
        ++pairs[{each.kind, letters}];
        const PyNativeRank prescribed = Prescribed(each, letters);
        EXPECT_EQ(wrapper, prescribed) << "the wrapper, " << each.expression << " for " << letters;
        EXPECT_EQ(table, prescribed) << "the table, " << each.expression << " for " << letters;
      });
  // There are 13 kinds of arguments for 22 types: 19 number types, two text types, and objects.
  EXPECT_EQ(pairs.size(), 13u * (19 + 2 + 1));
}

PyObject *AsFloat(PyObject *) { return PyFloat_FromDouble(1); }
int IsTrue(PyObject *) { return 1; }

/// Returns an instance of a type with this name and the number methods of NumPy's bool.
Ref NumberNamed(const char *name) {
  PyType_Slot slots[] = {{Py_nb_float, reinterpret_cast<void *>(AsFloat)},
                         {Py_nb_bool, reinterpret_cast<void *>(IsTrue)},
                         {0, nullptr}};
  PyType_Spec spec = {name, sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
  const Ref type = Ref::Steal(PyType_FromSpec(&spec));
  EXPECT_TRUE(type) << typedcall_test::TakeError();
  return Ref::Steal(PyObject_CallNoArgs(type.get()));
}

TEST(Ranks, NumpysBoolIsABoolByItsName) {
  for (const char *name : {"numpy.bool", "numpy.bool_"}) {
    const Ref truth = NumberNamed(name);
    EXPECT_EQ(typedcall::internal::kind_of(truth.get()), PyNativeArgumentKind_BOOL) << name;
    long number = 7;
    EXPECT_TRUE(typedcall::from_python(truth.get(), &number)) << typedcall_test::TakeError();
    EXPECT_EQ(number, 1);
    unsigned char small = 7;
    EXPECT_TRUE(typedcall::from_python(truth.get(), &small)) << typedcall_test::TakeError();
    EXPECT_EQ(small, 1);
    EXPECT_EQ(PyErr_Occurred(), nullptr);
  }
  for (const char *name : {"numpy.bool8", "numpy.bool_x", "numpy.boo", "bool", "other.bool_"}) {
    const Ref number = NumberNamed(name);
    EXPECT_EQ(typedcall::internal::kind_of(number.get()), PyNativeArgumentKind_HAS_FLOAT) << name;
    long value = 7;
    EXPECT_FALSE(typedcall::from_python(number.get(), &value)) << name;
    EXPECT_EQ(typedcall_test::TakeError().rfind("TypeError", 0), 0u) << name;
  }
}

TEST(Ranks, AnArgumentThatIsLeftOutSuitsEverything) {
#define ROW(NAME, LETTERS, TYPE, KIND, ...)                                                \
  for (int mark : {0, 0x01, 0x41, 0x81}) {                                                 \
    const PyNativeType type = {PyNativeType_##NAME, static_cast<unsigned char>(mark)};     \
    EXPECT_EQ(PyNativeChoice_Rank(PyNativeChoice_Row(type), PyNativeArgumentKind_DEFAULT), \
              PyNativeRank_EXACT)                                                          \
        << LETTERS;                                                                        \
  }
  PyNativeType_VALUE_LIST(ROW)
#undef ROW
}

TEST(Ranks, NoOtherValueSuitsAPointerUntried) {
  for (int kind = PyNativeArgumentKind_DEFAULT + 1; kind < PyNativeArgumentKind_COUNT; ++kind) {
    for (const PyNativeType type :
         {PyNativeType{PyNativeType_POINTER, 0}, PyNativeType{PyNativeType_DOUBLE, 0x01},
          PyNativeType{PyNativeType_OBJECT, 0x41}, PyNativeType{PyNativeType_STRING, 0x01},
          PyNativeType{PyNativeType_DOUBLE, 0x81}, PyNativeType{PyNativeType_VOID, 0},
          PyNativeType{PyNativeType_COUNT, 0}}) {
      EXPECT_EQ(
          PyNativeChoice_Rank(PyNativeChoice_Row(type), static_cast<PyNativeArgumentKind>(kind)),
          PyNativeRank_NONE)
          << kind << " for " << int{type.code} << " " << int{type.pointer_flags};
    }
  }
}

TEST(Ranks, CsOwnFloatsComeFirst) {
  const auto rank = [](int code, PyNativeArgumentKind kind) {
    return PyNativeChoice_Rank(PyNativeChoice_Row({static_cast<unsigned char>(code), 0}), kind);
  };
  EXPECT_EQ(rank(PyNativeType_FLOAT, PyNativeArgumentKind_C_FLOAT), PyNativeRank_OWN);
  EXPECT_EQ(rank(PyNativeType_DOUBLE, PyNativeArgumentKind_C_FLOAT), PyNativeRank_EXACT);
  EXPECT_EQ(rank(PyNativeType_CDOUBLE, PyNativeArgumentKind_C_FLOAT), PyNativeRank_SAFE);
  EXPECT_EQ(rank(PyNativeType_LONG, PyNativeArgumentKind_C_FLOAT), PyNativeRank_NONE);
  EXPECT_EQ(rank(PyNativeType_CFLOAT, PyNativeArgumentKind_C_COMPLEX), PyNativeRank_OWN);
  EXPECT_EQ(rank(PyNativeType_CDOUBLE, PyNativeArgumentKind_C_COMPLEX), PyNativeRank_EXACT);
  EXPECT_EQ(rank(PyNativeType_FLOAT, PyNativeArgumentKind_C_COMPLEX), PyNativeRank_NONE);
}

TEST(Ranks, FloatingTypesLoseDigits) {
#define ROW(NAME, LETTERS, TYPE, KIND, ...)                                        \
  EXPECT_EQ(PyNativeChoice_LosesPrecision({PyNativeType_##NAME, 0}) != 0,          \
            std::string_view("fdgZfZdZg").find(LETTERS) != std::string_view::npos) \
      << LETTERS;                                                                  \
  EXPECT_EQ(PyNativeChoice_LosesPrecision({PyNativeType_##NAME, PyNativePointer_TO}), 0) << LETTERS;
  PyNativeType_VALUE_LIST(ROW)
#undef ROW
}

// The look-up of `__complex__` may run Python code that frees the argument's class.
TEST(Rank, AClassThatIsFreedDuringTheLookUp) {
  Scope scope;
  scope.Run("class base: __slots__ = ()");
  const auto rank = [](PyObject *object) {
    const auto found = typedcall::conversion_rank_of<PyNativeType_ComplexDouble>(
        object, typedcall::internal::kind_of(object));
    EXPECT_EQ(found, PyNativeRank_NONE);
  };
  EXPECT_GT(typedcall_test::CountFreed(scope, "__complex__", rank), 0);
}

}  // namespace
