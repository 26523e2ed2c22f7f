// Tests safe casting.

#include "typedcall/invoker.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "tests/resolve/callables.h"
#include "tests/support/seed.h"

namespace {

using namespace resolve_test;
using typedcall::casting;
using typedcall::native_value;
using typedcall::safe_cast;
using typedcall::wide_value;

constexpr const char *kNumbers[] = {"?", "b", "B", "h", "H", "i", "I",  "l",  "L", "q",
                                    "Q", "n", "N", "f", "d", "g", "Zf", "Zd", "Zg"};

PyNativeType Type(const std::string &letters) {
  PyNativeSignature parsed;
  EXPECT_EQ(PyNativeSignature_ParseString(("->" + letters).c_str(), &parsed, nullptr), 0);
  return parsed.result;
}
int Cost(const std::string &from, const std::string &to) {
  return typedcall::internal::conversion_cost(Type(from), Type(to));
}

TEST(Cost, OfWhatLosesNothing) {
  const struct {
    const char *from, *to;
  } safe[] = {{"i", "l"}, {"b", "h"},  {"B", "h"},  {"I", "l"},   {"?", "b"},  {"?", "B"},
              {"?", "f"}, {"h", "f"},  {"H", "f"},  {"i", "d"},   {"I", "d"},  {"f", "d"},
              {"d", "g"}, {"f", "Zf"}, {"d", "Zd"}, {"Zf", "Zd"}, {"i", "Zd"}, {"?", "Zf"},
              {"l", "g"}, {"L", "g"},  {"Zd", "Zg"}};
  for (const auto &pair : safe) {
    EXPECT_GT(Cost(pair.from, pair.to), 0) << pair.from << pair.to;
    EXPECT_EQ(Cost(pair.to, pair.from), -1) << pair.to << pair.from;
  }
}

TEST(Cost, OfWhatMightLose) {
  const struct {
    const char *from, *to;
  } unsafe[] = {{"l", "d"},  {"L", "d"},  {"i", "f"},   {"I", "f"}, {"l", "i"}, {"b", "B"},
                {"b", "L"},  {"l", "L"},  {"L", "l"},   {"I", "i"}, {"d", "f"}, {"d", "l"},
                {"Zd", "d"}, {"d", "Zf"}, {"l", "Zd"},  {"d", "P"}, {"P", "l"}, {"l", "P"},
                {"P", "&d"}, {"&d", "P"}, {"&f", "&d"}, {"s", "P"}, {"O", "P"}, {"P", "O"},
                {"d", "v"},  {"v", "d"}};
  for (const auto &pair : unsafe) EXPECT_EQ(Cost(pair.from, pair.to), -1) << pair.from << pair.to;
  for (const char *same : {"P", "s", "O", "&d", "v", "?", "g", "Zg"})
    EXPECT_EQ(Cost(same, same), 0);
  EXPECT_EQ(Cost("l", "q"), 0);
  EXPECT_EQ(Cost("&l", "&n"), 0);
}

// Changing the class of a number costs more than any widening.
TEST(Cost, Order) {
  EXPECT_LT(Cost("b", "h"), Cost("b", "i"));
  EXPECT_LT(Cost("b", "i"), Cost("b", "l"));
  EXPECT_LT(Cost("b", "l"), Cost("b", "f"));
  EXPECT_LT(Cost("b", "f"), Cost("b", "d"));
  EXPECT_LT(Cost("f", "d"), Cost("f", "g"));
  EXPECT_LT(Cost("f", "g"), Cost("f", "Zf"));
  EXPECT_LT(Cost("B", "L"), Cost("B", "h"));
}

// Every safe cast must be exact for the smallest and largest values of `from`.
TEST(Conversion, IsExact) {
  for (const std::string from : kNumbers) {
    for (const std::string to : kNumbers) {
      if (Cost(from, to) < 0) continue;
      const auto there = safe_cast::make((from + "->v").c_str(), (to + "->v").c_str());
      ASSERT_TRUE(there);
      EXPECT_EQ(there->arity(), 1u);
      const PyNativeType type = Type(from), wide = Type(to);
      const bool is_signed = PyNativeCode_Kind(type.code) == PyNativeKind_SIGNED;
      const int bits = PyNativeCode_Digits(type.code);
      const std::uint64_t most = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
      std::vector<std::uint64_t> numbers = {0, 1, most, most / 2, most - most / 3};
      if (is_signed) numbers.insert(numbers.end(), {~std::uint64_t{0}, ~most, ~(most / 2)});
      for (const std::uint64_t number : numbers) {
        // Signed types also get negative numbers.
        typedcall::internal::wide_number given;
        given.integer = number;
        given.real = is_signed ? static_cast<long double>(static_cast<std::int64_t>(number))
                               : static_cast<long double>(number);
        wide_value scratch = {}, answer_scratch = {};
        native_value value{0};
        const bool is_wide = PyNativeType_Size(type) > 8;
        typedcall::internal::write_number(type, is_wide ? static_cast<void *>(&scratch) : &value,
                                          given);
        if (is_wide) value = native_value::at(&scratch);
        native_value made{0};
        there->convert_arguments(&value, &made, &answer_scratch);
        const void *stands = PyNativeType_Size(wide) > 8 ? made.get<const void *>() : &made;
        const auto read = typedcall::internal::read_number(wide, stands);
        EXPECT_EQ(read.real, given.real) << from << to << number;
        EXPECT_EQ(read.imaginary, 0) << from << to;
        // The same conversions work for results.
        const auto back = safe_cast::make(("->" + to).c_str(), ("->" + from).c_str());
        ASSERT_TRUE(back);
        wide_value wide_result = scratch, answer = {};
        const native_value result = back->convert_result(value, &wide_result, &answer);
        const void *there_too = PyNativeType_Size(wide) > 8 ? result.get<const void *>() : &result;
        EXPECT_EQ(typedcall::internal::read_number(wide, there_too).real, given.real) << from << to;
      }
    }
  }
}

TEST(Conversion, OfSpecialNumbers) {
  const auto cast = safe_cast::make("fff->v", "dZfd->v");
  ASSERT_TRUE(cast);
  const native_value asked[] = {native_value::of(-0.0f),
                                native_value::of(-std::numeric_limits<float>::infinity()),
                                native_value::of(std::numeric_limits<float>::quiet_NaN())};
  native_value given[3];
  wide_value scratch[3];
  cast->convert_arguments(asked, given, scratch);
  EXPECT_TRUE(std::signbit(given[0].get<double>()));
  struct parts {
    float real, imaginary;
  };
  EXPECT_EQ(given[1].get<parts>().real, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(given[1].get<parts>().imaginary, 0);
  EXPECT_TRUE(std::isnan(given[2].get<double>()));
}

TEST(Conversion, RefusesWhatMightLose) {
  EXPECT_FALSE(safe_cast::make("l->d", "d->d"));
  EXPECT_FALSE(safe_cast::make("i->f", "d->d"));
  EXPECT_FALSE(safe_cast::make("i->d", "ii->d"));
  EXPECT_FALSE(safe_cast::make("x", "d->d"));
  EXPECT_FALSE(safe_cast::make("d->d", "x"));
  EXPECT_TRUE(safe_cast::make("P&lsO->v", "P&qsO->v"));
}

TEST(Conversion, OfACall) {
  const auto ratio =
      +[](double a, long b) noexcept { return static_cast<float>(a / static_cast<double>(b)); };
  const Table table{{"dl->f", 0, reinterpret_cast<void *>(ratio)}};
  const Builtin function(kBoth, table.get());
  typedcall::request asked;
  asked.signature = "ib->d";
  EXPECT_FALSE(typedcall::find(nullptr, function.get(), asked));
  asked.casting = casting::safe;
  const auto found = typedcall::resolve(nullptr, function.get(), asked);
  ASSERT_TRUE(found) << TakeError();
  EXPECT_EQ(found->casting, casting::safe);
  const auto call =
      typedcall::invoker::make(found->signature.c_str(), found->flags, found->funcptr);
  const auto cast = safe_cast::make(asked.signature, found->signature.c_str());
  ASSERT_TRUE(call && cast);
  const native_value arguments[] = {native_value::of(-7),
                                    native_value::of(static_cast<signed char>(-2))};
  native_value given[2];
  wide_value scratch[2], answer;
  cast->convert_arguments(arguments, given, scratch);
  EXPECT_EQ(cast->convert_result((*call)(given), nullptr, &answer).get<double>(), 3.5);
}

// Returns the number of the chosen entry, or 0.
std::uintptr_t Chosen(const Table &table, const char *signature, casting allowed = casting::safe) {
  const Builtin function(kBoth, table.get());
  typedcall::request asked;
  asked.signature = signature;
  asked.casting = allowed;
  const auto found = typedcall::find(nullptr, function.get(), asked);
  EXPECT_EQ(TakeError(), "");
  return found ? reinterpret_cast<std::uintptr_t>(found->funcptr) : 0;
}

TEST(Choice, ExactThenEquivalentThenCheapest) {
  const Table all{{"d->d", 0, Address(1)},
                  {"q->q", 0, Address(2)},
                  {"l->l", 0, Address(3)},
                  {"i->i", 0, Address(4)}};
  EXPECT_EQ(Chosen(all, "l->l"), 3u);
  EXPECT_EQ(Chosen(all, "n->n"), 2u);
  EXPECT_EQ(Chosen(all, "n->n", casting::equivalent), 2u);
  EXPECT_EQ(Chosen(all, "n->n", casting::exact), 0u);
  EXPECT_EQ(Chosen(all, "l->l", casting::exact), 3u);
  EXPECT_EQ(Chosen(all, "h->i"), 4u);
  EXPECT_EQ(Chosen(all, "h->i", casting::equivalent), 0u);
  EXPECT_EQ(Chosen(all, "h->l"), 2u);  // i->i would widen two values
  EXPECT_EQ(Chosen(all, "f->d"), 1u);
  EXPECT_EQ(Chosen(all, "L->L"), 0u);
  EXPECT_EQ(Chosen(all, "f->f"), 0u);
}

TEST(Choice, FirstOfTheCheapest) {
  EXPECT_EQ(Chosen(Table{{"lh->v", 0, Address(1)}, {"hl->v", 0, Address(2)}}, "bb->v"), 1u);
  EXPECT_EQ(Chosen(Table{{"hl->v", 0, Address(1)}, {"lh->v", 0, Address(2)}}, "bb->v"), 1u);
  EXPECT_EQ(Chosen(Table{{"ll->v", 0, Address(1)}, {"lh->v", 0, Address(2)}}, "bb->v"), 2u);
}

TEST(Choice, OfAllPlaces) {
  const Table by_def{{"d->d", 0, Address(1)}}, by_object{{"l->l", 0, Address(2)}};
  const Builtin function(0);
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &function.def, function.get(), by_def.get(), nullptr),
            1);
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), function.get(), by_object.get(), nullptr), 1);
  typedcall::request asked;
  asked.casting = casting::safe;
  for (const auto &[signature, number] : {std::pair("i->l", 2u), std::pair("i->d", 1u)}) {
    asked.signature = signature;
    const auto found = typedcall::find(Interface(), function.get(), asked);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->funcptr, Address(number)) << signature;
  }
}

