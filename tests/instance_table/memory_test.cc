// Memory: everything goes when the instance dies, switching between a few tables takes none, and
// when there is none nothing changes.
#include <cstddef>
#include <mutex>
#include <unordered_set>

#include "tests/instance_table/instance.h"

namespace typedcall_test {
namespace {

// Counts the living blocks of the raw allocator that this thread took, and refuses on request.
class RawAllocator {
 public:
  RawAllocator() {
    PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &real_);
    PyMemAllocatorEx ours = {this, Malloc, Calloc, Realloc, Free};
    PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &ours);
  }
  ~RawAllocator() { PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &real_); }
  RawAllocator(const RawAllocator &) = delete;
  RawAllocator &operator=(const RawAllocator &) = delete;

  std::size_t Living() const { return living_.size(); }
  /// From now on there is no memory, or there is again.
  void Refuse(bool refuses) { refuses_ = refuses; }

 private:
  static RawAllocator *Self(void *context) { return static_cast<RawAllocator *>(context); }
  void *Took(void *block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (block != nullptr) living_.insert(block);
    return block;
  }
  void Gave(void *block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    living_.erase(block);
  }
  static void *Malloc(void *context, std::size_t size) {
    auto *self = Self(context);
    return self->refuses_ ? nullptr : self->Took(self->real_.malloc(self->real_.ctx, size));
  }
  static void *Calloc(void *context, std::size_t count, std::size_t size) {
    auto *self = Self(context);
    return self->refuses_ ? nullptr : self->Took(self->real_.calloc(self->real_.ctx, count, size));
  }
  static void *Realloc(void *context, void *block, std::size_t size) {
    auto *self = Self(context);
    if (self->refuses_) return nullptr;
    self->Gave(block);
    return self->Took(self->real_.realloc(self->real_.ctx, block, size));
  }
  static void Free(void *context, void *block) {
    auto *self = Self(context);
    self->Gave(block);
    self->real_.free(self->real_.ctx, block);
  }

  PyMemAllocatorEx real_;
  std::unordered_set<void *> living_;
  std::mutex mutex_;
  bool refuses_ = false;
};

TEST_F(InstanceTable, EverythingGoesWithTheInstance) {
  const RawAllocator raw;
  PyNativeCallableTables *mine = tables;
  const std::size_t before = raw.Living();
  for (std::uintptr_t i = 1; i <= 50; ++i) {
    ASSERT_EQ(Set(mine, {{"d->d", 0, Address(i)}}), 0);
    const PyNativeCallableEntry more = {"f->f", 0, Address(i)};
    ASSERT_EQ(PyNativeCallableTables_Append(mine, &more), 0);
  }
  PyNativeCallableTables_Withdraw(mine);
  EXPECT_EQ(raw.Living() - before, 100u) << "one block for each table that was ever offered";
  object.reset();
  EXPECT_EQ(raw.Living(), before);
}

TEST_F(InstanceTable, SubclassInstancesFreeTheirTables) {
  scope.Run(
      "class Plain: pass\n"
      "class Sub(Plain, Callable): pass\n");
  Ref instance = scope.Eval("Sub()");
  const RawAllocator raw;
  ASSERT_EQ(Set(TablesOf(instance), {{"d->d", 0, Address(1)}}), 0);
  EXPECT_EQ(raw.Living(), 1u);
  instance.reset();
  EXPECT_EQ(raw.Living(), 0u);
}

TEST_F(InstanceTable, SwitchingBetweenAFewTakesNoMemory) {
  const RawAllocator raw;
  const PyNativeCallableEntry one = {"d->d", 0, Address(1)}, two = {"f->f", 0, Address(2)};
  const auto turn = [&] {
    ASSERT_EQ(Set(tables, {one}), 0);
    ASSERT_EQ(PyNativeCallableTables_Append(tables, &two), 0);
    PyNativeCallableTables_Withdraw(tables);
    ASSERT_EQ(Set(tables, {two}), 0);
    ASSERT_EQ(PyNativeCallableTables_Append(tables, &one), 0);
  };
  turn();
  EXPECT_EQ(raw.Living(), 4u);
  for (int i = 0; i < 10000; ++i) turn();
  EXPECT_EQ(raw.Living(), 4u);
}

TEST_F(InstanceTable, ReplacingByTheSameTakesNoMemory) {
  const RawAllocator raw;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Set(tables, {{"d->d", 0, Address(1)}}), 0);
  EXPECT_EQ(raw.Living(), 1u);
}

TEST_F(InstanceTable, RefusedEntriesTakeNoMemory) {
  const RawAllocator raw;
  ASSERT_EQ(Set(tables, {{"d->d", 0, Address(1)}, {"x", 0, Address(1)}}), -1);
  EXPECT_NE(TakeError(), "");
  EXPECT_EQ(tables->blocks, nullptr);
}

TEST_F(InstanceTable, NoMemoryChangesNothing) {
  RawAllocator raw;
  const Entries one = {{"d->d", 0, Address(1)}}, two = {{"f->f", 0, Address(2)}};
  raw.Refuse(true);
  const int first = Set(tables, one);
  raw.Refuse(false);
  EXPECT_EQ(first, -1);
  EXPECT_EQ(TakeError(), "MemoryError: ");
  EXPECT_EQ(Offers(), "nothing");

  ASSERT_EQ(Set(tables, one), 0);
  raw.Refuse(true);
  const int replacing = Set(tables, two);
  raw.Refuse(false);
  EXPECT_EQ(replacing, -1);
  EXPECT_EQ(TakeError(), "MemoryError: ");
  EXPECT_EQ(Offers(), "d->d 1");

  raw.Refuse(true);
  const int appending = PyNativeCallableTables_Append(tables, two.data());
  // What has been offered before, and withdrawing, need none.
  PyNativeCallableTables_Withdraw(tables);
  const int again = Set(tables, one);
  raw.Refuse(false);
  EXPECT_EQ(appending, -1);
  EXPECT_EQ(TakeError(), "MemoryError: ");
  EXPECT_EQ(again, 0);
  EXPECT_EQ(Offers(), "d->d 1");

  ASSERT_EQ(PyNativeCallableTables_Append(tables, two.data()), 0);
  EXPECT_EQ(Offers(), "d->d 1, f->f 2");
}

}  // namespace
}  // namespace typedcall_test
