// typedcall/native_callable_slot.h under every C++ standard, without exceptions and RTTI.
#include "tests/instance_table/standards.h"

int main() { return run_checks(); }
