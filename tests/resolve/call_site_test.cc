// Call sites: what they remember, what makes them forget, and that they never say anything that
// find() does not say, whatever has been freed and whose address is used again.

#include "typedcall/call_site.h"

#include <memory>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include "tests/resolve/callables.h"

namespace {

using namespace resolve_test;
using typedcall::call_site;
using typedcall::dynamic_call_site;
using typedcall::event;
using typedcall::stats;

static_assert(stats::enabled, "the tests read the counters");

long one(long x) noexcept { return x + 1; }
long two(long x) noexcept { return x + 2; }
double half(double x) noexcept { return x / 2; }

template <class Function>
void *AddressOf(Function *function) {
  return reinterpret_cast<void *>(function);
}

// What has been counted since the last look.
struct Counted {
  std::uint64_t hits, misses, bypassed;
  bool operator==(const Counted &other) const {
    return hits == other.hits && misses == other.misses && bypassed == other.bypassed;
  }
};
std::ostream &operator<<(std::ostream &out, const Counted &counted) {
  return out << counted.hits << " hits, " << counted.misses << " misses, " << counted.bypassed
             << " bypassed";
}
Counted Count() {
  const Counted counted = {stats::count(event::cache_hit), stats::count(event::cache_miss),
                           stats::count(event::cache_bypassed)};
  stats::reset();
  return counted;
}

// Def, metadata and table of one function, in memory of the test's choice.
struct Block {
  Block(int bits, const PyNativeCallableEntry &entry)
      : table{1, {entry}}, def{metadata.pypy.ml_name, Boxed, METH_O | bits, nullptr} {
    metadata.table = &table;
  }
  PyNativeCallableTable table;
  PyTypedMethodMetadata metadata = {
      nullptr, nullptr, PyTypedMethod_SIZE, 1, 0, PyTypedMethod_MAGIC, {nullptr, 0, nullptr, "f"}};
  PyMethodDef def;
};
const PyNativeCallableEntry kOne = {"l->l", 0, AddressOf(one)};
const PyNativeCallableEntry kTwo = {"l->l", 0, AddressOf(two)};
const PyNativeCallableEntry kHalf = {"d->d", 0, AddressOf(half)};

Ref NewFunction(PyMethodDef *def, PyObject *self = nullptr) {
  return Ref::Steal(PyCFunction_New(def, self));
}
void Tag(const PyMethodDef *def, PyObject *owner, const PyNativeCallableTable *table) {
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), def, owner, table, nullptr), 1) << TakeError();
}

class CallSite : public testing::Test {
 protected:
  CallSite() { stats::reset(); }
  call_site<long(long)> site{Interface()};
};

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
      EXPECT_EQ(stats::count(event::found_side_table_def), kCount);
      EXPECT_EQ(Count(), (Counted{0, kCount, 0}));
    } else {
      // A slot or two may be wanted by more functions than it has neighbours for.
      EXPECT_GE(Count().hits, kCount - kCount / 50);
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
  // A tag is seen at once, and so is its end.
  Tag(&function.def, function.get(), table.get());
  EXPECT_EQ(site.find(function.get()).get(), &one);
  EXPECT_EQ(site.find(function.get()).get(), &one);
  ASSERT_EQ(PyTypedMethod_UntagDef(Interface(), &function.def), 1);
  EXPECT_FALSE(site.find(function.get()));
  // Flag bits are no row, and are seen all the same.
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
  // What comes before a remembered place is seen, too.
  const Ref python = PythonFunction();
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), python.get(), first.get(), nullptr), 1);
  EXPECT_EQ(site.find(python.get()).get(), &one);
  stats::reset();
  EXPECT_EQ(site.find(python.get()).get(), &one);
  EXPECT_EQ(Count(), (Counted{1, 0, 0}));
}

// The metadata of modules is static: it stays, so it can be remembered without a stamp.
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
  // In place another name can be put, whose metadata then counts.
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