TEST(Choice, OnlyWhatCanBeHandled) {
  const Table table{{"h->l", PyNativeCallable_NEEDS_THREAD, Address(1)},
                    {"i->l", 0, nullptr},
                    {nullptr, 0, Address(3)},
                    {"i -> l", 0, Address(4)},
                    {"l->l", 0, Address(5)}};
  EXPECT_EQ(Chosen(table, "b->l"), 5u);
  EXPECT_EQ(Chosen(table, "x", casting::safe), 0u);
}

// The table is temporary, so the result must have a copy of the signature.
TEST(Choice, FromPyPysLayout) {
  int codes[] = {1, -1};
  Builtin function(kTyped);
  function.SetPyPy(codes, 1, Address(3));
  typedcall::request asked;
  asked.signature = "i->l";
  asked.capabilities = typedcall::holds_gil;
  asked.casting = casting::safe;
  const auto found = typedcall::find(nullptr, function.get(), asked);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->signature, "l->l");
}

// An additional `k` is not a cast.
TEST(Choice, ConstWhereItWasNotAskedFor) {
  const Table table{{"*d->d", 0, Address(1)}, {"*kd->d", 0, Address(2)}};
  EXPECT_EQ(Chosen(table, "*d->d"), 1u);
  EXPECT_EQ(Chosen(table, "*kd->d"), 2u);
  const Table promised{{"*kd&kl->&d", 0, Address(1)}};
  EXPECT_EQ(Chosen(promised, "*d&q->&kd"), 1u);
  EXPECT_EQ(Chosen(promised, "*kd&l->&d"), 1u);
  const Table plain{{"*d->d", 0, Address(1)}, {"&d->&kd", 0, Address(2)}};
  EXPECT_EQ(Chosen(plain, "*kd->d"), 0u);
  EXPECT_EQ(Chosen(plain, "*kd->d", casting::safe), 0u);
  EXPECT_EQ(Chosen(plain, "&kd->&kd"), 0u);
  EXPECT_EQ(Chosen(plain, "&d->&d"), 0u);
  EXPECT_EQ(Chosen(plain, "&d->&kd"), 2u);
}

