// A tagged function that takes an int. Static Python calls it through its exported symbol.
#include "typedcall/provider.h"

// Uses unsigned arithmetic because signed overflow is undefined.
extern "C" __attribute__((visibility("default"))) long counter_inc(long x) noexcept {
  return static_cast<long>(static_cast<unsigned long>(x) + 1);
}

static typedcall::method_table methods{
    typedcall::def<counter_inc>("inc", typedcall::pure, typedcall::arg("x"))};
TYPEDCALL_MODULE(counter, "A function for a loop.", methods);
