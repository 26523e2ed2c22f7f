// The functions as exported by a C library, for peers that find them by symbol: ctypes.
#define NATIVE_FUNCTION __attribute__((noinline, visibility("default")))
#include "bench/peers/native.h"
