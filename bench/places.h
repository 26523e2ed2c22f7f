// The speed of a short loop depends on its position in a cache line. Loops are therefore measured
// in sixteen positions, a different one in each repetition.
#ifndef TYPEDCALL_BENCH_PLACES_H_
#define TYPEDCALL_BENCH_PLACES_H_

#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "bench/embedded_main.h"

namespace bench {

constexpr std::size_t kPlaces = 16;

/// Moves the code that follows to a position in a cache line. Call this first in a function that is
/// not inlined. bench/BUILD aligns functions to cache lines.
template <std::size_t place>
inline __attribute__((always_inline)) void go_to() {
  if constexpr (place > 0) asm volatile(".skip %c0, 0x90" : : "i"(place * 64 / kPlaces));  // nops
}

template <class Body, std::size_t... place>
void at_turn_of(std::index_sequence<place...>, std::size_t turn, const Body &body) {
  ((turn % kPlaces == place ? body(std::integral_constant<std::size_t, place>()) : void()), ...);
}

/// Calls body(place) with the position of this turn, which is a constant.
template <class Body>
void at_turn(std::size_t turn, const Body &body) {
  at_turn_of(std::make_index_sequence<kPlaces>(), turn, body);
}

/// Registers a benchmark that calls body(state, turn). `turn` counts the repetitions.
template <class Body>
void add_in_turns(const std::string &name, Body body) {
  add(name,
      [body, turn = std::size_t{0}](benchmark::State &state) mutable { body(state, turn++); });
}

}  // namespace bench

#endif  // TYPEDCALL_BENCH_PLACES_H_
