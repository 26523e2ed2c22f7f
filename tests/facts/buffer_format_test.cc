// Tests buffer formats, including some that the standard library does not use.
#include "typedcall/provider.h"

// After Python.h.
#include "gtest/gtest.h"

namespace {

using typedcall::internal::is_buffer_of;

PyNativeType TypeOf(int code) {
  PyNativeType type = {};
  type.code = static_cast<decltype(type.code)>(code);
  return type;
}

TEST(BufferFormat, MarksThatMeanThisPlatform) {
  for (const char *format : {"Zd", "=Zd", "<Zd", "@Zd", "^Zd"}) {
    EXPECT_TRUE(is_buffer_of(TypeOf(PyNativeType_CDOUBLE), format, 16)) << format;
  }
}

TEST(BufferFormat, IntegersOfOneWidthAreOneType) {
  for (const char *format : {"l", "q", "n"}) {
    EXPECT_TRUE(is_buffer_of(TypeOf(PyNativeType_LONG), format, 8)) << format;
  }
  EXPECT_FALSE(is_buffer_of(TypeOf(PyNativeType_LONG), "L", 8));
  EXPECT_FALSE(is_buffer_of(TypeOf(PyNativeType_LONG), "d", 8));
  EXPECT_FALSE(is_buffer_of(TypeOf(PyNativeType_LONG), "c", 1));
}

TEST(BufferFormat, WhatMeansSomethingElse) {
  for (const char *format :
       {">l", "!l", "", "@", "2l", "ll", "Zl", "l:x:", "T{l:a:}", "v", "&l", "P", "O", "x", "8s"}) {
    EXPECT_FALSE(is_buffer_of(TypeOf(PyNativeType_LONG), format, 8)) << format;
  }
}

TEST(BufferFormat, SizeIsWhatIsThere) {
  EXPECT_FALSE(is_buffer_of(TypeOf(PyNativeType_LONG), "=l", 4));
  EXPECT_TRUE(is_buffer_of(TypeOf(PyNativeType_INT), "=l", 4));
  EXPECT_TRUE(is_buffer_of(TypeOf(PyNativeType_UCHAR), nullptr, 1));
}

}  // namespace
