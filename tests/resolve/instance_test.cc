// Tests the native-callable slot, which gives each instance its own table.

#include "core/extensible_type.h"
#include "tests/resolve/callables.h"
#include "tests/support/fleeting.h"
#include "typedcall/call_site.h"

namespace {

using namespace resolve_test;

struct Instance {
  PyObject ob_base;
  const PyNativeCallableTable *table;
};

PyObject *Call(PyObject *, PyObject *, PyObject *) { Py_RETURN_NONE; }

class NativeCallable : public testing::Test {
 protected:
  NativeCallable() {
    PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void *>(Call)}, {0, nullptr}};
    PyType_Spec spec = {"test.Callable", sizeof(Instance), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyCustomSlot slot = {PYCUSTOMSLOT_NATIVECALLABLE_ID, {nullptr}};
    slot.data.objoffset = offsetof(Instance, table);
    type = Ref::Steal(PyExtensibleType_FromSpec(nullptr, &spec, nullptr, &slot, 1));
    EXPECT_TRUE(type) << TakeError();
    scope.Set("Callable", type.get());
  }
  Ref Make(const char *expression, const PyNativeCallableTable *table) {
    Ref instance = scope.Eval(expression);
    reinterpret_cast<Instance *>(instance.get())->table = table;
    return instance;
  }

  Ref type;
  typedcall_test::Scope scope;
  const Table one{{"l->l", 0, Address(1)}};
  const Table two{{"l->l", 0, Address(2)}, {"d->d", PyNativeCallable_NEEDS_THREAD, Address(3)}};
};

TEST_F(NativeCallable, EachInstanceHasItsTable) {
  const Ref a = Make("Callable()", one.get()), b = Make("Callable()", two.get());
  for (const auto *interface : {static_cast<const PyTypedcall_Interface *>(nullptr), Interface()}) {
    EXPECT_EQ(Find(interface, a.get(), "l->l"), "l->l 1 instance slot");
    EXPECT_EQ(Find(interface, b.get(), "l->l"), "l->l 2 instance slot");
    EXPECT_EQ(Find(interface, b.get(), "d->d"), "nothing");
    EXPECT_EQ(Find(interface, b.get(), "d->d", typedcall::holds_gil), "d->d 3 instance slot");
  }
}

TEST_F(NativeCallable, TableCanBeReplaced) {
  const Ref a = Make("Callable()", one.get()), b = Make("Callable()", one.get());
  const auto before = typedcall::find(nullptr, a.get(), "l->l");
  reinterpret_cast<Instance *>(a.get())->table = two.get();
  EXPECT_EQ(Find(nullptr, a.get(), "l->l"), "l->l 2 instance slot");
  EXPECT_EQ(Find(nullptr, b.get(), "l->l"), "l->l 1 instance slot");
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->funcptr, Address(1));
}

TEST_F(NativeCallable, WithoutTableOffersNothing) {
  PyNativeCallableTable empty = {}, negative = {-1, {}}, unnamed = {1, {{nullptr, 0, Address(1)}}};
  PyNativeCallableTable *const tables[] = {nullptr, &empty, &negative, &unnamed};
  for (PyNativeCallableTable *table : tables) {
    const Ref instance = Make("Callable()", table);
    EXPECT_EQ(Find(Interface(), instance.get(), "l->l"), "nothing");
    EXPECT_EQ(Refusal(Interface(), instance.get(), "l->l"),
              "TypeError: 'test.Callable' object offers no native signature; 'l->l' was asked for: "
              "its native-callable slot (SEP 201) offers nothing now");
  }
}

TEST_F(NativeCallable, TypeItselfOffersNothing) {
  EXPECT_EQ(Find(Interface(), type.get(), "l->l"), "nothing");
}

TEST_F(NativeCallable, PythonSubclasses) {
  scope.Run(
      "class Sub(Callable): pass\n"
      "class Slots(Callable): __slots__ = ('x', 'y')\n"
      "class SubSub(Sub):\n"
      "    def __init__(self): self.attribute = 1\n"
      "class Mixin: pass\n"
      "class Mixed(Mixin, Sub): pass\n");
  for (const char *expression : {"Sub()", "Slots()", "SubSub()", "Mixed()"}) {
    const Ref instance = Make(expression, one.get());
    EXPECT_EQ(Find(nullptr, instance.get(), "l->l"), "l->l 1 instance slot") << expression;
  }
}

