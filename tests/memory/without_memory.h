// A fixture for tests of core/ when memory runs out.
#ifndef TYPEDCALL_TESTS_MEMORY_WITHOUT_MEMORY_H_
#define TYPEDCALL_TESTS_MEMORY_WITHOUT_MEMORY_H_

#include "core/extensible_type.h"
#include "tests/core/rows.h"
#include "tests/support/memory.h"

namespace typedcall_test {

inline PyTC_State *State() { return static_cast<PyTC_State *>(PyTypedcall_Import()->state); }

class WithoutMemory : public Rows {
 protected:
  static int Equal(const void *, const void *) { return 1; }
  // Counts in the value, because a map would need memory.
  static void Ended(const void *value) { ++*static_cast<int *>(const_cast<void *>(value)); }
  const void *Put(int space, const void *key, const Ref &owner) {
    return Publish(space, key, owner, &value_, Ended);
  }
  int value_ = 0, other_ = 0;  // the number of times each has been destroyed
  Ref owner_ = Owner();
};

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_MEMORY_WITHOUT_MEMORY_H_
