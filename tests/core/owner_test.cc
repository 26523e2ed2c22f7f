// Tests the owners of rows. A row is removed with its last owner.
#include <array>
#include <utility>

#include "tests/core/rows.h"

namespace typedcall_test {
namespace {

constexpr int kDef = PyTypedcall_BY_DEF, kObject = PyTypedcall_BY_OBJECT;

using Owners = Rows;

TEST_F(Owners, RowsGoWithTheirOwner) {
  Ref owner = Owner();
  const void *keys[] = {Address(), Address(), Address()};
  const void *values[] = {Address(), Address(), Address()};
  for (size_t i = 0; i < 3; ++i) Publish(kDef, keys[i], owner, values[i]);
  owner.reset();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Find(kDef, keys[i]), nullptr);
    EXPECT_EQ(Destroyed()[values[i]], 1);
  }
  EXPECT_EQ(Counted().rows_removed, 3u);
}

TEST_F(Owners, ARowLivesUntilItsLastOwnerDies) {
  for (const bool first_goes_first : {true, false}) {
    Ref first = Owner(), second = Owner();
    const void *key = Address(), *value = Address();
    EXPECT_EQ(Publish(kDef, key, first, value), value);
    EXPECT_EQ(Publish(kDef, key, second, value), value);
    (first_goes_first ? first : second).reset();
    EXPECT_EQ(Find(kDef, key), value);
    EXPECT_EQ(Destroyed()[value], 0);
    (first_goes_first ? second : first).reset();
    EXPECT_EQ(Find(kDef, key), nullptr);
    EXPECT_EQ(Destroyed()[value], 1);
  }
}

TEST_F(Owners, ManyOwnersOfManyRowsGoInAnyOrder) {
  constexpr size_t kOwners = 40, kRows = 7;
  std::array<const void *, kRows> keys, values;
  for (size_t i = 0; i < kRows; ++i) keys[i] = Address(), values[i] = Address();
  for (size_t step : {1u, 3u, 7u, 39u}) {  // each step is coprime to 40
    std::array<Ref, kOwners> owners;
    for (Ref &owner : owners) owner = Owner();
    const auto owns = [](size_t owner, size_t row) { return (owner * 5 + row) % 3 != 0; };
    for (size_t twice = 0; twice < 2; ++twice) {
      for (size_t at = 0; at < kOwners * kRows; ++at) {
        const size_t owner = at / kRows, row = at % kRows;
        if (!owns(owner, row)) continue;
        EXPECT_EQ(Publish(kDef, keys[row], owners[owner], values[row]), values[row]) << TakeError();
      }
    }
    EXPECT_EQ(Retract(kDef, keys[3]), 1);
    for (size_t gone = 0, at = 0; gone < kOwners; ++gone, at = (at + step) % kOwners) {
      owners[at].reset();
      for (size_t row = 0; row < kRows; ++row) {
        bool is_owned = false;
        for (size_t i = 0; i < kOwners; ++i) is_owned |= owners[i] && owns(i, row);
        EXPECT_EQ(Find(kDef, keys[row]), is_owned && row != 3 ? values[row] : nullptr);
      }
    }
  }
  for (size_t row = 0; row < kRows; ++row) EXPECT_EQ(Destroyed()[values[row]], 4);
}

TEST_F(Owners, OwnersOfEveryKind) {
  for (const char *expression :
       {"type(weakref)('module')", "type('Class', (), {})", "lambda: 0", "Owner()"}) {
    Ref owner = scope_.Eval(expression);
    const void *key = Address(), *value = Address();
    EXPECT_EQ(Publish(kDef, key, owner, value), value) << expression << TakeError();
    Collect();
    EXPECT_EQ(Find(kDef, key), value) << expression;
    owner.reset();
    Collect();
    EXPECT_EQ(Find(kDef, key), nullptr) << expression;
    EXPECT_EQ(Destroyed()[value], 1) << expression;
  }
}

TEST_F(Owners, BuiltinFunctionIsItsOwnOwner) {
  static PyMethodDef def = {"f", [](PyObject *, PyObject *) { return PyLong_FromLong(1); },
                            METH_NOARGS, nullptr};
  Ref function = Ref::Steal(PyCFunction_New(&def, nullptr));
  const void *value = Address();
  EXPECT_EQ(Publish(kDef, &def, function, value), value) << TakeError();
  function.reset();
  EXPECT_EQ(Find(kDef, &def), nullptr);
}

