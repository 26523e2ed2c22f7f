// Counters that prove which path a call took: the C function itself, a trampoline, a register
// image, libffi, or boxes; and where its entry was found. Off, and free of cost, unless
// TYPEDCALL_STATS is 1.
#ifndef TYPEDCALL_BASE_STATS_H_
#define TYPEDCALL_BASE_STATS_H_

#include <cstddef>
#include <cstdint>

#include "typedcall/base/namespace.h"

/// 1 to count. As with NDEBUG, use the same value in all files of a program or shared object: the
/// counters belong to that object alone, whatever else the process has loaded.
#ifndef TYPEDCALL_STATS
#define TYPEDCALL_STATS 0
#endif

#if TYPEDCALL_STATS
#include <atomic>
#endif

namespace typedcall {
inline namespace TYPEDCALL_LAYOUT {

/// The counted events.
enum class event : unsigned {
  direct,      ///< a call through function, function_view, bound_function or unbound_function: the
               ///< pointer itself
  trampoline,  ///< the ways of an invoker
  image,
  ffi,
  boxed,                ///< a call of the Python callable
  cache_hit,            ///< a call site had the callable's entry in its cache
  cache_miss,           ///< it had to search, and
  cache_bypassed,       ///< read the callable's own memory, which is as fast as the cache
  found_instance_slot,  ///< found there by find(), resolve() or a call site that had to search;
  found_method_def,     ///< in the order of typedcall::place
  found_pypy_method_def,
  found_side_table_def,
  found_side_table_object,
  found_sibling_symbol,
  found_nothing,
  loop_compiled,  ///< a loop over some elements, by code compiled for its types, or
  loop_invoker,   ///< by type codes; the invoker's calls are counted as well
  events          // the number of events
};

/// The counters of this program or shared object. Any thread; no GIL; they order no other memory
/// accesses.
class TYPEDCALL_HIDDEN stats {
 public:
  static constexpr bool enabled = TYPEDCALL_STATS != 0;

#if TYPEDCALL_STATS
  /// The count since the start or the last reset(); 0 if counting is off.
  static std::uint64_t count(event what) {
    return counters[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }

  /// Sets all counters to 0. Concurrent counts of other threads may be lost.
  static void reset() {
    for (auto &counter : counters) counter.store(0, std::memory_order_relaxed);
  }

  /// Adds one if counting is on. Code with its own ways of calling may use it, too.
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
