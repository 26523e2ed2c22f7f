// The functions as a C library exports them, for ctypes, which finds them by symbol.
#define NATIVE_FUNCTION __attribute__((noinline, visibility("default")))
#include "bench/peers/native.h"