TEST_F(Owners, InAGarbageCycle) {
  Ref owner = scope_.Eval("Owner()");
  scope_.Set("o", owner.get());
  ASSERT_TRUE(scope_.Run("o.o = o\ndel o"));
  const void *key = Address(), *value = Address();
  Publish(kDef, key, owner, value);
  owner.reset();
  EXPECT_EQ(Find(kDef, key), value);
  Collect();
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
}

// pybind11 frees a def with its function. The next def may have the same address.
TEST_F(Owners, AddressesAreUsedAgain) {
  const void *key = Address();
  for (int i = 0; i < 1000; ++i) {
    Ref owner = Owner();  // usually at the address of the previous owner
    const void *value = Address();
    ASSERT_EQ(Publish(kDef, key, owner, value), value) << i;
    ASSERT_EQ(Find(kDef, key), value);
    owner.reset();
    ASSERT_EQ(Find(kDef, key), nullptr);
    ASSERT_EQ(Destroyed()[value], 1);
  }
  EXPECT_EQ(Counted().rows_added, 1000u);
  EXPECT_EQ(Counted().rows_removed, 1000u);
  EXPECT_EQ(Counted().conflicts, 0u);
  // The cell of the key is used again.
  EXPECT_LE(Counted().generations, 1u);
}

TEST_F(Owners, KeptAliveUntilRetracted) {
  Ref number = Ref::Steal(PyLong_FromLong(987654));
  const Py_ssize_t references = Py_REFCNT(number.get());
  const void *value = Address();
  EXPECT_EQ(Publish(kObject, number.get(), number, value), value) << TakeError();
  EXPECT_EQ(Publish(kObject, number.get(), number, value), value);
  EXPECT_EQ(Py_REFCNT(number.get()), references + 1);
  EXPECT_EQ(Find(kObject, number.get()), value);
  EXPECT_EQ(Retract(kObject, number.get()), 1);
  EXPECT_EQ(Py_REFCNT(number.get()), references);
  EXPECT_EQ(Find(kObject, number.get()), nullptr);
  EXPECT_EQ(Destroyed()[value], 0) << "somebody may still be using it";
  const void *second = Address();
  EXPECT_EQ(Publish(kObject, number.get(), number, second), second);
  EXPECT_EQ(Py_REFCNT(number.get()), references + 1);
  EXPECT_EQ(Retract(kObject, number.get()), 1);
  EXPECT_EQ(Py_REFCNT(number.get()), references);
}

TEST_F(Owners, KeptObjectIsReallyKept) {
  Ref number = Ref::Steal(PyLong_FromLong(1234567));
  PyObject *const borrowed = number.get();
  const void *value = Address();
  Publish(kObject, borrowed, number, value);
  number.reset();
  EXPECT_EQ(PyLong_AsLong(borrowed), 1234567);
  EXPECT_EQ(Retract(kObject, borrowed), 1);
}

// A row that is refused must not keep the object alive.
TEST_F(Owners, ConflictKeepsNothing) {
  Ref number = Ref::Steal(PyLong_FromLong(55555)), owner = Owner();
  const Py_ssize_t references = Py_REFCNT(number.get());
  const void *value = Address();
  EXPECT_EQ(Publish(kObject, number.get(), owner, value), value);
  EXPECT_EQ(Publish(kObject, number.get(), number, Address()), value);
  EXPECT_EQ(Py_REFCNT(number.get()), references);
  EXPECT_EQ(Publish(kObject, number.get(), number, value), value);
  EXPECT_EQ(Py_REFCNT(number.get()), references + 1);
  owner.reset();
  EXPECT_EQ(Find(kObject, number.get()), value);
  EXPECT_EQ(Retract(kObject, number.get()), 1);
  EXPECT_EQ(Py_REFCNT(number.get()), references);
}

// An object that the table keeps alive cannot own other rows.
TEST_F(Owners, KeptObjectOwnsNoOtherRow) {
  Ref number = Ref::Steal(PyLong_FromLong(777777));
  const void *key = Address(), *value = Address();
  EXPECT_EQ(Publish(kObject, number.get(), number, value), value);
  const std::string refused = "TypeError: this 'int' object can own no other row";
  EXPECT_EQ(Publish(kDef, key, number, value), nullptr);
  EXPECT_EQ(TakeError(), refused);
  EXPECT_EQ(Publish(kObject, key, number, value), nullptr);
  EXPECT_EQ(TakeError(), refused);
  EXPECT_EQ(Retract(kObject, number.get()), 1);
}

