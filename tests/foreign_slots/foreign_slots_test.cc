// Slots of types that cannot have our metaclass: who finds them, who inherits them, when they go.
#include "core/foreign_slots.h"

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "core/extensible_type.h"
#include "gtest/gtest.h"
#include "tests/core/extensible.h"
#include "tests/core/subinterpreter.h"
#include "tests/support/embedded.h"
#include "tests/support/memory.h"

namespace typedcall_test {
namespace {

using Slots = std::vector<PyCustomSlot>;

PyCustomSlot S(unsigned idea, uintptr_t flags) { return Slot(Id(idea), flags); }

class Foreign : public testing::Test {
 protected:
  Foreign() : interface_(PyTypedcall_Import()) { scope_.Run("class Plain: pass\n"); }

  int Register(const Ref &type, const Slots &slots) {
    return PyForeignSlots_Register(interface_, type.type(), slots.data(),
                                   static_cast<Py_ssize_t>(slots.size()));
  }
  int Unregister(const Ref &type, unsigned idea) {
    return PyForeignSlots_Unregister(interface_, type.type(), Id(idea));
  }
  /// The flags of the slot that FindAny gives for the value of an expression, or -1.
  long Any(const char *expression, unsigned idea, Py_ssize_t position = 0) {
    Ref object = scope_.Eval(expression);
    return object ? AnyOf(object.get(), idea, position) : -2;
  }
  long AnyOf(PyObject *object, unsigned idea, Py_ssize_t position = 0) {
    const PyCustomSlot *slot = PyCustomSlots_FindAny(interface_, object, Id(idea), position);
    return slot != nullptr ? static_cast<long>(slot->data.flags) : -1;
  }
  /// A new class statement, and the class.
  Ref Class(const std::string &statement, const char *name = "X") {
    scope_.Run(statement);
    return scope_.Eval(name);
  }
  PyTypedcall_Counters Counters() {
    PyTypedcall_Counters counters;
    interface_->counters(interface_->state, &counters, sizeof(counters));
    return counters;
  }

  const PyTypedcall_Interface *interface_;
  Scope scope_;
};

TEST_F(Foreign, BuiltinTypes) {
  Ref type = scope_.Eval("float");
  ASSERT_EQ(Register(type, {S(1, 11), S(2, 22)}), 0) << TakeError();
  EXPECT_EQ(Any("1.5", 1), 11);
  EXPECT_EQ(Any("1.5", 2, 1), 22);
  EXPECT_EQ(Any("5", 1), -1);
  EXPECT_EQ(Any("float", 1), -1) << "an instance has the slots, not the type";
  Ref number = scope_.Eval("1.5");
  EXPECT_EQ(Value(number.get(), Id(1)), -1) << "the first function knows nothing of it";
  EXPECT_EQ(PyCustomSlots_Check(number.get()), 0);
  EXPECT_EQ(Unregister(type, 1), 1);
  EXPECT_EQ(Unregister(type, 2), 1);
  EXPECT_EQ(Any("1.5", 1), -1);
}

TEST_F(Foreign, AnyPositionIsSafe) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11), S(2, 22)}), 0) << TakeError();
  for (const Py_ssize_t position : {Py_ssize_t{-1}, Py_ssize_t{0}, Py_ssize_t{1}, Py_ssize_t{2},
                                    PY_SSIZE_T_MAX, PY_SSIZE_T_MIN}) {
    EXPECT_EQ(Any("X()", 1, position), 11);
    EXPECT_EQ(Any("X()", 2, position), 22);
    EXPECT_EQ(Any("X()", 3, position), -1);
  }
  Ref object = scope_.Eval("X()");
  for (const uintptr_t id : {PyCustomSlot_ID_EMPTY, PyCustomSlot_ID_SKIP}) {
    EXPECT_EQ(PyCustomSlots_FindAny(interface_, object.get(), id, 0), nullptr);
  }
}

TEST_F(Foreign, SubclassesInherit) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  scope_.Run(
      "import typing, abc\n"
      "class One(X): pass\n"
      "class Two(One): __slots__ = ()\n"
      "class Three(Plain, Two, typing.Generic[typing.TypeVar('T')]): pass\n"
      "class Four(X, abc.ABC): pass\n");
  for (const char *object : {"One()", "Two()", "Three()", "Four()"}) {
    EXPECT_EQ(Any(object, 1), 11) << object;
  }
}

