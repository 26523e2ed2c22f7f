// A module in the same shared object that sets no translator.
#include "tests/provider/provider_shared.h"

namespace {

auto methods = table_of_functions<0>();

}  // namespace

TYPEDCALL_MODULE(provider_shared_none, "Without a translator.", methods);