// Python calls the override, so the inherited table is not used.
TEST_F(NativeCallable, SubclassThatOverridesCall) {
  scope.Run(
      "class Override(Callable):\n"
      "    def __call__(self, x): return -x\n"
      "class Below(Override): pass\n"
      "class Mixin:\n"
      "    def __call__(self, x): return -x\n"
      "class Before(Mixin, Callable): pass\n");
  for (const char *expression : {"Override()", "Below()", "Before()"}) {
    const Ref instance = Make(expression, one.get());
    EXPECT_EQ(Find(nullptr, instance.get(), "l->l"), "nothing") << expression;
    const std::string refusal = Refusal(Interface(), instance.get(), "l->l");
    EXPECT_NE(
        refusal.find(
            "overrides __call__, but its native-callable slot (SEP 201) is for another __call__"),
        std::string::npos)
        << refusal;
  }
}

TEST_F(NativeCallable, SubclassesThatOverrideCallAreNotCalledPastIt) {
  scope.Run(
      "class Overrides(Callable):\n"
      "    def __call__(self, x): return 2\n"
      "class Inherits(Overrides): pass\n"
      "class Refuses(Callable): __call__ = None\n"
      "class Mixin:\n"
      "    def __call__(self, x): return 3\n"
      "class Mixed(Mixin, Callable): pass\n");
  for (const char *expression : {"Overrides()", "Inherits()", "Refuses()", "Mixed()"}) {
    const Ref instance = Make(expression, one.get());
    EXPECT_FALSE(typedcall::find(nullptr, instance.get(), "l->l")) << expression;
  }
}

TEST_F(NativeCallable, SlotComesBeforeTheSideTable) {
  const Table row{{"l->l", 0, Address(7)}, {"f->f", 0, Address(8)}};
  scope.Run("class Sub(Callable): pass");
  const Ref instance = Make("Sub()", one.get());
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), instance.get(), row.get(), nullptr), 1)
      << TakeError();
  EXPECT_EQ(Find(Interface(), instance.get(), "l->l"), "l->l 1 instance slot");
  EXPECT_EQ(Find(Interface(), instance.get(), "f->f"), "f->f 8 object row");
  EXPECT_EQ(Refusal(Interface(), instance.get(), "g->g"),
            "TypeError: 'Sub' object does not offer 'g->g'; it offers 'l->l', 'l->l', 'f->f'");
}

// The first look-up on a class may run Python code that assigns `__class__`.
TEST_F(NativeCallable, ACallSiteRemembersNothingOfAClassThatChangedDuringTheSearch) {
  const Table row{{"l->l", 0, Address(7)}};
  scope.Run(
      "class Plain(Callable): pass\n"
      "class Declaration:\n"
      "    def __getitem__(self, key): raise KeyError\n"
      "    def items(self):\n"
      "        for each in changing: each.__class__ = Plain\n"
      "        raise KeyError\n"
      "def late():\n"
      "    return type.__new__(type(Callable), 'Late', (Callable,),\n"
      "                        {'__customslots__': Declaration(), '__call__': lambda self: 0})()\n"
      "changing = []\n");
  typedcall::call_site<long(long)> site(Interface());
  const auto find = [&](PyObject *callable) {
    return reinterpret_cast<void *>(site.find(callable).get());
  };
  const Ref instance = Make("late()", one.get());
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), instance.get(), row.get(), nullptr), 1);
  scope.Set("instance", instance.get());
  scope.Run("changing[:] = [instance]");
  EXPECT_EQ(find(instance.get()), Address(7));
  scope.Run("assert type(instance) is Plain\nchanging.clear()");
  EXPECT_EQ(Find(Interface(), instance.get(), "l->l"), "l->l 1 instance slot");
  EXPECT_EQ(find(instance.get()), Address(1));
}

// A look-up may run Python code that frees the callable's class.
TEST_F(NativeCallable, AClassThatIsFreedDuringTheLookUp) {
  scope.Set("base", type.get());
  for (const char *name : {"__call__", static_cast<const char *>(nullptr)}) {
    for (const PyNativeCallableTable *table :
         {one.get(), static_cast<decltype(one.get())>(nullptr)}) {
      const auto refuse = [&](PyObject *instance) {
        reinterpret_cast<Instance *>(instance)->table = table;
        EXPECT_EQ(Refusal(Interface(), instance, "g->g").find("TypeError: '"), 0u);
      };
      EXPECT_GT(typedcall_test::CountFreed(scope, name, refuse), 0);
    }
  }
}

