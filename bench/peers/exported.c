// The functions as a C library has them, for those that find them by their symbols: ctypes.
#define NATIVE_FUNCTION __attribute__((noinline, visibility("default")))
#include "bench/peers/native.h"
