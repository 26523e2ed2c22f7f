// Tests core/type_data.h under every C standard.
#include "tests/support/run_checks.h"
#include "tests/type_data/standards.h"

int main(void) { return run_checks(check_list); }
