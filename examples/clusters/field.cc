// A scalar C++ function, wrapped and tagged.
#include "typedcall/provider.h"

double strength(double distance) noexcept {
  return distance * distance / 2 + 1 / (1 + distance * distance);
}

static typedcall::method_table methods{
    typedcall::def<strength>("strength", typedcall::pure | typedcall::thread_safe),
};
TYPEDCALL_MODULE(field, "The module that the worker processes import.", methods);
