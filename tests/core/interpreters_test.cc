// Tests several interpreters in one process. Each has its own metaclass and rows.
#include <atomic>
#include <thread>

#include "tests/core/extensible.h"
#include "tests/core/rows.h"
#include "tests/core/subinterpreter.h"

namespace typedcall_test {
namespace {

constexpr int kDef = PyTypedcall_BY_DEF, kObject = PyTypedcall_BY_OBJECT;

TEST(Subinterpreters, ShareNothing) {
  const PyTypedcall_Interface *outer = PyTypedcall_Import();
  ASSERT_NE(outer, nullptr) << TakeError();
  static const long long key = 0, value = 0;
  Ref owner = Ref::Steal(PyModule_New("owner"));
  outer->publish(outer->state, kDef, &key, owner.get(), &value, nullptr, nullptr, nullptr);

  Subinterpreter sub;
  ASSERT_TRUE(sub.Entered());
  const PyTypedcall_Interface *inner = PyTypedcall_Import();
  ASSERT_NE(inner, nullptr) << TakeError();
  EXPECT_NE(inner, outer);
  EXPECT_NE(inner->metaclass(inner->state), outer->metaclass(outer->state));
  EXPECT_EQ(inner->find(inner->state, kDef, &key), nullptr);
  EXPECT_EQ(outer->find(outer->state, kDef, &key), &value);
  {
    Ref type = MakeType({Slot(Id(1), 11)});
    EXPECT_EQ(Value(New(type).get(), Id(1)), 11);
    EXPECT_EQ(Py_TYPE(type.get()), inner->metaclass(inner->state));
  }
  sub.End();
  EXPECT_EQ(outer->find(outer->state, kDef, &key), &value);
  EXPECT_EQ(PyTypedcall_Import(), outer);
}

TEST(Subinterpreters, LookUpsThere) {
  Subinterpreter sub;
  ASSERT_TRUE(sub.Entered());
  Ref type = MakeType({Slot(Id(1), 11)});
  {
    Scope scope;
    scope.Set("A", type.get());
    ASSERT_TRUE(
        scope.Run("class C(A): pass\n"
                  "U = type.__new__(type(A), 'U', (A,), {})\n"));
    EXPECT_EQ(Value(scope.Eval("C()").get(), Id(1)), 11);
#if PY_VERSION_HEX >= 0x030C0000
    EXPECT_EQ(Value(scope.Eval("U()").get(), Id(1)), 11);
#else
    // Before 3.12, code cannot tell whether a second thread state of the thread is attached.
    EXPECT_EQ(Value(scope.Eval("U()").get(), Id(1)), -1);
#endif
  }
  type.reset();
}

// A type must not be resolved with the metaclass of another interpreter.
TEST(Subinterpreters, UnresolvedTypeOfAnotherInterpreter) {
  Ref type = MakeType({Slot(Id(1), 11)});
  Scope scope;
  scope.Set("A", type.get());
  ASSERT_TRUE(scope.Run("u = type.__new__(type(A), 'U', (A,), {})()"));
  Ref object = scope.Eval("u");
  {
    Subinterpreter sub;
    ASSERT_TRUE(sub.Entered());
    ASSERT_NE(PyTypedcall_Import(), nullptr) << TakeError();
    EXPECT_EQ(Value(object.get(), Id(1)), -1);
    EXPECT_EQ(PyErr_Occurred(), nullptr);
  }
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
}

// Values of rows in every state: published, retracted, kept, and with a dead owner.
struct Values {
  long long keys[4] = {}, living = 0, retracted = 0, retracted_too = 0, dead = 0, kept = 0;

  void Publish() {
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    ASSERT_NE(interface, nullptr) << TakeError();
    auto publish = [&](int space, const void *key, PyObject *owner, const void *value) {
      EXPECT_EQ(
          interface->publish(interface->state, space, key, owner, value, nullptr, Destroy, nullptr),
          1)
          << TakeError();
    };
    PyObject *sys = PyImport_AddModule("sys");
    Ref owner = Ref::Steal(PyModule_New("owner")), number = Ref::Steal(PyLong_FromLong(1234567));
    publish(kDef, &keys[0], sys, &living);
    publish(kDef, &keys[1], sys, &retracted);
    publish(kDef, &keys[2], owner.get(), &dead);
    publish(kDef, &keys[3], owner.get(), &retracted_too);
    publish(kObject, number.get(), number.get(), &kept);
    EXPECT_EQ(interface->retract(interface->state, kDef, &keys[1]), 1);
    EXPECT_EQ(interface->retract(interface->state, kDef, &keys[3]), 1);
    owner.reset();
    Collect();
    EXPECT_EQ(Destroyed()[&living], 0);
    EXPECT_EQ(Destroyed()[&retracted], 0);
    // Builds that never free classes also never free modules.
    EXPECT_EQ(Destroyed()[&retracted_too], typedcall_test::ClassesCanDie() ? 1 : 0);
    EXPECT_EQ(Destroyed()[&dead], typedcall_test::ClassesCanDie() ? 1 : 0);
    EXPECT_EQ(Destroyed()[&kept], 0);
  }
  void ExpectDestroyedOnce() {
    for (const long long *value : {&living, &retracted, &retracted_too, &dead, &kept}) {
      EXPECT_EQ(Destroyed()[value], 1) << value - keys;
    }
  }
};

TEST(Ends, OfASubinterpreter) {
  Destroyed().clear();
  Values values;
  Subinterpreter sub;
  ASSERT_TRUE(sub.Entered());
  values.Publish();
  sub.End();
  values.ExpectDestroyedOnce();
}

// Rows that destructors publish at the end would never be removed.
const PyTypedcall_Interface *ending;
std::string refusal;
void PublishWhenFreed(PyObject *self) {
  static const long long key = 0;
  PyTypeObject *type = Py_TYPE(self);
  PyObject *owner = PyModule_New("late");
  if (ending->publish(ending->state, kDef, &key, owner, &key, nullptr, Destroy, nullptr) == -1) {
    refusal = TakeError();
  }
  Py_XDECREF(owner);
  type->tp_free(self);
  Py_DECREF(type);
}

TEST(Ends, PublishingThenIsRefused) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(PublishWhenFreed)},
                                {0, nullptr}};
  PyType_Spec spec = {"test.Late", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
  static const long long value = 0;
  Subinterpreter sub;
  ASSERT_TRUE(sub.Entered());
  ending = PyTypedcall_Import();
  {
    Ref type = Ref::Steal(PyType_FromSpec(&spec));
    Ref object = New(type);
    ASSERT_EQ(ending->publish(ending->state, kObject, object.get(), object.get(), &value, nullptr,
                              nullptr, nullptr),
              1);
  }
  refusal.clear();
  sub.End();
  EXPECT_EQ(refusal, "RuntimeError: typedcall: the interpreter is ending");
}

