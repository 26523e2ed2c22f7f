// Tests that a resolution keeps its tag alive. A dead tag frees its memory, so that ASan detects
// later uses.
#include <cstdlib>
#include <utility>

#include "tests/resolve/callables.h"
#include "tests/support/fleeting.h"

namespace resolve_test {
namespace {

int freed;

/// Returns a table on the heap with one entry.
const PyNativeCallableTable *NewTable(const char *signature, std::uintptr_t flags, void *function) {
  auto *memory =
      static_cast<char *>(std::malloc(sizeof(PyNativeCallableTable) + std::strlen(signature) + 1));
  auto *table = reinterpret_cast<PyNativeCallableTable *>(memory);
  table->count = 1;
  table->entries[0] = {std::strcpy(memory + sizeof(*table), signature), flags, function};
  return table;
}

void FreeTable(const void *table) {
  ++freed;
  std::free(const_cast<void *>(table));
}

double Twice(double x) { return 2 * x; }
double OfSelf(PyObject *self, double x) { return x + static_cast<double>(PyObject_Length(self)); }

class Held : public testing::Test {
 protected:
  Held() { freed = 0; }

  /// Makes two functions from the same def. Only the first one owns the tag.
  void Tag(const PyNativeCallableTable *table) {
    first_ = Ref::Steal(PyCFunction_New(&def_, self_.get()));
    second_ = Ref::Steal(PyCFunction_New(&def_, self_.get()));
    ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &def_, first_.get(), table, FreeTable), 1)
        << TakeError();
  }
  void Reset() {
    first_.reset();
    typedcall_test::Collect();
  }
  void ExpectGone() {
    EXPECT_EQ(freed, 1);
    EXPECT_FALSE(typedcall::find(Interface(), second_.get(), "d->d"));
  }

  PyMethodDef def_ = {"f", Boxed, METH_O, nullptr};
  Ref self_ = Ref::Steal(PyList_New(3));
  Ref first_, second_;
};

TEST_F(Held, Resolution) {
  Tag(NewTable("d->d", 0, reinterpret_cast<void *>(Twice)));
  auto found = typedcall::resolve(Interface(), second_.get(), "d->d");
  ASSERT_TRUE(found) << TakeError();
  Reset();
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(found->funcptr)(2.0), 4.0);
  EXPECT_EQ(found->callable, second_.get());
  auto copy = found;
  found.reset();
  EXPECT_EQ(freed, 0);
  copy.reset();
  ExpectGone();
}

TEST_F(Held, Function) {
  Tag(NewTable("d->d", 0, reinterpret_cast<void *>(Twice)));
  auto found = typedcall::resolve<double(double)>(Interface(), second_.get());
  ASSERT_TRUE(found) << TakeError();
  Reset();
  EXPECT_EQ(found(2.0), 4.0);
  EXPECT_EQ(freed, 0);
  found = {};
  ExpectGone();
}

TEST_F(Held, BoundFunction) {
  Tag(NewTable("d->d", PyNativeCallable_TAKES_SELF | PyNativeCallable_NEEDS_THREAD,
               reinterpret_cast<void *>(OfSelf)));
  auto found = typedcall::resolve<double(double)>(Interface(), second_.get(), typedcall::bound(),
                                                  PyNativeCallable_NEEDS_THREAD);
  ASSERT_TRUE(found) << TakeError();
  Reset();
  EXPECT_EQ(found(2.0), 5.0);
  EXPECT_EQ(freed, 0);
  found = {};
  ExpectGone();
}

TEST_F(Held, SafeCasting) {
  Tag(NewTable("d->d", 0, reinterpret_cast<void *>(Twice)));
  typedcall::request asked;
  asked.signature = "f->d";
  asked.casting = typedcall::casting::safe;
  auto found = typedcall::resolve(Interface(), second_.get(), asked);
  ASSERT_TRUE(found) << TakeError();
  Reset();
  EXPECT_EQ(found->signature, "d->d");
  EXPECT_EQ(freed, 0);
  found.reset();
  ExpectGone();
}

