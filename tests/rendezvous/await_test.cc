// Tests a consumer that is loaded before any provider. Each test has its own interpreter.
#include "gtest/gtest.h"
#include "tests/rendezvous/await_provider.h"
#include "tests/support/embedded.h"
#include "tests/support/memory.h"
#include "typedcall/call_site.h"
#include "typedcall/resolve.h"

#ifdef TYPEDCALL_CORE_RENDEZVOUS_H_
#error "a consumer compiles what only providers need"
#endif

namespace typedcall_test {
namespace {

double Twice(double x) { return 2 * x; }
const PyNativeCallableTable kTwice = {1, {{"d->d", 0, reinterpret_cast<void *>(Twice)}}};

class Await : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(StopPython(), 0);
    StartPython();
    ASSERT_EQ(PyTypedcall_Peek(), nullptr);
    waiting_ = PyTypedcall_Import();
    ASSERT_NE(waiting_, nullptr) << TakeError();
    scope_.emplace();
    scope_->Run(
        "import math\n"
        "class Callable:\n"
        "  def __call__(self, x): return x\n"
        "one = Callable()");
  }
  void TearDown() override { scope_.reset(); }

  bool Finds(PyObject *callable) const {
    const auto found = typedcall::find<double(double)>(waiting_, callable);
    EXPECT_EQ(TakeError(), "");
    return found && found(4.0) == 8.0;
  }

  const PyTypedcall_Interface *waiting_ = nullptr;
  std::optional<Scope> scope_;
};

TEST_F(Await, InstallsNothingAndIsTheSameForAll) {
  EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  EXPECT_EQ(PyTypedcall_Import(), waiting_);
  EXPECT_EQ(PyTypedcall_ImportLazily(), waiting_);
  EXPECT_EQ(PyTypedcall_Installed(waiting_), nullptr);
  EXPECT_EQ(PyTypedcall_Installed(nullptr), nullptr);
  EXPECT_TRUE(PyTypedcall_IsUsable(waiting_));
  scope_->Run("import sys\nassert '_extensibletype' not in sys.modules");
}

TEST_F(Await, WhatIsInstalledIsTakenAsItIs) {
  const PyTypedcall_Interface *installed = Install();
  ASSERT_NE(installed, nullptr);
  EXPECT_NE(installed, waiting_);
  EXPECT_EQ(PyTypedcall_ImportLazily(), installed);
  EXPECT_EQ(PyTypedcall_Installed(waiting_), installed);
  EXPECT_EQ(PyTypedcall_Installed(installed), installed);
}

TEST_F(Await, WhoCameFirstFindsWhatIsTaggedLater) {
  Ref sin = scope_->Eval("math.sin"), one = scope_->Eval("one");
  EXPECT_FALSE(Finds(sin.get()));
  EXPECT_FALSE(Finds(one.get()));
  EXPECT_FALSE(typedcall::resolve<double(double)>(waiting_, sin.get()));
  EXPECT_EQ(
      TakeError(),
      "TypeError: sin offers no native signature; 'd->d' was asked for: it has no tag: tag it with "
      "typedcall.tag() in Python, typedcall/tag.h in C");
  const PyTypedcall_Interface *installed = Install();
  ASSERT_EQ(TagWith(installed, sin.get(), &kTwice), 1) << TakeError();
  ASSERT_EQ(TagWith(installed, one.get(), &kTwice), 1) << TakeError();
  EXPECT_TRUE(Finds(sin.get()));
  EXPECT_TRUE(Finds(one.get()));
}

TEST_F(Await, WhatIsFoundIsHeld) {
  const PyTypedcall_Interface *installed = Install();
  Ref one = scope_->Eval("one");
  ASSERT_EQ(TagWith(installed, one.get(), &kTwice), 1);
  auto found = typedcall::resolve(waiting_, one.get(), "d->d");
  ASSERT_TRUE(found) << TakeError();
  scope_->Run("import weakref\ngone = weakref.ref(one)\ndel one");
  one.reset();
  scope_->Run("assert gone() is not None");
  found.reset();
  Collect();
  scope_->Run("assert gone() is None");
}

