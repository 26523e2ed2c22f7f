// Tests that tagging defs with the flag bits installs no interface. An installed interface stays,
// so this is a separate program.
#define PyTypedMethod_FLAGS 0x3000
#include "gtest/gtest.h"
#include "tests/support/embedded.h"
#include "typedcall/tag.h"

namespace typedcall_test {
namespace {

long Inc(long x) { return x + 1; }

PyTypedMethod_DEFINE(flagged, "flagged", {"l->l", 0, reinterpret_cast<void *>(Inc)});
PyTypedMethod_DEFINE(plain, "plain", {"l->l", 0, reinterpret_cast<void *>(Inc)});

PyMethodDef defs[] = {
    PyTypedMethod_METHOD_DEF(flagged, Boxed, METH_O, nullptr),
    {plain.pypy.ml_name, Boxed, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

TEST(LazyImport, OnlyDefsWithoutBitsNeedTheInterface) {
  const PyTypedMethodMetadata *const with_bits[] = {&flagged, nullptr};
  const PyTypedMethodMetadata *const none[] = {nullptr};
  const PyTypedMethodMetadata *const both[] = {&flagged, &plain, nullptr};
  Scope scope;
  Ref owner = scope.Eval("type('Owner', (), {})()");
  ASSERT_EQ(PyTypedcall_Peek(), nullptr) << "nothing before has installed it";
  EXPECT_EQ(PyTypedMethod_AddTags(owner.get(), defs, with_bits), 0) << TakeError();
  EXPECT_EQ(PyTypedMethod_AddTags(owner.get(), defs, none), 0) << TakeError();
  EXPECT_EQ(PyTypedcall_Peek(), nullptr);

  // Another object under the name of our module must not affect defs with the bits.
  scope.Run("import sys, types\nsys.modules['_extensibletype'] = 'squatter'");
  EXPECT_EQ(PyTypedMethod_AddTags(owner.get(), defs, with_bits), 0) << TakeError();
  EXPECT_EQ(PyTypedMethod_AddRequiredTags(owner.get(), defs, with_bits), 0) << TakeError();
  EXPECT_EQ(PyTypedMethod_AddRequiredTags(owner.get(), defs, both), -1);
  EXPECT_EQ(TakeError().rfind("ImportError: ", 0), 0u);
  scope.Run("import warnings\nwarnings.simplefilter('ignore')");
  EXPECT_EQ(PyTypedMethod_AddTags(owner.get(), defs, both), 0) << TakeError();
  EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  scope.Run("del sys.modules['_extensibletype']");

  EXPECT_EQ(PyTypedMethod_AddTags(owner.get(), defs, both), 0) << TakeError();
  const PyTypedcall_Interface *interface = PyTypedcall_Peek();
  ASSERT_NE(interface, nullptr);
  EXPECT_EQ(interface->find(interface->state, PyTypedcall_BY_DEF, &defs[0]), nullptr);
  EXPECT_EQ(interface->find(interface->state, PyTypedcall_BY_DEF, &defs[1]), plain.table);
}

}  // namespace
}  // namespace typedcall_test
