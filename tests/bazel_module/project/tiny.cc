// The module of docs/how-to/build-systems.md.
#include "typedcall/provider.h"

namespace {

double half(double x) noexcept { return x / 2; }

typedcall::method_table methods{typedcall::def<half>("half")};

}  // namespace

TYPEDCALL_MODULE(tiny, "One function.", methods);
