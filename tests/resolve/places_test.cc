// Tests the places where the resolver looks, and their order.

#include "tests/resolve/callables.h"

#include <cstdlib>
#include <memory>

namespace {

using namespace resolve_test;

constexpr auto kPyPyCapabilities = typedcall::checks_errors;
int pypy_l[] = {1, -1};
int pypy_d[] = {2, -1};
int pypy_o[] = {3, -1};
int pypy_not[] = {0x100, -1};

TEST(Header, IsFoundWithoutTheInterface) {
  const Table table{{"l->l", 0, Address(1)}, {"d->d", 0, Address(2)}};
  const Builtin function(kBoth, table.get());
  EXPECT_EQ(Find(nullptr, function.get(), "l->l"), "l->l 1 method metadata");
  EXPECT_EQ(Find(Interface(), function.get(), "d->d"), "d->d 2 method metadata");
  EXPECT_EQ(Find(Interface(), function.get(), "dd->d"), "nothing");
}

TEST(Header, IsNotReadWithoutItsBits) {
  const Table table{{"l->l", 0, Address(1)}};
  for (const int bits : {0, kExtended}) {
    const Builtin function(bits, table.get());
    EXPECT_EQ(Find(Interface(), function.get(), "l->l"), "nothing") << bits;
  }
}

TEST(Header, WithoutTableLeavesPyPysFields) {
  Builtin function(kBoth, nullptr);
  function.SetPyPy(pypy_l, 1, Address(3));
  EXPECT_EQ(Find(nullptr, function.get(), "l->l", kPyPyCapabilities), "l->l 3 PyPy metadata");
}

TEST(Header, WithTableHidesPyPysFields) {
  const Table table{{"d->d", 0, Address(1)}};
  Builtin function(kBoth, table.get());
  function.SetPyPy(pypy_l, 1, Address(3));
  EXPECT_EQ(Find(nullptr, function.get(), "l->l", kPyPyCapabilities), "nothing");
}

// If the header is broken, only the side table is used.
class BrokenHeader : public testing::Test {
 protected:
  BrokenHeader() { function.SetPyPy(pypy_l, 1, Address(3)); }
  void ExpectBoxed() {
    EXPECT_EQ(Find(Interface(), function.get(), "l->l", kPyPyCapabilities), "nothing");
    ASSERT_EQ(
        PyTypedMethod_TagDef(Interface(), &function.def, function.get(), table.get(), nullptr), 1)
        << TakeError();
    EXPECT_EQ(Find(Interface(), function.get(), "l->l"), "l->l 1 def row");
  }
  const Table table{{"l->l", 0, Address(1)}};
  Builtin function{kBoth, table.get()};
};

TEST_F(BrokenHeader, Magic) {
  function.metadata.magic ^= 1;
  ExpectBoxed();
}

TEST_F(BrokenHeader, OtherMajor) {
  function.metadata.abi_major = 2;
  ExpectBoxed();
}

TEST_F(BrokenHeader, MajorZero) {
  function.metadata.abi_major = 0;
  ExpectBoxed();
}

TEST_F(BrokenHeader, TooShort) {
  function.metadata.size = PyTypedMethod_SIZE - 1;
  ExpectBoxed();
}

TEST_F(BrokenHeader, NewerMinorAndLargerAreFine) {
  function.metadata.abi_minor = 9;
  function.metadata.size = PyTypedMethod_SIZE + 64;
  EXPECT_EQ(Find(nullptr, function.get(), "l->l"), "l->l 1 method metadata");
}

TEST(PyPyLayout, Alone) {
  Builtin function(kTyped);
  // The resolver must not read the memory before PyPy's struct.
  function.metadata.magic = 0;
  function.metadata.table = reinterpret_cast<const PyNativeCallableTable *>(Address(8));
  function.SetPyPy(pypy_l, 1, Address(3));
  EXPECT_EQ(Find(nullptr, function.get(), "l->l", typedcall::holds_gil), "l->l 3 PyPy metadata");
  EXPECT_EQ(Find(nullptr, function.get(), "q->q", typedcall::holds_gil), "l->l 3 PyPy metadata");
  // Functions with PyPy's struct may need the GIL.
  EXPECT_EQ(Find(nullptr, function.get(), "l->l", 0), "nothing");
}

TEST(PyPyLayout, MayRaise) {
  Builtin function(kTyped);
  function.SetPyPy(pypy_d, -2, Address(3));
  const auto found = typedcall::find(nullptr, function.get(), "d->d", kPyPyCapabilities);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->flags, PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE |
                              PyNativeCallable_ERROR_IS_NEG_ZERO);
  for (const auto missing : {PyNativeCallable_NEEDS_THREAD, PyNativeCallable_MAY_RAISE,
                             PyNativeCallable_ERROR_IS_NEG_ZERO}) {
    EXPECT_EQ(Find(nullptr, function.get(), "d->d", kPyPyCapabilities & ~missing), "nothing");
  }
  function.SetPyPy(pypy_o, -3, Address(4));
  EXPECT_EQ(Find(nullptr, function.get(), "O->O",
                 PyNativeCallable_NEEDS_THREAD | PyNativeCallable_MAY_RAISE),
            "O->O 4 PyPy metadata");
}

