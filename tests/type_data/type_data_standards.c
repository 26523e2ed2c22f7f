// core/type_data.h under every C standard.
#include "tests/type_data/standards.h"

int main(void) { return run_checks(); }
