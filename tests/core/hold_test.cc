// Tests references to rows and the objects that they keep alive.
#include <utility>
#include <vector>

#include "tests/core/rows.h"

namespace typedcall_test {
namespace {

constexpr int kDef = PyTypedcall_BY_DEF, kObject = PyTypedcall_BY_OBJECT;

int AlwaysEqual(const void *, const void *) { return 1; }

class Holding : public Rows {
 protected:
  Ref Hold(int space, const void *key, const void **value, PyObject *callable = nullptr) {
    return Ref::Steal(interface_->hold(interface_->state, space, key, callable, value));
  }
  int PublishKept(const void *key, const Ref &owner, const void *value, const Ref &kept,
                  int (*equal)(const void *, const void *) = nullptr, int space = kDef) {
    return interface_->publish(interface_->state, space, key, owner.get(), value, equal, Destroy,
                               kept.get());
  }
  bool IsAlive(const Ref &reference) {
    return Ref::Steal(PyObject_CallObject(reference.get(), nullptr)).get() != Py_None;
  }
  Ref WeakReference(const Ref &object) {
    return Ref::Steal(PyWeakref_NewRef(object.get(), nullptr));
  }
};

TEST_F(Holding, KeepsRowValueAndOwner) {
  Ref owner = Owner();
  const Ref watched = WeakReference(owner);
  const void *key = Address(), *value = Address(), *found;
  Publish(kDef, key, owner, value);
  Ref first = Hold(kDef, key, &found), second = Hold(kDef, key, &found);
  EXPECT_EQ(found, value);
  owner.reset();
  Collect();
  EXPECT_EQ(Find(kDef, key), value) << "its owner lives";
  first.reset();
  Collect();
  EXPECT_TRUE(IsAlive(watched));
  EXPECT_EQ(Destroyed()[value], 0);
  second.reset();
  EXPECT_FALSE(IsAlive(watched));
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
}

TEST_F(Holding, NothingWhereNothingIs) {
  const void *found = this;
  EXPECT_FALSE(Hold(kDef, Address(), &found));
  EXPECT_EQ(found, nullptr);
  for (const int space : {-1, static_cast<int>(PyTypedcall_SPACES), 1000}) {
    EXPECT_FALSE(Hold(space, Address(), &found));
  }
  EXPECT_FALSE(Hold(kDef, nullptr, &found));
  EXPECT_EQ(PyErr_Occurred(), nullptr);
}

TEST_F(Holding, OutlivesItsPlaceInTheTable) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address(), *second = Address(), *found;
  Publish(kDef, key, owner, value);
  Ref held = Hold(kDef, key, &found);
  EXPECT_EQ(Retract(kDef, key), 1);
  EXPECT_FALSE(Hold(kDef, key, &found));
  Publish(kDef, key, owner, second);
  Ref other = Hold(kDef, key, &found);
  EXPECT_EQ(found, second);
  held.reset();
  EXPECT_EQ(Destroyed()[value], 0) << "retracted values are kept for those who have no reference";
  owner.reset();
  EXPECT_EQ(Destroyed()[second], 0);
  other.reset();
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Destroyed()[second], 1);
}

TEST_F(Holding, AnyOwnerWillDo) {
  Ref first = Owner(), second = Owner();
  const void *key = Address(), *value = Address(), *found;
  Publish(kDef, key, first, value);
  Publish(kDef, key, second, value);
  first.reset();
  Ref held = Hold(kDef, key, &found);
  EXPECT_EQ(found, value);
  second.reset();
  EXPECT_EQ(Find(kDef, key), value);
  held.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
}

TEST_F(Holding, ReplacedRows) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address(), *second = Address(), *found;
  Publish(kDef, key, owner, value);
  Ref held = Hold(kDef, key, &found);
  ASSERT_EQ(interface_->exchange(interface_->state, kDef, key, owner.get(), value, second, Destroy),
            1);
  Ref other = Hold(kDef, key, &found);
  EXPECT_EQ(found, second);
  owner.reset();
  held.reset();
  other.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Destroyed()[second], 1);
}

