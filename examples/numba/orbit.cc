// A wrapped and tagged function: the acceleration of a planet at distance r.
#include "typedcall/provider.h"

double pull(double r) noexcept { return -1 / (r * r); }

static typedcall::method_table methods{
    typedcall::def<pull>("pull", typedcall::pure | typedcall::thread_safe, "-1 / r**2.")};
TYPEDCALL_MODULE(orbit, "An extension module that knows nothing of Numba.", methods);