// Python code that runs between two entries may free the owner.
TEST_F(Held, EachEntry) {
  Tag(NewTable("d->d", 0, reinterpret_cast<void *>(Twice)));
  int seen = 0;
  typedcall::for_each_entry(Interface(), second_.get(),
                            [&](const PyNativeCallableEntry &entry, typedcall::place) {
                              Reset();
                              EXPECT_STREQ(entry.signature, "d->d");
                              EXPECT_EQ(freed, 0);
                              ++seen;
                            });
  EXPECT_EQ(seen, 1);
  ExpectGone();

  Tag(NewTable("d->d", 0, reinterpret_cast<void *>(Twice)));
  typedcall::object_ref kept;
  typedcall::for_each_entry(Interface(), second_.get(),
                            [&](const PyNativeCallableEntry &, typedcall::place,
                                const typedcall::object_ref &reference) { kept = reference; });
  freed = 0;
  Reset();
  EXPECT_EQ(freed, 0);
  kept = {};
  ExpectGone();
}

// The second owner keeps the tag alive after the first one has died.
TEST_F(Held, TheSameTagOfTwoOwners) {
  Tag(NewTable("d->d", 0, reinterpret_cast<void *>(Twice)));
  const auto *equal = NewTable("d->d", 0, reinterpret_cast<void *>(Twice));
  EXPECT_EQ(PyTypedMethod_TagDef(Interface(), &def_, second_.get(), equal, FreeTable), 0);
  FreeTable(equal);
  freed = 0;
  Reset();
  EXPECT_EQ(freed, 0) << "it has another owner";
  EXPECT_TRUE(typedcall::find(Interface(), second_.get(), "d->d"));
  second_.reset();
  EXPECT_EQ(freed, 1);
}

// Another callback can run between the death of the owner and the removal of the tag. Then another
// tag is not a conflict.
TEST_F(Held, AnotherTagWhileTheOwnerDies) {
  Tag(NewTable("d->d", 0, reinterpret_cast<void *>(Twice)));
  static PyMethodDef act = {
      "act",
      [](PyObject *second, PyObject *) -> PyObject * {
        EXPECT_FALSE(typedcall::find(Interface(), second, "d->d"));
        const auto *other = NewTable("l->l", 0, Address(1));
        EXPECT_EQ(PyTypedMethod_TagCallable(Interface(), second, other, FreeTable), 1)
            << TakeError();
        Py_RETURN_NONE;
      },
      METH_O, nullptr};
  const Ref callback = Ref::Steal(PyCFunction_New(&act, second_.get()));
  const Ref watched = Ref::Steal(PyWeakref_NewRef(first_.get(), callback.get()));
  Reset();
  EXPECT_FALSE(typedcall::find(Interface(), second_.get(), "d->d"));
  EXPECT_TRUE(typedcall::find(Interface(), second_.get(), "l->l"));
  EXPECT_EQ(freed, 1) << "no reference was left";
}

// If the first tag cannot be held, a tag in another place is found.
TEST_F(Held, AnotherPlaceWhereOneCannotBeHeld) {
  static int fails;
  static const PyTypedcall_Interface *real;
  fails = 1;
  real = Interface();
  PyTypedcall_Interface failing = *real;
  failing.size = sizeof(failing);
  failing.hold = [](void *state, int space, const void *key, PyObject *callable,
                    const void **value) -> PyObject * {
    if (fails-- <= 0) return real->hold(state, space, key, callable, value);
    *value = nullptr;
    return PyErr_NoMemory();
  };
  Tag(NewTable("d->d", 0, reinterpret_cast<void *>(Twice)));
  ASSERT_EQ(
      PyNativeCallable_TagObject(Interface(), second_.get(),
                                 NewTable("d->d", 0, reinterpret_cast<void *>(Twice)), FreeTable),
      1);
  const auto found = typedcall::resolve(&failing, second_.get(), "d->d");
  ASSERT_TRUE(found) << TakeError();
  EXPECT_EQ(found->place, typedcall::place::object_row);
  EXPECT_EQ(TakeError(), "");
  fails = 2;
  EXPECT_FALSE(typedcall::resolve(&failing, second_.get(), "d->d"));
  EXPECT_EQ(TakeError().find("MemoryError"), 0u);
}

