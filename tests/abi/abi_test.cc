// The docs/ABI.md as a C++ compiler sees it.
// All checks are in abi_assertions.h, nearly all of them are made while compiling.
#include "tests/abi/abi_assertions.h"

int main() { return abi_check_at_run_time(); }
