// Tests tagging where the interface cannot be used.
#include <string>

#include "gtest/gtest.h"
#include "tests/support/embedded.h"
#include "typedcall/tag.h"

namespace typedcall_test {
namespace {

long Inc(long x) { return x + 1; }
long Dec(long x) { return x - 1; }

int destroyed;
void CountDestroyed(const void *) { ++destroyed; }

PyNativeCallableTable Table(const char *signature, long (*function)(long) = Inc) {
  return {1, {{signature, 0, reinterpret_cast<void *>(function)}}};
}

class WithoutInterface : public testing::Test {
 protected:
  WithoutInterface() { destroyed = 0; }

  /// Returns a new object that can own a tag.
  Ref Owner() { return scope_.Eval("type('Owner', (), {})()"); }

  Scope scope_;
};

// What PyTypedcall_ImportForTags returns if a module stays without tags.
constexpr const PyTypedcall_Interface *kNone = nullptr;

TEST_F(WithoutInterface, TagsAreOnlyChecked) {
  const PyNativeCallableTable table = Table("l->l"), faulty = Table("d-");
  PyMethodDef defs[] = {{"f", Boxed, METH_O, nullptr}, {}};
  Ref owner = Owner(), function = Ref::Steal(PyCFunction_New(defs, nullptr));
  Ref method = scope_.Eval("[].append");
  for (PyObject *object : {function.get(), method.get()}) {
    EXPECT_EQ(PyTypedMethod_TagCallable(kNone, object, &table, CountDestroyed), 0) << TakeError();
    EXPECT_EQ(PyNativeCallable_TagObject(kNone, object, &table, CountDestroyed), 0) << TakeError();
    EXPECT_EQ(PyTypedMethod_TagCallable(kNone, object, &faulty, CountDestroyed), -1);
    EXPECT_EQ(TakeError().rfind("ValueError: ", 0), 0u);
    EXPECT_EQ(PyNativeCallable_TagObject(kNone, object, &faulty, CountDestroyed), -1);
    EXPECT_EQ(TakeError().rfind("ValueError: ", 0), 0u);
    EXPECT_EQ(PyNativeCallable_UntagObject(kNone, object), 0);
  }
  EXPECT_EQ(PyTypedMethod_TagDef(kNone, defs, owner.get(), &table, CountDestroyed), 0);
  EXPECT_EQ(PyTypedMethod_TagDef(kNone, nullptr, owner.get(), &table, CountDestroyed), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: ", 0), 0u);
  EXPECT_EQ(PyTypedMethod_TagCallable(kNone, owner.get(), &table, CountDestroyed), -1);
  EXPECT_EQ(TakeError().rfind("TypeError: ", 0), 0u);
  EXPECT_EQ(PyTypedMethod_UntagDef(kNone, defs), 0);
  const PyTypedcall_Interface *const interface = PyTypedcall_Import();
  ASSERT_NE(interface, nullptr) << TakeError();
  EXPECT_EQ(interface->find(interface->state, PyTypedcall_BY_DEF, defs), nullptr);
  EXPECT_EQ(destroyed, 0);
}

PyTypedMethod_DEFINE(behind_name, "behind_name", {"l->l", 0, reinterpret_cast<void *>(Inc)});

TEST_F(WithoutInterface, AConflictBehindTheNameIsRaised) {
  PyMethodDef def = {behind_name.pypy.ml_name, Boxed, METH_O | 0x3000, nullptr};
  const PyNativeCallableTable same = Table("l->l"), other = Table("l->l", Dec);
  Ref owner = Owner();
  EXPECT_EQ(PyTypedMethod_TagDef(kNone, &def, owner.get(), &same, nullptr), 0) << TakeError();
  EXPECT_EQ(PyTypedMethod_TagDef(kNone, &def, owner.get(), &other, nullptr), -1);
  EXPECT_EQ(TakeError().rfind("ValueError: behind_name is tagged already", 0), 0u);
}

// The result of a failed PyTypedcall_Import() can be passed on without a check.
TEST_F(WithoutInterface, TheExceptionOfAFailedImportStays) {
  const PyNativeCallableTable table = Table("l->l");
  PyMethodDef def = {behind_name.pypy.ml_name, Boxed, METH_O | 0x3000, nullptr};
  Ref owner = Owner(), method = scope_.Eval("[].append");
  const auto expect = [](const char *what, int result) {
    EXPECT_EQ(result, -1) << what;
    EXPECT_EQ(TakeError(), "ImportError: another version") << what;
  };
  const auto fail = [] {
    PyErr_SetString(PyExc_ImportError, "another version");
    return kNone;
  };
  expect("callable", PyTypedMethod_TagCallable(fail(), method.get(), &table, nullptr));
  expect("object", PyNativeCallable_TagObject(fail(), owner.get(), &table, nullptr));
  expect("def", PyTypedMethod_TagDef(fail(), &def, owner.get(), &table, nullptr));
  expect("nothing", PyTypedMethod_TagDef(fail(), nullptr, owner.get(), &table, nullptr));
}

TEST_F(WithoutInterface, TheOwnerOfAWarningMayBeAnything) {
  scope_.Run(
      "import sys, warnings\n"
      "kept = sys.modules['_extensibletype']\n"
      "sys.modules['_extensibletype'] = None\n"
      "class Odd:\n"
      "  def __getattr__(self, name): raise ValueError(name)\n"
      "  __module__ = property(lambda self: self.missing)\n"
      "def f(): pass\n"
      "f.__module__ = '\\ud800'\n"
      "told = []\n"
      "warnings.simplefilter('always')\n"
      "warnings.showwarning = lambda message, *_: told.append(str(message).split(' has ')[0])");
  for (const char *owner : {"Odd()", "f", "'text'", "None", "type(sys)('m')", "int"}) {
    Ref object = scope_.Eval(owner);
    EXPECT_EQ(PyTypedcall_ImportForTags(object.get()), nullptr);
    EXPECT_EQ(TakeError(), "") << owner;
    EXPECT_EQ(PyTypedcall_ImportForTags(object.get()), nullptr);
  }
  EXPECT_EQ(PyTypedcall_ImportForTags(nullptr), nullptr);
  EXPECT_EQ(TakeError(), "");
  scope_.Run("sys.modules['_extensibletype'] = kept");
  Ref told = scope_.Eval("'; '.join(told)");
  EXPECT_STREQ(PyUnicode_AsUTF8(told.get()),
               "typedcall: module None; typedcall: module '\\ud800'; typedcall: module 'text'; "
               "typedcall: module 'm'; typedcall: module 'builtins'");
}

}  // namespace
}  // namespace typedcall_test
