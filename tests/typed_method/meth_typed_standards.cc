// Tests the names from the post that introduced METH_TYPED, in C++. The checks are in
// meth_typed_standards.h.
#include "tests/typed_method/meth_typed_standards.h"

int main() { return meth_typed_standards_check(); }
