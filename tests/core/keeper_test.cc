// Tests objects that rows keep alive, and how the garbage collector sees them.
#include "tests/core/rows.h"
#include "tests/core/subinterpreter.h"

namespace typedcall_test {
namespace {

constexpr int kDef = PyTypedcall_BY_DEF, kObject = PyTypedcall_BY_OBJECT;

class Keeping : public Rows {
 protected:
  Ref Hold(int space, const void *key) {
    const void *found;
    return Ref::Steal(interface_->hold(interface_->state, space, key, nullptr, &found));
  }
  int PublishKept(const Ref &object, const void *value, const Ref &kept) {
    return interface_->publish(interface_->state, kObject, object.get(), object.get(), value,
                               nullptr, Destroy, kept.get());
  }
  bool IsAlive(const Ref &reference) {
    return Ref::Steal(PyObject_CallObject(reference.get(), nullptr)).get() != Py_None;
  }
  Ref WeakReference(const Ref &object) {
    return Ref::Steal(PyWeakref_NewRef(object.get(), nullptr));
  }
  static bool IsHosted(const Ref &object) {
    return PyObject_HasAttrString(object.get(), PyTypedcall_KEEPER_NAME) != 0;
  }
};

// After the row has left the table, the collector sees the kept object through references to the
// row.
TEST_F(Keeping, TheCollectorSeesItBehindReferences) {
  Ref owner = Owner(), kept = Owner();
  const Ref watched = WeakReference(kept);
  const void *key = Address(), *value = Address(), *found;
  ASSERT_EQ(interface_->publish(interface_->state, kDef, key, owner.get(), value, nullptr, Destroy,
                                kept.get()),
            1);
  EXPECT_FALSE(IsHosted(owner));
  Ref held = Ref::Steal(interface_->hold(interface_->state, kDef, key, nullptr, &found));
  ASSERT_EQ(PyObject_SetAttrString(kept.get(), "reference", held.get()), 0);
  // As at the end of the interpreter, the row is removed before its owner.
  auto *state = static_cast<PyTC_State *>(interface_->state);
  PyTC_Row *row = PyTC_TableRow(&state->tables[kDef], key);
  PyTC_DisownRow(row);
  PyTC_TakeOut(state, row);
  PyTC_LetRowGo(row);
  held.reset();
  EXPECT_TRUE(IsAlive(watched));
  kept.reset();
  EXPECT_EQ(Destroyed()[value], 0);
  Collect();
  EXPECT_FALSE(IsAlive(watched));
  EXPECT_EQ(Destroyed()[value], 1);
}

#ifndef Py_GIL_DISABLED

TEST_F(Keeping, WhatLeadsBackIsCollected) {
  for (const bool by_reference : {false, true}) {
    Ref object = Owner(), kept = Owner();
    const Ref watched[] = {WeakReference(object), WeakReference(kept)};
    const void *key = object.get(), *value = Address();
    ASSERT_EQ(PublishKept(object, value, kept), 1);
    EXPECT_TRUE(IsHosted(object));
    Ref back = by_reference ? Hold(kObject, key) : Ref::Borrow(object.get());
    ASSERT_EQ(PyObject_SetAttrString(kept.get(), "back", back.get()), 0);
    back.reset();
    object.reset();
    kept.reset();
    EXPECT_EQ(Find(kObject, key), value);
    Collect();
    for (const Ref &each : watched) EXPECT_FALSE(IsAlive(each));
    EXPECT_EQ(Find(kObject, key), nullptr);
    EXPECT_EQ(Destroyed()[value], 1);
  }
}

TEST_F(Keeping, PythonCodeTakesItAway) {
  Ref object = Owner(), kept = Owner();
  const Ref watched = WeakReference(kept);
  const void *value = Address(), *second = Address();
  ASSERT_EQ(PublishKept(object, value, kept), 1);
  kept.reset();
  Ref held = Hold(kObject, object.get());
  const Ref dict = Ref::Steal(PyObject_GetAttrString(object.get(), "__dict__"));
  PyDict_Clear(dict.get());
  EXPECT_EQ(Find(kObject, object.get()), value) << "the reference has what is kept";
  EXPECT_TRUE(IsAlive(watched));
  held.reset();
  EXPECT_FALSE(IsAlive(watched));
  EXPECT_EQ(Find(kObject, object.get()), nullptr) << "or the value would be used without it";
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Counted().rows_removed, 1u);
  EXPECT_EQ(PublishKept(object, second, Owner()), 1);
  EXPECT_EQ(Find(kObject, object.get()), second);
  // Publishing the value again keeps the object again.
  held = Hold(kObject, object.get());
  PyDict_Clear(dict.get());
  EXPECT_EQ(Retract(kObject, object.get()), 1);
  EXPECT_EQ(PublishKept(object, value, Owner()), 1);
  EXPECT_TRUE(IsHosted(object));
  held.reset();
  EXPECT_EQ(Find(kObject, object.get()), value);
}

TEST_F(Keeping, AnObjectHasOne) {
  ASSERT_TRUE(scope_.Run("class Odd(dict): pass\nclass C: pass\nc = C()\nc.__dict__ = Odd()\n"));
  const Ref object = scope_.Eval("c");
  const void *value = Address(), *second = Address();
  Ref kept = Owner(), other = Owner();
  const Ref watched[] = {WeakReference(kept), WeakReference(other)};
  ASSERT_EQ(PublishKept(object, value, kept), 1);
  EXPECT_FALSE(IsHosted(object)) << "no plain dict";
  EXPECT_EQ(Retract(kObject, object.get()), 1);
  ASSERT_TRUE(scope_.Run("c.__dict__ = {}"));
  ASSERT_EQ(PublishKept(object, second, other), 1);
  EXPECT_TRUE(IsHosted(object));
  EXPECT_EQ(Retract(kObject, object.get()), 1);
  ASSERT_EQ(PublishKept(object, value, kept), 1) << "the first one, which has a keeper of its own";
  kept.reset();
  other.reset();
  for (const Ref &each : watched) EXPECT_TRUE(IsAlive(each)) << "someone may be using either";
  EXPECT_EQ(Find(kObject, object.get()), value);
  EXPECT_TRUE(Destroyed().empty());
}

// This test has no fixture, because a fixture would outlive the interpreter.
TEST(KeepingAtTheEnd, TheObjectGoesFirst) {
  Destroyed().clear();
  static const int value = 0;
  Subinterpreter sub;
  ASSERT_TRUE(sub.Entered());
  {
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    ASSERT_NE(interface, nullptr) << TakeError();
    Scope scope;
    ASSERT_TRUE(
        scope.Run("class C: __slots__ = ('__dict__',)\nclass Kept: pass\nc, kept = C(), Kept()\n"));
    const Ref object = scope.Eval("c"), kept = scope.Eval("kept");
    ASSERT_EQ(interface->publish(interface->state, kObject, object.get(), object.get(), &value,
                                 nullptr, Destroy, kept.get()),
              1)
        << TakeError();
    EXPECT_NE(PyObject_HasAttrString(object.get(), PyTypedcall_KEEPER_NAME), 0);
  }
  sub.End();
  EXPECT_EQ(Destroyed()[&value], 1);
}

TEST_F(Keeping, AnotherTagHasItToo) {
  Ref object = Owner();
  const void *value = Address();
  const Ref kept[] = {Owner(), Owner()};
  const auto references = [&](int which) { return Py_REFCNT(kept[which].get()); };
  EXPECT_EQ(Publish(kObject, object.get(), object, value), value);
  EXPECT_FALSE(IsHosted(object)) << "nothing is kept";
  EXPECT_EQ(PublishKept(object, value, kept[0]), 1);
  EXPECT_TRUE(IsHosted(object));
  EXPECT_EQ(PublishKept(object, value, kept[1]), 1);
  EXPECT_EQ(Retract(kObject, object.get()), 1);
  EXPECT_EQ(references(0), 2) << "someone may use it without a reference";
  EXPECT_EQ(PublishKept(object, value, kept[1]), 1) << "the same row";
  EXPECT_EQ(references(0), 2);
  EXPECT_EQ(references(1), 2);
  // All rows of an object share one keeper.
  EXPECT_EQ(Retract(kObject, object.get()), 1);
  const void *const second = Address();
  EXPECT_EQ(PublishKept(object, second, kept[1]), 1);
  Ref keeper = Ref::Steal(PyObject_GetAttrString(object.get(), PyTypedcall_KEEPER_NAME));
  EXPECT_EQ(Retract(kObject, object.get()), 1);
  EXPECT_EQ(PublishKept(object, Address(), keeper), 1) << "it does not keep itself";
  EXPECT_EQ(references(0), 2);
  EXPECT_EQ(references(1), 2);
  EXPECT_EQ(Py_REFCNT(keeper.get()), 2);
  object.reset();
  EXPECT_EQ(Destroyed().size(), 3u);
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Destroyed()[second], 1);
  EXPECT_EQ(references(0), 2) << "someone has the keeper";
  keeper.reset();
  EXPECT_EQ(references(0), 1);
  EXPECT_EQ(references(1), 1);
}

