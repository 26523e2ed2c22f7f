// Tests when the slots of a type are resolved.
#include "gtest/gtest.h"
#include "tests/core/extensible.h"
#include "tests/support/memory.h"

namespace typedcall_test {
namespace {

class Resolution : public testing::Test {
 protected:
  Resolution() : base_(MakeType({Slot(Id(1), 11), Slot(Id(2), 22)})) {
    scope_.Set("A", base_.get());
    scope_.Set("B", MakeType({Slot(Id(2), 222), Slot(Id(3), 333)}).get());
    scope_.Set("M", Metaclass().get());
    scope_.Set("find", FindFunction().get());
  }

  // Reads the magic without resolving the type.
  static bool IsResolved(const Ref &type) {
    return PyTC_DataOf(nullptr, type.type())->shared.magic == PyExtensibleType_MAGIC;
  }

  Ref base_;
  Scope scope_;
};

TEST_F(Resolution, TypeNewGoesPastTpInit) {
  ASSERT_TRUE(scope_.Run("C = type.__new__(M, 'C', (A,), {})"));
  Ref type = scope_.Eval("C");
  EXPECT_FALSE(IsResolved(type));
  Ref object = New(type);
  EXPECT_EQ(Value(object.get(), Id(2)), 22);
  EXPECT_TRUE(IsResolved(type));
  EXPECT_EQ(PyCustomSlots_Count(object.get()), 2);
}

TEST_F(Resolution, EveryFunctionResolves) {
  bool (*const functions[])(PyObject *) = {
      [](PyObject *object) { return PyCustomSlots_Check(object) == 1; },
      [](PyObject *object) { return PyCustomSlots_Count(object) == 2; },
      [](PyObject *object) { return PyCustomSlots_Table(object) != nullptr; },
      [](PyObject *object) { return Value(object, Id(1)) == 11; },
  };
  for (const auto function : functions) {
    ASSERT_TRUE(scope_.Run("C = type.__new__(M, 'C', (A,), {})"));
    EXPECT_TRUE(function(scope_.Eval("C()").get()));
    EXPECT_TRUE(IsResolved(scope_.Eval("C")));
  }
}

// While the metaclass computes the MRO, the type cannot be resolved.
TEST_F(Resolution, InsideMro) {
  static PyMethodDef def = {
      "resolve",
      [](PyObject *, PyObject *cls) -> PyObject * {
        const PyTypedcall_Interface *interface = PyTypedcall_Peek();
        auto *type = reinterpret_cast<PyTypeObject *>(cls);
        return PyLong_FromLong(interface->resolve(interface->state, type, nullptr, 0));
      },
      METH_O, nullptr};
  scope_.Set("resolve", Ref::Steal(PyCFunction_New(&def, nullptr)).get());
  ASSERT_TRUE(
      scope_.Run("seen = []\n"
                 "class Asking(M):\n"
                 "  def mro(cls):\n"
                 "    seen.append(resolve(cls))\n"
                 "    return super().mro()\n"
                 "class C(A, metaclass=Asking): pass\n"
                 "assert seen == [0] and find(C(), 1) == 11, seen"));
}

TEST_F(Resolution, MetaclassThatForgetsSuper) {
  ASSERT_TRUE(
      scope_.Run("class Forgetful(M):\n"
                 "  def __init__(cls, *args): pass\n"
                 "class C(A, metaclass=Forgetful): pass\n"
                 "class D(C): pass\n"));
  Ref c = scope_.Eval("C"), d = scope_.Eval("D");
  EXPECT_FALSE(IsResolved(c));
  // A look-up on the subclass also resolves its base.
  EXPECT_EQ(Value(New(d).get(), Id(1)), 11);
  EXPECT_TRUE(IsResolved(c));
  EXPECT_EQ(Value(New(c).get(), Id(1)), 11);
}

TEST_F(Resolution, MetaclassInitTwiceChangesNothing) {
  ASSERT_TRUE(scope_.Run("class C(A): pass"));
  Ref object = scope_.Eval("C()");
  const PyCustomSlot *table = PyCustomSlots_Table(object.get());
  ASSERT_TRUE(
      scope_.Run("M.__init__(C, 'Other', (B,), {})\n"
                 "M.__init__(A, 'Other', (B,), {})\n"
                 "type(C).__init__(C, 'C', (), {})\n"));
  EXPECT_EQ(PyCustomSlots_Table(object.get()), table);
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
  EXPECT_EQ(Value(object.get(), Id(3)), -1);
  EXPECT_EQ(Value(New(base_).get(), Id(2)), 22);
}

// A look-up cannot report MemoryError. It must keep a pending exception, and succeed later.
TEST_F(Resolution, LookUpWithoutMemory) {
  ASSERT_TRUE(scope_.Run("u = type.__new__(M, 'U', (A,), {})()"));
  Ref object = scope_.Eval("u");
  PyErr_SetString(PyExc_KeyError, "pending");
  {
    Memory memory;
    memory.Refuse();
    EXPECT_EQ(Value(object.get(), Id(1)), -1);
  }
  EXPECT_EQ(TakeError(), "KeyError: 'pending'");
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
}

TEST_F(Resolution, ResolveWithoutMemory) {
  ASSERT_TRUE(scope_.Run("U = type.__new__(M, 'U', (A,), {})"));
  Ref type = scope_.Eval("U");
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  {
    Memory memory;
    memory.Refuse();
    EXPECT_EQ(interface->resolve(interface->state, type.type(), nullptr, 0), -1);
  }
  EXPECT_EQ(TakeError().find("MemoryError"), 0u);
  EXPECT_FALSE(IsResolved(type));
  EXPECT_EQ(interface->resolve(interface->state, type.type(), nullptr, 0), 0);
  EXPECT_EQ(Value(New(type).get(), Id(2)), 22);
}

#if PY_VERSION_HEX >= 0x030A0000  // 3.10 added immutable types
TEST_F(Resolution, MetaclassCannotBeChanged) {
  for (const char *statement :
       {"M.attribute = 1", "M.__init__ = None", "del M.__init__", "M.__bases__ = (type,)"}) {
    scope_.Set("statement", Ref::Steal(PyUnicode_FromString(statement)).get());
    EXPECT_TRUE(
        scope_.Run("try: exec(statement)\n"
                   "except TypeError: pass\n"
                   "else: assert False, statement\n"));
  }
}
#endif

TEST_F(Resolution, MetaclassDoesWhatTypeDoes) {
  ASSERT_TRUE(
      scope_.Run("assert issubclass(M, type) and M.__base__ is type\n"
                 "assert M.__module__ == '_extensibletype' and 'SEP 200' in M.__doc__\n"
                 "C = M('C', (A,), {'x': 5}, )\n"
                 "assert C.x == 5 and C.__name__ == 'C' and isinstance(C, M)\n"
                 "for bad in ((), ('a', 1, {}), ('a', (int, str), {}), ('a', (True,), {})):\n"
                 "  try: M(*bad)\n"
                 "  except TypeError: pass\n"
                 "  else: assert False, bad\n"));
}

}  // namespace
}  // namespace typedcall_test