// Python code can keep the weak reference and its callback longer than the interface.
PyObject *held_owner, *held_reference;
void DropOwner(const void *value) {
  Destroy(value);
  Py_CLEAR(held_owner);
  Py_CLEAR(held_reference);
}

TEST(Ends, CallbackThatOutlivesTheInterface) {
  Destroyed().clear();
  static const long long key = 0, value = 0;
  Subinterpreter sub;
  ASSERT_TRUE(sub.Entered());
  {
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    ASSERT_NE(interface, nullptr) << TakeError();
    Scope scope;
    ASSERT_TRUE(scope.Run("import weakref\nclass Owner: pass\no = Owner()\n"));
    Ref owner = scope.Eval("o");
    ASSERT_EQ(interface->publish(interface->state, kDef, &key, owner.get(), &value, nullptr,
                                 DropOwner, nullptr),
              1);
    held_reference = scope.Eval("weakref.getweakrefs(o)[0]").release();
    held_owner = owner.release();
  }
  sub.End();
  EXPECT_EQ(held_owner, nullptr);
  EXPECT_EQ(Destroyed()[&value], 1);
}

TEST(Ends, OfTheProcessInterpreterThreeTimes) {
  for (int turn = 0; turn < 3; ++turn) {
    Destroyed().clear();
    Values values;
    values.Publish();
    {
      Ref type = MakeType({Slot(Id(1), 11)});
      Scope scope;
      scope.Set("A", type.get());
      ASSERT_TRUE(
          scope.Run("import sys\n"
                    "class C(A): pass\n"
                    "c = C()\n"
                    "sys.kept_to_the_end = [c, C, type.__new__(type(A), 'U', (A,), {})()]\n"));
      EXPECT_EQ(Value(scope.Eval("c").get(), Id(1)), 11);
      EXPECT_EQ(Value(scope.Eval("sys.kept_to_the_end[2]").get(), Id(1)), 11);
    }
    EXPECT_EQ(StopPython(), 0);
    values.ExpectDestroyedOnce();
    StartPython();
    EXPECT_EQ(PyTypedcall_Peek(), nullptr) << "nothing of the old interpreter is left";
  }
}

#if PY_VERSION_HEX >= 0x030C0000
// Interpreters with their own GILs run in parallel.
TEST(Subinterpreters, WithTheirOwnGil) {
  ASSERT_NE(PyTypedcall_Import(), nullptr) << TakeError();
  std::atomic<int> done{0};
  auto work = [&] {
    const OwnGilInterpreter interpreter;
    ASSERT_TRUE(interpreter.Entered()) << interpreter.Error();
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    ASSERT_NE(interface, nullptr) << TakeError();
    Scope scope;
    long long keys[100] = {};
    for (int turn = 0; turn < 100; ++turn) {
      Ref type = MakeType({Slot(Id(1), 11)});
      scope.Set("A", type.get());
      scope.Run("class C(A): pass\nu = type.__new__(type(A), 'U', (A,), {})()");
      EXPECT_EQ(Value(scope.Eval("C()").get(), Id(1)), 11);
      EXPECT_EQ(Value(scope.Eval("u").get(), Id(1)), 11);
      EXPECT_EQ(interface->publish(interface->state, kDef, &keys[turn], type.get(), &keys[turn],
                                   nullptr, nullptr, nullptr),
                1);
    }
    scope.Run("del A, C, u");
    Collect();
    for (const long long &key : keys) {
      EXPECT_EQ(interface->find(interface->state, kDef, &key), nullptr);
    }
    ++done;
  };
  Py_BEGIN_ALLOW_THREADS;
  std::thread first(work), second(work);
  first.join();
  second.join();
  Py_END_ALLOW_THREADS;
  EXPECT_EQ(done, 2);
}
#endif

}  // namespace
}  // namespace typedcall_test
