// Signature strings: what parses, where and why the rest does not, printing, limits.
// equivalence_test.cc has the comparison, memory_test.cc that nothing reads past the end.

#include "typedcall/signature.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

struct Parsed {
  bool ok = false;
  PyNativeSignature signature = {};
  PyNativeSignature_Fault fault = {};
};

Parsed parse(const std::string &text) {
  Parsed parsed;
  parsed.ok =
      PyNativeSignature_Parse(text.data(), text.size(), &parsed.signature, &parsed.fault) == 0;
  return parsed;
}

std::string print(const PyNativeSignature &signature) {
  char buffer[PyNativeSignature_MAX_LENGTH + 1];
  const size_t length = PyNativeSignature_Print(&signature, buffer, sizeof buffer);
  EXPECT_LT(length, sizeof buffer);
  EXPECT_EQ(buffer[length], '\0');
  return std::string(buffer, length);
}

std::string repeat(const std::string &part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += part;
  return all;
}

// Written by hand, not from the list: the list is what is under test.
struct Code {
  const char *letters;
  int code;
  size_t size;
  size_t alignment;
  PyNativeKind kind;
};
const Code codes[] = {
    {"?", PyNativeType_BOOL, sizeof(bool), alignof(bool), PyNativeKind_BOOL},
    {"b", PyNativeType_SCHAR, 1, 1, PyNativeKind_SIGNED},
    {"B", PyNativeType_UCHAR, 1, 1, PyNativeKind_UNSIGNED},
    {"h", PyNativeType_SHORT, sizeof(short), alignof(short), PyNativeKind_SIGNED},
    {"H", PyNativeType_USHORT, sizeof(short), alignof(short), PyNativeKind_UNSIGNED},
    {"i", PyNativeType_INT, sizeof(int), alignof(int), PyNativeKind_SIGNED},
    {"I", PyNativeType_UINT, sizeof(int), alignof(int), PyNativeKind_UNSIGNED},
    {"l", PyNativeType_LONG, sizeof(long), alignof(long), PyNativeKind_SIGNED},
    {"L", PyNativeType_ULONG, sizeof(long), alignof(long), PyNativeKind_UNSIGNED},
    {"q", PyNativeType_LONGLONG, sizeof(long long), alignof(long long), PyNativeKind_SIGNED},
    {"Q", PyNativeType_ULONGLONG, sizeof(long long), alignof(long long), PyNativeKind_UNSIGNED},
    {"n", PyNativeType_SSIZE, sizeof(size_t), alignof(size_t), PyNativeKind_SIGNED},
    {"N", PyNativeType_SIZE, sizeof(size_t), alignof(size_t), PyNativeKind_UNSIGNED},
    {"f", PyNativeType_FLOAT, sizeof(float), alignof(float), PyNativeKind_FLOATING},
    {"d", PyNativeType_DOUBLE, sizeof(double), alignof(double), PyNativeKind_FLOATING},
    {"g", PyNativeType_LONGDOUBLE, sizeof(long double), alignof(long double),
     PyNativeKind_FLOATING},
    {"Zf", PyNativeType_CFLOAT, 2 * sizeof(float), alignof(float), PyNativeKind_COMPLEX},
    {"Zd", PyNativeType_CDOUBLE, 2 * sizeof(double), alignof(double), PyNativeKind_COMPLEX},
    {"Zg", PyNativeType_CLONGDOUBLE, 2 * sizeof(long double), alignof(long double),
     PyNativeKind_COMPLEX},
    {"P", PyNativeType_POINTER, sizeof(void *), alignof(void *), PyNativeKind_POINTER},
    {"s", PyNativeType_STRING, sizeof(void *), alignof(void *), PyNativeKind_STRING},
    {"O", PyNativeType_OBJECT, sizeof(void *), alignof(void *), PyNativeKind_OBJECT},
};

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
        EXPECT_EQ(got.is_pointer, is_pointer);
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
      EXPECT_NE(got.is_pointer, 0);
      EXPECT_TRUE(PyNativeType_IsConst(got));
      EXPECT_FALSE(PyNativeType_IsBuffer(got));
      EXPECT_FALSE(PyNativeType_IsPlace(got));
      EXPECT_EQ(PyNativeType_Size(got), sizeof(void *));
      EXPECT_EQ(PyNativeType_Kind(got), PyNativeKind_POINTER);
    }
    EXPECT_EQ(PyNativeSignature_ArgumentsInC(&parsed.signature), 1);
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
      // One for Python, two in C.
      ASSERT_EQ(parsed.signature.nargs, 2);
      EXPECT_EQ(PyNativeSignature_ArgumentsInC(&parsed.signature), 3);
      const PyNativeType got = parsed.signature.args[1];
      EXPECT_EQ(got.code, code.code);
      EXPECT_NE(got.is_pointer, 0);
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

