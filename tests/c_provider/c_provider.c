// The module of c_provider.h, compiled as C.
#include "tests/c_provider/c_provider.h"