TEST_F(Owners, RetractKeepsAPendingException) {
  Ref number = Ref::Steal(PyLong_FromLong(31415926));
  Publish(kObject, number.get(), number, Address());
  PyErr_SetString(PyExc_KeyError, "pending");
  EXPECT_EQ(Retract(kObject, number.get()), 1);
  EXPECT_EQ(TakeError(), "KeyError: 'pending'");
}

// Python code can call the callback of the weak reference. This must not remove the row.
TEST_F(Owners, CallbackCalledByHand) {
  Ref owner = Owner();
  scope_.Set("o", owner.get());
  const void *key = Address(), *value = Address();
  Publish(kDef, key, owner, value);
  ASSERT_TRUE(
      scope_.Run("[reference] = weakref.getweakrefs(o)\n"
                 "reference.__callback__(reference)\n"
                 "reference.__callback__(None)\n"));
  EXPECT_EQ(Find(kDef, key), value);
  EXPECT_EQ(Destroyed()[value], 0);
  scope_.Run("callback = reference.__callback__\ndel o");
  owner.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
  ASSERT_TRUE(scope_.Run("callback(reference)\n"));
  EXPECT_EQ(Destroyed()[value], 1);
}

// Python code that `destroy` runs may find the callback and call it again.
PyObject *callback_of_the_dying, *reference_to_the_dying;
void CallBack(const void *value) {
  Destroy(value);
  if (callback_of_the_dying == nullptr) return;
  Ref callback = Ref::Steal(std::exchange(callback_of_the_dying, nullptr));
  Ref result =
      Ref::Steal(PyObject_CallFunctionObjArgs(callback.get(), reference_to_the_dying, nullptr));
  EXPECT_TRUE(result) << TakeError();
}

TEST_F(Owners, DestroyCallsTheCallback) {
  Ref owner = Owner();
  std::array<const void *, 3> keys, values;
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = Address();
    values[i] = Address();
    EXPECT_EQ(Publish(kDef, keys[i], owner, values[i], CallBack), values[i]);
  }
  scope_.Set("o", owner.get());
  ASSERT_TRUE(scope_.Run("(reference,) = weakref.getweakrefs(o)\ndel o"));
  Ref reference = scope_.Eval("reference");
  reference_to_the_dying = reference.get();
  callback_of_the_dying = scope_.Eval("reference.__callback__").release();
  owner.reset();
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(Find(kDef, keys[i]), nullptr);
    EXPECT_EQ(Destroyed()[values[i]], 1);
  }
}

// `destroy` may use the interface. All rows of the dying owner are removed before `destroy` is
// called.
const PyTypedcall_Interface *reentered;
const void *other_key, *new_key;
PyObject *other_owner;
void Reenter(const void *value) {
  Destroy(value);
  EXPECT_EQ(reentered->retract(reentered->state, kDef, other_key), 0);
  EXPECT_EQ(reentered->publish(reentered->state, kDef, new_key, other_owner, value, nullptr,
                               nullptr, nullptr),
            1);
}

TEST_F(Owners, DestroyUsesTheInterface) {
  Ref owner = Owner(), other = Owner();
  const void *key = Address(), *value = Address(), *second = Address();
  reentered = interface_;
  other_key = Address();
  new_key = Address();
  other_owner = other.get();
  Publish(kDef, key, owner, value, Reenter);
  Publish(kDef, other_key, owner, second);
  owner.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Find(kDef, other_key), nullptr);
  EXPECT_EQ(Find(kDef, new_key), value);
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Destroyed()[second], 1);
}

// Any allocation can trigger a garbage collection.
TEST_F(Owners, CollectionsAtEveryAllocation) {
  ASSERT_TRUE(scope_.Run("threshold = gc.get_threshold()\ngc.set_threshold(1, 1, 1)"));
  for (int i = 0; i < 200; ++i) {
    Ref owner = Owner();
    const void *key = Address(), *value = Address();
    ASSERT_EQ(Publish(kDef, key, owner, value), value);
    owner.reset();
    ASSERT_EQ(Find(kDef, key), nullptr);
  }
  ASSERT_TRUE(scope_.Run("gc.set_threshold(*threshold)"));
}

}  // namespace
}  // namespace typedcall_test
