// A C library that exports the functions, for ctypes.
#define NATIVE_FUNCTION __attribute__((noinline, visibility("default")))
#include "bench/peers/native.h"
