// Compares entry views with a table written by hand and with docs/ABI.md, section 3.
#include "typedcall/entry_view.h"
// entry_view.h comes first because it includes Python.h.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
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
  int nargs;
  bool has_place;
  const char *result;
  PyNativeErrorProtocol error_protocol;
  PyNativeThreadState thread_state;
};

constexpr Case kCases[] = {
    {"->v", 0, 0, false, "v", PyNativeErrorProtocol_NONE, PyNativeThreadState_ATTACHED},
    {"dd->d", kThreadSafe, 2, false, "d", PyNativeErrorProtocol_NONE, PyNativeThreadState_ANY},
    {"l->&kd", kAcquiresGil, 1, false, "&kd", PyNativeErrorProtocol_NONE,
     PyNativeThreadState_DETACHED},
    {"l->l", kAcquiresGil | kNeedsThread, 1, false, "l", PyNativeErrorProtocol_NONE,
     PyNativeThreadState_ATTACHED},
    {"d->d", kThreadSafe | kTakesSelf, 1, false, "d", PyNativeErrorProtocol_NONE,
     PyNativeThreadState_ATTACHED},
    {"d->d", kAcquiresGil | kTakesSelf, 1, false, "d", PyNativeErrorProtocol_NONE,
     PyNativeThreadState_DETACHED},
    {"d->d", kMayRaise | kNeedsThread, 1, false, "d", PyNativeErrorProtocol_MAY_RAISE,
     PyNativeThreadState_ATTACHED},
    {"d->d", kMayRaise | kNeedsThread | kNegZero, 1, false, "d", PyNativeErrorProtocol_MAY_RAISE,
     PyNativeThreadState_ATTACHED},
    {"i->i", kMayRaise | kNeedsThread | kDiffers, 1, false, "i",
     PyNativeErrorProtocol_CHECK_EXCEPTION, PyNativeThreadState_ATTACHED},
    {"i->i", kDiffers, 1, false, "i", PyNativeErrorProtocol_NONE, PyNativeThreadState_ATTACHED},
    // Entries with a place, and entries without one (another type, const, a buffer, or no
    // argument).
    {"d&?->i", kStatus | kNeedsThread, 1, true, "?", PyNativeErrorProtocol_STATUS,
     PyNativeThreadState_ATTACHED},
    {"&d->i", kStatus | kNeedsThread | kMayRaise, 0, true, "d", PyNativeErrorProtocol_STATUS,
     PyNativeThreadState_ATTACHED},
    {"d->i", kStatus | kNeedsThread, 1, false, "v", PyNativeErrorProtocol_STATUS,
     PyNativeThreadState_ATTACHED},
    {"d&kd->i", kStatus | kNeedsThread, 2, false, "v", PyNativeErrorProtocol_STATUS,
     PyNativeThreadState_ATTACHED},
    {"*d->i", kStatus | kNeedsThread, 1, false, "v", PyNativeErrorProtocol_STATUS,
     PyNativeThreadState_ATTACHED},
    {"P->i", kStatus | kNeedsThread, 1, false, "v", PyNativeErrorProtocol_STATUS,
     PyNativeThreadState_ATTACHED},
    {"->i", kStatus | kNeedsThread, 0, false, "v", PyNativeErrorProtocol_STATUS,
     PyNativeThreadState_ATTACHED},
    {"*kd&Zd->i", kBack | kThreadSafe, 1, true, "Zd", PyNativeErrorProtocol_FALLS_BACK,
     PyNativeThreadState_ANY},
    {"d&O->i", kBack | kNeedsThread, 1, true, "O", PyNativeErrorProtocol_FALLS_BACK,
     PyNativeThreadState_ATTACHED},
    {"d->i", kBack | kAcquiresGil, 1, false, "v", PyNativeErrorProtocol_FALLS_BACK,
     PyNativeThreadState_DETACHED},
    // Unusable entries: their flags are unknown or contradict each other.
    {"d->d", 0x200, 1, false, "d", PyNativeErrorProtocol_UNUSABLE, PyNativeThreadState_ATTACHED},
    {"d->d", 0x01000000, 1, false, "d", PyNativeErrorProtocol_UNUSABLE,
     PyNativeThreadState_ATTACHED},
    {"d->d", kMayRaise, 1, false, "d", PyNativeErrorProtocol_UNUSABLE,
     PyNativeThreadState_ATTACHED},
    {"d->?", kMayRaise | kNeedsThread, 1, false, "?", PyNativeErrorProtocol_UNUSABLE,
     PyNativeThreadState_ATTACHED},
    {"d&d->d", kStatus | kNeedsThread, 1, true, "d", PyNativeErrorProtocol_UNUSABLE,
     PyNativeThreadState_ATTACHED},
    {"d&d->&i", kBack, 1, true, "d", PyNativeErrorProtocol_UNUSABLE, PyNativeThreadState_ATTACHED},
    {"d&d->i", kBack | kMayRaise | kNeedsThread, 1, true, "d", PyNativeErrorProtocol_UNUSABLE,
     PyNativeThreadState_ATTACHED},
};

TEST(View, IsWhatTheDocumentSays) {
  for (const Case &each : kCases) {
    SCOPED_TRACE(std::string(each.signature) + " with " + std::to_string(each.flags));
    const PyNativeView view = ViewOf(each.signature, each.flags);
    EXPECT_EQ(view.nargs, each.nargs);
    EXPECT_EQ(view.has_place != 0, each.has_place);
    EXPECT_EQ(view.error_protocol, each.error_protocol);
    EXPECT_EQ(view.thread_state, each.thread_state);
    EXPECT_EQ(view.takes_self != 0, (each.flags & kTakesSelf) != 0);
    EXPECT_EQ(view.is_usable, each.error_protocol != PyNativeErrorProtocol_UNUSABLE);
    PyNativeSignature wanted;
    ASSERT_EQ(
        PyNativeSignature_ParseString((std::string("->") + each.result).c_str(), &wanted, nullptr),
        0);
    EXPECT_EQ(view.result.code, wanted.result.code);
    EXPECT_EQ(view.result.pointer_flags, wanted.result.pointer_flags);
  }
}

