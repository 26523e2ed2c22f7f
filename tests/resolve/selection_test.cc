// Tests the choice of an entry from a table.

#include "tests/resolve/callables.h"

namespace {

using namespace resolve_test;

// Returns the number of the chosen entry, or 0.
std::uintptr_t Chosen(const Table &table, const char *signature, typedcall::capabilities can = 0) {
  const Builtin function(kBoth, table.get(), Py_None);
  const auto found = typedcall::find(nullptr, function.get(), signature, can);
  EXPECT_EQ(TakeError(), "");
  return found ? reinterpret_cast<std::uintptr_t>(found->funcptr) : 0;
}

TEST(Text, ComesBeforeWidth) {
  const Table table{{"q->q", 0, Address(1)}, {"l->l", 0, Address(2)}, {"n->n", 0, Address(3)}};
  EXPECT_EQ(Chosen(table, "q->q"), 1u);
  EXPECT_EQ(Chosen(table, "l->l"), 2u);
  EXPECT_EQ(Chosen(table, "n->n"), 3u);
  EXPECT_EQ(Chosen(table, "l->q"), 1u);
}

TEST(Width, IsEnough) {
  const char *const offered[] = {"l->l", "q->q", "n->n"};
  for (const char *signature : offered) {
    const Table table{{signature, 0, Address(1)}};
    for (const char *request : {"l->l", "q->q", "n->n", "l->q", "n->l"}) {
      EXPECT_EQ(Chosen(table, request), 1u) << signature << request;
    }
  }
  EXPECT_EQ(Chosen(Table{{"L&lN->Q", 0, Address(1)}}, "Q&qL->N"), 1u);
}

TEST(Width, IsNotEverything) {
  const struct {
    const char *offered, *request;
  } pairs[] = {{"l->l", "i->i"},  {"l->l", "L->L"},  {"l->l", "l->L"},   {"l->l", "P->P"},
               {"d->d", "g->g"},  {"d->d", "q->q"},  {"?->?", "B->B"},   {"P->P", "&d->&d"},
               {"P->P", "O->O"},  {"s->s", "P->P"},  {"&l->l", "&i->l"}, {"&l->l", "l->l"},
               {"l->l", "ll->l"}, {"ll->l", "l->l"}, {"l->v", "l->l"},   {"Zf->d", "d->d"}};
  for (const auto &pair : pairs) {
    EXPECT_EQ(Chosen(Table{{pair.offered, 0, Address(1)}}, pair.request), 0u)
        << pair.offered << " for " << pair.request;
  }
}

TEST(Width, InTheOrderOfTheTable) {
  EXPECT_EQ(Chosen(Table{{"q->q", 0, Address(1)}, {"n->n", 0, Address(2)}}, "l->l"), 1u);
  EXPECT_EQ(Chosen(Table{{"n->n", 0, Address(2)}, {"q->q", 0, Address(1)}}, "l->l"), 2u);
}

TEST(Text, OfAnEntryThatCannotBeHandledIsPassedOver) {
  const Table table{{"l->l", PyNativeCallable_NEEDS_THREAD, Address(1)}, {"q->q", 0, Address(2)}};
  EXPECT_EQ(Chosen(table, "l->l"), 2u);
  EXPECT_EQ(Chosen(table, "l->l", typedcall::holds_gil), 1u);
}

TEST(Entries, SameTextFirstWins) {
  EXPECT_EQ(Chosen(Table{{"l->l", 0, Address(1)}, {"l->l", 0, Address(2)}}, "l->l"), 1u);
}

TEST(Entries, IncompleteOnesAreSkipped) {
  EXPECT_EQ(Chosen(Table{{nullptr, 0, Address(1)}, {"l->l", 0, Address(2)}}, "l->l"), 2u);
  EXPECT_EQ(Chosen(Table{{"l->l", 0, nullptr}, {"l->l", 0, Address(2)}}, "l->l"), 2u);
  EXPECT_EQ(Chosen(Table{{"l->l", 0, nullptr}, {"q->q", 0, Address(2)}}, "l->l"), 2u);
  EXPECT_EQ(Chosen(Table{{nullptr, 0, nullptr}}, "l->l"), 0u);
  EXPECT_EQ(Chosen(Table{{"l->l", 0, nullptr}}, "l->l"), 0u);
}

TEST(Entries, FaultySignaturesAreSkipped) {
  for (const char *faulty :
       {"", "l", "l->", "l->l ", "v->l", "l -> l", "->", "&&l->l", "l->l->l"}) {
    const Table table{{faulty, 0, Address(1)}, {"l->l", 0, Address(2)}};
    EXPECT_EQ(Chosen(table, "l->l"), 2u) << faulty;
    EXPECT_EQ(Chosen(table, "q->q"), 2u) << faulty;
  }
}

TEST(Entries, NoneAtAll) {
  const Table table{};
  EXPECT_EQ(Chosen(table, "l->l"), 0u);
  PyNativeCallableTable negative = {-1, {{"l->l", 0, Address(1)}}};
  const Builtin function(kBoth, &negative);
  EXPECT_EQ(Find(nullptr, function.get(), "l->l"), "nothing");
}

TEST(Signature, IsTheProviders) {
  const Table table{{"q->q", PyNativeCallable_PURE, Address(1)}};
  const Builtin function(kBoth, table.get());
  const auto found = typedcall::find(nullptr, function.get(), "l->n");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->signature, "q->q");
  EXPECT_EQ("q->q", found->signature);
  EXPECT_NE(found->signature, "q->l");
  EXPECT_NE("q->l", found->signature);
  EXPECT_NE(found->signature.c_str(), table.get()->entries[0].signature);
  EXPECT_EQ(found->flags, PyNativeCallable_PURE);
}

