// Tests slots of types that cannot have our metaclass.
#include "tests/foreign_slots/foreign.h"
// foreign.h comes first because it includes Python.h.
#include <thread>

#include "tests/core/subinterpreter.h"
#include "tests/support/memory.h"

namespace typedcall_test {
namespace {

TEST_F(Foreign, BuiltinTypes) {
  Ref type = scope_.Eval("float");
  ASSERT_EQ(Register(type, {S(1, 11), S(2, 22)}), 0) << TakeError();
  EXPECT_EQ(Any("1.5", 1), 11);
  EXPECT_EQ(Any("1.5", 2, 1), 22);
  EXPECT_EQ(Any("5", 1), -1);
  EXPECT_EQ(Any("float", 1), -1) << "an instance has the slots, not the type";
  Ref number = scope_.Eval("1.5");
  EXPECT_EQ(Value(number.get(), Id(1)), -1) << "the first function knows nothing of it";
  EXPECT_EQ(PyCustomSlots_Check(number.get()), 0);
  EXPECT_EQ(Unregister(type, 1), 1);
  EXPECT_EQ(Unregister(type, 2), 1);
  EXPECT_EQ(Any("1.5", 1), -1);
}

TEST_F(Foreign, AnyPositionIsSafe) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11), S(2, 22)}), 0) << TakeError();
  for (const Py_ssize_t position : {Py_ssize_t{-1}, Py_ssize_t{0}, Py_ssize_t{1}, Py_ssize_t{2},
                                    PY_SSIZE_T_MAX, PY_SSIZE_T_MIN}) {
    EXPECT_EQ(Any("X()", 1, position), 11);
    EXPECT_EQ(Any("X()", 2, position), 22);
    EXPECT_EQ(Any("X()", 3, position), -1);
  }
  Ref object = scope_.Eval("X()");
  for (const uintptr_t id : {PyCustomSlot_ID_EMPTY, PyCustomSlot_ID_SKIP}) {
    EXPECT_EQ(PyCustomSlots_FindAny(interface_, object.get(), id, 0), nullptr);
  }
}

TEST_F(Foreign, SubclassesInherit) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  scope_.Run(
      "import typing, abc\n"
      "class One(X): pass\n"
      "class Two(One): __slots__ = ()\n"
      "class Three(Plain, Two, typing.Generic[typing.TypeVar('T')]): pass\n"
      "class Four(X, abc.ABC): pass\n");
  for (const char *object : {"One()", "Two()", "Three()", "Four()"}) {
    EXPECT_EQ(Any(object, 1), 11) << object;
  }
}

// Free-threaded builds count some references to a class outside the class object.
TEST_F(Foreign, AClassThatOnlyItsInstanceKeeps) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  for (const char *object : {"type('Y', (X,), {})()", "type('Z', (X,), {'__slots__': ()})()"}) {
    EXPECT_EQ(Any(object, 1), 11) << object;
  }
}

TEST_F(Foreign, TheFirstInTheMroWins) {
  Ref left = Class("class L: pass", "L"), right = Class("class R: pass", "R");
  ASSERT_EQ(Register(left, {S(1, 11), S(2, 22)}), 0) << TakeError();
  ASSERT_EQ(Register(right, {S(2, 222), S(3, 333)}), 0) << TakeError();
  scope_.Run("class Both(L, R): pass\nclass Other(R, L): pass");
  EXPECT_EQ(Any("Both()", 2), 22);
  EXPECT_EQ(Any("Other()", 2), 222);
  EXPECT_EQ(Any("Both()", 3), 333);
  EXPECT_EQ(Any("Other()", 1), 11);
}

