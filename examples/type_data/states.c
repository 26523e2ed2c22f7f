// PEP 697's example, a list with its own state, and a similar array.array. core/pep697.h provides
// the names of PEP 697 before 3.12.
#include <Python.h>
#include <structmember.h>

#include "core/pep697.h"

typedef struct {
  int state;
} SubListState;

// `cls` is the class that defines this method, whichever subclass `self` belongs to.
static PyObject *bump(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names) {
  (void)args;
  if (nargs != 0 || names != NULL) {
    PyErr_SetString(PyExc_TypeError, "bump() takes no arguments");
    return NULL;
  }
  SubListState *data = (SubListState *)PyObject_GetTypeData(self, cls);
  data->state += 1;
  Py_INCREF(self);
  return self;
}

static PyMethodDef list_methods[] = {{"bump", (PyCFunction)(void (*)(void))bump,
                                      METH_METHOD | METH_FASTCALL | METH_KEYWORDS, "Counts."},
                                     {NULL, NULL, 0, NULL}};
static PyMemberDef list_members[] = {
    {"state", T_INT, offsetof(SubListState, state), READONLY | Py_RELATIVE_OFFSET, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot list_slots[] = {
    {Py_tp_methods, list_methods}, {Py_tp_members, list_members}, {0, NULL}};
static PyType_Spec list_spec = {"states.SubList", -(int)sizeof(SubListState), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, list_slots};

// The scale factor by which the array's numbers are multiplied. The double is aligned to eight
// bytes, wherever array's struct ends.
typedef struct {
  double unit;
} UnitState;

static PyMemberDef array_members[] = {
    {"unit", T_DOUBLE, offsetof(UnitState, unit), Py_RELATIVE_OFFSET, NULL}, {NULL, 0, 0, 0, NULL}};
static PyType_Slot array_slots[] = {{Py_tp_members, array_members}, {0, NULL}};
static PyType_Spec array_spec = {"states.UnitArray", -(int)sizeof(UnitState), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, array_slots};

// Adds the type to the module. Takes over the reference `base`, which may be NULL with an exception
// set.
static int add_type(PyObject *module, PyType_Spec *spec, PyObject *base) {
  if (base == NULL) return -1;
  PyObject *type = PyType_FromModuleAndSpec(module, spec, base);
  Py_DECREF(base);
  if (type == NULL) return -1;
  const int status = PyModule_AddType(module, (PyTypeObject *)type);
  Py_DECREF(type);
  return status;
}

static int exec_states(PyObject *module) {
  PyObject *list = (PyObject *)&PyList_Type;
  Py_INCREF(list);
  if (add_type(module, &list_spec, list) < 0) return -1;
  PyObject *array_module = PyImport_ImportModule("array");
  if (array_module == NULL) return -1;
  PyObject *array = PyObject_GetAttrString(array_module, "array");
  Py_DECREF(array_module);
  return add_type(module, &array_spec, array);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_states}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "states", .m_slots = slots};

PyMODINIT_FUNC PyInit_states(void) { return PyModuleDef_Init(&definition); }
