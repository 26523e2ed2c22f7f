/* A def with the name TEST_NAME. test_name_length.py compiles this file with names of several
 * lengths. */
#include "typedcall/typed_method.h"

static long identity(long x) { return x; }

PyTypedMethod_DEFINE(def_under_test, TEST_NAME, {"l->l", 0, (void *)identity});

const void *use(void);
const void *use(void) { return &def_under_test; }
