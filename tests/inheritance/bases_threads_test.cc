// Threads look slots up while another thread assigns `__bases__` and makes classes. No thread may
// crash or find a wrong slot.
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/extensible.h"

namespace typedcall_test {
namespace {

// Returns the factor by which TYPEDCALL_TOGGLE_TIMES multiplies the work, by default 1.
long Times() {
  const char *times = std::getenv("TYPEDCALL_TOGGLE_TIMES");
  return times != nullptr ? std::atol(times) : 1;
}

// Free-threaded builds make fewer turns, because each turn stops all threads.
#ifdef Py_GIL_DISABLED
constexpr long kTurns = 30, kRounds = 10;
#else
constexpr long kTurns = 150, kRounds = 50;
#endif

// An object and the values of its slots 1, 2 and 3.
struct Watched {
  PyObject *object;
  long values[3];
  bool may_be_unresolved;
};

class BasesWhileReading : public testing::Test {
 protected:
  BasesWhileReading()
      : left_(MakeType({Slot(Id(1), 11), Slot(Id(2), 22)})),
        right_(MakeType({Slot(Id(2), 222), Slot(Id(3), 333)})) {
    scope_.Set("A", left_.get());
    scope_.Set("B", right_.get());
    scope_.Set("M", Metaclass().get());
    scope_.Run(
        "class L(A): __slots__ = ()\n"
        "class R(B): __slots__ = ()\n"
        "class C(L): pass\n"
        "class D(C): pass\n"
        "class Wide(L, R): pass\n"
        "kept = [C(), D(), Wide()]\n"
        "late = [type.__new__(M, 'U', (C,), {})() for _ in range(40)]\n");
    kept_ = scope_.Eval("kept");
    late_ = scope_.Eval("late");
    watched_.push_back({PyList_GetItem(kept_.get(), 0), {11, 22, -1}, false});
    watched_.push_back({PyList_GetItem(kept_.get(), 1), {11, 22, -1}, false});
    watched_.push_back({PyList_GetItem(kept_.get(), 2), {11, 22, 333}, false});
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(late_.get()); ++i) {
      watched_.push_back({PyList_GetItem(late_.get(), i), {}, true});
    }
  }

  // Looks every slot up once. An unresolved type takes the bases that it has at the first look-up.
  void Look(bool attached) {
    for (const Watched &each : watched_) {
      long found[3];
      for (std::uintptr_t idea = 1; idea <= 3; ++idea) {
        found[idea - 1] = Value(each.object, Id(idea), static_cast<Py_ssize_t>(idea) - 1);
      }
      const bool is_base = found[0] == 11 && found[1] == 22 && (found[2] == -1 || found[2] == 333);
      const bool is_other = found[0] == 11 && found[1] == 222 && found[2] == 333;
      if (!each.may_be_unresolved) {
        for (int i = 0; i < 3; ++i) wrong_ += found[i] != each.values[i];
      } else if (attached) {
        wrong_ += !is_base && !is_other;
      } else {
        // Another thread may resolve the type between two of the three look-ups.
        for (int i = 0; i < 3; ++i) {
          wrong_ += found[i] != -1 && found[i] != 11 * (i + 1) && found[i] != 111 * (i + 1);
        }
      }
      ++looks_;
    }
  }

  // ReadDetached() has no thread state. ReadAttached() takes the GIL once in each turn.
  void ReadDetached() {
    for (; !stop_; std::this_thread::yield()) Look(false);
  }
  void ReadAttached() {
    for (long seen = -1; !stop_; std::this_thread::yield()) {
      if (turns_ == seen) continue;  // otherwise no other thread would get the GIL
      const PyGILState_STATE state = PyGILState_Ensure();
      seen = turns_;
      Look(true);
      wrong_ += PyErr_Occurred() != nullptr;
      PyGILState_Release(state);
      ++attached_rounds_;
    }
  }

  Ref left_, right_, kept_, late_;
  Scope scope_;
  std::vector<Watched> watched_;
  std::atomic<bool> stop_{false};
  std::atomic<long> wrong_{0}, looks_{0}, turns_{0}, attached_rounds_{0};
};

TEST_F(BasesWhileReading, NobodyCrashesAndNobodyIsWrong) {
  ASSERT_TRUE(
      scope_.Run("import gc\n"
                 "def toggle(turn):\n"
                 "  C.__bases__ = (R,)\n"
                 "  C.__bases__ = (R, L) if turn % 2 else (L, R)\n"
                 "  # A base that is dropped at once: its MRO and its table go.\n"
                 "  C.__bases__ = (type('Gone', (A,), {'__slots__': ()}),)\n"
                 "  C.__bases__ = (L,)\n"
                 "  L.__bases__ = (A,) if turn % 2 else (type('G', (A,), {'__slots__': ()}),)\n"
                 "  type('E', (D, R) if turn % 3 else (C,), {})\n"
                 "  if turn % 20 == 0: gc.collect()\n"));
  Ref toggle = scope_.Eval("toggle");
  std::vector<std::thread> readers;
  readers.emplace_back([this] { ReadDetached(); });
  readers.emplace_back([this] { ReadDetached(); });
  readers.emplace_back([this] { ReadAttached(); });
  // The loop ends when all threads have done enough work.
  bool failed = false;
  for (; !failed && (turns_ < kTurns * Times() || looks_ < 100000 * Times() ||
                     attached_rounds_ < kRounds * Times());
       ++turns_) {
    failed = !Ref::Steal(PyObject_CallFunction(toggle.get(), "l", turns_.load()));
    Py_BEGIN_ALLOW_THREADS;
    std::this_thread::yield();
    Py_END_ALLOW_THREADS;
  }
  EXPECT_FALSE(failed) << TakeError();
  stop_ = true;
  Py_BEGIN_ALLOW_THREADS;
  for (std::thread &reader : readers) reader.join();
  Py_END_ALLOW_THREADS;
  EXPECT_EQ(wrong_, 0);
  Look(true);  // resolves all types
  EXPECT_EQ(wrong_, 0);
}

// A reader finds the slots of the old or the new class.
TEST_F(BasesWhileReading, ClassAssignment) {
  ASSERT_TRUE(
      scope_.Run("class One(A): pass\n"
                 "class Two(A, B): pass\n"
                 "obj = One()\n"
                 "def switch(turn): obj.__class__ = Two if turn % 2 else One\n"));
  Ref toggle = scope_.Eval("switch"), object = scope_.Eval("obj");
  std::thread reader([&] {
    while (!stop_) {
      const long third = Value(object.get(), Id(3), 2);
      wrong_ += Value(object.get(), Id(1)) != 11 || (third != -1 && third != 333);
      ++looks_;
    }
  });
  for (long turn = 0; turn < 200000 * Times() || looks_ < 1000 * Times(); ++turn) {
    ASSERT_TRUE(Ref::Steal(PyObject_CallFunction(toggle.get(), "l", turn))) << TakeError();
  }
  stop_ = true;
  reader.join();
  EXPECT_EQ(wrong_, 0);
}

}  // namespace
}  // namespace typedcall_test
