// Tests the consumer functions in threads that do not hold the GIL. They find slots on resolved
// types only.
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/extensible.h"

namespace typedcall_test {
namespace {

class Detached : public testing::Test {
 protected:
  Detached() : base_(MakeType({Slot(Id(1), 11), Slot(Id(2), 22)})) {
    scope_.Set("A", base_.get());
    scope_.Set("M", Metaclass().get());
    scope_.Run(
        "class C(A): pass\n"
        "resolved = C()\n"
        "unresolved = type.__new__(M, 'U', (A,), {})()\n"
        "plain = object()\n");
    resolved_ = scope_.Eval("resolved");
    unresolved_ = scope_.Eval("unresolved");
    plain_ = scope_.Eval("plain");
  }

  void ExpectDetachedAnswers() {
    EXPECT_FALSE(PyTypedcall_IsAttached());
    EXPECT_EQ(Value(resolved_.get(), Id(2), 1), 22);
    EXPECT_EQ(PyCustomSlots_Count(resolved_.get()), 2);
    EXPECT_EQ(Value(plain_.get(), Id(1)), -1);
    EXPECT_EQ(Value(unresolved_.get(), Id(1)), -1);
    EXPECT_EQ(PyCustomSlots_Check(unresolved_.get()), 0);
  }

  Ref base_, resolved_, unresolved_, plain_;
  Scope scope_;
};

TEST_F(Detached, WithoutTheGil) {
  EXPECT_TRUE(PyTypedcall_IsAttached());
  Py_BEGIN_ALLOW_THREADS;
  ExpectDetachedAnswers();
  Py_END_ALLOW_THREADS;
  EXPECT_EQ(Value(unresolved_.get(), Id(1)), 11);
  Py_BEGIN_ALLOW_THREADS;
  EXPECT_EQ(Value(unresolved_.get(), Id(1)), 11) << "resolved by now";
  Py_END_ALLOW_THREADS;
}

TEST_F(Detached, ThreadThatNeverAttached) {
  std::thread([this] { ExpectDetachedAnswers(); }).join();
  EXPECT_EQ(Value(unresolved_.get(), Id(1)), 11);
}

TEST_F(Detached, ThreadThatAttaches) {
  Py_BEGIN_ALLOW_THREADS;
  std::thread([this] {
    ExpectDetachedAnswers();
    const PyGILState_STATE state = PyGILState_Ensure();
    EXPECT_TRUE(PyTypedcall_IsAttached());
    EXPECT_EQ(Value(unresolved_.get(), Id(1)), 11);
    PyThreadState *const saved = PyEval_SaveThread();
    EXPECT_FALSE(PyTypedcall_IsAttached());
    PyEval_RestoreThread(saved);
    PyGILState_Release(state);
    EXPECT_FALSE(PyTypedcall_IsAttached());
  }).join();
  Py_END_ALLOW_THREADS;
}

// Readers must never see a type that is only partly resolved.
TEST_F(Detached, ReadersWhileTypesAreResolved) {
  ASSERT_TRUE(scope_.Run("many = [type.__new__(M, 'U', (A,), {})() for _ in range(500)]"));
  Ref many = scope_.Eval("many");
  std::vector<PyObject *> objects;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(many.get()); ++i) {
    objects.push_back(PyList_GET_ITEM(many.get(), i));
  }
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0}, found{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        for (PyObject *object : objects) {
          const long value = Value(object, Id(2), 1);
          if (value == 22) ++found;
          if (value != 22 && value != -1) ++wrong;
        }
      }
    });
  }
  for (PyObject *object : objects) EXPECT_EQ(Value(object, Id(1)), 11);
  while (found == 0) std::this_thread::yield();
  stop = true;
  for (std::thread &reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace typedcall_test
