// Tests PyExtensibleType_FromSpec. tests/inheritance covers Python subclasses.
#include "gtest/gtest.h"
#include "tests/core/extensible.h"

namespace typedcall_test {
namespace {

TEST(FromSpec, TheTableIsACopy) {
  std::vector<PyCustomSlot> slots = {Slot(Id(1), 11), Slot(Id(2), 22)};
  Ref type = MakeType(slots);
  ASSERT_TRUE(type) << TakeError();
  slots[0].data.flags = 99;
  Ref object = New(type);
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
  EXPECT_NE(PyCustomSlots_Table(object.get()), slots.data());
}

TEST(FromSpec, EveryKindOfData) {
  static int target;
  PyCustomSlot pointer, offset;
  pointer.id = reinterpret_cast<uintptr_t>(&target);  // an even address is a valid ID
  pointer.data.pointer = &target;
  offset.id = Id(1);
  offset.data.objoffset = -8;
  Ref type = MakeType({pointer, offset});
  Ref object = New(type);
  ASSERT_TRUE(object) << TakeError();
  EXPECT_EQ(PyCustomSlots_Find(object.get(), pointer.id, 0)->data.pointer, &target);
  EXPECT_EQ(PyCustomSlots_Find(object.get(), Id(1), 1)->data.objoffset, -8);
}

TEST(FromSpec, SkippedSlotsKeepPositions) {
  const PyCustomSlot skip = Slot(PyCustomSlot_ID_SKIP, 0);
  Ref type = MakeType({skip, skip, Slot(Id(3), 33), skip, Slot(Id(5), 55)});
  Ref object = New(type);
  ASSERT_TRUE(object) << TakeError();
  EXPECT_EQ(PyCustomSlots_Count(object.get()), 5);
  EXPECT_EQ(PyCustomSlots_Find(object.get(), Id(3), 2), PyCustomSlots_Table(object.get()) + 2);
  EXPECT_EQ(PyCustomSlots_Find(object.get(), Id(5), 4), PyCustomSlots_Table(object.get()) + 4);
}

TEST(FromSpec, DuplicatesAreRefusedByName) {
  EXPECT_FALSE(MakeType({Slot(Id(7), 1), Slot(Id(2), 2), Slot(Id(7), 1)}, nullptr, "test.Twice"));
  const std::string error = TakeError();
  EXPECT_EQ(error.find("ValueError: "), 0u) << error;
  EXPECT_NE(error.find("test.Twice"), std::string::npos) << error;
  EXPECT_NE(error.find("0x1000701"), std::string::npos) << error;
  EXPECT_NE(error.find("occurs twice"), std::string::npos) << error;
}

TEST(FromSpec, InvalidIdsAreRefusedByName) {
  const struct {
    uintptr_t id;
    const char *words;
  } cases[] = {{PyCustomSlot_ID_EMPTY, "ID 0x0"}, {uintptr_t{0x200000003}, "ID 0x200000003"}};
  for (const auto &one : cases) {
    EXPECT_FALSE(MakeType({Slot(Id(1), 1), Slot(one.id, 0)}, nullptr, "test.Invalid"));
    const std::string error = TakeError();
    EXPECT_EQ(error.find("ValueError: "), 0u) << error;
    EXPECT_NE(error.find("test.Invalid"), std::string::npos) << error;
    EXPECT_NE(error.find("slot 1"), std::string::npos) << error;
    EXPECT_NE(error.find(one.words), std::string::npos) << error;
  }
}

TEST(FromSpec, NoTableOrANegativeCount) {
  static PyType_Slot no_slots[] = {{0, nullptr}};
  PyType_Spec spec = {"test.NoTable", 0, 0, Py_TPFLAGS_DEFAULT, no_slots};
  EXPECT_EQ(PyExtensibleType_FromSpec(nullptr, &spec, nullptr, nullptr, 1), nullptr);
  EXPECT_EQ(TakeError().find("SystemError: "), 0u);
  const PyCustomSlot slot = Slot(Id(1), 1);
  EXPECT_EQ(PyExtensibleType_FromSpec(nullptr, &spec, nullptr, &slot, -1), nullptr);
  EXPECT_EQ(TakeError().find("SystemError: "), 0u);
  Ref type = Ref::Steal(PyExtensibleType_FromSpec(nullptr, &spec, nullptr, nullptr, 0));
  EXPECT_TRUE(type) << TakeError();
}

// Inherited slots come first, so they keep their positions.
TEST(FromSpec, ChildKeepsItsBasesPositions) {
  const PyCustomSlot skip = Slot(PyCustomSlot_ID_SKIP, 0);
  Ref base = MakeType({skip, Slot(Id(1), 11), Slot(Id(2), 22)});
  Ref child = MakeType({Slot(Id(3), 33), skip, Slot(Id(2), 222)}, base.get());
  Ref object = New(child);
  ASSERT_TRUE(object) << TakeError();
  const PyCustomSlot *table = PyCustomSlots_Table(object.get());
  ASSERT_EQ(PyCustomSlots_Count(object.get()), 4);
  EXPECT_EQ(table[0].id, PyCustomSlot_ID_SKIP);
  EXPECT_EQ(table[1].data.flags, 11u);
  EXPECT_EQ(table[2].data.flags, 222u);
  EXPECT_EQ(table[3].id, Id(3));
  Ref of_base = New(base);
  EXPECT_EQ(Value(of_base.get(), Id(2)), 22) << "the child wrote into its base's table";
}

TEST(FromSpec, OwnSlotsThatAreAllSkipped) {
  const PyCustomSlot skip = Slot(PyCustomSlot_ID_SKIP, 0);
  Ref base = MakeType({skip, skip});
  Ref child = MakeType({skip, Slot(Id(1), 11)}, base.get());
  Ref object = New(child);
  ASSERT_TRUE(object) << TakeError();
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
  EXPECT_EQ(PyCustomSlots_Count(object.get()), 3);
}

TEST(FromSpec, SeveralBases) {
  Ref a = MakeType({Slot(Id(1), 11), Slot(Id(2), 22)});
  Ref b = MakeType({Slot(Id(2), 222), Slot(Id(3), 33)});
  Ref bases = Ref::Steal(PyTuple_Pack(2, a.get(), b.get()));
  Ref child = MakeType({Slot(Id(3), 333)}, bases.get());
  Ref object = New(child);
  ASSERT_TRUE(object) << TakeError();
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
  EXPECT_EQ(Value(object.get(), Id(2)), 22);
  EXPECT_EQ(Value(object.get(), Id(3)), 333);
  EXPECT_EQ(PyCustomSlots_Count(object.get()), 3);
}

// A quadratic algorithm would take far too long here.
TEST(FromSpec, ManySlots) {
  constexpr uintptr_t kMany = 200000;
  std::vector<PyCustomSlot> slots, others;
  for (uintptr_t i = 1; i <= kMany; ++i) {
    slots.push_back(Slot(16 * i, i));
    others.push_back(Slot(16 * (i + kMany / 2), 2 * i));
  }
  Ref base = MakeType(slots), child = MakeType(others, base.get());
  ASSERT_TRUE(child) << TakeError();
  Ref object = New(child);
  ASSERT_EQ(PyCustomSlots_Count(object.get()), static_cast<Py_ssize_t>(kMany + kMany / 2));
  for (const uintptr_t at : {uintptr_t{0}, kMany / 2 - 1, kMany / 2, kMany - 1, kMany}) {
    const PyCustomSlot &slot = PyCustomSlots_Table(object.get())[at];
    EXPECT_EQ(slot.id, 16 * (at + 1));
    EXPECT_EQ(slot.data.flags, at < kMany / 2 ? at + 1 : 2 * (at + 1 - kMany / 2));
  }
  slots.push_back(slots[7]);
  EXPECT_FALSE(MakeType(slots));
  EXPECT_NE(TakeError().find("slot 200000 has ID 0x80, which occurs twice"), std::string::npos);
}

TEST(FromSpec, MetaclassOfABase) {
  Scope scope;
  scope.Set("M", Metaclass().get());
  ASSERT_TRUE(
      scope.Run("import abc\n"
                "class Derived(M): pass\n"
                "class Mixed(abc.ABCMeta, M): pass\n"
                "class A(metaclass=Derived): pass\n"
                "class B(metaclass=abc.ABCMeta): pass\n"));
  Ref a = scope.Eval("A"), b = scope.Eval("B");
  Ref child = MakeType({Slot(Id(1), 11)}, a.get());
  ASSERT_TRUE(child) << TakeError();
  EXPECT_EQ(Py_TYPE(child.get()), scope.Eval("Derived").type());
  EXPECT_EQ(Value(New(child).get(), Id(1)), 11);
  // Neither ABCMeta nor our metaclass derives from the other.
  EXPECT_FALSE(MakeType({Slot(Id(1), 11)}, b.get()));
  EXPECT_EQ(TakeError().find("TypeError: metaclass conflict"), 0u);
}

TEST(FromSpec, InstancesNeedNotBeSubclassable) {
  static PyType_Slot no_slots[] = {{0, nullptr}};
  PyType_Spec spec = {"test.Final", 0, 0, Py_TPFLAGS_DEFAULT, no_slots};
  const PyCustomSlot slot = Slot(Id(1), 11);
  Ref type = Ref::Steal(PyExtensibleType_FromSpec(nullptr, &spec, nullptr, &slot, 1));
  ASSERT_TRUE(type) << TakeError();
  EXPECT_EQ(Value(New(type).get(), Id(1)), 11);
  EXPECT_EQ(Py_TYPE(type.get()), Metaclass().type());
}

TEST(Resolve, RefusesWhatIsNotItsBusiness) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  const PyCustomSlot slot = Slot(Id(1), 11);
  EXPECT_EQ(interface->resolve(interface->state, &PyLong_Type, &slot, 1), -1);
  EXPECT_EQ(TakeError(), "TypeError: type 'int' is not an extensible type");
  Ref type = MakeType({Slot(Id(2), 22)});
  EXPECT_EQ(interface->resolve(interface->state, type.type(), nullptr, 0), 0);
  EXPECT_EQ(interface->resolve(interface->state, type.type(), &slot, 1), -1);
  EXPECT_EQ(TakeError().find("SystemError: "), 0u);
  EXPECT_EQ(Value(New(type).get(), Id(1)), -1);
  EXPECT_EQ(Value(New(type).get(), Id(2)), 22);
}

}  // namespace
}  // namespace typedcall_test