TEST_F(Holding, WhatHasNoWeakReferences) {
  Ref number = Ref::Steal(PyLong_FromLong(7654321));
  const Py_ssize_t references = Py_REFCNT(number.get());
  const void *value = Address(), *found;
  Publish(kObject, number.get(), number, value);
  {
    Ref held = Hold(kObject, number.get(), &found);
    EXPECT_EQ(found, value);
    EXPECT_EQ(Py_REFCNT(number.get()), references + 2);
    EXPECT_EQ(Retract(kObject, number.get()), 1);
    EXPECT_EQ(Py_REFCNT(number.get()), references + 1);
  }
  EXPECT_EQ(Py_REFCNT(number.get()), references);
}

TEST_F(Holding, TheCollectorSeesOwnerAndCallable) {
  Ref owner = Owner(), callable = Owner();
  const Ref watched[] = {WeakReference(owner), WeakReference(callable)};
  const void *key = Address(), *value = Address(), *found;
  Publish(kDef, key, owner, value);
  {
    const Ref held = Hold(kDef, key, &found, callable.get());
    ASSERT_EQ(PyObject_SetAttrString(callable.get(), "made_of_it", held.get()), 0);
    ASSERT_EQ(PyObject_SetAttrString(owner.get(), "callable", callable.get()), 0);
  }
  owner.reset();
  EXPECT_TRUE(IsAlive(watched[0]));
  callable.reset();
  Collect();
  EXPECT_FALSE(IsAlive(watched[0]));
  EXPECT_FALSE(IsAlive(watched[1]));
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
}

TEST_F(Holding, CannotBeMadeByPythonCode) {
  Ref owner = Owner();
  const void *key = Address(), *found;
  Publish(kDef, key, owner, Address());
  scope_.Set("held", Hold(kDef, key, &found).get());
  EXPECT_TRUE(
      scope_.Run("for make in (type(held), type(held).__new__, object.__new__):\n"
                 "  try: make(type(held))\n"
                 "  except TypeError: pass\n"
                 "  else: raise AssertionError(make)\n"
                 "import copy, pickle\n"
                 "for use in (copy.copy, copy.deepcopy, pickle.dumps):\n"
                 "  try: use(held)\n"
                 "  except (TypeError, pickle.PicklingError): pass\n"
                 "  else: raise AssertionError(use)\n"));
}

TEST_F(Holding, WhatAnEqualTagBringsIsKept) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address(), *equal = Address();
  Ref kept[] = {Owner(), Owner()};
  const Ref watched[] = {WeakReference(kept[0]), WeakReference(kept[1])};
  EXPECT_EQ(PublishKept(key, owner, value, kept[0]), 1);
  EXPECT_EQ(PublishKept(key, owner, value, kept[0]), 1) << "the same value, and once is enough";
  EXPECT_EQ(PublishKept(key, owner, equal, kept[1], AlwaysEqual), 0);
  EXPECT_EQ(PublishKept(key, owner, equal, kept[1]), PyTypedcall_CONFLICT);
  EXPECT_EQ(PyErr_Occurred(), nullptr);
  EXPECT_EQ(Counted().conflicts, 1u);
  for (Ref &each : kept) each.reset();
  for (const Ref &each : watched) EXPECT_TRUE(IsAlive(each));
  const void *found;
  Ref held = Hold(kDef, key, &found);
  owner.reset();
  for (const Ref &each : watched) EXPECT_TRUE(IsAlive(each));
  held.reset();
  for (const Ref &each : watched) EXPECT_FALSE(IsAlive(each));
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Destroyed()[equal], 0);
}

