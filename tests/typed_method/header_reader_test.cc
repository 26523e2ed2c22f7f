// Tests readers of our header.

#include "tests/typed_method/def_in_memory.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace {

using namespace typed_method_test;

constexpr uint64_t kRight = 0x5059545950454431;
const int kNotForPyPy[] = {PyTypedMethod_NOT_FOR_PYPY, -1};
const int kLong[] = {1, -1};
const PyNativeCallableTable kOverloads = {1, {{"l->l", 0, nullptr}}};

// A complete def that the tests corrupt.
class Header : public testing::Test {
 protected:
  Header() {
    put_pypy(memory.name(), kLong, 1, function_at(0x1234));
    put_header(memory.name(), &kOverloads);
  }
  const PyNativeCallableTable *table(int flags = kBoth | METH_O) {
    const PyMethodDef def = memory.def(flags);
    return PyTypedMethod_Table(&def);
  }
  const PyTypedMethodMetadata *metadata(int flags = kBoth | METH_O) {
    const PyMethodDef def = memory.def(flags);
    return PyTypedMethod_Metadata(&def);
  }
  bool pypy(int flags = kBoth | METH_O) { return read_pypy(memory.def(flags)).accepted; }

  DefInMemory memory;
};

TEST_F(Header, IsFound) {
  EXPECT_EQ(table(), &kOverloads);
  EXPECT_EQ(static_cast<const void *>(metadata()), memory.name() - 56);
  EXPECT_STREQ(metadata()->pypy.ml_name, "f");
  EXPECT_TRUE(pypy());
}

TEST_F(Header, AnyConvention) {
  for (int flags : {METH_VARARGS, METH_VARARGS | METH_KEYWORDS, METH_NOARGS, METH_FASTCALL,
                    METH_FASTCALL | METH_KEYWORDS, METH_O | METH_STATIC, 0}) {
    SCOPED_TRACE(flags);
    EXPECT_EQ(table(kBoth | flags), &kOverloads);
  }
}

TEST_F(Header, NotForPyPy) {
  put_pypy(memory.name(), kNotForPyPy, PyTypedMethod_NOT_FOR_PYPY, nullptr);
  EXPECT_EQ(table(), &kOverloads);
  EXPECT_FALSE(pypy());
}

TEST_F(Header, WithoutTableOnlyPyPysFieldsCount) {
  memory.set(kTable, static_cast<const PyNativeCallableTable *>(nullptr));
  EXPECT_NE(metadata(), nullptr);
  EXPECT_EQ(table(), nullptr);
  const Read read = read_pypy(memory.def(kBoth | METH_O));
  EXPECT_TRUE(read.accepted);
  EXPECT_EQ(read.signature, "l->l");
  EXPECT_EQ(read.function, function_at(0x1234));
}

TEST_F(Header, BitsThatDoNotAnnounceIt) {
  for (int flags : {METH_O, kExtended | METH_O, kTyped | METH_O}) {
    SCOPED_TRACE(flags);
    EXPECT_EQ(metadata(flags), nullptr);
    EXPECT_EQ(table(flags), nullptr);
  }
  EXPECT_TRUE(pypy(kTyped | METH_O));  // PyPy's struct is still valid
  EXPECT_FALSE(pypy(kExtended | METH_O));
}

TEST_F(Header, WrongMagic) {
  for (uint64_t magic : {uint64_t{0}, kRight + 1, kRight ^ (uint64_t{1} << 63),
                         uint64_t{0x3144455059545950}}) {  // the magic in the other byte order
    SCOPED_TRACE(magic);
    memory.set(kMagic, magic);
    EXPECT_EQ(table(), nullptr);
    EXPECT_EQ(metadata(), nullptr);
    EXPECT_FALSE(pypy());
  }
}

TEST_F(Header, OtherMajorVersions) {
  for (int major : {0, 2, 256, 65535}) {
    SCOPED_TRACE(major);
    memory.set(kMajor, static_cast<uint16_t>(major));
    EXPECT_EQ(table(), nullptr);
    EXPECT_FALSE(pypy());
  }
}