TEST_F(Await, CallSitesNoticeWithoutLookingEachTime) {
  Ref sin = scope_->Eval("math.sin"), cos = scope_->Eval("math.cos");
  typedcall::call_site<double(double)> site(waiting_);
  for (int turn = 0; turn < 3; ++turn) EXPECT_FALSE(site.find(sin.get()));
  ASSERT_EQ(TagWith(Install(), sin.get(), &kTwice), 1);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_TRUE(site.find(sin.get()));
    EXPECT_FALSE(site.find(cos.get()));
  }
  ASSERT_EQ(Untag(PyTypedcall_Peek(), sin.get()), 1);
  EXPECT_FALSE(site.find(sin.get()));
  ASSERT_EQ(TagWith(PyTypedcall_Peek(), cos.get(), &kTwice), 1);
  EXPECT_TRUE(site.find(cos.get()));
}

TEST_F(Await, ItsCountersBecomeThoseOfTheInstalledOne) {
  const auto epoch = [this] {
    const PyTypedcall_Counters *live = waiting_->live_counters;
    return live->rows_added + live->rows_removed;
  };
  const std::uint64_t before = epoch();
  const PyTypedcall_Interface *installed = Install();
  EXPECT_EQ(waiting_->live_counters, installed->live_counters);
  Ref sin = scope_->Eval("math.sin");
  ASSERT_EQ(TagWith(waiting_, sin.get(), &kTwice), 1) << TakeError();
  const std::uint64_t tagged = epoch();
  EXPECT_NE(tagged, before);
  ASSERT_EQ(Untag(waiting_, sin.get()), 1);
  EXPECT_NE(epoch(), tagged);
}

TEST_F(Await, AnotherInterpretersIsNotTaken) {
  PyThreadState *here = PyThreadState_Get();
  PyThreadState *there = Py_NewInterpreter();
  ASSERT_NE(there, nullptr);
  EXPECT_NE(Install(), nullptr);
  EXPECT_EQ(PyTypedcall_Installed(waiting_), nullptr);
  EXPECT_EQ(waiting_->find(waiting_->state, PyTypedcall_BY_OBJECT, &kTwice), nullptr);
  EXPECT_NE(PyTypedcall_ImportLazily(), waiting_);
  Py_EndInterpreter(there);
  PyThreadState_Swap(here);
  EXPECT_EQ(PyTypedcall_Installed(waiting_), nullptr);
  Ref sin = scope_->Eval("math.sin");
  ASSERT_EQ(TagWith(Install(), sin.get(), &kTwice), 1) << TakeError();
  EXPECT_TRUE(Finds(sin.get()));
}

