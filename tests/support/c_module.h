// The end of a test module in C or C++: its definition and PyInit_<name>.
#ifndef TYPEDCALL_TESTS_SUPPORT_C_MODULE_H_
#define TYPEDCALL_TESTS_SUPPORT_C_MODULE_H_

#include <Python.h>

/// A module slot for interpreters with their own GIL.
#if PY_VERSION_HEX >= 0x030C0000 && !defined(PYPY_VERSION)
#define TEST_MODULE_OWN_GIL \
  { Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED }
#else
#define TEST_MODULE_OWN_GIL \
  { 0, NULL }
#endif

/// Defines the module NAME, which may be a macro, with the functions METHODS (or NULL).
#define TEST_MODULE(NAME, METHODS) TEST_MODULE_SLOTS(NAME, METHODS, {0, NULL})

/// Defines a module with the exec function `int EXEC(PyObject *module)`.
#define TEST_MODULE_EXEC(NAME, METHODS, EXEC) \
  TEST_MODULE_SLOTS(NAME, METHODS, {Py_mod_exec, (void *)(EXEC)})

/// Defines a module with these module slots.
#define TEST_MODULE_SLOTS(NAME, METHODS, ...)                                           \
  static PyModuleDef_Slot NAME##_slots[] = {__VA_ARGS__, {0, NULL}};                    \
  static PyModuleDef NAME##_module = {PyModuleDef_HEAD_INIT, #NAME, NULL, 0,   METHODS, \
                                      NAME##_slots,          NULL,  NULL, NULL};        \
  PyMODINIT_FUNC PyInit_##NAME(void) { return PyModuleDef_Init(&NAME##_module); }

#endif  // TYPEDCALL_TESTS_SUPPORT_C_MODULE_H_