// A buffer takes two words, which stay unchanged.
TEST(Cast, AroundBuffers) {
  const auto cast = typedcall::safe_cast::make("i*df->f", "l*kdd->f");
  ASSERT_TRUE(cast);
  EXPECT_EQ(cast->arity(), 4u);
  const double numbers[] = {1, 2};
  const native_value asked[] = {native_value::of(-3), native_value::of(&numbers[0]),
                                native_value::of(Py_ssize_t{2}), native_value::of(1.5f)};
  native_value given[4];
  wide_value scratch[4];
  cast->convert_arguments(asked, given, scratch);
  EXPECT_EQ(given[0].get<long>(), -3);
  EXPECT_EQ(given[1].get<const double *>(), numbers);
  EXPECT_EQ(given[2].get<Py_ssize_t>(), 2);
  EXPECT_EQ(given[3].get<double>(), 1.5);
  EXPECT_FALSE(typedcall::safe_cast::make("*f->d", "*d->d"));
  EXPECT_FALSE(typedcall::safe_cast::make("*kd->d", "*d->d"));
}

// Compares has_widths_of() with the parser.
TEST(Widths, AgreeWithTheParser) {
  const auto seed = typedcall_test::Seed(7);
  SCOPED_TRACE(typedcall_test::SeedText(seed));
  std::mt19937 random(seed);
  const std::string letters = "?bBhHiIlLqQnNfdgZPsO&v->x \x80&*kk";
  const char *const signatures[] = {"l->l",          "ln&q->Zd",  "->v",
                                    "B&I?->N",       "OsPfdg->l", "&Zf->&L",
                                    "*d*kB&kl*s->L", "*l&q->&kn", "*s&k?->&d"};
  int same = 0;
  for (const char *signature : signatures) {
    for (int turn = 0; turn < 20000; ++turn) {
      std::string text = signature;
      for (int changes = static_cast<int>(random() % 3); changes >= 0; --changes) {
        const std::size_t at = random() % (text.size() + 1);
        const char letter = letters[random() % letters.size()];
        switch (random() % 8) {
          case 0:
            text.insert(at, 1, letter);
            break;
          case 1:
            text.erase(at, 1);
            break;
          default:
            if (at < text.size()) text[at] = letter;
        }
      }
      const bool expected = PyNativeSignature_Satisfies(text.c_str(), signature) != 0;
      ASSERT_EQ(typedcall::internal::has_widths_of(signature, text.c_str()), expected)
          << signature << " " << text;
      same += expected;
    }
  }
  EXPECT_GT(same, 1000);
}

}  // namespace
