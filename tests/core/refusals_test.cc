// Tests the names, numbers of slots and metaclasses in C that the interface refuses, and how types
// with a combined metaclass are destroyed. tests/class_slots combines more metaclasses, in Python.
#include "gtest/gtest.h"
#include "tests/core/extensible.h"

namespace typedcall_test {
namespace {

TEST(SlotNames, Refused) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  for (const char *name : {static_cast<const char *>(nullptr), ""}) {
    EXPECT_EQ(PyCustomSlot_IDByName(interface, name), 0u);
    EXPECT_EQ(TakeError(), "ValueError: typedcall: a custom slot ID needs a name");
  }
}

// A dictionary of 2^23 names would take a gigabyte, so the test only changes the item count.
TEST(SlotNames, AllIDsAreTaken) {
  Ref names = Ref::Steal(PyDict_New()), name = Ref::Steal(PyUnicode_FromString("name"));
  auto *fields = reinterpret_cast<PyDictObject *>(names.get());
  fields->ma_used = PyTC_RUNTIME_IDS;
  const uintptr_t id = PyTC_IDByName(names.get(), name.get());
  fields->ma_used = 0;
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(TakeError(), "ValueError: typedcall: all custom slot IDs are taken");
  const uintptr_t first = PyTC_IDByName(names.get(), name.get());
  EXPECT_NE(first, 0u) << TakeError();
  EXPECT_EQ(PyTC_IDByName(names.get(), name.get()), first);
}

TEST(Slots, MoreThanMemory) {
  const PyCustomSlot slot = Slot(Id(1), 1);
  PyType_Slot type_slots[] = {{0, nullptr}};
  PyType_Spec spec = {"test.TooMany", 0, 0, Py_TPFLAGS_DEFAULT, type_slots};
  EXPECT_EQ(PyExtensibleType_FromSpec(nullptr, &spec, nullptr, &slot, PY_SSIZE_T_MAX), nullptr);
  EXPECT_EQ(TakeError(), "MemoryError: ");
}

// Only the interface that made the metaclass of a class settles the class.
TEST(Slots, AnotherInterface) {
  Ref base = MakeType({Slot(Id(1), 11)});
  Scope scope;
  scope.Set("Base", base.get());
  Ref object = scope.Eval("type.__new__(type(Base), 'C', (Base,), {})()");
  PyTypedcall_Interface other = *PyTypedcall_Import();
  Ref fake = Ref::Steal(PyCapsule_New(&other, PyTypedcall_CAPSULE_NAME, nullptr));
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  Ref capsule = Ref::Borrow(PyDict_GetItemString(kept, PyTypedcall_CAPSULE_NAME));
  ASSERT_TRUE(capsule);
  ASSERT_EQ(PyDict_SetItemString(kept, PyTypedcall_CAPSULE_NAME, fake.get()), 0);
  other.metaclass = [](void *) -> PyTypeObject * { return nullptr; };  // as at the end
  EXPECT_EQ(Value(object.get(), Id(1)), -1);
  other.metaclass = [](void *) { return &PyLong_Type; };
  EXPECT_EQ(Value(object.get(), Id(1)), -1);
  ASSERT_EQ(PyDict_SetItemString(kept, PyTypedcall_CAPSULE_NAME, capsule.get()), 0);
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
}

int freed[2];
template <int kind>
void Free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ++freed[kind];
  PyType_Type.tp_dealloc(self);
  Py_DECREF(type);
}

PyObject *NewInC(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  return PyType_Type.tp_new(type, args, kwargs);
}

class InC : public testing::Test {
 protected:
  InC() {
    freed[0] = freed[1] = 0;
    scope_.Set("Base", MakeType({Slot(Id(1), 11)}).get());
  }
  // Returns a new metaclass.
  static Ref Make(const char *name, int slot, void *function, PyObject *base = nullptr) {
    PyType_Slot slots[] = {{slot, function}, {0, nullptr}};
    PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    Ref bases = Ref::Steal(
        PyTuple_Pack(1, base != nullptr ? base : reinterpret_cast<PyObject *>(&PyType_Type)));
    return Ref::Steal(PyType_FromSpecWithBases(&spec, bases.get()));
  }
  template <int kind>
  static Ref Freeing(const char *name, PyObject *base = nullptr) {
    return Make(name, Py_tp_dealloc, reinterpret_cast<void *>(Free<kind>), base);
  }
  template <class... Metaclasses>
  static Ref Combine(const Metaclasses &...metaclasses) {
    Ref all = Ref::Steal(PyTuple_Pack(sizeof...(metaclasses), metaclasses.get()...));
    return Ref::Steal(reinterpret_cast<PyObject *>(PyExtensibleType_CombinedMetaclass(all.get())));
  }
  // Makes classes with and without slots, and lets them die.
  void MakeClasses(const Ref &metaclass) {
    for (const char *arguments : {"('C', (Base,), {})", "('C', (), {})"}) {
      Ref args = scope_.Eval(arguments);
      Ref made = Ref::Steal(PyObject_Call(metaclass.get(), args.get(), nullptr));
      ASSERT_TRUE(made) << TakeError();
      EXPECT_EQ(Value(New(made).get(), Id(1)), arguments[7] == 'B' ? 11 : -1);
      made.reset();
      Collect();
    }
  }
  static void ExpectFreed(int kind, int count) {
    if (ClassesCanDie()) {
      EXPECT_EQ(freed[kind], count);
    }
  }
  Scope scope_;
};

TEST_F(InC, ADeallocatorRuns) {
  Ref one = Freeing<0>("test.One"), same = Freeing<0>("test.Same");
  Ref derived = Freeing<1>("test.Derived", one.get());
  ASSERT_TRUE(one && same && derived) << TakeError();
  MakeClasses(Combine(one));
  ExpectFreed(0, 2);
  MakeClasses(Combine(one, same));
  ExpectFreed(0, 4);
  MakeClasses(Combine(derived));
  ExpectFreed(1, 2);
  ExpectFreed(0, 4);
}

