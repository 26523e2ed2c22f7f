// Tests sibling symbols in C++. The checks are in sibling_standards.h.
#include "tests/c_provider/sibling_standards.h"

int main(void) { return sibling_standards_check(); }
