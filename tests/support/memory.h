// Counts allocations by CPython and C++, and makes them fail in one thread. A sweep lets each
// allocation of a call fail once. Link //tests/support:memory.
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

/// Counts allocations while an object of this class lives; only one may exist at a time. GIL: held
/// to create and destroy it; the allocators themselves may be used by any thread.
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
  /// The sum for CPython's `mem` and `object` domains. Slot tables are in the former, types in the
  /// latter.
  std::size_t PythonBlocks() const { return Blocks(kMem) + Blocks(kObject); }
  std::size_t PythonBytes() const { return Bytes(kMem) + Bytes(kObject); }

  /// Refuses `times` allocations after this thread's first `first` ones, in every domain, until
  /// Stop() is called, which returns whether any was refused.
  void Refuse(std::size_t first = 0, std::size_t times = std::numeric_limits<std::size_t>::max());
  bool Stop();

 private:
  struct Internal;
  std::unique_ptr<Internal> internal_;
};

/// A call to be swept. It is made repeatedly; `before` and `after` prepare and undo it without
/// refusals.
struct Swept {
  const char *name;
  /// Returns true on success, which may not need the refused memory. Otherwise MemoryError is set,
  /// or no exception if that is documented.
  std::function<bool()> call;
  std::function<void()> before = [] {};
  /// Undoes a call that did or did not report success, and checks the state. May be null.
  std::function<void(bool succeeded)> after = [](bool) {};
  bool is_silent = false;  ///< the call fails without an exception
  /// True if CPython itself leaks, as it does when it makes a type. Leftover blocks are then not
  /// counted.
  bool cpython_leaks = false;
  /// Called before leftover blocks are counted, and after a collection.
  std::function<void()> settle = [] {};
  /// Objects whose reference counts must not change.
  std::vector<PyObject *> counted = {};
};

/// Makes each allocation of the call fail, alone and with all later ones. Checks that the call then
/// fails as documented, that no block or reference is left behind, and that the next call succeeds.
/// Returns the number of allocations that a call makes. GIL: held.
std::size_t Sweep(const Swept &swept);

/// Returns true if TypeError is set, and clears it. This is for calls that should be refused, which
/// counts as success. GIL: held.
bool IsRefusal();

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_MEMORY_H_
