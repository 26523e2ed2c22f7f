// Tests readers of PyPy's struct and of the struct from the post that introduced METH_TYPED.

#include "tests/typed_method/def_in_memory.h"

#include <gtest/gtest.h>

#include <climits>
#include <vector>

namespace {

using namespace typed_method_test;

constexpr uintptr_t kThread = 0x0001, kRaise = 0x0004, kNegativeZero = 0x0008;
void *const kAddress = function_at(0x1234);

// Reads PyPy's struct without our header.
Read pypy(std::vector<int> codes, int ret_type, int flags = METH_FASTCALL,
          void *function = kAddress) {
  DefInMemory memory;
  put_pypy(memory.name(), codes.data(), ret_type, function);
  return read_pypy(memory.def(kTyped | flags));
}

Read one(int arg_type, int ret_type, int flags = kTyped | METH_O, void *function = kAddress) {
  DefInMemory memory;
  memory.set(kOneArgument, arg_type);
  memory.set(kOneReturn, ret_type);
  memory.set(kFunction, function);
  return read_one(memory.def(flags));
}

void expect_refused(const Read &read) {
  EXPECT_FALSE(read.accepted);
  EXPECT_EQ(read.signature, "");
}

TEST(PyPy, SpellsEveryCode) {
  const Read read = pypy({1, 2, 3, -1}, 1);
  EXPECT_TRUE(read.accepted);
  EXPECT_EQ(read.signature, "ldO->l");
  EXPECT_EQ(read.function, kAddress);
  EXPECT_EQ(read.flags, kThread);
  EXPECT_EQ(pypy({2, -1}, 2).signature, "d->d");
  EXPECT_EQ(pypy({3, 3, -1}, 3).signature, "OO->O");
}

TEST(PyPy, NegativeResultMayRaise) {
  const Read integer = pypy({1, -1}, -1);
  EXPECT_EQ(integer.signature, "l->l");
  EXPECT_EQ(integer.flags, kThread | kRaise);
  const Read floating = pypy({1, -1}, -2);
  EXPECT_EQ(floating.signature, "l->d");
  EXPECT_EQ(floating.flags, kThread | kRaise | kNegativeZero);
  const Read object = pypy({1, -1}, -3);
  EXPECT_EQ(object.signature, "l->O");
  EXPECT_EQ(object.flags, kThread | kRaise);
  // Only functions that may raise have the error value -0.0.
  EXPECT_EQ(pypy({1, -1}, 2).flags, kThread);
  for (int ret_type : {1, 2, 3, -1, -2, -3}) {
    EXPECT_TRUE(PyNativeCallable_FlagsAreUsable(pypy({1, -1}, ret_type).flags)) << ret_type;
  }
}

TEST(PyPy, UnknownResults) {
  for (int ret_type :
       {0, 4, 100, 255, 256, 257, INT_MAX, -4, -100, -255, -256, -257, INT_MIN + 1, INT_MIN}) {
    SCOPED_TRACE(ret_type);
    expect_refused(pypy({1, -1}, ret_type));
    expect_refused(one(1, ret_type));
  }
}

TEST(PyPy, UnknownArguments) {
  for (int code : {0, 4, 100, PyTypedMethod_NOT_FOR_PYPY, 0x101, 0x201, INT_MAX, -2, -3, INT_MIN}) {
    SCOPED_TRACE(code);
    expect_refused(pypy({code, -1}, 1));
    expect_refused(pypy({code, -1}, 1, METH_O));
    expect_refused(pypy({1, code, -1}, 1));
    expect_refused(one(code, 1));
  }
  // After NOT_FOR_PYPY, valid codes make no difference.
  expect_refused(pypy({PyTypedMethod_NOT_FOR_PYPY, 1, -1}, 1));
}

TEST(PyPy, MissingParts) {
  expect_refused(pypy({1, -1}, 1, METH_FASTCALL, nullptr));
  expect_refused(one(1, 1, kTyped | METH_O, nullptr));
  DefInMemory memory;
  put_pypy(memory.name(), nullptr, 1, kAddress);
  expect_refused(read_pypy(memory.def(kTyped | METH_FASTCALL)));
  expect_refused(read_pypy(memory.def(kTyped | METH_O)));

  for (Reader reader : {&PyTypedMethod_ReadPyPy, &PyTypedMethod_ReadOneArg}) {
    expect_refused(read_with(reader, nullptr));
    for (int flags : {0, kTyped | METH_O, kTyped | METH_FASTCALL, kBoth | METH_O}) {
      const PyMethodDef nameless = def_of(nullptr, flags);
      expect_refused(read_with(reader, &nameless));
    }
  }
}

TEST(PyPy, ManyArguments) {
  std::vector<int> codes(127, 1);
  codes.push_back(-1);
  const Read longest = pypy(codes, 2);
  EXPECT_EQ(longest.signature, std::string(127, 'l') + "->d");
  EXPECT_EQ(PyNativeSignature_ParseString(longest.signature.c_str(), nullptr, nullptr), 0);

  codes.insert(codes.begin(), 1);
  expect_refused(pypy(codes, 2));
  // Nothing is read after 128 codes without a terminator.
  codes.pop_back();
  codes.shrink_to_fit();
  expect_refused(pypy(codes, 2));
}

TEST(PyPy, ArgumentsAgreeWithTheConvention) {
  EXPECT_EQ(pypy({2, -1}, 2, METH_O).signature, "d->d");
  expect_refused(pypy({-1}, 2, METH_O));
  expect_refused(pypy({2, 2, -1}, 2, METH_O));
  EXPECT_EQ(pypy({-1}, 2).signature, "->d");
  EXPECT_EQ(pypy({2, -1}, 2).signature, "d->d");
  EXPECT_EQ(pypy({2, 2, -1}, 2).signature, "dd->d");
}

TEST(PyPy, OtherConventions) {
  for (int flags : {0, METH_VARARGS, METH_VARARGS | METH_KEYWORDS, METH_NOARGS,
                    METH_FASTCALL | METH_KEYWORDS, METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
                    // These combinations are invalid.
                    METH_O | METH_FASTCALL, METH_O | METH_VARARGS, METH_FASTCALL | METH_VARARGS,
                    METH_O | METH_NOARGS, METH_O | METH_KEYWORDS}) {
    SCOPED_TRACE(flags);
    expect_refused(pypy({1, -1}, 1, flags));
    expect_refused(one(1, 1, kTyped | flags));
  }
  // Binding and METH_COEXIST do not affect the arguments.
  for (int more : {METH_CLASS, METH_STATIC, METH_COEXIST, 0x4000, INT_MIN}) {
    SCOPED_TRACE(more);
    EXPECT_EQ(pypy({1, -1}, 1, METH_O | more).signature, "l->l");
    EXPECT_EQ(pypy({1, 1, -1}, 1, METH_FASTCALL | more).signature, "ll->l");
    EXPECT_EQ(one(1, 1, kTyped | METH_O | more).signature, "l->l");
  }
}

TEST(PyPy, NeedsTheBit) {
  const int codes[] = {1, -1};
  DefInMemory memory;
  put_pypy(memory.name(), codes, 1, kAddress);
  for (int flags : {METH_O, METH_FASTCALL, METH_O | kExtended}) {
    SCOPED_TRACE(flags);
    expect_refused(read_pypy(memory.def(flags)));
    expect_refused(read_one(memory.def(flags)));
  }
  expect_refused(read_pypy(memory.def(METH_O | kBoth)));  // no header precedes it
  EXPECT_TRUE(read_pypy(memory.def(METH_O | kTyped)).accepted);
}

TEST(PyPy, Misaligned) {
  alignas(16) char bytes[256] = {};
  for (size_t shift = 1; shift < 8; ++shift) {
    SCOPED_TRACE(shift);
    char *name = bytes + 128 + shift;
    const int codes[] = {1, -1};
    put_pypy(name, codes, 1, kAddress);
    expect_refused(read_pypy(def_of(name, kTyped | METH_O)));
    put(name, kOneArgument, 1);
    put(name, kOneReturn, 1);
    expect_refused(read_one(def_of(name, kTyped | METH_O)));
  }
}

TEST(OneArgument, SpellsAndRefuses) {
  const Read read = one(2, -2);
  EXPECT_EQ(read.signature, "d->d");
  EXPECT_EQ(read.function, kAddress);
  EXPECT_EQ(read.flags, kThread | kRaise | kNegativeZero);
  EXPECT_EQ(one(1, 3).signature, "l->O");
  EXPECT_EQ(one(3, -1).signature, "O->l");
  expect_refused(one(-1, 1));
  expect_refused(one(1, 1, kBoth | METH_O));
  expect_refused(one(1, 1, kTyped | METH_FASTCALL));
}

// The ints that the tests use as codes, for both argument and result.
const int kCodes[] = {0,   1,   2,   3,     4,      -1,     -2,      -3,          -4,
                      100, 255, 256, 0x100, -0x100, 0xAAAA, INT_MAX, INT_MIN + 1, INT_MIN};

TEST(OneArgument, BothReadersReadIt) {
  for (int arg_type : kCodes) {
    for (int ret_type : kCodes) {
      if (ret_type == 0) continue;  // 0 identifies PyPy's struct
      SCOPED_TRACE(std::to_string(arg_type) + ", " + std::to_string(ret_type));
      DefInMemory memory;  // no pointer precedes the struct
      memory.set(kOneArgument, arg_type);
      memory.set(kOneReturn, ret_type);
      memory.set(kFunction, kAddress);
      const Read one = read_one(memory.def(kTyped | METH_O));
      const Read usual = read_pypy(memory.def(kTyped | METH_O));
      const bool known = arg_type >= 1 && arg_type <= 3 && ret_type >= -3 && ret_type <= 3;
      EXPECT_EQ(one.accepted, known);
      // A negative value may be garbage in PyPy's padding.
      EXPECT_EQ(usual.accepted, known && ret_type > 0);
      if (!usual.accepted) continue;
      EXPECT_EQ(usual.signature, one.signature);
      EXPECT_EQ(usual.flags, one.flags);
      EXPECT_EQ(usual.function, one.function);
    }
  }
}

TEST(OneArgument, OtherConventionsAreCalledBoxed) {
  DefInMemory memory;
  memory.set(kOneArgument, 1);
  memory.set(kOneReturn, 1);
  memory.set(kFunction, kAddress);
  EXPECT_TRUE(read_pypy(memory.def(kTyped | METH_O | METH_STATIC)).accepted);
  for (int flags : {METH_FASTCALL, METH_VARARGS, METH_NOARGS, METH_FASTCALL | METH_KEYWORDS,
                    METH_VARARGS | METH_KEYWORDS, 0}) {
    SCOPED_TRACE(flags);
    expect_refused(read_pypy(memory.def(kTyped | flags)));
    expect_refused(read_one(memory.def(kTyped | flags)));
  }
}

TEST(PyPy, IsNotTakenForOneArgument) {
  const int codes[] = {1, -1};
  DefInMemory memory;
  put_pypy(memory.name(), codes, 2, kAddress);
  expect_refused(read_one(memory.def(kTyped | METH_O)));
  EXPECT_EQ(read_pypy(memory.def(kTyped | METH_O)).signature, "l->d");
  // The padding of a struct that was made at run time.
  for (int padding : {4, -1, -2, -3, -4, 0x100, 0xAAAA, INT_MAX, INT_MIN}) {
    SCOPED_TRACE(padding);
    memory.set(kPadding, padding);
    for (int convention : {METH_O, METH_FASTCALL}) {
      expect_refused(read_pypy(memory.def(kTyped | convention)));
    }
  }
  // After our header, the struct can only be PyPy's.
  put_header(memory.name(), nullptr);
  EXPECT_EQ(read_pypy(memory.def(kBoth | METH_O)).signature, "l->d");
}

TEST(PyPy, ArgumentsThatAreNoIntegers) {
  alignas(4) signed char bytes[16] = {1, 0, 0, 0, -1, -1, -1, -1};
  for (int shift : {1, 2, 3}) {
    DefInMemory memory;
    put_pypy(memory.name(), reinterpret_cast<const int *>(bytes + shift), 1, kAddress);
    expect_refused(read_pypy(memory.def(kTyped | METH_O)));
    expect_refused(read_pypy(memory.def(kTyped | METH_FASTCALL)));
  }
}

}  // namespace
