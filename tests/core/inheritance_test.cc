// What Python subclasses of extensible types offer: values by MRO order, positions of the first
// base that has slots, for every shape of inheritance.
#include "gtest/gtest.h"
#include "tests/core/extensible.h"

namespace typedcall_test {
namespace {

// A has 1 and 2 (behind a skipped position); B has 2 and 3; AA derives from A in C and overrides 1.
class Inheritance : public testing::Test {
 protected:
  Inheritance()
      : a_(MakeType({Slot(PyCustomSlot_ID_SKIP, 0), Slot(Id(1), 11), Slot(Id(2), 22)})),
        b_(MakeType({Slot(Id(2), 222), Slot(Id(3), 333)})),
        aa_(MakeType({Slot(Id(1), 1111)}, a_.get())) {
    scope_.Set("A", a_.get());
    scope_.Set("B", b_.get());
    scope_.Set("AA", aa_.get());
    scope_.Set("M", Metaclass().get());
    scope_.Set("find", FindFunction().get());
    scope_.Run("class Plain: pass\n");
  }

  // The slots 1, 2 and 3 of an instance of class C, which `code` makes.
  std::string SlotsOf(const std::string &code) {
    if (!scope_.Run(code)) return "no class";
    object_ = scope_.Eval("C()");
    std::string values;
    for (const uintptr_t idea : {1u, 2u, 3u}) {
      values += (idea == 1u ? "" : " ") + std::to_string(Value(object_.get(), Id(idea)));
    }
    EXPECT_EQ(PyCustomSlots_Check(object_.get()), 1);
    return values;
  }

  // Where the slot is in the table of what SlotsOf made last.
  Py_ssize_t Position(uintptr_t idea) {
    const PyCustomSlot *slot = PyCustomSlots_Find(object_.get(), Id(idea), 0);
    return slot == nullptr ? -1 : slot - PyCustomSlots_Table(object_.get());
  }