TEST_F(Await, EveryFunctionDoesWhatTheInstalledOneDoes) {
  const PyTypedcall_Interface *waiting = waiting_;
  Ref one = scope_->Eval("one"), sin = scope_->Eval("math.sin"), none = scope_->Eval("()");
  const char *const unavailable =
      "RuntimeError: typedcall: no module has installed the interface (core/rendezvous.h)";
  const void *value = &value;
  PyTypedcall_Counters counters = {1, 1, 1, 1};
  const auto equal = [](const void *, const void *) { return 0; };
  const auto destroy = [](const void *) {};
  void *const state = waiting->state;
  const int space = PyTypedcall_BY_OBJECT;
  EXPECT_EQ(waiting->metaclass(state), nullptr);
  EXPECT_EQ(waiting->find(state, space, one.get()), nullptr);
  EXPECT_EQ(waiting->hold(state, space, one.get(), nullptr, &value), nullptr);
  EXPECT_EQ(value, nullptr);
  EXPECT_EQ(waiting->retract(state, space, one.get()), 0);
  waiting->counters(state, &counters, sizeof(counters));
  EXPECT_EQ(counters.rows_added, 0u);
  EXPECT_EQ(TakeError(), "");
  EXPECT_EQ(waiting->resolve(state, &PyLong_Type, nullptr, 0), -1);
  EXPECT_EQ(TakeError(), unavailable);
  EXPECT_EQ(waiting->publish(state, space, one.get(), one.get(), &kTwice, equal, destroy, nullptr),
            -1);
  EXPECT_EQ(TakeError(), unavailable);
  EXPECT_EQ(waiting->slot_id(state, "await.idea"), 0u);
  EXPECT_EQ(TakeError(), unavailable);
  EXPECT_EQ(waiting->ready_static(state, &PyLong_Type, 0), -1);
  EXPECT_EQ(TakeError(), unavailable);
  EXPECT_EQ(waiting->combined_metaclass(state, none.get()), nullptr);
  EXPECT_EQ(TakeError(), unavailable);
  EXPECT_EQ(
      waiting->exchange(state, PyTypedcall_BY_TYPE, &value, one.get(), &kTwice, &value, destroy),
      -1);
  EXPECT_EQ(TakeError(), unavailable);

  const PyTypedcall_Interface *installed = Install();
  ASSERT_NE(installed, nullptr);
  EXPECT_EQ(waiting->metaclass(state), installed->metaclass(installed->state));
  EXPECT_EQ(waiting->publish(state, space, one.get(), one.get(), &kTwice, equal, nullptr, nullptr),
            1);
  EXPECT_EQ(waiting->find(state, space, one.get()), &kTwice);
  EXPECT_EQ(installed->find(installed->state, space, one.get()), &kTwice);
  Ref held = Ref::Steal(waiting->hold(state, space, one.get(), nullptr, &value));
  EXPECT_TRUE(held);
  EXPECT_EQ(value, &kTwice);
  waiting->counters(state, &counters, sizeof(counters));
  EXPECT_EQ(counters.rows_added, 1u);
  EXPECT_EQ(waiting->retract(state, space, one.get()), 1);
  EXPECT_EQ(TagWith(waiting, sin.get(), &kTwice), 1);
  EXPECT_EQ(Untag(waiting, sin.get()), 1);
  const std::uintptr_t id = waiting->slot_id(state, "await.idea");
  EXPECT_NE(id, 0u);
  EXPECT_EQ(id, installed->slot_id(installed->state, "await.idea"));
  EXPECT_EQ(waiting->resolve(state, &PyLong_Type, nullptr, 0), -1);
  EXPECT_EQ(TakeError().rfind("TypeError", 0), 0u);
  Ref combined =
      Ref::Borrow(reinterpret_cast<PyObject *>(waiting->combined_metaclass(state, none.get())));
  EXPECT_TRUE(combined) << TakeError();
  static char key;
  EXPECT_EQ(waiting->publish(state, PyTypedcall_BY_TYPE, &key, combined.get(), &kTwice, nullptr,
                             nullptr, nullptr),
            1);
  EXPECT_EQ(
      waiting->exchange(state, PyTypedcall_BY_TYPE, &key, combined.get(), &kTwice, &value, nullptr),
      1);
  EXPECT_EQ(waiting->find(state, PyTypedcall_BY_TYPE, &key), &value);
  EXPECT_EQ(TakeError(), "");
}

int times_read;
const void *Read(const PyMethodDef *def) {
  ++times_read;
  return def->ml_doc;
}

TEST_F(Await, SiblingSymbolsAreReadOnce) {
  static PyMethodDef defs[] = {{"a", nullptr, 0, "what a offers"}, {"b", nullptr, 0, nullptr}};
  times_read = 0;
  const auto ask = [](const PyTypedcall_Interface *interface, const PyMethodDef &def) {
    return interface->sibling(interface->state, &def, Read);
  };
  for (const PyTypedcall_Interface *interface : {waiting_, Install()}) {
    times_read = 0;
    for (int turn = 0; turn < 3; ++turn) {
      for (const PyMethodDef &def : defs) EXPECT_EQ(ask(interface, def), def.ml_doc);
    }
    EXPECT_EQ(times_read, 2);
    // A different function now has the same address.
    const PyMethodDef old = defs[0];
    defs[0].ml_name = "c";
    defs[0].ml_doc = "what c offers";
    EXPECT_EQ(ask(interface, defs[0]), defs[0].ml_doc);
    EXPECT_EQ(times_read, 3);
    defs[0] = old;
    times_read = 0;
    PyMethodDef many[3000] = {};
    for (PyMethodDef &def : many) {
      def.ml_doc = reinterpret_cast<const char *>(&def);
      EXPECT_EQ(ask(interface, def), def.ml_doc);
    }
    EXPECT_EQ(times_read, 3000);
    for (PyMethodDef &def : many) EXPECT_EQ(ask(interface, def), def.ml_doc);
    EXPECT_LT(times_read, 5000);
  }
}

