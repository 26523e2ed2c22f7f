// C++ code that integrates a typed function with GSL (Debian: libgsl-dev).
#include "typedcall/callback.h"
#include "typedcall/provider.h"
// After Python.h.
#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>

PyObject *integral(PyObject *callable) {
  typedcall::callback<double(double, void *), double(double)> f(PyTypedcall_Import(), callable);
  if (!f) return nullptr;       // resolve() has set an exception
  gsl_set_error_handler_off();  // GSL's own handler would end the process
  gsl_integration_workspace *const space = gsl_integration_workspace_alloc(1000);
  if (space == nullptr) return PyErr_NoMemory();
  gsl_function function = {f.function(), f.data()};
  double result = 0, error = 0;
  const int status = gsl_integration_qagi(&function, 0, 1e-9, 1000, space, &result, &error);
  gsl_integration_workspace_free(space);
  if (!f.check()) return nullptr;  // the function's exception is now set
  if (status != 0) return PyErr_Format(PyExc_RuntimeError, "GSL: %s", gsl_strerror(status));
  return PyFloat_FromDouble(result);
}
static typedcall::method_table methods{typedcall::def<integral>("integral")};
TYPEDCALL_MODULE(gsl_from_cpp, "GSL, for typed functions.", methods);
