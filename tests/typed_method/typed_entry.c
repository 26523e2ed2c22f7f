// Entries whose function is checked, compiled as C under each standard. The checks are in
// typed_entry.h.
#include "tests/typed_method/typed_entry.h"

int main(void) { return typed_entry_check(); }
