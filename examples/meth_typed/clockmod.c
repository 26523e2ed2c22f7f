/* A module with the names of the post that introduced METH_TYPED. tick() returns the next second of
 * a 24-hour dial. */
#include <Python.h>

#include "typedcall/meth_typed.h"

static long next_second(long second) { return second < 86399 ? second + 1 : 0; }

static PyObject *tick(PyObject *clock, PyObject *now) {
  const long second = PyLong_AsLong(now);
  (void)clock;
  if (second == -1 && PyErr_Occurred() != NULL) return NULL;
  return PyLong_FromLong(next_second(second));
}

/* What next_second() takes and returns, its address, and the name of the Python function. */
static const PyPyTypedMethodMetadata typed_tick = {
    .ml_name = "tick",
    .underlying_func = (void *)next_second,
    .ret_type = T_C_LONG,
    .arg_type = T_C_LONG,
};

static PyMethodDef functions[] = {
    {typed_tick.ml_name, tick, METH_O | METH_TYPED, "tick(second)\n--\n\nThe second that follows."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot no_slots[] = {{0, NULL}};

static PyModuleDef clock_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "clockmod",
    .m_methods = functions,
    .m_slots = no_slots,
};

PyMODINIT_FUNC PyInit_clockmod(void) { return PyModuleDef_Init(&clock_module); }
