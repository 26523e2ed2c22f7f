// Implements find_code.h. This file is always compiled with optimisation. Hide() keeps the compiler
// from moving work out of the loops.
#include "tests/core/find_code.h"

namespace typedcall_test {
namespace {

template <class T>
void Hide(T &value) {
  asm volatile("" : "+r"(value));
}

template <Py_ssize_t position>
void Loop(long count, PyObject *object, Function function) {
  for (; count > 0; --count) {
    PyObject *any = object;
    Hide(any);
    const PyCustomSlot *slot = PyCustomSlots_Find(any, kCountedId, position);
    (slot != nullptr ? reinterpret_cast<Function>(slot->data.pointer) : function)();
  }
}

}  // namespace

void LoopPointer(long count, PyObject *, Function function) {
  for (; count > 0; --count) {
    Function any = function;
    Hide(any);
    any();
  }
}

void LoopExpected(long count, PyObject *object, Function function) {
  Loop<0>(count, object, function);
}

void LoopSecond(long count, PyObject *object, Function function) {
  Loop<1>(count, object, function);
}

}  // namespace typedcall_test
