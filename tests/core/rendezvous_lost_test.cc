// Tests interfaces that have lost their capsule or their metaclass: when the interpreter ends,
// because of Python code, or because memory ran out. Each case has its own interpreter.
#include <optional>

#include "tests/core/extensible.h"
#include "tests/core/rows.h"
#include "tests/core/subinterpreter.h"
#include "tests/support/memory.h"

namespace typedcall_test {
namespace {

PyObject *OwnDict() { return PyInterpreterState_GetDict(PyInterpreterState_Get()); }

class Lost : public testing::Test {
 protected:
  void SetUp() override { Begin(); }
  void TearDown() override {
    EXPECT_EQ(TakeError(), "");
    End();
  }

  // Starts another interpreter, in which nothing is installed.
  void Begin() {
    End();
    interpreter_.emplace();
    ASSERT_TRUE(interpreter_->Entered());
    scope_.emplace();
    ASSERT_TRUE(scope_->Run("import sys, types"));
    key_ = Ref::Steal(PyUnicode_FromString(PyTypedcall_CAPSULE_NAME));
  }
  void End() {
    key_.reset();
    scope_.reset();
    interpreter_.reset();
  }

  std::optional<Subinterpreter> interpreter_;
  std::optional<Scope> scope_;
  Ref key_;
};

// Python code may empty `sys` while the interpreter runs. Only if both attributes are gone does the
// interface take this for the interpreter's end.
TEST_F(Lost, WhatIsLeftOfSys) {
  const char kDelete[] = "";
  const struct {
    const char *modules, *version;
    bool is_running;
  } cases[] = {{"{}", kDelete, true},    {kDelete, "5", true},     {"None", "5", true},
               {"None", "None", false},  {"None", kDelete, false}, {kDelete, "None", false},
               {kDelete, kDelete, false}};
  for (const auto &each : cases) {
    SCOPED_TRACE(std::string(each.modules) + " and " + each.version);
    Begin();
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    ASSERT_NE(interface, nullptr) << TakeError();
    Ref dict = Ref::Borrow(PyModule_GetDict(scope_->Eval("sys.modules['_extensibletype']").get()));
    Ref modules = Ref::Borrow(PySys_GetObject("modules"));
    Ref version = Ref::Borrow(PySys_GetObject("hexversion"));
    const auto value = [&](const char *text) { return *text ? scope_->Eval(text) : Ref(); };
    Ref other_modules = value(each.modules), other_version = value(each.version);
    PySys_SetObject("modules", other_modules.get());
    PySys_SetObject("hexversion", other_version.get());
    PyDict_Clear(dict.get());
    EXPECT_EQ(PyDict_DelItem(OwnDict(), key_.get()), 0);
    PySys_SetObject("modules", modules.get());
    PySys_SetObject("hexversion", version.get());
    EXPECT_EQ(interface->metaclass(interface->state) != nullptr, each.is_running);
    EXPECT_EQ(PyTypedcall_Peek(), each.is_running ? interface : nullptr);
  }
}

TEST_F(Lost, EveryFunctionOfAnEndingInterface) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  Ref combined = scope_->Eval("sys.modules['_extensibletype'].combined_metaclass");
  Ref owner = scope_->Eval("types.SimpleNamespace()");
  Ref modules = Ref::Borrow(PySys_GetObject("modules"));
  Ref version = Ref::Borrow(PySys_GetObject("hexversion"));
  scope_->Set("module", scope_->Eval("sys.modules['_extensibletype']").get());
  PySys_SetObject("modules", nullptr);
  PySys_SetObject("hexversion", nullptr);
  scope_->Run("module.__dict__.clear()");
  ASSERT_EQ(PyDict_DelItem(OwnDict(), key_.get()), 0);
  PySys_SetObject("modules", modules.get());
  PySys_SetObject("hexversion", version.get());