  Ref a_, b_, aa_, object_;
  Scope scope_;
};

TEST_F(Inheritance, One) {
  EXPECT_EQ(SlotsOf("class C(A): pass"), "11 22 -1");
  EXPECT_EQ(Position(1), 1);
  EXPECT_EQ(Position(2), 2);
  // Nothing of its own: it shares its base's table.
  EXPECT_EQ(PyCustomSlots_Table(object_.get()), PyCustomSlots_Table(New(a_).get()));
}

TEST_F(Inheritance, ManyLevels) {
  EXPECT_EQ(SlotsOf("C = A\nfor _ in range(100):\n  class C(C): pass"), "11 22 -1");
  EXPECT_EQ(PyCustomSlots_Table(object_.get()), PyCustomSlots_Table(New(a_).get()));
}

TEST_F(Inheritance, ExtensibleBaseLast) {
  EXPECT_EQ(SlotsOf("class C(Plain, A): pass"), "11 22 -1");
  EXPECT_EQ(Position(1), 1);
}

TEST_F(Inheritance, ExtensibleBaseFirst) {
  EXPECT_EQ(SlotsOf("class C(A, Plain): pass"), "11 22 -1");
}

TEST_F(Inheritance, Generic) {
  const std::string generic =
      "import typing\n"
      "T = typing.TypeVar('T')\n";
  EXPECT_EQ(SlotsOf(generic + "class C(typing.Generic[T], A): pass"), "11 22 -1");
  EXPECT_EQ(SlotsOf(generic + "class C(A, typing.Generic[T]): pass"), "11 22 -1");
  EXPECT_EQ(SlotsOf(generic + "class G(A, typing.Generic[T]): pass\nclass C(G[int]): pass"),
            "11 22 -1");
}

TEST_F(Inheritance, BothBasesHaveTheId) {
  EXPECT_EQ(SlotsOf("class C(A, B): pass"), "11 22 333");
  EXPECT_EQ(Position(1), 1);
  EXPECT_EQ(Position(2), 2);
  EXPECT_EQ(Position(3), 3);
  EXPECT_EQ(SlotsOf("class C(B, A): pass"), "11 222 333");
  EXPECT_EQ(Position(2), 0);
  EXPECT_EQ(Position(3), 1);
  EXPECT_EQ(Position(1), 2);
}

// MRO C, Left, AA, A: the class that overrides is behind Left, whose value is A's.
TEST_F(Inheritance, DiamondWhereALaterBaseOverridesTheCommonAncestor) {
  EXPECT_EQ(SlotsOf("class Left(A): pass\nclass C(Left, AA): pass"), "1111 22 -1");
  EXPECT_EQ(Position(1), 1);
  EXPECT_EQ(SlotsOf("class D(Left, Plain): pass\nclass C(D, AA): pass"), "1111 22 -1");
  EXPECT_EQ(SlotsOf("class Right(AA): pass\nclass C(Left, Right): pass"), "1111 22 -1");
}

// MRO C, L, R, Ext: two overrides, and the first in MRO order wins.
TEST_F(Inheritance, DiamondWithTwoOverrides) {
  scope_.Set("AA2", MakeType({Slot(Id(1), 9)}, a_.get()).get());
  EXPECT_EQ(SlotsOf("class C(AA, AA2): pass"), "1111 22 -1");
  EXPECT_EQ(SlotsOf("class C(AA2, AA): pass"), "9 22 -1");
  EXPECT_EQ(SlotsOf("class L(A): pass\nclass C(L, AA2, AA): pass"), "9 22 -1");
}

// An extensible base without slots in front must not cost the next one its positions.
TEST_F(Inheritance, FirstExtensibleBaseHasNoSlots) {
  scope_.Set("Empty", MakeType({}).get());
  EXPECT_EQ(SlotsOf("class C(Empty, A): pass"), "11 22 -1");
  EXPECT_EQ(Position(1), 1);
  EXPECT_EQ(Position(2), 2);
  EXPECT_EQ(SlotsOf("class N(metaclass=M): pass\nclass C(N, A): pass"), "11 22 -1");
  EXPECT_EQ(Position(1), 1);
}

TEST_F(Inheritance, Slots) {
  EXPECT_EQ(SlotsOf("class C(A):\n  __slots__ = ('x', 'y')"), "11 22 -1");
  EXPECT_EQ(SlotsOf("class S(A):\n  __slots__ = ()\nclass C(S):\n  __slots__ = ('z',)"),
            "11 22 -1");
  EXPECT_TRUE(scope_.Run("c = C(); c.z = 5; assert c.z == 5"));
}

TEST_F(Inheritance, MetaclassesThatCombine) {
  EXPECT_EQ(SlotsOf("import abc\n"
                    "class Mixed(abc.ABCMeta, M): pass\n"
                    "class Abstract(abc.ABC): pass\n"
                    "class C(Abstract, A, metaclass=Mixed): pass"),
            "11 22 -1");
  EXPECT_EQ(SlotsOf("class Mixed2(M, abc.ABCMeta): pass\n"
                    "class C(A, Abstract, metaclass=Mixed2): pass"),
            "11 22 -1");
}

TEST_F(Inheritance, NothingExtensibleAmongTheBases) {
  EXPECT_EQ(SlotsOf("C = M('X', (object,), {})"), "-1 -1 -1");
  EXPECT_EQ(PyCustomSlots_Count(object_.get()), 0);
  EXPECT_EQ(SlotsOf("C = M('X', (), {})"), "-1 -1 -1");
  EXPECT_EQ(SlotsOf("C = M('X', (Plain, dict), {})"), "-1 -1 -1");
  EXPECT_EQ(SlotsOf("C = M('X', (Plain, A), {})"), "11 22 -1");
}

// A derived metaclass decides the MRO: its order counts, even if the class itself is not the first.
TEST_F(Inheritance, MetaclassWithAnMroOfItsOwn) {
  const std::string reversing =
      "class Reversing(M):\n"
      "  def mro(cls):\n"
      "    first, *bases, last = super().mro()\n"
      "    return [first] + bases[::-1] + [last]\n";
  EXPECT_EQ(SlotsOf(reversing + "class C(A, B, metaclass=Reversing): pass"), "11 222 333");
  const std::string later =
      "class Later(M):\n"
      "  def mro(cls):\n"
      "    first, *bases, last = super().mro()\n"
      "    return bases + [first, last]\n";
  EXPECT_EQ(SlotsOf(later + "class C(A, B, metaclass=Later): pass"), "11 22 333");
  EXPECT_EQ(Position(1), 1);
}

TEST_F(Inheritance, SubclassesOutliveTheirBasesNames) {
  EXPECT_EQ(SlotsOf("class C(A, B): pass"), "11 22 333");
  Ref kept = scope_.Eval("C");
  scope_.Run("del A, B, AA, C");
  a_.reset();
  b_.reset();
  aa_.reset();
  Collect();
  Ref object = New(kept);
  EXPECT_EQ(Value(object.get(), Id(1)), 11);
  EXPECT_EQ(Value(object.get(), Id(3)), 333);
}

}  // namespace
}  // namespace typedcall_test
