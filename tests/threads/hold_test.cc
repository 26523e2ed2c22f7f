// Tests threads that hold rows while other threads free the owners of the rows. A held row must
// stay valid until it is released.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/extensible.h"
#include "tests/support/embedded.h"
#include "tests/threads/in_threads.h"
#include "typedcall/tag.h"

namespace typedcall_test {
namespace {

constexpr int kThreads = 4, kRounds = 3000;
constexpr long kWhole = 0x5ca1ab1e;

struct Value {
  long word;
};

const void *NewValue() { return new Value{kWhole}; }
std::atomic<long> living{0};
void FreeValue(const void *value) {
  auto *mine = const_cast<Value *>(static_cast<const Value *>(value));
  mine->word = 0;
  --living;
  delete mine;
}

void LetOthersRun() {
  Py_BEGIN_ALLOW_THREADS;
  std::this_thread::yield();
  Py_END_ALLOW_THREADS;
}

class Holders : public testing::Test {
 protected:
  Holders() : interface_(PyTypedcall_Import()) {}
  void SetUp() override {
    ASSERT_NE(interface_, nullptr) << TakeError();
    ASSERT_TRUE(scope_.Run("class Owner: pass"));
    owner_type_ = scope_.Eval("Owner");
  }
  const PyTypedcall_Interface *interface_;
  Scope scope_;
  Ref owner_type_;
};

TEST_F(Holders, WhileOwnersGo) {
  static char key;
  std::atomic<bool> done{false};
  std::atomic<long> held{0}, broken{0};
  living = 0;
  InThreads(kThreads, [&](int number) {
    if (number == 0) {
      // The other threads may start much later.
      const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      for (int round = 0; round < kRounds || (held == 0 && std::chrono::steady_clock::now() < late);
           ++round) {
        Ref owner = New(owner_type_);
        ++living;
        const void *value = NewValue();
        if (interface_->publish(interface_->state, PyTypedcall_BY_DEF, &key, owner.get(), value,
                                nullptr, FreeValue, nullptr) != 1) {
          // Another thread holds the old row.
          FreeValue(value);
        }
        LetOthersRun();
      }
      done = true;
      return;
    }
    while (!done) {
      const void *value;
      Ref reference = Ref::Steal(
          interface_->hold(interface_->state, PyTypedcall_BY_DEF, &key, nullptr, &value));
      if (!reference) {
        LetOthersRun();
        continue;
      }
      ++held;
      if (static_cast<const Value *>(value)->word != kWhole) ++broken;
      LetOthersRun();
      if (static_cast<const Value *>(value)->word != kWhole) ++broken;
    }
  });
  EXPECT_EQ(broken, 0);
  EXPECT_GT(held, 0);
  EXPECT_EQ(living, 0);
  EXPECT_EQ(interface_->find(interface_->state, PyTypedcall_BY_DEF, &key), nullptr);
}

double Twice(double x) { return 2 * x; }

// All threads use one owner. No thread may drop a record that another thread uses.
TEST_F(Holders, ConflictsOfOneOwner) {
  static char keys[kThreads + 1];
  static char values[2];
  Ref owner = New(owner_type_);
  std::atomic<long> lost{0};
  // Publishing a different value for this key is a conflict.
  Ref other = New(owner_type_);
  ASSERT_EQ(interface_->publish(interface_->state, PyTypedcall_BY_DEF, &keys[kThreads], other.get(),
                                &values[0], nullptr, nullptr, nullptr),
            1);
  InThreads(kThreads, [&](int number) {
    for (int round = 0; round < kRounds; ++round) {
      if (number % 2 == 0) {
        interface_->publish(interface_->state, PyTypedcall_BY_DEF, &keys[kThreads], owner.get(),
                            &values[1], nullptr, nullptr, nullptr);
        continue;
      }
      if (interface_->publish(interface_->state, PyTypedcall_BY_DEF, &keys[number], owner.get(),
                              &values[0], nullptr, nullptr, nullptr) != 1) {
        ++lost;
      }
      if (round + 1 < kRounds) {
        interface_->retract(interface_->state, PyTypedcall_BY_DEF, &keys[number]);
      }
    }
  });
  EXPECT_EQ(lost, 0);
  for (int number = 1; number < kThreads; number += 2) {
    EXPECT_EQ(interface_->find(interface_->state, PyTypedcall_BY_DEF, &keys[number]), &values[0]);
  }
  owner.reset();
  Collect();
  for (int number = 1; number < kThreads; number += 2) {
    EXPECT_EQ(interface_->find(interface_->state, PyTypedcall_BY_DEF, &keys[number]), nullptr)
        << "its owner was forgotten";
  }
}

struct Tag {
  PyNativeCallableTable table;
  char text[8];
};
void FreeTag(const void *table) {
  std::memset(const_cast<void *>(table), 0xa5, sizeof(Tag));
  std::free(const_cast<void *>(table));
}
const PyNativeCallableTable *NewTag(const char *signature) {
  auto *tag = static_cast<Tag *>(std::malloc(sizeof(Tag)));
  std::strcpy(tag->text, signature);
  tag->table = {1, {{tag->text, 0, reinterpret_cast<void *>(Twice)}}};
  return &tag->table;
}

// The owner of the existing tag may die while the tag is compared.
TEST_F(Holders, TagsThatConflict) {
  static PyMethodDef def = {"f", [](PyObject *, PyObject *) { return PyLong_FromLong(1); }, METH_O,
                            nullptr};
  std::atomic<long> strange{0};
  InThreads(kThreads, [&](int number) {
    for (int round = 0; round < kRounds; ++round) {
      Ref owner = New(owner_type_);
      const auto *table = NewTag(number % 2 == 0 ? "d->d" : "l->l");
      const int taken = PyTypedMethod_TagDef(interface_, &def, owner.get(), table, FreeTag);
      if (taken != 1) FreeTag(table);
      if (taken < 0) {
        const std::string message = TakeError();
        if (message.find("ValueError: f is tagged already: ") != 0) ++strange;
      }
      LetOthersRun();
    }
  });
  EXPECT_EQ(strange, 0);
}

}  // namespace
}  // namespace typedcall_test