// An instance does not keep its former class alive.
TEST_F(Held, AnInstanceThatChangesItsClass) {
  typedcall_test::Scope scope;
  ASSERT_TRUE(
      scope.Run("class Old(list): append = None\nclass New(list): append = None\nx = Old()"));
  const Ref x = scope.Eval("x"), old_class = scope.Eval("Old");
  second_ = Ref::Steal(PyCFunction_New(&def_, x.get()));
  ASSERT_EQ(PyTypedMethod_TagDef(Interface(), &def_, old_class.get(),
                                 NewTable("d->d", 0, reinterpret_cast<void *>(Twice)), FreeTable),
            1);
  auto found = typedcall::resolve<double(double)>(Interface(), second_.get());
  ASSERT_TRUE(found) << TakeError();
  const Ref watched = Ref::Steal(PyWeakref_NewRef(old_class.get(), nullptr));
  const_cast<Ref &>(old_class).reset();
  ASSERT_TRUE(scope.Run("x.__class__ = New\ndel Old"));
  typedcall_test::Collect();
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(found(2.0), 4.0);
  found = {};
  typedcall_test::Collect();
  ExpectGone();
}

// Stays valid, because a tag may leave its row.
const Table kAppend{{"O->v", 0, Address(1)}};

// The look-up of a method's class may run Python code that frees the class of the instance.
TEST(Owner, AClassThatIsFreedDuringTheLookUp) {
  typedcall_test::Scope scope;
  scope.Run("base = list");
  const auto tag = [&](PyObject *) {
    // CPython's own look-up does not hold the class.
    const Ref append = scope.Eval("list.append.__get__(instance)");
    EXPECT_EQ(PyTypedMethod_TagCallable(Interface(), append.get(), kAppend.get(), nullptr), 1);
    EXPECT_EQ(PyTypedMethod_UntagDef(Interface(), PyTypedMethod_DefOf(append.get())), 1);
  };
  EXPECT_GT(typedcall_test::CountFreed(scope, "append", tag), 0);
}

// The look-up may also run Python code that frees the base where the method was found.
TEST(Owner, ABaseThatIsFreedDuringTheLookUp) {
  typedcall_test::Scope scope;
  ASSERT_TRUE(scope.Run(typedcall_test::kFleeting));
  ASSERT_TRUE(scope.Run(
      "class Meta(type):\n"
      "    def mro(cls):\n"
      "        if not is_odd: return super().mro()\n"
      "        return [*([base] if cls.__name__ == 'Late' else []), list, object]\n"
      "def count():\n"
      "    global base\n"
      "    if is_on and base:\n"
      "        type(instance).__bases__ = (other_base,)\n"
      "        base = None\n"
      "        gc.collect()\n"
      "        was_held.append(watched() is not None)\n"
      "is_odd = is_on = False\n"
      "base = Meta('Base', (list,), {'__slots__': (), Key('append'): 0, 'append': lambda: 0})\n"
      "other_base = Meta('Other', (list,), {'__slots__': ()})\n"
      "instance = Meta('Late', (base,), {'__slots__': ()})()\n"
      "is_odd = True\n"
      "base.__bases__ = base.__bases__\n"
      "is_odd = False\n"
      "watched = weakref.ref(base)\n"
      "append = list.append.__get__(instance)\n"
      "is_on = True\n"));
  const Ref append = scope.Eval("append");
  EXPECT_EQ(PyTypedMethod_TagCallable(Interface(), append.get(), kAppend.get(), nullptr), 1);
  EXPECT_EQ(PyTypedMethod_UntagDef(Interface(), PyTypedMethod_DefOf(append.get())), 1);
  typedcall_test::Collect();
  EXPECT_TRUE(scope.Run("assert was_held == [True] and watched() is None, (was_held, watched())"));
}

}  // namespace
}  // namespace resolve_test
