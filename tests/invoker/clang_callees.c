// Functions with narrow arguments and results. tests/invoker/test_clang_callees.py compiles this
// file.
#include <stdbool.h>

#define CALLEES(NAME, TYPE)                                                   \
  long one_##NAME(TYPE x) { return x; }                                       \
  long seven_##NAME(TYPE a, TYPE b, TYPE c, TYPE d, TYPE e, TYPE f, TYPE g) { \
    return (long)a + b + c + d + e + f + 100L * g;                            \
  }                                                                           \
  TYPE result_##NAME(long x) { return (TYPE)x; }
CALLEES(bool, bool)
CALLEES(schar, signed char)
CALLEES(uchar, unsigned char)
CALLEES(short, short)
CALLEES(ushort, unsigned short)
CALLEES(int, int)
CALLEES(uint, unsigned)
