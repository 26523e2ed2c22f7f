// Includes all headers that support the limited API.
#include "core/custom_slots_limited.h"
#include "core/extensible_type.h"
#include "core/foreign_slots.h"
#include "typedcall/native_callable.h"

int main(void) {
  return PyCustomSlot_IsValidID(PyCustomSlot_ID_NATIVECALLABLE) != 0 &&
                 PyNativeCallable_FlagsAreUsable(PyNativeCallable_PURE) != 0
             ? 0
             : 1;
}
