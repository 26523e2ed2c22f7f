// Contains the function bodies that TYPEDCALL_SEPARATE leaves out of a project's other files.
// Compile this file with the same options as those (in C projects with cc -x c). Link it into each
// shared object or program.
#ifdef TYPEDCALL_CORE_COMPILER_H_
#error "typedcall/separate.cc: compile it alone; in a unity build it cannot follow other files"
#endif
#ifndef TYPEDCALL_SEPARATE
#define TYPEDCALL_SEPARATE
#endif
#define TYPEDCALL_INTERNAL_SOURCE

#if defined(Py_LIMITED_API) || defined(Py_TARGET_ABI3T)
#include "core/rendezvous.h"
#else
#include "typedcall/tag.h"
#if defined(__cpp_exceptions) && __cplusplus >= 201703L  // these headers require both
#include "typedcall/provider.h"
#ifndef PYPY_VERSION
#include "typedcall/resolve.h"
#endif
#endif
#endif

#if TYPEDCALL_INTERNAL_IS_SEPARATE

TYPEDCALL_BEGIN_C

// The C functions in the headers are static. Other files call the functions below.
#define DEFINE(result, name, parameters)                                \
  TYPEDCALL_HIDDEN result TYPEDCALL_INTERNAL_EXTERNAL(name) parameters; \
  __attribute__((weak)) result TYPEDCALL_INTERNAL_EXTERNAL(name) parameters

#ifndef PYPY_VERSION
DEFINE(const PyTypedcall_Interface *, PyTypedcall_Import, (void)) { return PyTypedcall_Import(); }

DEFINE(const PyTypedcall_Interface *, PyTC_Arrived, (void *state)) { return PyTC_Arrived(state); }
#endif

#ifndef Py_LIMITED_API
#ifndef PYPY_VERSION
DEFINE(const PyTypedcall_Interface *, PyTypedcall_ImportLazily, (void)) {
  return PyTypedcall_ImportLazily();
}
#endif

DEFINE(int, PyTypedMethod_Internal_AddTags,
       (PyObject * owner, const PyMethodDef *defs, const PyTypedMethodMetadata *const *typed,
        int is_required)) {
  return PyTypedMethod_Internal_AddTags(owner, defs, typed, is_required);
}
#endif

TYPEDCALL_END_C

#endif  // TYPEDCALL_INTERNAL_IS_SEPARATE
