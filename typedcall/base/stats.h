// Counters that prove where an entry was found and how it was called: directly, or through a
// trampoline, a register image, libffi or boxes. They are off, and cost nothing, unless
// TYPEDCALL_STATS is 1.
#ifndef TYPEDCALL_BASE_STATS_H_
#define TYPEDCALL_BASE_STATS_H_

#include <cstddef>
#include <cstdint>

#include "typedcall/base/namespace.h"

/// Counters are enabled if this is 1. As with NDEBUG, use the same value in all files of a program
/// or shared object. Each program or shared object has its own counters.
#ifndef TYPEDCALL_STATS
#define TYPEDCALL_STATS 0
#endif

#if TYPEDCALL_STATS
#include <atomic>
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// The events that are counted.
enum class event : unsigned {
  direct,      ///< a call through function, function_view, bound_function or unbound_function: the
               ///< pointer itself
  trampoline,  ///< an invoker calls in one of three ways
  image,
  ffi,
  boxed,                ///< a call to the Python callable
  cache_hit,            ///< a call site found the callable's entry in its cache
  cache_miss,           ///< a call site had to search, and remembered the result
  cache_bypassed,       ///< a call site had to read or search again, and may do so next time
  found_instance_slot,  ///< find(), resolve() or a searching call site found an entry;
  found_method_def,     ///< in the order of typedcall::place
  found_pypy_method_def,
  found_side_table_def,
  found_side_table_object,
  found_sibling_symbol,
  found_nothing,
  loop_compiled,  ///< a loop over some elements, compiled for its types
  loop_invoker,   ///< a loop by type codes; the invoker's calls are also counted
  events          // the number of events
};

/// The counters of this program or shared object. Any thread may use them, without the GIL; they do
/// not order other memory accesses.
class TYPEDCALL_HIDDEN stats {
 public:
  static constexpr bool enabled = TYPEDCALL_STATS != 0;

#if TYPEDCALL_STATS
  /// Returns the count since the start or the last reset(), or 0 if counting is off.
  static std::uint64_t count(event what) {
    return counters[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }

  /// Sets all counters to 0. Concurrent counts by other threads may be lost.
  static void reset() {
    for (auto &counter : counters) counter.store(0, std::memory_order_relaxed);
  }

  /// Adds one if counting is on. Code that makes calls in other ways may also use this.
  static void add(event what) {
    counters[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  }

 private:
  static inline std::atomic<std::uint64_t> counters[static_cast<std::size_t>(event::events)] = {};
#else
  static std::uint64_t count(event) { return 0; }
  static void reset() {}
  static void add(event) {}
#endif
};

}  // namespace TYPEDCALL_LAYOUT
}  // namespace typedcall

#endif  // TYPEDCALL_BASE_STATS_H_
