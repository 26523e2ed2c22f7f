// Checks docs/ABI.md with a C++ compiler. The checks are in abi_assertions.h.
#include "tests/abi/abi_assertions.h"

int main() { return abi_check_at_run_time(); }
