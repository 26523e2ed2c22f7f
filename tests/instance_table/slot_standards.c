// typedcall/native_callable_slot.h under every C standard.
#include "tests/instance_table/standards.h"

int main(void) { return run_checks(); }
