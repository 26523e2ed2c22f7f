// Tests that readers only access memory that the bits or the header declare.

#include "tests/typed_method/def_in_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace {

using namespace typed_method_test;

const int kLong[] = {1, -1};
const PyNativeCallableTable kOverloads = {1, {{"l->l", 0, nullptr}}};

// A page of zeros between two unreadable ones.
class Guarded : public testing::Test {
 protected:
  Guarded() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {}

  void SetUp() override {
    void *memory = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    whole_ = static_cast<char *>(memory);
    ASSERT_EQ(mprotect(whole_ + page_, page_, PROT_READ | PROT_WRITE), 0);
    first = whole_ + page_;
    end = first + page_;
  }
  void TearDown() override {
    if (whole_) munmap(whole_, 3 * page_);
  }

  // Copies `values` to the last bytes of the page.
  template <class T>
  T *at_end(const std::vector<T> &values) {
    T *start = reinterpret_cast<T *>(end - values.size() * sizeof(T));
    std::copy(values.begin(), values.end(), start);
    return start;
  }

  char *first = nullptr;  // the first byte of the page
  char *end = nullptr;    // the end of the page

 private:
  size_t page_;
  char *whole_ = nullptr;
};

void read_all(const PyMethodDef &def) {
  EXPECT_EQ(PyTypedMethod_Metadata(&def), nullptr);
  EXPECT_EQ(PyTypedMethod_Table(&def), nullptr);
  EXPECT_FALSE(read_pypy(def).accepted);
  EXPECT_FALSE(read_one(def).accepted);
}

using GuardedDeathTest = Guarded;

TEST_F(GuardedDeathTest, TheGuardsWork) {
  EXPECT_DEATH((void)*const_cast<volatile char *>(first - 1), "");
  EXPECT_DEATH((void)*const_cast<volatile char *>(end), "");
}

TEST_F(Guarded, WithoutBitsOnlyTheName) {
  for (int convention : {METH_O, METH_FASTCALL, METH_VARARGS}) {
    read_all(def_of(first, convention));
    read_all(def_of(first, convention | kExtended));
  }
}

TEST_F(Guarded, MisalignedNamesAreNotFollowed) {
  for (size_t shift = 1; shift < 8; ++shift) {
    for (int flags : {kTyped, kBoth}) read_all(def_of(first + shift, flags | METH_O));
  }
}

TEST_F(Guarded, PyPysStructAlone) {
  char *name = first + kArguments;
  put_pypy(name, kLong, 1, function_at(8));
  const PyMethodDef def = def_of(name, kTyped | METH_O);
  EXPECT_EQ(read_pypy(def).signature, "l->l");
  EXPECT_EQ(PyTypedMethod_Metadata(&def), nullptr);
  EXPECT_EQ(PyTypedMethod_Table(&def), nullptr);
}

// No reader may read memory before the post's struct, which is smaller than PyPy's.
TEST_F(Guarded, OneArgument) {
  char *name = first + kOneArgument;
  put(name, kOneArgument, 2);
  put(name, kOneReturn, 2);
  put(name, kFunction, function_at(8));
  EXPECT_EQ(read_one(def_of(name, kTyped | METH_O)).signature, "d->d");
  EXPECT_EQ(read_pypy(def_of(name, kTyped | METH_O)).signature, "d->d");
  for (int convention : {METH_FASTCALL, METH_VARARGS, METH_NOARGS, METH_O | METH_KEYWORDS}) {
    read_all(def_of(name, kTyped | convention));
  }
  for (int arg_type : {0, 4, -1, -2, PyTypedMethod_NOT_FOR_PYPY}) {
    for (int ret_type : {1, -1, 4, PyTypedMethod_NOT_FOR_PYPY}) {
      put(name, kOneArgument, arg_type);
      put(name, kOneReturn, ret_type);
      for (int convention : {METH_O, METH_FASTCALL}) read_all(def_of(name, kTyped | convention));
    }
  }
}

