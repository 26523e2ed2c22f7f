// Compares entry views with a table written by hand and with docs/ABI.md, section 3.
#include "typedcall/entry_view.h"
// entry_view.h comes first because it includes Python.h.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::uintptr_t kNeedsThread = 0x0001, kAcquiresGil = 0x0002, kMayRaise = 0x0004,
                         kNegZero = 0x0008, kStatus = 0x0010, kTakesSelf = 0x0020,
                         kDiffers = 0x0080, kBack = 0x0100, kThreadSafe = 0x010000;

PyNativeView ViewOf(const std::string &text, std::uintptr_t flags) {
  PyNativeSignature signature;
  EXPECT_EQ(PyNativeSignature_ParseString(text.c_str(), &signature, nullptr), 0) << text;
  return PyNativeView_Of(&signature, flags);
}

struct Case {
  const char *signature;
  std::uintptr_t flags;
  int parameters;
  bool has_place;
  const char *result;
  PyNativeVerdict verdict;
  PyNativeHold hold;
};

constexpr Case kCases[] = {
    {"->v", 0, 0, false, "v", PyNativeVerdict_RESULT, PyNativeHold_THREAD},
    {"dd->d", kThreadSafe, 2, false, "d", PyNativeVerdict_RESULT, PyNativeHold_NOTHING},
    {"l->&kd", kAcquiresGil, 1, false, "&kd", PyNativeVerdict_RESULT, PyNativeHold_NO_GIL},
    {"l->l", kAcquiresGil | kNeedsThread, 1, false, "l", PyNativeVerdict_RESULT,
     PyNativeHold_THREAD},
    {"d->d", kThreadSafe | kTakesSelf, 1, false, "d", PyNativeVerdict_RESULT, PyNativeHold_THREAD},
    {"d->d", kAcquiresGil | kTakesSelf, 1, false, "d", PyNativeVerdict_RESULT, PyNativeHold_NO_GIL},
    {"d->d", kMayRaise | kNeedsThread, 1, false, "d", PyNativeVerdict_MAY_RAISE,
     PyNativeHold_THREAD},
    {"d->d", kMayRaise | kNeedsThread | kNegZero, 1, false, "d", PyNativeVerdict_MAY_RAISE,
     PyNativeHold_THREAD},
    {"i->i", kMayRaise | kNeedsThread | kDiffers, 1, false, "i", PyNativeVerdict_ASK,
     PyNativeHold_THREAD},
    {"i->i", kDiffers, 1, false, "i", PyNativeVerdict_RESULT, PyNativeHold_THREAD},
    // Entries with a place, and entries without one (another type, const, a buffer, or no
    // argument).
    {"d&?->i", kStatus | kNeedsThread, 1, true, "?", PyNativeVerdict_STATUS, PyNativeHold_THREAD},
    {"&d->i", kStatus | kNeedsThread | kMayRaise, 0, true, "d", PyNativeVerdict_STATUS,
     PyNativeHold_THREAD},
    {"d->i", kStatus | kNeedsThread, 1, false, "v", PyNativeVerdict_STATUS, PyNativeHold_THREAD},
    {"d&kd->i", kStatus | kNeedsThread, 2, false, "v", PyNativeVerdict_STATUS, PyNativeHold_THREAD},
    {"*d->i", kStatus | kNeedsThread, 1, false, "v", PyNativeVerdict_STATUS, PyNativeHold_THREAD},
    {"P->i", kStatus | kNeedsThread, 1, false, "v", PyNativeVerdict_STATUS, PyNativeHold_THREAD},
    {"->i", kStatus | kNeedsThread, 0, false, "v", PyNativeVerdict_STATUS, PyNativeHold_THREAD},
    {"*kd&Zd->i", kBack | kThreadSafe, 1, true, "Zd", PyNativeVerdict_FALLS_BACK,
     PyNativeHold_NOTHING},
    {"d&O->i", kBack | kNeedsThread, 1, true, "O", PyNativeVerdict_FALLS_BACK, PyNativeHold_THREAD},
    {"d->i", kBack | kAcquiresGil, 1, false, "v", PyNativeVerdict_FALLS_BACK, PyNativeHold_NO_GIL},
    // Unusable entries: their flags are unknown or contradict each other.
    {"d->d", 0x200, 1, false, "d", PyNativeVerdict_UNUSABLE, PyNativeHold_THREAD},
    {"d->d", 0x01000000, 1, false, "d", PyNativeVerdict_UNUSABLE, PyNativeHold_THREAD},
    {"d->d", kMayRaise, 1, false, "d", PyNativeVerdict_UNUSABLE, PyNativeHold_THREAD},
    {"d->?", kMayRaise | kNeedsThread, 1, false, "?", PyNativeVerdict_UNUSABLE,
     PyNativeHold_THREAD},
    {"d&d->d", kStatus | kNeedsThread, 1, true, "d", PyNativeVerdict_UNUSABLE, PyNativeHold_THREAD},
    {"d&d->&i", kBack, 1, true, "d", PyNativeVerdict_UNUSABLE, PyNativeHold_THREAD},
    {"d&d->i", kBack | kMayRaise | kNeedsThread, 1, true, "d", PyNativeVerdict_UNUSABLE,
     PyNativeHold_THREAD},
};