class MandatoryBit : public testing::TestWithParam<unsigned> {};

TEST_P(MandatoryBit, RefusesWhoDoesNotHandleIt) {
  const std::uintptr_t bit = std::uintptr_t{1} << GetParam();
  // Some flags need NEEDS_THREAD and a certain result type.
  const bool is_error_value = bit == PyNativeCallable_ERROR_IS_NEG_ZERO;
  const std::uintptr_t flags =
      bit | PyNativeCallable_NEEDS_THREAD | (is_error_value ? PyNativeCallable_MAY_RAISE : 0);
  const std::string result = is_error_value ? "->d" : "->i", own = "l" + result;
  const Table table{{own.c_str(), flags, Address(1)}};
  const bool known = bit < 0x200;
  EXPECT_EQ(Chosen(table, own.c_str(), 0), 0u);
  EXPECT_EQ(Chosen(table, own.c_str(), ~bit), 0u);
  EXPECT_EQ(Chosen(table, ("q" + result).c_str(), ~bit), 0u);
  EXPECT_EQ(Chosen(table, own.c_str(), flags), known ? 1u : 0u);
  EXPECT_EQ(Chosen(table, ("q" + result).c_str(), ~std::uintptr_t{0}), known ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(All, MandatoryBit, testing::Range(0u, 16u));

// Tests hints, the ABI byte, and bits that only 64-bit words have.
class OtherBit : public testing::TestWithParam<unsigned> {};

TEST_P(OtherBit, HintsAreIgnoredTheRestIsNeverOffered) {
  const unsigned bit = GetParam();
  const Table table{{"l->l", std::uintptr_t{1} << bit, Address(1)}};
  const bool hint = bit < 24;
  EXPECT_EQ(Chosen(table, "l->l", 0), hint ? 1u : 0u);
  EXPECT_EQ(Chosen(table, "q->q", ~std::uintptr_t{0}), hint ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(All, OtherBit, testing::Range(16u, 64u));

TEST(Flags, RaisingWithoutAThreadIsMalformed) {
  for (const auto bit : {PyNativeCallable_MAY_RAISE, PyNativeCallable_RETURNS_STATUS}) {
    EXPECT_EQ(Chosen(Table{{"l->l", bit, Address(1)}}, "l->l", ~std::uintptr_t{0}), 0u);
  }
}

// If an entry's flags and result contradict each other, the next entry is tried.
TEST(Flags, ThatDoNotGoWithTheResult) {
  const std::uintptr_t thread = PyNativeCallable_NEEDS_THREAD, all = ~std::uintptr_t{0};
  const std::uintptr_t raises = thread | PyNativeCallable_MAY_RAISE;
  const std::uintptr_t status = thread | PyNativeCallable_RETURNS_STATUS;
  const struct {
    const char *signature;
    std::uintptr_t flags;
    bool usable;
  } rows[] = {{"d->d", PyNativeCallable_FALLS_BACK, false},
              {"d->v", PyNativeCallable_FALLS_BACK, false},
              {"d->&i", PyNativeCallable_FALLS_BACK, false},
              {"d->I", PyNativeCallable_FALLS_BACK, false},
              {"d->i", PyNativeCallable_FALLS_BACK, true},
              {"d->d", status, false},
              {"d&d->l", status, false},
              {"d->O", status, false},
              {"d&d->i", status, true},
              {"d->v", raises, false},
              {"d->?", raises, false},
              {"d->Zd", raises, false},
              {"d->&?", raises, true},
              {"d->&kZd", raises, true},
              {"d->b", raises, true},
              {"d->s", raises, true},
              {"d->d", raises | PyNativeCallable_ERROR_IS_NEG_ZERO, true},
              {"d->f", raises | PyNativeCallable_ERROR_IS_NEG_ZERO, false},
              {"d->&d", raises | PyNativeCallable_ERROR_IS_NEG_ZERO, false},
              {"d->d", thread | PyNativeCallable_ERROR_IS_NEG_ZERO, false},
              {"d&d->i", status | PyNativeCallable_ERROR_IS_NEG_ZERO, false},
              {"d->?", thread, true}};
  for (const auto &row : rows) {
    const Table table{{row.signature, row.flags, Address(1)}, {row.signature, 0, Address(2)}};
    EXPECT_EQ(Chosen(table, row.signature, all), row.usable ? 1u : 2u) << row.signature;
    const Builtin function(kBoth, table.get(), Py_None);
    typedcall::request asked{row.signature, all, typedcall::casting::safe};
    const auto found = typedcall::find(nullptr, function.get(), asked);
    ASSERT_TRUE(found.has_value()) << row.signature;
    EXPECT_EQ(found->funcptr, Address(row.usable ? 1 : 2)) << row.signature;
  }
  const Table alone{{"f->d", PyNativeCallable_FALLS_BACK, Address(1)}};
  const Builtin function(kBoth, alone.get(), Py_None);
  for (const char *signature : {"f->d", "b->d", "f->Zd"}) {
    typedcall::request asked{signature, all, typedcall::casting::safe};
    EXPECT_FALSE(typedcall::find(nullptr, function.get(), asked)) << signature;
  }
}

// A value cannot be returned through a const pointer.
TEST(Flags, AConstPointerIsNoPlaceForTheValue) {
  const std::uintptr_t status = PyNativeCallable_NEEDS_THREAD | PyNativeCallable_RETURNS_STATUS;
  for (const std::uintptr_t flags : {PyNativeCallable_FALLS_BACK, status}) {
    for (const auto allowed : {typedcall::casting::equivalent, typedcall::casting::safe}) {
      const auto chosen = [&](const char *offered, const char *wanted) {
        const Table table{{offered, flags, Address(1)}};
        const Builtin function(kBoth, table.get(), Py_None);
        typedcall::request asked{wanted, flags, allowed};
        return typedcall::find(nullptr, function.get(), asked).has_value();
      };
      EXPECT_FALSE(chosen("d&kd->i", "d&d->i"));
      EXPECT_FALSE(chosen("q&kl->i", "l&q->i"));
      EXPECT_TRUE(chosen("d&kd->i", "d&kd->i"));
      EXPECT_TRUE(chosen("q&kl->i", "l&kq->i"));
      EXPECT_TRUE(chosen("&kd&l->i", "&d&q->i")) << "another argument may be const";
      EXPECT_TRUE(chosen("&kd&kdP->i", "&d&kdP->i")) << "neither has a place";
    }
  }
  // Without a status, the last pointer is an ordinary argument.
  EXPECT_EQ(Chosen(Table{{"d&kd->i", 0, Address(1)}}, "d&d->i"), 1u);
}

TEST(Flags, WhatFallsBackIsOfferedOnRequestAndSetsNoException) {
  const std::uintptr_t back = PyNativeCallable_FALLS_BACK, all = ~std::uintptr_t{0};
  EXPECT_EQ(Chosen(Table{{"d&d->i", back, Address(1)}}, "d&d->i", all & ~back), 0u);
  EXPECT_EQ(Chosen(Table{{"d&d->i", back, Address(1)}}, "d&d->i", back), 1u);
  for (const auto bit : {PyNativeCallable_MAY_RAISE, PyNativeCallable_RETURNS_STATUS,
                         PyNativeCallable_ERROR_IS_NEG_ZERO}) {
    const std::uintptr_t flags = back | bit | PyNativeCallable_NEEDS_THREAD;
    EXPECT_EQ(Chosen(Table{{"d&d->i", flags, Address(1)}}, "d&d->i", all), 0u) << bit;
  }
}

TEST(Flags, SeveralAreAllNeeded) {
  const std::uintptr_t flags = PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE |
                               PyNativeCallable_DIFFERS | PyNativeCallable_PURE;
  const Table table{{"l->l", flags, Address(1)}};
  EXPECT_EQ(Chosen(table, "l->l", typedcall::checks_errors | typedcall::accepts_differences), 1u);
  EXPECT_EQ(Chosen(table, "l->l", typedcall::checks_errors), 0u);
  EXPECT_EQ(Chosen(table, "l->l", typedcall::accepts_differences | typedcall::holds_gil), 0u);
}

}  // namespace