// The table keeps the object if the dictionary of the owner cannot hold it.
TEST_F(Keeping, InTheTable) {
  ASSERT_TRUE(
      scope_.Run("class Slots: __slots__ = ('__weakref__',)\n"
                 "class Type: pass\n"
                 "import types\n"
                 "class Odd(dict): pass\n"
                 "odd = Type()\n"
                 "odd.__dict__ = Odd()\n"
                 "others = [Slots(), Type, types.ModuleType('module'), odd, 7654321.5]\n"));
  const Ref others = scope_.Eval("others");
  for (Py_ssize_t i = 0; i < PyList_Size(others.get()); ++i) {
    const Ref object = Ref::Borrow(PyList_GetItem(others.get(), i));
    const Ref kept = Owner();
    ASSERT_EQ(PublishKept(object, Address(), kept), 1) << i;
    EXPECT_FALSE(IsHosted(object)) << i;
    EXPECT_EQ(Py_REFCNT(kept.get()), 2);
    EXPECT_EQ(Retract(kObject, object.get()), 1);
  }
}

TEST_F(Keeping, CopiesHaveNoTag) {
  Ref object = Owner(), kept = Owner();
  const void *value = Address();
  ASSERT_EQ(PublishKept(object, value, kept), 1);
  scope_.Set("original", object.get());
  ASSERT_TRUE(
      scope_.Run("import copy, functools, pickle\n"
                 "shallow = copy.copy(original)\n"
                 "assert copy.deepcopy(original).__typedcall_keeper__ is None\n"
                 "assert pickle.loads(pickle.dumps(original.__typedcall_keeper__)) is None\n"
                 "def wrapper(): pass\n"
                 "functools.update_wrapper(wrapper, original, ())\n"
                 "del wrapper.__wrapped__\n"
                 "for make in (type(original.__typedcall_keeper__), object.__new__):\n"
                 "  try: make(type(original.__typedcall_keeper__))\n"
                 "  except TypeError: pass\n"
                 "  else: raise AssertionError(make)\n"
                 "del original\n"));
  for (const char *name : {"shallow", "wrapper"}) {
    EXPECT_EQ(Find(kObject, scope_.Eval(name).get()), nullptr) << name;
  }
  const void *const key = object.get();
  object.reset();
  // The copies also hold the kept object, but have no rows.
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Find(kObject, key), nullptr);
  EXPECT_EQ(Py_REFCNT(kept.get()), 2);
  const void *other = Address();
  Ref copy = scope_.Eval("shallow");
  EXPECT_EQ(PublishKept(copy, other, Owner()), 1);
  EXPECT_TRUE(scope_.Run("del shallow, wrapper"));
  EXPECT_EQ(Py_REFCNT(kept.get()), 1);
  EXPECT_EQ(Find(kObject, copy.get()), other);
}

