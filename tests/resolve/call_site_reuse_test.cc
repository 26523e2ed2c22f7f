// Tests that call sites never return the entry of a freed callable whose address is used again.
#include <new>
#include <utility>

#include "tests/resolve/call_sites.h"

namespace {

using namespace resolve_test;

// Uses the same memory for one function after another, as pybind11 does for its defs.
class Reuse : public CallSite {
 protected:
  // Returns a new function with `entry` in the same memory. The function owns its row.
  Ref Make(int bits, const PyNativeCallableEntry &entry, bool is_tagged) {
    block = new (&memory) Block(bits, entry);
    Ref function = NewFunction(&block->def);
    if (is_tagged) Tag(&block->def, function.get(), &block->table);
    return function;
  }

  // Returns the entry that the call site finds for a second function with the same addresses.
  template <class First, class Second>
  long (*After(const First &first, const Second &second))(long) {
    for (int turn = 0; turn < 100; ++turn) {
      Ref function = first();
      const PyObject *address = function.get();
      site.find(address == nullptr ? nullptr : function.get());
      site.find(function.get());
      function.reset();
      function = second();
      const auto found = site.find(function.get()).get();
      if (function.get() == address) ++reused;
      if (function.get() == address || turn == 99) return found;
    }
    return nullptr;
  }
  ~Reuse() override {
#if !defined(__SANITIZE_ADDRESS__) && !defined(Py_GIL_DISABLED)  // these delay the reuse of memory
    EXPECT_GT(reused, 0);
#endif
  }

  alignas(Block) unsigned char memory[sizeof(Block)];
  Block *block = nullptr;
  int reused = 0;
};

TEST_F(Reuse, RowsOfTheSameSignature) {
  EXPECT_EQ(After([&] { return Make(0, kOne, true); }, [&] { return Make(0, kTwo, true); }), &two);
}
TEST_F(Reuse, RowsOfAnotherSignature) {
  EXPECT_EQ(After([&] { return Make(0, kOne, true); }, [&] { return Make(0, kHalf, true); }),
            nullptr);
}
TEST_F(Reuse, NoRow) {
  EXPECT_EQ(After([&] { return Make(0, kOne, true); }, [&] { return Make(0, kOne, false); }),
            nullptr);
}
TEST_F(Reuse, RowWhereNoneWas) {
  EXPECT_EQ(After([&] { return Make(0, kOne, false); }, [&] { return Make(0, kOne, true); }), &one);
}
TEST_F(Reuse, BitsOfTheSameSignature) {
  EXPECT_EQ(
      After([&] { return Make(kBoth, kOne, false); }, [&] { return Make(kBoth, kTwo, false); }),
      &two);
}
TEST_F(Reuse, BitsOfAnotherSignature) {
  EXPECT_EQ(
      After([&] { return Make(kBoth, kOne, false); }, [&] { return Make(kBoth, kHalf, false); }),
      nullptr);
}
TEST_F(Reuse, BitsWhereNothingWas) {
  EXPECT_EQ(After([&] { return Make(0, kOne, false); }, [&] { return Make(kBoth, kTwo, false); }),
            &two);
}
TEST_F(Reuse, NothingWhereBitsWere) {
  EXPECT_EQ(After([&] { return Make(kBoth, kOne, false); }, [&] { return Make(0, kOne, false); }),
            nullptr);
}
TEST_F(Reuse, BitsWhereARowWas) {
  EXPECT_EQ(After([&] { return Make(0, kOne, true); }, [&] { return Make(kBoth, kTwo, false); }),
            &two);
}

// Only the def changes between the calls.
TEST(OtherDef, AtTheSameAddress) {
  call_site<long(long)> site(Interface());
  Builtin first(0), second(0), untagged(0);
  static Block bits(kBoth, {"l->l", 0, Address(3)});
  const Table one_table{kOne}, two_table{kTwo};
  Tag(&first.def, first.get(), one_table.get());
  Tag(&second.def, second.get(), two_table.get());
  const struct {
    PyMethodDef *def;
    void *address;
  } defs[] = {{&first.def, AddressOf(one)},
              {&second.def, AddressOf(two)},
              {&bits.def, Address(3)},
              {&untagged.def, nullptr}};
  [[maybe_unused]] int reused = 0;
  for (int turn = 0; turn < 100; ++turn) {
    const PyObject *address = nullptr;
    for (const int i : {0, 1, 2, 3, 2, 1, 0, 3, 1, 3, 0, 2, 0}) {
      const Ref function = NewFunction(defs[i].def);
      EXPECT_EQ(AddressOf(site.find(function.get()).get()), defs[i].address);
      EXPECT_EQ(AddressOf(site.find(function.get()).get()), defs[i].address);
      if (function.get() == address) ++reused;
      address = function.get();
    }
  }
#ifndef __SANITIZE_ADDRESS__
  EXPECT_GT(reused, 0);
#endif
}

// A function, an unbound method and another object may have the same address.
TEST(Identity, TellsKindsApart) {
  typedcall_test::Scope scope;
  const Ref bound = scope.Eval("[].append"), unbound = scope.Eval("list.append"),
            other = scope.Eval("list");
  using typedcall::internal::identity;
  const PyObject *kinds[] = {bound.get(), unbound.get(), other.get()};
  for (const PyObject *a : kinds) {
    for (const PyObject *b : kinds) {
      const auto is = identity::of(const_cast<PyObject *>(a));
      EXPECT_EQ(is.is_of(const_cast<PyObject *>(b)), a == b);
    }
  }
  // Only functions are distinguished by their defs.
  const Ref clear = scope.Eval("[].clear"), again = scope.Eval("[1].append"),
            type = scope.Eval("dict");
  EXPECT_FALSE(identity::of(bound.get()).is_of(clear.get()));
  EXPECT_TRUE(identity::of(bound.get()).is_of(again.get()));
  EXPECT_TRUE(identity::of(other.get()).is_of(type.get()));
}

}  // namespace