TEST(View, IsWhatTheDocumentSays) {
  for (const Case &each : kCases) {
    SCOPED_TRACE(std::string(each.signature) + " with " + std::to_string(each.flags));
    const PyNativeView view = ViewOf(each.signature, each.flags);
    EXPECT_EQ(view.parameters, each.parameters);
    EXPECT_EQ(view.has_place != 0, each.has_place);
    EXPECT_EQ(view.verdict, each.verdict);
    EXPECT_EQ(view.hold, each.hold);
    EXPECT_EQ(view.takes_self != 0, (each.flags & kTakesSelf) != 0);
    PyNativeSignature wanted;
    ASSERT_EQ(
        PyNativeSignature_ParseString((std::string("->") + each.result).c_str(), &wanted, nullptr),
        0);
    EXPECT_EQ(view.result.code, wanted.result.code);
    EXPECT_EQ(view.result.is_pointer, wanted.result.is_pointer);
  }
}

struct Compared {
  const char *signature;
  std::uintptr_t flags;
  std::uint64_t mask, expected;
  bool is_value_if_equal;
};

constexpr std::uintptr_t kRaises = kMayRaise | kNeedsThread;
constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr Compared kCompared[] = {
    // Comparing the result with the error value decides nothing here.
    {"d->d", 0, 0, 0, true},
    {"d->d", 0x200, 0, 0, true},
    {"d->d", kRaises | kDiffers, 0, 0, false},
    {"d->g", kRaises, 0, 0, false},
    // The status is 0.
    {"d&l->i", kStatus | kNeedsThread, 0xFFFFFFFF, 0, true},
    {"d&d->i", kBack, 0xFFFFFFFF, 0, true},
    // The result is the error value.
    {"->b", kRaises, 0xFF, 0xFF, false},
    {"->H", kRaises, 0xFFFF, 0xFFFF, false},
    {"->i", kRaises, 0xFFFFFFFF, 0xFFFFFFFF, false},
    {"->L", kRaises, kAll, kAll, false},
    {"->f", kRaises, 0xFFFFFFFF, 0xBF800000, false},
    {"->d", kRaises, kAll, 0xBFF0000000000000, false},
    {"->d", kRaises | kNegZero, kAll, 0x8000000000000000, false},
    {"->&kd", kRaises, kAll, 0, false},
    {"->s", kRaises, kAll, 0, false},
    {"->O", kRaises, kAll, 0, false},
};