// How the C function reports the outcome, written by hand from docs/ABI.md, 3.8 to 3.15. The facts
// of an entry that is unusable follow from its flags, so that nobody mistakes it for a plain one.
TEST(View, FactsFollowFromTheFlags) {
  for (const char *text : {"d->d", "d&d->i", "->v"}) {
    for (std::uintptr_t flags = 0; flags <= PyNativeCallable_KNOWN_MASK; ++flags) {
      const PyNativeView view = ViewOf(text, flags);
      const bool falls_back = (flags & kBack) != 0, has_status = (flags & kStatus) != 0;
      EXPECT_EQ(view.may_fall_back, falls_back) << text << " " << flags;
      EXPECT_EQ(view.reports, falls_back || has_status) << text << " " << flags;
      EXPECT_EQ(view.reports, (flags & PyNativeCallable_Internal_STATUS_MASK) != 0);
      EXPECT_EQ(view.may_raise, !falls_back && (has_status || (flags & kMayRaise) != 0))
          << text << " " << flags;
    }
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
    const PyNativeErrorProtocol error_protocol =
        PyNativeView_Of(&signature, each.flags).error_protocol;
    const PyNativeCheck check = PyNativeCheck_Of(error_protocol, &signature, each.flags);
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
    const PyNativeCheck check =
        PyNativeCheck_Of(PyNativeErrorProtocol_MAY_RAISE, &signature, kMayRaise);
    EXPECT_EQ(check.mask, 0u) << text;
    EXPECT_FALSE(check.is_value_if_equal) << text;
  }
}

// The bits of -1 in a register, or 0 for a type that is no number or does not fit.
template <class T>
std::uint64_t BitsOfMinusOne() {
  std::uint64_t bits = 0;
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= sizeof(bits)) {
    const T number = static_cast<T>(-1);
    std::memcpy(&bits, &number, sizeof(number));
  }
  return bits;
}

TEST(Check, KnowsTheBitsOfMinusOne) {
#define ROW(NAME, LETTERS, TYPE, KIND, ...) \
  EXPECT_EQ(PyNativeCode_ErrorBits(PyNativeType_##NAME), BitsOfMinusOne<TYPE>()) << LETTERS;
  PyNativeType_VALUE_LIST(ROW)
#undef ROW
      EXPECT_EQ(BitsOfMinusOne<float>(), 0xBF800000u);
  EXPECT_EQ(BitsOfMinusOne<double>(), 0xBFF0000000000000u);
  EXPECT_EQ(PyNativeCode_ErrorBits(PyNativeType_COUNT), 0u);
}

TEST(Codes, Digits) {
  const std::pair<const char *, int> expected[] = {
      {"?", 1},   {"b", 7},  {"B", 8},  {"h", 15}, {"H", 16}, {"i", 31},
      {"I", 32},  {"l", 63}, {"L", 64}, {"f", 24}, {"d", 53}, {"Zf", 24},
      {"Zd", 53}, {"P", 0},  {"s", 0},  {"O", 0},  {"v", 0}};
  for (const auto &each : expected) {
    const int code = PyNativeCode_FromLetters(each.first[0], each.first[1]);
    EXPECT_EQ(PyNativeCode_Digits(code), each.second) << each.first;
  }
  EXPECT_EQ(PyNativeCode_Digits(PyNativeType_COUNT), 0);
}

TEST(View, IsUsableExactlyIfTheEntryIsWellFormed) {
  for (const char *text : {"d->d", "d->i", "d&d->i", "d->?", "->v", "d->&d"}) {
    PyNativeSignature signature;
    ASSERT_EQ(PyNativeSignature_ParseString(text, &signature, nullptr), 0);
    for (std::uintptr_t flags = 0; flags < 0x400; ++flags) {
      EXPECT_EQ(PyNativeView_Of(&signature, flags).is_usable,
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
      EXPECT_EQ(PyNativeView_Of(&signature, known | bit).error_protocol,
                PyNativeErrorProtocol_UNUSABLE);
    }
  }
  for (std::uintptr_t hint = 0x10000; hint <= 0x800000; hint <<= 1) {
    EXPECT_EQ(PyNativeView_Of(&signature, hint).error_protocol, PyNativeErrorProtocol_NONE) << hint;
  }
}

TEST(View, WithoutAThreadTwoThreadsMayBeInTheFunction) {
  PyNativeSignature signature;
  ASSERT_EQ(PyNativeSignature_ParseString("d->d", &signature, nullptr), 0);
  const std::uintptr_t all = kNeedsThread | kAcquiresGil | kTakesSelf | kThreadSafe;
  for (std::uintptr_t flags = 0; flags <= all; ++flags) {
    const PyNativeThreadState thread_state = PyNativeView_Of(&signature, flags & all).thread_state;
    EXPECT_EQ(thread_state == PyNativeThreadState_ANY, (flags & all) == kThreadSafe) << flags;
    EXPECT_EQ(thread_state == PyNativeThreadState_DETACHED,
              (flags & (kNeedsThread | kAcquiresGil)) == kAcquiresGil)
        << flags;
  }
}

}  // namespace
