// Tests the side table through the interface. owner_test.cc tests the owners.
#include "tests/core/rows.h"

namespace typedcall_test {
namespace {

constexpr int kDef = PyTypedcall_BY_DEF, kType = PyTypedcall_BY_TYPE,
              kObject = PyTypedcall_BY_OBJECT;

using Publishing = Rows;

TEST_F(Publishing, FindsWhatWasPublished) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address();
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Publish(kDef, key, owner, value), value);
  EXPECT_EQ(Find(kDef, key), value);
  EXPECT_EQ(Counted().rows_added, 1u);
}

TEST_F(Publishing, SpacesDoNotMix) {
  Ref owner = Owner();
  const void *key = Address();
  const void *values[] = {Address(), Address(), Address()};
  for (int space : {kType, kDef, kObject}) {
    EXPECT_EQ(Publish(space, key, owner, values[space]), values[space]) << TakeError();
  }
  for (int space : {kType, kDef, kObject}) EXPECT_EQ(Find(space, key), values[space]);
  EXPECT_EQ(Retract(kDef, key), 1);
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Find(kType, key), values[kType]);
  EXPECT_EQ(Find(kObject, key), values[kObject]);
}

TEST_F(Publishing, NothingIsFoundWhereNothingCanBe) {
  for (int space : {-1, int{PyTypedcall_SPACES}, 1000, -1000}) {
    EXPECT_EQ(Find(space, Address()), nullptr);
    EXPECT_EQ(Retract(space, Address()), 0);
  }
  for (int space : {kType, kDef, kObject}) {
    EXPECT_EQ(Find(space, nullptr), nullptr);
    EXPECT_EQ(Retract(space, nullptr), 0);
    EXPECT_EQ(Retract(space, Address()), 0);
  }
  EXPECT_EQ(PyErr_Occurred(), nullptr);
}

TEST_F(Publishing, Refusals) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address();
  const struct {
    int space;
    const void *key, *value;
  } cases[] = {{-1, key, value},
               {PyTypedcall_SPACES, key, value},
               {kDef, nullptr, value},
               {kDef, key, nullptr}};
  for (const auto &one : cases) {
    EXPECT_EQ(Publish(one.space, one.key, owner, one.value), nullptr);
    EXPECT_EQ(TakeError().find("ValueError: "), 0u);
  }
  EXPECT_EQ(Publish(kDef, key, Ref(), value), nullptr);
  EXPECT_EQ(TakeError().find("ValueError: "), 0u);
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Counted().rows_added, 0u);
  EXPECT_TRUE(Destroyed().empty());
}

TEST_F(Publishing, OwnerWithoutWeakReferencesIsRefused) {
  Ref number = Ref::Steal(PyLong_FromLong(123456));
  const void *key = Address(), *value = Address();
  const Py_ssize_t references = Py_REFCNT(number.get());
  for (int space : {kType, kDef, kObject}) {
    EXPECT_EQ(Publish(space, key, number, value), nullptr);
    EXPECT_EQ(TakeError(), "TypeError: cannot create weak reference to 'int' object");
    EXPECT_EQ(Find(space, key), nullptr);
  }
  // The key is the object, but the row is not BY_OBJECT.
  EXPECT_EQ(Publish(kDef, number.get(), number, value), nullptr);
  EXPECT_EQ(TakeError().find("TypeError: "), 0u);
  EXPECT_EQ(Py_REFCNT(number.get()), references);
}

TEST_F(Publishing, TheSameTwiceIsOneRow) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Publish(kDef, key, owner, value), value);
  EXPECT_EQ(Counted().rows_added, 1u);
  EXPECT_EQ(Counted().conflicts, 0u);
  owner.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
}

TEST_F(Publishing, ADifferentValueIsAConflict) {
  Ref owner = Owner(), other = Owner();
  const void *key = Address(), *value = Address(), *second = Address();
  EXPECT_EQ(Publish(kDef, key, owner, value), value);
  EXPECT_EQ(Publish(kDef, key, owner, second), value);
  EXPECT_EQ(Publish(kDef, key, other, second), value);
  EXPECT_EQ(PyErr_Occurred(), nullptr);
  EXPECT_EQ(Find(kDef, key), value);
  EXPECT_EQ(Counted().conflicts, 2u);
  EXPECT_EQ(Counted().rows_added, 1u);
  // The owner of a refused row does not own the existing row.
  owner.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Destroyed()[second], 0);
}

