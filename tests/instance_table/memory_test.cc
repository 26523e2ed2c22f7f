// Tests the memory of tables.
#include <cstddef>

#include "tests/instance_table/instance.h"
#include "tests/support/memory.h"

namespace typedcall_test {
namespace {

// Returns the number of blocks in use.
std::size_t Living(const Memory &memory) { return memory.Blocks(Memory::kRaw); }

TEST_F(InstanceTable, EverythingGoesWithTheInstance) {
  const Memory memory;
  PyNativeCallableTables *mine = tables;
  const std::size_t before = Living(memory);
  for (std::uintptr_t i = 1; i <= 50; ++i) {
    ASSERT_EQ(Set(mine, {{"d->d", 0, Address(i)}}), 0);
    const PyNativeCallableEntry more = {"f->f", 0, Address(i)};
    ASSERT_EQ(PyNativeCallableTables_Append(mine, &more), 0);
  }
  PyNativeCallableTables_Withdraw(mine);
  EXPECT_EQ(Living(memory) - before, 100u) << "one block for each table that was ever offered";
  object.reset();
  EXPECT_EQ(Living(memory), before);
}

TEST_F(InstanceTable, SubclassInstancesFreeTheirTables) {
  scope.Run(
      "class Plain: pass\n"
      "class Sub(Plain, Callable): pass\n");
  Ref instance = scope.Eval("Sub()");
  const Memory memory;
  ASSERT_EQ(Set(TablesOf(instance), {{"d->d", 0, Address(1)}}), 0);
  EXPECT_EQ(Living(memory), 1u);
  instance.reset();
  EXPECT_EQ(Living(memory), 0u);
}

TEST_F(InstanceTable, SwitchingBetweenAFewTakesNoMemory) {
  const Memory memory;
  const PyNativeCallableEntry one = {"d->d", 0, Address(1)}, two = {"f->f", 0, Address(2)};
  const auto turn = [&] {
    ASSERT_EQ(Set(tables, {one}), 0);
    ASSERT_EQ(PyNativeCallableTables_Append(tables, &two), 0);
    PyNativeCallableTables_Withdraw(tables);
    ASSERT_EQ(Set(tables, {two}), 0);
    ASSERT_EQ(PyNativeCallableTables_Append(tables, &one), 0);
  };
  turn();
  EXPECT_EQ(Living(memory), 4u);
  for (int i = 0; i < 10000; ++i) turn();
  EXPECT_EQ(Living(memory), 4u);
}

TEST_F(InstanceTable, ReplacingByTheSameTakesNoMemory) {
  const Memory memory;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Set(tables, {{"d->d", 0, Address(1)}}), 0);
  EXPECT_EQ(Living(memory), 1u);
}

TEST_F(InstanceTable, RefusedEntriesTakeNoMemory) {
  const Memory memory;
  ASSERT_EQ(Set(tables, {{"d->d", 0, Address(1)}, {"x", 0, Address(1)}}), -1);
  EXPECT_NE(TakeError(), "");
  EXPECT_EQ(tables->blocks, nullptr);
}

TEST_F(InstanceTable, NoMemoryChangesNothing) {
  Memory memory;
  const Entries one = {{"d->d", 0, Address(1)}}, two = {{"f->f", 0, Address(2)}};
  memory.Refuse();
  const int first = Set(tables, one);
  memory.Stop();
  EXPECT_EQ(first, -1);
  EXPECT_EQ(TakeError(), "MemoryError: ");
  EXPECT_EQ(Offers(), "nothing");

  ASSERT_EQ(Set(tables, one), 0);
  memory.Refuse();
  const int replacing = Set(tables, two);
  memory.Stop();
  EXPECT_EQ(replacing, -1);
  EXPECT_EQ(TakeError(), "MemoryError: ");
  EXPECT_EQ(Offers(), "d->d 1");

  memory.Refuse();
  const int appending = PyNativeCallableTables_Append(tables, two.data());
  // These calls need no memory.
  PyNativeCallableTables_Withdraw(tables);
  const int again = Set(tables, one);
  memory.Stop();
  EXPECT_EQ(appending, -1);
  EXPECT_EQ(TakeError(), "MemoryError: ");
  EXPECT_EQ(again, 0);
  EXPECT_EQ(Offers(), "d->d 1");

  ASSERT_EQ(PyNativeCallableTables_Append(tables, two.data()), 0);
  EXPECT_EQ(Offers(), "d->d 1, f->f 2");
}

}  // namespace
}  // namespace typedcall_test
