// Counters for tests: where entries were found and how they were called. Counting is off, and costs
// nothing, unless TYPEDCALL_STATS is 1.
#ifndef TYPEDCALL_BASE_STATS_H_
#define TYPEDCALL_BASE_STATS_H_

#include <cstddef>
#include <cstdint>

#include "typedcall/base/namespace.h"

/// Counting is on if this is 1. Use the same value in all files of a program or shared object.
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
  direct,      ///< a call through function, function_view, bound_function or unbound_function
  trampoline,  ///< an invoker calls in one of three ways
  image,
  ffi,
  boxed,                ///< a call to the Python callable
  cache_hit,            ///< a call site found the callable's entry in its cache
  cache_miss,           ///< a call site had to search, and remembered the result
  cache_bypassed,       ///< a call site could not use its cache
  found_instance_slot,  ///< a search found an entry; these are in the order of typedcall::place
  found_method_metadata,
  found_pypy_metadata,
  found_def_row,
  found_object_row,
  found_sibling_symbol,
  found_nothing,
  loop_compiled,  ///< a loop that is compiled for its types
  loop_invoker,   ///< a loop that uses an invoker, whose calls are counted too
  events          // the number of events
};

/// Each program or shared object has its own counters. Any thread may use the counters, without the
/// GIL.
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

  /// Adds one if counting is on.
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