// A quadratic algorithm would take far too long here.
TEST_F(Foreign, ManySlots) {
  constexpr uintptr_t kMany = 200000;
  Slots slots, others;
  for (uintptr_t i = 1; i <= kMany; ++i) {
    slots.push_back(Slot(16 * i, i));
    others.push_back(Slot(16 * (i + kMany / 2), i + kMany / 2));
  }
  Ref base = Class("class Base: pass", "Base"), type = Class("class X(Base): pass");
  ASSERT_EQ(Register(base, slots), 0) << TakeError();
  ASSERT_EQ(Register(type, others), 0) << TakeError();
  ASSERT_EQ(Register(type, slots), 0) << TakeError();
  Ref object = scope_.Eval("X()");
  const PyCustomSlot *first = PyForeignSlots_Find(interface_, object.get(), others[0].id, 0);
  ASSERT_NE(first, nullptr);
  for (const uintptr_t at : {uintptr_t{0}, kMany - 1, kMany, kMany + kMany / 2 - 1}) {
    EXPECT_EQ(first[at].id, 16 * (at < kMany ? at + 1 + kMany / 2 : at + 1 - kMany)) << at;
  }
}

TEST_F(Foreign, OwnSlotsComeFirst) {
  Ref base = MakeType({S(1, 1)});
  Ref type = Class("class X: pass");
  scope_.Set("Base", base.get());
  ASSERT_EQ(Register(type, {S(1, 11), S(2, 22)}), 0) << TakeError();
  scope_.Run("class Both(X, Base): pass");
  EXPECT_EQ(Any("Both()", 1), 1);
  EXPECT_EQ(Any("Both()", 2), 22);
  EXPECT_EQ(Any("Base()", 2), -1);
}

TEST_F(Foreign, SeveralModulesAddToOneType) {
  Ref type = Class("class X: pass");
  scope_.Run("class Sub(X): pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  EXPECT_EQ(Any("Sub()", 2), -1);
  ASSERT_EQ(Register(type, {S(2, 22), S(1, 11)}), 0)
      << "the same again is the same: " << TakeError();
  EXPECT_EQ(Any("X()", 1), 11);
  EXPECT_EQ(Any("X()", 2), 22);
  EXPECT_EQ(Any("Sub()", 2), 22) << "although someone has looked before";
}

TEST_F(Foreign, ADifferentSlotIsAConflict) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  EXPECT_EQ(Register(type, {S(2, 22), S(1, 12)}), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X' already has custom slot 0x1000101, with other data");
  EXPECT_EQ(Any("X()", 1), 11);
  EXPECT_EQ(Any("X()", 2), -1) << "all or nothing";
}

TEST_F(Foreign, RegisteredAfterALook) {
  Ref base = Class("class X: pass");
  scope_.Run("class Sub(X): pass\nclass SubSub(Plain, Sub): pass");
  EXPECT_EQ(Any("SubSub()", 1), -1);
  EXPECT_EQ(Any("SubSub()", 1), -1);
  ASSERT_EQ(Register(base, {S(1, 11)}), 0) << TakeError();
  EXPECT_EQ(Any("SubSub()", 1), 11);
  ASSERT_EQ(Register(scope_.Eval("Sub"), {S(1, 111)}), 0) << TakeError();
  EXPECT_EQ(Any("SubSub()", 1), 111);
  EXPECT_EQ(Any("X()", 1), 11);
  EXPECT_EQ(Unregister(scope_.Eval("Sub"), 1), 1);
  EXPECT_EQ(Any("SubSub()", 1), 11);
  EXPECT_EQ(Unregister(base, 1), 1);
  EXPECT_EQ(Any("SubSub()", 1), -1);
}

TEST_F(Foreign, UnregisteringKeepsTheOthersPositions) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11), S(2, 22), S(3, 33)}), 0) << TakeError();
  Ref object = scope_.Eval("X()");
  const PyCustomSlot *found = PyCustomSlots_FindAny(interface_, object.get(), Id(2), 1);
  EXPECT_EQ(Unregister(type, 2), 1);
  EXPECT_EQ(Unregister(type, 2), 0);
  EXPECT_EQ(found->data.flags, 22u) << "a reader may have found it before";
  const PyCustomSlot *third = PyCustomSlots_FindAny(interface_, object.get(), Id(3), 2);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ((third - 2)->id, Id(1));
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(Register(type, {S(2, 22)}), 0) << TakeError();
    EXPECT_EQ(Any("X()", 2, 3), 22);
    EXPECT_EQ(Unregister(type, 2), 1);
  }
  for (const unsigned nothing : {4u}) EXPECT_EQ(Unregister(type, nothing), 0);
  EXPECT_EQ(PyForeignSlots_Unregister(interface_, type.type(), PyCustomSlot_ID_SKIP), 0);
  EXPECT_EQ(PyForeignSlots_Unregister(interface_, &PyList_Type, Id(1)), 0);
}