struct Faulty {
  std::string text;
  size_t position;
  const char *reason;
};

TEST(Parse, EveryFaultWithItsPosition) {
  using namespace std::string_literals;
  const char *const unknown = "unknown type code";
  const char *const arrow = "expected '->'";
  const char *const end = "unexpected end";
  const char *const space = "spaces are not allowed";
  const char *const nul = "a NUL byte is not allowed";
  const char *const trailing = "text after the result";
  const char *const complex = "'Z' must be followed by f, d or g";
  const char *const only_result = "'v' is only a result";
  const char *const to_void = "'&' cannot point to 'v'";
  const char *const to_pointer = "'&' cannot point to '&'; write 'P'";
  const char *const too_many = "more than 127 arguments";
  const char *const buffer_too_many = "more than 127 arguments; '*' is two in C";
  const char *const by_value = "'k' must follow '&' or '*'";
  const char *const result = "'*' is only an argument: a result has no count";
  const char *const of_addresses =
      "'*' cannot point to 'P': no number from Python becomes an address";
  const char *const of_objects = "'*' cannot point to 'O': a buffer owns no objects";
  const std::string full = repeat("d", 127);
  const Faulty table[] = {
      {"", 0, arrow},
      {"d", 1, arrow},
      {"dd-", 3, arrow},
      {"d-d", 2, arrow},
      {"d>d", 1, arrow},
      {">", 0, arrow},
      {"d- >d", 2, arrow},
      {"->", 2, end},
      {"dd->", 4, end},
      {"&", 1, end},
      {"d&", 2, end},
      {"->&", 3, end},
      {"Z", 1, end},
      {"->Z", 3, end},
      {"&Z", 2, end},
      {"->&Z", 4, end},
      {"x->d", 0, unknown},
      {"ddx->d", 2, unknown},
      {"d->x", 3, unknown},
      {"d->->d", 3, unknown},
      {"&->d", 1, unknown},
      {"&x->d", 1, unknown},
      {"d,d->d", 1, unknown},
      {"\xff->d", 0, unknown},
      {"\x80", 0, unknown},
      {"D->d", 0, unknown},
      {"Zi->d", 1, complex},
      {"ZZd->d", 1, complex},
      {"Z->d", 1, complex},
      {"->Zv", 3, complex},
      {"d->&Zx", 5, complex},
      {"v->d", 0, only_result},
      {"dv->d", 1, only_result},
      {"v->v", 0, only_result},
      {"&v->d", 1, to_void},
      {"d->&v", 4, to_void},
      {"&&d->d", 1, to_pointer},
      {"->&&d", 3, to_pointer},
      {"*", 1, end},
      {"*k", 2, end},
      {"&k", 2, end},
      {"*kZ", 3, end},
      {"k", 0, by_value},
      {"kd->d", 0, by_value},
      {"dkd->d", 1, by_value},
      {"k&d->d", 0, by_value},
      {"k*d->d", 0, by_value},
      {"d->kd", 3, by_value},
      {"*v->d", 1, "'*' cannot point to 'v'; write '*B'"},
      {"*kv->d", 2, "'*' cannot point to 'v'; write '*B'"},
      {"&kv->d", 2, to_void},
      {"*P->d", 1, of_addresses},
      {"*kP->d", 2, of_addresses},
      {"*O->d", 1, of_objects},
      {"*kO->d", 2, of_objects},
      {"*ks->d", 2, "'*s' is const without 'k'"},
      {"*&d->d", 1, "'*' cannot point to '&'"},
      {"*k&d->d", 2, "'*' cannot point to '&'"},
      {"&*d->d", 1, "'&' cannot point to '*'"},
      {"&k*d->d", 2, "'&' cannot point to '*'"},
      {"**d->d", 1, "'*' cannot point to '*'"},
      {"&k&d->d", 2, to_pointer},
      {"*kkd->d", 2, "'k' cannot be there twice"},
      {"&kkd->d", 2, "'k' cannot be there twice"},
      {"*x->d", 1, unknown},
      {"* d->d", 1, space},
      {"*k\0d->d"s, 2, nul},
      {"*Zx->d", 2, complex},
      {"*k->d", 2, unknown},
      {"d->*d", 3, result},
      {"->*kd", 2, result},
      {"->*s", 2, result},
      {"->*", 2, result},
      {"d->d->d", 4, trailing},
      {"->vv", 3, trailing},
      {"->dx", 3, trailing},
      {"->Zdd", 4, trailing},
      {"->d&", 3, trailing},
      {" dd->d", 0, space},
      {"d d->d", 1, space},
      {"dd ->d", 2, space},
      {"dd-> d", 4, space},
      {"dd->d ", 5, space},
      {"dd->d\n", 5, space},
      {"\t->d", 0, space},
      {"d\r->d", 1, space},
      {"d\x0e->d", 1, unknown},
      {"d\b->d", 1, unknown},
      {"& d->d", 1, space},
      {"Z d->d", 1, space},
      {"\0"s, 0, nul},
      {"d\0->d"s, 1, nul},
      {"d->d\0"s, 4, nul},
      {"Z\0->d"s, 1, nul},
      {"&\0->d"s, 1, nul},
      {"->\0"s, 2, nul},
      {full + "d->d", 127, too_many},
      {full + "Zd->d", 127, too_many},
      {full + "&d->d", 127, too_many},
      {full + "&", 127, too_many},
      {full + "&x", 127, too_many},
      {full + "x", 127, unknown},
      {full + " ", 127, space},
      {full + "*d->d", 127, buffer_too_many},
      {full + "*", 127, buffer_too_many},
      {full + "k", 127, by_value},
      {full.substr(1) + "*d->d", 126, buffer_too_many},
      {full.substr(1) + "*", 126, buffer_too_many},
      {repeat("*d", 63) + "*d->d", 126, buffer_too_many},
      {repeat("*d", 63) + "dd->d", 127, too_many},
      {repeat("*d", 63) + "d", 127, arrow},
      {repeat("&Zd", 128), 381, too_many},
      {full, 127, arrow},
      {repeat("d", 100000), 127, too_many},
  };
  for (const Faulty &faulty : table) {
    SCOPED_TRACE(testing::PrintToString(faulty.text.substr(0, 140)));
    const Parsed parsed = parse(faulty.text);
    EXPECT_FALSE(parsed.ok);
    EXPECT_EQ(parsed.fault.position, faulty.position);
    EXPECT_STREQ(parsed.fault.reason, faulty.reason);
    EXPECT_EQ(parsed.signature.nargs, 0);
    EXPECT_EQ(PyNativeSignature_Parse(faulty.text.data(), faulty.text.size(), nullptr, nullptr),
              -1);
    if (faulty.text.find('\0') == std::string::npos) {
      PyNativeSignature_Fault fault = {};
      EXPECT_EQ(PyNativeSignature_ParseString(faulty.text.c_str(), nullptr, &fault), -1);
      EXPECT_EQ(fault.position, faulty.position);
      EXPECT_STREQ(fault.reason, faulty.reason);
    }
  }
}

TEST(Parse, FailureLeavesAnEmptySignature) {
  PyNativeSignature signature = {};
  ASSERT_EQ(PyNativeSignature_ParseString("dd->&d", &signature, nullptr), 0);
  ASSERT_EQ(PyNativeSignature_ParseString("dd->&x", &signature, nullptr), -1);
  EXPECT_EQ(print(signature), "->v");
}

TEST(Parse, SuccessLeavesTheFaultAlone) {
  PyNativeSignature_Fault fault = {7, "before"};
  ASSERT_EQ(PyNativeSignature_ParseString("dd->d", nullptr, &fault), 0);
  EXPECT_EQ(fault.position, 7u);
  EXPECT_STREQ(fault.reason, "before");
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
  EXPECT_EQ(PyNativeSignature_ArgumentsInC(&buffers.signature), PyNativeSignature_MAX_ARGS);
  EXPECT_FALSE(parse("d" + longest).ok);
  EXPECT_FALSE(parse(longest + "d").ok);
}

// Every signature of at most `longest` bytes that these types make, built up instead of parsed.
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

// The position is where a text stops being the beginning of a signature.
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
  // By the length of the arguments: 0, 1 and 2, with results of up to 3, 2 and 1 bytes.
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