  void *state = interface->state;
  const char kEnding[] = "RuntimeError: typedcall: the interpreter is ending";
  static const int value = 0;
  Ref none = Ref::Steal(PyTuple_New(0));
  EXPECT_EQ(interface->metaclass(state), nullptr);
  EXPECT_EQ(interface->resolve(state, &PyLong_Type, nullptr, 0), -1);
  EXPECT_EQ(TakeError(), kEnding);
  EXPECT_EQ(interface->slot_id(state, "name"), 0u);
  EXPECT_EQ(TakeError(), kEnding);
  EXPECT_EQ(interface->ready_static(state, &PyLong_Type, 0), -1);
  EXPECT_EQ(TakeError(), kEnding);
  EXPECT_EQ(interface->combined_metaclass(state, none.get()), nullptr);
  EXPECT_EQ(TakeError(), kEnding);
  EXPECT_EQ(PyObject_CallObject(combined.get(), nullptr), nullptr);
  EXPECT_EQ(TakeError(), kEnding);
  for (PyObject *kept : {static_cast<PyObject *>(nullptr), none.get()}) {
    EXPECT_EQ(interface->publish(state, PyTypedcall_BY_DEF, &value, owner.get(), &value, nullptr,
                                 nullptr, kept),
              -1);
    EXPECT_EQ(TakeError(), kEnding);
  }
  EXPECT_EQ(
      interface->exchange(state, PyTypedcall_BY_TYPE, &value, owner.get(), &value, &value, nullptr),
      -1);
  EXPECT_EQ(TakeError(), kEnding);
  const void *found = &value;
  EXPECT_EQ(interface->hold(state, PyTypedcall_BY_DEF, &value, nullptr, &found), nullptr);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(interface->find(state, PyTypedcall_BY_DEF, &value), nullptr);
  EXPECT_EQ(interface->retract(state, PyTypedcall_BY_DEF, &value), 0);
  EXPECT_EQ(TakeError(), "");
}

PyTypeObject *NoMetaclass(void *) { return nullptr; }

// Another implementation of the interface may already have released its metaclass.
TEST_F(Lost, AnInterfaceWithoutAMetaclass) {
  static PyTypedcall_Interface ending = {};
  ending.abi_major = PyTypedcall_ABI_MAJOR;
  ending.size = sizeof(ending);
  ending.metaclass = NoMetaclass;
  Ref capsule = Ref::Steal(PyCapsule_New(&ending, PyTypedcall_CAPSULE_NAME, nullptr));
  scope_->Set("capsule", capsule.get());
  ASSERT_TRUE(
      scope_->Run("m = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')\n"
                  "m.typedcall_v2 = capsule\n"));
  EXPECT_EQ(PyTypedcall_Peek(), &ending);
  EXPECT_EQ(PyTypedcall_Import(), nullptr);
  EXPECT_EQ(TakeError(), "ImportError: typedcall: the interpreter is ending");
}

// When memory runs out, dict.setdefault of free-threaded CPython reports success without adding the
// item.
#ifndef Py_GIL_DISABLED

// Modules that have the interface keep using it, even if its capsule cannot be put back.
TEST_F(Lost, NoMemoryToComeBack) {
  bool was_refused = true;
  int lost = 0;
  for (std::size_t first = 0; was_refused; ++first) {
    ASSERT_LT(first, 20u) << "it never succeeds";
    Begin();
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    ASSERT_NE(interface, nullptr) << TakeError();
    PyTypeObject *metaclass = interface->metaclass(interface->state);
    PyDict_Clear(PyModule_GetDict(scope_->Eval("sys.modules['_extensibletype']").get()));
    PyErr_SetString(PyExc_KeyError, "pending");
    {
      Memory memory;
      memory.EmptyFreeLists();
      memory.Refuse(first, 1);
      EXPECT_EQ(PyDict_DelItem(OwnDict(), key_.get()), 0);
      was_refused = memory.Stop();
    }
    EXPECT_EQ(TakeError(), "KeyError: 'pending'");
    EXPECT_EQ(interface->metaclass(interface->state), metaclass);
    if (was_refused && PyTypedcall_Peek() == nullptr) {
      ++lost;
    } else {  // `sys` is read twice if memory runs out
      EXPECT_EQ(PyTypedcall_Peek(), interface);
    }
  }
  EXPECT_GT(lost, 0);
}

// CPython creates an interpreter's own dictionary on the first request.
TEST_F(Lost, NoMemoryForTheDictionary) {
  for (const bool installs : {false, true}) {
    if (installs && PY_VERSION_HEX >= 0x030D0000) break;  // failures break 3.13's sys.modules
    for (std::size_t first = 0; first < (installs ? 16u : 4u); ++first) {
      Begin();
      const auto get = [&] { return installs ? PyTypedcall_Import() : PyTypedcall_ImportLazily(); };
      const PyTypedcall_Interface *interface;
      {
        Memory memory;
        memory.EmptyFreeLists();
        memory.Refuse(first);
        interface = get();
        memory.Stop();
      }
      // CPython 3.9 clears the error if it cannot make the dictionary.
      const std::string error = TakeError().substr(0, 11);
      EXPECT_EQ(error == "MemoryError" || error == "ImportError", interface == nullptr) << error;
      EXPECT_NE(get(), nullptr) << TakeError();
    }
  }
}

// If it cannot grow a dictionary, CPython 3.13's setdefault adds half an item, but reports success.
TEST_F(Lost, NoMemoryToGrowTheDictionary) {
  for (int items = 0; items < 6; ++items) {
    bool was_refused = true;
    for (std::size_t first = 0; was_refused; ++first) {
      SCOPED_TRACE(std::to_string(items) + " items, allocation " + std::to_string(first));
      ASSERT_LT(first, 20u) << "it never succeeds";
      Begin();
      scope_->Set("own", OwnDict());
      scope_->Set("number", Ref::Steal(PyLong_FromLong(items)).get());
      ASSERT_TRUE(scope_->Run("own.update({str(i): i for i in range(number)})"));
      const PyTypedcall_Interface *interface;
      {
        Memory memory;
        memory.EmptyFreeLists();
        memory.Refuse(first);
        interface = PyTypedcall_ImportLazily();
        was_refused = memory.Stop();
      }
      EXPECT_TRUE(was_refused || interface != nullptr);
      EXPECT_EQ(TakeError(), interface == nullptr ? "MemoryError: " : "");
      EXPECT_TRUE(scope_->Eval("len(own) == len([*own])").get() == Py_True);
    }
  }
}

#endif

TEST_F(Lost, APlaceholderIsToldTwice) {
  const PyTypedcall_Interface *waiting = PyTypedcall_ImportLazily();
  ASSERT_NE(waiting, nullptr) << TakeError();
  EXPECT_EQ(PyTypedcall_Installed(waiting), nullptr);
  const std::uint64_t before = waiting->live_counters->rows_added;
  const PyTypedcall_Counters *own = waiting->live_counters;
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  PyTC_TellWaiting(OwnDict(), interface);
  EXPECT_EQ(PyTypedcall_Installed(waiting), interface);
  EXPECT_EQ(waiting->live_counters, interface->live_counters);
  EXPECT_EQ(own->rows_added, before + 1) << "caches notice the installation once";
}

TEST_F(Lost, StaticTypesOfAPlaceholder) {
  const PyTypedcall_Interface *waiting = PyTypedcall_ImportLazily();
  ASSERT_NE(waiting, nullptr) << TakeError();
  EXPECT_EQ(waiting->ready_static(waiting->state, &PyLong_Type, 0), -1);
  EXPECT_EQ(TakeError(),
            "RuntimeError: typedcall: no module has installed the interface (core/rendezvous.h)");
  ASSERT_NE(PyTypedcall_Import(), nullptr) << TakeError();
  EXPECT_EQ(waiting->ready_static(waiting->state, &PyLong_Type, 0), -1);
  EXPECT_EQ(TakeError().substr(0, 12), "ImportError:");
}

#if PY_VERSION_HEX < 0x030C0000  // later versions collect garbage only between bytecodes
bool is_armed = false;

// The garbage collector runs Python code inside an allocation, and this code installs an interface.
TEST_F(Lost, InstalledWhileAnotherIsMade) {
  static PyMethodDef def = {"install",
                            [](PyObject *, PyObject *) -> PyObject * {
                              if (std::exchange(is_armed, false) && PyTypedcall_Import() == nullptr)
                                return nullptr;
                              Py_RETURN_NONE;
                            },
                            METH_VARARGS, nullptr};
  scope_->Set("install", Ref::Steal(PyCFunction_New(&def, nullptr)).get());
  ASSERT_TRUE(
      scope_->Run("import gc\n"
                  "sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')\n"
                  "gc.callbacks.append(lambda phase, info: install())\n"
                  "before = gc.get_threshold()\n"
                  "gc.set_threshold(1)"));
  ASSERT_NE(OwnDict(), nullptr);  // making it would collect garbage, too
  is_armed = true;
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  EXPECT_FALSE(std::exchange(is_armed, false)) << "nothing was collected";
  scope_->Run("gc.set_threshold(*before)\ngc.callbacks.clear()");
  ASSERT_NE(interface, nullptr) << TakeError();
  EXPECT_EQ(PyTypedcall_Peek(), interface);
  EXPECT_EQ(PyTypedcall_Import(), interface);
  EXPECT_NE(interface->metaclass(interface->state), nullptr);
}
#endif

PyCFunction asked_for = nullptr;

// The fields of a def may change while its address stays the same.
TEST_F(Lost, ADefThatChanges) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  const auto ask = [](const PyMethodDef *def) -> const void * {
    asked_for = def->ml_meth;
    return def->ml_name;
  };
  const char first[] = "first", second[] = "second";
  PyMethodDef def = {first, Boxed, METH_O, nullptr};
  const auto is_asked = [&] {
    asked_for = nullptr;
    EXPECT_EQ(interface->sibling(interface->state, &def, ask), def.ml_name);
    return asked_for != nullptr;
  };
  EXPECT_TRUE(is_asked());
  EXPECT_FALSE(is_asked());
  def.ml_meth = [](PyObject *, PyObject *) -> PyObject * { return nullptr; };
  EXPECT_TRUE(is_asked()) << "another function";
  def.ml_name = second;
  EXPECT_TRUE(is_asked()) << "another name";
  EXPECT_FALSE(is_asked());
}

}  // namespace
}  // namespace typedcall_test
