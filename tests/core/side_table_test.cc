// Tests the functions of the side table without an interpreter, so that ThreadSanitizer can be
// used. libpython is only needed for its allocator.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/rendezvous.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"

namespace {

using Table = PyTC_SideTable;
using Row = PyTC_Row;

class SideTable : public testing::Test {
 protected:
  ~SideTable() override { PyTC_TableFree(&table_); }

  // Returns 1 if the insertion needed a new generation.
  int Insert(const void *key, const void *value) {
    auto row = std::make_unique<Row>();
    row->key = key;
    row->value = value;
    const int reserved = PyTC_TableReserve(&table_);
    EXPECT_GE(reserved, 0);
    PyTC_TableInsert(&table_, row.get());
    rows_.push_back(std::move(row));
    return reserved;
  }
  void Remove(const void *key) {
    Row *row = PyTC_TableRow(&table_, key);
    ASSERT_NE(row, nullptr);
    PyTC_TableRetract(&table_, key);
    PyTC_TableForget(&table_, row);
  }
  const void *Find(const void *key) { return PyTC_TableFind(&table_, key); }

  Table table_ = {};
  std::vector<std::unique_ptr<Row>> rows_;
};

TEST_F(SideTable, Empty) {
  const int key = 0;
  EXPECT_EQ(Find(&key), nullptr);
  EXPECT_EQ(Find(nullptr), nullptr);
  EXPECT_EQ(PyTC_TableRow(&table_, &key), nullptr);
}

TEST_F(SideTable, EveryAlignmentOfKeys) {
  for (const size_t stride : {1u, 8u, 16u, 4096u}) {
    Table table = {};
    std::swap(table, table_);
    PyTC_TableFree(&table);
    const char *const start = reinterpret_cast<const char *>(uintptr_t{0x700000000000});
    for (size_t i = 0; i < 3000; ++i) Insert(start + i * stride, &rows_);
    for (size_t i = 0; i < 3000; ++i) ASSERT_EQ(Find(start + i * stride), &rows_);
    for (size_t i = 3000; i < 6000; ++i) ASSERT_EQ(Find(start + i * stride), nullptr);
    EXPECT_EQ(table_.live, 3000u);
  }
}

TEST_F(SideTable, ThereIsAlwaysAFreeCell) {
  std::vector<char> keys(1000);
  for (const char &key : keys) {
    Insert(&key, &key);
    const auto *generation = table_.current;
    size_t used = 0;
    for (size_t i = 0; i <= generation->mask; ++i) used += generation->cells[i].key != nullptr;
    ASSERT_EQ(used, generation->used);
    ASSERT_LE(used * 4, (generation->mask + 1) * 3);
  }
}

// A writer may have stored the value of a cell, but not yet the key.
TEST_F(SideTable, ValueOfACellWithoutItsKeyIsNobodys) {
  const int first = 0, key = 0, value = 0;
  Insert(&first, &value);
  PyTC_Cell *cell = PyTC_Probe(table_.current, &key);
  cell->value = &value;
  EXPECT_EQ(Find(&key), nullptr);
}

TEST_F(SideTable, RemovedRowsDoNotMakeItGrow) {
  std::vector<char> keys(10000);
  for (const char &key : keys) {
    Insert(&key, &key);
    ASSERT_EQ(Find(&key), &key);
    Remove(&key);
    ASSERT_EQ(Find(&key), nullptr);
    ASSERT_EQ(PyTC_TableRow(&table_, &key), nullptr);
  }
  EXPECT_EQ(table_.live, 0u);
  EXPECT_EQ(table_.current->mask, 15u);
  EXPECT_EQ(table_.current->older->older, nullptr) << "two arrays take turns";
}

TEST_F(SideTable, RemovedRowsAmongOthersTakeNoMemory) {
  std::vector<char> stay(1000), keys(100000);
  for (const char &key : stay) Insert(&key, &key);
  int generations = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    generations += Insert(&keys[i], &keys[i]);
    if (i >= 50) Remove(&keys[i - 50]);
  }
  EXPECT_LE(generations, 2) << "two arrays take turns";
  for (const char &key : stay) ASSERT_EQ(Find(&key), &key);
  EXPECT_EQ(table_.live, 1050u);
}