TEST_F(Holding, WhatReferencesKeepIsKeptOnce) {
  Ref owner = Owner(), other = Owner(), callables[] = {Owner(), Owner()};
  const void *key = Address(), *value = Address(), *other_key = Address(), *found;
  Publish(kDef, other_key, other, Address());
  const auto tag = [&](const Ref &callable) {
    const Ref held = Hold(kDef, other_key, &found, callable.get());
    EXPECT_EQ(PublishKept(key, owner, value, held), 1);
    const Ref in_tuple = Ref::Steal(PyTuple_Pack(1, held.get()));
    EXPECT_EQ(PublishKept(key, owner, value, in_tuple), 1);
  };
  tag(callables[0]);
  const Py_ssize_t of_owner = Py_REFCNT(other.get()), of_callable = Py_REFCNT(callables[0].get());
  for (int turn = 0; turn < 100; ++turn) tag(callables[0]);
  EXPECT_EQ(Py_REFCNT(other.get()), of_owner);
  EXPECT_EQ(Py_REFCNT(callables[0].get()), of_callable);
  // A reference that keeps a different callable alive is kept as well, but only once.
  for (int turn = 0; turn < 100; ++turn) tag(callables[1]);
  EXPECT_EQ(Py_REFCNT(other.get()), of_owner + 1);
  EXPECT_EQ(Py_REFCNT(callables[0].get()), of_callable);
  Ref watched[] = {WeakReference(callables[0]), WeakReference(callables[1]), WeakReference(other)};
  for (Ref &each : callables) each.reset();
  other.reset();
  for (const Ref &each : watched) EXPECT_TRUE(IsAlive(each));
  owner.reset();
  for (const Ref &each : watched) EXPECT_FALSE(IsAlive(each));
}

TEST_F(Holding, ARowDoesNotKeepItsOwner) {
  Ref owner = Owner();
  const Ref watched = WeakReference(owner);
  const void *value = Address();
  EXPECT_EQ(PublishKept(owner.get(), owner, value, owner, nullptr, kObject), 1);
  owner.reset();
  EXPECT_FALSE(IsAlive(watched));
  EXPECT_EQ(Destroyed()[value], 1);
}

TEST_F(Holding, PublishKeptRefuses) {
  Ref owner = Owner(), kept = Owner();
  const void *key = Address(), *value = Address();
  EXPECT_EQ(PublishKept(nullptr, owner, value, kept), -1);
  EXPECT_EQ(TakeError().find("ValueError: "), 0u);
  EXPECT_EQ(PublishKept(key, owner, nullptr, kept), -1);
  EXPECT_EQ(TakeError().find("ValueError: "), 0u);
  EXPECT_EQ(PublishKept(key, owner, value, kept, nullptr, -1), -1);
  EXPECT_EQ(TakeError().find("ValueError: "), 0u);
  Ref number = Ref::Steal(PyLong_FromLong(7654322));
  EXPECT_EQ(PublishKept(key, number, value, kept), -1);
  EXPECT_EQ(TakeError(), "TypeError: cannot create weak reference to 'int' object");
  EXPECT_EQ(Py_REFCNT(kept.get()), 1);
}

// CPython first clears all weak references to a dying object, and then runs their callbacks. So
// other callbacks can run while the row is still in the table without a living owner.
TEST_F(Holding, OfDyingOwnersInOtherCallbacks) {
  static struct {
    const PyTypedcall_Interface *interface;
    const void *key, *second;
    const void *held, *stands;
    int has_taken;
  } test;
  test = {interface_, Address(), Address(), this, nullptr, 0};
  static PyMethodDef act = {
      "act",
      [](PyObject *owner, PyObject *) -> PyObject * {
        Py_XDECREF(
            test.interface->hold(test.interface->state, kDef, test.key, nullptr, &test.held));
        test.has_taken = test.interface->publish(test.interface->state, kDef, test.key, owner,
                                                 test.second, nullptr, Destroy, nullptr);
        test.stands = test.interface->find(test.interface->state, kDef, test.key);
        Py_RETURN_NONE;
      },
      METH_O, nullptr};
  Ref owners[] = {Owner(), Owner()}, heir = Owner();
  const void *value = Address();
  for (const Ref &owner : owners) Publish(kDef, test.key, owner, value);
  const Ref callback = Ref::Steal(PyCFunction_New(&act, heir.get()));
  const Ref watched = Ref::Steal(PyWeakref_NewRef(owners[1].get(), callback.get()));
  owners[0].reset();
  owners[1].reset();
  EXPECT_EQ(test.held, nullptr);
  EXPECT_EQ(test.has_taken, 1);
  EXPECT_EQ(test.stands, test.second);
  EXPECT_EQ(Find(kDef, test.key), test.second) << "the first one's owner has died since";
  EXPECT_EQ(Destroyed()[value], 1) << "no reference and no owner were left";
  EXPECT_EQ(Counted().conflicts, 0u);
  heir.reset();
  EXPECT_EQ(Find(kDef, test.key), test.second) << "the callback has a reference";
}