TEST_F(Guarded, BitsThatAreNotOurs) {
  // 0x0400 is METH_TYPED in Cinder.
  for (int bits : {0x0100, 0x0400, 0x0800, 0x4000, 0x8000}) {
    for (int convention : {METH_O, METH_FASTCALL}) read_all(def_of(first, bits | convention));
  }
}

TEST_F(Guarded, Header) {
  char *name = first + kDetails;
  put_pypy(name, kLong, 1, function_at(8));
  put_header(name, &kOverloads);
  const PyMethodDef def = def_of(name, kBoth | METH_O);
  EXPECT_EQ(PyTypedMethod_Table(&def), &kOverloads);
  EXPECT_EQ(read_pypy(def).signature, "l->l");
  // The header may claim any minor version and any size.
  put(name, kMinor, uint16_t{9});
  put(name, kSize, uint32_t{0xfffffff8});
  EXPECT_EQ(PyTypedMethod_Table(&def), &kOverloads);
  EXPECT_EQ(read_pypy(def).signature, "l->l");
}

TEST_F(Guarded, HeaderThatIsTooSmall) {
  // The readable memory begins at the field `size`.
  char *name = first + kSize;
  put_pypy(name, kLong, 1, function_at(8));
  put(name, kMagic, uint64_t{0x5059545950454431});
  put(name, kMajor, uint16_t{1});
  put(name, kSize, uint32_t{40});
  read_all(def_of(name, kBoth | METH_O));
}

TEST_F(Guarded, WithAnotherMagicNothingElse) {
  // These bits may belong to another project.
  char *name = first + kMagic;
  read_all(def_of(name, kBoth | METH_O));
}

TEST_F(Guarded, CodesEndWithThePage) {
  char *name = first + kArguments;
  const auto codes = [&](std::vector<int> values, int convention) {
    put_pypy(name, at_end(values), 1, function_at(8));
    return read_pypy(def_of(name, kTyped | convention));
  };
  EXPECT_EQ(codes({-1}, METH_FASTCALL).signature, "->l");
  EXPECT_FALSE(codes({-1}, METH_O).accepted);
  EXPECT_EQ(codes({1, -1}, METH_O).signature, "l->l");
  EXPECT_FALSE(codes({1, 1}, METH_O).accepted);
  for (int code : {PyTypedMethod_NOT_FOR_PYPY, 0, 4, -2}) {
    EXPECT_FALSE(codes({code}, METH_FASTCALL).accepted);
    EXPECT_FALSE(codes({code}, METH_O).accepted);
    EXPECT_FALSE(codes({1, code}, METH_O).accepted);
  }
  EXPECT_FALSE(codes(std::vector<int>(128, 1), METH_FASTCALL).accepted);
  std::vector<int> most(127, 1);
  most.push_back(-1);
  EXPECT_EQ(codes(most, METH_FASTCALL).signature, std::string(127, 'l') + "->l");
}

TEST_F(Guarded, NameEndsWithThePage) {
  for (const std::string &text : {std::string(), std::string("name_of_15_chars")}) {
    // The name ends at the end of the page.
    const size_t bytes = (text.size() + 1 + 7) / 8 * 8;
    char *name = end - bytes;
    std::memset(name, 'x', bytes - 1);
    name[bytes - 1] = '\0';
    put_pypy(name, kLong, 1, function_at(8));
    put_header(name, &kOverloads);
    const PyMethodDef def = def_of(name, kBoth | METH_O);
    EXPECT_EQ(PyTypedMethod_Table(&def), &kOverloads);
    EXPECT_EQ(read_pypy(def).signature, "l->l");
    EXPECT_EQ(read_pypy(def_of(name, kTyped | METH_O)).signature, "l->l");
    read_all(def_of(name, METH_O));
    EXPECT_FALSE(read_one(def_of(name, kTyped | METH_FASTCALL)).accepted);
  }
}

}  // namespace
