// Tests which results call sites cache, and which changes make them look again.
#include "tests/resolve/call_sites.h"

namespace {

using namespace resolve_test;

TEST_F(CallSite, RemembersRows) {
  constexpr std::size_t kCount = 1000;
  std::vector<std::unique_ptr<Builtin>> functions;
  std::vector<Table> tables;
  tables.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    functions.push_back(std::make_unique<Builtin>(0));
    tables.push_back(Table{{"l->l", 0, Address(i + 1)}});
    Tag(&functions[i]->def, functions[i]->get(), tables[i].get());
  }
  for (int turn = 0; turn < 3; ++turn) {
    stats::reset();
    for (std::size_t i = 0; i < kCount; ++i) {
      const Py_ssize_t before = Py_REFCNT(functions[i]->get());
      const auto found = site.find(functions[i]->get());
      EXPECT_EQ(AddressOf(found.get()), Address(i + 1));
      EXPECT_EQ(Py_REFCNT(functions[i]->get()), before);
    }
    if (turn == 0) {
      EXPECT_EQ(stats::count(event::found_def_row), kCount);
      EXPECT_EQ(Count(), (Counted{0, kCount, 0}));
    } else {
      // A few functions may not fit into the cache.
      EXPECT_GE(Count().hits, kCount - kCount / 100);
    }
  }
}

TEST_F(CallSite, CallsWhatItHasFound) {
  Builtin function(0);
  const Table table{kOne};
  Tag(&function.def, function.get(), table.get());
  for (int turn = 0; turn < 2; ++turn) {
    const auto found = site.resolve(function.get());
    ASSERT_TRUE(found) << TakeError();
    EXPECT_EQ(found(1), 2);
    EXPECT_FALSE(found.raised(-1L));
  }
  EXPECT_EQ(stats::count(event::direct), 2u);
}

TEST_F(CallSite, RemembersThatNothingIsOffered) {
  Builtin function(0);
  const Table table{kOne};
  EXPECT_FALSE(site.find(function.get()));
  EXPECT_FALSE(site.find(function.get()));
  EXPECT_EQ(Count(), (Counted{1, 1, 0}));
  EXPECT_FALSE(site.resolve(function.get()));
  EXPECT_EQ(TakeError(), std::string("TypeError: f offers no native signature; 'l->l' was asked "
                                     "for") +
                             kUntagged);
  // Adding a tag and removing it take effect at once.
  Tag(&function.def, function.get(), table.get());
  EXPECT_EQ(site.find(function.get()).get(), &one);
  EXPECT_EQ(site.find(function.get()).get(), &one);
  ASSERT_EQ(PyTypedMethod_UntagDef(Interface(), &function.def), 1);
  EXPECT_FALSE(site.find(function.get()));
  // Flag bits also take effect at once.
  EXPECT_FALSE(site.find(function.get()));
  function.metadata.table = table.get();
  function.def.ml_flags |= kBoth;
  EXPECT_EQ(site.find(function.get()).get(), &one);
}

TEST_F(CallSite, SeesAnotherTag) {
  Builtin function(0);
  const Table first{kOne}, second{kTwo};
  Tag(&function.def, function.get(), first.get());
  EXPECT_EQ(site.find(function.get()).get(), &one);
  PyTypedMethod_UntagDef(Interface(), &function.def);
  Tag(&function.def, function.get(), second.get());
  EXPECT_EQ(site.find(function.get()).get(), &two);
  // A tag on an object is cached.
  const Ref python = PythonFunction();
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), python.get(), first.get(), nullptr), 1);
  EXPECT_EQ(site.find(python.get()).get(), &one);
  stats::reset();
  EXPECT_EQ(site.find(python.get()).get(), &one);
  EXPECT_EQ(Count(), (Counted{1, 0, 0}));
}

// Static metadata is never freed, so its entries can be cached without an epoch.
TEST_F(CallSite, RemembersStaticMetadata) {
  static Block block(kBoth, {"l->l", 0, AddressOf(one)});
  static const Table other{kTwo};
  const Ref function = NewFunction(&block.def);
  EXPECT_EQ(site.find(function.get()).get(), &one);
  EXPECT_EQ(Count(), (Counted{0, 1, 0}));
  Builtin unrelated(0);
  Tag(&unrelated.def, unrelated.get(), other.get());
  EXPECT_EQ(site.find(function.get()).get(), &one);
  EXPECT_EQ(Count(), (Counted{1, 0, 0}));
  // After ml_name has changed, the metadata of the new name is used.
  static Block instead(kBoth, {"l->l", 0, AddressOf(two)});
  const char *const name = block.def.ml_name;
  block.def.ml_name = instead.def.ml_name;
  EXPECT_EQ(site.find(function.get()).get(), &two);
  block.def.ml_name = name;
  EXPECT_EQ(site.find(function.get()).get(), &one);
  block.def.ml_flags &= ~kBoth;
  EXPECT_FALSE(site.find(function.get()));
  block.def.ml_flags |= kBoth;
}

TEST_F(CallSite, ReadsHeapMetadataAgain) {
  const auto block = std::make_unique<Block>(kBoth, kOne);
  const Ref function = NewFunction(&block->def);
  for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(site.find(function.get()).get(), &one);
  EXPECT_EQ(Count(), (Counted{0, 0, 3}));
  block->table.entries[0] = kTwo;
  EXPECT_EQ(site.find(function.get()).get(), &two);
  block->table.entries[0] = kHalf;
  EXPECT_FALSE(site.find(function.get()));
  block->table.entries[0] = {"q->q", 0, AddressOf(one)};
  EXPECT_EQ(site.find(function.get()).get(), &one);
  block->table.entries[0] = {"l->l", PyNativeCallable_NEEDS_THREAD, AddressOf(one)};
  EXPECT_FALSE(site.find(function.get()));
}

TEST(Unbound, IsNotFound) {
  typedcall_test::Scope scope;
  const Ref unbound = scope.Eval("list.append"), bound = scope.Eval("[].append");
  const Table table{{"O->v", PyNativeCallable_TAKES_SELF, Address(1)}, {"l->l", 0, Address(2)}};
  ASSERT_EQ(PyTypedMethod_TagCallable(Interface(), bound.get(), table.get(), nullptr), 1);
  call_site<long(long)> site(Interface());
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_FALSE(site.find(unbound.get()));
    EXPECT_TRUE(site.find(bound.get()));
  }
  EXPECT_FALSE(site.resolve(unbound.get()));
  EXPECT_NE(TakeError().find("is an unbound method"), std::string::npos);
  PyTypedMethod_UntagDef(Interface(), typedcall::internal::def_of(bound.get()));
}

TEST(NoInterface, FlagBitsOnly) {
  call_site<long(long)> site(nullptr);
  static Block fixed(kBoth, {"l->l", 0, AddressOf(one)});
  Builtin row(0);
  const Table table{kOne};
  Tag(&row.def, row.get(), table.get());
  const Ref function = NewFunction(&fixed.def);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(site.find(function.get()).get(), &one);
    EXPECT_FALSE(site.find(row.get()));
  }
  PyErr_SetString(PyExc_ImportError, "another version");
  EXPECT_FALSE(site.resolve(row.get()));
  EXPECT_EQ(TakeError(), "ImportError: another version");
}

}  // namespace
