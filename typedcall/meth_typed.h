// METH_TYPED with the names from the post that proposed it, for modules that use these names. The
// post names only T_C_LONG; the other codes are from PyPy. Self-contained. New modules should
// include typedcall/typed_method.h instead. Source: M. Bernstein, "Type information for faster
// Python C extensions"; docs/ABI.md, section 4.
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
  int arg_type;             // the argument's code
  int ret_type;             // the result's code, which is not 0
  void *underlying_func;    // takes the argument alone, without the module
  const char ml_name[100];  // the name that the def points to
} PyPyTypedMethodMetadata;

// Returns the struct that contains the def's name. `def->ml_flags` must contain METH_TYPED, and
// `def->ml_name` must be in a PyPyTypedMethodMetadata. GIL: not needed. Sets no exception.
static inline PyPyTypedMethodMetadata *GetTypedSignature(PyMethodDef *def) {
  enum { TO_NAME = offsetof(PyPyTypedMethodMetadata, ml_name) };
  const int has_struct = (def->ml_flags & METH_TYPED) != 0;
  assert(has_struct);
  (void)has_struct;  // if NDEBUG is defined
  // An integer, because the name is const and the struct is not.
  const uintptr_t name = (uintptr_t)def->ml_name;
  return (PyPyTypedMethodMetadata *)(name - TO_NAME);
}

#ifdef __cplusplus
}
#endif

#endif
#endif  // TYPEDCALL_METH_TYPED_H_
