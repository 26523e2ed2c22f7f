// Tests the IDs of custom slots. Source: SEP 200, "The custom slot ID space".
#include "core/slot_id.h"

#include "gtest/gtest.h"

namespace {

TEST(SlotId, PartsAreWhereTheSepPutsThem) {
  const uintptr_t id = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_NUMPY, 0xabcd, 0x55);
  EXPECT_EQ(id, uintptr_t{0x03abcdab});
  EXPECT_EQ(PyCustomSlot_ID_REGISTRAR(id), 3u);
  EXPECT_EQ(PyCustomSlot_ID_IDEA(id), 0xabcdu);
  EXPECT_EQ(PyCustomSlot_ID_VERSION(id), 0x55u);
}

TEST(SlotId, PartsComeBack) {
  for (unsigned registrar : {0x00u, 0x01u, 0x80u, 0xffu}) {
    for (unsigned idea : {0x0000u, 0x0001u, 0x8000u, 0xffffu}) {
      for (unsigned version : {0x00u, 0x01u, 0x40u, 0x7fu}) {
        const uintptr_t id = PyCustomSlot_ID(registrar, idea, version);
        EXPECT_EQ(id & 1, 1u);
        EXPECT_EQ(id >> 32, 0u);
        EXPECT_EQ(PyCustomSlot_ID_REGISTRAR(id), registrar);
        EXPECT_EQ(PyCustomSlot_ID_IDEA(id), idea);
        EXPECT_EQ(PyCustomSlot_ID_VERSION(id), version);
        EXPECT_EQ(PyCustomSlot_IsValidID(id), id != PyCustomSlot_ID_SKIP);
      }
    }
  }
}

TEST(SlotId, BitsThatDoNotFitAreCutOff) {
  EXPECT_EQ(PyCustomSlot_ID(0x101, 0x10002, 0x83), PyCustomSlot_ID(0x01, 0x0002, 0x03));
  EXPECT_EQ(PyCustomSlot_ID(-1, -1, -1), uintptr_t{0xffffffff});
}

TEST(SlotId, IsAConstantExpression) {
  enum { id = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 7, 1) };
  EXPECT_EQ(static_cast<int>(id), 0x01000703);
}

TEST(SlotId, ConstexprFunctionsSayTheSame) {
  constexpr uintptr_t id = typedcall::custom_slot_id<PyCustomSlot_REGISTRAR_NUMPY, 0xabcd, 0x55>();
  static_assert(id == PyCustomSlot_ID(PyCustomSlot_REGISTRAR_NUMPY, 0xabcd, 0x55), "");
  static_assert(typedcall::custom_slot_registrar(id) == PyCustomSlot_REGISTRAR_NUMPY, "");
  static_assert(typedcall::custom_slot_idea(id) == 0xabcd, "");
  static_assert(typedcall::custom_slot_version(id) == 0x55, "");
  static_assert(typedcall::custom_slot_id<PyCustomSlot_REGISTRAR_NUMFOCUS, 0>() ==
                    PyCustomSlot_ID_NATIVECALLABLE,
                "SEP 201");
  EXPECT_TRUE(PyCustomSlot_IsAllocatedID(id));
}

TEST(SlotId, RegistrarsAreTheSeps) {
  EXPECT_EQ(PyCustomSlot_REGISTRAR_PRIVATE, 1);
  EXPECT_EQ(PyCustomSlot_ID_NATIVECALLABLE, uintptr_t{0x04000001});
  EXPECT_EQ(PyCustomSlot_ID_REGISTRAR(PyCustomSlot_ID_NATIVECALLABLE),
            unsigned{PyCustomSlot_REGISTRAR_NUMFOCUS});
}

TEST(SlotId, AddressesAreIDsOfTheirOwn) {
  static const int something = 0;
  const uintptr_t id = PyCustomSlot_POINTER_ID(&something);
  EXPECT_EQ(id, reinterpret_cast<uintptr_t>(&something));
  EXPECT_TRUE(PyCustomSlot_IsValidID(id));
  EXPECT_FALSE(PyCustomSlot_IsAllocatedID(id));
  EXPECT_FALSE(PyCustomSlot_IsAllocatedID(PyCustomSlot_ID_EMPTY));
  EXPECT_FALSE(PyCustomSlot_IsAllocatedID(PyCustomSlot_ID_SKIP));
  EXPECT_FALSE(PyCustomSlot_IsAllocatedID(0x100000001));
}

TEST(SlotId, Validity) {
  static const int something = 0;
  EXPECT_FALSE(PyCustomSlot_IsValidID(PyCustomSlot_ID_EMPTY));
  EXPECT_FALSE(PyCustomSlot_IsValidID(PyCustomSlot_ID_SKIP));
  EXPECT_TRUE(PyCustomSlot_IsValidID(0x3));
  EXPECT_TRUE(PyCustomSlot_IsValidID(0xffffffff));
  EXPECT_FALSE(PyCustomSlot_IsValidID(0x100000001));
  EXPECT_FALSE(PyCustomSlot_IsValidID(UINTPTR_MAX));
  // If bit 0 is clear, the ID is an address.
  EXPECT_TRUE(PyCustomSlot_IsValidID(reinterpret_cast<uintptr_t>(&something)));
  EXPECT_TRUE(PyCustomSlot_IsValidID(UINTPTR_MAX - 1));
  EXPECT_TRUE(PyCustomSlot_IsValidID(0x2));
}

}  // namespace
