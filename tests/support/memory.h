// CPython's allocators and C++'s, counted and made to fail, for the thread that asks for it; and a
// sweep, in which each allocation of a call fails once. Link //tests/support:memory.
#ifndef TYPEDCALL_TESTS_SUPPORT_MEMORY_H_
#define TYPEDCALL_TESTS_SUPPORT_MEMORY_H_

#include <Python.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace typedcall_test {

/// What goes through the allocators while an object of this class lives; there is one at a time.
/// GIL: held by whoever makes and ends it; the allocators themselves may be used by any thread.
class Memory {
 public:
  enum Domain { kRaw, kMem, kObject, kNew, kDomains };  ///< CPython's, and `operator new`

  Memory();
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Taken since the beginning and still there.
  std::size_t Blocks(Domain domain) const;
  std::size_t Bytes(Domain domain) const;
  std::size_t Blocks() const;
  /// Of CPython's `mem` and `object` domains: slot tables are in the former, types in the latter.
  std::size_t PythonBlocks() const { return Blocks(kMem) + Blocks(kObject); }
  std::size_t PythonBytes() const { return Bytes(kMem) + Bytes(kObject); }

  /// From the allocation that this thread makes after `first` others until it has refused `times`,
  /// there is no memory, in no domain. Until Stop(), which says whether any was refused.
  void Refuse(std::size_t first = 0, std::size_t times = std::numeric_limits<std::size_t>::max());
  bool Stop();

 private:
  struct Internal;
  std::unique_ptr<Internal> internal_;
};

/// A call to be swept. It is made again and again; what it takes for that, `before` and `after`
/// make and undo, with memory.
struct Swept {
  const char *name;
  /// Succeeds (also where it can do without what it was refused) or not; then there is
  /// MemoryError, or nothing if that is what is documented.
  std::function<bool()> call;
  std::function<void()> before = [] {};
  /// Undoes what a call has done, which has been said to have succeeded or not; expects what there
  /// should be. May be null.
  std::function<void(bool succeeded)> after = [](bool) {};
  bool is_silent = false;  ///< fails without an exception
  /// CPython itself leaks on the way, as it does when it makes a type: what is left is not counted.
  bool cpython_leaks = false;
  /// Called before it is counted what is left, and after a collection.
  std::function<void()> settle = [] {};
  /// Objects whose number of references must not change.
  std::vector<PyObject *> counted = {};
};

/// Each allocation of the call fails, alone and with all after it: the call then fails as it says,
/// nothing is left behind, no block and no reference, and the next call succeeds. Test failures
/// otherwise. Returns how many allocations a call makes. GIL: held.
std::size_t Sweep(const Swept &swept);

/// Of a call that is to be refused, which is a success: is there TypeError? It is cleared. GIL:
/// held.
bool IsRefusal();

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_MEMORY_H_
