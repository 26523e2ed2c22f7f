// For programs that check a header under one language standard. In the common subset of C and C++.
#ifndef TYPEDCALL_TESTS_SUPPORT_RUN_CHECKS_H_
#define TYPEDCALL_TESTS_SUPPORT_RUN_CHECKS_H_

#include <Python.h>
#include <stdio.h>

#include "typedcall_python_config.h"

// Starts the interpreter that PYTHON_BIN names, calls `check` and ends the interpreter. Returns the
// result of `check`: 0, or the number of the check that failed.
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
