/* An extension module that makes subclasses in every way that C code can. It does not use the
 * headers of this project. */
#include <Python.h>

#include "tests/support/c_module.h"

/* by_type_call(bases, namespace) calls `type`, as Cython and most C code do. */
static PyObject *ByTypeCall(PyObject *module, PyObject *args) {
  PyObject *bases, *space;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &bases, &PyDict_Type, &space)) return NULL;
  return PyObject_CallFunction((PyObject *)&PyType_Type, "sOO", "ByTypeCall", bases, space);
}

/* by_metaclass_call(bases, namespace) calls the metaclass of the first base. */
static PyObject *ByMetaclassCall(PyObject *module, PyObject *args) {
  PyObject *bases, *space;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &bases, &PyDict_Type, &space)) return NULL;
  if (PyTuple_GET_SIZE(bases) == 0) {
    PyErr_SetString(PyExc_ValueError, "no base whose metaclass could be called");
    return NULL;
  }
  return PyObject_CallFunction((PyObject *)Py_TYPE(PyTuple_GET_ITEM(bases, 0)), "sOO",
                               "ByMetaclassCall", bases, space);
}

/* by_type_new(metaclass, bases) calls only type's tp_new, and never tp_init. */
static PyObject *ByTypeNew(PyObject *module, PyObject *args) {
  PyTypeObject *metaclass;
  PyObject *bases;
  if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &metaclass, &PyTuple_Type, &bases)) return NULL;
  PyObject *space = PyDict_New();
  PyObject *arguments = space != NULL ? Py_BuildValue("sON", "ByTypeNew", bases, space) : NULL;
  if (arguments == NULL) return NULL;
  PyObject *type = PyType_Type.tp_new(metaclass, arguments, NULL);
  Py_DECREF(arguments);
  return type;
}

static int Traverse(PyObject *self, visitproc visit, void *arg) {
#if PY_VERSION_HEX >= 0x03090000
  Py_VISIT(Py_TYPE(self));
#endif
  return 0;
}

static PyType_Slot type_slots[] = {{Py_tp_traverse, (void *)Traverse}, {0, NULL}};
static PyType_Spec spec = {"foreign_classes.FromSpec", 0, 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                           type_slots};

/* by_spec(bases) calls PyType_FromSpecWithBases. Before 3.12, the metaclass of the new class is
 * always `type`. */
static PyObject *BySpec(PyObject *module, PyObject *bases) {
  return PyType_FromSpecWithBases(&spec, bases);
}

/* by_module_and_spec(bases) calls PyType_FromModuleAndSpec. */
static PyObject *ByModuleAndSpec(PyObject *module, PyObject *bases) {
  return PyType_FromModuleAndSpec(module, &spec, bases);
}

#if PY_VERSION_HEX >= 0x030C0000
/* by_from_metaclass(metaclass or None, bases) calls PyType_FromMetaclass. */
static PyObject *ByFromMetaclass(PyObject *module, PyObject *args) {
  PyObject *metaclass, *bases;
  if (!PyArg_ParseTuple(args, "OO", &metaclass, &bases)) return NULL;
  return PyType_FromMetaclass(metaclass == Py_None ? NULL : (PyTypeObject *)metaclass, module,
                              &spec, bases);
}
#endif

static PyMethodDef methods[] = {
    {"by_type_call", ByTypeCall, METH_VARARGS, NULL},
    {"by_metaclass_call", ByMetaclassCall, METH_VARARGS, NULL},
    {"by_type_new", ByTypeNew, METH_VARARGS, NULL},
    {"by_spec", BySpec, METH_O, NULL},
    {"by_module_and_spec", ByModuleAndSpec, METH_O, NULL},
#if PY_VERSION_HEX >= 0x030C0000
    {"by_from_metaclass", ByFromMetaclass, METH_VARARGS, NULL},
#endif
    {NULL, NULL, 0, NULL},
};

TEST_MODULE(foreign_classes, methods)
