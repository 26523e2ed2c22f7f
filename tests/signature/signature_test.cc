// Tests valid signature strings.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/signature/parsed.h"
#include "typedcall/signature.h"

namespace signature_test {
namespace {

TEST(TypeCodes, EveryCode) {
  EXPECT_EQ(std::size(codes) + 1, static_cast<size_t>(PyNativeType_COUNT));
  for (const Code &code : codes) {
    SCOPED_TRACE(code.letters);
    EXPECT_STREQ(PyNativeCode_Letters(code.code), code.letters);
    EXPECT_EQ(PyNativeCode_FromLetters(code.letters[0], code.letters[1]), code.code);
    EXPECT_EQ(PyNativeCode_Size(code.code), code.size);
    EXPECT_EQ(PyNativeCode_Alignment(code.code), code.alignment);
    EXPECT_EQ(PyNativeCode_Kind(code.code), code.kind);
  }
  EXPECT_EQ(PyNativeCode_FromLetters('v', '\0'), PyNativeType_VOID);
  EXPECT_EQ(PyNativeCode_Size(PyNativeType_VOID), 0u);
}

TEST(TypeCodes, EveryPairOfLetters) {
  int found = 0;
  for (int first = 0; first < 128; ++first) {
    for (int second = 0; second < 128; ++second) {
      const int code =
          PyNativeCode_FromLetters(static_cast<char>(first), static_cast<char>(second));
      if (code < 0) continue;
      ++found;
      const char *letters = PyNativeCode_Letters(code);
      EXPECT_TRUE(letters[0] == first && letters[1] == second) << letters;
    }
  }
  EXPECT_EQ(found, static_cast<int>(PyNativeType_COUNT));
}

TEST(TypeCodes, WhatIsNoCode) {
  for (int code : {-1, static_cast<int>(PyNativeType_COUNT), 255, 256}) {
    EXPECT_STREQ(PyNativeCode_Letters(code), "");
    EXPECT_EQ(PyNativeCode_Size(code), 0u);
    EXPECT_EQ(PyNativeCode_Alignment(code), 1u);
    EXPECT_EQ(PyNativeCode_Kind(code), PyNativeKind_VOID);
  }
  EXPECT_EQ(PyNativeCode_FromLetters('Z', '\0'), -1);
  EXPECT_EQ(PyNativeCode_FromLetters('d', 'd'), -1);
  EXPECT_EQ(PyNativeCode_FromLetters('\0', '\0'), -1);
}

TEST(TypeCodes, EachCodeIsPassedAsCPassesIt) {
  const std::pair<const char *, PyNativePassing> passed[] = {
      {"bhilqn", PyNativePassing_SIGNED}, {"?BHILQN", PyNativePassing_UNSIGNED},
      {"fdg", PyNativePassing_FLOATING},  {"Z", PyNativePassing_COMPLEX},
      {"PsO", PyNativePassing_ADDRESS},   {"v", PyNativePassing_VOID}};
  int seen = 0;
  for (const auto &each : passed) {
    for (int code = 0; code < PyNativeType_COUNT; ++code) {
      if (std::strchr(each.first, PyNativeCode_Letters(code)[0]) == nullptr) continue;
      EXPECT_EQ(PyNativeCode_Passing(code), each.second) << PyNativeCode_Letters(code);
      ++seen;
    }
  }
  EXPECT_EQ(seen, int{PyNativeType_COUNT});
  EXPECT_EQ(PyNativeType_Passing({PyNativeType_DOUBLE, PyNativePointer_TO}),
            PyNativePassing_ADDRESS);
  EXPECT_EQ(PyNativeType_Passing({PyNativeType_COUNT, 0}), PyNativePassing_VOID);
}

TEST(Parse, EveryCodeAsArgumentResultAndPointer) {
  for (const Code &code : codes) {
    const std::string letters = code.letters;
    for (int is_pointer : {0, 1}) {
      const std::string type = (is_pointer ? "&" : "") + letters;
      SCOPED_TRACE(type);
      const Parsed parsed = parse(type + "->" + type);
      ASSERT_TRUE(parsed.ok);
      ASSERT_EQ(parsed.signature.nargs, 1);
      for (PyNativeType got : {parsed.signature.args[0], parsed.signature.result}) {
        EXPECT_EQ(got.code, code.code);
        EXPECT_EQ(got.pointer_flags, is_pointer);
        EXPECT_EQ(PyNativeType_Size(got), is_pointer ? sizeof(void *) : code.size);
        EXPECT_EQ(PyNativeType_Alignment(got), is_pointer ? alignof(void *) : code.alignment);
        EXPECT_EQ(PyNativeType_Kind(got), is_pointer ? PyNativeKind_POINTER : code.kind);
      }
      EXPECT_EQ(print(parsed.signature), type + "->" + type);
    }
  }
}

TEST(Parse, EveryPointerToConst) {
  for (const Code &code : codes) {
    const std::string type = std::string("&k") + code.letters;
    SCOPED_TRACE(type);
    const Parsed parsed = parse(type + "->" + type);
    ASSERT_TRUE(parsed.ok);
    for (PyNativeType got : {parsed.signature.args[0], parsed.signature.result}) {
      EXPECT_EQ(got.code, code.code);
      EXPECT_NE(got.pointer_flags, 0);
      EXPECT_TRUE(PyNativeType_IsConst(got));
      EXPECT_FALSE(PyNativeType_IsBuffer(got));
      EXPECT_FALSE(PyNativeType_IsPlace(got));
      EXPECT_EQ(PyNativeType_Size(got), sizeof(void *));
      EXPECT_EQ(PyNativeType_Kind(got), PyNativeKind_POINTER);
    }
    EXPECT_EQ(PyNativeSignature_CArgCount(&parsed.signature), 1);
    EXPECT_EQ(print(parsed.signature), type + "->" + type);
  }
}

TEST(Parse, EveryBuffer) {
  for (const Code &code : codes) {
    for (const bool is_const : {false, true}) {
      const std::string type = std::string(is_const ? "*k" : "*") + code.letters;
      SCOPED_TRACE(type);
      const Parsed parsed = parse("d" + type + "->v");
      const bool is_text = code.kind == PyNativeKind_STRING;
      const bool is_element = code.kind != PyNativeKind_POINTER && code.kind != PyNativeKind_OBJECT;
      ASSERT_EQ(parsed.ok, is_element && !(is_text && is_const));
      if (!parsed.ok) continue;
      // A buffer is one argument in Python and two in C.
      ASSERT_EQ(parsed.signature.nargs, 2);
      EXPECT_EQ(PyNativeSignature_CArgCount(&parsed.signature), 3);
      const PyNativeType got = parsed.signature.args[1];
      EXPECT_EQ(got.code, code.code);
      EXPECT_NE(got.pointer_flags, 0);
      EXPECT_TRUE(PyNativeType_IsBuffer(got));
      EXPECT_EQ(PyNativeType_IsConst(got), is_const || is_text);
      EXPECT_FALSE(PyNativeType_IsPlace(got));
      EXPECT_EQ(PyNativeType_Size(got), sizeof(void *));
      EXPECT_EQ(PyNativeType_Alignment(got), alignof(void *));
      EXPECT_EQ(PyNativeType_Kind(got), PyNativeKind_POINTER);
      EXPECT_EQ(print(parsed.signature), "d" + type + "->v");
    }
  }
  EXPECT_TRUE(PyNativeType_IsPlace(parse("&d->i").signature.args[0]));
  EXPECT_FALSE(PyNativeType_IsPlace(parse("P->i").signature.args[0]));
  EXPECT_FALSE(PyNativeType_IsConst(parse("s->i").signature.args[0]));
}

TEST(Parse, NoArgumentsAndNoResult) {
  const Parsed parsed = parse("->v");
  ASSERT_TRUE(parsed.ok);
  EXPECT_EQ(parsed.signature.nargs, 0);
  EXPECT_EQ(parsed.signature.result.code, PyNativeType_VOID);
  EXPECT_EQ(PyNativeType_Size(parsed.signature.result), 0u);
}

TEST(Parse, ManyArguments) {
  const std::string longest = repeat("&kZd", 127) + "->&kZd";
  EXPECT_EQ(longest.size(), static_cast<size_t>(PyNativeSignature_MAX_LENGTH));
  const Parsed parsed = parse(longest);
  ASSERT_TRUE(parsed.ok);
  EXPECT_EQ(parsed.signature.nargs, PyNativeSignature_MAX_ARGS);
  EXPECT_EQ(print(parsed.signature), longest);
  PyNativeSignature again = {};
  EXPECT_EQ(PyNativeSignature_ParseString(longest.c_str(), &again, nullptr), 0);
  EXPECT_EQ(print(again), longest);
  const Parsed buffers = parse(repeat("*kZd", 63) + "d->d");
  ASSERT_TRUE(buffers.ok);
  EXPECT_EQ(buffers.signature.nargs, 64);
  EXPECT_EQ(PyNativeSignature_CArgCount(&buffers.signature), PyNativeSignature_MAX_ARGS);
  EXPECT_FALSE(parse("d" + longest).ok);
  EXPECT_FALSE(parse(longest + "d").ok);
}

// Returns every signature of at most `longest` bytes made from a few types.
std::set<std::string> all_signatures(size_t longest) {
  std::vector<std::string> results, types;
  for (const std::string code : {"?", "d", "O", "Zd"}) {
    for (const char *mark : {"", "&", "&k"}) results.push_back(mark + code);
  }
  types = results;
  for (const std::string code : {"?", "d", "Zd"}) {
    for (const char *mark : {"*", "*k"}) types.push_back(mark + code);
  }
  std::set<std::string> all;
  std::vector<std::string> arguments = {""};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string before = arguments[i];
    if (before.size() + 3 > longest) continue;
    for (const std::string &type : results) {
      if ((before + "->" + type).size() <= longest) all.insert(before + "->" + type);
    }
    for (const std::string &type : types) arguments.push_back(before + type);
    all.insert(before + "->v");
  }
  return all;
}

// Returns true if `text` is the beginning of a signature.
bool can_go_on(const std::string &text) {
  for (const char *more : {"", "d", ">d", "->d", "d->d"}) {
    if (parse(text + more).ok) return true;
  }
  return false;
}

TEST(Parse, EveryShortText) {
  const size_t longest = 5;
  const std::set<std::string> signatures = all_signatures(longest);
  std::vector<std::string> texts = {""};
  size_t accepted = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    const Parsed parsed = parse(text);
    ASSERT_EQ(parsed.ok, signatures.count(text) == 1) << text;
    accepted += parsed.ok;
    if (!parsed.ok) {
      const size_t at = parsed.fault.position;
      ASSERT_LE(at, text.size());
      ASSERT_TRUE(can_go_on(text.substr(0, at))) << text;
      ASSERT_TRUE(at == text.size() || !can_go_on(text.substr(0, at + 1))) << text;
    }
    if (text.size() == longest) continue;
    for (char letter : {'?', 'd', 'O', 'Z', '&', '*', 'k', 'v', '-', '>', 'x', ' '}) {
      texts.push_back(text + letter);
    }
  }
  EXPECT_EQ(accepted, signatures.size());
  // Signatures whose arguments take 0, 1 and 2 bytes of text.
  EXPECT_EQ(accepted, 12u + 3 * 8 + 15 * 4);
}