// Comparing dictionary keys may run Python code that retracts the row.
TEST_F(Keeping, WhoseKeysUntag) {
  static const PyTypedcall_Interface *interface;
  interface = interface_;
  static PyMethodDef untag = {
      "untag",
      [](PyObject *, PyObject *object) -> PyObject * {
        return PyLong_FromLong(interface->retract(interface->state, kObject, object));
      },
      METH_O, nullptr};
  const Ref function = Ref::Steal(PyCFunction_New(&untag, nullptr));
  scope_.Set("untag", function.get());
  ASSERT_TRUE(
      scope_.Run("class Key(str):\n"
                 "  __hash__ = str.__hash__\n"
                 "  def __eq__(self, other):\n"
                 "    untag(object_)\n"
                 "    object_.__dict__.clear()\n"
                 "    return False\n"
                 "object_ = Owner()\n"
                 "object_.__dict__[Key('__typedcall_keeper__')] = 1\n"));
  const Ref kept = Owner();
  const void *value = Address();
  {
    Ref object = scope_.Eval("object_");
    EXPECT_EQ(PublishKept(object, value, kept), 1);
    EXPECT_EQ(Find(kObject, object.get()), nullptr);
    EXPECT_EQ(Py_REFCNT(kept.get()), 2);
    EXPECT_EQ(Destroyed()[value], 0);
    EXPECT_TRUE(scope_.Run("object_.__dict__.clear()\ndel object_"));
  }
  EXPECT_EQ(Py_REFCNT(kept.get()), 1);
  EXPECT_EQ(Destroyed()[value], 1);
}

#endif

}  // namespace
}  // namespace typedcall_test