// Releasing kept objects may run Python code, which may call any function of the interface.
TEST_F(Holding, WhatWasKeptUsesTheInterface) {
  static const PyTypedcall_Interface *interface;
  static std::vector<const void *> keys;
  interface = interface_;
  static PyMethodDef act = {
      "act",
      [](PyObject *, PyObject *owner) -> PyObject * {
        for (const void *key : keys) {
          const void *found;
          Py_XDECREF(interface->hold(interface->state, kDef, key, nullptr, &found));
          interface->retract(interface->state, kDef, key);
          interface->publish(interface->state, kDef, key, owner, key, nullptr, nullptr, owner);
          PyErr_Clear();
        }
        Py_RETURN_NONE;
      },
      METH_O, nullptr};
  Ref function = Ref::Steal(PyCFunction_New(&act, nullptr));
  scope_.Set("act", function.get());
  ASSERT_TRUE(
      scope_.Run("immortal = Owner()\n"
                 "class Kept:\n"
                 "  def __del__(self): act(immortal)\n"));
  Ref owner = Owner();
  for (int i = 0; i < 50; ++i) keys.push_back(Address());
  for (const void *key : keys)
    ASSERT_EQ(PublishKept(key, owner, Address(), scope_.Eval("Kept()")), 1);
  owner.reset();
  for (const void *key : keys) EXPECT_EQ(Find(kDef, key), key);
  for (const void *key : keys) EXPECT_EQ(Retract(kDef, key), 1);
  keys.clear();
}

// In CPython 3.13, gc.get_objects() contains the interpreter's own dictionary.
TEST_F(Holding, TheInterfaceComesBack) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address();
  Publish(kDef, key, owner, value);
  PyObject *const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(
        scope_.Run("import sys\n"
                   "module = sys.modules.pop('_extensibletype', None)\n"
                   "if module is not None: module.__dict__.clear()\n"
                   "del module"));
    if (turn == 1) {
      ASSERT_EQ(PyDict_DelItemString(dict, PyTypedcall_CAPSULE_NAME), 0);
    } else {
      PyDict_Clear(dict);
    }
    EXPECT_EQ(Find(kDef, key), value);
    EXPECT_EQ(PyTypedcall_Peek(), interface_);
    EXPECT_EQ(PyTypedcall_Import(), interface_) << TakeError();
  }
  // If another object replaces the capsule, a reference to the capsule keeps the interface alive.
  const Ref capsule = Ref::Borrow(PyDict_GetItemString(dict, PyTypedcall_CAPSULE_NAME));
  ASSERT_TRUE(scope_.Run("del sys.modules['_extensibletype'].typedcall_v2"));
  ASSERT_EQ(PyDict_SetItemString(dict, PyTypedcall_CAPSULE_NAME, Py_None), 0);
  EXPECT_EQ(Find(kDef, key), value);
  PyDict_Clear(dict);
  EXPECT_EQ(Find(kDef, key), value);
  EXPECT_EQ(PyErr_Occurred(), nullptr);
  ASSERT_EQ(PyDict_SetItemString(dict, PyTypedcall_CAPSULE_NAME, capsule.get()), 0);
}

}  // namespace
}  // namespace typedcall_test
