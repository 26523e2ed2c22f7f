// Functions that return the value of an untyped pointer.
#include <cstdint>

#include "typedcall/provider.h"

namespace {

std::intptr_t address(void *pointer) noexcept { return reinterpret_cast<std::intptr_t>(pointer); }
std::intptr_t address_const(const void *pointer) noexcept {
  return reinterpret_cast<std::intptr_t>(pointer);
}

typedcall::method_table methods{
    typedcall::def<address>("address", typedcall::thread_safe),
    typedcall::def<address_const>("address_const", typedcall::thread_safe),
};

}  // namespace

TYPEDCALL_MODULE(pointer_functions, "The addresses of pointers.", methods);
