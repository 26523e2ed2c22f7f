// The functions that the limited-API half of a test program offers to the full-API half.
#ifndef TYPEDCALL_TESTS_ABI3_INSTALLER_H_
#define TYPEDCALL_TESTS_ABI3_INSTALLER_H_

#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns 1 if limited-API code installed the interface, 0 if other code did, or -1 with an
/// exception set. GIL: held.
int LimitedInstall(void);

/// Returns the flags of the slot that the limited tier finds, or -1. GIL: held.
long LimitedValue(PyObject *object, uintptr_t id);

/// Like LimitedValue(), but releases the GIL for the look-up.
long LimitedValueDetached(PyObject *object, uintptr_t id);

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TESTS_ABI3_INSTALLER_H_
