// Tests typedcall/native_callable_slot.h under every C standard.
#include "tests/instance_table/standards.h"
#include "tests/support/run_checks.h"

int main(void) { return run_checks(check_scale); }
