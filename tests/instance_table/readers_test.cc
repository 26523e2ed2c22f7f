// Threads without the GIL read the table of an instance while its owner changes it. Each read must
// find a complete table.
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/instance_table/instance.h"
#include "tests/support/seed.h"

namespace typedcall_test {
namespace {

// Function number n adds n. Table number n has n entries with these functions.
template <int n>
double Add(PyObject *, double x) {
  return x + n;
}
template <int n>
long AddInt(PyObject *, long x) {
  return x + n;
}

constexpr std::uintptr_t kFlags = PyNativeCallable_TAKES_SELF | PyNativeCallable_THREAD_SAFE;

// The hints differ, so most tables are new.
template <int n>
Entries Table(std::uintptr_t variant) {
  const std::uintptr_t flags = kFlags | (variant % 256) << 16;
  Entries entries(n, {"d->d", flags, reinterpret_cast<void *>(Add<n>)});
  entries.back() = {"l->l", flags, reinterpret_cast<void *>(AddInt<n>)};
  return entries;
}

Entries (*const kTables[])(std::uintptr_t) = {Table<1>, Table<2>, Table<3>, Table<9>, Table<40>};

// Calls all functions. Returns true if the table is complete.
bool IsWhole(const PyNativeCallableTable *table, PyObject *self) {
  const Py_ssize_t n = table->count;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const PyNativeCallableEntry &entry = table->entries[i];
    if (entry.flags != table->entries[0].flags) return false;
    if (i + 1 == n) {
      if (std::strcmp(entry.signature, "l->l") != 0) return false;
      const auto add = reinterpret_cast<long (*)(PyObject *, long)>(entry.funcptr);
      if (add(self, 1000) != 1000 + n) return false;
    } else {
      if (std::strcmp(entry.signature, "d->d") != 0) return false;
      const auto add = reinterpret_cast<double (*)(PyObject *, double)>(entry.funcptr);
      if (add(self, 0.5) != 0.5 + static_cast<double>(n)) return false;
    }
  }
  return true;
}

struct Counts {
  std::atomic<long> broken{0}, whole{0}, nothing{0}, changes{0};
};

void ReadOn(PyObject *object, const std::atomic<bool> *stop, Counts *counts) {
  const PyNativeCallableTable *before = nullptr;
  while (!*stop) {
    const PyNativeCallableTable *table = PyNativeCallable_InstanceTable(object);
    if (table == nullptr) {
      ++counts->nothing;
      continue;
    }
    ++(IsWhole(table, object) ? counts->whole : counts->broken);
    // The previous table must be unchanged.
    if (before != nullptr && !IsWhole(before, object)) ++counts->broken;
    if (before != table) ++counts->changes;
    before = table;
  }
}

TEST_F(InstanceTable, ReadersWithoutTheGIL) {
  Counts counts;
  const auto seed = Seed(1);
  SCOPED_TRACE(SeedText(seed));
  unsigned state = seed;
  long writes = 0;
  // Several instances are used, so that tables are freed.
  for (int round = 0; round < 8; ++round) {
    object = scope.Eval("Callable()");
    tables = TablesOf(object);
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    PyThreadState *thread = PyEval_SaveThread();
    for (int i = 0; i < 3; ++i) readers.emplace_back(ReadOn, object.get(), &stop, &counts);
    PyEval_RestoreThread(thread);
    // The loop runs until the readers have read new tables.
    const long changes = counts.changes + 10;
    for (int turn = 0; turn < 500 || counts.changes < changes; ++turn) {
      state = state * 1103515245u + 12345u;
      const unsigned which = (state >> 8) % 6;
      if (which == 5) {
        PyNativeCallableTables_Withdraw(tables);
      } else {
        ASSERT_EQ(Set(tables, kTables[which](state >> 16)), 0) << TakeError();
      }
      if (++writes % 16 == 0) std::this_thread::yield();
    }
    stop = true;
    for (std::thread &reader : readers) reader.join();
  }
  EXPECT_EQ(counts.broken, 0);
  EXPECT_GT(counts.whole, 0);
  EXPECT_GT(counts.changes, 8);
  EXPECT_GT(writes, 1000);
}

}  // namespace
}  // namespace typedcall_test
