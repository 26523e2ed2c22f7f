// How a type's slots become visible to threads without the GIL, on made-up type objects and without
// an interpreter, so that ThreadSanitizer can watch. libpython is linked for what the look-up asks
// it on an unresolved type (is this thread attached?); nothing initialises it.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/custom_slots.h"
#include "gtest/gtest.h"

namespace {

constexpr std::uintptr_t kFirst = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 1, 0);
constexpr std::uintptr_t kSecond = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 2, 0);
constexpr Py_ssize_t kExtensibleSize =
    static_cast<Py_ssize_t>(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleTypeData));

// A type object with the metaclass's data behind it, and one instance.
struct MadeUpType {
  explicit MadeUpType(Py_ssize_t metaclass_size = kExtensibleSize)
      : bytes(new char[kExtensibleSize + 16]()) {
    metaclass.tp_basicsize = metaclass_size;
    Py_SET_TYPE(reinterpret_cast<PyObject *>(type()), &metaclass);
    // As CPython makes heap types.
    type()->tp_flags = Py_TPFLAGS_HEAPTYPE;
    type()->tp_as_buffer = &reinterpret_cast<PyHeapTypeObject *>(type())->as_buffer;
    Py_SET_TYPE(&instance, type());
  }
  PyTypeObject *type() {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.get());
    return reinterpret_cast<PyTypeObject *>((at + 15) / 16 * 16);
  }
  PyExtensibleTypeData *data() {
    return reinterpret_cast<PyExtensibleTypeData *>(reinterpret_cast<char *>(type()) +
                                                    PyExtensibleType_DATA_OFFSET);
  }
  // What `resolve` ends with: plain writes, then the magic with release order.
  void Publish(std::uintptr_t value) {
    table.reset(new PyCustomSlot[2]);
    table[0].id = kFirst;
    table[0].data.flags = value;
    table[1].id = kSecond;
    table[1].data.flags = value + 1;
    data()->count = 2;
    data()->table = table.get();
    PyTypedcall_STORE_RELEASE(&data()->magic, PyExtensibleType_MAGIC);
  }

  std::unique_ptr<char[]> bytes;
  PyTypeObject metaclass = {};
  PyObject instance = {};
  std::unique_ptr<PyCustomSlot[]> table;
};

// The value of a slot, or 0.
std::uintptr_t Find(MadeUpType &made, std::uintptr_t id, Py_ssize_t expected_pos) {
  const PyCustomSlot *slot = PyCustomSlots_Find(&made.instance, id, expected_pos);
  return slot != nullptr ? slot->data.flags : 0;
}

TEST(Publication, UnresolvedOffersNothingThenEverything) {
  MadeUpType made;
  EXPECT_EQ(PyCustomSlots_Check(&made.instance), 0);
  EXPECT_EQ(Find(made, kFirst, 0), 0u);
  made.Publish(10);
  EXPECT_EQ(PyCustomSlots_Check(&made.instance), 1);
  EXPECT_EQ(PyCustomSlots_Count(&made.instance), 2);
  EXPECT_EQ(PyCustomSlots_Table(&made.instance), made.table.get());
  for (const Py_ssize_t position : {-1, 0, 1, 2}) {
    EXPECT_EQ(Find(made, kFirst, position), 10u);
    EXPECT_EQ(Find(made, kSecond, position), 11u);
  }
}

TEST(Publication, OtherMagicsOfferNothing) {
  MadeUpType made;
  made.Publish(10);
  for (const std::uint64_t magic : {std::uint64_t{1}, PyExtensibleType_MAGIC + 1,
                                    PyExtensibleType_MAGIC & 0xffffffff, ~std::uint64_t{0}}) {
    made.data()->magic = magic;
    EXPECT_EQ(Find(made, kFirst, 0), 0u) << magic;
  }
}

TEST(Publication, ASmallMetaclassIsNotReadBehind) {
  MadeUpType made(kExtensibleSize - 1);
  made.Publish(10);
  EXPECT_EQ(Find(made, kFirst, 0), 0u);
  MadeUpType exact(kExtensibleSize);
  exact.Publish(10);
  EXPECT_EQ(Find(exact, kFirst, 0), 10u);
}

// Every function of the consumer's, in threads that race with the one that publishes.
TEST(Publication, ReadersWhileTypesAreResolved) {
  constexpr std::size_t count = 2000;
  std::vector<std::unique_ptr<MadeUpType>> types;
  for (std::size_t i = 0; i < count; ++i) types.push_back(std::make_unique<MadeUpType>());
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0}, found{0};
  std::atomic<int> ready{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      ++ready;
      while (!stop) {
        for (std::size_t i = 0; i < count; ++i) {
          PyObject *object = &types[i]->instance;
          const std::uintptr_t value = Find(*types[i], kSecond, static_cast<Py_ssize_t>(i % 3));
          if (value != 0) ++found;
          wrong += value != 0 && value != 100 * i + 2;
          const PyCustomSlot *table = PyCustomSlots_Table(object);
          wrong += table != nullptr && table[0].data.flags != 100 * i + 1;
          const Py_ssize_t length = PyCustomSlots_Count(object);
          wrong += length != 0 && length != 2;
        }
      }
    });
  }
  while (ready < 3) std::this_thread::yield();
  for (std::size_t i = 0; i < count; ++i) {
    types[(i * 7919) % count]->Publish(100 * ((i * 7919) % count) + 1);
    if (i % 16 == 0) std::this_thread::yield();
  }
  while (found == 0) std::this_thread::yield();
  stop = true;
  for (std::thread &reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(Find(*types[i], kFirst, 1), 100 * i + 1);
}

}  // namespace
