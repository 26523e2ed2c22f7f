// Installs the interface with code compiled for the limited API, before anybody else does: see
// installer_environment.cc.
#include "tests/abi3/installer.h"

#include "core/rendezvous.h"

int InstallLimited(void) {
  const PyTypedcall_Interface *interface = PyTypedcall_Import();
  if (interface == NULL) return -1;
  return interface->resolve == PyTypedcall_Internal_Resolve ? 1 : 0;
}
