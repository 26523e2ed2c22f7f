// Tests the sets of objects that keepers hold, what the garbage collector sees of our objects, and
// tagged objects with unusual dictionaries.
#include <functional>

#include "tests/core/extensible.h"
#include "tests/core/rows.h"

namespace typedcall_test {
namespace {

constexpr int kDef = PyTypedcall_BY_DEF, kObject = PyTypedcall_BY_OBJECT;

// Returns how many objects a traversal visits if the visitor stops it at object number `stop`.
Py_ssize_t Visited(PyObject *object, Py_ssize_t stop) {
  struct Seen {
    Py_ssize_t count, stop;
  } seen = {0, stop};
  const visitproc visit = [](PyObject *visited, void *opaque) {
    EXPECT_NE(visited, nullptr);
    auto *by = static_cast<Seen *>(opaque);
    return ++by->count == by->stop ? 7 : 0;
  };
  const int result = Py_TYPE(object)->tp_traverse(object, visit, &seen);
  EXPECT_EQ(result, seen.count == stop ? 7 : 0) << "it passes on what the visitor says";
  return seen.count;
}

class Kept : public Rows {
 protected:
  static int Equal(const void *, const void *) { return 1; }
  int Publish(int space, const void *key, const Ref &owner, const void *value, const Ref &kept) {
    return interface_->publish(interface_->state, space, key, owner.get(), value, Equal, Destroy,
                               kept.get());
  }
  Ref Hold(int space, const void *key, PyObject *callable = nullptr) {
    const void *found;
    return Ref::Steal(interface_->hold(interface_->state, space, key, callable, &found));
  }
  PyTC_State *State() { return static_cast<PyTC_State *>(interface_->state); }
  PyTC_Row *Row(int space, const void *key) { return PyTC_TableRow(&State()->tables[space], key); }
  static PyObject *Hosted(const Ref &object) {
    return PyDict_GetItemString(Ref::Steal(PyObject_GenericGetDict(object.get(), nullptr)).get(),
                                PyTypedcall_KEEPER_NAME);
  }
};

void ExpectTraversal(PyObject *object, Py_ssize_t count) {
  for (Py_ssize_t stop = 1; stop <= count; ++stop) EXPECT_EQ(Visited(object, stop), stop);
  EXPECT_EQ(Visited(object, 0), count);
}

TEST_F(Kept, TheCollectorsView) {
  Ref owner = Owner(), kept = Owner(), callable = Owner();
  const void *key = Address();
  ASSERT_EQ(Publish(kDef, key, owner, Address(), kept), 1);
  ExpectTraversal(Hold(kDef, key, callable.get()).get(), 4);  // type, keeper, owner, callable
  ExpectTraversal(Hold(kDef, key).get(), 3);
  ExpectTraversal(Row(kDef, key)->keeper, 2);
  // The collector may see a reference before hold() has filled it.
  PyTypeObject *type = State()->reference_type;
  ExpectTraversal(Ref::Steal(PyTC_SLOT(allocfunc, type, tp_alloc)(type, 0)).get(), 1);
  Ref extensible = MakeType({Slot(Id(1), 1)});
  const Py_ssize_t all = Visited(extensible.get(), 0);
  EXPECT_GT(all, 1);
  ExpectTraversal(extensible.get(), all);
}

TEST_F(Kept, ManyObjects) {
  constexpr Py_ssize_t kMany = 100;
  Ref owner = Owner();
  Ref kept = Ref::Steal(PyTuple_New(kMany));
  std::vector<Py_ssize_t> before;
  for (Py_ssize_t i = 0; i < kMany; ++i) {
    PyTuple_SET_ITEM(kept.get(), i, Owner().release());
    before.push_back(Py_REFCNT(PyTuple_GET_ITEM(kept.get(), i)));
  }
  const void *key = Address(), *value = Address();
  const auto expect_kept = [&](int times) {
    for (Py_ssize_t i = 0; i < kMany; ++i) {
      EXPECT_EQ(Py_REFCNT(PyTuple_GET_ITEM(kept.get(), i)), before[static_cast<size_t>(i)] + times);
    }
  };
  ASSERT_EQ(Publish(kDef, key, owner, value, kept), 1);
  expect_kept(1);
  ASSERT_EQ(Publish(kDef, key, owner, value, kept), 1) << "the same again";
  expect_kept(1);
  owner.reset();
  Collect();
  EXPECT_EQ(Find(kDef, key), nullptr);
  expect_kept(0);
}

TEST_F(Kept, WhichReferencesAreTheSame) {
  Ref owner = Owner(), other_owner = Owner(), callable = Owner(), other_callable = Owner();
  const void *key = Address(), *other = Address(), *value = Address();
  ASSERT_EQ(Publish(kDef, key, owner, value, Ref()), 1);
  ASSERT_EQ(Publish(kDef, key, other_owner, value, Ref()), 1);
  ASSERT_EQ(Publish(kDef, other, owner, Address(), Ref()), 1);
  Ref one = Hold(kDef, key, callable.get());
  EXPECT_TRUE(PyTC_IsSameKept(one.get(), one.get()));
  EXPECT_TRUE(PyTC_IsSameKept(one.get(), Hold(kDef, key, callable.get()).get()));
  EXPECT_FALSE(PyTC_IsSameKept(one.get(), Hold(kDef, other, callable.get()).get()));
  EXPECT_FALSE(PyTC_IsSameKept(one.get(), Hold(kDef, key, other_callable.get()).get()));
  EXPECT_FALSE(PyTC_IsSameKept(one.get(), owner.get()));
  EXPECT_FALSE(PyTC_IsSameKept(owner.get(), one.get()));
  EXPECT_FALSE(PyTC_IsSameKept(owner.get(), other_owner.get()));
  // The reference keeps the owner that it was made with, so that owner is removed from the row.
  PyTC_Disown(Row(kDef, key)->owned_by);
  EXPECT_FALSE(PyTC_IsSameKept(one.get(), Hold(kDef, key, callable.get()).get()));
}

TEST_F(Kept, ARowOfOtherOwnersDoesNotComeBack) {
  Ref owner = Owner(), other_owner = Owner();
  const void *key = Address(), *value = Address(), *second = Address(), *third = Address();
  ASSERT_EQ(Publish(kDef, key, owner, value, Ref()), 1);
  ASSERT_EQ(Publish(kDef, key, other_owner, second, Ref()), 0) << "an equal value";
  ASSERT_EQ(Retract(kDef, key), 1);
  EXPECT_EQ(Publish(kDef, key, owner, second, Ref()), 1) << "the row has two owners";
  EXPECT_EQ(Find(kDef, key), second);
  ASSERT_EQ(Retract(kDef, key), 1);
  EXPECT_EQ(Publish(kDef, key, other_owner, third, Ref()), 1) << "and this one has another";
  EXPECT_EQ(Find(kDef, key), third);
}

#ifndef Py_GIL_DISABLED  // with a GIL, an object's dictionary holds its keeper

// Python code can find the keeper in the object's dictionary.
TEST_F(Kept, TheKeeperItself) {
  Ref object = Owner(), kept = Owner();
  const void *value = Address();
  ASSERT_EQ(Publish(kObject, object.get(), object, value, kept), 1);
  Ref keeper = Ref::Borrow(Hosted(object));
  ASSERT_TRUE(keeper);
  const Py_ssize_t before = Py_REFCNT(keeper.get());
  EXPECT_EQ(Publish(kObject, object.get(), object, value, keeper), 1);
  Ref all = Ref::Steal(PyTuple_Pack(3, keeper.get(), object.get(), kept.get()));
  EXPECT_EQ(Publish(kObject, object.get(), object, value, all), 1);
  all.reset();
  EXPECT_EQ(Py_REFCNT(keeper.get()), before) << "it does not keep itself";
  EXPECT_EQ(Publish(kObject, object.get(), object, value, object), 1);
  Ref watched = Ref::Steal(PyWeakref_NewRef(object.get(), nullptr));
  object.reset();
  EXPECT_EQ(PyObject_CallObject(watched.get(), nullptr), Py_None) << "nor its object";
}

TEST_F(Kept, AConflictIsNotHosted) {
  Ref object = Owner(), kept = Owner();
  const void *value = Address(), *other = Address();
  ASSERT_EQ(interface_->publish(interface_->state, kObject, object.get(), object.get(), value,
                                nullptr, Destroy, nullptr),
            1);
  EXPECT_EQ(interface_->publish(interface_->state, kObject, object.get(), object.get(), other,
                                nullptr, Destroy, kept.get()),
            PyTypedcall_CONFLICT);
  EXPECT_EQ(Hosted(object), nullptr);
}

// Other code may have replaced the dictionary with an instance of an arbitrary subclass of dict.
TEST_F(Kept, ADictionaryOfAnotherType) {
  scope_.Run("class Other(dict): pass\nobject_ = Owner()\nobject_.__dict__ = Other()");
  Ref object = scope_.Eval("object_"), kept = Owner();
  ASSERT_EQ(Publish(kObject, object.get(), object, Address(), kept), 1);
  EXPECT_EQ(scope_.Eval("len(object_.__dict__) == 0").get(), Py_True);
  EXPECT_NE(Row(kObject, object.get())->keeper, nullptr) << "the table holds the keeper";
}

TEST_F(Kept, RowsOfOtherKeepersStay) {
  Ref object = Owner(), kept = Owner();
  const void *first = Address(), *second = Address();
  ASSERT_EQ(interface_->publish(interface_->state, kObject, object.get(), object.get(), first,
                                nullptr, Destroy, nullptr),
            1);
  ASSERT_EQ(Retract(kObject, object.get()), 1);
  ASSERT_EQ(interface_->publish(interface_->state, kObject, object.get(), object.get(), second,
                                nullptr, Destroy, kept.get()),
            1);
  ASSERT_NE(Hosted(object), nullptr);
  Ref dict = Ref::Steal(PyObject_GenericGetDict(object.get(), nullptr));
  PyDict_Clear(dict.get());
  EXPECT_EQ(Find(kObject, object.get()), nullptr);
  EXPECT_EQ(Destroyed()[second], 1);
  EXPECT_EQ(Destroyed()[first], 0) << "its owner lives";
  object.reset();
  EXPECT_EQ(Destroyed()[first], 1);
}

std::function<void()> replaced;

// The assignment that gives the object its keeper may release an object whose finalizer changes the
// tag.
TEST_F(Kept, TheAssignmentRunsCode) {
  static PyMethodDef def = {"replaced",
                            [](PyObject *, PyObject *) -> PyObject * {
                              replaced();
                              Py_RETURN_NONE;
                            },
                            METH_NOARGS, nullptr};
  scope_.Set("replaced", Ref::Steal(PyCFunction_New(&def, nullptr)).get());
  scope_.Run("class Replaced:\n  def __del__(self): replaced()");
  for (const bool tags_again : {false, true}) {
    Ref object = Owner(), kept = Owner(), other = Owner();
    const void *value = Address(), *second = Address();
    Ref dict = Ref::Steal(PyObject_GenericGetDict(object.get(), nullptr));
    ASSERT_EQ(
        PyDict_SetItemString(dict.get(), PyTypedcall_KEEPER_NAME, scope_.Eval("Replaced()").get()),
        0);
    bool has_run = false;
    replaced = [&] {
      has_run = true;
      EXPECT_EQ(Retract(kObject, object.get()), 1);
      if (!tags_again) return;
      EXPECT_EQ(interface_->publish(interface_->state, kObject, object.get(), object.get(), second,
                                    nullptr, Destroy, nullptr),
                1);
    };
    EXPECT_EQ(interface_->publish(interface_->state, kObject, object.get(), object.get(), value,
                                  nullptr, Destroy, kept.get()),
              1);
    EXPECT_TRUE(has_run);
    EXPECT_EQ(Find(kObject, object.get()), tags_again ? second : nullptr);
    dict.reset();
    object.reset();
    EXPECT_EQ(Destroyed()[value], 1);
    EXPECT_EQ(Destroyed()[second], tags_again ? 1 : 0);
  }
}

#endif

}  // namespace
}  // namespace typedcall_test
