// Tests invalid signature strings. signature_test.cc tests valid strings.

#include <gtest/gtest.h>

#include <string>

#include "tests/signature/parsed.h"
#include "typedcall/signature.h"

namespace signature_test {
namespace {

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
      {"+d->i", 0, unknown},  // reserved by docs/ABI.md, section 3
      {"d+6d->i", 1, unknown},
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

}  // namespace
}  // namespace signature_test
