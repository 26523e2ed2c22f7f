// Tests PyTypedcall_Import and PyTypedcall_Peek.
#include <cstring>
#include <optional>

#include "core/extensible_type.h"
#include "gtest/gtest.h"
#include "tests/core/subinterpreter.h"
#include "tests/support/embedded.h"

namespace typedcall_test {
namespace {

class Rendezvous : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(interpreter_.Entered());
    scope_.emplace();
    ASSERT_TRUE(scope_->Run("import gc, sys, types"));
  }

  void TearDown() override {
    EXPECT_EQ(TakeError(), "");
    scope_.reset();
  }

  // Checks that Import raises an exception with these words, and that Peek finds nothing.
  void ExpectRefused(const std::string &words) {
    EXPECT_EQ(PyTypedcall_Import(), nullptr);
    const std::string error = TakeError();
    EXPECT_EQ(error.find("ImportError: "), 0u) << error;
    EXPECT_NE(error.find(words), std::string::npos) << error;
  }
  void ExpectAccepted() {
    const PyTypedcall_Interface *interface = PyTypedcall_Import();
    EXPECT_NE(interface, nullptr) << TakeError();
    EXPECT_EQ(PyErr_Occurred(), nullptr);
    EXPECT_EQ(PyTypedcall_Peek(), interface);
  }

  // Replaces the interface with another capsule.
  void PutCapsule(void *pointer, const char *name = PyTypedcall_CAPSULE_NAME) {
    Ref capsule = Ref::Steal(PyCapsule_New(pointer, name, nullptr));
    scope_->Set("capsule", capsule.get());
    ASSERT_TRUE(
        scope_->Run("m = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')\n"
                    "m.typedcall_v2 = capsule\n"));
  }

  Subinterpreter interpreter_;
  std::optional<Scope> scope_;
};

PyTypeObject *SomeMetaclass(void *) { return &PyType_Type; }

// A newer interface that another library has installed.
struct Newer {
  PyTypedcall_Interface interface;
  void (*added)(void);
};
Newer Made(uint16_t major, uint16_t minor, size_t size) {
  Newer newer;
  std::memset(&newer, 0, sizeof(newer));
  newer.interface.abi_major = major;
  newer.interface.abi_minor = minor;
  newer.interface.size = static_cast<uint32_t>(size);
  newer.interface.metaclass = SomeMetaclass;
  return newer;
}

TEST_F(Rendezvous, ImportTwiceIsOneInterface) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  EXPECT_EQ(PyTypedcall_Import(), interface);
  EXPECT_EQ(PyTypedcall_Peek(), interface);
  EXPECT_EQ(interface->abi_major, 1);
  EXPECT_EQ(interface->abi_minor, 0);
  EXPECT_EQ(interface->size, sizeof(PyTypedcall_Interface));
}

TEST_F(Rendezvous, WhatStandsInTheModule) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  Ref module = scope_->Eval("sys.modules['_extensibletype']");
  Ref metaclass = scope_->Eval("sys.modules['_extensibletype'].extensibletype_v2");
  EXPECT_EQ(metaclass.type(), interface->metaclass(interface->state));
  Ref imported = Ref::Steal(reinterpret_cast<PyObject *>(PyExtensibleType_Import()));
  EXPECT_EQ(imported.get(), metaclass.get());
  EXPECT_EQ(PyCapsule_Import(PyTypedcall_CAPSULE_NAME, 0), interface);
}

TEST_F(Rendezvous, PeekInstallsNothing) {
  EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  EXPECT_EQ(scope_->Eval("'_extensibletype' in sys.modules").get(), Py_False);
  PyErr_SetString(PyExc_KeyError, "pending");
  EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  EXPECT_EQ(TakeError(), "KeyError: 'pending'");
}

// Other code, such as SEP 200's first version, may already have made the module.
TEST_F(Rendezvous, AModuleThatIsThereAlreadyIsUsed) {
  ASSERT_TRUE(
      scope_->Run("m = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')\n"
                  "m.extensibletype_v1 = 'theirs'\n"));
  ExpectAccepted();
  ASSERT_TRUE(
      scope_->Run("assert sys.modules['_extensibletype'] is m\n"
                  "assert m.extensibletype_v1 == 'theirs' and m.typedcall_v2\n"));
}

TEST_F(Rendezvous, SquatterInSysModules) {
  for (const char *squatter : {"object()", "None", "{}", "'module'"}) {
    ASSERT_TRUE(scope_->Run("sys.modules['_extensibletype'] = " + std::string(squatter)));
    ExpectRefused("sys.modules['_extensibletype'] is a '");
    EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  }
  ASSERT_TRUE(scope_->Run("del sys.modules['_extensibletype']"));
  ExpectAccepted();
}

