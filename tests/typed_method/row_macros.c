// The macros that write rows, as C compiles them under each standard.
// The checks are in row_macros.h.
#include "tests/typed_method/row_macros.h"

int main(void) { return row_macros_check(); }