TEST(PyPyLayout, UnknownCodes) {
  Builtin function(kTyped);
  function.SetPyPy(pypy_not, 1, Address(3));
  EXPECT_EQ(Find(nullptr, function.get(), "l->l", kPyPyCapabilities), "nothing");
  function.SetPyPy(pypy_l, 4, Address(3));
  EXPECT_EQ(Find(nullptr, function.get(), "l->l", kPyPyCapabilities), "nothing");
}

// A builtin function with the struct of Bernstein's post.
class OfThePost {
 public:
  OfThePost(int convention, int arg_type, int ret_type)
      : metadata_(static_cast<Struct *>(std::malloc(sizeof(Struct))), std::free),
        def_{metadata_->ml_name, Boxed, convention | kTyped, nullptr} {
    *metadata_ = {arg_type, ret_type, Address(3), "inc"};
    object_ = Ref::Steal(PyCFunction_New(&def_, nullptr));
  }
  PyObject *get() const { return object_.get(); }

 private:
  struct Struct {
    int arg_type;
    int ret_type;
    void *underlying_func;
    char ml_name[100];
  };
  std::unique_ptr<Struct, void (*)(void *)> metadata_;
  PyMethodDef def_;
  Ref object_;
};

TEST(StructOfThePost, IsReadWithoutTheInterface) {
  const OfThePost inc(METH_O, 1, 1), half(METH_O, 2, 2), size(METH_O, 3, 1);
  const char *const place = " 3 PyPy metadata";
  EXPECT_EQ(Find(nullptr, inc.get(), "l->l", typedcall::holds_gil), std::string("l->l") + place);
  EXPECT_EQ(Find(nullptr, half.get(), "d->d", typedcall::holds_gil), std::string("d->d") + place);
  EXPECT_EQ(Find(nullptr, size.get(), "O->l", typedcall::holds_gil), std::string("O->l") + place);
  EXPECT_EQ(Find(Interface(), inc.get(), "d->d", kPyPyCapabilities), "nothing");
  EXPECT_EQ(Find(nullptr, inc.get(), "l->l", 0), "nothing") << "it may count on the GIL";
}

TEST(StructOfThePost, WithOtherCodesOrConventionsIsCalledBoxed) {
  for (const int code : {0, -1, 4, 0x100, -77}) {
    EXPECT_EQ(Find(Interface(), OfThePost(METH_O, code, 1).get(), "l->l", kPyPyCapabilities),
              "nothing");
    if (code == 0) continue;
    EXPECT_EQ(Find(Interface(), OfThePost(METH_O, 1, code).get(), "l->l", kPyPyCapabilities),
              "nothing");
  }
  for (const int convention : {METH_VARARGS, METH_NOARGS, METH_FASTCALL}) {
    const OfThePost inc(convention, 1, 1);
    EXPECT_EQ(Find(Interface(), inc.get(), "l->l", kPyPyCapabilities), "nothing");
    EXPECT_NE(Refusal(Interface(), inc.get(), "l->l", kPyPyCapabilities), "");
  }
}

