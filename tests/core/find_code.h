// Loops for find_code_test.cc.
#ifndef TYPEDCALL_TESTS_CORE_FIND_CODE_H_
#define TYPEDCALL_TESTS_CORE_FIND_CODE_H_

#include "core/custom_slots.h"

namespace typedcall_test {

using Function = void (*)();

constexpr uintptr_t kCountedId = PyCustomSlot_ID(PyCustomSlot_REGISTRAR_PRIVATE, 1, 0);

/// Each loop calls a function `count` times. LoopPointer calls `function`. The others call the
/// function in the slot of `object`, or `function` if there is no slot. LoopExpected expects the
/// slot at position 0, LoopSecond at position 1.
void LoopPointer(long count, PyObject *object, Function function);
void LoopExpected(long count, PyObject *object, Function function);
void LoopSecond(long count, PyObject *object, Function function);

}  // namespace typedcall_test

#endif  // TYPEDCALL_TESTS_CORE_FIND_CODE_H_
