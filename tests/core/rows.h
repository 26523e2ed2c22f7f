// A fixture for tests of the side table.
#ifndef TYPEDCALL_TESTS_CORE_ROWS_H_
#define TYPEDCALL_TESTS_CORE_ROWS_H_

#include <deque>
#include <map>

#include "core/rendezvous.h"
#include "gtest/gtest.h"
#include "tests/support/embedded.h"

namespace typedcall_test {

/// Counts how often each value has been destroyed.
inline std::map<const void *, int> &Destroyed() {
  static std::map<const void *, int> counts;
  return counts;
}
inline void Destroy(const void *value) { ++Destroyed()[value]; }

class Rows : public testing::Test {
 protected:
  Rows() : interface_(PyTypedcall_Import()) {
    Destroyed().clear();
    if (interface_ != nullptr) interface_->counters(interface_->state, &start_, sizeof(start_));
    scope_.Run("import gc, weakref\nclass Owner: pass\n");
  }
  void SetUp() override { ASSERT_NE(interface_, nullptr) << TakeError(); }

  /// Returns a unique address, for use as a key or as a value.
  const void *Address() {
    addresses_.push_back(0);
    return &addresses_.back();
  }
  /// Returns a new object that supports weak references.
  Ref Owner() { return scope_.Eval("Owner()"); }

  /// Publishes a value. Returns the row's value afterwards, or null with an exception set.
  const void *Publish(int space, const void *key, const Ref &owner, const void *value,
                      void (*destroy)(const void *) = Destroy) {
    const int result = interface_->publish(interface_->state, space, key, owner.get(), value,
                                           nullptr, destroy, nullptr);
    return result == -1 ? nullptr : result == 1 ? value : Find(space, key);
  }
  const void *Find(int space, const void *key) {
    return interface_->find(interface_->state, space, key);
  }
  int Retract(int space, const void *key) {
    return interface_->retract(interface_->state, space, key);
  }
  /// Returns how much each counter has grown since the test began.
  PyTypedcall_Counters Counted() {
    PyTypedcall_Counters now;
    interface_->counters(interface_->state, &now, sizeof(now));
    now.rows_added -= start_.rows_added;
    now.rows_removed -= start_.rows_removed;
    now.conflicts -= start_.conflicts;
    now.generations -= start_.generations;
    return now;
  }

  const PyTypedcall_Interface *interface_;
  PyTypedcall_Counters start_ = {};
  Scope scope_;
  std::deque<long long> addresses_;
};

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_CORE_ROWS_H_
