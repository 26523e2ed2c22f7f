// Counts allocations by CPython and C++, and makes them fail in one thread. A sweep makes each of a
// call's allocations fail once. Link //tests/support:memory.
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

/// Counts allocations while an object of this class lives; only one such object may exist at a
/// time. GIL: held to create and destroy it; any thread may use the allocators.
class Memory {
 public:
  enum Domain { kRaw, kMem, kObject, kNew, kDomains };  ///< CPython domains, `operator new`

  Memory();
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Returns the number of blocks that were allocated since construction and not freed.
  std::size_t Blocks(Domain domain) const;
  std::size_t Bytes(Domain domain) const;
  std::size_t Blocks() const;
  /// The sum for CPython's `mem` and `object` domains. Slot tables are in the first, types in the
  /// second.
  std::size_t PythonBlocks() const { return Blocks(kMem) + Blocks(kObject); }
  std::size_t PythonBytes() const { return Bytes(kMem) + Bytes(kObject); }

  /// Refuses `times` allocations after this thread's first `first` ones, in every domain, until
  /// Stop() is called. Stop() returns whether any was refused.
  void Refuse(std::size_t first = 0, std::size_t times = std::numeric_limits<std::size_t>::max());
  bool Stop();

 private:
  struct Internal;
  std::unique_ptr<Internal> internal_;
};

/// A call that Sweep() tests. It is made repeatedly; `before` and `after` prepare and undo it
/// without refusals.
struct Swept {
  const char *name;
  /// Returns true on success; the call may succeed because it did not need the refused memory.
  /// Otherwise MemoryError is set, or no exception if that is documented.
  std::function<bool()> call;
  std::function<void()> before = [] {};
  /// Undoes a call, whether or not it reported success, and checks the state. May be null.
  std::function<void(bool succeeded)> after = [](bool) {};
  bool is_silent = false;  ///< the call fails without setting an exception
  /// True for calls in which CPython itself leaks, for example when it makes a type. Leftover
  /// blocks are then not counted.
  bool cpython_leaks = false;
  /// Called after a collection, before leftover blocks are counted.
  std::function<void()> settle = [] {};
  /// Objects whose reference counts must not change.
  std::vector<PyObject *> counted = {};
};

/// Makes each allocation of the call fail, alone and with all later ones. Checks that the call then
/// fails as documented, that no block or reference is left behind, and that the next call succeeds.
/// Returns the number of allocations that a call makes. GIL: held.
std::size_t Sweep(const Swept &swept);

/// Returns true if TypeError is set, and clears it. For calls that should be refused: the refusal
/// counts as success. GIL: held.
bool IsRefusal();

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_MEMORY_H_
