// Metaclasses written in C, for test_c_metaclasses.py.
#include "core/platform.h"
#include "tests/support/c_module.h"

static int freed, freed_by_other;

static PyObject *New(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  const char *name;
  PyObject *bases, *attributes;
  if (!PyArg_ParseTuple(args, "sOO", &name, &bases, &attributes)) return NULL;
  if (strcmp(name, "Forbidden") == 0) {
    return PyErr_Format(PyExc_ValueError, "a class may not be called Forbidden");
  }
  return PyType_Type.tp_new(type, args, kwargs);
}

static void Dealloc(PyObject *self) {
  ++freed;
  PyType_Type.tp_dealloc(self);
}

static void OtherDealloc(PyObject *self) {
  ++freed_by_other;
  PyType_Type.tp_dealloc(self);
}

static void DerivedDealloc(PyObject *self) {
  ++freed_by_other;
  Dealloc(self);
}

static void HeapDealloc(PyObject *self) {
  PyTypeObject *metaclass = Py_TYPE(self);
  ++freed;
  PyType_Type.tp_dealloc(self);
  Py_DECREF((PyObject *)metaclass);
}

#define METACLASS(name) \
  static PyTypeObject name = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "c_metaclasses." #name}
METACLASS(Forbidding);
METACLASS(SaysTypesNew);
METACLASS(Counting);
METACLASS(OtherCounting);
METACLASS(DerivedCounting);
METACLASS(Plain);
METACLASS(WithFields);

static PyObject *Freed(PyObject *self, PyObject *unused) {
  return Py_BuildValue("ii", freed, freed_by_other);
}

static PyObject *HeapMetaclass(void) {
  PyType_Slot slots[] = {{Py_tp_dealloc, (void *)HeapDealloc},
                         {Py_tp_traverse, (void *)PyType_Type.tp_traverse},
                         {Py_tp_clear, (void *)PyType_Type.tp_clear},
                         {0, NULL}};
  PyType_Spec spec = {"c_metaclasses.HeapCounting", 0, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyType_Type);
  PyObject *type = bases != NULL ? PyType_FromSpecWithBases(&spec, bases) : NULL;
  Py_XDECREF(bases);
  return type;
}

static int Exec(PyObject *module) {
  PyTypeObject *all[] = {&Forbidding,      &SaysTypesNew, &Counting,  &OtherCounting,
                         &DerivedCounting, &Plain,        &WithFields};
  Forbidding.tp_new = New;
  SaysTypesNew.tp_new = PyType_Type.tp_new;
  Counting.tp_dealloc = Dealloc;
  OtherCounting.tp_dealloc = OtherDealloc;
  DerivedCounting.tp_dealloc = DerivedDealloc;
  DerivedCounting.tp_base = &Counting;
  WithFields.tp_basicsize = PyType_Type.tp_basicsize + (Py_ssize_t)sizeof(void *);
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
    if (all[i]->tp_base == NULL) all[i]->tp_base = &PyType_Type;
    all[i]->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    if (PyType_Ready(all[i]) < 0) return -1;
    const char *name = strrchr(all[i]->tp_name, '.') + 1;
    if (PyObject_SetAttrString(module, name, (PyObject *)all[i]) < 0) return -1;
  }
  PyObject *heap = HeapMetaclass();
  const int result = heap != NULL ? PyObject_SetAttrString(module, "HeapCounting", heap) : -1;
  Py_XDECREF(heap);
  return result;
}

static PyMethodDef methods[] = {{"freed", Freed, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

TEST_MODULE_EXEC(c_metaclasses, methods, Exec)
