// METH_TYPED with the names from the post that proposed it. The post's module compiles with this
// header. The post names only T_C_LONG; the other codes are from PyPy. Self-contained. New modules
// should include typedcall/typed_method.h instead. Source: M. Bernstein, "Type information for
// faster Python C extensions"; docs/ABI.md, section 4.
#ifndef TYPEDCALL_METH_TYPED_H_
#define TYPEDCALL_METH_TYPED_H_

#ifdef TYPEDCALL_TYPED_METHOD_H_
#error \
    "typedcall/meth_typed.h: its PyPyTypedMethodMetadata is not typedcall/typed_method.h's: use one"
#else

#include <Python.h>
// These headers must come after Python.h.
#include <assert.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// A flag for METH_O functions: `ml_name` points into a PyPyTypedMethodMetadata.
#define METH_TYPED 0x1000

// The type codes for a long, a double and an object.
#ifndef T_C_LONG
#define T_C_LONG 1
#define T_C_DOUBLE 2
#define T_PY_OBJECT 3
#endif

// The struct from the post, for functions of one argument. It has the layout of
// PyTypedMethod_OneArgMetadata in typed_method.h.
typedef struct PyPyTypedMethodMetadata {
  int arg_type;           // a T_* code
  int ret_type;           // a T_* code, never 0
  void *underlying_func;  // a function that does not take `self`
  const char ml_name[100];
} PyPyTypedMethodMetadata;

// Returns the struct that contains the def's name. `def->ml_flags` must contain METH_TYPED, and
// `def->ml_name` must be in a PyPyTypedMethodMetadata. GIL: not needed. Sets no exception.
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