TEST_F(InC, TwoDeallocators) {
  EXPECT_FALSE(Combine(Freeing<0>("test.One"), Freeing<1>("test.Two")));
  EXPECT_NE(TakeError().find("a tp_dealloc of its own, and so has another of the metaclasses"),
            std::string::npos);
}

TEST_F(InC, AConstructor) {
  EXPECT_FALSE(Combine(Make("test.New", Py_tp_new, reinterpret_cast<void *>(NewInC))));
  EXPECT_NE(TakeError().find("a tp_new of its own, which CPython would not call"),
            std::string::npos);
  scope_.Run(
      "class Same(type): __new__ = type.__new__\n"
      "class InPython(type):\n"
      "  def __new__(cls, *args): return super().__new__(cls, *args)");
  for (const char *name : {"Same", "InPython"}) MakeClasses(Combine(scope_.Eval(name)));
}

// Making a combined metaclass may run code that makes the same one. That one is then used.
TEST_F(InC, MadeMeanwhile) {
  scope_.Run(
      "import sys\n"
      "made = []\n"
      "class OfMetaclasses(type):\n"
      "  def __init__(cls, *args):\n"
      "    super().__init__(*args)\n"
      "    if len(args[1]) > 1 and not made:\n"
      "      made.append(None)\n"
      "      made.append(sys.modules['_extensibletype'].combined_metaclass(A))\n"
      "class A(type, metaclass=OfMetaclasses): pass");
  const Ref combined = Combine(scope_.Eval("A"));
  ASSERT_TRUE(combined) << TakeError();
  EXPECT_EQ(combined.get(), scope_.Eval("made[1]").get());
}

// Our __init__ refuses such a declaration. It must be refused even if our __init__ is not called.
TEST_F(InC, AnInitThatForgetsSuper) {
  scope_.Run("class Forgets(type):\n  def __init__(cls, *args): pass");
  const Ref metaclass = Combine(scope_.Eval("Forgets"));
  MakeClasses(metaclass);
  Ref args = scope_.Eval("('C', (Base,), {'__customslots__': 5})");
  EXPECT_EQ(PyObject_Call(metaclass.get(), args.get(), nullptr), nullptr);
  EXPECT_EQ(TakeError(),
            "TypeError: type 'C': __customslots__ must be a mapping or a list of (id, value), not "
            "'int'");
}

// Unlike a heap type, a static metaclass has the tp_dealloc of `type` itself.
TEST_F(InC, AStaticMetaclass) {
  static PyTypeObject type = {};
  type.tp_name = "test.StaticMeta";
  type.tp_base = &PyType_Type;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  Py_SET_REFCNT(reinterpret_cast<PyObject *>(&type), 1);
  ASSERT_EQ(PyType_Ready(&type), 0) << TakeError();
  MakeClasses(Combine(Ref::Borrow(reinterpret_cast<PyObject *>(&type))));
}

TEST_F(InC, WhatIsNoMetaclass) {
  EXPECT_FALSE(Combine(scope_.Eval("5")));
  EXPECT_EQ(TakeError(),
            "TypeError: a 'int' object is not a metaclass: it does not derive from type");
  EXPECT_FALSE(Combine(scope_.Eval("int")));
  EXPECT_EQ(TakeError(), "TypeError: type 'int' is not a metaclass: it does not derive from type");
  Ref type = Ref::Borrow(reinterpret_cast<PyObject *>(&PyType_Type));
  Ref ours = Metaclass();
  EXPECT_EQ(Combine(type, type).get(), ours.get());
  EXPECT_EQ(Combine(ours, ours).get(), ours.get());
  scope_.Run("class A(type): pass");
  Ref a = scope_.Eval("A");
  EXPECT_EQ(Combine(a, a).get(), Combine(a).get());
}

// CPython makes tp_as_buffer point into the type itself. Other code may change the pointer.
TEST(HeapTypes, WithBufferFunctionsElsewhere) {
  static PyBufferProcs elsewhere = {};
  Ref type = MakeType({Slot(Id(1), 11)});
  Ref object = New(type);
  PyBufferProcs *before = type.type()->tp_as_buffer;
  type.type()->tp_as_buffer = &elsewhere;
  Scope scope;
  scope.Set("Base", type.get());
  EXPECT_EQ(Value(scope.Eval("type('C', (Base,), {})()").get(), Id(1)), 11);
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
  type.type()->tp_as_buffer = before;
}

#ifndef Py_LIMITED_API
// Only Clang's look-ups call this function.
TEST(Positions, WithoutASearch) {
  Ref type = MakeType({Slot(Id(1), 11), Slot(Id(2), 22)});
  const auto at = [&](uintptr_t id, Py_ssize_t position) {
    const PyCustomSlot *slot = PyTC_Expected(type.type(), id, position);
    return slot != nullptr ? static_cast<long>(slot->data.flags) : -1;
  };
  EXPECT_EQ(at(Id(2), 1), 22);
  EXPECT_EQ(at(Id(2), 0), -1);
  EXPECT_EQ(at(Id(2), 2), -1);
  EXPECT_EQ(at(Id(2), -1), -1);
  EXPECT_EQ(at(PyCustomSlot_ID_SKIP, 1), -1);
  Scope scope;
  scope.Set("Base", type.get());
  type = scope.Eval("type.__new__(type(Base), 'C', (Base,), {})");
  EXPECT_EQ(at(Id(2), 1), -1) << "nothing has settled the class";
}
#endif

}  // namespace
}  // namespace typedcall_test