// A callable's name depends on the class of its `__self__`, which its metaclass may free.
TEST_F(NativeCallable, ASelfWhoseClassIsFreedDuringTheLookUp) {
  scope.Run("class base: __slots__ = ()");
  ASSERT_TRUE(scope.Run(typedcall_test::kFleeting));
  ASSERT_TRUE(
      scope.Run("def look_up(cls, name):\n"
                "    if name == '__qualname__':\n"
                "        instance.__class__ = plain\n"
                "        gc.collect()\n"
                "        return 'C'\n"
                "    was_held.append(watched() is not None)\n"
                "    return type.__getattribute__(cls, name)\n"
                "fleeting(base, None)\n"
                "type(type(instance)).__getattribute__ = look_up\n"
                "class Callable:\n"
                "    def __call__(self): pass\n"
                "named = Callable()\n"
                "named.__self__, named.__qualname__, named.__name__ = instance, 'C.f', 'f'\n"));
  const Ref named = scope.Eval("named");
  EXPECT_EQ(Refusal(Interface(), named.get(), "l->l").find("TypeError: f "), 0u);
  typedcall_test::Collect();
  EXPECT_TRUE(scope.Run("assert was_held == [True] and watched() is None, (was_held, watched())"));
}

// On CPython 3.13, gc.get_objects() contains the interpreter's dictionary. Its keys are compared to
// find the interface.
TEST_F(NativeCallable, AClassThatIsFreedWhileTheInterfaceIsFound) {
  scope.Set("base", type.get());
  ASSERT_TRUE(scope.Run(typedcall_test::kFleeting));
  PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  const Ref name = Ref::Steal(PyUnicode_FromString(PyTypedcall_CAPSULE_NAME));
  const Ref capsule = Ref::Borrow(PyDict_GetItem(dict, name.get()));
  scope.Set("name", name.get());
  const Ref key = scope.Eval("Key(name)");
  const Ref instance = scope.Eval("fleeting(base, None)");
  ASSERT_EQ(PyDict_DelItem(dict, name.get()), 0);
  ASSERT_EQ(PyDict_SetItem(dict, key.get(), Py_None), 0);
  ASSERT_EQ(PyDict_SetItem(dict, name.get(), capsule.get()), 0);
  scope.Run("turns = 1");
  EXPECT_EQ(PyCustomSlots_Find(instance.get(), PYCUSTOMSLOT_NATIVECALLABLE_ID, 0), nullptr);
  EXPECT_TRUE(scope.Run("assert was_held == [True], was_held"));  // the keys were compared
  EXPECT_EQ(PyDict_DelItem(dict, key.get()), 0);
  typedcall_test::Collect();
  EXPECT_TRUE(scope.Run("assert watched() is None"));
}

// The table of an instance takes precedence over a tag.
TEST_F(NativeCallable, ACallSiteSeesATableThatComesAfterTheTag) {
  const Table row{{"l->l", 0, Address(7)}};
  scope.Run("class Sub(Callable): pass");
  const Ref instance = Make("Sub()", nullptr);
  ASSERT_EQ(PyNativeCallable_TagObject(Interface(), instance.get(), row.get(), nullptr), 1);
  typedcall::call_site<long(long)> site(Interface());
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(reinterpret_cast<void *>(site.find(instance.get()).get()), Address(7));
  }
  reinterpret_cast<Instance *>(instance.get())->table = one.get();
  EXPECT_EQ(reinterpret_cast<void *>(site.find(instance.get()).get()), Address(1));
}

// The instance itself is passed as self.
TEST_F(NativeCallable, SelfIsTheInstance) {
  const auto doubled = +[](PyObject *self, long x) noexcept { return Py_TYPE(self) ? 2 * x : 0; };
  const Table table{{"l->l", PyNativeCallable_TAKES_SELF, reinterpret_cast<void *>(doubled)}};
  const Ref instance = Make("Callable()", table.get());
  EXPECT_FALSE(typedcall::find<long(long)>(nullptr, instance.get(), typedcall::passes_self));
  const Py_ssize_t before = Py_REFCNT(instance.get());
  {
    const auto bound = typedcall::resolve<long(long)>(nullptr, instance.get(), typedcall::bound());
    ASSERT_TRUE(bound) << TakeError();
    EXPECT_EQ(bound.self(), instance.get());
    EXPECT_EQ(bound(21), 42);
  }
  EXPECT_EQ(Py_REFCNT(instance.get()), before);
}

TEST_F(NativeCallable, FindKeepsTheInstanceAlive) {
  scope.Run("import weakref\nclass Sub(Callable): pass");
  Ref instance = Make("Sub()", one.get());
  scope.Set("instance", instance.get());
  scope.Run("watch = weakref.ref(instance)\ndel instance");
  auto found = typedcall::find(nullptr, instance.get(), "l->l");
  instance.reset();
  EXPECT_EQ(scope.Eval("watch() is None").get(), Py_False);
  found.reset();
  EXPECT_EQ(scope.Eval("watch() is None").get(), Py_True);
}

}  // namespace