TEST_F(Foreign, TheFirstInTheMroWins) {
  Ref left = Class("class L: pass", "L"), right = Class("class R: pass", "R");
  ASSERT_EQ(Register(left, {S(1, 11), S(2, 22)}), 0) << TakeError();
  ASSERT_EQ(Register(right, {S(2, 222), S(3, 333)}), 0) << TakeError();
  scope_.Run("class Both(L, R): pass\nclass Other(R, L): pass");
  EXPECT_EQ(Any("Both()", 2), 22);
  EXPECT_EQ(Any("Other()", 2), 222);
  EXPECT_EQ(Any("Both()", 3), 333);
  EXPECT_EQ(Any("Other()", 1), 11);
}

// With a square in the time that it takes, this would not end.
TEST_F(Foreign, ManySlots) {
  constexpr uintptr_t kMany = 200000;
  Slots slots, others;
  for (uintptr_t i = 1; i <= kMany; ++i) {
    slots.push_back(Slot(16 * i, i));
    others.push_back(Slot(16 * (i + kMany / 2), i + kMany / 2));
  }
  Ref base = Class("class Base: pass", "Base"), type = Class("class X(Base): pass");
  ASSERT_EQ(Register(base, slots), 0) << TakeError();
  ASSERT_EQ(Register(type, others), 0) << TakeError();
  ASSERT_EQ(Register(type, slots), 0) << TakeError();
  Ref object = scope_.Eval("X()");
  const PyCustomSlot *first = PyForeignSlots_Find(interface_, object.get(), others[0].id, 0);
  ASSERT_NE(first, nullptr);
  for (const uintptr_t at : {uintptr_t{0}, kMany - 1, kMany, kMany + kMany / 2 - 1}) {
    EXPECT_EQ(first[at].id, 16 * (at < kMany ? at + 1 + kMany / 2 : at + 1 - kMany)) << at;
  }
}

TEST_F(Foreign, OwnSlotsComeFirst) {
  Ref base = MakeType({S(1, 1)});
  Ref type = Class("class X: pass");
  scope_.Set("Base", base.get());
  ASSERT_EQ(Register(type, {S(1, 11), S(2, 22)}), 0) << TakeError();
  scope_.Run("class Both(X, Base): pass");
  EXPECT_EQ(Any("Both()", 1), 1);
  EXPECT_EQ(Any("Both()", 2), 22);
  EXPECT_EQ(Any("Base()", 2), -1);
}

TEST_F(Foreign, SeveralModulesAddToOneType) {
  Ref type = Class("class X: pass");
  scope_.Run("class Sub(X): pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  EXPECT_EQ(Any("Sub()", 2), -1);
  ASSERT_EQ(Register(type, {S(2, 22), S(1, 11)}), 0)
      << "the same again is the same: " << TakeError();
  EXPECT_EQ(Any("X()", 1), 11);
  EXPECT_EQ(Any("X()", 2), 22);
  EXPECT_EQ(Any("Sub()", 2), 22) << "although someone has looked before";
}

TEST_F(Foreign, ADifferentSlotIsAConflict) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  EXPECT_EQ(Register(type, {S(2, 22), S(1, 12)}), -1);
  EXPECT_EQ(TakeError(),
            "ValueError: type 'X' has the custom slot 0x1000101 already, and it says something "
            "else");
  EXPECT_EQ(Any("X()", 1), 11);
  EXPECT_EQ(Any("X()", 2), -1) << "all or nothing";
}

TEST_F(Foreign, RegisteredAfterALook) {
  Ref base = Class("class X: pass");
  scope_.Run("class Sub(X): pass\nclass SubSub(Plain, Sub): pass");
  EXPECT_EQ(Any("SubSub()", 1), -1);
  EXPECT_EQ(Any("SubSub()", 1), -1);
  ASSERT_EQ(Register(base, {S(1, 11)}), 0) << TakeError();
  EXPECT_EQ(Any("SubSub()", 1), 11);
  ASSERT_EQ(Register(scope_.Eval("Sub"), {S(1, 111)}), 0) << TakeError();
  EXPECT_EQ(Any("SubSub()", 1), 111);
  EXPECT_EQ(Any("X()", 1), 11);
  EXPECT_EQ(Unregister(scope_.Eval("Sub"), 1), 1);
  EXPECT_EQ(Any("SubSub()", 1), 11);
  EXPECT_EQ(Unregister(base, 1), 1);
  EXPECT_EQ(Any("SubSub()", 1), -1);
}

