// Checks docs/ABI.md with a C compiler. All checks are in abi_assertions.h, and nearly all run at
// compile time.
#include "tests/abi/abi_assertions.h"

int main(void) { return abi_check_at_run_time(); }