TEST(Print, RoundTripOfRandomSignatures) {
  std::mt19937 random(20240717);
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const size_t nargs = below(round % 16 == 0 ? 128 : 8);
    for (size_t i = 0; i <= nargs; ++i) {
      if (i == nargs) text += "->";
      if (i == nargs && below(8) == 0) {
        text += "v";
        break;
      }
      const Code &code = codes[below(std::size(codes))];
      const bool is_element = code.kind != PyNativeKind_POINTER &&
                              code.kind != PyNativeKind_STRING && code.kind != PyNativeKind_OBJECT;
      if (i < nargs && nargs < 60 && is_element && below(4) == 0) {
        text += below(2) == 0 ? "*" : "*k";
      } else if (below(4) == 0) {
        text += below(2) == 0 ? "&" : "&k";
      }
      text += code.letters;
    }
    const Parsed parsed = parse(text);
    ASSERT_TRUE(parsed.ok) << text << ": " << parsed.fault.reason;
    ASSERT_EQ(parsed.signature.nargs, static_cast<int>(nargs));
    ASSERT_EQ(print(parsed.signature), text);
  }
}

TEST(Print, CutsOffLikeSnprintf) {
  const std::string text = "&dZg->v";
  const PyNativeSignature signature = parse(text).signature;
  EXPECT_EQ(PyNativeSignature_Print(&signature, nullptr, 0), text.size());
  for (size_t size = 1; size <= text.size() + 2; ++size) {
    std::vector<char> buffer(size, '#');
    EXPECT_EQ(PyNativeSignature_Print(&signature, buffer.data(), size), text.size());
    EXPECT_STREQ(buffer.data(), text.substr(0, size - 1).c_str());
  }
}