TEST_F(Await, OtherThingsUnderTheNamesAreRefused) {
  scope_->Run(
      "import sys, types\n"
      "other = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')\n"
      "other.typedcall_v2 = 5");
  EXPECT_EQ(PyTypedcall_ImportLazily(), nullptr);
  EXPECT_EQ(
      TakeError(),
      "ImportError: _extensibletype.typedcall_v2 is a 'int' instead of typedcall's interface");
  // resolve() passes the exception on unchanged.
  Ref sin = scope_->Eval("math.sin");
  EXPECT_FALSE(typedcall::resolve<double(double)>(PyTypedcall_ImportLazily(), sin.get()));
  EXPECT_EQ(TakeError().rfind("ImportError", 0), 0u);
  scope_->Run("del sys.modules['_extensibletype']");

  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  Ref number = scope_->Eval("5");
  Ref capsule = Ref::Borrow(PyDict_GetItemString(kept, PyTypedcall_PLACEHOLDER_NAME));
  ASSERT_EQ(PyDict_SetItemString(kept, PyTypedcall_PLACEHOLDER_NAME, number.get()), 0);
  EXPECT_EQ(PyTypedcall_ImportLazily(), nullptr);
  EXPECT_EQ(TakeError(),
            "ImportError: _extensibletype.typedcall_placeholder_v2 is not typedcall's capsule");
  // The consumer is not notified, but its next search finds the interface.
  ASSERT_EQ(TagWith(Install(), sin.get(), &kTwice), 1);
  EXPECT_TRUE(Finds(sin.get()));
}

TEST_F(Await, StaysUsableWhenTheInterpretersDictionaryIsEmptied) {
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  ASSERT_EQ(PyDict_DelItemString(kept, PyTypedcall_PLACEHOLDER_NAME), 0);
  Ref sin = scope_->Eval("math.sin");
  EXPECT_FALSE(Finds(sin.get()));
  typedcall::call_site<double(double)> site(waiting_);
  EXPECT_FALSE(site.find(sin.get()));
  EXPECT_NE(PyTypedcall_ImportLazily(), nullptr);
  ASSERT_EQ(TagWith(Install(), sin.get(), &kTwice), 1);
  EXPECT_TRUE(Finds(sin.get()));
  EXPECT_TRUE(site.find(sin.get()));
}

// Two modules make a placeholder at the same time.
int awaits_before_other;
PyObject *Compare(PyObject *, PyObject *) {
  if (--awaits_before_other == 0) {
    EXPECT_NE(PyTypedcall_ImportLazily(), nullptr) << TakeError();
  }
  Py_RETURN_NONE;
}

TEST_F(Await, OneThatComesTooLateIsLetGo) {
  static PyMethodDef def = {"compare", Compare, METH_O, nullptr};
  PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  scope_->Set("compare", Ref::Steal(PyCFunction_New(&def, nullptr)).get());
  scope_->Run(
      "class Key:\n"
      "  def __hash__(self): return hash('" PyTypedcall_PLACEHOLDER_NAME
      "')\n"
      "  def __eq__(self, other): return bool(compare(other))\n");
  Ref key = scope_->Eval("Key()");
  std::size_t blocks[2];
  for (const bool at_once : {false, true}) {
    PyDict_Clear(kept);
    ASSERT_EQ(PyDict_SetItem(kept, key.get(), Py_None), 0);
    awaits_before_other = at_once ? 2 : 0;  // the second comparison stores the placeholder
    Memory memory;
    const PyTypedcall_Interface *interface = PyTypedcall_ImportLazily();
    blocks[at_once] = memory.Blocks(Memory::kRaw);
    EXPECT_LE(awaits_before_other, 0);
    EXPECT_EQ(interface, PyTypedcall_ImportLazily()) << TakeError();
  }
  EXPECT_GE(blocks[false], 1u);
  EXPECT_EQ(blocks[true], blocks[false]);
  PyDict_Clear(kept);
}

}  // namespace
}  // namespace typedcall_test
