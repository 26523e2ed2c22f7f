// Tests call sites if an interface is installed, or Python code runs, during a search. A key in the
// interpreter's dictionary calls the test when the key is compared.
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/rendezvous/await_provider.h"
#include "tests/support/embedded.h"
#include "typedcall/call_site.h"
#include "typedcall/resolve.h"

#ifdef TYPEDCALL_CORE_RENDEZVOUS_H_
#error "a consumer compiles what only providers need"
#endif

#ifndef __SANITIZE_ADDRESS__
// Fills freed memory with false cache entries, so that its use is noticed. ASan needs no such help.
void *operator new[](std::size_t size) {
  void *memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept {
  return std::malloc(size);
}
void operator delete[](void *memory, std::size_t) noexcept { operator delete[](memory); }
void operator delete[](void *memory) noexcept {
  using typedcall::internal::cache_entry;
  if (memory == nullptr) return;
  auto *bytes = static_cast<char *>(memory);
  // glibc writes to the beginning of free blocks.
  for (std::size_t at = 0; at + sizeof(cache_entry) <= malloc_usable_size(memory);
       at += sizeof(cache_entry)) {
    cache_entry gone = {};
    gone.was.word = 1;
    gone.where = static_cast<unsigned>(typedcall::place::method_metadata) & 0xf;
    std::memcpy(bytes + at, &gone, sizeof(gone));
  }
  std::free(memory);
}
#endif

namespace typedcall_test {
namespace {

double Twice(double x) { return 2 * x; }
const PyNativeCallableTable kTwice = {1, {{"d->d", 0, reinterpret_cast<void *>(Twice)}}};

// Called once in the next search.
std::function<void()> during_search;

PyObject *Compare(PyObject *, PyObject *) {
  const auto run = std::exchange(during_search, nullptr);
  if (run) run();
  Py_RETURN_NONE;
}
PyMethodDef compare_def = {"compare", Compare, METH_O, nullptr};

class Arriving : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(StopPython(), 0);
    StartPython();
    waiting_ = PyTypedcall_Import();
    ASSERT_NE(waiting_, nullptr) << TakeError();
    ASSERT_EQ(PyTypedcall_Peek(), nullptr);
    awaited_ = static_cast<PyTypedcall_Placeholder *>(waiting_->state);
    scope_.emplace();
    scope_->Set("compare", Ref::Steal(PyCFunction_New(&compare_def, nullptr)).get());
    scope_->Run(
        "import math\n"
        "class Key:\n"
        "  def __hash__(self): return hash('" PyTypedcall_CAPSULE_NAME
        "')\n"
        "  def __eq__(self, other):\n"
        "    compare(other)\n"
        "    return False\n");
    Ref key = scope_->Eval("Key()");
    ASSERT_EQ(PyDict_SetItem(Kept(), key.get(), Py_None), 0);
  }
  void TearDown() override {
    during_search = nullptr;
    PyDict_Clear(Kept());
    scope_.reset();
  }

  static PyObject *Kept() { return PyInterpreterState_GetDict(PyInterpreterState_Get()); }

  // Changes the dictionary, so that the next search looks for the interface again.
  static void LookAgain() {
    static int times;
    Ref key = Ref::Steal(PyLong_FromLong(++times));
    ASSERT_EQ(PyDict_SetItem(Kept(), key.get(), Py_None), 0);
  }

  const PyTypedcall_Interface *waiting_ = nullptr;
  PyTypedcall_Placeholder *awaited_ = nullptr;
  std::optional<Scope> scope_;
};

// Simulates another thread that is installing an interface.
void SeesATagAfterAnArrival(typedcall::call_site<double(double)> &site,
                            PyTypedcall_Placeholder *awaited, PyObject *callable) {
  Ref capsule = NewInterface();
  ASSERT_TRUE(capsule) << TakeError();
  const auto *installed = static_cast<const PyTypedcall_Interface *>(
      PyCapsule_GetPointer(capsule.get(), PyTypedcall_CAPSULE_NAME));
  auto *own = const_cast<PyTypedcall_Counters *>(awaited->interface.live_counters);
  bool has_come = false;
  during_search = [&] {
    // These are the first steps of PyTC_Arrive.
    awaited->installed = installed;
    own->rows_added += 1;
    has_come = true;
  };
  EXPECT_FALSE(site.find(callable));
  ASSERT_TRUE(has_come);
  awaited->interface.live_counters = installed->live_counters;
  // The number of rows is the same as in the earlier stamp.
  ASSERT_EQ(TagWith(installed, callable, &kTwice), 1) << TakeError();
  EXPECT_EQ(installed->live_counters->rows_added, 1u);
  EXPECT_TRUE(site.find(callable)) << "it remembers what was there before the interface";
  EXPECT_TRUE(site.find(callable));
  EXPECT_EQ(Untag(installed, callable), 1);
  EXPECT_FALSE(site.find(callable));
  awaited->installed = nullptr;
  awaited->interface.live_counters = own;
}

TEST_F(Arriving, BetweenTheStampAndTheMemory) {
  typedcall::call_site<double(double)> site(waiting_);
  SeesATagAfterAnArrival(site, awaited_, scope_->Eval("math.sin").get());
}

TEST_F(Arriving, WhatWasStampedBeforeIsNotRemembered) {
  Ref sin = scope_->Eval("math.sin");
  typedcall::internal::inline_cache memory;
  typedcall::internal::site_search before(waiting_, sin.get(), false);
  EXPECT_TRUE(typedcall::internal::site_search(waiting_, sin.get(), false).may_remember(memory));
  ASSERT_NE(Install(), nullptr);
  EXPECT_FALSE(before.may_remember(memory));
}

// A function whose def is on the heap. Call sites read its metadata again each time.
class OnTheHeap {
 public:
  OnTheHeap() {
    metadata_.table = &kTwice;
    object = Ref::Steal(PyCFunction_New(&def, nullptr));
  }
  Ref object;

 private:
  PyTypedMethodMetadata metadata_ = {
      nullptr, nullptr, PyTypedMethod_SIZE, 1, 0, PyTypedMethod_MAGIC, {nullptr, 0, nullptr, "f"}};

 public:
  PyMethodDef def = {metadata_.pypy.ml_name, Compare, METH_O | METH_TYPED | METH_TYPED_EXT,
                     nullptr};
};

// The call site enlarges its cache during a search.
void SurvivesItsOwnUse(typedcall::call_site<double(double)> &site, PyObject *callable,
                       void (*look_again)()) {
  std::vector<std::unique_ptr<OnTheHeap>> others;
  for (int i = 0; i < 200; ++i) others.push_back(std::make_unique<OnTheHeap>());
  bool has_run = false;
  during_search = [&] {
    for (const auto &other : others) EXPECT_TRUE(site.find(other->object.get()));
    has_run = true;
  };
  look_again();
  EXPECT_FALSE(site.find(callable));
  EXPECT_TRUE(has_run);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_FALSE(site.find(callable));
    for (const auto &other : others) EXPECT_TRUE(site.find(other->object.get()));
  }
}

// The same with a cached entry that is no longer valid.
void SurvivesItsOwnUse(typedcall::call_site<double(double)> &site, void (*look_again)()) {
  auto function = std::make_unique<OnTheHeap>();
  EXPECT_TRUE(site.find(function->object.get()));
  function->def.ml_flags = METH_O;
  SurvivesItsOwnUse(site, function->object.get(), look_again);
}

TEST_F(Arriving, PythonCodeMayUseTheSiteThatIsSearching) {
  typedcall::call_site<double(double)> site(waiting_);
  SurvivesItsOwnUse(site, LookAgain);
}

}  // namespace
}  // namespace typedcall_test
