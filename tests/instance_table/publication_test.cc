// Tests publishing and reading without an interpreter, so that ThreadSanitizer can be used.
// libpython is only needed for its allocator.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/seed.h"
#include "typedcall/native_callable_slot.h"

namespace {

void *Address(std::uintptr_t number) { return reinterpret_cast<void *>(number); }

// Reads the table like PyNativeCallable_InstanceTable.
const PyNativeCallableTable *Read(const PyNativeCallableTables *tables) {
  return PyTypedcall_LOAD_ACQUIRE(&tables->table);
}

bool IsWhole(const PyNativeCallableTable *table) {
  for (Py_ssize_t i = 0; i < table->count; ++i) {
    const PyNativeCallableEntry &entry = table->entries[i];
    if (std::strcmp(entry.signature, i % 2 ? "d->d" : "Zd&l->v") != 0) return false;
    if (entry.funcptr != Address(static_cast<std::uintptr_t>(i + 1))) return false;
    if (entry.flags != table->entries[0].flags) return false;
  }
  return true;
}

TEST(Publication, ReadersWhileAWriterWorks) {
  PyNativeCallableTables tables;
  PyNativeCallableTables_Init(&tables);
  std::atomic<bool> stop{false};
  std::atomic<long> broken{0}, whole{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const PyNativeCallableTable *table = Read(&tables);
        if (table != nullptr) ++(IsWhole(table) ? whole : broken);
      }
    });
  }
  const auto seed = typedcall_test::Seed(1);
  SCOPED_TRACE(typedcall_test::SeedText(seed));
  unsigned state = seed;
  std::string even, odd;
  for (unsigned turn = 0; turn < 20000 || whole == 0; ++turn) {
    state = state * 1103515245u + 12345u;
    const unsigned count = (state >> 8) % 20;
    if (count == 0) {
      PyNativeCallableTables_Withdraw(&tables);
      continue;
    }
    // The hints differ, so most tables are new. After the call, the caller's texts are overwritten.
    even = "Zd&l->v", odd = "d->d";
    const std::uintptr_t flags = (turn % 256) << 16;
    std::vector<PyNativeCallableEntry> entries;
    for (unsigned i = 0; i < count; ++i) {
      entries.push_back({(i % 2 ? odd : even).c_str(), flags, Address(i + 1)});
    }
    ASSERT_EQ(PyNativeCallableTables_Set(&tables, entries.data(), static_cast<int>(count)), 0);
    even = odd = "X";
    if (turn % 64 == 0) std::this_thread::yield();
  }
  stop = true;
  for (std::thread &reader : readers) reader.join();
  EXPECT_EQ(broken, 0);
  PyNativeCallableTables_Release(&tables);
}

}  // namespace