TEST(Check, ComparesWhatTheDocumentSays) {
  for (const Compared &each : kCompared) {
    SCOPED_TRACE(std::string(each.signature) + " with " + std::to_string(each.flags));
    PyNativeSignature signature;
    ASSERT_EQ(PyNativeSignature_ParseString(each.signature, &signature, nullptr), 0);
    const PyNativeVerdict verdict = PyNativeView_Of(&signature, each.flags).verdict;
    const PyNativeCheck check = PyNativeCheck_Of(verdict, &signature, each.flags);
    EXPECT_EQ(check.mask, each.mask);
    EXPECT_EQ(check.expected, each.expected);
    EXPECT_EQ(check.is_value_if_equal, each.is_value_if_equal);
  }
}

// A result that fits into no register cannot be compared, and a void function has no result.
TEST(Check, ResultsOutsideARegister) {
  for (const char *text : {"->v", "->g", "->Zd"}) {
    PyNativeSignature signature;
    ASSERT_EQ(PyNativeSignature_ParseString(text, &signature, nullptr), 0);
    const PyNativeCheck check = PyNativeCheck_Of(PyNativeVerdict_MAY_RAISE, &signature, kMayRaise);
    EXPECT_EQ(check.mask, 0u) << text;
    EXPECT_FALSE(check.is_value_if_equal) << text;
  }
}

TEST(Check, KnowsTheBitsOfMinusOne) {
  const float narrow = -1;
  const double wide = -1;
  std::uint32_t narrow_bits;
  std::uint64_t wide_bits;
  std::memcpy(&narrow_bits, &narrow, sizeof narrow);
  std::memcpy(&wide_bits, &wide, sizeof wide);
  EXPECT_EQ(narrow_bits, 0xBF800000u);
  EXPECT_EQ(wide_bits, 0xBFF0000000000000u);
}

TEST(View, IsUsableExactlyIfTheEntryIsWellFormed) {
  for (const char *text : {"d->d", "d->i", "d&d->i", "d->?", "->v", "d->&d"}) {
    PyNativeSignature signature;
    ASSERT_EQ(PyNativeSignature_ParseString(text, &signature, nullptr), 0);
    for (std::uintptr_t flags = 0; flags < 0x400; ++flags) {
      EXPECT_EQ(PyNativeView_Of(&signature, flags).verdict != PyNativeVerdict_UNUSABLE,
                PyNativeCallable_IsWellFormed(flags, signature.result) != 0)
          << text << " " << flags;
    }
  }
}

TEST(View, AnUnknownFlagIsSeenWhateverElseIsThere) {
  PyNativeSignature signature;
  ASSERT_EQ(PyNativeSignature_ParseString("d&d->i", &signature, nullptr), 0);
  for (std::uintptr_t bit = 1; bit <= 0x8000; bit <<= 1) {
    if ((bit & PyNativeCallable_KNOWN_MASK) != 0) continue;
    for (std::uintptr_t known = 0; known <= PyNativeCallable_KNOWN_MASK; ++known) {
      EXPECT_EQ(PyNativeView_Of(&signature, known | bit).verdict, PyNativeVerdict_UNUSABLE);
    }
  }
  for (std::uintptr_t hint = 0x10000; hint <= 0x800000; hint <<= 1) {
    EXPECT_EQ(PyNativeView_Of(&signature, hint).verdict, PyNativeVerdict_RESULT) << hint;
  }
}

TEST(View, WithoutAThreadTwoThreadsMayBeInTheFunction) {
  PyNativeSignature signature;
  ASSERT_EQ(PyNativeSignature_ParseString("d->d", &signature, nullptr), 0);
  const std::uintptr_t all = kNeedsThread | kAcquiresGil | kTakesSelf | kThreadSafe;
  for (std::uintptr_t flags = 0; flags <= all; ++flags) {
    const PyNativeHold hold = PyNativeView_Of(&signature, flags & all).hold;
    EXPECT_EQ(hold == PyNativeHold_NOTHING, (flags & all) == kThreadSafe) << flags;
    EXPECT_EQ(hold == PyNativeHold_NO_GIL, (flags & (kNeedsThread | kAcquiresGil)) == kAcquiresGil)
        << flags;
  }
}

}  // namespace
