// Measures the time to find a function behind an object and to call it.
#ifndef TYPEDCALL_BENCH_LOOKUP_H_
#define TYPEDCALL_BENCH_LOOKUP_H_

#include <Python.h>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>

#include "bench/embedded_main.h"
#include "bench/opaque.h"
#include "bench/places.h"
#include "core/slot_id.h"

namespace bench {

using function = double (*)(double, double);

/// Calls the function that find(subject) returns. This function is not inlined, so benchmarks that
/// differ only in the object run the same machine code.
template <std::size_t place, class Subject, class Find>
__attribute__((noinline)) void time_lookup_at(benchmark::State &state, Subject subject,
                                              const Find &find) {
  go_to<place>();
  for (auto _ : state) {
    Subject any = subject;
    double x = 1.5, y = 2.25;
    hide(any);
    hide(x);
    hide(y);
    consume(find(any)(x, y));
  }
}

/// Every repetition uses a different position. `turn` counts the repetitions.
template <class Subject, class Find>
void time_lookup(benchmark::State &state, std::size_t turn, Subject subject, const Find &find) {
  at_turn(turn, [&](auto place) { time_lookup_at<place>(state, subject, find); });
}

/// Returns the function in the slot, or `other` if there is no slot.
template <class Find>
struct OrElse {
  function operator()(PyObject *any) const {
    const PyCustomSlot *slot = find(any);
    return slot != nullptr ? reinterpret_cast<function>(slot->data.pointer) : other;
  }
  Find find;
  function other;
};

/// Measures find(object) and a call to the function in the slot, or to `other` if there is no slot.
template <class Find>
void time_slot(benchmark::State &state, std::size_t turn, PyObject *object, Find find,
               function other) {
  hide(other);
  time_lookup(state, turn, object, OrElse<Find>{find, other});
}

/// Adds a benchmark that runs time_slot().
template <class Find>
void add_slot(const std::string &name, PyObject **object, Find find, function other) {
  add_in_turns(name, [=](benchmark::State &state, std::size_t turn) {
    time_slot(state, turn, *object, find, other);
  });
}

/// Adds the benchmark of a call to a known function.
inline void add_pointer(const std::string &name, function called) {
  add_in_turns(name, [called](benchmark::State &state, std::size_t turn) {
    time_lookup(state, turn, called, [](function any) { return any; });
  });
}

}  // namespace bench

#endif  // TYPEDCALL_BENCH_LOOKUP_H_
