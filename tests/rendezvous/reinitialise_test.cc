// Tests two providers in a process whose interpreter ends and starts again. C statics keep their
// values.
#include "core/custom_slots.h"
#include "gtest/gtest.h"
#include "tests/rendezvous/modules_on_path.h"

namespace typedcall_test {
namespace {

long Number(Scope &scope, const char *expression) {
  Ref value = scope.Eval(expression);
  return value ? PyLong_AsLong(value.get()) : -1;
}

TEST(Reinitialise, ProvidersInBothOrders) {
  for (int turn = 0; turn < 4; ++turn) {
    {
      Scope scope;
      EXPECT_EQ(PyTypedcall_Peek(), nullptr) << "nothing is left of interpreter " << turn - 1;
      ASSERT_TRUE(
          ImportInto(scope, turn % 2 ? "provider_a, provider_b" : "provider_b, provider_a"));
      // Each earlier interpreter has destroyed the rows once.
      EXPECT_EQ(Number(scope, "provider_a.destroyed()"), turn);
      EXPECT_EQ(Number(scope, "provider_b.destroyed()"), turn);
      ASSERT_TRUE(
          scope.Run("assert provider_a.metaclass() is provider_b.metaclass()\n"
                    "assert provider_a.interface() == provider_b.interface()\n"
                    "class Both(provider_a.Type, provider_b.Type): pass\n"
                    "late = type.__new__(provider_a.metaclass(), 'Late', (Both,), {})\n"
                    "assert provider_b.find(Both(), 1) == 11 == provider_a.find(late(), 1)\n"
                    "assert provider_a.row(provider_b.key) == 2\n"
                    "sys.kept_to_the_end = [Both(), late, late(), provider_a.find]\n"));
      Ref object = scope.Eval("Both()");
      EXPECT_NE(PyCustomSlots_Table(object.get()), nullptr);
    }
    EXPECT_EQ(StopPython(), 0);
    StartPython();
  }
}

TEST(Reinitialise, OneThenTheOther) {
  for (const char *name : {"provider_a", "provider_b", "provider_a"}) {
    {
      Scope scope;
      ASSERT_TRUE(ImportInto(scope, name));
      ASSERT_TRUE(scope.Run(std::string("m = ") + name +
                            "\nclass C(m.Type): pass\n"
                            "assert m.row(m.key) * 11 == m.find(C(), m.row(m.key))\n"));
    }
    EXPECT_EQ(StopPython(), 0);
    StartPython();
    EXPECT_EQ(PyTypedcall_Peek(), nullptr);
  }
}

}  // namespace
}  // namespace typedcall_test
