// A module of two files: the other one has its translator.
#include "tests/provider/provider_shared.h"

namespace {

auto methods = table_of_functions<0>();

}  // namespace

TYPEDCALL_MODULE(provider_split, "Of two files.", methods);