TEST_F(Foreign, AMetaclassWithFieldsOfItsOwn) {
  // Like nanobind's metaclass, this one has no room for our data.
  static PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"test.Fields", static_cast<int>(PyType_Type.tp_basicsize + 64), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  Ref bases = Ref::Steal(PyTuple_Pack(1, &PyType_Type));
  Ref metaclass = Ref::Steal(PyType_FromSpecWithBases(&spec, bases.get()));
  ASSERT_TRUE(metaclass) << TakeError();
  scope_.Set("Fields", metaclass.get());
  Ref type = Class("class X(metaclass=Fields): pass");
  Ref with_slots = MakeType({S(1, 1)}, type.get());
  EXPECT_FALSE(with_slots);
  EXPECT_EQ(TakeError().find("TypeError: "), 0u);
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  scope_.Run("class Sub(X): pass");
  EXPECT_EQ(Any("Sub()", 1), 11);
}

TEST_F(Foreign, Refused) {
  Ref type = Class("class X: pass");
  EXPECT_EQ(Register(type, {}), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X' was given no custom slots");
  EXPECT_EQ(PyForeignSlots_Register(interface_, type.type(), nullptr, 1), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X' was given no custom slots");
  const PyCustomSlot one = S(1, 1);
  EXPECT_EQ(PyForeignSlots_Register(interface_, type.type(), &one, -1), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X' was given no custom slots");
  EXPECT_EQ(Register(type, {Slot(0, 1)}), -1);
  EXPECT_EQ(TakeError(), "ValueError: type 'X': custom slot 0 has the invalid ID 0x0");
  EXPECT_EQ(Register(type, {S(1, 1), S(1, 1)}), -1);
  EXPECT_EQ(TakeError(),
            "ValueError: type 'X': custom slot 1 has ID 0x1000101, which occurs twice");
  EXPECT_EQ(Register(MakeType({S(1, 1)}), {S(2, 2)}), -1);
  EXPECT_EQ(TakeError(),
            "TypeError: type 'test.Extensible' is extensible: it has custom slots of its own");
  EXPECT_EQ(Any("X()", 1), -1);
}

TEST_F(Foreign, AClassThatTwoBasesLeadTo) {
  Ref type = Class("class X: pass");
  scope_.Run("class L(X): pass\nclass R(X): pass\nclass Both(L, R): pass");
  EXPECT_EQ(Any("Both()", 1), -1);
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  for (const char *object : {"X()", "L()", "R()", "Both()"}) EXPECT_EQ(Any(object, 1), 11);
}

// A class that is still being made has no MRO from which slots could be merged.
TEST_F(Foreign, WhileTheMroIsMade) {
  static const PyTypedcall_Interface *interface;
  interface = interface_;
  static PyMethodDef def = {"register",
                            [](PyObject *, PyObject *cls) -> PyObject * {
                              const PyCustomSlot slot = S(1, 11);
                              auto *type = reinterpret_cast<PyTypeObject *>(cls);
                              if (PyForeignSlots_Register(interface, type, &slot, 1) < 0) {
                                return nullptr;
                              }
                              Py_RETURN_NONE;
                            },
                            METH_O, nullptr};
  scope_.Set("register", Ref::Steal(PyCFunction_New(&def, nullptr)).get());
  ASSERT_TRUE(
      scope_.Run("class Meta(type):\n"
                 "  def mro(cls):\n"
                 "    register(cls)\n"
                 "    return super().mro()\n"
                 "class X(metaclass=Meta): pass"));
  EXPECT_EQ(Any("X()", 1), 11);
}

TEST_F(Foreign, SkippedPositionsOfLaterRegistrations) {
  const PyCustomSlot skip = Slot(PyCustomSlot_ID_SKIP, 0);
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  ASSERT_EQ(Register(type, {skip, S(2, 22)}), 0) << TakeError();
  Ref object = scope_.Eval("X()");
  const auto find = [&](unsigned idea) {
    return PyCustomSlots_FindAny(interface_, object.get(), Id(idea), 0);
  };
  EXPECT_EQ(find(2), find(1) + 1) << "only the first registration can skip positions";
  EXPECT_EQ(Unregister(type, 1), 1);
  EXPECT_EQ(Unregister(type, 2), 1);
  ASSERT_EQ(Register(type, {skip, S(3, 33)}), 0) << TakeError();
  EXPECT_EQ(find(3)[-1].id, uintptr_t{PyCustomSlot_ID_SKIP}) << "nothing was left";
}

// The tables are part of the ABI, so another implementation may have published one like this.
TEST_F(Foreign, ASkippedPositionBeforeFreeOnes) {
  Ref type = Class("class X: pass");
  PyForeignSlots_Table *table = PyTC_ForeignNew(3);
  table->count = 3;
  PyCustomSlot *slots = table->slots;
  *slots++ = S(1, 11);
  *slots++ = Slot(PyCustomSlot_ID_SKIP, 0);
  ASSERT_EQ(interface_->publish(interface_->state, PyTypedcall_BY_TYPE, type.get(), type.get(),
                                table, nullptr, PyTC_ForeignDestroy, nullptr),
            1);
  EXPECT_EQ(Any("X()", 1), 11);
  ASSERT_EQ(Register(type, {S(2, 22)}), 0) << TakeError();
  EXPECT_EQ(Any("X()", 1), 11);
  EXPECT_EQ(Any("X()", 2), 22);
}

TEST(ForeignSlots, WithoutAnInstalledInterface) {
  const Subinterpreter interpreter;
  ASSERT_TRUE(interpreter.Entered());
  const PyTypedcall_Interface *waiting = PyTypedcall_ImportLazily();
  ASSERT_NE(waiting, nullptr) << TakeError();
  const PyCustomSlot slot = S(1, 11);
  EXPECT_EQ(PyForeignSlots_Register(waiting, &PyFloat_Type, &slot, 1), -1);
  EXPECT_EQ(TakeError(),
            "RuntimeError: typedcall: no module has installed the interface (core/rendezvous.h)");
}

TEST_F(Foreign, APendingExceptionStays) {
  scope_.Run("class X: pass");
  Ref object = scope_.Eval("X()");
  PyErr_SetString(PyExc_KeyError, "mine");
  EXPECT_EQ(AnyOf(object.get(), 1), -1) << "the first look at this class";
  EXPECT_EQ(AnyOf(object.get(), 1), -1);
  EXPECT_EQ(TakeError(), "KeyError: 'mine'");
}

TEST_F(Foreign, RowsGoWithTheirTypes) {
  Collect();
  const PyTypedcall_Counters before = Counters();
  for (int i = 0; i < 10000; ++i) {
    Ref type = Ref::Steal(
        PyObject_CallFunction(reinterpret_cast<PyObject *>(&PyType_Type), "s(){}", "Short"));
    ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
    Ref object = New(type);
    ASSERT_EQ(AnyOf(object.get(), 1), 11);
    object.reset();
    type.reset();
    if (i % 100 == 0) Collect();
  }
  Collect();
  const PyTypedcall_Counters after = Counters();
  EXPECT_EQ(after.rows_added - before.rows_added, 20000u);
  EXPECT_EQ(after.rows_removed - before.rows_removed, 20000u);
}
TEST_F(Foreign, OnlySkippedPositions) {
  Ref type = Class("class X: pass"), object = New(type);
  EXPECT_EQ(Register(type, {Slot(PyCustomSlot_ID_SKIP, 0)}), 0);
  EXPECT_EQ(Register(type, {Slot(PyCustomSlot_ID_SKIP, 0)}), 0);
  EXPECT_EQ(Register(type, {S(1, 7)}), 0);
  EXPECT_EQ(AnyOf(object.get(), 1), 7);
}

TEST_F(Foreign, EachInterpreterHasItsOwn) {
  Ref type = scope_.Eval("int");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  {
    Subinterpreter other;
    ASSERT_TRUE(other.Entered());
    const PyTypedcall_Interface *there = PyTypedcall_Import();
    ASSERT_NE(there, nullptr) << TakeError();
    Ref number = Ref::Steal(PyLong_FromLong(123456));
    EXPECT_EQ(PyCustomSlots_FindAny(there, number.get(), Id(1), 0), nullptr);
    const PyCustomSlot slot = S(1, 12);
    EXPECT_EQ(PyForeignSlots_Register(there, &PyLong_Type, &slot, 1), 0) << TakeError();
    const PyCustomSlot *found = PyCustomSlots_FindAny(there, number.get(), Id(1), 0);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->data.flags, 12u);
    number.reset();
    other.Leave();
  }
  EXPECT_EQ(Any("123456", 1), 11);
  EXPECT_EQ(Unregister(type, 1), 1);
}

TEST_F(Foreign, ExchangeRefuses) {
  Ref owner = scope_.Eval("Plain");
  static const int key = 0, value = 0, other = 0;
  const struct {
    int space;
    const void *key, *value;
    PyObject *owner;
  } cases[] = {{-1, &key, &value, owner.get()},
               {PyTypedcall_SPACES, &key, &value, owner.get()},
               {PyTypedcall_BY_OBJECT, &key, &value, owner.get()},
               {PyTypedcall_BY_TYPE, nullptr, &value, owner.get()},
               {PyTypedcall_BY_TYPE, &key, nullptr, owner.get()},
               {PyTypedcall_BY_TYPE, &key, &value, nullptr}};
  for (const auto &one : cases) {
    EXPECT_EQ(interface_->exchange(interface_->state, one.space, one.key, one.owner, &other,
                                   one.value, nullptr),
              -1);
    EXPECT_EQ(TakeError().find("ValueError: "), 0u);
  }
  Ref number = scope_.Eval("1.5");
  EXPECT_EQ(interface_->exchange(interface_->state, PyTypedcall_BY_TYPE, &key, number.get(), &other,
                                 &value, nullptr),
            -1);
  EXPECT_EQ(TakeError(), "TypeError: cannot create weak reference to 'float' object");
}

// This test has no fixture, because a fixture would outlive the interpreter.
TEST(ForeignAtTheEnd, ReplacedValuesHaveGoneWithTheirOwner) {
  // If classes are never freed, the interpreter keeps the values until its end.
  const bool can_die = typedcall_test::ClassesCanDie();
  static int destroyed;
  destroyed = 0;
  static const int key = 0, first = 0, second = 0;
  const auto destroy = [](const void *) { ++destroyed; };
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  {
    Scope scope;
    scope.Run("class X: pass");
    Ref owner = scope.Eval("X");
    EXPECT_EQ(interface->publish(interface->state, PyTypedcall_BY_DEF, &key, owner.get(), &first,
                                 nullptr, destroy, nullptr),
              1);
    EXPECT_EQ(interface->exchange(interface->state, PyTypedcall_BY_DEF, &key, owner.get(), &first,
                                  &second, destroy),
              1);
    EXPECT_EQ(interface->find(interface->state, PyTypedcall_BY_DEF, &key), &second);
    EXPECT_EQ(destroyed, 0);
  }
  Collect();
  EXPECT_EQ(interface->find(interface->state, PyTypedcall_BY_DEF, &key),
            can_die ? nullptr : &second);
  EXPECT_EQ(destroyed, can_die ? 2 : 0)
      << "the one that stood, and the one that could be read until now";
  ASSERT_EQ(StopPython(), 0);
  EXPECT_EQ(destroyed, 2);
  StartPython();
}

}  // namespace
}  // namespace typedcall_test
