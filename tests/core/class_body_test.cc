// Tests `__customslots__` in class bodies, and classes that Python code makes while
// `__customslots__` is being read.
// tests/class_slots has the tests in Python.
#include "gtest/gtest.h"
#include "tests/core/extensible.h"

namespace typedcall_test {
namespace {

class ClassBody : public testing::Test {
 protected:
  ClassBody() {
    scope_.Set("A", MakeType({Slot(Id(1), 11)}).get());
    scope_.Set("M", Metaclass().get());
    scope_.Set("find", FindFunction().get());
    scope_.Set("ID", Ref::Steal(PyLong_FromSize_t(Id(2))).get());
    scope_.Run(
        "import enum, sys, types\n"
        "MOST = 2 * sys.maxsize + 1\n"
        "class Colour(enum.Enum): RED = 1\n"
        "class Faulty:\n"
        "  def __getitem__(self, key): return 5\n"
        "  @property\n"
        "  def items(self): raise LookupError('items')\n"
        "class Pair(list):\n"
        "  def __iter__(self): raise LookupError('pair')\n");
  }
  // Makes a class with this value of `__customslots__`. Returns an empty reference on failure.
  Ref Make(const std::string &value) {
    Ref args = scope_.Eval("('C', (A,), {'__customslots__': " + value + "})");
    return Ref::Steal(PyObject_Call(scope_.Eval("M").get(), args.get(), nullptr));
  }
  Scope scope_;
};

TEST_F(ClassBody, Words) {
  const struct {
    const char *value;
    uintptr_t flags;
  } cases[] = {{"0", 0},
               {"MOST", UINTPTR_MAX},
               {"-1", UINTPTR_MAX},
               {"-2", UINTPTR_MAX - 1},
               {"sys.maxsize", UINTPTR_MAX / 2},
               {"-sys.maxsize - 1", UINTPTR_MAX / 2 + 1}};
  for (const auto &each : cases) {
    for (const char *form : {"[(ID, ", "{ID: ", "types.MappingProxyType({ID: "}) {
      const std::string end = form[0] == '[' ? ")]" : form[0] == '{' ? "}" : "})";
      Ref made = Make(form + std::string(each.value) + end);
      ASSERT_TRUE(made) << each.value << TakeError();
      const PyCustomSlot *slot = PyCustomSlots_Find(New(made).get(), Id(2), 1);
      ASSERT_NE(slot, nullptr) << each.value;
      EXPECT_EQ(slot->data.flags, each.flags) << each.value;
    }
  }
}

TEST_F(ClassBody, Refused) {
  const struct {
    const char *value, *error;
  } cases[] = {
      {"[(ID, MOST + 1)]", "ValueError: type 'C': __customslots__ entry 0: the value does not fit"},
      {"[(ID, -sys.maxsize - 2)]", "ValueError: type 'C': __customslots__ entry 0: the value does"},
      {"[(MOST + 1, 5)]", "ValueError: type 'C': __customslots__ entry 0: the ID is out of range"},
      {"[(-1, 5)]", "ValueError: type 'C': __customslots__ entry 0: the ID is out of range"},
      {"[(ID, 5, 6)]", "TypeError: type 'C': __customslots__ entry 0: must be a pair"},
      {"[5]", "TypeError: type 'C': __customslots__ entry 0: must be a pair"},
      {"[(ID, 5), Pair()]", "LookupError: pair"},
      {"5", "TypeError: type 'C': __customslots__ must be a mapping or a list"},
      {"'text'", "TypeError: type 'C': __customslots__ must be a mapping or a list"},
      {"int", "TypeError: type 'C': __customslots__ must be a mapping or a list"},
      {"Colour", "TypeError: type 'C': __customslots__ must be a mapping or a list"},
      {"Faulty()", "LookupError: items"},
  };
  for (const auto &each : cases) {
    EXPECT_FALSE(Make(each.value)) << each.value;
    EXPECT_EQ(TakeError().rfind(each.error, 0), 0u) << each.value;
  }
}

// Even resolve() settles no class before its base. Later look-ups settle all classes.
TEST_F(ClassBody, SubclassesMadeWhileItIsRead) {
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
                 "class Reading(Faulty):\n"
                 "  def items(self):\n"
                 "    global X, Y, Z\n"
                 "    class X(C): pass\n"
                 "    class Y(X): pass\n"
                 "    class Z(Y): pass\n"
                 "    assert [resolve(each) for each in (C, X, Y, Z)] == [0] * 4\n"
                 "    seen.extend(find(each(), 1) for each in (C, X, Y, Z))\n"
                 "    return [(ID, 22)]\n"
                 "C = type.__new__(M, 'C', (A,), {'__customslots__': Reading()})\n"
                 "assert find(C(), 2) == 22\n"
                 "assert seen == [-1] * 4, seen\n"
                 "for each in (Z, Y, X, C): assert (find(each(), 1), seen) == (11, [-1] * 4)\n"));
}

// Only a metaclass's mro() can put two classes into each other's MRO. Both then have all slots.
TEST_F(ClassBody, ClassesInEachOthersMro) {
  ASSERT_TRUE(scope_.Run(
      "class Cyclic(M):\n"
      "  def mro(cls):\n"
      "    if cls.__name__ == 'Y': return [cls, X, A, object]\n"
      "    if 'Y' in globals(): return [cls, Y, A, object]\n"
      "    return super().mro()\n"
      "X = type.__new__(Cyclic, 'X', (A,), {})\n"
      "Y = type.__new__(Cyclic, 'Y', (A,), {'__customslots__': [(ID, 22)]})\n"
      "X.__bases__ = (A,)\n"
      "assert X.__mro__ == (X, Y, A, object) and Y.__mro__ == (Y, X, A, object)\n"
      "for each in (X, Y): assert (find(each(), 1), find(each(), 2)) == (11, 22), each\n"));
}

}  // namespace
}  // namespace typedcall_test
