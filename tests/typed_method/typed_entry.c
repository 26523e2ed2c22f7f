// Tests entries whose function the compiler checks, in C. The checks are in typed_entry.h.
#include "tests/typed_method/typed_entry.h"

int main(void) { return typed_entry_check(); }
