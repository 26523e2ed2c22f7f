// Tests which entries an instance offers after its table has changed.
#include <cstring>

#include "tests/instance_table/instance.h"

namespace typedcall_test {
namespace {

const PyNativeCallableEntry kOne = {"d->d", 0, Address(1)};
const PyNativeCallableEntry kTwo = {"f->f", 0, Address(2)};
const PyNativeCallableEntry kThree = {"l->l", 0, Address(3)};

TEST_F(InstanceTable, NothingAtFirst) {
  EXPECT_EQ(Offers(), "nothing");
  EXPECT_EQ(Found(object, "d->d"), "nothing");
}

TEST_F(InstanceTable, SlotLocatesTheTable) {
  const PyCustomSlot *slot = PyCustomSlots_Find(object.get(), PYCUSTOMSLOT_NATIVECALLABLE_ID, 0);
  ASSERT_EQ(slot, &PyCustomSlots_Table(object.get())[PYCUSTOMSLOT_NATIVECALLABLE_EXPECTED_POS]);
  EXPECT_EQ(slot->data.objoffset, static_cast<Py_ssize_t>(offsetof(Instance, native)));
  ASSERT_EQ(Set(tables, {kOne}), 0);
  EXPECT_EQ(Read(), tables->table);
}

PyObject *OtherCall(PyObject *, PyObject *, PyObject *) { Py_RETURN_NONE; }

// Calls to a subclass's instance use the table if they reach `__call__` of the class with the slot.
TEST_F(InstanceTable, InstancesOfSubclasses) {
  for (const bool is_callable : {true, false}) {
    PyType_Slot type_slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(Dealloc)},
                                {is_callable ? Py_tp_call : 0, reinterpret_cast<void *>(CallBoxed)},
                                {0, nullptr}};
    PyType_Spec spec = {"test.TwoSlots", sizeof(Instance), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, type_slots};
    const PyCustomSlot slots[] = {
        {PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 1, 0), {nullptr}},
        PyNativeCallableTables_SLOT(Instance, native)};
    Ref type = Ref::Steal(PyExtensibleType_FromSpec(nullptr, &spec, nullptr, slots, 2));
    ASSERT_TRUE(type) << TakeError();
    Scope scope;
    scope.Set("TwoSlots", type.get());
    Ref object = scope.Eval("type('Sub', (TwoSlots,), {})()");
    ASSERT_EQ(Set(TablesOf(object), {{"d->d", 0, Address(1)}}), 0) << TakeError();
    const auto offered = [&] { return Offered(PyNativeCallable_CallTable(object.get())); };
    EXPECT_EQ(offered(), is_callable ? "d->d 1" : "nothing");
    PyTypeObject *sub = Py_TYPE(object.get());
    const ternaryfunc before = sub->tp_call;
    sub->tp_call = OtherCall;
    EXPECT_EQ(offered(), "nothing") << "the attribute __call__ is the same, but not the function";
    sub->tp_call = before;
  }
}

TEST_F(InstanceTable, EntriesInTheirOrder) {
  ASSERT_EQ(Set(tables, {kTwo, kOne, kThree}), 0);
  EXPECT_EQ(Offers(), "f->f 2, d->d 1, l->l 3");
  ASSERT_EQ(Set(tables, {kThree}), 0);
  EXPECT_EQ(Offers(), "l->l 3");
}

// "q" and "n" are equivalent. An identical signature takes precedence, then the first entry.
TEST_F(InstanceTable, FirstFittingOverloadWins) {
  ASSERT_EQ(Set(tables, {{"q->q", 0, Address(4)}, {"n->n", 0, Address(5)}}), 0);
  EXPECT_EQ(Found(object, "l->l"), "q->q 4");
  EXPECT_EQ(Found(object, "n->n"), "n->n 5");
  ASSERT_EQ(Set(tables, {{"n->n", 0, Address(5)}, {"q->q", 0, Address(4)}}), 0);
  EXPECT_EQ(Found(object, "l->l"), "n->n 5");
}

TEST_F(InstanceTable, OverloadsByFlags) {
  ASSERT_EQ(Set(tables, {{"d->d", PyNativeCallable_DIFFERS, Address(6)}, kOne}), 0);
  EXPECT_EQ(Found(object, "d->d"), "d->d 1");
  EXPECT_EQ(Found(object, "d->d", typedcall::accepts_differences), "d->d 6");
}

