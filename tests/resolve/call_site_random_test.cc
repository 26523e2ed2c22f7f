// Compares call sites with find(), while functions are created, freed, tagged and untagged at
// random.
#include <random>
#include <utility>

#include "tests/resolve/call_sites.h"
#include "tests/support/seed.h"

namespace {

using namespace resolve_test;

// This test uses more functions than a call site can cache.
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

// The call site and find() must agree after every step.
class Random : public testing::TestWithParam<unsigned> {};

TEST_P(Random, AgreesWithFind) {
  const auto seed = typedcall_test::Seed(0);
  SCOPED_TRACE(typedcall_test::SeedText(seed));
  std::mt19937 random(seed + GetParam());
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  struct Subject {
    std::unique_ptr<Block> block;
    Ref object;
    // True for a builtin function, which is freed before its def.
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
  stats::reset();
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
        if (subjects.size() <= 10) break;
        // erase() would free a def before its function.
        std::swap(subjects[below(10)], subjects.back());
        subjects.pop_back();
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
    PyErr_Clear();  // conflicting tags raise an exception
    for (const Subject &subject : subjects) {
      PyObject *callable = subject.object.get();
      ASSERT_EQ(site.find(callable).get(),
                typedcall::find<long(long)>(Interface(), callable).get());
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
