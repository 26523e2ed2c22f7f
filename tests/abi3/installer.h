// What the limited-API half of a test program offers to the full-API half, which cannot be compiled
// with the same options.
#ifndef TYPEDCALL_TESTS_ABI3_INSTALLER_H_
#define TYPEDCALL_TESTS_ABI3_INSTALLER_H_

#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// 1: the interpreter's interface is one that code compiled for the limited API has installed.
/// 0: another one is there. -1: an exception is set. GIL: held.
int LimitedInstall(void);

/// The flags of a slot as the limited tier finds it, -1 for none. GIL: held.
long LimitedValue(PyObject *object, uintptr_t id);

/// The same by the look-up that needs no GIL, for which it is let go.
long LimitedValueDetached(PyObject *object, uintptr_t id);

#ifdef __cplusplus
}
#endif
#endif  // TYPEDCALL_TESTS_ABI3_INSTALLER_H_
