// Functions that show how much of the stack is in use.
#include <cstdint>

#include "typedcall/provider.h"

namespace {

std::intptr_t here() noexcept {
  return reinterpret_cast<std::intptr_t>(__builtin_frame_address(0));
}

typedcall::method_table methods{typedcall::def<here>("here")};

}  // namespace

TYPEDCALL_MODULE(stack_functions, "Shows how much of the stack is in use.", methods);
