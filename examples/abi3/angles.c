// A typed module in C for the limited API of 3.12, or for abi3t. The limited API has no side table,
// so consumers find the functions by sibling symbols.
#include "typedcall/typed_method.h"
// After Python.h.
#include <math.h>

static double between_impl(double from, double to) {  // returns the turn, from -180 to 180 degrees
  return remainder(to - from, 360.0);
}

static double wind_impl(double angle, long turns) { return angle + 360.0 * (double)turns; }

static PyObject *between(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  (void)module;
  if (nargs != 2)
    return PyErr_Format(PyExc_TypeError, "between() takes 2 arguments (%zd given)", nargs);
  const double from = PyFloat_AsDouble(args[0]);
  if (from == -1.0 && PyErr_Occurred()) return NULL;
  const double to = PyFloat_AsDouble(args[1]);
  if (to == -1.0 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(between_impl(from, to));
}

static PyObject *wind(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
  (void)module;
  if (nargs != 2)
    return PyErr_Format(PyExc_TypeError, "wind() takes 2 arguments (%zd given)", nargs);
  const double angle = PyFloat_AsDouble(args[0]);
  if (angle == -1.0 && PyErr_Occurred()) return NULL;
  const long turns = PyLong_AsLong(args[1]);
  if (turns == -1 && PyErr_Occurred()) return NULL;
  return PyFloat_FromDouble(wind_impl(angle, turns));
}

PyTypedMethod_DEFINE(between_typed, "between",
                     PyTypedMethod_ENTRY(PyNativeCallable_THREAD_SAFE | PyNativeCallable_PURE,
                                         between_impl, DOUBLE, DOUBLE, DOUBLE));
PyTypedMethod_DEFINE(wind_typed, "wind",
                     PyTypedMethod_ENTRY(PyNativeCallable_THREAD_SAFE | PyNativeCallable_PURE,
                                         wind_impl, DOUBLE, DOUBLE, LONG));

static PyMethodDef methods[] = {
    PyTypedMethod_METHOD_DEF(between_typed, between, METH_FASTCALL,
                             "between($module, start, end, /)\n--\n\nThe turn in degrees."),
    PyTypedMethod_METHOD_DEF(
        wind_typed, wind, METH_FASTCALL,
        "wind($module, angle, turns, /)\n--\n\nThe angle after so many turns."),
    {NULL, NULL, 0, NULL},
};

PyTypedMethod_SIBLING(between, methods[0], between_typed);
PyTypedMethod_SIBLING(wind, methods[1], wind_typed);

#ifdef Py_TARGET_ABI3T
PyABIInfo_VAR(abi_info);

// PySlot_PTR_STATIC, because the functions must refer to the array that the symbols name.
static PySlot slots[] = {
    PySlot_PTR_STATIC(Py_mod_name, "angles"),
    PySlot_PTR_STATIC(Py_mod_doc, "Angles in degrees."),
    PySlot_PTR_STATIC(Py_mod_abi, &abi_info),
    PySlot_PTR_STATIC(Py_mod_methods, methods),
    PySlot_PTR(Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED),
    PySlot_PTR(Py_mod_gil, Py_MOD_GIL_NOT_USED),
    PySlot_END};

PyMODEXPORT_FUNC PyModExport_angles(void) { return slots; }
#else
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "angles", "Angles in degrees.", 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_angles(void) { return PyModuleDef_Init(&definition); }
#endif
