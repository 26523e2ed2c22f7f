// CPython's allocators and C++'s, counted and made to fail, for one thread; and a sweep, in which
// each allocation of a call fails once. Link //tests/support:memory.
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
  enum Domain { kRaw, kMem, kObject, kNew, kDomains };  ///< CPython's, and `operator new`

  Memory();
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Blocks allocated since the beginning and not yet freed.
  std::size_t Blocks(Domain domain) const;
  std::size_t Bytes(Domain domain) const;
  std::size_t Blocks() const;
  /// For CPython's `mem` and `object` domains: slot tables are in the former, types in the latter.
  std::size_t PythonBlocks() const { return Blocks(kMem) + Blocks(kObject); }
  std::size_t PythonBytes() const { return Bytes(kMem) + Bytes(kObject); }

  /// After this thread's first `first` allocations, refuses `times` of them, in every domain. Lasts
  /// until Stop(), which returns whether any was refused.
  void Refuse(std::size_t first = 0, std::size_t times = std::numeric_limits<std::size_t>::max());
  bool Stop();

 private:
  struct Internal;
  std::unique_ptr<Internal> internal_;
};

/// A call to be swept. It is made again and again; `before` and `after` prepare and undo it, with
/// memory.
struct Swept {
  const char *name;
  /// Returns true on success (also without the refused memory); otherwise MemoryError is set, or
  /// nothing if that is documented.
  std::function<bool()> call;
  std::function<void()> before = [] {};
  /// Undoes a call, given whether it reported success; checks the state. May be null.
  std::function<void(bool succeeded)> after = [](bool) {};
  bool is_silent = false;  ///< fails without an exception
  /// CPython itself leaks on the way, as it does when it makes a type: leftover blocks are not
  /// counted.
  bool cpython_leaks = false;
  /// Called before leftover blocks are counted, and after a collection.
  std::function<void()> settle = [] {};
  /// Objects whose reference counts must not change.
  std::vector<PyObject *> counted = {};
};

/// Each allocation of the call fails, alone and with all later ones: the call then fails as
/// documented, no block or reference is left behind, and the next call succeeds. Otherwise there
/// are test failures. Returns how many allocations a call makes. GIL: held.
std::size_t Sweep(const Swept &swept);

/// For a call that should be refused, which counts as success: returns whether TypeError is set,
/// and clears it. GIL: held.
bool IsRefusal();

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_MEMORY_H_
