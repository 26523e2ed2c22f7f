// Tests, in C, entries whose function type the compiler checks. The checks are in typed_entry.h.
#include "tests/typed_method/typed_entry.h"

int main(void) { return typed_entry_check(); }
