// Tests the interface between modules and its rows when memory runs out.
#include <deque>

#include "tests/memory/without_memory.h"

// When memory runs out, dict.setdefault of free-threaded CPython reports success without adding the
// item.
#ifndef Py_GIL_DISABLED

namespace typedcall_test {
namespace {

using Installing = WithoutMemory;

TEST_F(Installing, AnInterface) {
  Ref capsule;
  Sweep({"a new interface",
         [&] { return static_cast<bool>(capsule = Ref::Steal(PyTC_NewCapsule())); }, [] {},
         [&](bool) { capsule.reset(); }});
}

TEST_F(Installing, WhereThereIsNone) {
  Ref dict, kept;
  Sweep({"the first import", [&] { return PyTC_Meet(dict.get(), kept.get()) != nullptr; },
         [&] {
           dict = Ref::Steal(PyDict_New());
           kept = Ref::Steal(PyDict_New());
         },
         [&](bool) {
           PyObject *capsule = PyDict_GetItemString(kept.get(), PyTypedcall_CAPSULE_NAME);
           // This interface is not the interpreter's own, so it must not be restored or kept.
           if (capsule != nullptr) PyTC_StateIn(capsule)->is_installed = 0;
           EXPECT_NE(PyTC_Meet(dict.get(), kept.get()), nullptr) << TakeError();
           capsule = PyDict_GetItemString(kept.get(), PyTypedcall_CAPSULE_NAME);
           ASSERT_NE(capsule, nullptr);
           PyTC_StateIn(capsule)->is_installed = 0;
           dict.reset();
           kept.reset();
         }});
}

TEST_F(Installing, Again) {
  Sweep({"import", [&] { return PyTypedcall_Import() == interface_; }});
#if PY_VERSION_HEX < 0x030D0000  // failures break 3.13's sys.modules; see its dictresize()
  Sweep({"without the module", [&] { return PyTypedcall_Import() == interface_; },
         [] { PyDict_DelItemString(PyImport_GetModuleDict(), PyTypedcall_MODULE); },
         [&](bool) { EXPECT_EQ(PyTypedcall_Import(), interface_); }});
#endif
  Sweep({"await", [&] { return PyTypedcall_ImportLazily() == interface_; }});
  // Pretends that no module has installed an interface.
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  Swept wait = {"waiting", [&] { return PyTC_Waiting() != nullptr; }, [] {},
                [&](bool) {
                  PyErr_Clear();
                  if (PyDict_GetItemString(kept, PyTypedcall_PLACEHOLDER_NAME) != nullptr) {
                    PyDict_DelItemString(kept, PyTypedcall_PLACEHOLDER_NAME);
                  }
                }};
  wait.cpython_leaks = true;  // the placeholder is never freed
  Sweep(wait);
  Swept peek = {"peek", [&] { return PyTypedcall_Peek() == interface_; }};
  peek.is_silent = true;
  Sweep(peek);
}

using RowsSwept = WithoutMemory;

TEST_F(RowsSwept, Publishing) {
  Ref owner;
  const void *key = Address();
  const auto none = [&](bool succeeded) {
    EXPECT_EQ(Find(PyTypedcall_BY_DEF, key) == &value_, succeeded);
    owner.reset();
    EXPECT_EQ(Find(PyTypedcall_BY_DEF, key), nullptr);
    EXPECT_EQ(value_, succeeded ? 1 : 0);
    EXPECT_EQ(PyDict_Size(State()->owners), 0);
    value_ = other_ = 0;
  };
  const auto make = [&] { owner = Owner(); };
  Sweep({"publish", [&] { return Put(PyTypedcall_BY_DEF, key, owner) == &value_; }, make, none});
  Ref kept = Owner();
  Swept with_kept = {"publish, and keep",
                     [&] {
                       return interface_->publish(interface_->state, PyTypedcall_BY_DEF, key,
                                                  owner.get(), &value_, nullptr, Ended,
                                                  kept.get()) == 1;
                     },
                     make, none};
  with_kept.counted = {kept.get()};
  Sweep(with_kept);
}

TEST_F(RowsSwept, PublishingAnEqualOne) {
  const void *key = Address();
  Ref first, owner;
  Ref kept = Owner();
  Swept equal = {"an equal row",
                 [&] {
                   return interface_->publish(interface_->state, PyTypedcall_BY_DEF, key,
                                              owner.get(), &other_, Equal, Ended, kept.get()) == 0;
                 },
                 [&] {
                   owner = Owner();
                   first = Owner();
                   EXPECT_EQ(Put(PyTypedcall_BY_DEF, key, first), &value_);
                 },
                 [&](bool succeeded) {
                   first.reset();
                   EXPECT_EQ(Find(PyTypedcall_BY_DEF, key), succeeded ? &value_ : nullptr);
                   owner.reset();
                   EXPECT_EQ(Find(PyTypedcall_BY_DEF, key), nullptr);
                   EXPECT_EQ(value_, 1);
                   EXPECT_EQ(other_, 0);
                   EXPECT_EQ(PyDict_Size(State()->owners), 0);
                   value_ = other_ = 0;
                 }};
  equal.counted = {kept.get()};
  Sweep(equal);
}

TEST_F(RowsSwept, AnObjectThatIsKept) {
  Ref number = Ref::Steal(PyLong_FromLong(987654));
  Swept kept = {
      "an object without weak references",
      [&] {
        return Publish(PyTypedcall_BY_OBJECT, number.get(), number, &value_, nullptr) == &value_;
      },
      [] {},
      [&](bool succeeded) {
        EXPECT_EQ(Retract(PyTypedcall_BY_OBJECT, number.get()), succeeded);
        EXPECT_EQ(PyDict_Size(State()->owners), 0);
        // A retracted row without an owner is kept until the interpreter ends.
        PyTC_Row *row = PyTC_TableRows(&State()->tables[PyTypedcall_BY_OBJECT], number.get());
        if (row != nullptr) {
          PyTC_TakeOut(State(), row);
          PyTC_LetRowGo(row);
        }
      }};
  kept.counted = {number.get()};
  Sweep(kept);
}

// A retracted row without an owner is revived, and retracted again if that fails.
TEST_F(RowsSwept, AnObjectThatIsKeptAgain) {
  Ref number = Ref::Steal(PyLong_FromLong(987655));
  Ref kept = Owner();
  const auto publish = [&] {
    return interface_->publish(interface_->state, PyTypedcall_BY_OBJECT, number.get(), number.get(),
                               &value_, nullptr, nullptr, kept.get());
  };
  Swept again = {
      "an object that comes back", [&] { return publish() == 1; },
      [&] {
        EXPECT_EQ(publish(), 1);
        EXPECT_EQ(Retract(PyTypedcall_BY_OBJECT, number.get()), 1);
      },
      [&](bool succeeded) {
        EXPECT_EQ(Find(PyTypedcall_BY_OBJECT, number.get()), succeeded ? &value_ : nullptr);
        EXPECT_EQ(Retract(PyTypedcall_BY_OBJECT, number.get()), succeeded);
        EXPECT_EQ(PyDict_Size(State()->owners), 0);
        PyTC_Row *row = PyTC_TableRows(&State()->tables[PyTypedcall_BY_OBJECT], number.get());
        ASSERT_NE(row, nullptr);
        PyTC_TakeOut(State(), row);
        PyTC_LetRowGo(row);
      }};
  again.counted = {number.get(), kept.get()};
  Sweep(again);
}

// The object's dictionary holds the keeper. If it cannot, the table does.
TEST_F(RowsSwept, AnObjectThatHostsItsKeeper) {
  Ref object, kept = scope_.Eval("tuple(Owner() for i in range(5))");
  Swept hosts = {
      "an object with a dictionary",
      [&] {
        return interface_->publish(interface_->state, PyTypedcall_BY_OBJECT, object.get(),
                                   object.get(), &value_, nullptr, Ended, kept.get()) == 1;
      },
      [&] { object = Owner(); },
      [&](bool succeeded) {
        EXPECT_EQ(Find(PyTypedcall_BY_OBJECT, object.get()), succeeded ? &value_ : nullptr);
        object.reset();
        EXPECT_EQ(value_, succeeded);
        EXPECT_EQ(PyDict_Size(State()->owners), 0);
        value_ = 0;
      }};
  hosts.counted = {PyTuple_GET_ITEM(kept.get(), 0), PyTuple_GET_ITEM(kept.get(), 4)};
  Sweep(hosts);
}

TEST_F(RowsSwept, ManyRows) {
  // With this many keys the table must grow.
  Ref owner;
  std::deque<int> keys(13);
  Sweep({"the thirteenth row",
         [&] { return Publish(PyTypedcall_BY_DEF, &keys[12], owner, &value_, nullptr) == &value_; },
         [&] {
           owner = Owner();
           for (int i = 0; i < 12; ++i)
             Publish(PyTypedcall_BY_DEF, &keys[static_cast<size_t>(i)], owner, &value_, nullptr);
         },
         [&](bool succeeded) {
           for (int i = 0; i < 13; ++i) {
             EXPECT_EQ(Find(PyTypedcall_BY_DEF, &keys[static_cast<size_t>(i)]),
                       i < 12 || succeeded ? &value_ : nullptr);
           }
           owner.reset();
           PyTC_TableFree(&State()->tables[PyTypedcall_BY_DEF]);
         }});
}

TEST_F(RowsSwept, Holding) {
  const void *key = Address(), *found;
  ASSERT_EQ(Put(PyTypedcall_BY_DEF, key, owner_), &value_);
  Ref callable = Owner(), held;
  Swept hold = {"hold",
                [&] {
                  held = Ref::Steal(interface_->hold(interface_->state, PyTypedcall_BY_DEF, key,
                                                     callable.get(), &found));
                  return held && found == &value_;
                },
                [] {},
                [&](bool succeeded) {
                  EXPECT_EQ(found, succeeded ? &value_ : nullptr);
                  held.reset();
                }};
  hold.counted = {callable.get(), owner_.get(),
                  reinterpret_cast<PyObject *>(State()->reference_type)};
#if PY_VERSION_HEX >= 0x030D0000 && defined(Py_GIL_DISABLED)
  hold.counted.pop_back();  // each thread has its own reference count for it
#endif
  Sweep(hold);
}

TEST_F(RowsSwept, ReplacingAndExchanging) {
  const void *key = Address();
  Ref owner;
  const auto done = [&](bool succeeded) {
    EXPECT_EQ(Find(PyTypedcall_BY_TYPE, key), succeeded ? &other_ : &value_);
    owner.reset();
    EXPECT_EQ(Find(PyTypedcall_BY_TYPE, key), nullptr);
    EXPECT_EQ(other_, succeeded);
    EXPECT_EQ(value_, 1);
    value_ = other_ = 0;
  };
  const auto make = [&] {
    owner = Owner();
    Put(PyTypedcall_BY_TYPE, key, owner);
  };
  Sweep({"exchange",
         [&] {
           return interface_->exchange(interface_->state, PyTypedcall_BY_TYPE, key, owner.get(),
                                       &value_, &other_, Ended) == 1;
         },
         make, done});
}

// These functions never fail.
TEST_F(RowsSwept, Going) {
  const void *key = Address();
  Ref owner;
  Swept dies = {"an owner dies",
                [&] {
                  owner.reset();
                  return Find(PyTypedcall_BY_DEF, key) == nullptr && value_ == 1;
                },
                [&] {
                  owner = Owner();
                  Put(PyTypedcall_BY_DEF, key, owner);
                },
                [&](bool) { value_ = 0; }};
  dies.keeps_free_lists = true;
  Sweep(dies);
  Ref held;
  const void *found;
  dies.name = "a reference dies";
  dies.call = [&] {
    held.reset();
    return value_ == 1;
  };
  dies.before = [&] {
    owner = Owner();
    Put(PyTypedcall_BY_DEF, key, owner);
    held =
        Ref::Steal(interface_->hold(interface_->state, PyTypedcall_BY_DEF, key, nullptr, &found));
    owner.reset();
    EXPECT_EQ(value_, 0);
  };
  Sweep(dies);
  Swept retract = {"retract", [&] { return Retract(PyTypedcall_BY_DEF, key) == 1; },
                   [&] {
                     owner = Owner();
                     Put(PyTypedcall_BY_DEF, key, owner);
                   },
                   [&](bool) {
                     owner.reset();
                     EXPECT_EQ(Find(PyTypedcall_BY_DEF, key), nullptr);
                   }};
  Sweep(retract);
}

}  // namespace
}  // namespace typedcall_test

#endif
