// Tests threads that publish, retract, resolve types, name IDs and combine metaclasses at the same
// time.
#include <array>
#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "core/foreign_slots.h"
#include "gtest/gtest.h"
#include "tests/core/extensible.h"
#include "tests/threads/in_threads.h"

namespace typedcall_test {
namespace {

constexpr int kThreads = 6;

class Writers : public testing::Test {
 protected:
  Writers() : interface_(PyTypedcall_Import()) {}
  void SetUp() override { ASSERT_NE(interface_, nullptr) << TakeError(); }

  const PyTypedcall_Interface *interface_;
  Scope scope_;
};

std::atomic<long> destroyed{0};
void CountDestroyed(const void *) { ++destroyed; }

// Each thread publishes its own value for the same key. The first one wins, and the others get its
// value.
TEST_F(Writers, PublishTheSameKey) {
  static std::array<char, kThreads> values;
  static char key;
  std::atomic<long> wrong{0}, taken{0};
  destroyed = 0;
  ASSERT_TRUE(scope_.Run("class Owner: pass"));
  Ref owner_type = scope_.Eval("Owner");
  constexpr int kRounds = 2000;
  InThreads(kThreads, [&](int number) {
    char *mine = &values[static_cast<size_t>(number)];
    for (int round = 0; round < kRounds; ++round) {
      Ref owner = New(owner_type);
      const int result = interface_->publish(interface_->state, PyTypedcall_BY_DEF, &key,
                                             owner.get(), mine, nullptr, CountDestroyed, nullptr);
      const void *const existing = interface_->find(interface_->state, PyTypedcall_BY_DEF, &key);
      if (result == 1) {
        ++taken;
        // No other thread can have replaced or removed the value.
        if (existing != mine) ++wrong;
      } else if (result != PyTypedcall_CONFLICT || existing == mine ||
                 (existing != nullptr &&
                  (existing < &values[0] || existing > &values[kThreads - 1]))) {
        ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(taken, 0);
  EXPECT_EQ(destroyed, taken);
  EXPECT_EQ(interface_->find(interface_->state, PyTypedcall_BY_DEF, &key), nullptr);
}

TEST_F(Writers, PublishManyKeys) {
  constexpr size_t kKeys = 3000;
  static std::array<std::array<char, kKeys>, kThreads> keys;
  std::atomic<long> wrong{0};
  InThreads(kThreads, [&](int number) {
    auto &mine = keys[static_cast<size_t>(number)];
    PyObject *owner = PyImport_AddModule("sys");
    for (size_t i = 0; i < kKeys; ++i) {
      if (interface_->publish(interface_->state, PyTypedcall_BY_DEF, &mine[i], owner, &mine[i],
                              nullptr, nullptr, nullptr) != 1) {
        ++wrong;
      }
      if (i % 3 == 0 && interface_->retract(interface_->state, PyTypedcall_BY_DEF, &mine[i]) != 1) {
        ++wrong;
      }
      const auto &others = keys[static_cast<size_t>((number + 1) % kThreads)];
      const void *seen = interface_->find(interface_->state, PyTypedcall_BY_DEF, &others[i]);
      if (seen != nullptr && seen != &others[i]) ++wrong;
    }
  });
  for (auto &row : keys) {
    for (size_t i = 0; i < kKeys; ++i) {
      const void *expected = i % 3 == 0 ? nullptr : &row[i];
      if (interface_->find(interface_->state, PyTypedcall_BY_DEF, &row[i]) != expected) ++wrong;
      interface_->retract(interface_->state, PyTypedcall_BY_DEF, &row[i]);
    }
  }
  EXPECT_EQ(wrong, 0);
}

// No update may be lost.
TEST_F(Writers, ExchangeTheSameRow) {
  constexpr int kTurns = 300;
  static std::array<char, kThreads * kTurns + 1> values;
  static char key, other;
  PyObject *owner = PyImport_AddModule("sys");
  const auto exchange = [&](const void *expected, const void *value) {
    return interface_->exchange(interface_->state, PyTypedcall_BY_DEF, &key, owner, expected, value,
                                nullptr);
  };
  EXPECT_EQ(exchange(&other, &values[0]), 0) << "nothing is there";
  EXPECT_EQ(exchange(nullptr, &values[0]), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: typedcall: a row to exchange needs", 0), 0u);
  ASSERT_EQ(interface_->publish(interface_->state, PyTypedcall_BY_DEF, &key, owner, &values[0],
                                nullptr, nullptr, nullptr),
            1);
  EXPECT_EQ(exchange(&other, &values[1]), 0) << "something else is there";
  InThreads(kThreads, [&](int) {
    for (int turn = 0; turn < kTurns;) {
      // The row is never missing.
      const void *existing = interface_->find(interface_->state, PyTypedcall_BY_DEF, &key);
      turn += exchange(existing, static_cast<const char *>(existing) + 1);
    }
  });
  EXPECT_EQ(interface_->find(interface_->state, PyTypedcall_BY_DEF, &key), &values.back());
  EXPECT_EQ(exchange(&values.back(), &values.back()), 1) << "nothing changes";
  EXPECT_EQ(interface_->retract(interface_->state, PyTypedcall_BY_DEF, &key), 1);
}

TEST_F(Writers, NameSlots) {
  constexpr size_t kNames = 300;
  static std::array<std::array<uintptr_t, kNames>, kThreads> ids;
  InThreads(kThreads, [&](int number) {
    for (size_t i = 0; i < kNames; ++i) {
      const std::string name = "threads." + std::to_string(i);
      ids[static_cast<size_t>(number)][i] = PyCustomSlot_IDByName(interface_, name.c_str());
    }
  });
  for (const auto &one : ids) EXPECT_EQ(one, ids[0]);
  EXPECT_EQ(std::set<uintptr_t>(ids[0].begin(), ids[0].end()).size(), kNames);
}

// The first thread resolves the class, and the others wait.
TEST_F(Writers, ResolveTheSameClass) {
  Ref base = MakeType({Slot(Id(1), 11), Slot(Id(2), 22)});
  scope_.Set("Base", base.get());
  ASSERT_TRUE(scope_.Run(
      "def fresh():\n"
      "  Meta = type(Base)\n"
      "  Lower = type.__new__(Meta, 'Lower', (Base,), {'__customslots__': {0x01000301: 33}})\n"
      "  return type.__new__(Meta, 'Upper', (Lower,), {})()\n"
      "def churn():\n"
      "  for _ in range(20): type('Churn', (), {})\n"));
  Ref fresh = scope_.Eval("fresh"), churn = scope_.Eval("churn");
  std::atomic<long> wrong{0};
  for (int round = 0; round < 300; ++round) {
    Ref object = Ref::Steal(PyObject_CallObject(fresh.get(), nullptr));
    ASSERT_TRUE(object) << TakeError();
    InThreads(kThreads, [&](int number) {
      if (number == 0) {
        // Makes the other threads wait for CPython's locks.
        EXPECT_TRUE(Ref::Steal(PyObject_CallObject(churn.get(), nullptr))) << TakeError();
      }
      if (Value(object.get(), Id(1)) != 11 || Value(object.get(), Id(3)) != 33 ||
          Value(object.get(), Id(2), 1) != 22) {
        ++wrong;
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(Writers, MakeClasses) {
  Ref base = MakeType({Slot(Id(1), 11)});
  Ref find = FindFunction();
  scope_.Set("Base", base.get());
  scope_.Set("find", find.get());
  ASSERT_TRUE(
      scope_.Run("import abc, _extensibletype\n"
                 "class Shared(Base): pass\n"
                 "def work(rounds):\n"
                 "  for i in range(rounds):\n"
                 "    class A(Shared): pass\n"
                 "    class B(A): __customslots__ = {0x01000201: i}\n"
                 "    class C(B): pass\n"
                 "    assert (find(C(), 1), find(C(), 2), find(A(), 2)) == (11, i, -1)\n"
                 "    combined = _extensibletype.combined_metaclass(abc.ABCMeta)\n"
                 "    class D(Shared, abc.ABC, metaclass=combined): pass\n"
                 "    assert find(D(), 1) == 11\n"
                 "  return combined\n"));
  Ref work = scope_.Eval("work");
  std::array<PyObject *, kThreads> combined{};
  InThreads(kThreads, [&](int number) {
    combined[static_cast<size_t>(number)] = PyObject_CallFunction(work.get(), "i", 100);
  });
  for (PyObject *one : combined) {
    EXPECT_EQ(one, combined[0]) << "one for each set of metaclasses";
    Py_XDECREF(one);
  }
  EXPECT_EQ(Value(New(scope_.Eval("Shared")).get(), Id(1)), 11);
}

// Each thread registers its own slot for the same type.
TEST_F(Writers, RegisterForeignSlots) {
  ASSERT_TRUE(scope_.Run("class Base: pass\nclass Derived(Base): pass"));
  Ref base = scope_.Eval("Base"), object = scope_.Eval("Derived()");
  std::atomic<long> wrong{0};
  InThreads(kThreads, [&](int number) {
    const auto idea = static_cast<uintptr_t>(number + 1);
    const PyCustomSlot mine = Slot(Id(idea), idea);
    for (int round = 0; round < 200; ++round) {
      if (PyForeignSlots_Register(interface_, base.type(), &mine, 1) != 0) ++wrong;
      const PyCustomSlot *found = PyForeignSlots_Find(interface_, object.get(), Id(idea), 0);
      if (found == nullptr || found->data.flags != idea) ++wrong;
      if (PyForeignSlots_Unregister(interface_, base.type(), Id(idea)) != 1) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(PyForeignSlots_Find(interface_, object.get(), Id(1), 0), nullptr);
}

}  // namespace
}  // namespace typedcall_test