TEST(Print, RefusesWhatTheGrammarCannotSay) {
  const PyNativeType number = {PyNativeType_DOUBLE, 0};
  const PyNativeType nothing = {PyNativeType_VOID, 0};
  const PyNativeType to_nothing = {PyNativeType_VOID, 1};
  const PyNativeType no_code = {PyNativeType_COUNT, 0};
  const PyNativeType buffer = {PyNativeType_DOUBLE, PyNativePointer_TO | PyNativePointer_BUFFER};
  const PyNativeType of_objects = {PyNativeType_OBJECT,
                                   PyNativePointer_TO | PyNativePointer_BUFFER};
  PyNativeSignature wrong[] = {
      {-1, number, {}},          {128, number, {}},      {0, no_code, {}},
      {0, to_nothing, {}},       {1, number, {nothing}}, {2, number, {number, no_code}},
      {1, number, {to_nothing}}, {0, buffer, {}},        {1, number, {of_objects}},
      {64, number, {}},
  };
  std::fill_n(wrong[9].args, 64, buffer);  // 128 in C
  for (const PyNativeSignature &signature : wrong) {
    char text[4] = "###";
    EXPECT_EQ(PyNativeSignature_Print(&signature, text, sizeof text), 0u);
    EXPECT_STREQ(text, "");
    EXPECT_EQ(PyNativeSignature_Print(&signature, nullptr, 0), 0u);
  }
}

}  // namespace
}  // namespace signature_test
