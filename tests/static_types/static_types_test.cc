// Tests PyExtensibleType_Ready.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/extensible_type.h"
#include "gtest/gtest.h"
#include "tests/core/extensible.h"
#include "tests/core/subinterpreter.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

using Slots = std::vector<PyCustomSlot>;
using Pairs = std::vector<std::pair<uintptr_t, uintptr_t>>;

constexpr PyCustomSlot kEmpty = {PyCustomSlot_ID_EMPTY, {nullptr}};
constexpr PyCustomSlot kSkip = {PyCustomSlot_ID_SKIP, {nullptr}};

/// A static type and its table. They are on the heap, where ASan detects accesses outside them, and
/// are never freed.
struct Static {
  explicit Static(const char *name, const Slots &slots, size_t room, PyTypeObject *base = nullptr)
      : made(new PyHeapExtensibleTypeObject()), room(static_cast<Py_ssize_t>(room)) {
    PyTypeObject *type = this->type();
    type->tp_name = name;
    type->tp_basicsize = sizeof(PyObject);
    type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    type->tp_new = PyType_GenericNew;
    type->tp_base = base;
    Py_SET_REFCNT(reinterpret_cast<PyObject *>(type), 1);
    made->etp_custom_slot_count = static_cast<Py_ssize_t>(slots.size());
    made->etp_custom_slot_table = room > 0 ? new PyCustomSlot[room]() : nullptr;
    for (size_t i = 0; i < slots.size() && i < room; ++i) made->etp_custom_slot_table[i] = slots[i];
  }
  PyTypeObject *type() const { return &made->etp_heaptype.ht_type; }
  PyObject *object() const { return reinterpret_cast<PyObject *>(type()); }
  int Ready() const { return PyExtensibleType_Ready(made, room); }

  /// Returns the raw table, including its empty positions.
  Pairs Table() const {
    Pairs pairs;
    for (Py_ssize_t i = 0; i < room; ++i) {
      const PyCustomSlot &slot = made->etp_custom_slot_table[i];
      pairs.emplace_back(slot.id, slot.data.flags);
    }
    return pairs;
  }

  PyHeapExtensibleTypeObject *made;
  Py_ssize_t room;
};

/// Returns the slots of an instance of the type.
Pairs Offered(PyObject *type) {
  Pairs pairs;
  Ref object = Ref::Steal(PyObject_CallObject(type, nullptr));
  if (!object) {
    ADD_FAILURE() << TakeError();
    return pairs;
  }
  const PyCustomSlot *table = PyCustomSlots_Table(object.get());
  for (Py_ssize_t i = 0; i < PyCustomSlots_Count(object.get()); ++i) {
    pairs.emplace_back(table[i].id, table[i].data.flags);
  }
  return pairs;
}