TEST(SideTable, ByDef) {
  const Table table{{"l->l", 0, Address(1)}};
  const Builtin function(0);
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &function.def, function.get(), table.get(), nullptr),
            1);
  EXPECT_EQ(Find(Interface(), function.get(), "l->l"), "l->l 1 def row");
  EXPECT_EQ(Find(nullptr, function.get(), "l->l"), "nothing");
  // Another function object with the same def offers the same entries.
  const Ref again = Ref::Steal(PyCFunction_New(const_cast<PyMethodDef *>(&function.def), nullptr));
  EXPECT_EQ(Find(Interface(), again.get(), "l->l"), "l->l 1 def row");
}

TEST(SideTable, ByObject) {
  const Table table{{"l->l", 0, Address(1)}};
  const Ref function = PythonFunction(), other = PythonFunction();
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), function.get(), table.get(), nullptr), 1);
  EXPECT_EQ(Find(Interface(), function.get(), "l->l"), "l->l 1 object row");
  EXPECT_EQ(Find(Interface(), other.get(), "l->l"), "nothing");
  EXPECT_EQ(Find(nullptr, function.get(), "l->l"), "nothing");
}

TEST(SideTable, RowGoesWithItsObject) {
  const Table table{{"l->l", 0, Address(1)}};
  Ref function = PythonFunction();
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), function.get(), table.get(), nullptr), 1);
  const PyObject *address = function.get();
  function.reset();
  typedcall_test::Collect();
  EXPECT_EQ(Interface()->find(Interface()->state, PyTypedcall_BY_OBJECT, address), nullptr);
}

TEST(Order, HeaderThenDefThenObject) {
  const Table header{{"l->l", 0, Address(1)}};
  const Table by_def{{"l->l", 0, Address(2)}, {"d->d", 0, Address(3)}};
  const Table by_object{{"l->l", 0, Address(4)}, {"d->d", 0, Address(5)}, {"f->f", 0, Address(6)}};
  Builtin function(kBoth);
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &function.def, function.get(), by_def.get(), nullptr),
            1);
  // The header is added after the row of the def, which would otherwise conflict with it.
  function.metadata.table = header.get();
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), function.get(), by_object.get(), nullptr), 1);
  EXPECT_EQ(Find(Interface(), function.get(), "l->l"), "l->l 1 method metadata");
  // The search continues if a place does not have the signature.
  EXPECT_EQ(Find(Interface(), function.get(), "d->d"), "d->d 3 def row");
  EXPECT_EQ(Find(Interface(), function.get(), "f->f"), "f->f 6 object row");
  EXPECT_EQ(Find(Interface(), function.get(), "g->g"), "nothing");

  std::string all;
  typedcall::for_each_entry(
      Interface(), function.get(), [&](const PyNativeCallableEntry &entry, typedcall::place) {
        all += std::to_string(reinterpret_cast<std::uintptr_t>(entry.funcptr));
      });
  EXPECT_EQ(all, "123456");
}

TEST(Order, PyPyBeforeSideTable) {
  const Table by_def{{"l->l", 0, Address(2)}};
  Builtin function(kTyped);
  function.SetPyPy(pypy_l, 1, Address(3));
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &function.def, function.get(), by_def.get(), nullptr),
            1);
  EXPECT_EQ(Find(Interface(), function.get(), "l->l", typedcall::holds_gil),
            "l->l 3 PyPy metadata");
  EXPECT_EQ(Find(Interface(), function.get(), "l->l"), "l->l 2 def row");
}

TEST(OtherObjects, OfferNothing) {
  typedcall_test::Scope scope;
  scope.Run("import functools, types\nclass C:\n def __call__(self): pass");
  for (const char *expression :
       {"len", "[].append", "list.append", "int", "None", "5", "'x'", "types", "C", "C()",
        "lambda: 0", "functools.partial(len)", "C().__call__", "type.__call__", "dict.fromkeys"}) {
    const Ref object = scope.Eval(expression);
    EXPECT_EQ(Find(Interface(), object.get(), "l->l", ~std::uintptr_t{0}), "nothing") << expression;
  }
}

}  // namespace
