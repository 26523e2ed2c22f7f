// Tests the names from the post that introduced METH_TYPED. Used by meth_typed_standards.c and
// meth_typed_standards.cc.
#ifndef TYPEDCALL_TESTS_TYPED_METHOD_METH_TYPED_STANDARDS_H_
#define TYPEDCALL_TESTS_TYPED_METHOD_METH_TYPED_STANDARDS_H_

#include "typedcall/meth_typed.h"

static long twice(long number) { return 2 * number; }

static PyPyTypedMethodMetadata twice_info = {T_C_LONG, T_C_LONG, (void *)twice, "twice"};

// Returns 0, or the number of the first check that failed.
static int meth_typed_standards_check(void) {
  PyMethodDef def = {twice_info.ml_name, NULL, METH_O | METH_TYPED, NULL};
  const PyPyTypedMethodMetadata *found = GetTypedSignature(&def);
  // Readers read this memory as a PyTypedMethod_OneArgMetadata (docs/ABI.md, section 4).
  if (offsetof(PyPyTypedMethodMetadata, arg_type) != 0) return 1;
  if (offsetof(PyPyTypedMethodMetadata, ret_type) != 4) return 2;
  if (offsetof(PyPyTypedMethodMetadata, underlying_func) != 8) return 3;
  if (offsetof(PyPyTypedMethodMetadata, ml_name) != 16) return 4;
  if (sizeof(twice_info.ml_name) != 100) return 5;
  if (METH_TYPED != 0x1000 || T_C_LONG != 1 || T_C_DOUBLE != 2 || T_PY_OBJECT != 3) return 6;
  if (found != &twice_info || found->underlying_func != (void *)twice) return 7;
  return found->arg_type == T_C_LONG && found->ret_type == T_C_LONG ? 0 : 8;
}

#endif  // TYPEDCALL_TESTS_TYPED_METHOD_METH_TYPED_STANDARDS_H_