/// Returns a text that describes what our code has left in a type.
std::string LeftByUs(PyTypeObject *type) {
  std::string left;
  for (const char *name : {"__module__", PyExtensibleType_READY_MARK}) {
    if (PyDict_GetItemString(type->tp_dict, name) != nullptr) left += std::string(name) + " ";
  }
  if (Py_TYPE(reinterpret_cast<PyObject *>(type)) != &PyType_Type) left += "metaclass ";
  const bool has_tag = (type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0;
  return left + (has_tag && type->tp_version_tag != 0 ? "version tag" : "");
}

PyCustomSlot S(unsigned idea, uintptr_t flags) { return Slot(Id(idea), flags); }

TEST(Ready, MakesTheTypeExtensible) {
  static const Static made("test.Made", {S(1, 11), S(2, 22)}, 2);
  ASSERT_EQ(made.Ready(), 0) << TakeError();
  EXPECT_EQ(Offered(made.object()), (Pairs{{Id(1), 11}, {Id(2), 22}}));
  Ref object = Ref::Steal(PyObject_CallObject(made.object(), nullptr));
  EXPECT_EQ(PyCustomSlots_Find(object.get(), Id(2), 1), &made.made->etp_custom_slot_table[1])
      << "the module's own table, not a copy";
  Ref metaclass = Metaclass();
  EXPECT_EQ(reinterpret_cast<PyObject *>(Py_TYPE(made.object())), metaclass.get());
  EXPECT_EQ(made.type()->tp_flags & Py_TPFLAGS_HEAPTYPE, 0u);
}

TEST(Ready, TwiceIsOnce) {
  static const Static base("test.Base", {kSkip, S(1, 11)}, 2);
  static const Static child("test.Child", {S(2, 22)}, 9, base.type());
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  ASSERT_EQ(child.Ready(), 0) << TakeError();
  const Pairs once = child.Table();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(child.Ready(), 0) << TakeError();
  EXPECT_EQ(child.Table(), once);
}

TEST(Ready, WithoutSlots) {
  static const Static made("test.Empty", {}, 0);
  ASSERT_EQ(made.Ready(), 0) << TakeError();
  Ref object = Ref::Steal(PyObject_CallObject(made.object(), nullptr));
  EXPECT_EQ(PyCustomSlots_Check(object.get()), 1);
  EXPECT_EQ(PyCustomSlots_Count(object.get()), 0);
}

TEST(Ready, AfterPyTypeReady) {
  static const Static made("test.Before", {S(1, 11)}, 1);
  ASSERT_EQ(PyType_Ready(made.type()), 0);
  ASSERT_EQ(made.Ready(), 0) << TakeError();
  EXPECT_EQ(Offered(made.object()), (Pairs{{Id(1), 11}}));
}

TEST(Inheriting, PrependsTheParentsSlots) {
  static const Static base("test.Parent", {S(1, 11), S(2, 22)}, 2);
  static const Static child("test.Prepends", {S(3, 33)}, 5, base.type());
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  ASSERT_EQ(child.Ready(), 0) << TakeError();
  EXPECT_EQ(child.made->etp_custom_slot_count, 3);
  EXPECT_EQ(child.Table(), (Pairs{{Id(1), 11}, {Id(2), 22}, {Id(3), 33}, {0, 0}, {0, 0}}));
  EXPECT_EQ(Offered(child.object()), (Pairs{{Id(1), 11}, {Id(2), 22}, {Id(3), 33}}));
  EXPECT_EQ(Offered(base.object()), (Pairs{{Id(1), 11}, {Id(2), 22}}));
}

TEST(Inheriting, TheSameIdIsNotInherited) {
  static const Static base("test.Parent", {S(1, 11), S(2, 22), S(3, 33)}, 3);
  static const Static child("test.Overrides", {S(2, 222), S(4, 44)}, 4, base.type());
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  ASSERT_EQ(child.Ready(), 0) << "four slots fit exactly: " << TakeError();
  EXPECT_EQ(child.Table(), (Pairs{{Id(1), 11}, {Id(3), 33}, {Id(2), 222}, {Id(4), 44}}));
}

TEST(Inheriting, SkippedPositionsAreCopied) {
  static const Static base("test.Parent", {kSkip, S(2, 22)}, 2);
  static const Static child("test.Skips", {kSkip, S(4, 44)}, 4, base.type());
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  ASSERT_EQ(child.Ready(), 0) << TakeError();
  EXPECT_EQ(child.Table(), (Pairs{{1, 0}, {Id(2), 22}, {1, 0}, {Id(4), 44}}));
}

TEST(Inheriting, WithoutSlotsOfItsOwn) {
  static const Static base("test.Parent", {S(1, 11)}, 1);
  static const Static child("test.Inherits", {}, 1, base.type());
  static const Static grandchild("test.InheritsAgain", {S(2, 22)}, 2, child.type());
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  ASSERT_EQ(child.Ready(), 0) << TakeError();
  ASSERT_EQ(grandchild.Ready(), 0) << TakeError();
  EXPECT_EQ(grandchild.Table(), (Pairs{{Id(1), 11}, {Id(2), 22}}));
}

TEST(Inheriting, SeveralBasesInMroOrder) {
  static const Static left("test.Left", {S(1, 11), S(2, 22)}, 2);
  static const Static right("test.Right", {S(2, 222), S(3, 333)}, 2);
  static const Static child("test.Both", {S(4, 44)}, 4, left.type());
  ASSERT_EQ(left.Ready(), 0) << TakeError();
  ASSERT_EQ(right.Ready(), 0) << TakeError();
  child.type()->tp_bases = PyTuple_Pack(2, left.object(), right.object());
  ASSERT_EQ(child.Ready(), 0) << TakeError();
  EXPECT_EQ(child.Table(), (Pairs{{Id(1), 11}, {Id(2), 22}, {Id(3), 333}, {Id(4), 44}}));
}

// A quadratic algorithm would take far too long here.
TEST(Inheriting, ManySlots) {
  constexpr size_t kMany = 200000;
  Slots of_base, own;
  for (size_t i = 1; i <= kMany; ++i) {
    of_base.push_back(Slot(16 * i, i));
    own.push_back(Slot(16 * (i + kMany / 2), 2 * i));
  }
  static const Static base("test.Many", of_base, kMany);
  static const Static child("test.ManyMore", own, 2 * kMany, base.type());
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  ASSERT_EQ(child.Ready(), 0) << TakeError();
  EXPECT_EQ(child.made->etp_custom_slot_count, static_cast<Py_ssize_t>(kMany + kMany / 2));
  EXPECT_EQ(child.Table()[kMany / 2 - 1], std::make_pair(16 * kMany / 2, kMany / 2));
  EXPECT_EQ(child.Table()[kMany / 2], std::make_pair(16 * (1 + kMany / 2), size_t{2}));
}

TEST(Inheriting, NoRoom) {
  static const Static base("test.Parent", {S(1, 11), S(2, 22)}, 2);
  static const Static child("test.Full", {S(3, 33)}, 2, base.type());
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  EXPECT_EQ(child.Ready(), -1);
  EXPECT_EQ(TakeError(),
            "ValueError: static type 'test.Full': 1 slots of its own and 2 inherited ones do not "
            "fit into a table for 2");
  EXPECT_EQ(child.Table(), (Pairs{{Id(3), 33}, {0, 0}})) << "nothing has changed";
  EXPECT_EQ(child.made->etp_custom_slot_count, 1);
  EXPECT_EQ(LeftByUs(child.type()), "") << "a plain type";
  EXPECT_EQ(Offered(child.object()), Pairs{});
  // The author can try again with a larger table.
  child.made->etp_custom_slot_table = new PyCustomSlot[3]{S(3, 33), kEmpty, kEmpty};
  ASSERT_EQ(PyExtensibleType_Ready(child.made, 3), 0) << TakeError();
  EXPECT_EQ(Offered(child.object()), (Pairs{{Id(1), 11}, {Id(2), 22}, {Id(3), 33}}));
}

TEST(Inheriting, FromAPlainStaticType) {
  static const Static made("test.OfList", {S(1, 11)}, 1, &PyList_Type);
  made.type()->tp_basicsize = 0;
  made.type()->tp_new = nullptr;
  ASSERT_EQ(made.Ready(), 0) << TakeError();
  EXPECT_EQ(Offered(made.object()), (Pairs{{Id(1), 11}}));
}

TEST(Inheriting, BasesComeFirst) {
  static const Static base("test.LateBase", {S(1, 11)}, 1);
  static const Static child("test.EarlyChild", {S(2, 22)}, 2, base.type());
  ASSERT_EQ(child.Ready(), 0) << TakeError();
  EXPECT_EQ(base.Ready(), -1);
  EXPECT_EQ(TakeError(),
            "TypeError: static type 'test.LateBase' must be made ready before the types that "
            "derive from it");
}

/// Returns an ordinary static type derived from an extensible one. ASan detects reads beyond the
/// type.
PyTypeObject *OrdinarySubtype(const char *name, PyTypeObject *base) {
  auto *type = new PyTypeObject();
  type->tp_name = name;
  type->tp_basicsize = sizeof(PyObject);
  type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  type->tp_base = base;
  Py_SET_REFCNT(reinterpret_cast<PyObject *>(type), 1);
  return PyType_Ready(type) == 0 ? type : nullptr;
}

TEST(OrdinaryStaticSubtypes, OfferNothingAndAreNotReadBehind) {
  static const Static base("test.Extensible", {S(1, 11)}, 1);
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  PyTypeObject *type = OrdinarySubtype("test.Ordinary", base.type());
  ASSERT_NE(type, nullptr) << TakeError();
  auto *object = reinterpret_cast<PyObject *>(type);
  EXPECT_EQ(Offered(object), Pairs{});
  Scope scope;
  scope.Set("Ordinary", object);
  scope.Set("find", FindFunction().get());
  ASSERT_TRUE(
      scope.Run("assert find(Ordinary(), 1) == -1\n"
                "class Python(Ordinary): __customslots__ = {0x01000201: 22}\n"
                "late = type.__new__(type(Ordinary), 'Late', (Ordinary,), {})\n"
                "found = [find(Python(), 1), find(Python(), 2), find(late(), 1)]\n"));
  EXPECT_EQ(Offered(scope.Eval("Python").get()), (Pairs{{Id(1), 11}, {Id(2), 22}}))
      << "from the extensible type behind it in the MRO";
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  EXPECT_EQ(interface->resolve(interface->state, type, nullptr, 0), -1);
  EXPECT_EQ(TakeError(),
            "TypeError: PyExtensibleType_Ready did not make the static type 'test.Ordinary' ready");
}

TEST(Ready, KeepsTheBufferFunctions) {
  static PyBufferProcs procs = {[](PyObject *, Py_buffer *, int) { return -1; }, nullptr};
  static const Static made("test.Buffer", {S(1, 11)}, 1);
  made.type()->tp_as_buffer = &procs;
  ASSERT_EQ(made.Ready(), 0) << TakeError();
  EXPECT_EQ(made.type()->tp_as_buffer->bf_getbuffer, procs.bf_getbuffer);
  EXPECT_EQ(Offered(made.object()), (Pairs{{Id(1), 11}}));
}

// Modules without our header call the interface's function, which must leave the type readable.
TEST(Ready, ThroughTheInterface) {
  static PyBufferProcs foreign = {[](PyObject *, Py_buffer *, int) {
                                    PyErr_SetString(PyExc_BufferError, "the type's own");
                                    return -1;
                                  },
                                  nullptr};
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  for (PyBufferProcs *buffer : {static_cast<PyBufferProcs *>(nullptr), &foreign}) {
    Static made("test.Direct", {Slot(Id(1), 11)}, 1);
    made.type()->tp_as_buffer = buffer;
    ASSERT_EQ(interface->ready_static(interface->state, made.type(), 1), 0) << TakeError();
    EXPECT_EQ(Offered(made.object()), (Pairs{{Id(1), 11}}));
    if (buffer == nullptr) continue;
    Ref object = Ref::Steal(PyObject_CallObject(made.object(), nullptr));
    EXPECT_FALSE(Ref::Steal(PyMemoryView_FromObject(object.get())));
    EXPECT_NE(TakeError().find("the type's own"), std::string::npos);
  }
}

TEST(PythonSubclasses, Inherit) {
  static const Static base("test.Parent", {S(1, 11), S(2, 22)}, 2);
  static const Static child("test.ForPython", {S(1, 111)}, 3, base.type());
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  ASSERT_EQ(child.Ready(), 0) << TakeError();
  Scope scope;
  scope.Set("Base", base.object());
  scope.Set("Child", child.object());
  ASSERT_TRUE(
      scope.Run("import typing\n"
                "class Plain: pass\n"
                "class One(Child): pass\n"
                "class Mixed(Plain, Child, typing.Generic[typing.TypeVar('T')]): pass\n"
                "class Body(Child): __customslots__ = {0x01000201: 222, 0x01000301: 333}\n"));
  const Pairs inherited = {{Id(2), 22}, {Id(1), 111}};
  EXPECT_EQ(Offered(scope.Eval("One").get()), inherited);
  EXPECT_EQ(Offered(scope.Eval("Mixed").get()), inherited);
  EXPECT_EQ(Offered(scope.Eval("Body").get()), (Pairs{{Id(2), 222}, {Id(1), 111}, {Id(3), 333}}));
}

TEST(Refused, Tables) {
  const struct {
    Slots slots;
    size_t room;
    Py_ssize_t count;
    const char *fault;
  } cases[] = {
      {{S(1, 1)}, 1, -1, "the slot table is missing or has less room than slots"},
      {{S(1, 1)}, 1, 2, "the slot table is missing or has less room than slots"},
      {{}, 0, 1, "the slot table is missing or has less room than slots"},
      {{S(1, 1), S(2, 2)}, 3, 1, "there are more slots in the table than etp_custom_slot_count"},
  };
  for (const auto &one : cases) {
    const Static made("test.Refused", one.slots, one.room);
    made.made->etp_custom_slot_count = one.count;
    EXPECT_EQ(made.Ready(), -1);
    EXPECT_EQ(TakeError(), std::string("ValueError: static type 'test.Refused': ") + one.fault);
    EXPECT_EQ(Py_TYPE(made.object()), nullptr) << "nothing has been done to it";
  }
}

TEST(Refused, WithoutATable) {
  const Static made("test.NoTable", {}, 0);
  EXPECT_EQ(PyExtensibleType_Ready(made.made, 2), -1);
  EXPECT_EQ(TakeError(),
            "ValueError: static type 'test.NoTable': the slot table is missing or has less room "
            "than slots");
}

TEST(Refused, Ids) {
  const Static twice("test.Twice", {S(1, 1), S(1, 1)}, 2);
  EXPECT_EQ(twice.Ready(), -1);
  EXPECT_EQ(TakeError(),
            "ValueError: type 'test.Twice': custom slot 1 has ID 0x1000101, which occurs twice");
  const Static empty("test.Hole", {kEmpty, S(1, 1)}, 2);
  EXPECT_EQ(empty.Ready(), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'test.Hole': custom slot 0 has the invalid ID 0x0");
}

TEST(Refused, HeapTypes) {
  Ref type = MakeType({Slot(Id(1), 1)});
  EXPECT_EQ(PyExtensibleType_Ready(reinterpret_cast<PyHeapExtensibleTypeObject *>(type.get()), 1),
            -1);
  EXPECT_EQ(
      TakeError(),
      "TypeError: type 'test.Extensible' is not a static type: use PyExtensibleType_FromSpec");
}

/// Returns an unrelated metaclass.
PyTypeObject *OtherMetaclass() {
  static PyTypeObject other = [] {
    PyTypeObject type = {};
    type.tp_name = "test.OtherMetaclass";
    type.tp_base = &PyType_Type;
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    Py_SET_REFCNT(reinterpret_cast<PyObject *>(&type), 1);
    return type;
  }();
  return PyType_Ready(&other) == 0 ? &other : nullptr;
}

TEST(Refused, AnotherMetaclass) {
  static const Static made("test.HasAnother", {S(1, 1)}, 1);
  Py_SET_TYPE(made.object(), OtherMetaclass());
  EXPECT_EQ(made.Ready(), -1);
  EXPECT_EQ(TakeError(), "TypeError: static type 'test.HasAnother' already has another metaclass");
  EXPECT_EQ(Py_TYPE(made.object()), OtherMetaclass());
}

TEST(Refused, ABaseWithAnotherMetaclass) {
  static const Static base("test.OtherBase", {}, 0);
  Py_SET_TYPE(base.object(), OtherMetaclass());
  ASSERT_EQ(PyType_Ready(base.type()), 0);
  static const Static made("test.OnOtherBase", {S(1, 1)}, 1, base.type());
  EXPECT_EQ(made.Ready(), -1);
  EXPECT_EQ(TakeError(),
            "TypeError: static type 'test.OnOtherBase': a base has a metaclass that cannot be "
            "combined with ours");
  EXPECT_EQ(Offered(made.object()), Pairs{});
}

TEST(Refused, AHeapTypeAsBase) {
  Ref base = MakeType({Slot(Id(1), 1)});
  static const Static made("test.OnHeapType", {S(2, 2)}, 2, base.type());
  EXPECT_EQ(made.Ready(), -1) << "CPython refuses it";
  EXPECT_EQ(TakeError().find("TypeError: "), 0u);
  // The type still refers to its base after PyType_Ready has failed.
  base.release();
}

TEST(Refused, ATypeThatHadAMetaclass) {
  static const Static base("test.OtherBaseOfType", {}, 0);
  Py_SET_TYPE(base.object(), OtherMetaclass());
  ASSERT_EQ(PyType_Ready(base.type()), 0);
  static const Static made("test.HadType", {S(1, 1)}, 1, base.type());
  Py_SET_TYPE(made.object(), &PyType_Type);
  EXPECT_EQ(made.Ready(), -1);
  EXPECT_NE(TakeError().find("a base has a metaclass that cannot be combined"), std::string::npos);
  EXPECT_EQ(Py_TYPE(made.object()), &PyType_Type) << "it has its metaclass again";
}

TEST(OrdinaryStaticSubtypes, GetTheMetaclassUnlessTheyHaveAnother) {
  static const Static base("test.ReadyLate", {S(1, 11)}, 1);
  static const Static plain("test.PlainSubtype", {}, 0, base.type());
  static const Static other("test.OtherSubtype", {}, 0, base.type());
  Py_SET_TYPE(other.object(), OtherMetaclass());
  for (const Static *each : {&base, &plain, &other}) ASSERT_EQ(PyType_Ready(each->type()), 0);
  Scope scope;
  scope.Set("ReadyLate", base.object());
  Ref in_python = scope.Eval("type('InPython', (ReadyLate,), {})");
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  EXPECT_EQ(Py_TYPE(in_python.get()), &PyType_Type);
  EXPECT_EQ(Py_TYPE(plain.object()), Py_TYPE(base.object()));
  EXPECT_EQ(Py_TYPE(other.object()), OtherMetaclass());
}

TEST(Inheriting, ItemsOfItsOwn) {
  static const Static base("test.WithoutItems", {S(1, 11)}, 1);
  static const Static made("test.WithItems", {S(2, 22)}, 2, base.type());
  made.type()->tp_basicsize = 0;
  made.type()->tp_itemsize = 8;
  ASSERT_EQ(base.Ready(), 0) << TakeError();
  ASSERT_EQ(made.Ready(), 0) << TakeError();
  EXPECT_EQ(made.type()->tp_basicsize, base.type()->tp_basicsize);
  EXPECT_EQ(made.type()->tp_itemsize, 8);
}

TEST(Refused, OtherInterpreters) {
  static const Static made("test.OfMain", {S(1, 11)}, 1);
  Subinterpreter other;
  ASSERT_TRUE(other.Entered());
  EXPECT_EQ(made.Ready(), -1);
  EXPECT_EQ(TakeError().find("ImportError: static type 'test.OfMain' can be made ready in the "
                             "main interpreter only"),
            0u);
  other.Leave();
  ASSERT_EQ(made.Ready(), 0) << TakeError();
  EXPECT_EQ(Offered(made.object()), (Pairs{{Id(1), 11}}));
}

// This test must run last, because it ends the interpreter.
TEST(Zz, TheInterpretersEnd) {
  static const Static base("test.Lasting", {kSkip, S(1, 11), S(2, 22)}, 3);
  static const Static child("test.LastingChild", {S(2, 222), S(3, 33)}, 4, base.type());
  static PyTypeObject *ordinary = nullptr;
  const Pairs own = {{Id(2), 222}, {Id(3), 33}, {0, 0}, {0, 0}};
  const Pairs all = {{1, 0}, {Id(1), 11}, {Id(2), 222}, {Id(3), 33}};
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(child.Table(), own) << "as its author wrote it";
    ASSERT_EQ(base.Ready(), 0) << TakeError();
    ASSERT_EQ(child.Ready(), 0) << TakeError();
    EXPECT_EQ(child.Table(), all);
    if (ordinary == nullptr) ordinary = OrdinarySubtype("test.LastingOrdinary", base.type());
    ASSERT_NE(ordinary, nullptr) << TakeError();
    {
      Scope scope;
      scope.Set("Child", child.object());
      ASSERT_TRUE(
          scope.Run("import sys\n"
                    "class Heir(Child): __customslots__ = {0x01000301: 333}\n"
                    "sys.kept_to_the_end = [Heir, Heir(), Child()]"));
      EXPECT_EQ(Offered(child.object()), all);
      EXPECT_EQ(Offered(scope.Eval("Heir").get()),
                (Pairs{{1, 0}, {Id(1), 11}, {Id(2), 222}, {Id(3), 333}}));
      scope.Set("Ordinary", reinterpret_cast<PyObject *>(ordinary));
      ASSERT_TRUE(
          scope.Run("class Both(Ordinary, Child): pass\n"
                    "class Below(Ordinary): pass\n"
                    "assert Child.__module__ == 'test', Child.__module__\n"
                    "assert type(Child) is type(Ordinary) is type(Below)\n"));
      EXPECT_EQ(Offered(scope.Eval("Below").get()), (Pairs{{1, 0}, {Id(1), 11}, {Id(2), 22}}))
          << "in turn " << turn;
    }
    ASSERT_EQ(StopPython(), 0);
    EXPECT_EQ(child.made->etp_magic, 0u);
    StartPython();
    // From 3.13 on, our names must be gone, because CPython may have freed them.
    for (PyTypeObject *type : {base.type(), child.type(), ordinary}) {
      if (PY_VERSION_HEX >= 0x030D0000) {
        EXPECT_EQ(LeftByUs(type), "") << type->tp_name;
      }
    }
    EXPECT_EQ(Offered(reinterpret_cast<PyObject *>(ordinary)), Pairs{});
    EXPECT_EQ(Offered(child.object()), Pairs{}) << "a plain type until it is made ready again";
  }
}

}  // namespace
}  // namespace typedcall_test