TEST_F(Header, NewerMinorVersionHasFieldsInFront) {
  memory.set(kMinor, uint16_t{7});
  memory.set(kSize, uint32_t{72});
  memory.set(64, uint64_t{42});
  memory.set(72, function_at(0x5678));
  EXPECT_EQ(table(), &kOverloads);
  EXPECT_EQ(metadata()->abi_minor, 7);
  EXPECT_TRUE(pypy());
}

TEST_F(Header, Sizes) {
  for (uint32_t size : {0u, 1u, 32u, 40u, 55u}) {
    SCOPED_TRACE(size);
    memory.set(kSize, size);
    EXPECT_EQ(table(), nullptr);
    EXPECT_FALSE(pypy());
  }
  // Readers of version 1.0 only read the fields of 1.0.
  for (uint32_t size : {56u, 57u, 64u, 4096u, 0x80000000u, 0xffffffffu}) {
    SCOPED_TRACE(size);
    memory.set(kSize, size);
    EXPECT_EQ(table(), &kOverloads);
    EXPECT_TRUE(pypy());
  }
}

TEST_F(Header, NothingThere) {
  EXPECT_EQ(PyTypedMethod_Metadata(nullptr), nullptr);
  EXPECT_EQ(PyTypedMethod_Table(nullptr), nullptr);
  for (int flags : {0, kTyped, kExtended, kBoth}) {
    const PyMethodDef nameless = def_of(nullptr, flags | METH_O);
    EXPECT_EQ(PyTypedMethod_Metadata(&nameless), nullptr);
    EXPECT_EQ(PyTypedMethod_Table(&nameless), nullptr);
  }
}

TEST(Misaligned, IsNone) {
  alignas(16) char bytes[256] = {};
  for (size_t shift = 1; shift < 8; ++shift) {
    SCOPED_TRACE(shift);
    char *name = bytes + 128 + shift;
    put_pypy(name, kLong, 1, function_at(0x1234));
    put_header(name, &kOverloads);
    const PyMethodDef def = def_of(name, kBoth | METH_O);
    EXPECT_EQ(PyTypedMethod_Metadata(&def), nullptr);
    EXPECT_EQ(PyTypedMethod_Table(&def), nullptr);
    EXPECT_FALSE(read_pypy(def).accepted);
  }
}

TEST(Flags, AreUsable) {
  for (uintptr_t flags :
       {0x0ul,     0x1ul,      0x2ul,      0x3ul,   0x5ul,     0xdul,     0x11ul,
        0x20ul,    0x40ul,     0x80ul,     0xe3ul,  0x10000ul, 0x20000ul, 0x40000ul,
        0x80000ul, 0x800000ul, 0xff00e1ul, 0x100ul, 0x101ul,   0x1e3ul,   0x15ul}) {
    EXPECT_TRUE(PyNativeCallable_FlagsAreUsable(flags)) << std::hex << flags;
  }
  for (uintptr_t flags : {0x4ul,         0xcul,
                          0x10ul,        0x14ul,
                          0x6ul,  // exceptions need a thread state
                          0x104ul,       0x105ul,
                          0x108ul,       0x110ul,
                          0x111ul,  // functions that fall back set no exception
                          0x8ul,         0x9ul,
                          0x19ul,        0x1dul,  // an error value without MAY_RAISE
                          0x200ul,       0x400ul,
                          0x8000ul,      0x8001ul,  // an unknown bit that readers must understand
                          0x1000000ul,   0x80000000ul,
                          0xff000001ul,  // other versions of the ABI
                          0x100000000ul, 0x8000000000000001ul,
                          ~0ul}) {  // bits above the 32nd
    EXPECT_FALSE(PyNativeCallable_FlagsAreUsable(flags)) << std::hex << flags;
  }
}

}  // namespace
