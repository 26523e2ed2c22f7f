// A module made from two files. Its translator is in provider_split_errors.cc.
#include "tests/provider/provider_shared.h"

namespace {

auto methods = table_of_functions<0>();

}  // namespace

TYPEDCALL_MODULE(provider_split, "A module of two files.", methods);
