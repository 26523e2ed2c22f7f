// The limited-API half of the test programs in this folder.
#include "tests/abi3/installer.h"

#include "core/custom_slots_limited.h"

int LimitedInstall(void) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  return interface->resolve == PyTC_DoResolve ? 1 : 0;
}

long LimitedValue(PyObject *object, uintptr_t id) {
  PyCustomSlots_Limited api;
  if (PyCustomSlots_LimitedImport(&api) < 0) Py_FatalError("no interface");
  const PyCustomSlot *slot = PyCustomSlots_LimitedFind(&api, object, id, 0);
  return slot != NULL ? (long)slot->data.flags : -1;
}

long LimitedValueDetached(PyObject *object, uintptr_t id) {
  PyCustomSlots_Limited api;
  if (PyCustomSlots_LimitedImport(&api) < 0) Py_FatalError("no interface");
  const PyCustomSlot *slot;
  Py_BEGIN_ALLOW_THREADS;
  slot = PyCustomSlots_LimitedFindDetached(&api, object, id, 0);
  Py_END_ALLOW_THREADS;
  return slot != NULL ? (long)slot->data.flags : -1;
}
