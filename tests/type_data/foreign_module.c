// Types with private structs, as if from an unrelated extension.
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/c_module.h"

#define POINTER(function) ((void *)(uintptr_t)(function))

// The struct has 25 bytes, so data directly after it are not aligned.
typedef struct {
  PyObject_HEAD
  double real;
  char mark;
} Odd;

static PyObject *odd_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *self = type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  ((Odd *)self)->real = 2.5;
  ((Odd *)self)->mark = 'x';
  return self;
}

static PyObject *odd_intact(PyObject *self, PyObject *unused) {
  return PyBool_FromLong(((Odd *)self)->real == 2.5 && ((Odd *)self)->mark == 'x');
}

static PyMethodDef odd_methods[] = {{"intact", odd_intact, METH_NOARGS, NULL},
                                    {NULL, NULL, 0, NULL}};
static PyType_Slot odd_slots[] = {
    {Py_tp_new, POINTER(odd_new)}, {Py_tp_methods, odd_methods}, {0, NULL}};
static PyType_Spec odd_spec = {"foreign_module.Odd", offsetof(Odd, mark) + 1, 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, odd_slots};

// Returns the items at the end of the instance.
static int32_t *packet_items(PyObject *self) {
  return (int32_t *)(void *)((char *)self + Py_TYPE(self)->tp_basicsize);
}

static PyObject *packet_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "n", &count)) return NULL;
  PyObject *self = type->tp_alloc(type, count);
  for (Py_ssize_t i = 0; self != NULL && i < count; ++i) packet_items(self)[i] = (int32_t)i;
  return self;
}

static PyObject *packet_items_list(PyObject *self, PyObject *unused) {
  PyObject *list = PyList_New(0);
  for (Py_ssize_t i = 0; list != NULL && i < Py_SIZE(self); ++i) {
    PyObject *item = PyLong_FromLong(packet_items(self)[i]);
    if (item == NULL || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyMethodDef packet_methods[] = {{"items", packet_items_list, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot packet_slots[] = {
    {Py_tp_new, POINTER(packet_new)}, {Py_tp_methods, packet_methods}, {0, NULL}};
static PyType_Spec packet_spec = {"foreign_module.Packet", sizeof(PyVarObject), sizeof(int32_t),
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, packet_slots};

// A static type.
typedef struct {
  PyObject_HEAD
  PyObject *held;
} Static;

static int static_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(((Static *)self)->held);
  return 0;
}

static int static_clear(PyObject *self) {
  Py_CLEAR(((Static *)self)->held);
  return 0;
}

static void static_dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  static_clear(self);
  Py_TYPE(self)->tp_free(self);
}

static PyObject *static_hold(PyObject *self, PyObject *object) {
  Py_INCREF(object);
  Py_XDECREF(((Static *)self)->held);
  ((Static *)self)->held = object;
  Py_RETURN_NONE;
}

static PyMethodDef static_methods[] = {{"hold", static_hold, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyTypeObject Static_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "foreign_module.Static",
    .tp_basicsize = sizeof(Static),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = static_traverse,
    .tp_clear = static_clear,
    .tp_dealloc = static_dealloc,
    .tp_new = PyType_GenericNew,
    .tp_methods = static_methods,
};

static int exec(PyObject *module) {
  if (PyModule_AddType(module, &Static_Type) < 0) return -1;
  if (PyModule_AddObject(module, "Odd", PyType_FromSpec(&odd_spec)) < 0) return -1;
  return PyModule_AddObject(module, "Packet", PyType_FromSpec(&packet_spec));
}

TEST_MODULE_EXEC(foreign_module, NULL, exec)