TEST_F(Rendezvous, SquatterInTheModule) {
  ASSERT_TRUE(
      scope_->Run("m = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')"));
  for (const char *squatter : {"5", "None", "m", "object()"}) {
    ASSERT_TRUE(scope_->Run("m.typedcall_v2 = " + std::string(squatter)));
    ExpectRefused("_extensibletype.typedcall_v2 is a '");
    EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  }
  ASSERT_TRUE(scope_->Run("del m.typedcall_v2"));
  ExpectAccepted();
}

TEST_F(Rendezvous, CapsuleWithAnotherName) {
  Newer newer = Made(1, 0, sizeof(PyTypedcall_Interface));
  for (const char *name : {"somebody.else", "typedcall_v2", static_cast<const char *>(nullptr)}) {
    PutCapsule(&newer, name);
    ExpectRefused("is a 'PyCapsule' instead of typedcall's interface");
    EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  }
}

TEST_F(Rendezvous, AnotherMajorVersion) {
  for (const uint16_t major : {uint16_t{0}, uint16_t{2}, uint16_t{0xffff}}) {
    Newer newer = Made(major, 3, sizeof(Newer));
    PutCapsule(&newer);
    ExpectRefused("has ABI version " + std::to_string(major) + ".3 and " +
                  std::to_string(sizeof(Newer)) + " bytes; 1.0 and " +
                  std::to_string(PyTypedcall_INTERFACE_SIZE_1_0) + " are needed");
    EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  }
}

TEST_F(Rendezvous, TooSmall) {
  for (const size_t size : {size_t{0}, size_t{16}, size_t{PyTypedcall_INTERFACE_SIZE_1_0 - 1}}) {
    Newer newer = Made(1, 0, size);
    PutCapsule(&newer);
    ExpectRefused("and " + std::to_string(size) + " bytes;");
    EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  }
}

TEST_F(Rendezvous, NewerMinorVersionIsAccepted) {
  static Newer newer = Made(1, 7, sizeof(Newer));
  PutCapsule(&newer);
  EXPECT_EQ(PyTypedcall_Import(), &newer.interface) << TakeError();
  EXPECT_EQ(PyTypedcall_Peek(), &newer.interface);
  EXPECT_EQ(scope_->Eval("m.extensibletype_v2").type(), &PyType_Type);
}

TEST_F(Rendezvous, SquatterOnTheMetaclass) {
  ASSERT_TRUE(
      scope_->Run("m = sys.modules['_extensibletype'] = types.ModuleType('_extensibletype')"));
  for (const char *squatter : {"type", "5", "None"}) {
    ASSERT_TRUE(scope_->Run("m.extensibletype_v2 = " + std::string(squatter)));
    ExpectRefused("_extensibletype.extensibletype_v2 is a '");
    EXPECT_EQ(PyExtensibleType_Import(), nullptr);
    TakeError();
  }
  ASSERT_TRUE(scope_->Run("del m.extensibletype_v2"));
  ExpectAccepted();
}

TEST_F(Rendezvous, SquatterAfterwards) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_TRUE(
      scope_->Run("m = sys.modules['_extensibletype']\n"
                  "ours = m.typedcall_v2\n"
                  "m.typedcall_v2 = 5\n"));
  ExpectRefused("is a 'int' instead of typedcall's interface");
  ASSERT_TRUE(scope_->Run("m.typedcall_v2 = ours"));
  EXPECT_EQ(PyTypedcall_Import(), interface);
  // Even a usable interface is refused, because an interpreter has one metaclass.
  static Newer newer = Made(1, 7, sizeof(Newer));
  PutCapsule(&newer);
  ExpectRefused("_extensibletype.typedcall_v2 has been replaced");
  EXPECT_EQ(PyTypedcall_Peek(), interface);
}

TEST_F(Rendezvous, NoSysModules) {
  Ref modules = Ref::Borrow(PySys_GetObject("modules"));
  for (PyObject *nothing : {Py_None, static_cast<PyObject *>(nullptr)}) {
    PySys_SetObject("modules", nothing);
    ExpectRefused("sys.modules is missing");
    EXPECT_EQ(PyTypedcall_Peek(), nullptr);
    PySys_SetObject("modules", modules.get());
  }
  ExpectAccepted();
}

// unittest.mock.patch.dict(sys.modules) removes the modules that were imported while it was active.
TEST_F(Rendezvous, TheInterfaceSurvivesAnEmptiedSysModules) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  PyTypeObject *metaclass = interface->metaclass(interface->state);
  for (const char *statement :
       {"del sys.modules['_extensibletype']", "del sys.modules['_extensibletype'].typedcall_v2",
        "sys.modules['_extensibletype'].__dict__.clear()"}) {
    ASSERT_TRUE(scope_->Run(statement));
    Collect();
    EXPECT_EQ(interface->metaclass(interface->state), metaclass);
    EXPECT_EQ(PyTypedcall_Peek(), interface) << "types are resolved through it";
    EXPECT_EQ(PyTypedcall_Import(), interface) << TakeError();
    EXPECT_EQ(scope_->Eval("sys.modules['_extensibletype'].extensibletype_v2").type(), metaclass);
  }
}

}  // namespace
}  // namespace typedcall_test
