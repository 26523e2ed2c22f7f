// Tests foreign slots that change while other threads use them.
#include "tests/foreign_slots/foreign.h"
// foreign.h comes first because it includes Python.h.
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "tests/support/memory.h"

namespace typedcall_test {
namespace {

TEST_F(Foreign, WithoutTheGil) {
  Ref type = Class("class X: pass");
  scope_.Run("class Seen(X): pass\nclass Unseen(X): pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  EXPECT_EQ(Any("Seen()", 1), 11);
  Ref itself = scope_.Eval("X()"), seen = scope_.Eval("Seen()"), unseen = scope_.Eval("Unseen()");
  Py_BEGIN_ALLOW_THREADS;
  EXPECT_EQ(AnyOf(itself.get(), 1), 11);
  EXPECT_EQ(AnyOf(seen.get(), 1), 11);
  EXPECT_EQ(AnyOf(unseen.get(), 1), -1) << "an MRO is not walked without the GIL";
  Py_END_ALLOW_THREADS;
  EXPECT_EQ(AnyOf(unseen.get(), 1), 11);
}

TEST_F(Foreign, ReadersNeverMissWhatStays) {
  Ref type = Class("class X: pass");
  scope_.Run("class Sub(X): pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  ASSERT_EQ(Any("Sub()", 1), 11);
  Ref objects[] = {scope_.Eval("X()"), scope_.Eval("Sub()")};
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0}, read{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        for (const Ref &object : objects) {
          if (AnyOf(object.get(), 1) != 11) ++wrong;
          const long second = AnyOf(object.get(), 2);
          if (second != -1 && second != 22) ++wrong;
          ++read;
        }
      }
    });
  }
  for (int turn = 0; turn < 300 || read < 1000; ++turn) {
    ASSERT_EQ(Register(type, {S(2, 22)}), 0) << TakeError();
    Py_BEGIN_ALLOW_THREADS;
    std::this_thread::yield();
    Py_END_ALLOW_THREADS;
    ASSERT_EQ(Unregister(type, 2), 1);
  }
  stop = true;
  for (std::thread &reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

// Old tables are kept, because a thread may be reading them. There must be few of them.
TEST_F(Foreign, OneAtATimeTakesNoMoreThanItsSize) {
  constexpr unsigned kCount = 1000;
  Ref base = Class("class X: pass"), derived = Class("class Y(X): pass", "Y"),
      object = New(derived);
  const PyCustomSlot *first = nullptr;
  Memory memory;
  for (unsigned i = 1; i <= kCount; ++i) {
    ASSERT_EQ(Register(base, {S(i, 10 * i)}), 0) << TakeError();
    EXPECT_EQ(AnyOf(object.get(), i, i - 1), 10 * i);
    if (i == 1) first = PyCustomSlots_FindAny(interface_, object.get(), Id(1), 0);
  }
  // There are three rows: the registered one, and a merged one for each class.
  EXPECT_LT(memory.Bytes(Memory::kRaw), 3 * 4 * kCount * sizeof(PyCustomSlot));
  for (unsigned i = 1; i <= kCount; ++i) EXPECT_EQ(AnyOf(object.get(), i, i - 1), 10 * i);
  EXPECT_EQ(AnyOf(object.get(), kCount + 1, kCount), -1);
  EXPECT_EQ(PyCustomSlots_FindAny(interface_, object.get(), 0, 0), nullptr);
  EXPECT_EQ(first->id, Id(1));
  EXPECT_EQ(first->data.flags, 10u);
  // A class's own slots come first.
  ASSERT_EQ(Register(derived, {S(5, 55)}), 0) << TakeError();
  EXPECT_EQ(AnyOf(object.get(), 5), 55);
  EXPECT_EQ(AnyOf(object.get(), 6), 60);
  for (unsigned i = kCount; i > kCount - 10; --i) EXPECT_EQ(Unregister(base, i), 1);
  EXPECT_EQ(AnyOf(object.get(), kCount, kCount - 1), -1);
  ASSERT_EQ(Register(base, {S(kCount, 7)}), 0) << TakeError();
  EXPECT_EQ(AnyOf(object.get(), kCount), 7);
  EXPECT_EQ(Register(base, {S(kCount, 8)}), -1);
  EXPECT_NE(TakeError().find("with other data"), std::string::npos);
}

// After a thread has copied a table, other threads must not add slots to the original.
const PyTypedcall_Interface *really;
std::function<void()> before_exchange;
int Exchange(void *state, int space, const void *key, PyObject *owner, const void *expected,
             const void *value, void (*destroy)(const void *)) {
  if (const auto run = std::exchange(before_exchange, nullptr)) run();
  return really->exchange(state, space, key, owner, expected, value, destroy);
}

TEST_F(Foreign, WhatIsCopiedIsClosed) {
  really = interface_;
  PyTypedcall_Interface watched = *interface_;
  watched.exchange = Exchange;
  for (const bool unregisters : {false, true}) {
    Ref type = Class("class X: pass"), object = New(type);
    for (unsigned i = 1; i <= 3; ++i) ASSERT_EQ(Register(type, {S(i, i)}), 0);  // 3 of 4 places
    bool has_run = false;
    before_exchange = [&] {
      EXPECT_EQ(Register(type, {S(9, 99)}), 0);
      has_run = true;
    };
    if (unregisters) {
      EXPECT_EQ(PyForeignSlots_Unregister(&watched, type.type(), Id(1)), 1);
    } else {
      const Slots two = {S(4, 4), S(5, 5)};
      EXPECT_EQ(PyForeignSlots_Register(&watched, type.type(), two.data(), 2), 0) << TakeError();
    }
    EXPECT_TRUE(has_run);
    EXPECT_EQ(AnyOf(object.get(), 9), 99) << unregisters;
    EXPECT_EQ(AnyOf(object.get(), 1), unregisters ? -1 : 1);
    EXPECT_EQ(AnyOf(object.get(), 5), unregisters ? -1 : 5);
    EXPECT_EQ(AnyOf(object.get(), 3), 3);
  }
}

std::function<void()> before_find;
int finds_before;
const void *Find(void *state, int space, const void *key) {
  if (before_find && finds_before-- == 0) std::exchange(before_find, nullptr)();
  return really->find(state, space, key);
}

// A slot that is removed while another thread adds it must not be found.
TEST_F(Foreign, WhatIsTakenAwayMeanwhileIsGone) {
  really = interface_;
  PyTypedcall_Interface watched = *interface_;
  watched.find = Find;
  bool has_run = true;
  for (int step = 0; has_run; ++step) {
    ASSERT_LT(step, 100);
    Ref type = Class("class X: pass"), object = New(type);
    for (unsigned i = 1; i <= 5; ++i) ASSERT_EQ(Register(type, {S(i, i)}), 0);  // 5 of 8 places
    int was_there = 0;
    has_run = false;
    finds_before = step;
    before_find = [&] {
      was_there = Unregister(type, 9);
      has_run = true;
    };
    const Slots nine = {S(9, 99)};
    EXPECT_EQ(PyForeignSlots_Register(&watched, type.type(), nine.data(), 1), 0) << TakeError();
    before_find = nullptr;
    EXPECT_EQ(AnyOf(object.get(), 9), was_there == 1 ? -1 : 99) << "after look-up " << step;
  }
}

// No slot may be lost if several threads register slots.
TEST_F(Foreign, SeveralThreadsRegisterForOneClass) {
  constexpr unsigned kThreads = 4, kEach = 100;
  Ref base = Class("class X: pass"), object = Class("y = type('Y', (X,), {})()", "y");
  AnyOf(object.get(), 1);
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  PyThreadState *saved = PyEval_SaveThread();
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned i = 0; i < kEach; ++i) {
        const PyGILState_STATE state = PyGILState_Ensure();
        failed += Register(base, {S(1 + i * kThreads + thread, i)}) != 0;
        if (i % 10 == 9) failed += Unregister(base, 1 + (i - 5) * kThreads + thread) != 1;
        PyGILState_Release(state);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  PyEval_RestoreThread(saved);
  EXPECT_EQ(failed, 0);
  for (unsigned i = 0; i < kEach; ++i) {
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      EXPECT_EQ(AnyOf(object.get(), 1 + i * kThreads + thread), i % 10 == 4 ? -1 : long{i});
    }
  }
}

}  // namespace
}  // namespace typedcall_test