TEST_F(InstanceTable, TakesSelfIsForWhoeverPassesIt) {
  ASSERT_EQ(Set(tables, {{"d->d", PyNativeCallable_TAKES_SELF, Address(7)}}), 0);
  EXPECT_EQ(Found(object, "d->d"), "nothing");
  EXPECT_EQ(Found(object, "d->d", PyNativeCallable_TAKES_SELF), "d->d 7");
}

TEST_F(InstanceTable, EntriesAndSignaturesAreCopied) {
  char signature[] = "d->d";
  Entries entries = {{signature, 0, Address(1)}};
  ASSERT_EQ(Set(tables, entries), 0);
  std::memcpy(signature, "l->l", sizeof(signature));
  entries[0] = kThree;
  EXPECT_EQ(Offers(), "d->d 1");
}

TEST_F(InstanceTable, EntriesOfAnotherInstanceOrOfItsOwn) {
  const Ref other = scope.Eval("Callable()");
  ASSERT_EQ(Set(tables, {kOne, kTwo}), 0);
  ASSERT_EQ(PyNativeCallableTables_Set(TablesOf(other), tables->table->entries, 2), 0);
  ASSERT_EQ(PyNativeCallableTables_Set(tables, &tables->table->entries[1], 1), 0);
  EXPECT_EQ(Offers(), "f->f 2");
  object.reset();
  EXPECT_EQ(Offered(PyNativeCallable_InstanceTable(other.get())), "d->d 1, f->f 2");
}

TEST_F(InstanceTable, Append) {
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &kOne), 0);
  EXPECT_EQ(Offers(), "d->d 1");
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &kTwo), 0);
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &kThree), 0);
  EXPECT_EQ(Offers(), "d->d 1, f->f 2, l->l 3");
}

TEST_F(InstanceTable, AppendedTwiceIsOnce) {
  ASSERT_EQ(Set(tables, {kOne, kTwo}), 0);
  const auto *before = Read();
  char signature[] = "d->d";
  const PyNativeCallableEntry again = {signature, 0, Address(1)};
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &again), 0);
  EXPECT_EQ(Read(), before);
}

// The same signature with a different function or different flags is a separate overload.
TEST_F(InstanceTable, AppendedEntryThatDiffersInOneField) {
  const PyNativeCallableEntry function = {"d->d", 0, Address(8)};
  const PyNativeCallableEntry flags = {"d->d", PyNativeCallable_PURE, Address(1)};
  ASSERT_EQ(Set(tables, {kOne}), 0);
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &function), 0);
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &flags), 0);
  EXPECT_EQ(Offers(), "d->d 1, d->d 8, d->d 1");
}

TEST_F(InstanceTable, Withdraw) {
  ASSERT_EQ(Set(tables, {kOne}), 0);
  PyNativeCallableTables_Withdraw(tables);
  EXPECT_EQ(Offers(), "nothing");
  EXPECT_EQ(Found(object, "d->d"), "nothing");
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &kTwo), 0);
  EXPECT_EQ(Offers(), "f->f 2");
  ASSERT_EQ(PyNativeCallableTables_Set(tables, nullptr, 0), 0);
  EXPECT_EQ(Offers(), "nothing");
}

TEST_F(InstanceTable, OldTablesStayReadable) {
  std::vector<const PyNativeCallableTable *> old;
  for (std::uintptr_t i = 1; i <= 100; ++i) {
    ASSERT_EQ(Set(tables, {{"d->d", 0, Address(i)}, {"Zd&l->v", 0, Address(1000 + i)}}), 0);
    old.push_back(Read());
  }
  PyNativeCallableTables_Withdraw(tables);
  for (std::uintptr_t i = 1; i <= 100; ++i) {
    ASSERT_EQ(Offered(old[i - 1]),
              "d->d " + std::to_string(i) + ", Zd&l->v " + std::to_string(1000 + i));
  }
}

TEST_F(InstanceTable, TheSameContentIsTheSameTable) {
  const Entries first = {kOne, kTwo}, second = {kTwo, kOne}, third = {kOne};
  ASSERT_EQ(Set(tables, first), 0);
  const auto *one = Read();
  ASSERT_EQ(Set(tables, second), 0);
  const auto *two = Read();
  ASSERT_EQ(Set(tables, third), 0);
  const auto *three = Read();
  EXPECT_NE(one, two);
  EXPECT_NE(one, three);
  ASSERT_EQ(Set(tables, first), 0);
  EXPECT_EQ(Read(), one);
  PyNativeCallableTables_Withdraw(tables);
  ASSERT_EQ(Set(tables, second), 0);
  EXPECT_EQ(Read(), two);
  // An earlier table with the same entries is used again.
  ASSERT_EQ(Set(tables, third), 0);
  EXPECT_EQ(Read(), three);
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &kTwo), 0);
  EXPECT_EQ(Read(), one);
}

