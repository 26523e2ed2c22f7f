// Tests which types and signatures are equivalent. The table must be right on LP64, LLP64 and
// 32-bit platforms.

#include <gtest/gtest.h>

#include <climits>
#include <string>

#include "typedcall/signature.h"

namespace {

const char *const letters[] = {
#define ROW(NAME, LETTERS, TYPE, KIND, ...) LETTERS,
    PyNativeType_VALUE_LIST(ROW)
#undef ROW
};

bool equivalent(const std::string &a, const std::string &b) {
  return PyNativeSignature_Equivalent(a.c_str(), b.c_str()) != 0;
}

// Returns the width of an integer type in bytes, negative if it is signed. Returns 0 for any other
// type.
int width(const std::string &code) {
  const std::string both = "bBhHiIlLqQnN";
  const int sizes[] = {1,
                       static_cast<int>(sizeof(short)),
                       static_cast<int>(sizeof(int)),
                       static_cast<int>(sizeof(long)),
                       static_cast<int>(sizeof(long long)),
                       static_cast<int>(sizeof(void *))};
  const size_t at = code.size() == 1 ? both.find(code) : std::string::npos;
  if (at == std::string::npos) return 0;
  return at % 2 == 0 ? -sizes[at / 2] : sizes[at / 2];
}

TEST(Equivalent, EveryPairOfTypes) {
  for (const std::string a : letters) {
    for (const std::string b : letters) {
      SCOPED_TRACE(a + " and " + b);
      const bool same = a == b || (width(a) != 0 && width(a) == width(b));
      EXPECT_EQ(equivalent(a + "->v", b + "->v"), same);
      EXPECT_EQ(equivalent("->" + a, "->" + b), same);
      EXPECT_EQ(equivalent("&" + a + "->v", "&" + b + "->v"), same);
      EXPECT_FALSE(equivalent("&" + a + "->v", b + "->v"));
    }
  }
}

bool answers(const std::string &offered, const std::string &asked) {
  return PyNativeSignature_Satisfies(offered.c_str(), asked.c_str()) != 0;
}

TEST(Equivalent, Buffers) {
  for (const std::string a : letters) {
    if (a == "P" || a == "O") continue;
    for (const std::string b : letters) {
      SCOPED_TRACE(a + " and " + b);
      const bool same = a == b || (width(a) != 0 && width(a) == width(b));
      if (b != "P" && b != "O") {
        EXPECT_EQ(equivalent("*" + a + "->v", "*" + b + "->v"), same);
      }
      EXPECT_FALSE(equivalent("*" + a + "->v", "&" + b + "->v"));
      EXPECT_FALSE(equivalent("*" + a + "->v", "&" + b + "n->v"));
      EXPECT_FALSE(equivalent("*" + a + "->v", b + "->v"));
    }
  }
  EXPECT_FALSE(equivalent("*s->v", "*kB->v"));  // text does not count as bytes
  EXPECT_FALSE(equivalent("*kb->v", "*kB->v"));
}

// Arguments may have an additional `k`, but the result may not.
TEST(Answers, Const) {
  for (const std::string mark : {"&", "*"}) {
    const std::string plain = mark + "d->v", promised = mark + "kd->v";
    EXPECT_TRUE(answers(plain, plain));
    EXPECT_TRUE(answers(promised, promised));
    EXPECT_TRUE(answers(promised, plain));
    EXPECT_FALSE(answers(plain, promised));
    EXPECT_FALSE(equivalent(plain, promised));
    EXPECT_FALSE(equivalent(promised, plain));
  }
  EXPECT_TRUE(answers("->&d", "->&kd"));
  EXPECT_FALSE(answers("->&kd", "->&d"));
  EXPECT_TRUE(answers("*kd*kd->&d", "*d*kd->&kd"));
  EXPECT_FALSE(answers("*kd*d->&d", "*d*kd->&kd"));
  EXPECT_TRUE(answers("&kO->v", "&O->v"));
  EXPECT_TRUE(answers("*s->v", "*s->v"));
}

TEST(Answers, IsEquivalenceElsewhere) {
  for (const std::string a : letters) {
    for (const std::string b : letters) {
      SCOPED_TRACE(a + " and " + b);
      const bool same = equivalent(a + "->v", b + "->v");
      EXPECT_EQ(answers(a + "->v", b + "->v"), same);
      EXPECT_EQ(answers("&k" + a + "->v", "&" + b + "->v"), same);
      EXPECT_EQ(answers("->&" + a, "->&k" + b), same);
    }
  }
  EXPECT_FALSE(answers("d", "d"));
  EXPECT_FALSE(answers("*ks->v", "*s->v"));
  EXPECT_FALSE(answers("kd->v", "d->v"));
}

#if LONG_MAX >= 0x7fffffffffffffff
TEST(Equivalent, Lp64) {
  EXPECT_TRUE(equivalent("lqn->l", "qnl->n"));
  EXPECT_TRUE(equivalent("LQN->&L", "NLQ->&Q"));
  EXPECT_FALSE(equivalent("l->l", "L->l"));
  EXPECT_FALSE(equivalent("i->i", "l->l"));
}
#endif

TEST(Equivalent, LooksAlikeButIsNot) {
  EXPECT_FALSE(equivalent("d->d", "g->g"));   // with MSVC, both have the same width
  EXPECT_FALSE(equivalent("?->d", "B->d"));   // 2 is not a bool
  EXPECT_FALSE(equivalent("P->d", "&d->d"));  // P does not specify its target
  EXPECT_FALSE(equivalent("s->d", "&b->d"));
  EXPECT_FALSE(equivalent("O->d", "P->d"));
  EXPECT_FALSE(equivalent("P->d", "N->d"));  // a pointer is not an integer
  EXPECT_FALSE(equivalent("Zd->d", "dd->d"));
  EXPECT_FALSE(equivalent("d->v", "d->d"));
  EXPECT_FALSE(equivalent("d->d", "dd->d"));
  EXPECT_TRUE(equivalent("->v", "->v"));
}

TEST(Equivalent, MalformedTextIsEquivalentToNothing) {
  const std::string endless(1000, 'd');
  for (const std::string &malformed :
       {std::string(), std::string("d"), std::string("v->d"), std::string("dd->d "), endless}) {
    EXPECT_FALSE(equivalent(malformed, malformed)) << malformed;
    EXPECT_FALSE(equivalent(malformed, "dd->d")) << malformed;
    EXPECT_FALSE(equivalent("dd->d", malformed)) << malformed;
  }
  EXPECT_EQ(PyNativeSignature_Equivalent(nullptr, nullptr), 0);
  EXPECT_EQ(PyNativeSignature_Equivalent("->v", nullptr), 0);
}

TEST(Equivalent, TypesOutsideTheListAreEquivalentToNothing) {
  const PyNativeType outside = {PyNativeType_COUNT, 0};
  const PyNativeType number = {PyNativeType_DOUBLE, 0};
  EXPECT_FALSE(PyNativeType_Equivalent(outside, outside));
  EXPECT_FALSE(PyNativeType_Equivalent(outside, number));
  EXPECT_FALSE(PyNativeType_Equivalent(number, outside));
}

TEST(Equivalent, AnyNonzeroIsAPointer) {
  const PyNativeType one = {PyNativeType_DOUBLE, 1};
  const PyNativeType two = {PyNativeType_DOUBLE, 2};
  EXPECT_TRUE(PyNativeType_Equivalent(one, two));
}

constexpr bool constexpr_equivalent(const char *a, const char *b) {
  return PyNativeSignature_Equivalent(a, b) != 0;
}
static_assert(constexpr_equivalent("dd->d", "dd->d"), "equal bytes");
static_assert(constexpr_equivalent("n->v", sizeof(long) == 8 ? "l->v" : "q->v") ||
                  sizeof(size_t) != 8,
              "equal width");
static_assert(!constexpr_equivalent("d", "d"), "malformed");

}  // namespace