TEST_F(SideTable, ARetractedRowComesBack) {
  const int key = 0, other = 0, first = 1, second = 2;
  const auto revive = [&](const int *value) {
    if (Find(&key) != nullptr) return static_cast<Row *>(nullptr);
    Row *row = PyTC_TableRows(&table_, &key);
    while (row != nullptr && *static_cast<const int *>(row->value) != *value) row = row->older;
    if (row != nullptr) {
      PyTC_TableForget(&table_, row);
      PyTC_TableInsert(&table_, row);
    }
    return row;
  };
  EXPECT_EQ(revive(&first), nullptr);
  for (const int *value : {&first, &second}) {
    Insert(&key, value);
    EXPECT_EQ(revive(value), nullptr) << "it is there";
    PyTC_TableRetract(&table_, &key);
    EXPECT_EQ(Find(&key), nullptr);
  }
  for (int i = 0; i < 100; ++i) {
    Insert(&i, &i);  // later generations contain the retracted rows
    const int wanted = 1 + i % 2;
    EXPECT_EQ(revive(&other), nullptr);
    Row *const row = revive(&wanted);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row, PyTC_TableRow(&table_, &key));
    EXPECT_EQ(Find(&key), row->value);
    EXPECT_EQ(*static_cast<const int *>(row->value), wanted);
    PyTC_TableRetract(&table_, &key);
    Remove(&i);
  }
  PyTC_TableForget(&table_, rows_[0].get());
  EXPECT_EQ(revive(&first), nullptr);
  EXPECT_EQ(revive(&second), rows_[1].get());
}

TEST_F(SideTable, ARemovedKeyComesBackInItsCell) {
  const int key = 0, first = 0, second = 0;
  Insert(&key, &first);
  for (int i = 0; i < 1000; ++i) {
    Remove(&key);
    EXPECT_EQ(Insert(&key, i % 2 ? &first : &second), 0);
    ASSERT_EQ(Find(&key), i % 2 ? &first : &second);
  }
  EXPECT_EQ(table_.live, 1u);
  EXPECT_EQ(table_.current->used, 1u);
}

TEST_F(SideTable, ARowThatIsReplacedIsNeverMissing) {
  static const int key = 0, values[2] = {};
  Insert(&key, &values[0]);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    PyTC_Cell *cell = PyTC_Probe(table_.current, &key);
    for (unsigned turn = 0; !stop; ++turn) {
      PyTypedcall_STORE_RELEASE(&cell->value, static_cast<const void *>(&values[turn % 2]));
    }
  });
  long missing = 0;
  for (int i = 0; i < 1000000; ++i) missing += Find(&key) == nullptr;
  stop = true;
  writer.join();
  EXPECT_EQ(missing, 0);
}

TEST_F(SideTable, ReadersWhileAWriterWorks) {
  constexpr size_t count = 256, values = 16;
  static char memory[count][values];
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0}, found{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        for (auto &key : memory) {
          const char *value = static_cast<const char *>(Find(&key));
          if (value == nullptr) continue;
          ++(value >= key && value < key + values ? found : wrong);
        }
      }
    });
  }
  const auto seed = typedcall_test::Seed(1);
  SCOPED_TRACE(typedcall_test::SeedText(seed));
  unsigned state = seed;
  for (int turn = 0; turn < 20000 || found == 0; ++turn) {
    state = state * 1103515245u + 12345u;
    auto &key = memory[(state >> 8) % count];
    if (PyTC_TableRow(&table_, &key) != nullptr) {
      Remove(&key);
    } else {
      Insert(&key, &key[(state >> 20) % values]);
    }
  }
  stop = true;
  for (std::thread &reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
