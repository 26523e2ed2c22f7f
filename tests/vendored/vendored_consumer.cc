// A consumer that uses the resolver.
#include "tests/support/c_module.h"
#include "typedcall/resolve.h"

namespace {

// Returns the result as an object, or NULL with the exception that resolve() has set.
template <class Function, class Box, class... Arguments>
PyObject *box(const Function &function, Box boxed, Arguments... arguments) {
  return function ? boxed(function(arguments...)) : nullptr;
}

PyObject *call_ll_l(PyObject *, PyObject *args) {
  PyObject *callable;
  long a, b;
  if (!PyArg_ParseTuple(args, "Oll", &callable, &a, &b)) return nullptr;
  const auto *interface = PyTypedcall_Import();
  return box(typedcall::resolve<long(long, long)>(interface, callable), PyLong_FromLong, a, b);
}

PyObject *call_ddd_d(PyObject *, PyObject *args) {
  PyObject *callable;
  double a, b, c;
  if (!PyArg_ParseTuple(args, "Oddd", &callable, &a, &b, &c)) return nullptr;
  return box(typedcall::resolve<double(double, double, double)>(PyTypedcall_Import(), callable),
             PyFloat_FromDouble, a, b, c);
}

// Without an interface, only tags in bits and sibling symbols are found.
PyObject *call_without_interface(PyObject *, PyObject *args) {
  PyObject *callable;
  long a, b;
  if (!PyArg_ParseTuple(args, "Oll", &callable, &a, &b)) return nullptr;
  return box(typedcall::resolve<long(long, long)>(nullptr, callable), PyLong_FromLong, a, b);
}

PyMethodDef methods[] = {
    {"call_ll_l", call_ll_l, METH_VARARGS, nullptr},
    {"call_ddd_d", call_ddd_d, METH_VARARGS, nullptr},
    {"call_without_interface", call_without_interface, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

TEST_MODULE(vendored_consumer, methods)
