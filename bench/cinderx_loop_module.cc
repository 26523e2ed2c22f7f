// The function of bench/cinderx_loop.py: tagged, and exported, as Static Python's declarations want
// it.
#include "typedcall/provider.h"

// Unsigned arithmetic wraps where signed arithmetic is undefined.
extern "C" __attribute__((visibility("default"))) long cinderx_loop_next(long x) noexcept {
  return static_cast<long>(static_cast<unsigned long>(x) + 1);
}

static typedcall::method_table methods{
    typedcall::def<cinderx_loop_next>("next", typedcall::pure, typedcall::arg("x"))};

TYPEDCALL_MODULE(cinderx_loop_module, "A function to call in a loop.", methods);
