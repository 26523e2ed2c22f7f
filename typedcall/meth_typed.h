// METH_TYPED under the names of the post that proposed it, with the struct printed there: the
// post's module compiles and runs with this header, and typedcall's readers find its type
// information. The post names only T_C_LONG; the other codes are PyPy's. Self-contained: a new
// module includes typedcall/typed_method.h. Source: M. Bernstein, "Type information for faster
// Python C extensions"; docs/ABI.md, section 4.
#ifndef TYPEDCALL_METH_TYPED_H_
#define TYPEDCALL_METH_TYPED_H_

#ifdef TYPEDCALL_TYPED_METHOD_H_
#error \
    "typedcall/meth_typed.h: its PyPyTypedMethodMetadata is not typedcall/typed_method.h's: use one"
#else

#include <Python.h>
// After Python.h.
#include <assert.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// In `ml_flags`: `ml_name` points into a PyPyTypedMethodMetadata. For METH_O.
#define METH_TYPED 0x1000

// The type codes: a long, a double, an object.
#ifndef T_C_LONG
#define T_C_LONG 1
#define T_C_DOUBLE 2
#define T_PY_OBJECT 3
#endif

// The post's struct: one argument. The same memory as typed_method.h's
// PyTypedMethod_OneArgMetadata.
typedef struct PyPyTypedMethodMetadata {
  int arg_type;           // a T_* code
  int ret_type;           // a T_* code, never 0
  void *underlying_func;  // does not take `self`
  const char ml_name[100];
} PyPyTypedMethodMetadata;

// Returns the struct that contains the def's name. `def->ml_flags` must have METH_TYPED, and the
// struct must be this one: typedcall's own readers, in typed_method.h, check that. GIL: none; sets
// no exception.
static inline PyPyTypedMethodMetadata *GetTypedSignature(PyMethodDef *def) {
  assert(def->ml_flags & METH_TYPED);
  const char *start = def->ml_name - offsetof(PyPyTypedMethodMetadata, ml_name);
  return (PyPyTypedMethodMetadata *)(uintptr_t)start;
}

#ifdef __cplusplus
}
#endif

#endif
#endif  // TYPEDCALL_METH_TYPED_H_
