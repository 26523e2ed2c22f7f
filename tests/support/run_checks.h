// Helper for the main() of a program that checks a header under one language standard, in the
// common subset of C and C++.
#ifndef TYPEDCALL_TESTS_SUPPORT_RUN_CHECKS_H_
#define TYPEDCALL_TESTS_SUPPORT_RUN_CHECKS_H_

#include <Python.h>
#include <stdio.h>

#include "typedcall_python_config.h"

// Calls `check` between the start and the end of the interpreter that PYTHON_BIN names. Returns the
// result of `check`, for main() to return: the number of the check that failed, or 0.
static int run_checks(int (*check)(void)) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.user_site_directory = 0;
  const PyStatus status = typedcall_python_start(&config);
  if (PyStatus_Exception(status)) return 100;
  const int failed = check();
  if (PyErr_Occurred()) PyErr_Print();
  if (failed) fprintf(stderr, "check %d failed\n", failed);
  return Py_FinalizeEx() < 0 ? 101 : failed;
}

#endif  // TYPEDCALL_TESTS_SUPPORT_RUN_CHECKS_H_
