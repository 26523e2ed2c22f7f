// Tests foreign slots after assignments to `__bases__`: the current MRO decides (ABI, 5.18).
#include <random>
#include <thread>

#include "tests/foreign_slots/foreign.h"
#include "tests/support/seed.h"

namespace typedcall_test {
namespace {

class ForeignBases : public Foreign {
 protected:
  /// Returns what a reader without our headers finds, which walks the MRO through space 0, or -1.
  long Walk(PyTypeObject *type, unsigned idea) {
    Ref mro = Ref::Steal(PyTC_Mro(type));
    for (Py_ssize_t i = 0; i < PyTuple_Size(mro.get()); ++i) {
      const auto *table = static_cast<const PyForeignSlots_Table *>(
          interface_->find(interface_->state, PyTypedcall_BY_TYPE, PyTuple_GetItem(mro.get(), i)));
      for (Py_ssize_t at = 0; table != nullptr && at < table->count; ++at) {
        const PyCustomSlot *slots = table->slots;
        if (slots[at].id == Id(idea)) return static_cast<long>(slots[at].data.flags);
      }
    }
    return -1;
  }
};

TEST_F(ForeignBases, TheCurrentMroDecides) {
  Ref left = Class("class Left: pass", "Left"), right = Class("class Right: pass", "Right");
  ASSERT_EQ(Register(left, {S(1, 11), S(2, 22)}), 0) << TakeError();
  ASSERT_EQ(Register(right, {S(2, 33), S(3, 44)}), 0) << TakeError();
  ASSERT_TRUE(scope_.Run("class C(Left): pass\nclass Sub(C): pass"));
  for (int look = 0; look < 2; ++look) {
    for (const char *object : {"C()", "Sub()"}) {
      EXPECT_EQ(Any(object, 1), 11) << object;
      EXPECT_EQ(Any(object, 2), 22) << object;
      EXPECT_EQ(Any(object, 3), -1) << object;
    }
    ASSERT_TRUE(scope_.Run("C.__bases__ = (Right,)"));
    for (const char *object : {"C()", "Sub()"}) {
      EXPECT_EQ(Any(object, 1), -1) << object;
      EXPECT_EQ(Any(object, 2), 33) << object;
      EXPECT_EQ(Any(object, 3), 44) << object;
    }
    ASSERT_TRUE(scope_.Run("C.__bases__ = (Left,)"));
  }
}

TEST_F(ForeignBases, ASlotThatWasFoundStaysReadable) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  scope_.Run("class Sub(X): pass\nobject = Sub()");
  Ref object = scope_.Eval("object");
  const PyCustomSlot *found = PyCustomSlots_FindAny(interface_, object.get(), Id(1), 0);
  ASSERT_NE(found, nullptr);
  type.reset();
  scope_.Run("Sub.__bases__ = (Plain,)\ndel X");
  Collect();
  EXPECT_EQ(Any("object", 1), -1);
  EXPECT_EQ(found->data.flags, 11u) << "a copy of its own, not the dead base's";
}

TEST_F(ForeignBases, RegisteringForANewBase) {
  Ref left = Class("class X: pass");
  ASSERT_EQ(Register(left, {S(1, 11), S(2, 22)}), 0) << TakeError();
  ASSERT_TRUE(scope_.Run("Left = X\nclass Sub(Left): pass"));
  Ref right = Class("class X: pass");
  EXPECT_EQ(Any("Sub()", 1), 11);
  ASSERT_TRUE(scope_.Run("Sub.__bases__ = (X,)"));
  ASSERT_EQ(Register(right, {S(3, 33)}), 0) << TakeError();
  EXPECT_EQ(Any("Sub()", 1), -1);
  EXPECT_EQ(Any("Sub()", 3), 33);
  ASSERT_EQ(PyForeignSlots_Unregister(interface_, left.type(), Id(1)), 1);
  ASSERT_TRUE(scope_.Run("Sub.__bases__ = (Left,)"));
  EXPECT_EQ(Any("Sub()", 1), -1);
  EXPECT_EQ(Any("Sub()", 2), 22);
}

// A detached thread cannot merge, so it finds what the last attached look-up has merged.
TEST_F(ForeignBases, WithoutTheGil) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  scope_.Run("class Sub(X): pass\nobject = Sub()");
  Ref object = scope_.Eval("object");
  const auto detached = [&] {
    long found = 0;
    Py_BEGIN_ALLOW_THREADS;
    std::thread([&] { found = AnyOf(object.get(), 1); }).join();
    Py_END_ALLOW_THREADS;
    return found;
  };
  EXPECT_EQ(AnyOf(object.get(), 1), 11);
  scope_.Run("Sub.__bases__ = (Plain,)");
  EXPECT_EQ(detached(), 11);
  EXPECT_EQ(AnyOf(object.get(), 1), -1);
  EXPECT_EQ(detached(), -1);
}

