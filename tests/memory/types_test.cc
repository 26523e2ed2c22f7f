// Tests slots of types when memory runs out.
#include <deque>

#include "core/foreign_slots.h"
#include "core/type_data.h"
#include "tests/core/extensible.h"
#include "tests/memory/without_memory.h"

// When memory runs out, dict.setdefault of free-threaded CPython reports success without adding the
// item.
#ifndef Py_GIL_DISABLED

namespace typedcall_test {
namespace {

class Types : public WithoutMemory {
 protected:
  static void SweepMaking(Swept swept) {
    swept.cpython_leaks = true;
    Sweep(swept);
  }
};

TEST_F(Types, SlotNames) {
  Sweep({"a new name", [&] { return PyCustomSlot_IDByName(interface_, "memory.name") != 0; }, [] {},
         [&](bool succeeded) {
           EXPECT_EQ(PyDict_Size(State()->slot_names), succeeded);
           PyDict_Clear(State()->slot_names);
         }});
}

TEST_F(Types, FromSpec) {
  const std::vector<PyCustomSlot> slots = {Slot(Id(1), 11), Slot(Id(2), 22)};
  Ref made;
  const auto check = [&](bool succeeded) {
    EXPECT_TRUE(!succeeded || Value(New(made).get(), Id(2)) == 22);
    made.reset();
  };
  const std::vector<PyCustomSlot> fourth = {Slot(Id(4), 44)};
  SweepMaking(
      {"FromSpec", [&] { return static_cast<bool>(made = MakeType(slots)); }, [] {}, check});
  Ref one = MakeType({Slot(Id(2), 22)}), two = MakeType({Slot(Id(3), 33)});
  Ref bases = Ref::Steal(PyTuple_Pack(2, one.get(), two.get()));
  SweepMaking({"with bases",
               [&] { return static_cast<bool>(made = MakeType(fourth, bases.get())); }, [] {},
               check});
}

TEST_F(Types, ClassBodies) {
  Ref base = MakeType({Slot(Id(2), 22)}), other = MakeType({Slot(Id(3), 33)});
  scope_.Set("Base", base.get());
  scope_.Set("Other", other.get());
  scope_.Set("capsule", Ref::Steal(PyCapsule_New(&scope_, nullptr, nullptr)).get());
  Ref metaclass = Metaclass(), made;
  for (const char *arguments :
       {"('C', (Base,), {})", "('C', (Base, Other), {})",
        "('C', (Base,), {'__customslots__': {0xff000003: capsule, capsule: 5}})",
        "('C', (Base, Other), {'__customslots__': [(0xff000003, capsule), (capsule, 5)]})"}) {
    Ref args = scope_.Eval(arguments);
    SweepMaking({arguments,
                 [&] {
                   return static_cast<bool>(
                       made = Ref::Steal(PyObject_Call(metaclass.get(), args.get(), nullptr)));
                 },
                 [] {},
                 [&](bool succeeded) {
                   EXPECT_TRUE(!succeeded || Value(New(made).get(), Id(2)) == 22);
                   made.reset();
                 }});
  }
}

// The first look-up resolves the type.
TEST_F(Types, TheFirstLook) {
  scope_.Set("Base", MakeType({Slot(Id(2), 22)}).get());
  scope_.Set("Other", MakeType({Slot(Id(3), 33)}).get());
  scope_.Set("capsule", Ref::Steal(PyCapsule_New(&scope_, nullptr, nullptr)).get());
  Ref object;
  Swept look = {"the first look", [&] { return Value(object.get(), Id(2)) == 22; },
                [&] {
                  scope_.Run(
                      "late = type.__new__(type(Base), 'C', (Base, Other),\n"
                      "                    {'__customslots__': {capsule: 5}})\n"
                      "late = type.__new__(type(Base), 'D', (late,), {})");
                  object = scope_.Eval("late()");
                },
                [&](bool) {
                  EXPECT_EQ(Value(object.get(), Id(2)), 22);
                  EXPECT_EQ(Value(object.get(), Id(3)), 33);
                  object.reset();
                  scope_.Run("late = None");
                }};
  look.is_silent = true;
  Sweep(look);
}

TEST_F(Types, CombinedMetaclasses) {
  scope_.Run("class A(type): pass\nclass B(type): pass");
  Ref metaclasses = scope_.Eval("(A, B)");
  Ref made;
  SweepMaking({"combined",
               [&] {
                 made = Ref::Steal(reinterpret_cast<PyObject *>(
                     PyExtensibleType_CombinedMetaclass(metaclasses.get())));
                 return static_cast<bool>(made);
               },
               [] {},
               [&](bool) {
                 made.reset();
                 PyDict_Clear(State()->combined);
               }});
}

// The cache already contains metaclasses, alive or dead. They are read and combined further.
TEST_F(Types, CombinedOfCombined) {
  scope_.Run(
      "class A(type): pass\nclass B(type): pass\nclass C(type): pass\n"
      "import sys, weakref\ncombined = sys.modules['_extensibletype'].combined_metaclass");
  const Ref key = scope_.Eval("frozenset({1})"), dead = scope_.Eval("weakref.ref(Owner())");
  Ref wanted, made;
  SweepMaking({"combined",
               [&] {
                 made = Ref::Steal(reinterpret_cast<PyObject *>(
                     PyExtensibleType_CombinedMetaclass(wanted.get())));
                 return static_cast<bool>(made);
               },
               [&] {
                 wanted = scope_.Eval("(combined(A, B), C)");
                 EXPECT_EQ(PyDict_SetItem(State()->combined, key.get(), dead.get()), 0);
               },
               [&](bool) {
                 made.reset();
                 wanted.reset();
                 PyDict_Clear(State()->combined);
               }});
}

TEST_F(Types, ClassesOfACombinedMetaclass) {
  scope_.Set("Base", MakeType({Slot(Id(2), 22)}).get());
  scope_.Run(
      "import sys\nclass A(type): pass\n"
      "Meta = sys.modules['_extensibletype'].combined_metaclass(A)");
  Ref metaclass = scope_.Eval("Meta"), made;
  for (const char *arguments :
       {"('C', (Base,), {})", "('C', (Base,), {'__customslots__': [(0xff000003, 5)]})"}) {
    Ref args = scope_.Eval(arguments);
    SweepMaking({arguments,
                 [&] {
                   return static_cast<bool>(
                       made = Ref::Steal(PyObject_Call(metaclass.get(), args.get(), nullptr)));
                 },
                 [] {},
                 [&](bool succeeded) {
                   EXPECT_TRUE(!succeeded || Value(New(made).get(), Id(2)) == 22);
                   made.reset();
                 }});
  }
}

PyObject *NewOfC(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  return PyType_Type.tp_new(type, args, kwargs);
}

// A metaclass with a tp_new in C is refused, unless memory runs out before that.
TEST_F(Types, CombinedWithAMetaclassInC) {
  PyType_Slot type_slots[] = {{Py_tp_new, reinterpret_cast<void *>(NewOfC)}, {0, nullptr}};
  PyType_Spec spec = {"test.InC", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, type_slots};
  Ref bases = Ref::Steal(PyTuple_Pack(1, &PyType_Type));
  Ref in_c = Ref::Steal(PyType_FromSpecWithBases(&spec, bases.get()));
  ASSERT_TRUE(in_c) << TakeError();
  Ref metaclasses = Ref::Steal(PyTuple_Pack(1, in_c.get()));
  SweepMaking({"combined with a tp_new in C", [&] {
                 EXPECT_EQ(PyExtensibleType_CombinedMetaclass(metaclasses.get()), nullptr);
                 return IsRefusal();
               }});
}

// In debug builds, an assertion in PyType_Ready fails after an allocation has failed.
#ifndef Py_DEBUG
TEST_F(Types, Static) {
  static std::deque<PyHeapExtensibleTypeObject> types;
  static std::deque<std::vector<PyCustomSlot>> tables;
  bool was_refused = true;
  for (std::size_t first = 0; was_refused && first < 500; ++first) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, std::to_string(first));
    tables.push_back({Slot(Id(7), 77), Slot(0, 0)});
    PyHeapExtensibleTypeObject &made = types.emplace_back();
    PyTypeObject &type = made.etp_heaptype.ht_type;
    Py_SET_REFCNT(&type, 1);
    type.tp_name = "test.Static";
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    type.tp_new = PyType_GenericNew;
    made.etp_custom_slot_count = 1;
    made.etp_custom_slot_table = tables.back().data();
    Memory memory;
    memory.EmptyFreeLists();
    memory.Refuse(first, first % 2 == 0 ? 1 : 1000000);
    const int ready = PyExtensibleType_Ready(&made, 2);
    was_refused = memory.Stop();
    const std::string error = TakeError();
    EXPECT_EQ(error.substr(0, 11), ready < 0 ? "MemoryError" : "") << error;
    if (ready == 0) {
      EXPECT_EQ(
          Value(Ref::Steal(PyObject_CallObject(reinterpret_cast<PyObject *>(&type), nullptr)).get(),
                Id(7)),
          77);
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_FALSE(was_refused);
}
#endif

TEST_F(Types, ForeignSlots) {
  Ref foreign, derived;
  const PyCustomSlot slots[] = {Slot(Id(5), 55), Slot(Id(6), 66)};
  const auto make = [&] {
    scope_.Run("class Foreign: pass\nclass Derived(Foreign): pass");
    foreign = scope_.Eval("Foreign");
    derived = scope_.Eval("Derived()");
  };
  const auto found = [&](std::uintptr_t id) {
    const PyCustomSlot *slot = PyCustomSlots_FindAny(interface_, derived.get(), id, 0);
    return slot != nullptr ? static_cast<int>(slot->data.flags) : -1;
  };
  const auto drop = [&](bool) {
    foreign.reset();
    derived.reset();
    scope_.Run("del Foreign, Derived");
  };
  const auto settle = [&] {
    for (auto &table : State()->tables) PyTC_TableFree(&table);
  };
  const auto sweep = [&](Swept swept) {
    swept.settle = settle;
    Sweep(swept);
  };
  const auto add = [&] {
    return PyForeignSlots_Register(interface_, foreign.type(), slots, 1) == 0;
  };
  sweep({"register", add, make, [&](bool succeeded) {
           EXPECT_TRUE(!succeeded || found(Id(5)) == 55);
           EXPECT_TRUE(add()) << TakeError();
           EXPECT_EQ(found(Id(5)), 55);
           drop(true);
         }});
  sweep({"register one more",
         [&] { return PyForeignSlots_Register(interface_, foreign.type(), slots, 2) == 0; },
         [&] {
           make();
           add();
           EXPECT_EQ(found(Id(5)), 55);
         },
         [&](bool succeeded) {
           EXPECT_EQ(found(Id(5)), 55);
           EXPECT_EQ(PyForeignSlots_Register(interface_, foreign.type(), slots, 2), 0);
           EXPECT_EQ(found(Id(6)), 66) << succeeded;
           drop(true);
         }});
  sweep({"unregister",
         [&] { return PyForeignSlots_Unregister(interface_, foreign.type(), Id(5)) == 1; },
         [&] {
           make();
           add();
           EXPECT_EQ(found(Id(5)), 55);
         },
         [&](bool succeeded) {
           EXPECT_TRUE(!succeeded || found(Id(5)) == -1);
           EXPECT_GE(PyForeignSlots_Unregister(interface_, foreign.type(), Id(5)), 0);
           drop(true);
         }});
  Swept look = {"the first look", [&] { return found(Id(5)) == 55; },
                [&] {
                  make();
                  add();
                },
                [&](bool) {
                  EXPECT_EQ(found(Id(5)), 55);
                  drop(true);
                }};
  look.is_silent = true;
  sweep(look);
  // So many classes make the list of classes and the set of their addresses grow.
  SweepMaking({"register for a base of many", add,
               [&] {
                 make();
                 scope_.Run("many = [type('Many', (Foreign,), {})() for i in range(6)]");
                 Ref many = scope_.Eval("many");
                 for (Py_ssize_t i = 0; i < PyList_GET_SIZE(many.get()); ++i) {
                   PyObject *each = PyList_GET_ITEM(many.get(), i);
                   EXPECT_EQ(PyCustomSlots_FindAny(interface_, each, Id(5), 0), nullptr);
                 }
               },
               [&](bool succeeded) {
                 EXPECT_TRUE(add()) << TakeError();
                 Ref last = scope_.Eval("many[-1]");
                 EXPECT_NE(PyCustomSlots_FindAny(interface_, last.get(), Id(5), 0), nullptr)
                     << succeeded;
                 last.reset();
                 scope_.Run("del many");
                 drop(true);
               }});
}

TEST_F(Types, SpecialMembers) {
#if PY_VERSION_HEX >= 0x030C0000
  constexpr int type = Py_T_PYSSIZET, read_only = Py_READONLY;
#else
  constexpr int type = T_PYSSIZET, read_only = READONLY;
#endif
  constexpr Py_ssize_t at = sizeof(PyObject);
  static PyMemberDef members[] = {{"__dictoffset__", type, at, read_only, nullptr},
                                  {"__weaklistoffset__", type, at + 8, read_only, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot type_slots[] = {{Py_tp_members, members}, {0, nullptr}};
  PyType_Spec spec = {"test.Special", at + 16, 0, Py_TPFLAGS_DEFAULT, type_slots};
  Ref made;
  SweepMaking({"special members",
               [&] {
                 made = Ref::Steal(
                     PyExtensibleType_FromMetaclass(&PyType_Type, nullptr, &spec, nullptr));
                 return static_cast<bool>(made);
               },
               [] {},
               [&](bool succeeded) {
                 EXPECT_TRUE(!succeeded || made.type()->tp_dictoffset == at);
                 made.reset();
               }});
}

TEST_F(Types, TypeData) {
#if PY_VERSION_HEX >= 0x030C0000
  constexpr int type = Py_T_INT;
#else
  constexpr int type = T_INT;
#endif
  static PyMemberDef members[] = {{"x", type, 0, Py_RELATIVE_OFFSET, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot type_slots[] = {{Py_tp_members, members}, {0, nullptr}};
  PyType_Spec spec = {"test.Data", -int{sizeof(int)}, 0, Py_TPFLAGS_DEFAULT, type_slots};
  Ref made;
  SweepMaking({"type data",
               [&] {
                 made = Ref::Steal(PyTypeData_FromSpec(&PyType_Type, nullptr, &spec,
                                                       reinterpret_cast<PyObject *>(&PyDict_Type)));
                 return static_cast<bool>(made);
               },
               [] {}, [&](bool) { made.reset(); }});
}

}  // namespace
}  // namespace typedcall_test

#endif