TEST_F(Foreign, UnregisteringKeepsTheOthersPositions) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11), S(2, 22), S(3, 33)}), 0) << TakeError();
  Ref object = scope_.Eval("X()");
  const PyCustomSlot *found = PyCustomSlots_FindAny(interface_, object.get(), Id(2), 1);
  EXPECT_EQ(Unregister(type, 2), 1);
  EXPECT_EQ(Unregister(type, 2), 0);
  EXPECT_EQ(found->data.flags, 22u) << "a reader may have found it before";
  const PyCustomSlot *third = PyCustomSlots_FindAny(interface_, object.get(), Id(3), 2);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ((third - 2)->id, Id(1));
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(Register(type, {S(2, 22)}), 0) << TakeError();
    EXPECT_EQ(Any("X()", 2, 3), 22);
    EXPECT_EQ(Unregister(type, 2), 1);
  }
  for (const unsigned nothing : {4u}) EXPECT_EQ(Unregister(type, nothing), 0);
  EXPECT_EQ(PyForeignSlots_Unregister(interface_, type.type(), PyCustomSlot_ID_SKIP), 0);
  EXPECT_EQ(PyForeignSlots_Unregister(interface_, &PyList_Type, Id(1)), 0);
}

TEST_F(Foreign, AMetaclassWithFieldsOfItsOwn) {
  // As nanobind's types have it: no room for our data, and no combining.
  static PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"test.Fields", static_cast<int>(PyType_Type.tp_basicsize + 64), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  Ref bases = Ref::Steal(PyTuple_Pack(1, &PyType_Type));
  Ref metaclass = Ref::Steal(PyType_FromSpecWithBases(&spec, bases.get()));
  ASSERT_TRUE(metaclass) << TakeError();
  scope_.Set("Fields", metaclass.get());
  Ref type = Class("class X(metaclass=Fields): pass");
  Ref with_slots = MakeType({S(1, 1)}, type.get());
  EXPECT_FALSE(with_slots);
  EXPECT_EQ(TakeError().find("TypeError: "), 0u);
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  scope_.Run("class Sub(X): pass");
  EXPECT_EQ(Any("Sub()", 1), 11);
}

