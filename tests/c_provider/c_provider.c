// The module of c_provider.h, as C compiles it.
#include "tests/c_provider/c_provider.h"