TEST_F(Publishing, RetractedValuesAreKeptByTheirOwners) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address(), *second = Address();
  Publish(kDef, key, owner, value);
  EXPECT_EQ(Retract(kDef, key), 1);
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Retract(kDef, key), 0);
  // Another value may be published at once.
  EXPECT_EQ(Publish(kDef, key, owner, second), second);
  EXPECT_EQ(Find(kDef, key), second);
  // Another thread may still use the retracted value.
  EXPECT_EQ(Destroyed()[value], 0);
  owner.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Destroyed()[second], 1);
  EXPECT_EQ(Counted().rows_added, 2u);
  EXPECT_EQ(Counted().rows_removed, 2u);
}

TEST_F(Publishing, WhatWasRetractedComesBack) {
  Ref owner = Owner(), other = Owner();
  const void *key = Address(), *value = Address(), *second = Address(), *equal = Address();
  const auto always = [](const void *, const void *) { return 1; };
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Publish(kDef, key, owner, value), value);
    EXPECT_EQ(Retract(kDef, key), 1);
    EXPECT_EQ(Publish(kDef, key, other, second), second);
    EXPECT_EQ(Retract(kDef, key), 1);
    EXPECT_EQ(Find(kDef, key), nullptr);
  }
  const auto publish_equal = [&] {
    return interface_->publish(interface_->state, kDef, key, owner.get(), equal, always, nullptr,
                               nullptr);
  };
  EXPECT_EQ(publish_equal(), PyTypedcall_REPUBLISHED) << "the equal one that this owner had";
  EXPECT_EQ(Find(kDef, key), value);
  EXPECT_EQ(publish_equal(), 0);
  EXPECT_TRUE(Destroyed().empty());
  owner.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
  EXPECT_EQ(Destroyed()[value], 1);
  EXPECT_EQ(Destroyed()[second], 0);
  other.reset();
  EXPECT_EQ(Destroyed()[second], 1);
  EXPECT_EQ(Destroyed()[equal], 0);
}

TEST_F(Publishing, WithoutDestroy) {
  Ref owner = Owner();
  const void *key = Address(), *value = Address();
  Publish(kDef, key, owner, value, nullptr);
  owner.reset();
  EXPECT_EQ(Find(kDef, key), nullptr);
  Publish(kDef, key, Owner(), value, nullptr);
  EXPECT_EQ(Retract(kDef, key), 0);
}

TEST_F(Publishing, CountersAreCutToTheCallersSize) {
  Ref owner = Owner();
  Publish(kDef, Address(), owner, Address());
  uint64_t words[5];
  std::fill(std::begin(words), std::end(words), 99u);
  interface_->counters(interface_->state, reinterpret_cast<PyTypedcall_Counters *>(words), 8);
  EXPECT_GT(words[0], 0u);
  EXPECT_EQ(words[1], 99u);
  // A newer consumer may know more counters.
  interface_->counters(interface_->state, reinterpret_cast<PyTypedcall_Counters *>(words), 40);
  EXPECT_NE(words[3], 99u);
  EXPECT_EQ(words[4], 99u);
}

TEST_F(Publishing, ThousandsOfRows) {
  constexpr int count = 20000;
  Ref owner = Owner();
  std::vector<const void *> keys, values;
  for (int i = 0; i < count; ++i) {
    keys.push_back(Address());
    values.push_back(Address());
    ASSERT_EQ(Publish(kDef, keys.back(), owner, values.back()), values.back());
  }
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(Find(kDef, keys[i]), values[i]) << i;
  // Each generation is twice as large as the previous one.
  EXPECT_GE(Counted().generations, 10u);
  EXPECT_LE(Counted().generations, 16u);
  EXPECT_EQ(Counted().rows_added, uint64_t{count});
  for (size_t i = 0; i < count; i += 2) ASSERT_EQ(Retract(kDef, keys[i]), 1);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(Find(kDef, keys[i]), i % 2 == 0 ? nullptr : values[i]) << i;
  }
  owner.reset();
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(Find(kDef, keys[i]), nullptr);
    ASSERT_EQ(Destroyed()[values[i]], 1);
  }
  EXPECT_EQ(Counted().rows_removed, uint64_t{count});
}

}  // namespace
}  // namespace typedcall_test
