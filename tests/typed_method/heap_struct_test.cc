// Tests structs on the heap, where ASan detects reads before the struct.

#include "tests/typed_method/def_in_memory.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

namespace {

using namespace typed_method_test;

struct Free {
  void operator()(void *block) const { std::free(block); }
};

// The structs of providers that do not use our headers.
struct OfThePost {
  int arg_type;
  int ret_type;
  void *underlying_func;
  char ml_name[100];
};
struct OfPyPy {
  int *arg_types;
  int ret_type;
  void *underlying_func;
  char ml_name[100];
};

// A struct on the heap. Its bytes are initially `fill`.
template <class Struct>
class Block {
 public:
  explicit Block(int fill) : block_(std::malloc(sizeof(Struct))) {
    if (!block_) throw std::bad_alloc();
    std::memset(block_.get(), fill, sizeof(Struct));
    std::strcpy(get()->ml_name, "inc");
  }
  Struct *get() { return static_cast<Struct *>(block_.get()); }
  Struct *operator->() { return get(); }
  PyMethodDef def(int convention) { return def_of(get()->ml_name, kTyped | convention); }

 private:
  std::unique_ptr<void, Free> block_;
};

const int kFills[] = {0, 0x01, 0x55, 0xAA, 0xFF};
void *const kAddress = function_at(0x1234);

Block<OfThePost> post(int fill, int arg_type, int ret_type) {
  Block<OfThePost> made(fill);
  made->arg_type = arg_type;
  made->ret_type = ret_type;
  made->underlying_func = kAddress;
  return made;
}

TEST(HeapStruct, OfThePost) {
  for (int fill : kFills) {
    SCOPED_TRACE(fill);
    Block<OfThePost> inc = post(fill, 1, 1);
    const Read read = read_pypy(inc.def(METH_O));
    EXPECT_EQ(read.signature, "l->l");
    EXPECT_EQ(read.function, kAddress);
    EXPECT_EQ(read.flags, PyNativeCallable_NEEDS_THREAD);
    EXPECT_EQ(read_one(inc.def(METH_O)).signature, "l->l");
    EXPECT_EQ(read_pypy(post(fill, 2, 2).def(METH_O)).signature, "d->d");
    EXPECT_EQ(read_one(post(fill, 2, -2).def(METH_O)).signature, "d->d");
    EXPECT_EQ(read_pypy(post(fill, 3, 1).def(METH_O)).signature, "O->l");
  }
}

TEST(HeapStruct, OfThePostCalledBoxed) {
  for (int fill : kFills) {
    for (int arg_type : {0, 1, -1, 4, 77, INT_MAX, INT_MIN}) {
      for (int ret_type : {1, -1, 4, 77, -77, INT_MAX, INT_MIN}) {
        Block<OfThePost> inc = post(fill, arg_type, ret_type);
        const bool known = arg_type == 1 && ret_type == 1;
        EXPECT_EQ(read_pypy(inc.def(METH_O)).accepted, known) << arg_type << " " << ret_type;
        for (int convention : {METH_FASTCALL, METH_VARARGS, METH_NOARGS, 0,
                               METH_FASTCALL | METH_KEYWORDS, METH_O | METH_FASTCALL}) {
          EXPECT_FALSE(read_pypy(inc.def(convention)).accepted);
          EXPECT_FALSE(read_one(inc.def(convention)).accepted);
        }
      }
    }
    Block<OfThePost> nothing = post(fill, 1, 1);
    nothing->underlying_func = nullptr;
    EXPECT_FALSE(read_pypy(nothing.def(METH_O)).accepted);
  }
}

TEST(HeapStruct, OfPyPy) {
  for (int fill : kFills) {
    SCOPED_TRACE(fill);
    for (int convention : {METH_O, METH_FASTCALL}) {
      // The reader must stop at an unknown code.
      std::unique_ptr<int[]> codes(new int[2]{2, -1}), unknown(new int[1]{7});
      Block<OfPyPy> half(fill);
      half->arg_types = codes.get();
      half->ret_type = 2;
      half->underlying_func = kAddress;
      int padding = 0;
      const char *const name = half->ml_name;
      std::memcpy(&padding, name - kPadding, sizeof padding);
      // Nothing is read if the padding is not zero.
      EXPECT_EQ(read_pypy(half.def(convention)).signature, padding == 0 ? "d->d" : "");
      put(half->ml_name, kPadding, 0);
      EXPECT_EQ(read_pypy(half.def(convention)).signature, "d->d");
      EXPECT_FALSE(read_one(half.def(convention)).accepted);
      half->arg_types = unknown.get();
      EXPECT_FALSE(read_pypy(half.def(convention)).accepted);
      half->arg_types = nullptr;
      EXPECT_FALSE(read_pypy(half.def(convention)).accepted);
    }
  }
}

TEST(HeapStruct, ManyInARow) {
  // In an array of the post's structs, every second element is aligned like PyPy's struct.
  std::unique_ptr<OfThePost[]> all(new OfThePost[8]);
  for (size_t i = 0; i < 8; ++i) {
    all[i] = {static_cast<int>(1 + i % 3), 1, kAddress, "f"};
  }
  for (size_t i = 0; i < 8; ++i) {
    const Read read = read_pypy(def_of(all[i].ml_name, kTyped | METH_O));
    EXPECT_EQ(read.signature, std::string(1, "ldO"[i % 3]) + "->l");
  }
}

}  // namespace