TEST_F(InstanceTable, ContentThatDiffersInFlagsOnlyIsAnotherTable) {
  ASSERT_EQ(Set(tables, {kOne}), 0);
  const auto *before = Read();
  ASSERT_EQ(Set(tables, {{"d->d", PyNativeCallable_PURE, Address(1)}}), 0);
  EXPECT_NE(Read(), before);
  EXPECT_EQ(before->entries[0].flags, 0u);
}

TEST_F(InstanceTable, PendingExceptionIsKept) {
  PyErr_SetString(PyExc_KeyError, "before");
  ASSERT_EQ(Set(tables, {kOne}), 0);
  ASSERT_EQ(PyNativeCallableTables_Append(tables, &kTwo), 0);
  PyNativeCallableTables_Withdraw(tables);
  EXPECT_EQ(TakeError(), "KeyError: 'before'");
}

TEST_F(InstanceTable, ReleasedTwice) {
  PyNativeCallableTables mine;
  PyNativeCallableTables_Init(&mine);
  ASSERT_EQ(Set(&mine, {kOne}), 0);
  PyNativeCallableTables_Release(&mine);
  EXPECT_EQ(mine.table, nullptr);
  PyNativeCallableTables_Release(&mine);
}

// Another library may have written the table. The resolver skips entries with a different ABI,
// unknown flags or invalid flags, and continues with the next entry. It ignores unknown hints.
TEST_F(InstanceTable, EntriesThatTheResolverPassesOver) {
  struct {
    Py_ssize_t count;
    PyNativeCallableEntry entries[5];
  } foreign = {5,
               {{"d->d", 0x01000000u, Address(1)},
                {"d->d", 0x80000000u, Address(2)},
                {"d->d", 0x0200u, Address(3)},
                {"d->d", PyNativeCallable_MAY_RAISE, Address(4)},
                {"d->d", 0x00800000u, Address(5)}}};  // an unknown hint
  tables->table = reinterpret_cast<const PyNativeCallableTable *>(&foreign);
  EXPECT_EQ(Found(object, "d->d", PyNativeCallable_MANDATORY_MASK), "d->d 5");
  foreign.count = 4;
  EXPECT_EQ(Found(object, "d->d", PyNativeCallable_MANDATORY_MASK), "nothing");
  EXPECT_FALSE(typedcall::resolve(nullptr, object.get(), "d->d"));
  EXPECT_EQ(TakeError(),
            "TypeError: 'test.Callable' object does not offer 'd->d'; it offers "
            "'d->d' (flags not understood), 'd->d' (flags not understood), "
            "'d->d' (flags not understood), 'd->d' (flags not understood)");
  tables->table = nullptr;
}

TEST_F(InstanceTable, PythonSubclasses) {
  scope.Run(
      "class Plain: pass\n"
      "class Slots: __slots__ = ()\n"
      "class Sub(Callable): pass\n"
      "class Both(Plain, Callable):\n"
      "  def __init__(self): self.attribute = 1\n"
      "class Deep(Slots, Both): __slots__ = ('x', 'y')\n"
      "class Overrides(Plain, Callable):\n"
      "  def __call__(self, x): return x\n");
  for (const char *expression : {"Sub()", "Both()", "Deep()"}) {
    const Ref instance = scope.Eval(expression);
    EXPECT_EQ(Found(instance, "d->d"), "nothing") << expression;
    ASSERT_EQ(Set(TablesOf(instance), {kOne}), 0);
    EXPECT_EQ(Found(instance, "d->d"), "d->d 1") << expression;
  }
  const Ref overrides = scope.Eval("Overrides()");
  ASSERT_EQ(Set(TablesOf(overrides), {kOne}), 0);
  EXPECT_EQ(Offered(PyNativeCallable_InstanceTable(overrides.get())), "d->d 1");
  EXPECT_EQ(PyNativeCallable_CallTable(overrides.get()), nullptr);
  EXPECT_EQ(Found(overrides, "d->d"), "nothing");
}

}  // namespace
}  // namespace typedcall_test
