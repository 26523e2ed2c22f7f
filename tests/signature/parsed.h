// Functions that parse and print signatures, and a list of all type codes.

#ifndef TESTS_SIGNATURE_PARSED_H_
#define TESTS_SIGNATURE_PARSED_H_

#include <gtest/gtest.h>

#include <string>

#include "typedcall/signature.h"

namespace signature_test {

struct Parsed {
  bool ok = false;
  PyNativeSignature signature = {};
  PyNativeSignature_Fault fault = {};
};

inline Parsed parse(const std::string &text) {
  Parsed parsed;
  parsed.ok =
      PyNativeSignature_Parse(text.data(), text.size(), &parsed.signature, &parsed.fault) == 0;
  return parsed;
}

inline std::string print(const PyNativeSignature &signature) {
  char buffer[PyNativeSignature_MAX_LENGTH + 1];
  const size_t length = PyNativeSignature_Print(&signature, buffer, sizeof buffer);
  EXPECT_LT(length, sizeof buffer);
  EXPECT_EQ(buffer[length], '\0');
  return std::string(buffer, length);
}

inline std::string repeat(const std::string &part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += part;
  return all;
}

struct Code {
  const char *letters;
  int code;
  size_t size;
  size_t alignment;
  PyNativeKind kind;
};
inline constexpr Code codes[] = {
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

}  // namespace signature_test

#endif  // TESTS_SIGNATURE_PARSED_H_
