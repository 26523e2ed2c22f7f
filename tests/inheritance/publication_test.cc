// Tests how slots become visible to threads without the GIL. There is no interpreter, so that
// ThreadSanitizer can be used. libpython is linked, but never initialised.
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
constexpr Py_ssize_t kHeapSize =
    static_cast<Py_ssize_t>(PyExtensibleType_DATA_OFFSET + sizeof(PyExtensibleHeapTypeData));

// A type object with room for the data that PyExtensibleType adds to each type, and one instance of
// the type.
struct MadeUpType {
  explicit MadeUpType(Py_ssize_t metaclass_size = kExtensibleSize)
      : bytes(new char[kHeapSize + 16]()) {
    metaclass.tp_basicsize = metaclass_size;
    Py_SET_TYPE(reinterpret_cast<PyObject *>(type()), &metaclass);
    // CPython initialises heap types this way.
    type()->tp_flags = Py_TPFLAGS_HEAPTYPE;
    type()->tp_as_buffer = &reinterpret_cast<PyHeapTypeObject *>(type())->as_buffer;
    type()->tp_members =
        reinterpret_cast<PyMemberDef *>(reinterpret_cast<char *>(type()) + metaclass_size);
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
  std::uint64_t *key() { return &reinterpret_cast<PyExtensibleHeapTypeData *>(data())->key; }
  // Writes in the same order as `resolve`: the key and the magic come last, with release order.
  void Publish(std::uintptr_t value) {
    table.reset(new PyCustomSlot[2]);
    table[0].id = kFirst;
    table[0].data.flags = value;
    table[1].id = kSecond;
    table[1].data.flags = value + 1;
    data()->count = 2;
    data()->table = table.get();
    if (metaclass.tp_basicsize == kHeapSize) {
      PyTypedcall_STORE_RELEASE(key(), PyExtensibleType_KEY(kFirst));
    }
    PyTypedcall_STORE_RELEASE(&data()->magic, PyExtensibleType_MAGIC);
  }

  std::unique_ptr<char[]> bytes;
  PyTypeObject metaclass = {};
  PyObject instance = {};
  std::unique_ptr<PyCustomSlot[]> table;
};

// Returns the value of a slot, or 0.
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

// The key alone finds one ID at one position.
TEST(Publication, TheKey) {
  MadeUpType made(kHeapSize);
  EXPECT_EQ(Find(made, kFirst, 0), 0u);
  made.Publish(10);
  made.data()->magic = 1;  // invalid, so only the key is read
  EXPECT_EQ(Find(made, kFirst, 0), 10u);
  EXPECT_EQ(Find(made, kFirst, 1), 0u);
  for (const std::uintptr_t id : {kSecond, kFirst + 1, std::uintptr_t{0}, std::uintptr_t{1},
                                  static_cast<std::uintptr_t>(PyExtensibleType_MAGIC),
                                  static_cast<std::uintptr_t>(PyExtensibleType_KEY(kFirst)),
                                  kFirst | std::uintptr_t{1} << 32}) {
    EXPECT_EQ(Find(made, id, 0), 0u) << id;
  }
}

// The place of the key may contain any word.
TEST(Publication, OtherKeysSayNothing) {
  MadeUpType made(kHeapSize);
  made.Publish(10);
  const std::uint64_t key = PyExtensibleType_KEY(kFirst);
  for (const std::uint64_t other :
       {std::uint64_t{0}, reinterpret_cast<std::uint64_t>(made.table.get()), key ^ 1,
        key ^ std::uint64_t{1} << 63, key & 0xffffffff, std::uint64_t{kFirst},
        PyExtensibleType_MAGIC, PyExtensibleType_KEY(1), ~std::uint64_t{0}}) {
    *made.key() = other;
    made.data()->magic = PyExtensibleType_MAGIC;
    EXPECT_EQ(Find(made, kFirst, 0), 10u) << other;
    EXPECT_EQ(Find(made, kSecond, 0), 11u) << other;
    made.data()->magic = 1;
    made.data()->table = reinterpret_cast<PyCustomSlot *>(8);  // invalid pointer
    for (const std::uintptr_t id : {kFirst, kSecond, std::uintptr_t{0}, std::uintptr_t{1},
                                    static_cast<std::uintptr_t>(PyExtensibleType_KEY(other))}) {
      if (PyCustomSlot_IsValidID(id) && PyExtensibleType_KEY(id) == other) continue;
      EXPECT_EQ(Find(made, id, 0), 0u) << other << ", " << id;
    }
    made.data()->table = made.table.get();
  }
}

// The memory after another type may contain the remains of a dead extensible type.
TEST(Publication, TheKeyOfAnotherSizeIsNotRead) {
  for (const Py_ssize_t size : {Py_ssize_t{0}, static_cast<Py_ssize_t>(sizeof(PyHeapTypeObject)),
                                kExtensibleSize, kHeapSize - 1, kHeapSize + 16}) {
    MadeUpType made(size);
    made.Publish(10);
    *made.key() = PyExtensibleType_KEY(kFirst);
    made.data()->magic = 1;
    EXPECT_EQ(Find(made, kFirst, 0), 0u) << size;
    made.type()->tp_members = nullptr;
    EXPECT_EQ(Find(made, kFirst, 0), 0u) << size;
  }
}

// Calls the consumer functions in threads while another thread publishes.
void ReadWhileTypesAreResolved(Py_ssize_t metaclass_size) {
  constexpr std::size_t count = 2000;
  std::vector<std::unique_ptr<MadeUpType>> types;
  for (std::size_t i = 0; i < count; ++i) {
    types.push_back(std::make_unique<MadeUpType>(metaclass_size));
  }
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
          const std::uintptr_t first = Find(*types[i], kFirst, 0);
          wrong += first != 0 && first != 100 * i + 1;
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

TEST(Publication, ReadersWhileTypesAreResolved) { ReadWhileTypesAreResolved(kExtensibleSize); }

TEST(Publication, ReadersOfKeysWhileTypesAreResolved) { ReadWhileTypesAreResolved(kHeapSize); }

}  // namespace