TEST_F(Foreign, Refused) {
  Ref type = Class("class X: pass");
  EXPECT_EQ(Register(type, {}), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X' was given no custom slots");
  EXPECT_EQ(PyForeignSlots_Register(interface_, type.type(), nullptr, 1), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X' was given no custom slots");
  const PyCustomSlot one = S(1, 1);
  EXPECT_EQ(PyForeignSlots_Register(interface_, type.type(), &one, -1), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X' was given no custom slots");
  EXPECT_EQ(Register(type, {Slot(0, 1)}), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X': custom slot 0 has the invalid ID 0x0");
  EXPECT_EQ(Register(type, {S(1, 1), S(1, 1)}), -1);
  EXPECT_EQ(TakeError(),
            "ValueError: type 'X': custom slot 1 has ID 0x1000101, which is there already");
  EXPECT_EQ(Register(MakeType({S(1, 1)}), {S(2, 2)}), -1);
  EXPECT_EQ(TakeError(),
            "TypeError: type 'test.Extensible' is extensible: it has custom slots of its own");
  EXPECT_EQ(Any("X()", 1), -1);
}

TEST_F(Foreign, APendingExceptionStays) {
  scope_.Run("class X: pass");
  Ref object = scope_.Eval("X()");
  PyErr_SetString(PyExc_KeyError, "mine");
  EXPECT_EQ(AnyOf(object.get(), 1), -1) << "the first look at this class";
  EXPECT_EQ(AnyOf(object.get(), 1), -1);
  EXPECT_EQ(TakeError(), "KeyError: 'mine'");
}

TEST_F(Foreign, BasesAssignedLaterChangeNothing) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  scope_.Run("class Sub(X): pass");
  EXPECT_EQ(Any("Sub()", 1), 11);
  type.reset();
  scope_.Run("Sub.__bases__ = (Plain,)\ndel X");
  Collect();
  EXPECT_EQ(Any("Sub()", 1), 11) << "a copy of its own, not the dead base's";
}

TEST_F(Foreign, RegisteringForANewBaseSettlesTheClassAgain) {
  Ref left = Class("class X: pass");
  ASSERT_EQ(Register(left, {S(1, 11), S(2, 22)}), 0) << TakeError();
  ASSERT_TRUE(scope_.Run("Left = X\nclass Sub(Left): pass"));
  Ref right = Class("class X: pass");
  EXPECT_EQ(Any("Sub()", 1), 11);
  ASSERT_TRUE(scope_.Run("Sub.__bases__ = (X,)"));
  EXPECT_EQ(Any("Sub()", 1), 11) << "not by the assignment";
  ASSERT_EQ(PyForeignSlots_Unregister(interface_, left.type(), Id(1)), 1);
  EXPECT_EQ(Any("Sub()", 1), 11) << "it is no subclass of that one any more";
  ASSERT_EQ(Register(right, {S(3, 33)}), 0) << TakeError();
  EXPECT_EQ(Any("Sub()", 1), -1);
  EXPECT_EQ(Any("Sub()", 2), -1);
  EXPECT_EQ(Any("Sub()", 3), 33);
}

TEST_F(Foreign, RowsGoWithTheirTypes) {
  Collect();
  const PyTypedcall_Counters before = Counters();
  for (int i = 0; i < 10000; ++i) {
    Ref type = Ref::Steal(
        PyObject_CallFunction(reinterpret_cast<PyObject *>(&PyType_Type), "s(){}", "Short"));
    ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
    Ref object = New(type);
    ASSERT_EQ(AnyOf(object.get(), 1), 11);
    object.reset();
    type.reset();
    if (i % 100 == 0) Collect();
  }
  Collect();
  const PyTypedcall_Counters after = Counters();
  EXPECT_EQ(after.rows_added - before.rows_added, 20000u);
  EXPECT_EQ(after.rows_removed - before.rows_removed, 20000u);
}

TEST_F(Foreign, WithoutTheGil) {
  Ref type = Class("class X: pass");
  scope_.Run("class Seen(X): pass\nclass Unseen(X): pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  EXPECT_EQ(Any("Seen()", 1), 11);
  Ref itself = scope_.Eval("X()"), seen = scope_.Eval("Seen()"), unseen = scope_.Eval("Unseen()");
  Py_BEGIN_ALLOW_THREADS;
  EXPECT_EQ(AnyOf(itself.get(), 1), 11);
  EXPECT_EQ(AnyOf(seen.get(), 1), 11);
  EXPECT_EQ(AnyOf(unseen.get(), 1), -1) << "nobody walks an MRO without the GIL";
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

// Old tables stay, because someone may be reading them: so there are few of them.
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
  // Three rows: what was registered, and merged for each class.
  EXPECT_LT(memory.Bytes(Memory::kRaw), 3 * 4 * kCount * sizeof(PyCustomSlot));
  for (unsigned i = 1; i <= kCount; ++i) EXPECT_EQ(AnyOf(object.get(), i, i - 1), 10 * i);
  EXPECT_EQ(AnyOf(object.get(), kCount + 1, kCount), -1);
  EXPECT_EQ(PyCustomSlots_FindAny(interface_, object.get(), 0, 0), nullptr);
  EXPECT_EQ(first->id, Id(1));
  EXPECT_EQ(first->data.flags, 10u);
  // What the class brings itself comes first, wherever there is room.
  ASSERT_EQ(Register(derived, {S(5, 55)}), 0) << TakeError();
  EXPECT_EQ(AnyOf(object.get(), 5), 55);
  EXPECT_EQ(AnyOf(object.get(), 6), 60);
  for (unsigned i = kCount; i > kCount - 10; --i) EXPECT_EQ(Unregister(base, i), 1);
  EXPECT_EQ(AnyOf(object.get(), kCount, kCount - 1), -1);
  ASSERT_EQ(Register(base, {S(kCount, 7)}), 0) << TakeError();
  EXPECT_EQ(AnyOf(object.get(), kCount), 7);
  EXPECT_EQ(Register(base, {S(kCount, 8)}), -1);
  EXPECT_NE(TakeError().find("it says something else"), std::string::npos);
}

// Another thread registers a slot between the copy of a table and its exchange: it must not find a
// free place in what has been copied.
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
    for (unsigned i = 1; i <= 3; ++i) ASSERT_EQ(Register(type, {S(i, i)}), 0);  // of four places
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

// What another thread takes away between any two steps of the one that adds it is gone: what is
// found is what is registered.
TEST_F(Foreign, WhatIsTakenAwayMeanwhileIsGone) {
  really = interface_;
  PyTypedcall_Interface watched = *interface_;
  watched.find = Find;
  bool has_run = true;
  for (int step = 0; has_run; ++step) {
    ASSERT_LT(step, 100);
    Ref type = Class("class X: pass"), object = New(type);
    for (unsigned i = 1; i <= 5; ++i) ASSERT_EQ(Register(type, {S(i, i)}), 0);  // of eight places
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

TEST_F(Foreign, OnlySkippedPositions) {
  Ref type = Class("class X: pass"), object = New(type);
  EXPECT_EQ(Register(type, {Slot(PyCustomSlot_ID_SKIP, 0)}), 0);
  EXPECT_EQ(Register(type, {Slot(PyCustomSlot_ID_SKIP, 0)}), 0);
  EXPECT_EQ(Register(type, {S(1, 7)}), 0);
  EXPECT_EQ(AnyOf(object.get(), 1), 7);
}

// What several threads register at once is all there, without the GIL too.
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

TEST_F(Foreign, EachInterpreterHasItsOwn) {
  Ref type = scope_.Eval("int");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  {
    Subinterpreter other;
    ASSERT_TRUE(other.Entered());
    const PyTypedcall_Interface *there = PyTypedcall_Import();
    ASSERT_NE(there, nullptr) << TakeError();
    Ref number = Ref::Steal(PyLong_FromLong(123456));
    EXPECT_EQ(PyCustomSlots_FindAny(there, number.get(), Id(1), 0), nullptr);
    const PyCustomSlot slot = S(1, 12);
    EXPECT_EQ(PyForeignSlots_Register(there, &PyLong_Type, &slot, 1), 0) << TakeError();
    const PyCustomSlot *found = PyCustomSlots_FindAny(there, number.get(), Id(1), 0);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->data.flags, 12u);
    number.reset();
    other.Leave();
  }
  EXPECT_EQ(Any("123456", 1), 11);
  EXPECT_EQ(Unregister(type, 1), 1);
}

TEST_F(Foreign, ReplaceRefuses) {
  Ref owner = scope_.Eval("Plain");
  static const int key = 0, value = 0;
  const struct {
    int space;
    const void *key, *value;
    PyObject *owner;
  } cases[] = {{-1, &key, &value, owner.get()},
               {PyTypedcall_SPACES, &key, &value, owner.get()},
               {PyTypedcall_BY_OBJECT, &key, &value, owner.get()},
               {PyTypedcall_BY_TYPE, nullptr, &value, owner.get()},
               {PyTypedcall_BY_TYPE, &key, nullptr, owner.get()},
               {PyTypedcall_BY_TYPE, &key, &value, nullptr}};
  for (const auto &one : cases) {
    EXPECT_EQ(
        interface_->replace(interface_->state, one.space, one.key, one.owner, one.value, nullptr),
        -1);
    EXPECT_EQ(TakeError().find("ValueError: "), 0u);
  }
  Ref number = scope_.Eval("1.5");
  EXPECT_EQ(interface_->replace(interface_->state, PyTypedcall_BY_TYPE, &key, number.get(), &value,
                                nullptr),
            -1);
  EXPECT_EQ(TakeError(), "TypeError: cannot create weak reference to 'float' object");
}

// Without the fixture, whose scope would outlive the interpreter.
TEST(ForeignAtTheEnd, ReplacedValuesLastUntilThen) {
  if (!typedcall_test::ClassesCanDie()) GTEST_SKIP() << "this interpreter keeps its classes";
  static int destroyed;
  destroyed = 0;
  static const int key = 0, first = 0, second = 0;
  const auto destroy = [](const void *) { ++destroyed; };
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  {
    Scope scope;
    scope.Run("class X: pass");
    Ref owner = scope.Eval("X");
    for (const void *value : {static_cast<const void *>(&first), static_cast<const void *>(&second),
                              static_cast<const void *>(&second)}) {
      EXPECT_EQ(interface->replace(interface->state, PyTypedcall_BY_DEF, &key, owner.get(), value,
                                   destroy),
                0);
      EXPECT_EQ(interface->find(interface->state, PyTypedcall_BY_DEF, &key), value);
    }
    EXPECT_EQ(destroyed, 0);
  }
  Collect();
  EXPECT_EQ(interface->find(interface->state, PyTypedcall_BY_DEF, &key), nullptr);
  EXPECT_EQ(destroyed, 1) << "the one that stood; the other may still be read";
  ASSERT_EQ(StopPython(), 0);
  EXPECT_EQ(destroyed, 2);
  StartPython();
}

}  // namespace
}  // namespace typedcall_test