// With mro() in a metaclass, CPython 3.9 never gives a type a version tag, nor does 3.12 after a
// thousand changes of a class.
TEST_F(ForeignBases, WithoutAVersion) {
  Ref type = Class("class X: pass");
  ASSERT_EQ(Register(type, {S(1, 11)}), 0) << TakeError();
  ASSERT_TRUE(
      scope_.Run("class Meta(type):\n"
                 "  def mro(cls): return super().mro()\n"
                 "class C(X, metaclass=Meta): pass\n"
                 "class D(X): pass\n"
                 "class Other: pass"));
  for (int i = 0; i < 2500; ++i) {
    ASSERT_TRUE(scope_.Run("D.attribute = 1"));
    ASSERT_EQ(Any("D()", 1), 11);
  }
  for (const char *object : {"C()", "D()"}) {
    EXPECT_EQ(Any(object, 1), 11) << object;
    ASSERT_TRUE(scope_.Run("C.__bases__ = D.__bases__ = (Other,)"));
    EXPECT_EQ(Any(object, 1), -1) << object;
    ASSERT_TRUE(scope_.Run("C.__bases__ = D.__bases__ = (X,)"));
    EXPECT_EQ(Any(object, 1), 11) << object;
  }
}

// Both ways of reading agree while bases, slots and attributes change at random.
TEST_F(ForeignBases, BothWaysAgree) {
  std::mt19937 random(Seed(53));
  const auto below = [&](std::size_t end) { return random() % end; };
  constexpr std::size_t kBases = 5, kClasses = 6;
  std::vector<Ref> bases, classes;
  for (std::size_t i = 0; i < kBases; ++i) bases.push_back(Class("class X: pass"));
  for (std::size_t i = 0; i < kClasses; ++i) {
    // A class derives from bases or from an earlier class.
    scope_.Set("Parent", (i < 3 ? bases[i] : classes[i - 3]).get());
    classes.push_back(Class("class X(Parent): pass"));
  }
  for (int step = 0; step < 3000; ++step) {
    const std::size_t what = below(8);
    Ref &base = bases[below(kBases)], &cls = classes[below(kClasses)];
    const unsigned idea = 1 + static_cast<unsigned>(below(3));
    if (what == 0) {
      if (Register(base, {S(idea, 1 + below(1000))}) < 0) PyErr_Clear();  // other data
    } else if (what == 1) {
      ASSERT_GE(Unregister(base, idea), 0) << TakeError();
    } else if (what == 2) {
      ASSERT_EQ(PyObject_SetAttrString(cls.get(), "attribute", Py_None), 0) << TakeError();
    } else {
      const std::size_t at = below(kClasses), other = below(kBases);
      Ref parents =
          Ref::Steal(at >= 3 && below(2) == 0 ? PyTuple_Pack(1, classes[below(3)].get())
                     : other != 0 ? PyTuple_Pack(2, bases[other].get(), bases[below(other)].get())
                                  : PyTuple_Pack(1, bases[other].get()));
      ASSERT_EQ(PyObject_SetAttrString(classes[at].get(), "__bases__", parents.get()), 0)
          << TakeError();
    }
    if (below(2) == 0) continue;  // so that a class sometimes changes twice between two looks
    for (const Ref &each : classes) {
      Ref object = New(each);
      for (unsigned i = 1; i <= 3; ++i) {
        ASSERT_EQ(AnyOf(object.get(), i, static_cast<Py_ssize_t>(below(4))), Walk(each.type(), i))
            << "step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace typedcall_test
