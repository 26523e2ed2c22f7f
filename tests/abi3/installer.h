// The functions that a test program's limited-API half offers to its full-API half. The two cannot
// be compiled with the same options.
#ifndef TYPEDCALL_TESTS_ABI3_INSTALLER_H_
#define TYPEDCALL_TESTS_ABI3_INSTALLER_H_

#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns 1 if code compiled for the limited API installed the interpreter's interface, 0 if other
/// code did, or -1 with an exception set. GIL: held.
int LimitedInstall(void);

/// Returns the flags of a slot as the limited tier finds it, or -1. GIL: held.
long LimitedValue(PyObject *object, uintptr_t id);

/// Like LimitedValue(), but releases the GIL and uses the look-up that works without the GIL.
long LimitedValueDetached(PyObject *object, uintptr_t id);

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TESTS_ABI3_INSTALLER_H_
