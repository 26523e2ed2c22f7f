// Full-API and limited-API code in one interpreter. Built twice: LIMITED_FIRST selects which of the
// two installs the interface.
#include <vector>

#include "gtest/gtest.h"
#include "tests/abi3/installer.h"
#include "tests/core/extensible.h"
#include "tests/core/rows.h"

namespace typedcall_test {
namespace {

void Install() {
  if (!LIMITED_FIRST) {
    ASSERT_NE(PyTypedcall_Import(), nullptr) << TakeError();
  }
  ASSERT_EQ(LimitedInstall(), LIMITED_FIRST) << TakeError();
}

class InstallFirst : public testing::Environment {
 public:
  void SetUp() override { Install(); }
};

testing::Environment *const environment = testing::AddGlobalTestEnvironment(new InstallFirst);

/// Returns the results of the full tier and of the limited tier.
std::vector<long> Found(PyObject *object, uintptr_t id) {
  return {Value(object, id), LimitedValue(object, id)};
}
std::vector<long> Both(long value) { return {value, value}; }

/// Returns a new static type with two slots and room for two more. It is never freed.
PyHeapExtensibleTypeObject *NewStatic(const char *name, uintptr_t first, PyTypeObject *base) {
  auto *slots = new PyCustomSlot[4]();
  slots[0] = Slot(Id(first), first * 11);
  slots[1] = Slot(Id(first + 1), (first + 1) * 11);
  auto *made = new PyHeapExtensibleTypeObject();
  PyTypeObject *type = &made->etp_heaptype.ht_type;
  Py_SET_REFCNT(reinterpret_cast<PyObject *>(type), 1);
  type->tp_name = name;
  type->tp_basicsize = sizeof(PyObject);
  type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  type->tp_new = PyType_GenericNew;
  type->tp_base = base;
  made->etp_custom_slot_count = 2;
  made->etp_custom_slot_table = slots;
  return made;
}

TEST(StaticTypes, AreReadAndDerivedFromByBoth) {
  auto *base = NewStatic("test.Base", 1, nullptr);
  ASSERT_EQ(PyExtensibleType_Ready(base, 4), 0) << TakeError();
  auto *derived = NewStatic("test.Derived", 3, &base->etp_heaptype.ht_type);
  ASSERT_EQ(PyExtensibleType_Ready(derived, 4), 0) << TakeError();
  Scope scope;
  scope.Set("Derived", reinterpret_cast<PyObject *>(derived));
  ASSERT_TRUE(scope.Run("class Child(Derived): __customslots__ = {0x01000901: 99}"));
  for (const char *expression : {"Derived()", "Child()"}) {
    Ref object = scope.Eval(expression);
    for (long idea = 1; idea <= 4; ++idea) {
      EXPECT_EQ(Found(object.get(), Id(static_cast<uintptr_t>(idea))), Both(idea * 11))
          << expression;
    }
  }
  EXPECT_EQ(Found(scope.Eval("Child()").get(), Id(9)), Both(99));
  EXPECT_EQ(Found(scope.Eval("Derived()").get(), Id(9)), Both(-1));
  // For a static type the look-up must read the dictionary of the type, which needs the GIL.
  EXPECT_EQ(LimitedValueDetached(scope.Eval("Derived()").get(), Id(1)), -1);
  EXPECT_EQ(LimitedValueDetached(scope.Eval("Child()").get(), Id(1)), 11);
}

TEST(StaticTypes, AreMadeReadyByEitherInterface) {
  static PyBufferProcs none = {};
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  for (PyBufferProcs *buffer : {static_cast<PyBufferProcs *>(nullptr), &none}) {
    auto *made = NewStatic("test.Direct", 1, nullptr);
    PyTypeObject *type = &made->etp_heaptype.ht_type;
    type->tp_as_buffer = buffer;
    ASSERT_EQ(interface->ready_static(interface->state, type, 4), 0) << TakeError();
    EXPECT_EQ(type->tp_as_buffer, &made->etp_heaptype.as_buffer);
    Scope scope;
    scope.Set("Direct", reinterpret_cast<PyObject *>(made));
    EXPECT_EQ(Found(scope.Eval("Direct()").get(), Id(1)), Both(11));
  }
}

TEST(StaticTypes, WithoutDataOfTheirOwnOfferNothing) {
  auto *base = NewStatic("test.Front", 1, nullptr);
  ASSERT_EQ(PyExtensibleType_Ready(base, 4), 0) << TakeError();
  // Allocated on the heap, so that ASan detects reads beyond the type.
  auto *ordinary = new PyTypeObject();
  ordinary->tp_name = "test.Ordinary";
  ordinary->tp_basicsize = sizeof(PyObject);
  ordinary->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  ordinary->tp_base = &base->etp_heaptype.ht_type;
  Py_SET_REFCNT(reinterpret_cast<PyObject *>(ordinary), 1);
  ASSERT_EQ(PyType_Ready(ordinary), 0) << TakeError();
  Scope scope;
  scope.Set("Ordinary", reinterpret_cast<PyObject *>(ordinary));
  EXPECT_EQ(Found(scope.Eval("Ordinary()").get(), Id(1)), Both(-1));
  EXPECT_EQ(LimitedValueDetached(scope.Eval("Ordinary()").get(), Id(1)), -1);
  ASSERT_TRUE(scope.Run("class Child(Ordinary): pass"));
  EXPECT_EQ(Found(scope.Eval("Child()").get(), Id(1)), Both(11));
}

TEST(StaticTypes, AreRefusedAsEver) {
  auto *full = NewStatic("test.Full", 1, nullptr);
  EXPECT_EQ(PyExtensibleType_Ready(full, 1), -1);
  EXPECT_NE(TakeError().find("ValueError: static type '"), std::string::npos);
  auto *twice = NewStatic("test.Twice", 1, nullptr);
  twice->etp_custom_slot_table[1].id = Id(1);
  EXPECT_EQ(PyExtensibleType_Ready(twice, 4), -1);
  EXPECT_NE(TakeError().find("which occurs twice"), std::string::npos);
}

using Published = Rows;

TEST_F(Published, GoWithTheirLastOwner) {
  const void *key = Address(), *value = Address();
  Ref first = Owner(), second = Owner();
  for (const Ref *owner : {&first, &second, &first}) {
    EXPECT_EQ(Publish(PyTypedcall_BY_DEF, key, *owner, value), value);
  }
  // Calling the callback of the weak reference must not remove the row.
  for (const Ref *owner : {&first, &second}) {
    scope_.Set("owner", owner->get());
    ASSERT_TRUE(
        scope_.Run("reference, = weakref.getweakrefs(owner)\n"
                   "reference.__callback__(reference)\n"
                   "del owner, reference\n"));
  }
  first.reset();
  EXPECT_EQ(Find(PyTypedcall_BY_DEF, key), value);
  second.reset();
  EXPECT_EQ(Find(PyTypedcall_BY_DEF, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Counted().rows_removed, 1u);
}

TEST_F(Published, OwnersInCyclesAndConflicts) {
  const void *key = Address(), *value = Address(), *other = Address();
  ASSERT_TRUE(scope_.Run("owner = Owner(); owner.me = owner"));
  EXPECT_EQ(Publish(PyTypedcall_BY_TYPE, key, scope_.Eval("owner"), value), value);
  EXPECT_EQ(Publish(PyTypedcall_BY_TYPE, key, scope_.Eval("owner"), other), value);
  EXPECT_EQ(Counted().conflicts, 1u);
  Ref number = Ref::Steal(PyLong_FromLong(5));
  EXPECT_EQ(Publish(PyTypedcall_BY_DEF, other, number, value), nullptr);
  EXPECT_NE(TakeError().find("TypeError: cannot create weak reference to 'int'"),
            std::string::npos);
  ASSERT_TRUE(scope_.Run("del owner; gc.collect()"));
  EXPECT_EQ(Find(PyTypedcall_BY_TYPE, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Destroyed()[other], 0);
}

TEST(Rendezvous, ComesAgainWithTheNextInterpreter) {
  static PyHeapExtensibleTypeObject *kept = NewStatic("test.Kept", 1, nullptr);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(PyExtensibleType_Ready(kept, 4), 0) << TakeError();
    {
      Scope scope;
      scope.Set("Kept", reinterpret_cast<PyObject *>(kept));
      ASSERT_TRUE(scope.Run("class Child(Kept): __customslots__ = {0x01000901: 99}"));
      EXPECT_EQ(Found(scope.Eval("Child()").get(), Id(2)), Both(22));
      EXPECT_EQ(Found(scope.Eval("Child()").get(), Id(9)), Both(99));
      Ref made = MakeType({Slot(Id(5), 55)});
      EXPECT_EQ(Found(New(made).get(), Id(5)), Both(55));
    }
    ASSERT_EQ(StopPython(), 0);
    EXPECT_EQ(kept->etp_magic, 0u);
    EXPECT_EQ(Py_TYPE(reinterpret_cast<PyObject *>(kept)), &PyType_Type);
    StartPython();
    Install();
  }
}

}  // namespace
}  // namespace typedcall_test
