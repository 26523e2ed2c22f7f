// The macros that write defs, as C++ compiles them under each standard.
// The checks are in def_macros.h.
#include "tests/typed_method/def_macros.h"

int main(void) { return def_macros_check(); }
