// Counts allocations by CPython and C++, and makes them fail in one thread. Link
// //tests/support:memory.
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

/// Counts allocations during its lifetime. Only one object of this class may exist at a time. GIL:
/// held for construction and destruction.
class Memory {
 public:
  enum Domain { kRaw, kMem, kObject, kNew, kDomains };  ///< CPython domains, `operator new`

  Memory();
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Returns the number of blocks that have been allocated since construction and not freed.
  std::size_t Blocks(Domain domain) const;
  std::size_t Bytes(Domain domain) const;
  std::size_t Blocks() const;
  /// The sum of CPython's `mem` and `object` domains.
  std::size_t PythonBlocks() const { return Blocks(kMem) + Blocks(kObject); }
  std::size_t PythonBytes() const { return Bytes(kMem) + Bytes(kObject); }

  /// Refuses `times` allocations of this thread after the first `first` ones. Stop() returns true
  /// if any allocation was refused. GIL: held.
  void Refuse(std::size_t first = 0, std::size_t times = std::numeric_limits<std::size_t>::max());
  /// Empties CPython's free lists, so that new lists, dictionaries and short tuples need memory.
  void EmptyFreeLists();
  bool Stop();

 private:
  template <class Make>
  void Drain(std::size_t blocks, Make make);

  struct Internal;
  std::unique_ptr<Internal> internal_;
};

/// A call that Sweep() tests. `before` and `after` prepare and undo the call without refusals.
struct Swept {
  const char *name;
  /// Returns true on success. Otherwise MemoryError must be set, except if `is_silent`.
  std::function<bool()> call;
  std::function<void()> before = [] {};
  /// Undoes a call and checks the state. May be null.
  std::function<void(bool succeeded)> after = [](bool) {};
  bool is_silent = false;  ///< the call fails without setting an exception
  /// True if the call destroys an object that has several weak references. From 3.13 on, CPython
  /// calls none of their callbacks if it has no memory for a tuple.
  bool keeps_free_lists = false;
  /// True if CPython leaks. Leftover blocks are then not counted.
  bool cpython_leaks = false;
  /// Called after a collection, before leftover blocks are counted.
  std::function<void()> settle = [] {};
  /// Objects whose reference counts must not change.
  std::vector<PyObject *> counted = {};
};

/// Makes each allocation of the call fail, alone and with all later ones. Checks that the call
/// fails correctly, that nothing leaks, and that the next call succeeds. Returns the number of
/// allocations. GIL: held.
std::size_t Sweep(const Swept &swept);

/// Returns true if TypeError is set, and clears it. GIL: held.
bool IsRefusal();

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_SUPPORT_MEMORY_H_
