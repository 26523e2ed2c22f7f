// The macros that write defs, compiled as C++ under each standard. The checks are in def_macros.h.
#include "tests/typed_method/def_macros.h"

int main(void) { return def_macros_check(); }