TEST_F(CallSite, ReadsHeapMetadataAnew) {
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

// One place in memory, used for one function after the other, as pybind11's defs are.
class Reuse : public CallSite {
 protected:
  // A new function of `entry`, made at the same place; its row is its own.
  Ref Make(int bits, const PyNativeCallableEntry &entry, bool is_tagged) {
    block = new (&memory) Block(bits, entry);
    Ref function = NewFunction(&block->def);
    if (is_tagged) Tag(&block->def, function.get(), &block->table);
    return function;
  }

  // What the call site says of a second function where the first one was. Repeated until the
  // function object has the address of the first one, too.
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
#ifndef __SANITIZE_ADDRESS__  // there freed memory is not used again
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

// Nothing that a call site could hear of has changed in between: only the def is another one.
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
  int reused = 0;
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

// A function, an unbound method and anything else at the same address are not taken for each other.
TEST(Identity, TellsKindsApart) {
  typedcall_test::Scope scope;
  const Ref bound = scope.Eval("[].append"), unbound = scope.Eval("list.append"),
            other = scope.Eval("list");
  const auto def = reinterpret_cast<std::uintptr_t>(typedcall::internal::def_of(bound.get()));
  EXPECT_EQ(def, reinterpret_cast<std::uintptr_t>(typedcall::internal::def_of(unbound.get())));
  EXPECT_EQ(typedcall::internal::identity_of(bound.get()), def);
  EXPECT_EQ(typedcall::internal::identity_of(unbound.get()), def + 1);
  EXPECT_EQ(typedcall::internal::identity_of(other.get()),
            reinterpret_cast<std::uintptr_t>(&PyType_Type) + 2);
}

// With a self and without are functions of one def, and the address may be the same.
TEST(Self, IsThatOfTheLiveFunction) {
  typedcall::request asked;
  asked.signature = "l->l";
  asked.honoured = typedcall::passes_self;
  dynamic_call_site site(Interface(), asked);
  Builtin keeper(0);
  const Table table{{"l->l", PyNativeCallable_TAKES_SELF, Address(1)}};
  Tag(&keeper.def, keeper.get(), table.get());
  int reused = 0;
  for (int turn = 0; turn < 100; ++turn) {
    PyObject *const selves[] = {Py_None, Py_True, nullptr, Py_False, nullptr, Py_None};
    const PyObject *address = nullptr;
    for (PyObject *self : selves) {
      const Ref function = NewFunction(&keeper.def, self);
      for (int again = 0; again < 2; ++again) {
        const auto found = site.find(function.get());
        EXPECT_EQ(static_cast<bool>(found), self != nullptr);
        EXPECT_EQ(found.self, self);
      }
      if (function.get() == address) ++reused;
      address = function.get();
    }
  }
#ifndef __SANITIZE_ADDRESS__
  EXPECT_GT(reused, 0);
#endif
}

TEST(Unbound, OnlyForThoseWhoAsk) {
  typedcall_test::Scope scope;
  const Ref unbound = scope.Eval("list.append"), bound = scope.Eval("[].append");
  const Table table{{"O->v", PyNativeCallable_TAKES_SELF, Address(1)}, {"l->l", 0, Address(2)}};
  ASSERT_EQ(PyTypedMethod_TagCallable(Interface(), bound.get(), table.get(), nullptr), 1);
  typedcall::request asked;
  asked.signature = "O->v";
  asked.honoured = typedcall::passes_self;
  dynamic_call_site site(Interface(), asked);
  call_site<long(long)> plain(Interface());
  asked.unbound = true;
  dynamic_call_site checks(Interface(), asked);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_NE(site.find(bound.get()).self, nullptr);
    EXPECT_FALSE(site.find(unbound.get()));
    EXPECT_FALSE(plain.find(unbound.get()));
    EXPECT_TRUE(plain.find(bound.get()));
    EXPECT_EQ(checks.find(unbound.get()).funcptr, Address(1));
    EXPECT_EQ(checks.find(unbound.get()).self, nullptr);
  }
  EXPECT_FALSE(site.resolve(unbound.get()));
  EXPECT_NE(TakeError().find("is an unbound method"), std::string::npos);
  PyTypedMethod_UntagDef(Interface(), typedcall::internal::def_of(bound.get()));
}

TEST(Dynamic, SaysWhatFindSays) {
  typedcall::request asked;
  asked.signature = "i->d";
  asked.allowed = typedcall::casting::safe;
  dynamic_call_site site(Interface(), asked);
  Builtin row(0), bits(kBoth);
  const Table table{{"f->f", 0, Address(1)}, {"q->f", 0, Address(2)}, {"d->d", 0, Address(3)}};
  bits.metadata.table = table.get();
  Tag(&row.def, row.get(), table.get());
  const char *signature = nullptr;
  for (int turn = 0; turn < 3; ++turn) {
    for (PyObject *callable : {row.get(), bits.get()}) {
      const auto found = site.resolve(callable);
      ASSERT_TRUE(found) << TakeError();
      EXPECT_STREQ(found.signature, "q->f");
      EXPECT_EQ(found.funcptr, Address(2));
      EXPECT_EQ(found.how, typedcall::casting::safe);
      EXPECT_EQ(found.where, callable == row.get() ? typedcall::place::side_table_def
                                                   : typedcall::place::method_def);
      // A text of its own, the same one every time.
      EXPECT_TRUE(signature == nullptr || signature == found.signature);
      signature = found.signature;
      EXPECT_NE(signature, table.get()->entries[1].signature);
    }
  }
  asked.signature = "x";
  dynamic_call_site faulty(Interface(), asked);
  EXPECT_FALSE(faulty.resolve(row.get()));
  EXPECT_EQ(TakeError().substr(0, 10), "ValueError");
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

// More functions than it can remember.
TEST_F(CallSite, ForgetsRatherThanErrs) {
  constexpr std::size_t kCount = 20000;
  std::vector<Ref> functions;
  Builtin odd(0), even(0);
  const Table first{kOne}, second{kTwo};
  Tag(&odd.def, odd.get(), first.get());
  Tag(&even.def, even.get(), second.get());
  for (std::size_t i = 0; i < kCount; ++i) {
    functions.push_back(NewFunction(i % 2 == 0 ? &even.def : &odd.def));
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(site.find(functions[i].get()).get(), i % 2 == 0 ? &two : &one);
    }
  }
}

// Functions come and go, are tagged and untagged, at random; after every step the call sites say of
// every callable what find() says.
class Random : public testing::TestWithParam<unsigned> {};

TEST_P(Random, AgreesWithFind) {
  std::mt19937 random(GetParam());
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  struct Subject {
    std::unique_ptr<Block> block;
    Ref object;
    // Rows go with the object, and the object before the def; a Python function lives longer, in a
    // cycle with its module.
    bool owns_def = true;
  };
  std::vector<Subject> subjects;
  static const Table tables[] = {Table{kOne}, Table{kTwo}, Table{kHalf}};
  static Block fixed[4] = {Block(kBoth, {"l->l", 0, AddressOf(one)}),
                           Block(kBoth, {"d->d", 0, AddressOf(half)}), Block(0, kOne),
                           Block(0, kTwo)};
  const PyNativeCallableEntry entries[] = {kOne,
                                           kTwo,
                                           kHalf,
                                           {"q->q", 0, AddressOf(one)},
                                           {"l->l", PyNativeCallable_TAKES_SELF, Address(77)},
                                           {"i->d", 0, Address(78)}};
  call_site<long(long)> site(Interface());
  typedcall::request asked;
  asked.signature = "i->d";
  asked.honoured = typedcall::passes_self;
  asked.allowed = typedcall::casting::safe;
  dynamic_call_site dynamic(Interface(), asked);
  for (int step = 0; step < 800; ++step) {
    switch (subjects.empty() ? 0 : below(8)) {
      case 0:
      case 1:
      case 2: {
        Subject made = {};
        const int bits = below(3) == 0 ? kBoth : 0;
        made.block = std::make_unique<Block>(bits, entries[below(6)]);
        PyMethodDef *def = below(5) == 0 ? &fixed[below(4)].def : &made.block->def;
        made.owns_def = below(6) != 0;
        made.object =
            made.owns_def ? NewFunction(def, below(2) == 0 ? Py_None : nullptr) : PythonFunction();
        subjects.push_back(std::move(made));
        break;
      }
      case 3:
      case 4:
        if (subjects.size() > 10) subjects.erase(subjects.begin() + static_cast<long>(below(10)));
        break;
      case 5: {
        const Subject &subject = subjects[below(subjects.size())];
        if (!subject.owns_def) break;
        PyTypedMethod_TagDef(Interface(), &subject.block->def, subject.object.get(),
                             &subject.block->table, nullptr);
        break;
      }
      case 6:
        PyTypedMethod_UntagDef(Interface(), &subjects[below(subjects.size())].block->def);
        break;
      case 7: {
        const Subject &subject = subjects[below(subjects.size())];
        if (below(2) == 0) {
          PyNativeCallable_UntagObject(Interface(), subject.object.get());
        } else {
          PyNativeCallable_TagObject(Interface(), subject.object.get(), tables[below(3)].get(),
                                     nullptr);
        }
      }
    }
    PyErr_Clear();  // conflicting tags are refused
    for (const Subject &subject : subjects) {
      PyObject *callable = subject.object.get();
      ASSERT_EQ(site.find(callable).get(),
                typedcall::find<long(long)>(Interface(), callable).get());
      const auto expected = typedcall::find(Interface(), callable, asked);
      const auto found = dynamic.find(callable);
      ASSERT_EQ(static_cast<bool>(found), expected.has_value());
      if (!found) continue;
      ASSERT_EQ(found.signature, expected->signature);
      ASSERT_EQ(found.funcptr, expected->funcptr);
      ASSERT_EQ(found.flags, expected->flags);
      ASSERT_EQ(found.self, expected->self);
      ASSERT_EQ(found.where, expected->where);
      ASSERT_EQ(found.how, expected->how);
    }
  }
  EXPECT_GT(stats::count(event::cache_hit), stats::count(event::cache_miss));
  for (Subject &subject : subjects) {
    PyTypedMethod_UntagDef(Interface(), &subject.block->def);
    PyNativeCallable_UntagObject(Interface(), subject.object.get());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, testing::Range(0u, 8u));

}  // namespace
