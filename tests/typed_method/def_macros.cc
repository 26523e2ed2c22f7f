// Tests the macros that write defs, in C++. The checks are in def_macros.h.
#include "tests/typed_method/def_macros.h"

int main(void) { return def_macros_check(); }
